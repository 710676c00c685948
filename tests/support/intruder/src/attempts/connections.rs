//! Reaching what is not the gateway.

use std::{
    io::Write,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::{
            ffi::OsStrExt,
            net::{SocketAddr as UnixAddress, UnixListener, UnixStream},
        },
    },
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use super::{
    Attempt,
    Outside::{Always, Depends, Root},
};
use crate::{
    facts::Facts,
    kernel::{call, pointer, signed, through_the_32_bit_gate},
};

/// Tries of the race.
const TRIES: usize = 300;
const MPTCP: i32 = 262;
const FAST_OPEN: i32 = 0x2000_0000;

/// Servers that others could reach. They come before the one that there may be.
pub(super) const SERVES: &[Attempt] = &[
    ("a_server_on_every_address", Always, |_| {
        TcpListener::bind(("0.0.0.0", 0)).is_ok()
    }),
    ("a_server_on_another_address", Always, |_| {
        TcpListener::bind(("127.0.0.2", 0)).is_ok()
    }),
    ("a_server_of_ipv6", Depends("a machine with IPv6"), |_| {
        TcpListener::bind(("::1", 0)).is_ok()
    }),
    ("a_server_on_no_address", Always, |_| {
        let Ok(socket) = socket(libc::AF_INET, libc::SOCK_STREAM, 0) else {
            return false;
        };
        call(libc::SYS_listen, &[socket, 1]).is_ok()
    }),
];

pub(super) const ATTEMPTS: &[Attempt] = &[
    ("another_port", Always, |facts| {
        reaches((Ipv4Addr::LOCALHOST, facts.other).into())
    }),
    ("another_address_at_the_port", Always, |facts| {
        reaches((Ipv4Addr::new(127, 0, 0, 2), facts.gateway).into())
    }),
    ("ipv6_at_the_port", Depends("a machine with IPv6"), |facts| {
        reaches((std::net::Ipv6Addr::LOCALHOST, facts.gateway).into())
    }),
    ("a_mapped_address", Depends("a machine with IPv6"), |facts| {
        reaches((Ipv4Addr::LOCALHOST.to_ipv6_mapped(), facts.other).into())
    }),
    (
        "a_race_of_two_threads",
        Depends("luck: the control arrives elsewhere most of the time"),
        race,
    ),
    (
        "tcp_fast_open",
        Depends("a kernel that lets clients open fast"),
        |facts| {
            let Ok(socket) = socket(libc::AF_INET, libc::SOCK_STREAM, 0) else {
                return false;
            };
            let address = raw((Ipv4Addr::LOCALHOST, facts.other));
            call(
                libc::SYS_sendto,
                &[socket, pointer("x"), 1, signed(FAST_OPEN), pointer(&address), 16],
            )
            .is_ok()
        },
    ),
    (
        "tcp_fast_open_by_message",
        Depends("a kernel that lets clients open fast"),
        |facts| {
            let Ok(socket) = socket(libc::AF_INET, libc::SOCK_STREAM, 0) else {
                return false;
            };
            let address = raw((Ipv4Addr::LOCALHOST, facts.other));
            let part = [pointer("x"), 1];
            let message = [pointer(&address), 16, pointer(&part), 1, 0, 0, 0];
            call(libc::SYS_sendmsg, &[socket, pointer(&message), signed(FAST_OPEN)]).is_ok()
        },
    ),
    ("mptcp", Depends("a kernel with MPTCP"), |facts| {
        let Ok(socket) = socket(libc::AF_INET, libc::SOCK_STREAM, MPTCP) else {
            return false;
        };
        let address = raw((Ipv4Addr::LOCALHOST, facts.other));
        call(libc::SYS_connect, &[socket, pointer(&address), 16]).is_ok()
    }),
    ("a_datagram", Always, |facts| {
        UdpSocket::bind(("127.0.0.1", 0))
            .and_then(|socket| socket.send_to(b"x", ("127.0.0.1", facts.datagrams)))
            .is_ok()
    }),
    ("a_name_server", Always, |_| {
        // No answer is needed: the question is out.
        UdpSocket::bind(("127.0.0.1", 0))
            .and_then(|socket| socket.send_to(b"question", ("127.0.0.1", 53)))
            .is_ok()
    }),
    ("a_raw_socket", Root, |_| {
        socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP).is_ok()
    }),
    ("a_packet_socket", Root, |_| {
        socket(libc::AF_PACKET, libc::SOCK_RAW, 0).is_ok()
    }),
    ("netlink", Always, |_| {
        socket(libc::AF_NETLINK, libc::SOCK_RAW, 0).is_ok()
    }),
    ("vsock", Depends("a kernel with vsock"), |_| {
        socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0).is_ok()
    }),
    ("the_kernels_ciphers", Depends("a kernel with AF_ALG"), |_| {
        socket(libc::AF_ALG, libc::SOCK_SEQPACKET, 0).is_ok()
    }),
    ("a_socket_file", Always, |facts| {
        UnixStream::connect(&facts.socket_file).is_ok()
    }),
    ("an_abstract_socket", Always, |facts| {
        UnixAddress::from_abstract_name(&facts.abstract_name)
            .and_then(|name| UnixStream::connect_addr(&name))
            .is_ok()
    }),
    ("a_pair_of_datagram_sockets", Always, |facts| {
        let pair = [0_i32; 2];
        let made = call(
            libc::SYS_socketpair,
            &[signed(libc::AF_UNIX), signed(libc::SOCK_DGRAM), 0, pointer(&pair)],
        );
        let mut address = [0_u8; 110];
        address[0] = 1;
        let path = facts.datagram_file.as_os_str().as_bytes();
        address[2..2 + path.len()].copy_from_slice(path);
        made.is_ok() && {
            let first = std::hint::black_box(&pair)[0];
            call(
                libc::SYS_sendto,
                &[
                    signed(first),
                    pointer("x"),
                    1,
                    0,
                    pointer(&address),
                    2 + path.len() as u64 + 1,
                ],
            )
            .is_ok()
        }
    }),
    ("a_socket_file_of_its_own", Always, |facts| {
        let path = facts.home.join("tmp/socket");
        let _ = std::fs::remove_file(&path);
        UnixListener::bind(path).is_ok()
    }),
    ("a_second_server", Always, |_| {
        TcpListener::bind(("127.0.0.1", 0)).is_ok()
    }),
    ("a_server_without_a_port", Always, |_| {
        let Ok(socket) = socket(libc::AF_INET, libc::SOCK_STREAM, 0) else {
            return false;
        };
        call(libc::SYS_listen, &[socket, 1]).is_ok()
    }),
    (
        "a_filter_of_the_kernel_on_a_socket",
        Depends("a kernel that lets users filter"),
        |_| {
            let drop_all = [6_u64];
            let filter = [1, pointer(&drop_all)];
            sets(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &filter)
        },
    ),
    (
        "another_protocol_on_top_of_tcp",
        Depends("a kernel with TLS of its own"),
        |facts| {
            let Ok(stream) = TcpStream::connect(("127.0.0.1", facts.gateway)) else {
                return false;
            };
            let socket = std::os::fd::AsRawFd::as_raw_fd(&stream);
            call(
                libc::SYS_setsockopt,
                &[
                    signed(socket),
                    signed(libc::IPPROTO_TCP),
                    signed(libc::TCP_ULP),
                    pointer("tls"),
                    3,
                ],
            )
            .is_ok()
        },
    ),
    ("a_priority_of_its_packets", Always, |_| {
        sets(libc::SOL_SOCKET, libc::SO_PRIORITY, &1_i32)
    }),
    ("a_class_of_its_packets", Always, |_| {
        sets(libc::IPPROTO_IP, libc::IP_TOS, &8_i32)
    }),
    ("a_chosen_port", Always, |_| {
        (20_000..20_050).any(|port| TcpListener::bind(("127.0.0.1", port)).is_ok())
    }),
    ("io_uring", Depends("a machine that has not switched it off"), |_| {
        let parameters = [0_u8; 120];
        call(libc::SYS_io_uring_setup, &[1, pointer(&parameters)]).is_ok()
    }),
    ("x32", Depends("a kernel with the x32 interface"), |_| {
        call(libc::SYS_getppid | 0x4000_0000, &[]).is_ok()
    }),
    ("the_32_bit_gate", Depends("a kernel with the 32-bit interface"), |_| {
        through_the_32_bit_gate()
    }),
];

fn reaches(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, Duration::from_secs(2))
        .and_then(|mut stream| stream.write_all(b"x"))
        .is_ok()
}

/// Sets an option of a new socket.
fn sets<T: ?Sized>(level: i32, option: i32, value: &T) -> bool {
    let Ok(socket) = socket(libc::AF_INET, libc::SOCK_STREAM, 0) else {
        return false;
    };
    let length = size_of_val(value) as u64;
    call(
        libc::SYS_setsockopt,
        &[socket, signed(level), signed(option), pointer(value), length],
    )
    .is_ok()
}

fn socket(family: i32, kind: i32, protocol: i32) -> std::io::Result<u64> {
    call(libc::SYS_socket, &[signed(family), signed(kind), signed(protocol)]).map(i64::cast_unsigned)
}

/// An address as the kernel takes it.
fn raw((ip, port): (Ipv4Addr, u16)) -> [u8; 16] {
    let mut bytes = [0; 16];
    let family = u16::try_from(libc::AF_INET).expect("small").to_ne_bytes();
    bytes[..2].copy_from_slice(&family);
    bytes[2..4].copy_from_slice(&port.to_be_bytes());
    bytes[4..8].copy_from_slice(&ip.octets());
    bytes
}

/// One thread connects to an address in memory, the other changes that memory all the time. It succeeds if a connection arrives at
/// the address that is not allowed.
fn race(facts: &Facts) -> bool {
    // Family, port and address in two words: the second never changes, the first holds the port.
    let good = raw((Ipv4Addr::LOCALHOST, facts.gateway));
    let bad = raw((Ipv4Addr::LOCALHOST, facts.other));
    let word = |bytes: &[u8; 16]| u32::from_ne_bytes(bytes[..4].try_into().expect("four bytes"));
    let (good_word, bad_word) = (word(&good), word(&bad));
    let ip = u32::from_ne_bytes(good[4..8].try_into().expect("four bytes"));
    let address = Arc::new([
        AtomicU32::new(good_word),
        AtomicU32::new(ip),
        AtomicU32::new(0),
        AtomicU32::new(0),
    ]);
    let stop = Arc::new(AtomicBool::new(false));
    let flipping = std::thread::spawn({
        let (address, stop) = (Arc::clone(&address), Arc::clone(&stop));
        move || {
            while !stop.load(Ordering::Relaxed) {
                address[0].store(bad_word, Ordering::Relaxed);
                address[0].store(good_word, Ordering::Relaxed);
            }
        }
    });
    let arrived = (0..TRIES).any(|_| {
        let Ok(socket) = socket(libc::AF_INET, libc::SOCK_STREAM, 0) else {
            return false;
        };
        let connected = call(libc::SYS_connect, &[socket, pointer(&*address), 16]).is_ok();
        let peer = [0_u8; 16];
        let length = 16_u32;
        let asked = connected && call(libc::SYS_getpeername, &[socket, pointer(&peer), pointer(&length)]).is_ok();
        let _ = call(libc::SYS_close, &[socket]);
        asked && std::hint::black_box(&peer)[2..4] == facts.other.to_be_bytes()
    });
    stop.store(true, Ordering::Relaxed);
    flipping.join().expect("no panic");
    arrived
}

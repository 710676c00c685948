use proptest::prelude::*;

use super::*;

/// The frames of a stream that comes in these pieces.
fn frames<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Frame> {
    let mut parser = FrameParser::new();
    let mut frames = Vec::new();
    for piece in pieces {
        parser.push(Bytes::copy_from_slice(piece));
        while let Some(frame) = parser.next_frame().expect("short frames") {
            frames.push(frame);
        }
    }
    frames.extend(parser.finish());
    frames
}

fn data(frames: &[Frame]) -> Vec<String> {
    frames
        .iter()
        .filter_map(|frame| frame.data().map(|data| String::from_utf8_lossy(&data).into_owned()))
        .collect()
}

const STREAMS: [&str; 5] = [
    "event: a\ndata: {\"x\":1}\n\n: keep-alive\n\ndata:two\n\n",
    "event: a\r\ndata: {\"x\":1}\r\n\r\n: keep-alive\r\n\r\ndata:two\r\n\r\n",
    "event: a\rdata: {\"x\":1}\r\r: keep-alive\r\rdata:two\r\r",
    "\n\ndata: {\"x\":1}\n\n\r\ndata:two\r\n\n",
    "data: {\"x\":1}\nid: 7\nretry: 3\n\ndata\n\ndata:two\n\n",
];

#[test]
fn every_split_gives_the_same_frames_and_loses_no_byte() {
    for stream in STREAMS {
        let bytes = stream.as_bytes();
        let whole = frames([bytes]);
        assert_eq!(data(&whole), ["{\"x\":1}", "two"], "{stream:?}");
        for at in 0..=bytes.len() {
            let (front, back) = bytes.split_at(at);
            assert_eq!(frames([front, back]), whole, "{stream:?} at {at}");
        }
        assert_eq!(frames(bytes.chunks(1)), whole, "{stream:?} byte by byte");
        let raw: Vec<u8> = whole.iter().flat_map(|frame| frame.raw().to_vec()).collect();
        assert_eq!(raw, bytes, "{stream:?}");
    }
}

#[test]
fn data_lines_are_joined() {
    let stream = b"data: one\ndata:  two\r\ndata:\n\n";
    assert_eq!(data(&frames([&stream[..]])), ["one\n two\n"]);
}

#[test]
fn lines_that_no_event_has_are_found() {
    for (stream, strays) in [
        (
            "event: a\ndata: x\nid: 7\nretry: 3\ndata\nevent:b\n: comment\n:\n\n",
            None,
        ),
        (": OPENROUTER PROCESSING\r\n\r\n", None),
        (" \n\n", None),
        ("data: x\n{\"error\":\"dead\"}\n\n", Some("{\"error\":\"dead\"}")),
        ("error: {}\n\n", Some("error: {}")),
        ("<html>\r\n502\r\n\r\n", Some("<html>\n502")),
        ("database: x\n\n", Some("database: x")),
    ] {
        let found = frames([stream.as_bytes()])[0].strays();
        assert_eq!(found.as_deref(), strays.map(str::as_bytes), "{stream:?}");
    }
    let named = frames([&b"event: ping\nevent:error \ndata: x\n\n"[..]]);
    assert!(named[0].is(b"error") && !named[0].is(b"ping"));
    let mut parser = FrameParser::new();
    parser.push(Bytes::from_static(b"data: x\n\n{\"error\":\"dead\"}\n"));
    assert!(parser.next_frame().is_ok_and(|frame| frame.is_some()));
    assert_eq!(parser.next_frame(), Ok(None));
    assert_eq!(parser.rest().strays().as_deref(), Some(&b"{\"error\":\"dead\"}"[..]));
}

#[test]
fn half_a_frame_is_none() {
    assert!(frames([&b"data: one\n"[..]]).is_empty());
}

#[test]
fn an_endless_line_is_an_error() {
    let mut parser = FrameParser::new();
    let piece = vec![b'x'; 1 << 20];
    let result = (0..8).try_for_each(|_| {
        parser.push(Bytes::from(piece.clone()));
        parser.next_frame().map(|frame| assert_eq!(frame, None))
    });
    assert_eq!(result, Err(FrameTooLong));
}

proptest! {
    #[test]
    fn any_text_in_any_pieces_is_the_same(text in "[a-c:\r\n]{0,60}", cuts in proptest::collection::vec(0usize..60, 0..8)) {
        let bytes = text.as_bytes();
        let whole = frames([bytes]);
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|&at| at <= bytes.len()).collect();
        cuts.sort_unstable();
        let ends = cuts.iter().copied().chain([bytes.len()]);
        let mut from = 0;
        let pieces: Vec<&[u8]> = ends.map(|to| { let piece = &bytes[from..to]; from = to; piece }).collect();
        prop_assert_eq!(frames(pieces), whole);
    }
}

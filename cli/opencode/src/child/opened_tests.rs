//! Mounts and links that open more than a rule says.

use conclave_sandbox::Access;

use super::*;

fn none() -> Mounts {
    Mounts(Vec::new())
}

fn rules(paths: &[&str]) -> Vec<FileRule> {
    let rule = |path: &&str| FileRule::optional(*path, Access::Run);
    paths.iter().map(rule).collect()
}

#[test]
fn a_proc_that_hides_processes_is_seen() {
    let line = |options: &str| {
        format!("22 1 0:20 / /sys rw - sysfs sysfs rw\n24 1 0:21 / /proc rw,nosuid - proc proc rw{options}\n")
    };
    let hides = |text: &str| Mounts::parse(text).hide_processes();
    for (options, wanted) in [
        ("", false),
        (",hidepid=0", false),
        (",hidepid=off", false),
        (",hidepid=2", true),
        (",gid=4,hidepid=invisible", true),
    ] {
        assert_eq!(hides(&line(options)), wanted, "{options}");
    }
    assert!(!hides(&(line(",hidepid=2") + &line(""))), "the last mount counts");
}

#[test]
fn places_of_the_user_that_a_rule_opens_are_named() {
    let root = tempfile::tempdir().expect("a directory");
    let root = Utf8Path::from_path(root.path())
        .expect("UTF-8")
        .canonicalize_utf8()
        .expect("real");
    for place in ["usr/app/.git", "home/.local/bin"] {
        std::fs::create_dir_all(root.join(place)).expect("a directory");
    }
    std::os::unix::fs::symlink(root.join("usr/app"), root.join("checkout")).expect("a link");
    let private = ["checkout", "home", "home"].map(|place| root.join(place));
    let of = |paths: &[&str]| {
        let paths: Vec<Utf8PathBuf> = paths.iter().map(|path| root.join(path)).collect();
        let paths: Vec<&str> = paths.iter().map(|path| path.as_str()).collect();
        exposed(&rules(&paths), &private, &none())
    };
    assert_eq!(
        of(&["usr/lib", "home/.local/bin", "missing"]),
        [""; 0],
        "below a place is the user's choice"
    );
    let app = root.join("usr/app");
    assert_eq!(
        of(&["usr"]),
        [format!("files below {app}, which {} opens", root.join("usr"))]
    );
    assert_eq!(of(&[""]).len(), 2, "each place once");
    assert_eq!(of(&["home"]).len(), 1);
}

/// A machine with a disk, a home of its own, and what the lines mount besides.
fn machine(more: &str) -> Mounts {
    Mounts::parse(&format!(
        "20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n21 20 8:2 /@home /nowhere/home rw - btrfs /dev/sda2 rw\n{more}"
    ))
}

#[test]
fn a_place_of_the_user_is_found_under_another_name() {
    let private = ["/nowhere/home/me/checkout".into(), "/nowhere/elsewhere".into()];
    let of = |more: &str| {
        exposed(
            &rules(&["/nowhere/usr/lib", "/nowhere/usr/share"]),
            &private,
            &machine(more),
        )
    };
    assert_eq!(of(""), [""; 0]);
    // All of the user's home, in place of a system's directory.
    assert_eq!(
        of("30 20 8:2 /@home/me /nowhere/usr/share rw - btrfs /dev/sda2 rw\n"),
        ["files below /nowhere/home/me/checkout, which /nowhere/usr/share opens"]
    );
    // The same path of another file system.
    assert_eq!(
        of("30 20 8:3 /@home/me /nowhere/usr/share rw - btrfs /dev/sda2 rw\n"),
        [""; 0]
    );
    // The user's directory is a part of the system's one.
    assert_eq!(
        of("30 20 8:1 /nowhere/usr/lib/app /nowhere/elsewhere rw - ext4 /dev/sda1 rw\n"),
        ["files below /nowhere/elsewhere, which /nowhere/usr/lib opens"]
    );
}

#[test]
fn what_is_mounted_below_an_open_directory_is_named_unless_it_is_what_is_there_anyway() {
    let below = |more: &str| machine(more).below(rules(&["/nowhere/usr/lib", "/nowhere/usr/share"]).iter());
    assert_eq!(below(""), [""; 0]);
    assert_eq!(
        below("30 20 8:2 /@home/me /nowhere/usr/lib/a\\040b rw - btrfs /dev/sda2 rw\n"),
        ["what is mounted at /nowhere/usr/lib/a b (btrfs), which /nowhere/usr/lib opens"]
    );
    assert_eq!(
        below("30 20 0:50 / /nowhere/usr/share/x rw - tmpfs none rw\n"),
        ["what is mounted at /nowhere/usr/share/x (tmpfs), which /nowhere/usr/share opens"]
    );
    for harmless in [
        // Mounted over itself, to make it read-only.
        "30 20 8:1 /nowhere/usr/lib/x /nowhere/usr/lib/x ro - ext4 /dev/sda1 rw\n",
        // A file system of its own at the directory, or above it.
        "30 20 8:5 / /nowhere/usr/lib ro - ext4 /dev/sda5 rw\n",
        "30 20 8:5 / /nowhere/usr ro - ext4 /dev/sda5 rw\n31 30 8:5 /lib/x /nowhere/usr/lib/x ro - ext4 /dev/sda5 rw\n",
        "30 20 0:50 / /nowhere/usr/libexec rw - tmpfs none rw\n",
    ] {
        assert_eq!(below(harmless), [""; 0], "{harmless}");
    }
    let many = (0..9).map(|number| format!("30 20 0:50 / /nowhere/usr/share/{number} rw - tmpfs none rw\n"));
    let named = below(&many.collect::<Vec<_>>().concat());
    assert_eq!((named.len(), named[5].as_str()), (6, "4 more mounts like these"));
}

#[test]
#[cfg(target_os = "linux")]
fn the_mounts_of_this_machine_are_read() {
    let opened = Opened {
        shared: Vec::new(),
        own: Vec::new(),
        private: Vec::new(),
    };
    let list = opened.list(&[]);
    assert!(!list.iter().any(|open| open.contains("cannot be read")), "{list:?}");
    let mounts = Mounts::parse(&std::fs::read_to_string(MOUNTS).expect("mounts"));
    assert!(
        mounts
            .place(Utf8Path::new("/proc"))
            .is_some_and(|place| place.path == "/")
    );
}

use async_trait::async_trait;

use super::*;

/// A guard, and a file whose texts are what they are, or cannot be read.
struct Files(Option<&'static str>, Option<&'static str>);

#[async_trait]
impl SourceTree for Files {
    async fn text(&self, _path: &str, at_base: bool) -> Option<String> {
        if at_base { self.0 } else { self.1 }.map(str::to_owned)
    }
}

#[tokio::test]
async fn the_first_place_is_told_and_what_cannot_be_read_counts_as_one() {
    let guard = QuotedFile {
        path: "src/util.py",
        head: "def guard(order):\n    check(order)\n",
        base: None,
        change: None,
    };
    let used = UsedAs::of(guard, (2, 2), "");
    let call = Some("def pay(order):\n    guard(order)\n");
    let none = Some("def pay(order):\n    return 0\n");
    let changed = |kind| FileDiff {
        path: "src/calc.py".to_owned(),
        kind,
        lines: crate::diff::LineMap::of_added([2]).with_removed([2]),
        ..FileDiff::default()
    };
    for (kind, base, head, place) in [
        (ChangeKind::Modified, call, none, Some("src/calc.py:2")),
        (ChangeKind::Modified, none, call, None),
        (ChangeKind::Modified, None, call, Some("src/calc.py")),
        (ChangeKind::Modified, call, None, Some("src/calc.py")),
        (ChangeKind::Added, None, call, None),
        (ChangeKind::Deleted, None, None, Some("src/calc.py")),
    ] {
        let places = altered_uses(&Files(base, head), [&changed(kind)].into_iter(), &[&used]).await;
        assert_eq!(places, [place.map(str::to_owned)], "{kind:?} {base:?} {head:?}");
    }
    let prose = FileDiff {
        path: "docs/pay.md".to_owned(),
        ..changed(ChangeKind::Modified)
    };
    assert_eq!(
        altered_uses(&Files(call, none), [&prose].into_iter(), &[&used]).await,
        [None]
    );
}

use super::*;

const BEFORE: &str = "a\nb\nc\nd\nquery(user)\ne\nf\ng\nh\n";

fn anchor() -> Anchor {
    Anchor::of(&Lines::new(BEFORE), 5, None).expect("there")
}

fn place(text: &str) -> (Option<u32>, AnchorState) {
    let place = anchor().find(&Lines::new(text), 5, None);
    (place.line, place.state)
}

#[test]
fn it_is_followed_and_its_neighbourhood_is_watched() {
    use AnchorState::{Changed, ChangedBeside, Unchanged};
    for (text, expected) in [
        (BEFORE, (Some(5), Unchanged)),
        // Far away from it, lines come and go.
        ("new\nnew\na\nb\nc\nd\nquery(user)\ne\nf\ng\n", (Some(7), Unchanged)),
        // A check in front of it may be the fix.
        (
            "a\nb\nc\nd\ncheck(user)\nquery(user)\ne\nf\ng\nh\n",
            (Some(6), ChangedBeside),
        ),
        // So may be another indentation.
        ("a\nb\nc\nd\n  query(user)\ne\nf\ng\nh\n", (Some(5), ChangedBeside)),
        ("a\nb\nc\nd\nquery(safe(user))\ne\nf\ng\nh\n", (None, Changed)),
        ("", (None, Changed)),
        // White space at the end of a line is none.
        ("a\nb\nc\nd  \nquery(user)\t\ne\nf\ng\nh\n", (Some(5), Unchanged)),
    ] {
        assert_eq!(place(text), expected, "{text:?}");
    }
}

#[test]
fn the_unchanged_one_of_two_equal_lines_is_it() {
    let twice = "query(user)\nx\nx\nx\nx\na\nb\nc\nd\nquery(user)\ne\nf\ng\nh\n";
    assert_eq!(place(twice), (Some(10), AnchorState::Unchanged));
    let fixed = "query(user)\nx\nx\nx\nx\na\nb\nc\nd\nquery(safe)\ne\nf\ng\nh\n";
    assert_eq!(place(fixed), (Some(1), AnchorState::ChangedBeside));
}

#[test]
fn of_equal_lines_in_several_functions_that_of_its_own_is_it() {
    let function = |name: &str| format!("def {name}():\n    query(user)\n");
    let before = Lines::new(&function("find"));
    let anchor = Anchor::of(&before, 2, None).expect("there");
    let text = ["first", "find", "last"].map(function).concat();
    let place = anchor.find(&Lines::new(&text), 2, None);
    assert_eq!((place.line, place.state), (Some(4), AnchorState::ChangedBeside));
    let renamed = ["first", "other"].map(function).concat();
    assert_eq!(
        anchor.find(&Lines::new(&renamed), 2, None).line,
        Some(2),
        "else the nearest"
    );
}

#[test]
fn several_lines_are_one_anchor() {
    let lines = Lines::new(BEFORE);
    let anchor = Anchor::of(&lines, 4, Some(6)).expect("there");
    assert_eq!(anchor.find(&lines, 4, Some(6)).state, AnchorState::Unchanged);
    let changed = Lines::new("a\nb\nc\nd\nquery(user)\nE\nf\ng\nh\n");
    assert_eq!(anchor.find(&changed, 4, Some(6)).line, None);
    assert_eq!(lines.excerpt(4, 3), "d\nquery(user)\ne");
}

#[test]
fn quoted_lines_with_others_between_them_still_stand() {
    let text = "def run(x):\n    # called by the router\n    os.system(\"rm \" + x)\n";
    let quoted = Anchor::of(&Lines::new(text), 1, Some(3)).expect("there");
    let state = |text: &str| {
        let place = quoted.find(&Lines::new(text), 1, Some(3));
        (place.line, place.state)
    };
    let beside = text.replace("    os", "    # x is safe\n    y = 1\n    os");
    assert_eq!(state(&beside), (Some(1), AnchorState::ChangedBeside));
    assert_eq!(state(&text.replace("rm ", "ls ")), (None, AnchorState::Changed));
    let far = text.replace("    os", &("    y = 1\n".repeat(MAX_BETWEEN + 1) + "    os"));
    assert_eq!(state(&far), (None, AnchorState::Changed));
    // What an older version wrote has whole quotes alone.
    let old = Anchor {
        each: Vec::new(),
        ..quoted.clone()
    };
    assert_eq!(old.find(&Lines::new(&beside), 1, Some(3)).line, None);
}

#[test]
fn code_is_known_by_its_letters_and_a_comment_of_it_is_none() {
    let guard = Squeezed::of("    if isdir(x):\n        raise ValueError(x)\n").expect("code");
    for (text, stands) in [
        ("def f(x):\n  if isdir(x):\n    raise ValueError(x)\n", true),
        ("if isdir(x): raise ValueError(x)\n", true),
        ("# if isdir(x):\n#     raise ValueError(x)\n", false),
        ("if isdir(x):\n    pass\n", false),
        ("", false),
    ] {
        assert_eq!(!guard.places_in(&Lines::new(text)).is_empty(), stands, "{text}");
    }
    let place = |line, end_line, is_whole| CodePlace {
        line,
        end_line,
        is_whole,
    };
    let twice = "if isdir(x):\n\n    raise ValueError(x)\nif isdir(x): raise ValueError(x) or y\n";
    assert_eq!(
        guard.places_in(&Lines::new(twice)),
        [place(1, 3, true), place(4, 4, false)]
    );
    assert_eq!(Squeezed::of(" \n"), None);
}

#[test]
fn there_is_none_where_there_are_no_such_lines() {
    let lines = Lines::new(BEFORE);
    for (line, end) in [(0, None), (10, None), (8, Some(12)), (u32::MAX, None)] {
        assert_eq!(Anchor::of(&lines, line, end), None, "{line} {end:?}");
    }
    // An end before the beginning is one line.
    assert_eq!(Anchor::of(&lines, 5, Some(2)), Anchor::of(&lines, 5, None));
}

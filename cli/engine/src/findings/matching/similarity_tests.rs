//! Claims that are the same in other words, and claims that only sound like it.

use proptest::prelude::*;

use super::*;

/// Claims about one change, each with the number of the problem that it is about.
const CLAIMS: [(u32, &str); 8] = [
    (
        1,
        "`find_user` returns None for an unknown id and the caller dereferences it without a check.",
    ),
    (
        1,
        "Missing null check: `find_user` can return None when the id is unknown, so the caller crashes with AttributeError.",
    ),
    (
        2,
        "The session cache of `find_user` is never invalidated after a password change.",
    ),
    (
        2,
        "After the password was changed, `find_user` still serves the old session from its cache.",
    ),
    (
        3,
        "`find_user` interpolates the id into the SQL query, so a crafted id injects SQL.",
    ),
    (
        4,
        "`retry_limit` was changed from 30 to 70, so a dead server blocks the worker for minutes.",
    ),
    (
        5,
        "`retry_limit` was changed from 30 to 50 in the batch job, which now runs past its window.",
    ),
    (
        6,
        "The loop over `sessions` awaits each request in turn although they are independent.",
    ),
];

#[test]
fn the_same_problem_in_other_words_is_found_and_another_one_is_not() {
    let claims = Claims::new(CLAIMS.map(|(_, text)| text));
    for (one, (problem, text)) in CLAIMS.iter().enumerate() {
        for (other, (other_problem, other_text)) in CLAIMS.iter().enumerate().skip(one + 1) {
            assert_eq!(
                claims.are_same(one, other),
                problem == other_problem,
                "{:?} of at least {:.3}\n{text}\n{other_text}",
                claims.likeness(one, other),
                claims.border(),
            );
        }
    }
}

#[test]
fn what_all_claims_name_says_little() {
    let pair = [CLAIMS[0].1, CLAIMS[2].1];
    let alone = Claims::new(pair).likeness(0, 1).words;
    let among = Claims::new(pair.into_iter().chain([CLAIMS[3].1, CLAIMS[4].1]))
        .likeness(0, 1)
        .words;
    assert!(among < alone, "{among} {alone}");
}

#[test]
fn numbers_in_another_order_are_another_change() {
    let claims = Claims::new([
        "The limit was changed from 30 to 70.",
        "The limit was changed from 70 to 30.",
        "The limit was changed from 30 to 70 in line 12.",
        "The limit is 70 now.",
    ]);
    assert!(claims.likeness(0, 1).numbers_differ);
    assert!(!claims.likeness(0, 2).numbers_differ, "one says more than the other");
    assert!(
        !claims.likeness(0, 3).numbers_differ,
        "a single number sets nothing apart"
    );
}

#[test]
fn the_kinds_of_defect_of_both_are_compared() {
    let claims = Claims::new([
        "The cache leaks.",
        "A leak of the caching layer.",
        "The cache is stale, a typo too.",
    ]);
    assert!((claims.likeness(0, 1).kinds - 1.0).abs() < 1e-9);
    assert!(
        (claims.likeness(0, 2).kinds - 1.0 / 3.0).abs() < 1e-9,
        "{:?}",
        claims.likeness(0, 2)
    );
}

#[test]
fn the_fewer_claims_the_more_two_have_to_share() {
    let borders: Vec<f64> = [0, 1, 4, 40].into_iter().map(border).collect();
    assert!(borders.windows(2).all(|pair| pair[0] > pair[1]), "{borders:?}");
}

#[test]
fn a_text_is_like_itself_and_unlike_nothing() {
    let claims = Claims::new([CLAIMS[0].1, CLAIMS[0].1, ""]);
    assert!((claims.likeness(0, 1).words - 1.0).abs() < 1e-9);
    assert_eq!(claims.likeness(0, 2), Likeness::default());
    assert_eq!(claims.likeness(2, 2), Likeness::default());
    assert_eq!(claims.likeness(0, 9), Likeness::default(), "there is no such claim");
}

proptest! {
    #[test]
    fn any_texts_can_be_compared_in_any_order(one in "\\PC{0,80}", other in "\\PC{0,80}", third in "[a-z_().& ]{0,80}") {
        let claims = Claims::new([one.as_str(), other.as_str(), third.as_str()]);
        let likeness = claims.likeness(0, 1);
        prop_assert!((0.0..=1.0 + 1e-9).contains(&likeness.words), "{:?}", likeness);
        prop_assert!((0.0..=1.0).contains(&likeness.kinds));
        let turned = claims.likeness(1, 0);
        prop_assert!((likeness.score() - turned.score()).abs() < 1e-9);
    }
}

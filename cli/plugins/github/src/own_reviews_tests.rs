use super::*;

const BOT: u64 = 7;
const BOB: u64 = 8;

fn signer(secret: &str) -> Signer {
    Signer::new(secret.to_owned().into(), "github\u{0}1\u{0}2".to_owned())
}

fn text(secret: &str, head: &str, approves: Option<bool>) -> String {
    let head = head.to_owned();
    format!("Words.\n\n{}", signer(secret).sign(&SignedOpinion { head, approves }))
}

fn all(reviews: &[(&str, String, bool)], dismissed: &[(u64, u64, bool)]) -> OwnReviews {
    let numbered = (1..).zip(reviews);
    let read = numbered.filter_map(|(id, (state, text, edited))| {
        let own = OwnReview::read(&signer("ours"), state, text, *edited)?;
        Some((id, own))
    });
    let dismissals = dismissed.iter().map(|(review, by, of_request)| {
        let by = Some(Account {
            id: *by,
            ..Account::default()
        });
        let of_request = *of_request;
        (*review, Dismissal { by, of_request })
    });
    OwnReviews {
        reviews: read.collect(),
        dismissals: dismissals.collect(),
    }
}

fn last(reviews: &[(&str, String, bool)], dismissed: &[(u64, u64, bool)]) -> Option<(Option<String>, bool)> {
    let last = all(reviews, dismissed).last_request(BOT)?;
    Some((last.head, last.fate == RequestFate::Stands))
}

#[test]
fn the_newest_request_counts_until_an_approval_of_ours_or_our_own_dismissal() {
    let request = |state| (state, text("ours", "a", Some(false)), false);
    let approval = |state| (state, text("ours", "b", Some(true)), false);
    let stands = Some((Some("a".to_owned()), true));
    let dismissed = Some((Some("a".to_owned()), false));
    assert_eq!(last(&[], &[]), None);
    assert_eq!(last(&[request("CHANGES_REQUESTED")], &[]), stands);
    assert_eq!(last(&[request("CHANGES_REQUESTED"), approval("APPROVED")], &[]), None);
    assert_eq!(last(&[approval("APPROVED"), request("CHANGES_REQUESTED")], &[]), stands);
    // A dismissal of the approval does not bring the request back.
    let overtaken = [request("CHANGES_REQUESTED"), approval("DISMISSED")];
    assert_eq!(last(&overtaken, &[(2, BOB, false)]), None);
    assert_eq!(
        last(&overtaken, &[(2, BOT, false)]),
        stands,
        "ours was taken back with it"
    );
    assert_eq!(last(&[request("DISMISSED")], &[(1, BOT, true)]), None);
    assert_eq!(last(&[request("DISMISSED")], &[(1, BOB, true)]), dismissed);
    assert_eq!(last(&[request("DISMISSED")], &[]), dismissed, "by whom is not known");
}

#[test]
fn a_request_that_another_hand_or_another_secret_has_spoiled_is_one_all_the_same() {
    let unreadable = Some((None, true));
    let edited = ("CHANGES_REQUESTED", "fine".to_owned(), true);
    assert_eq!(last(&[edited], &[]), unreadable);
    let set_back = ("CHANGES_REQUESTED", text("ours", "a", Some(true)), true);
    assert_eq!(last(&[set_back], &[]), unreadable);
    let foreign = ("CHANGES_REQUESTED", text("theirs", "a", Some(false)), false);
    assert_eq!(last(std::slice::from_ref(&foreign), &[]), unreadable);
    let dismissed = ("DISMISSED", "fine".to_owned(), true);
    assert_eq!(
        last(std::slice::from_ref(&dismissed), &[(1, BOB, true)]),
        Some((None, false))
    );
    assert_eq!(last(&[dismissed], &[(1, BOB, false)]), None);
    // An approval that was edited, or that another program has given, settles nothing.
    let approval = ("APPROVED", text("ours", "b", Some(true)), true);
    let program = ("APPROVED", "Looks good.".to_owned(), false);
    assert_eq!(last(&[foreign, approval, program.clone()], &[]), unreadable);
    let other = ("CHANGES_REQUESTED", "No.".to_owned(), false);
    assert_eq!(last(&[other, program], &[]), None);
}

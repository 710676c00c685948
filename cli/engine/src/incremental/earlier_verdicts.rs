//! What the coordinator says of earlier findings, taken out of its submission and checked.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    authority::argument,
    questions::{QuestionAnswer, short},
};
use crate::{
    judge::NOTHING_QUOTED,
    review::{AnchorState, AuthorRole, ExistingFinding, Refutation},
};

conclave_shared::named_enum! {
    /// The coordinator's word on an earlier finding.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
    pub enum EarlierStatus {
        /// The problem is gone at head.
        Fixed = "fixed",
        /// It is still there.
        NotFixed = "not_fixed",
        /// A member says that it is dealt with at another place, and the code there shows it.
        FixedElsewhere = "fixed_elsewhere",
        /// A member's argument against it holds: it never was one.
        Withdrawn = "withdrawn",
    }
}

impl EarlierStatus {
    /// Returns whether it takes effect only where a member's words in the thread ask for it.
    const fn needs_argument(self) -> bool {
        matches!(self, Self::FixedElsewhere | Self::Withdrawn)
    }
}

/// The same with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct EarlierVerdict {
    /// The earlier finding.
    pub id: String,
    /// What it says.
    pub status: EarlierStatus,
    /// Why, in a sentence.
    #[serde(default)]
    pub reason: String,
    /// What to answer in the thread.
    #[serde(default)]
    pub answer: Option<String>,
    /// The code that refutes the finding, as the coordinator wrote it; see [`Self::needs_refutation`].
    #[serde(default)]
    pub refuted_by: Option<Value>,
    /// The same, checked against the source.
    #[serde(skip)]
    pub refutation: Option<Refutation>,
}

impl EarlierVerdict {
    /// Returns whether the word takes effect only with code that refutes the finding: one is called fixed elsewhere, or withdrawn on the
    /// argument of who may decide nothing, or a serious one is withdrawn, or called fixed although the code that it quotes stands as
    /// before.
    pub(crate) fn needs_refutation(&self, finding: &ExistingFinding) -> bool {
        let is_serious = finding.record.is_serious();
        let argues_without_right =
            || argument(finding).is_some_and(|argument| argument.role == AuthorRole::Contributor);
        match self.status {
            // What the thread is answered with.
            EarlierStatus::FixedElsewhere => true,
            EarlierStatus::Withdrawn => is_serious || argues_without_right(),
            EarlierStatus::Fixed => is_serious && finding.anchor != AnchorState::Changed,
            EarlierStatus::NotFixed => false,
        }
    }

    /// Why the word has no effect for lack of code. `None` where it has one, or needs none.
    pub(crate) fn refutation_fault(&self, finding: &ExistingFinding) -> Option<String> {
        if !self.needs_refutation(finding) {
            return None;
        }
        match &self.refutation {
            None => Some(NOTHING_QUOTED.to_owned()),
            Some(refutation) if refutation.is_valid() => None,
            Some(refutation) => Some(refutation.describe_fault()),
        }
    }
}

/// All that the coordinator says besides judging new findings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EarlierVerdicts {
    /// On earlier findings, at most one each.
    pub words: Vec<EarlierVerdict>,
    /// New findings that repeat an earlier one: the new one's id, and the earlier one's.
    pub repeats: Vec<(String, String)>,
    /// On people's questions, at most one each.
    pub answers: Vec<QuestionAnswer>,
}

impl EarlierVerdicts {
    /// What the coordinator would withdraw or call fixed and may not, in words for it.
    pub(crate) fn objections(&self, earlier: &[ExistingFinding]) -> Vec<String> {
        let faults = earlier.iter().filter_map(|finding| {
            let fault = self.on(&finding.id)?.refutation_fault(finding)?;
            Some(format!("{} stands, because {fault}", finding.id))
        });
        faults.collect()
    }

    /// The word on this earlier finding.
    pub fn on(&self, id: &str) -> Option<&EarlierVerdict> {
        self.words.iter().find(|word| word.id == id)
    }
}

/// Takes what concerns earlier findings out of the tool's arguments, so that what is left is about new ones only: a new
/// finding that is merged into an earlier one becomes a dropped duplicate, and the pair is remembered. Comes with what cannot
/// be used, in words for the model; it counts for nothing.
pub fn take_earlier_verdicts(arguments: &mut Value, earlier: &[ExistingFinding]) -> (EarlierVerdicts, Vec<String>) {
    let mut words = EarlierVerdicts::default();
    let mut faults = Vec::new();
    let Some(fields) = arguments.as_object_mut() else {
        // The reader of the rest says what is wrong with it.
        return (words, faults);
    };
    let said = match fields.remove("earlier") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(said)) => said,
        Some(_) => {
            faults.push("`earlier` could not be read: it is not a list of objects".to_owned());
            Vec::new()
        }
    };
    for entry in said {
        match serde_json::from_value(entry) {
            Ok(word) => words.words.push(word),
            Err(error) => faults.push(format!("an entry of `earlier` could not be read: {error}")),
        }
    }
    let find = |id: &str| earlier.iter().find(|finding| finding.id == id);
    let fault_of = |word: &EarlierVerdict, all: &[EarlierVerdict]| {
        let id = &word.id;
        if all.iter().filter(|other| other.id == *id).count() > 1 {
            return Some(format!("{id} is in `earlier` twice"));
        }
        match find(id) {
            None => Some(format!("there is no earlier finding {id}")),
            Some(finding) if word.status.needs_argument() && argument(finding).is_none() => Some(format!(
                "{id} cannot be {}: neither a member nor the author argues against it in its thread. Say `fixed` or `not_fixed`",
                word.status.as_str()
            )),
            Some(_) => None,
        }
    };
    let wrong: Vec<Option<String>> = words.words.iter().map(|word| fault_of(word, &words.words)).collect();
    let mut is_usable = wrong.iter().map(Option::is_none);
    words.words.retain(|_| is_usable.next().unwrap_or(false));
    faults.extend(wrong.iter().flatten().cloned());
    for word in &mut words.words {
        word.answer = word.answer.take().and_then(|answer| short(&answer));
    }
    let decisions = fields.get_mut("decisions").and_then(Value::as_array_mut);
    for decision in decisions.into_iter().flatten() {
        let text = |name: &str| decision.get(name).and_then(Value::as_str).map(str::to_owned);
        let (Some(id), Some(target)) = (text("id"), text("merge_into")) else {
            continue;
        };
        // What the judge keeps goes on by itself, whatever it names beside that.
        if find(&target).is_none() || text("action").as_deref() == Some("keep") {
            continue;
        }
        if let Some(fields) = decision.as_object_mut() {
            fields.remove("merge_into");
            fields.insert("action".into(), json!("drop"));
            fields.insert("reason_code".into(), json!("duplicate"));
        }
        words.repeats.push((id, target));
    }
    (words, faults)
}

/// Adds what [`take_earlier_verdicts`] and [`super::take_answers`] take out to the schema of `submit_review`.
pub fn add_to_schema(schema: &mut Value) {
    schema["properties"]["earlier"] = json!({
        "type": "array",
        "description": "One entry for each earlier finding (E1, E2, …) whose code has changed or whose thread has a new answer.",
        "items": {
            "type": "object",
            "required": ["id", "status", "reason"],
            "properties": {
                "id": {"type": "string", "description": "An earlier finding's id, as in E1."},
                "status": {"type": "string", "enum": ["fixed", "not_fixed", "fixed_elsewhere", "withdrawn"]},
                "reason": {"type": "string", "description": "The fact, in one sentence."},
                "answer": {"type": "string",
                    "description": "Only where a member's last word in the thread is unanswered: the answer for the thread, one or two sentences."},
                "refuted_by": crate::judge::refuted_by_schema(
                    "Required for `fixed_elsewhere`: the code at head that deals with the problem. Required to withdraw an earlier \
                     finding that is critical, has production_risk or is prompt-injection, and to call it fixed while the code \
                     that it quotes still stands, or is removed and still missing: the code at head that refutes it. Without it the \
                     finding stands."),
            }
        }
    });
    schema["properties"]["answers"] = json!({
        "type": "array",
        "description": "Only where the message has questions Q1, Q2, …: one entry for each.",
        "items": {
            "type": "object",
            "required": ["id"],
            "properties": {"id": {"type": "string"}, "answer": {"type": "string"}, "light": {"type": "boolean"}}
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incremental::questions::MAX_ANSWER;
    use crate::incremental::test_support::{existing, said};

    fn earlier() -> Vec<ExistingFinding> {
        let mut contradicted = existing("E2", "b");
        contradicted.replies = vec![said(AuthorRole::Member, "I disagree, it is a constant.")];
        vec![existing("E1", "a"), contradicted]
    }

    fn taken(mut arguments: Value) -> (Result<EarlierVerdicts, Vec<String>>, Value) {
        let (words, faults) = take_earlier_verdicts(&mut arguments, &earlier());
        let words = if faults.is_empty() { Ok(words) } else { Err(faults) };
        (words, arguments)
    }

    #[test]
    fn what_concerns_earlier_findings_is_taken_out() {
        let (words, rest) = taken(json!({
            "summary": "s",
            "earlier": [{"id": "E1", "status": "fixed", "reason": "gone"},
                        {"id": "E2", "status": "withdrawn", "reason": "a constant", "answer": "  Right. "}],
            "decisions": [{"id": "F1", "action": "keep"},
                          {"id": "F2", "action": "merge", "merge_into": "E1", "reason_code": "duplicate"},
                          {"id": "F3", "action": "merge", "merge_into": "F1", "reason_code": "duplicate"},
                          {"id": "F4", "action": "keep", "merge_into": "E1"}],
        }));
        let words = words.expect("no fault");
        assert_eq!(words.on("E1").expect("said").status, EarlierStatus::Fixed);
        assert_eq!(words.on("E2").expect("said").answer.as_deref(), Some("Right."));
        assert_eq!(words.on("E3"), None);
        assert_eq!(words.repeats, [("F2".to_owned(), "E1".to_owned())]);
        assert_eq!(
            rest,
            json!({"summary": "s", "decisions": [
                {"id": "F1", "action": "keep"},
                {"id": "F2", "action": "drop", "reason_code": "duplicate"},
                {"id": "F3", "action": "merge", "merge_into": "F1", "reason_code": "duplicate"},
                {"id": "F4", "action": "keep", "merge_into": "E1"}]})
        );
    }

    #[test]
    fn nothing_said_is_fine() {
        for arguments in [
            json!({"summary": "s"}),
            json!({"earlier": null}),
            json!([]),
            json!({"decisions": "all", "earlier": []}),
        ] {
            assert_eq!(
                taken(arguments.clone()).0,
                Ok(EarlierVerdicts::default()),
                "{arguments}"
            );
        }
    }

    #[test]
    fn faults_tell_the_model_what_to_do() {
        for (arguments, fault) in [
            (
                json!([{"id": "E9", "status": "fixed"}]),
                "there is no earlier finding E9",
            ),
            (
                json!([{"id": "E1", "status": "withdrawn"}]),
                "E1 cannot be withdrawn: neither a member nor the author argues against it in its thread. Say `fixed` or `not_fixed`",
            ),
            (
                json!([{"id": "E1", "status": "fixed_elsewhere"}]),
                "E1 cannot be fixed_elsewhere: neither a member nor the author argues against it in its thread",
            ),
            (
                json!([{"id": "E1", "status": "fixed"}, {"id": "E1", "status": "not_fixed"}]),
                "E1 is in `earlier` twice",
            ),
            (
                json!([{"id": "E1", "status": "gone"}]),
                "an entry of `earlier` could not be read",
            ),
            (json!("E1"), "`earlier` could not be read"),
        ] {
            let faults = taken(json!({"earlier": arguments})).0.expect_err("a fault");
            assert!(faults[0].starts_with(fault), "{faults:?}");
        }
    }

    #[test]
    fn what_cannot_be_used_leaves_the_other_words_in_force() {
        let mut arguments = json!({"earlier": [
            {"id": "E9", "status": "fixed"},
            {"id": "E1", "status": "fixed"},
            {"id": "E2", "status": "gone"}]});
        let (words, faults) = take_earlier_verdicts(&mut arguments, &earlier());
        assert_eq!((words.words.len(), faults.len()), (1, 2), "{faults:?}");
        assert!(words.on("E1").is_some());
    }

    #[test]
    fn answers_are_short() {
        let (words, _) = taken(json!({"earlier": [{"id": "E1", "status": "not_fixed", "answer": "ä".repeat(5000)}]}));
        let words = words.expect("no fault");
        assert_eq!(
            words.on("E1").and_then(|word| word.answer.clone()),
            Some("ä".repeat(MAX_ANSWER))
        );
    }

    #[test]
    fn the_schema_names_every_status() {
        let mut schema = crate::judge::submission_schema();
        add_to_schema(&mut schema);
        for status in ["fixed", "not_fixed", "fixed_elsewhere", "withdrawn"] {
            serde_json::from_value::<EarlierStatus>(json!(status)).expect("a status");
            assert!(
                schema["properties"]["earlier"]
                    .to_string()
                    .contains(&format!("\"{status}\""))
            );
        }
    }
}

//! Models and providers that do what none should: the review ends as it would without, on both runtimes.

use conclave_scripted_provider::{Answer, Fault, ModelRequest, Position, ScriptedProvider, Stop};
use serde_json::{Value, json};

use crate::support::{
    AgentRuntime, Conclave, Outcome, PROVIDER_KEY, Repository, acting, is_asked_after_a_filter, on, played,
    played_formats, provider,
};

on_both_runtimes! {
    calls_that_are_wrong_a_hundred_at_once_or_more_than_a_context_cost_no_finding
    calls_without_end_end_and_nothing_is_approved
    ten_megabytes_of_text_end_and_nothing_is_approved
    a_stream_that_is_cut_inside_of_a_call_costs_no_finding
    words_beside_an_empty_list_are_asked_about_once_and_never_approve_after_it
    a_problem_told_beside_a_tool_call_is_asked_about_and_narration_is_not
    a_problem_told_beside_other_findings_is_asked_about_once
    the_same_call_many_times_in_one_answer_costs_no_second_chance
    a_finding_over_two_blocks_of_text_is_read_whole_in_every_format
    a_finding_beside_a_call_is_read_where_both_have_one_place
    a_refusal_beside_an_empty_list_approves_in_no_format
    a_stop_for_calls_without_one_is_asked_again_in_every_format
    control_tokens_and_thinking_around_an_answer_cost_nothing
    findings_given_to_a_tool_that_does_not_exist_are_read_or_asked_for
    what_a_call_carries_goes_back_with_it_and_thoughts_under_their_name
}

/// The one reviewer of the small change that is reviewed here.
const REVIEWER: &str = "generalist";

async fn reviewed(provider: &conclave_scripted_provider::ScriptedProvider, repository: &Repository) -> Outcome {
    Conclave::new(repository.path(), &["local", "main..feature"])
        .anthropic(provider)
        .run()
        .await
}

async fn calls_that_are_wrong_a_hundred_at_once_or_more_than_a_context_cost_no_finding() {
    let (provider, repository) = (provider().await, Repository::flawed());
    // 60 times 50 KB: more than half of what the largest model takes.
    repository.git(&["checkout", "--quiet", "main"]);
    repository.write("large.txt", &format!("{}\n", "y".repeat(1500)).repeat(80));
    repository.commit("A large text");
    repository.git(&["checkout", "--quiet", "feature"]);
    repository.git(&["rebase", "--quiet", "main"]);
    let mut calls = Answer::call("bash", json!({"command": "id"}));
    for (name, arguments) in [
        (
            "edit",
            json!({"filePath": "src/users.py", "oldString": "def", "newString": "fn"}),
        ),
        ("no such tool", json!({})),
        ("read", json!({})),
        ("read", json!({"filePath": 7})),
        ("read", json!({"filePath": "/etc/passwd"})),
        ("read", json!({"filePath": "src/users.py", "offset": "first"})),
        ("grep", json!({"pattern": "("})),
        ("glob", json!({"pattern": ["a"]})),
    ] {
        calls = calls.and_call(name, arguments);
    }
    for number in 0..100 {
        let arguments = match number % 5 {
            0 | 1 => json!({"filePath": "src/users.py", "offset": 1, "limit": number + 1}),
            _ => json!({"filePath": "large.txt", "offset": 1, "limit": 2000 - number}),
        };
        calls = calls.and_call("read", arguments);
    }
    provider.set(REVIEWER, 1, calls);
    let outcome = reviewed(&provider, &repository).await.expect_code(0);
    assert!(
        outcome.categories().contains(&"sql-injection".to_owned()),
        "{}",
        outcome.stdout
    );
    assert_eq!(outcome.review()["verdict"], "significant_concerns");
    let asked: Vec<_> = provider
        .requests()
        .into_iter()
        .filter(|request| request.agent == REVIEWER)
        .collect();
    assert_eq!(asked.len(), 2, "it was asked for its calls, and with their results");
    let last = asked[1].text();
    assert!(!last.contains("root:x:0"), "nothing outside of the workspace is shown");
    assert_eq!(provider.violations(), []);
}

async fn calls_without_end_end_and_nothing_is_approved() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let many = |count: usize| {
        (1..count).fold(Answer::call("grep", json!({"pattern": "def"})), |answer, number| {
            answer.and_call("read", json!({"filePath": "src/users.py", "limit": number}))
        })
    };
    provider.set_always(REVIEWER, many(30));
    let outcome = reviewed(&provider, &repository).await;
    assert_eq!(outcome.review()["verdict"], "inconclusive", "{}", outcome.stdout);
    assert!(provider.requests().len() < 40, "{}", provider.requests().len());
}

async fn ten_megabytes_of_text_end_and_nothing_is_approved() {
    let (provider, repository) = (provider().await, Repository::flawed());
    provider.set_always(REVIEWER, Answer::text("long ".repeat(2 << 20)));
    let outcome = reviewed(&provider, &repository).await;
    assert_eq!(outcome.review()["verdict"], "inconclusive", "{}", outcome.stdout);
}

async fn a_stream_that_is_cut_inside_of_a_call_costs_no_finding() {
    let (provider, repository) = (provider().await, Repository::flawed());
    provider.set(REVIEWER, 1, Answer::call("read", json!({"filePath": "src/users.py"})));
    provider.inject(Fault::cut().at(Position::MidContent).agent(REVIEWER).turn(1).times(1));
    let outcome = reviewed(&provider, &repository).await.expect_code(0);
    assert!(
        outcome.categories().contains(&"sql-injection".to_owned()),
        "{}",
        outcome.stdout
    );
    assert_eq!(outcome.review()["verdict"], "significant_concerns");
    let turns: Vec<usize> = provider
        .requests()
        .iter()
        .filter(|request| request.agent == REVIEWER)
        .map(|request| request.turn)
        .collect();
    assert_eq!(turns, [1, 1, 2], "it is asked again, and its call runs once");
}

/// An answer without findings.
const NOTHING: &str = "<findings></findings>";

/// The formats in which models are asked.
const FORMATS: [&str; 3] = ["messages", "responses", "chat"];

/// The review by models that speak this format.
async fn reviewed_in(format: &str, provider: &ScriptedProvider, repository: &Repository) -> Outcome {
    let job = Conclave::new(repository.path(), &["local", "main..feature"]);
    let job = match format {
        "messages" => job.anthropic(provider),
        "responses" => job.openai(provider).env("CONCLAVE_OPENAI_API", "responses"),
        _ => job
            .env("CONCLAVE_COMPATIBLE_BASE_URL", format!("{}/v1", provider.url()))
            .env("CONCLAVE_COMPATIBLE_API_KEY", PROVIDER_KEY)
            .env("CONCLAVE_MODELS", "compatible/plain"),
    };
    let outcome = job.run().await;
    let asked = provider.requests();
    assert!(asked.iter().all(|request| request.path.ends_with(match format {
        "messages" => "/messages",
        "responses" => "/responses",
        _ => "/chat/completions",
    })));
    outcome
}

/// The verdict, how the reviewer ended, and why it was asked once more.
fn seen(outcome: &Outcome) -> (String, String, Value) {
    let review = outcome.review();
    let reports = review["reviewers"].as_array().unwrap();
    let report = reports.iter().find(|report| report["name"] == REVIEWER).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (
        text(&review["verdict"]),
        text(&report["outcome"]),
        report["repairs"].clone(),
    )
}

/// The review of the flawed change in which the reviewer says these things, one after the other.
async fn said(format: &str, answers: Vec<Answer>) -> (Outcome, ScriptedProvider) {
    let (provider, repository) = (provider().await, Repository::flawed());
    provider.set_words(REVIEWER, answers);
    (reviewed_in(format, &provider, &repository).await, provider)
}

async fn words_beside_an_empty_list_are_asked_about_once_and_never_approve_after_it() {
    let beside = |words: &str| Answer::text(format!("{words}\n\n{NOTHING}"));
    let harmless =
        "I reviewed all patches and found no security issues. The change looks good and follows existing conventions.";
    let calm = "The token is written to the log in line 12.";
    for (first, second, verdict, repairs) in played([
        (calm, calm, "inconclusive", json!(["unreadable"])),
        ("I read src/users.py in full.", "", "approved", Value::Null),
        (harmless, "", "approved", Value::Null),
        (
            "Ich habe alle Dateien gelesen. Keine Befunde.",
            "",
            "approved",
            Value::Null,
        ),
        ("Do not merge.", "", "approved", json!(["unreadable"])),
        (
            "NACK",
            "I apologize for the confusion. I have no findings.",
            "approved",
            json!(["unreadable"]),
        ),
        (
            "RCE!",
            "マージしないでください。",
            "inconclusive",
            json!(["unreadable"]),
        ),
        (
            "I'm sorry, I can't assist with that.",
            "I'm sorry, I can't assist with that.",
            "inconclusive",
            json!(["unreadable"]),
        ),
        (
            "- **severity**: critical\n- **file**: src/users.py",
            "",
            "inconclusive",
            json!(["unreadable"]),
        ),
    ]) {
        let (outcome, provider) = said("messages", vec![beside(first), beside(second)]).await;
        let (seen_verdict, _, seen_repairs) = seen(&outcome);
        assert_eq!((seen_verdict.as_str(), &seen_repairs), (verdict, &repairs), "{first}");
        if repairs != Value::Null {
            let requests = provider.requests();
            let question = requests
                .iter()
                .rfind(|request| request.agent == REVIEWER)
                .unwrap()
                .text();
            assert!(question.contains("which is it?"), "{question}");
        }
        if second == calm {
            let told = format!(
                "it may have told a problem that is in no finding: \"{}\"",
                calm.trim_end_matches('.')
            );
            let gaps = outcome.review()["coverage"]["gaps"].to_string().replace("\\\"", "\"");
            assert!(gaps.contains(&told), "{gaps}");
            assert!(outcome.record("review.md").contains("written to the log in line 12"));
        }
    }
}

async fn a_problem_told_beside_a_tool_call_is_asked_about_and_narration_is_not() {
    for (words, second, verdict, repairs) in played([
        (
            "Do not merge this.",
            "NACK\n<findings></findings>",
            "inconclusive",
            json!(["unreadable"]),
        ),
        ("Let me look at src/users.py line 5.", NOTHING, "approved", Value::Null),
        ("Everyone becomes admin.", NOTHING, "approved", json!(["unreadable"])),
        (
            "This is a SQL injection: the query is concatenated.",
            NOTHING,
            "approved",
            json!(["unreadable"]),
        ),
    ]) {
        let (provider, repository) = (provider().await, Repository::flawed());
        let read = Answer::call("read", json!({"filePath": "src/users.py"})).with_text(words);
        provider.set(REVIEWER, 1, read);
        provider.set(REVIEWER, 2, Answer::text(NOTHING));
        provider.set(REVIEWER, 3, Answer::text(second));
        let outcome = reviewed(&provider, &repository).await;
        let (seen_verdict, _, seen_repairs) = seen(&outcome);
        assert_eq!(
            (seen_verdict.as_str(), &seen_repairs),
            (verdict, &repairs),
            "{words}: {}",
            outcome.stderr
        );
        let asked = provider
            .requests()
            .iter()
            .any(|request| request.text().contains("in your thinking may tell a problem"));
        assert_eq!(asked, repairs != Value::Null, "{words}");
    }
}

async fn a_problem_told_beside_other_findings_is_asked_about_once() {
    let file = Repository::flawed();
    let source = std::fs::read_to_string(file.path().join("src/users.py")).unwrap();
    let finding = |severity: &str, part: &str, claim: &str| {
        let (at, code) = source
            .lines()
            .enumerate()
            .find(|(_, code)| code.contains(part))
            .unwrap();
        format!(
            "<findings>\n<finding>\n<severity>{severity}</severity>\n<category>other</category>\n<file>src/users.py</file>\n\
             <line>{}</line>\n<claim>{claim}</claim>\n<evidence>\n{code}\n</evidence>\n<scenario>Any call.</scenario>\n\
             <checked>The callers.</checked>\n<confidence>0.9</confidence>\n</finding>\n</findings>",
            at + 1
        )
    };
    let mild = finding("suggestion", "DEBUG", "The line for debugging was left in.");
    let severe = finding("critical", "SELECT", "The query is built from the caller's text.");
    let told = "The query has a critical SQL injection, too.";
    for (words, second, verdict, repairs) in played([
        (told, severe, "significant_concerns", json!(["unreadable"])),
        (
            "I found one suggestion.",
            NOTHING.to_owned(),
            "approved_with_comments",
            Value::Null,
        ),
        (
            told,
            NOTHING.to_owned(),
            "approved_with_comments",
            json!(["unreadable"]),
        ),
        (
            told,
            format!("{told}\n{NOTHING}"),
            "inconclusive",
            json!(["unreadable"]),
        ),
    ]) {
        let answers = vec![Answer::text(format!("{words}\n\n{mild}")), Answer::text(second.clone())];
        let (outcome, provider) = said("messages", answers).await;
        let (seen_verdict, _, seen_repairs) = seen(&outcome);
        assert_eq!(
            (seen_verdict.as_str(), &seen_repairs),
            (verdict, &repairs),
            "{words} {second}: {}",
            outcome.stderr
        );
        let requests = provider.requests();
        let asked = requests.iter().any(|request| {
            request
                .text()
                .contains("the text beside the findings describes a problem")
        });
        assert_eq!(asked, repairs != Value::Null, "{words} {second}");
    }
}

async fn the_same_call_many_times_in_one_answer_costs_no_second_chance() {
    let (provider, repository) = (provider().await, Repository::flawed());
    let same = || json!({"filePath": "src/users.py"});
    let calls = (1..40).fold(Answer::call("read", same()), |answer, _| {
        answer.and_call("read", same())
    });
    provider.set(REVIEWER, 1, calls);
    provider.set_words(REVIEWER, vec![Answer::text("Looks good to me!")]);
    let outcome = reviewed(&provider, &repository).await.expect_code(0);
    let (verdict, ended, repairs) = seen(&outcome);
    assert_eq!(
        (verdict.as_str(), ended.as_str()),
        ("significant_concerns", "ok"),
        "{}",
        outcome.stderr
    );
    assert_eq!(repairs, json!(["unreadable"]));
}

async fn a_finding_over_two_blocks_of_text_is_read_whole_in_every_format() {
    for format in played_formats(FORMATS) {
        let line = "    return connection.execute(f\"SELECT * FROM users WHERE name = '{name}'\").fetchall()";
        let file = Repository::flawed();
        let source = std::fs::read_to_string(file.path().join("src/users.py")).unwrap();
        let line = source.lines().find(|code| code.contains("SELECT")).unwrap_or(line);
        let number = source.lines().position(|code| code == line).map_or(1, |at| at + 1);
        let answer = format!(
            "<findings>\n<finding>\n<severity>critical</severity>\n<category>sql-injection</category>\n\
             <file>src/users.py</file>\n<line>{number}</line>\n<claim>Whoever calls this gets every row.</claim>\n\
             <evidence>\n{line}\n</evidence>\n<scenario>Any call.</scenario>\n<checked>The callers.</checked>\n\
             <confidence>0.95</confidence>\n</finding>\n</findings>"
        );
        let (one, two) = answer.split_at(answer.find("SELECT").unwrap());
        let (outcome, provider) = said(format, vec![Answer::text(one).and_text(two)]).await;
        let review = outcome.review();
        assert_eq!(review["coverage"]["unproven"], Value::Null, "{format}");
        assert_eq!(
            review["findings"][0]["finding"]["severity"], "critical",
            "{format}: {}",
            outcome.stderr
        );
        assert_eq!(seen(&outcome).2, Value::Null, "{format}");
        assert_eq!(provider.violations(), []);
    }
}

async fn a_finding_beside_a_call_is_read_where_both_have_one_place() {
    a_finding_beside_a_call_is_read_at(Some(json!(0))).await;
}

// What OpenCode makes of items without a place is its own.
#[tokio::test]
async fn a_finding_beside_a_call_is_read_where_neither_has_a_place() {
    on(AgentRuntime::Native, a_finding_beside_a_call_is_read_at(None)).await;
}

/// A critical finding in an answer that calls a tool too, with this as the place of each of its items.
async fn a_finding_beside_a_call_is_read_at(place: Option<Value>) {
    let (provider, repository) = (provider().await, Repository::flawed());
    let source = std::fs::read_to_string(repository.path().join("src/users.py")).unwrap();
    let (at, code) = source
        .lines()
        .enumerate()
        .find(|(_, code)| code.contains("SELECT"))
        .unwrap();
    let finding = format!(
        "<findings>\n<finding>\n<severity>critical</severity>\n<category>sql-injection</category>\n\
         <file>src/users.py</file>\n<line>{}</line>\n<claim>Whoever calls this gets every row.</claim>\n\
         <evidence>\n{code}\n</evidence>\n<scenario>Any call.</scenario>\n<checked>The callers.</checked>\n\
         <confidence>0.95</confidence>\n</finding>\n</findings>",
        at + 1
    );
    let read = Answer::call("read", json!({"filePath": "src/users.py"})).with_text(finding);
    provider.set(REVIEWER, 1, read);
    for turn in 2..6 {
        provider.set(REVIEWER, turn, Answer::text(NOTHING));
    }
    let odd = Fault::field("output_index", place.clone());
    provider.inject(odd.agent(REVIEWER).turn(1).times(1));
    let outcome = reviewed_in("responses", &provider, &repository).await;
    let review = outcome.review();
    let severity = &review["findings"][0]["finding"]["severity"];
    assert_eq!(severity, "critical", "{place:?}: {}", outcome.stderr);
    assert_ne!(seen(&outcome).0, "approved", "{place:?}");
}

async fn a_refusal_beside_an_empty_list_approves_in_no_format() {
    fn refusal() -> Answer {
        Answer::text(NOTHING).with_stop(Stop::Declined)
    }
    for format in played_formats(FORMATS) {
        for is_lasting in played([true, false]) {
            if is_lasting {
                let (outcome, provider) = said(format, vec![refusal(); 40]).await;
                assert_eq!(seen(&outcome).0, "inconclusive", "{format}: {}", outcome.stdout);
                assert_eq!(provider.violations(), []);
            } else {
                let once = |request: &ModelRequest| (!is_asked_after_a_filter(request)).then(refusal);
                let outcome = reviewed_in(format, &acting(once).await, &Repository::clean()).await;
                let (verdict, ended, repairs) = seen(&outcome);
                assert_eq!((verdict.as_str(), ended.as_str()), ("approved", "ok"), "{format}");
                // There a refusal has words, which may refuse anything.
                let expected = match format {
                    "responses" => json!(["filtered", "unreadable"]),
                    _ => json!(["filtered"]),
                };
                assert_eq!(repairs, expected, "{format}");
            }
        }
    }
}

async fn a_stop_for_calls_without_one_is_asked_again_in_every_format() {
    let stop = || Answer::text(NOTHING).with_stop(Stop::ToolUse);
    // Responses has no such reason.
    for format in played_formats(["messages", "chat"]) {
        for (answers, verdict) in played([
            (vec![stop(), Answer::text(NOTHING)], "approved"),
            (vec![stop(), stop(), stop()], "inconclusive"),
        ]) {
            let (outcome, _) = said(format, answers).await;
            let (seen_verdict, _, repairs) = seen(&outcome);
            assert_eq!(seen_verdict, verdict, "{format}");
            assert!(
                verdict != "approved" || repairs == json!(["cut_off"]),
                "{format}: {repairs}"
            );
        }
    }
}

async fn control_tokens_and_thinking_around_an_answer_cost_nothing() {
    let around = |before: &str, behind: &str| vec![Answer::text(format!("{before}{NOTHING}{behind}"))];
    let told = format!("<think>Hm.</think>A critical injection in src/users.py.\n{NOTHING}");
    for (answers, verdict) in played([
        (
            around(
                "<think>src/users.py:5 could be a critical injection. It is not.</think>\n",
                "<|im_end|>",
            ),
            "approved",
        ),
        (around("Is it critical?\n</think>\n", "</s>"), "approved"),
        (
            around(
                "<|channel|>analysis<|message|>critical?<|end|><|start|>assistant<|channel|>final<|message|>",
                "<|return|>",
            ),
            "approved",
        ),
        (vec![Answer::text(told), Answer::text(NOTHING)], "inconclusive"),
    ]) {
        let said_first = format!("{:?}", answers[0]);
        let (outcome, _) = said("messages", answers).await;
        let (seen_verdict, _, repairs) = seen(&outcome);
        assert_eq!(seen_verdict, verdict, "{said_first}");
        assert!(
            verdict != "approved" || repairs == Value::Null,
            "{said_first}: {repairs}"
        );
    }
}

async fn findings_given_to_a_tool_that_does_not_exist_are_read_or_asked_for() {
    let finding = json!({"severity": "critical", "category": "sql-injection", "file": "src/users.py", "line": 5,
        "claim": "Whoever calls this gets every row.", "evidence": "this is not in the file"});
    for format in played_formats(FORMATS) {
        for (arguments, verdict, repairs) in played([
            (json!({"findings": [finding]}), "inconclusive", json!(["quotes"])),
            (
                json!({"report": "CRITICAL: src/users.py:5 concatenates its input."}),
                "inconclusive",
                json!(["unreadable"]),
            ),
            (
                json!({"title": "Anyone can read all of the rows."}),
                "approved",
                json!(["unreadable"]),
            ),
            (json!({"findings": []}), "approved", Value::Null),
        ]) {
            let (provider, repository) = (provider().await, Repository::flawed());
            provider.set(REVIEWER, 1, Answer::call("report_finding", arguments.clone()));
            for turn in 2..6 {
                provider.set(REVIEWER, turn, Answer::text(NOTHING));
            }
            let outcome = reviewed_in(format, &provider, &repository).await;
            let (seen_verdict, _, seen_repairs) = seen(&outcome);
            let seen_verdict = (seen_verdict.as_str(), &seen_repairs);
            assert_eq!(
                seen_verdict,
                (verdict, &repairs),
                "{format} {arguments}: {}",
                outcome.stderr
            );
            let unproven = &outcome.review()["coverage"]["unproven"];
            assert_eq!(
                *unproven != Value::Null,
                repairs == json!(["quotes"]),
                "{format} {arguments}"
            );
        }
    }
}

async fn what_a_call_carries_goes_back_with_it_and_thoughts_under_their_name() {
    let (provider, repository) = (provider().await, Repository::flawed());
    for turn in 1..3 {
        let read = Answer::call("read", json!({"filePath": "src/users.py", "limit": turn}));
        provider.set(REVIEWER, turn, read.with_thinking("First the file."));
    }
    provider.set(REVIEWER, 3, Answer::text(NOTHING));
    // Gemini signs its calls, and has a place of its own for that. Others have another name for thoughts.
    let carried = json!({"google": {"thought_signature": "c2ln"}});
    let kind = "\"type\":\"function\",";
    let signed = format!("{kind}\"extra_content\":{carried},");
    provider.inject(Fault::bytes(kind, signed).agent(REVIEWER).turn(1));
    let thought = Fault::bytes("\"reasoning_content\":", "\"reasoning\":");
    provider.inject(thought.agent(REVIEWER).turn(2));
    let outcome = reviewed_in("chat", &provider, &repository).await.expect_code(0);
    assert_eq!(outcome.review()["verdict"], "approved", "{}", outcome.stdout);
    let requests = provider.requests().into_iter();
    let answers: Vec<Vec<Value>> = requests
        .filter(|request| request.agent == REVIEWER)
        .map(|request| {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let messages = body["messages"].as_array().unwrap().iter();
            let answers = messages.filter(|message| message["role"] == "assistant");
            answers.cloned().collect()
        })
        .collect();
    assert_eq!(answers[1][0]["tool_calls"][0]["extra_content"], carried);
    assert_eq!(answers[1][0]["reasoning_content"], "First the file.");
    assert_eq!(answers[2][0]["tool_calls"][0]["extra_content"], carried);
    assert_eq!(answers[2][1]["tool_calls"][0].get("extra_content"), None);
    let names = ["reasoning", "reasoning_content"].map(|name| answers[2][1].get(name).is_some());
    assert_eq!(names, [true, false]);
    assert_eq!(provider.violations(), []);
}

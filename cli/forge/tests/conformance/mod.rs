//! The scenarios that every forge must pass, over real HTTP against its stand-in.
//!
//! A forge's tests implement [`stage::ForgeStage`] and write `conformance!(TheStage)`, which makes a test of each. What differs
//! between forges (positions on the diff, ways to take a request for changes back, texts of errors) has tests in its plugin.
//!
//! Not a target of its own: the plugins include this folder, because only they know a stand-in.

pub(crate) mod answers;
pub(crate) mod glass;
pub(crate) mod posting;
pub(crate) mod races;
pub(crate) mod repetition;
pub(crate) mod sample;
pub(crate) mod secrets;
pub(crate) mod stage;
pub(crate) mod states;

/// One test for each scenario, on this stage.
macro_rules! conformance {
    ($stage:ty) => {
        conformance!($stage;
            posting: a_finding_stands_on_its_lines_and_the_summary_says_only_where,
            posting: a_file_outside_of_the_diff_is_in_the_summary,
            posting: at_most_so_many_beside_the_code_with_those_that_are_there,
            posting: the_same_finding_twice_is_one_thread,
            posting: what_cannot_be_posted_at_all_stands_in_the_summary,
            posting: a_right_is_missing_only_where_nothing_was_posted,
            posting: nothing_that_is_posted_beside_the_code_acts,
            posting: nothing_stands_beside_the_code_of_a_closed_merge_request,
            posting: a_push_during_the_review_leaves_the_findings_on_what_was_reviewed,
            repetition: a_second_run_writes_nothing,
            repetition: a_summary_that_somebody_changed_is_written_again,
            repetition: what_was_stored_in_spite_of_an_error_is_not_posted_again,
            repetition: a_summary_that_was_stored_in_spite_of_an_error_is_not_posted_again,
            repetition: a_thread_of_an_earlier_run_is_known_after_pushes_and_only_if_it_is_ours,
            repetition: a_resolved_thread_is_respected_unless_it_was_ours_to_resolve_or_it_got_worse,
            repetition: a_finding_whose_thread_is_known_is_not_posted,
            answers: a_thread_that_is_fixed_elsewhere_is_answered_with_the_code_once_and_resolved,
            answers: each_question_is_answered_where_it_stands_once_also_after_an_error,
            answers: two_runs_at_once_answer_a_question_once,
            answers: a_question_that_was_deleted_is_not_answered,
            answers: a_question_that_another_person_has_answered_meanwhile_is_not_answered,
            answers: an_author_without_a_right_is_read_and_decides_nothing,
            repetition: two_jobs_at_once_leave_one_of_everything,
            repetition: a_run_that_died_half_way_is_gone_on_from,
            repetition: many_pages_are_read_to_the_end,
            repetition: one_run_that_posts_twice_has_one_note,
            repetition: what_a_run_cost_that_is_left_behind_by_a_newer_one_counts,
            repetition: two_runs_that_began_together_have_one_note,
            repetition: a_copied_marker_is_not_ours,
            repetition: another_note_of_the_bot_is_left_alone,
            repetition: a_deleted_note_is_posted_anew,
            repetition: nothing_is_posted_before_the_merge_request_was_read,
            states: each_mode_does_what_it_says_and_no_more,
            states: every_step_from_every_state_ends_where_it_should,
            states: changing_the_mode_lifts_no_block_and_takes_an_approval_back,
            states: what_a_person_has_dismissed_is_not_approved_again_before_another_commit,
            states: an_approval_that_a_run_took_back_is_given_again,
            states: a_change_of_noise_alone_gets_one_note,
            states: a_dismissed_request_is_neither_repeated_nor_said_to_stand,
            states: the_approval_of_a_person_is_not_touched,
            states: the_request_of_a_person_is_not_touched,
            states: a_newer_commit_is_neither_approved_nor_blocked,
            states: an_approval_of_an_older_commit_does_not_outlive_a_push,
            states: the_bots_own_merge_request_is_reviewed_and_not_approved,
            states: a_fork_is_blocked_and_never_approved,
            states: an_approval_that_cannot_be_taken_back_is_an_error,
            states: an_approval_that_failed_after_it_was_stored_counts,
            states: a_closed_merge_request_loses_the_approval,
            states: another_target_during_the_review_is_not_approved_and_the_review_says_so,
            states: a_request_that_failed_after_it_was_stored_counts,
            secrets: under_another_secret_nothing_is_approved_and_no_block_is_lifted,
            secrets: threads_that_a_member_resolves_and_notes_that_are_deleted_count_no_longer,
            secrets: an_approval_under_another_secret_is_taken_back,
            secrets: marks_of_another_secret_in_other_accounts_notes_and_in_quotes_count_for_nothing,
            races: what_another_run_says_of_the_same_commit_is_not_made_milder,
            races: what_another_run_holds_is_not_forgotten_by_the_one_that_posts_last,
            races: of_two_first_notes_at_once_neither_is_lost,
            races: two_runs_that_approve_are_one_approval,
            races: two_runs_that_request_changes_are_one_request,
            races: an_older_commits_review_withholds_an_approval_only_for_what_weighs,
            glass: a_members_own_line_counts_until_it_is_withdrawn,
            glass: a_line_in_a_thread_counts_too,
            glass: the_author_can_be_left_out,
            glass: the_review_is_skipped_and_the_merge_request_approved,
            glass: a_push_in_between_is_left_to_its_own_job,
            glass: broken_glass_approves_no_other_target_than_the_one_that_was_read,
            glass: the_mode_comment_approves_nothing,
            glass: what_was_read_to_look_for_it_is_not_read_again,
        );
    };
    ($stage:ty; $($module:ident: $name:ident,)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                crate::conformance::$module::$name::<$stage>().await;
            }
        )*
    };
}
pub(crate) use conformance;

//! Who may settle a finding or skip the review.

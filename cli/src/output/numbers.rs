//! Numbers as a person reads them, alike in everything that is shown.

pub(crate) use conclave_engine::numbers::{grouped, plural};

/// A number as exact as an estimate, or what still grows, can be: `154k`, `1.2M`.
pub(crate) fn rounded(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..9_950 => format!("{}.{}k", (number + 50) / 1_000, (number + 50) % 1_000 / 100),
        9_950..999_500 => format!("{}k", (number + 500) / 1_000),
        _ => format!(
            "{}.{}M",
            (number + 50_000) / 1_000_000,
            (number + 50_000) % 1_000_000 / 100_000
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn numbers_are_as_exact_as_an_estimate() {
        for (number, text) in [
            (7, "7"),
            (999, "999"),
            (1_000, "1.0k"),
            (9_949, "9.9k"),
            (9_950, "10k"),
            (154_400, "154k"),
            (999_499, "999k"),
            (1_220_000, "1.2M"),
        ] {
            assert_eq!(rounded(number), text);
        }
    }
}

//! Numbers as a person reads them, alike in everything that is shown.

/// A count with its thousands apart: `1,234,567`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many of something: `1 finding`, `1,200 findings`.
pub fn plural(count: usize, noun: &str) -> String {
    let number = grouped(u64::try_from(count).unwrap_or(u64::MAX));
    format!("{number} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        let counts = [0, 999, 1000, 12_345, 1_234_567].map(grouped);
        assert_eq!(counts, ["0", "999", "1,000", "12,345", "1,234,567"]);
    }

    #[test]
    fn one_is_singular() {
        assert_eq!(plural(1, "file"), "1 file");
        assert_eq!(plural(0, "file"), "0 files");
        assert_eq!(plural(5000, "file"), "5,000 files");
    }
}

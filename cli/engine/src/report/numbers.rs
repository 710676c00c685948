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

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn thousands_stand_apart() {
        let counts = [0, 999, 1000, 12_345, 1_234_567].map(grouped);
        assert_eq!(counts, ["0", "999", "1,000", "12,345", "1,234,567"]);
    }
}

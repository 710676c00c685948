//! How common a word is in review comments at large.

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use super::words::Claim;

/// A line a word: the word, and in how many comments it comes. Lines with `# ` in front say where it is from.
const TABLE: &str = include_str!("background.tsv");
/// A word in fewer comments than this is as good as unknown.
const MIN_COMMENTS: u32 = 3;
/// No word weighs more than this.
const MAX_WEIGHT: f64 = 5.0;

struct Background {
    comments: f64,
    words: HashMap<&'static str, u32>,
}

static BACKGROUND: LazyLock<Background> = LazyLock::new(|| {
    let mut words: HashMap<&str, u32> = TABLE
        .lines()
        .filter(|line| !line.starts_with("# "))
        .filter_map(|line| line.split_once('\t'))
        .filter_map(|(word, count)| Some((word, count.parse().ok()?)))
        .collect();
    let comments = words.remove("").unwrap_or(1);
    Background {
        comments: f64::from(comments),
        words,
    }
});

/// The weight of a word: the rarer, the more.
pub(super) fn weight(word: &str) -> f64 {
    let seen = BACKGROUND.words.get(word).copied().unwrap_or(0);
    let rarity = ((BACKGROUND.comments + 1.0) / (f64::from(seen) + 1.0)).ln();
    rarity.clamp(0.0, MAX_WEIGHT)
}

/// The table, made of these comments.
pub fn table<'a>(comments: impl Iterator<Item = &'a str>) -> String {
    let mut count = 0_u32;
    let mut words: BTreeMap<String, u32> = BTreeMap::new();
    for comment in comments {
        count += 1;
        for word in Claim::new(comment).words {
            *words.entry(word).or_insert(0) += 1;
        }
    }
    let rows = words.into_iter().filter(|(_, seen)| *seen >= MIN_COMMENTS);
    let rows: Vec<String> = rows.map(|(word, seen)| format!("{word}\t{seen}\n")).collect();
    format!("\t{count}\n{}", rows.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_words_weigh_less_than_rare_ones() {
        assert!(BACKGROUND.comments > 1000.0 && BACKGROUND.words.len() > 1000);
        assert!(weight("function") < weight("cache"));
        assert!(weight("cache") < weight("a-word-that-nobody-writes"));
    }

    #[test]
    fn a_table_counts_each_comment_once() {
        let table = table(["cache cache", "the cache", "cache and lock"].into_iter());
        assert_eq!(table, "\t3\ncache\t3\n");
    }
}

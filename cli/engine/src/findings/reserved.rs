//! Words of programming languages: that two lines have them in common shows nothing.

/// Those of all languages that are known, in lower case.
const ALL: &str = "abstract alias and any as assert async auto await base begin bool boolean break byte case catch chan char class \
    const constexpr continue data debugger declare def default defer delete del do done double dynamic elif else elsif end endif \
    ensure enum esac eval except explicit export extends extension extern false fi final finally float fn for foreach friend from \
    func function global go goto guard if impl implements import in include inline instanceof int interface internal into is lambda \
    let list local long loop match mod module mut mutable namespace new next nil none nonlocal not null object of open operator or \
    out override package partial pass print private protected protocol pub public raise range readonly record ref register require \
    rescue return sealed select self set short signed sizeof static str strict string struct super switch template then this throw \
    throws trait transient true try type typedef typeof undefined union unless unsafe unsigned until use using val var virtual void \
    volatile when where while with yield";

/// Those that most languages have, or that are names in none.
const COMMON: &str = "abstract and assert async await bool boolean break byte case catch char class const continue def default do double elif \
    else elsif endif enum except export extends false final finally float fn for foreach func function goto if implements import in int \
    interface let long namespace new nil none not null or override package print private protected pub public raise return self short \
    signed sizeof static str string struct super switch this throw throws true try typedef typeof undefined unsigned val var void while \
    yield None True False";

/// Types as most languages write them.
const TYPES: &str = "Any Bool Boolean Byte Char Double Float Int List Long Object Record Set Short String Type Void";

/// The other ones, by the extensions of their files.
const LANGUAGES: [(&str, &str); 11] = [
    (
        "py pyi",
        "as del from global is lambda list match nonlocal object pass range set type with",
    ),
    (
        "js jsx mjs cjs ts tsx mts cts",
        "any as debugger declare delete from instanceof is module object of readonly require strict type use with",
    ),
    ("go", "any chan defer fallthrough go map range select type"),
    (
        "rs",
        "as crate dyn extern impl loop match mod move mut ref trait type unsafe use where",
    ),
    (
        "java",
        "instanceof native record sealed strictfp synchronized transient volatile",
    ),
    (
        "kt kts",
        "as by companion data fun inline internal is object open operator out sealed typealias vararg when",
    ),
    (
        "cs",
        "as base delegate dynamic event explicit extern from internal is lock object operator out params partial readonly record ref \
         sealed select set unsafe using virtual volatile when where with",
    ),
    (
        "c h cc cpp cxx hh hpp",
        "auto constexpr delete explicit extern friend inline mutable operator register template union using virtual volatile",
    ),
    (
        "swift",
        "any as defer extension guard internal is open protocol repeat set where",
    ),
    (
        "rb",
        "alias begin end ensure module next redo require rescue retry then undef unless until when",
    ),
    (
        "php",
        "array as clone declare echo fn from global include instanceof isset list match object require trait unset use",
    ),
];

/// The reserved words of a language.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reserved {
    /// Its own ones; none where any language can be meant.
    own: Option<&'static str>,
    types: &'static str,
}

impl Reserved {
    /// Those of all languages, as for texts in quotes and for files of others than these.
    pub(super) const OF_ALL: Self = Self { own: None, types: "" };

    /// Those of the language of a file.
    pub(super) fn of(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        let own = LANGUAGES.iter().find(|(extensions, _)| has(extensions, extension));
        own.map_or(Self::OF_ALL, |(_, own)| Self {
            own: Some(*own),
            // There a capital letter makes a name known to other packages: `Set` is a method.
            types: if extension == "go" { "" } else { TYPES },
        })
    }

    /// Returns whether a word is one of them.
    pub(super) fn has(self, word: &str) -> bool {
        match self.own {
            None => ALL
                .split_ascii_whitespace()
                .any(|known| known.eq_ignore_ascii_case(word)),
            Some(own) => has(COMMON, word) || has(self.types, word) || has(own, word),
        }
    }
}

fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_another_language_reserves_is_a_name() {
        for (path, word, is_reserved) in [
            ("a.py", "data", false),
            ("a.py", "record", false),
            ("a.py", "list", true),
            ("a.ts", "list", false),
            ("a.ts", "Set", true),
            ("a.go", "Set", false),
            ("a.go", "select", true),
            ("a.js", "select", false),
            ("a.kt", "data", true),
            ("a.rb", "end", true),
            ("a.sql", "SELECT", true),
            ("Makefile", "data", true),
            ("a.java", "String", true),
            ("a.java", "return", true),
        ] {
            assert_eq!(Reserved::of(path).has(word), is_reserved, "{path}: {word}");
        }
    }
}

//! Enums whose values have names.

/// Defines an enum with a name for each value, by which it is written, read, shown and listed.
#[macro_export]
macro_rules! named_enum {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$value_meta:meta])* $value:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        pub enum $name {
            $($(#[$value_meta])* #[serde(rename = $text)] $value,)+
        }

        impl $name {
            /// All values, in order.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$value),+];

            /// The name, on the wire and wherever a person or a model reads it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.as_str())
            }
        }
    };
}

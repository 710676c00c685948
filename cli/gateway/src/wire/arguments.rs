//! Tool calls whose arguments come in pieces.

/// Follows a JSON object through its pieces, in constant memory: Chat Completions does not say when a call is whole.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    depth: u32,
    begun: bool,
    in_string: bool,
    escaped: bool,
}

impl Arguments {
    /// Takes the next piece.
    pub(super) fn push(&mut self, piece: &str) {
        for byte in piece.bytes() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => {
                    self.begun = true;
                    self.depth = self.depth.saturating_add(1);
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    /// Returns whether every bracket that was opened is closed.
    pub(super) const fn are_whole(&self) -> bool {
        self.begun && self.depth == 0 && !self.in_string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_closed_object_is_whole() {
        let whole = |pieces: &[&str]| {
            let mut arguments = Arguments::default();
            for piece in pieces {
                arguments.push(piece);
            }
            arguments.are_whole()
        };
        assert!(whole(&["{}"]));
        assert!(whole(&["{\"a\":[1,{\"b\":\"}\"}", "],\"c\":\"\\", "\"{\"}"]));
        for half in [
            &[][..],
            &[""],
            &["{"],
            &["{\"a\":\"}"],
            &["{\"a\":{}"],
            &["{\"a\":\"\\\"}"],
        ] {
            assert!(!whole(half), "{half:?}");
        }
    }
}

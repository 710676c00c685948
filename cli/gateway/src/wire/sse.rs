//! Server-sent events, frame by frame and byte by byte.
//!
//! A frame keeps its raw bytes, line ends and comments included, so that what is forwarded is exactly what came. A
//! ready-made SSE parser gives the fields but not the bytes.

use std::borrow::Cow;

use bytes::{Buf, Bytes, BytesMut};
use memchr::memchr2;

/// Maximum length of a frame. The longest real ones carry a tool call's argument piece or an encrypted reasoning
/// block, far below this; without a limit an endless line would be endless memory.
const MAX_FRAME: usize = 4 * 1024 * 1024;

/// The mark of the byte order that may stand in front of a stream.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A frame grew beyond every sensible length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameTooLong;

/// One frame with the empty line that ends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame(BytesMut);

impl Frame {
    /// The bytes as they came.
    pub(crate) fn raw(&self) -> &[u8] {
        &self.0
    }

    /// Puts the bytes behind those of the frame before it. Frames of one buffer lie side by side, so nothing is copied.
    pub(crate) fn append_to(self, bytes: &mut BytesMut) {
        bytes.unsplit(self.0);
    }

    /// The `data` of the frame, its lines joined; `None` for a frame without any, such as a comment.
    pub(crate) fn data(&self) -> Option<Cow<'_, [u8]>> {
        let mut lines = Lines(&self.0)
            .filter_map(|line| line.strip_prefix(b"data:"))
            .map(|value| value.strip_prefix(b" ").unwrap_or(value));
        let first = lines.next()?;
        let mut joined = Cow::Borrowed(first);
        for line in lines {
            let text = joined.to_mut();
            text.push(b'\n');
            text.extend_from_slice(line);
        }
        Some(joined)
    }

    /// Returns whether the event has this name.
    pub(crate) fn is(&self, name: &[u8]) -> bool {
        let names = Lines(&self.0).filter_map(|line| line.strip_prefix(b"event:"));
        names.last().is_some_and(|known| known.trim_ascii() == name)
    }

    /// The lines that are neither a field of an event nor a comment, joined. No stream of events has any: a server wrote them
    /// that knows nothing of it, or did not get to it.
    pub(crate) fn strays(&self) -> Option<Vec<u8>> {
        let strays: Vec<&[u8]> = Lines(&self.0).filter(|line| is_stray(line)).collect();
        (!strays.is_empty()).then(|| strays.join(&b'\n'))
    }
}

/// Names of the fields of an event.
const FIELDS: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];

/// Returns whether a line is neither a field of an event, nor a comment, nor empty.
fn is_stray(line: &[u8]) -> bool {
    let name = line.split(|byte| *byte == b':').next().unwrap_or_default();
    !name.is_empty() && !FIELDS.contains(&name) && !line.trim_ascii().is_empty()
}

/// Returns whether a body begins as a stream of events does, and no other.
pub(crate) fn begins_with_event(body: &[u8]) -> bool {
    let body = body.strip_prefix(BYTE_ORDER_MARK).unwrap_or(body).trim_ascii_start();
    let fields: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];
    fields.iter().any(|field| body.starts_with(field))
}

/// The lines of a frame. CRLF gives an empty line more, which means nothing here.
struct Lines<'a>(&'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let end = memchr2(b'\n', b'\r', self.0);
        let (line, rest) = end.map_or((self.0, &[][..]), |end| (&self.0[..end], &self.0[end + 1..]));
        self.0 = rest;
        Some(line)
    }
}

/// Cuts a byte stream into frames, wherever the chunks begin and end. Lines may end in LF, CRLF or CR.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is something else that the bytes so far have told"
)]
pub(crate) struct FrameParser {
    buffer: BytesMut,
    scanned: usize,
    line_is_empty: bool,
    after_carriage_return: bool,
    blank_line_seen: bool,
    begun: bool,
}

impl FrameParser {
    /// A parser at the beginning of a stream.
    pub(crate) fn new() -> Self {
        Self {
            buffer: BytesMut::new(),
            scanned: 0,
            line_is_empty: true,
            after_carriage_return: false,
            blank_line_seen: false,
            begun: false,
        }
    }

    /// Takes the next bytes of the stream; without copying them, if nothing is left of those before.
    pub(crate) fn push(&mut self, bytes: Bytes) {
        if self.buffer.is_empty() {
            match bytes.try_into_mut() {
                Ok(bytes) => self.buffer = bytes,
                Err(shared) => self.buffer.extend_from_slice(&shared),
            }
        } else {
            self.buffer.extend_from_slice(&bytes);
        }
    }

    /// Length of what is held of a frame that is not whole yet.
    pub(crate) fn held(&self) -> usize {
        self.buffer.len()
    }

    /// The next whole frame, if there is one.
    pub(crate) fn next_frame(&mut self) -> Result<Option<Frame>, FrameTooLong> {
        while let Some(&byte) = self.buffer.get(self.scanned) {
            if self.after_carriage_return {
                self.after_carriage_return = false;
                // This LF belongs to the CR before it.
                if byte == b'\n' {
                    self.scanned += 1;
                    if self.blank_line_seen {
                        return Ok(Some(self.take()));
                    }
                    continue;
                }
                if self.blank_line_seen {
                    return Ok(Some(self.take()));
                }
            }
            self.scanned += 1;
            match byte {
                b'\n' if self.line_is_empty => return Ok(Some(self.take())),
                b'\n' => self.line_is_empty = true,
                b'\r' => {
                    self.after_carriage_return = true;
                    self.blank_line_seen = self.line_is_empty;
                    self.line_is_empty = true;
                }
                _ => {
                    self.line_is_empty = false;
                    let rest = self.buffer.get(self.scanned..).unwrap_or_default();
                    let line = memchr2(b'\n', b'\r', rest);
                    self.scanned += line.unwrap_or(rest.len());
                }
            }
        }
        if self.buffer.len() > MAX_FRAME {
            return Err(FrameTooLong);
        }
        Ok(None)
    }

    /// The last frame of a stream that has ended, if its empty line ends in a bare CR. What else is left over is half
    /// a frame and worth nothing.
    pub(crate) fn finish(&mut self) -> Option<Frame> {
        self.blank_line_seen.then(|| self.take())
    }

    /// The rest of a stream that has ended.
    pub(crate) fn rest(&mut self) -> Frame {
        self.scanned = self.buffer.len();
        self.take()
    }

    fn take(&mut self) -> Frame {
        let mut raw = self.buffer.split_to(self.scanned);
        // A mark of the byte order is not part of the stream's first line.
        if !std::mem::replace(&mut self.begun, true) && raw.starts_with(BYTE_ORDER_MARK) {
            raw.advance(BYTE_ORDER_MARK.len());
        }
        self.scanned = 0;
        self.line_is_empty = true;
        self.after_carriage_return = false;
        self.blank_line_seen = false;
        Frame(raw)
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;

//! A bound for what is held of one event of a stream, before anything parses it.

use futures_util::{Stream, StreamExt};

/// Maximum length of an event that is read. `OpenCode` cuts tools' outputs far below it.
pub(crate) const MAX_EVENT: usize = 16 << 20;

/// Leaves out what is too much of an event: all bytes after `max` up to the empty line that ends it. What is left is not
/// JSON any more, and is reported as such.
pub(crate) fn bounded_events<B, E>(
    stream: impl Stream<Item = Result<B, E>>,
    max: usize,
) -> impl Stream<Item = Result<Vec<u8>, E>>
where
    B: AsRef<[u8]>,
{
    let mut length = 0;
    let mut newline_before = false;
    stream.map(move |chunk| {
        let chunk = chunk?;
        let mut kept = Vec::with_capacity(chunk.as_ref().len());
        for &byte in chunk.as_ref() {
            match byte {
                b'\n' if newline_before => length = 0,
                b'\r' => {}
                _ => length += 1,
            }
            // Line ends are kept: without them the next event would be a part of this one.
            if length <= max || byte == b'\n' {
                kept.push(byte);
            }
            newline_before = byte == b'\n' || (byte == b'\r' && newline_before);
        }
        Ok(kept)
    })
}

#[cfg(test)]
mod tests {
    use eventsource_stream::Eventsource;
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn an_endless_event_is_cut_and_the_next_one_arrives() {
        let mut chunks = vec![b"data: {\"n\":1}\n\ndata: ".to_vec()];
        // A hundred megabytes without an end of line.
        chunks.extend(std::iter::repeat_n(vec![b'x'; 1 << 20], 100));
        chunks.push(b"\n\ndata: {\"n\":2}\n\n".to_vec());
        let chunks = stream::iter(chunks.into_iter().map(Ok::<_, std::io::Error>));
        let events = bounded_events(chunks, 1000).eventsource();
        let lengths: Vec<usize> = events.map(|event| event.expect("an event").data.len()).collect().await;
        assert_eq!(lengths.len(), 3);
        assert_eq!((lengths[0], lengths[2]), (7, 7));
        assert!(lengths[1] <= 1000, "{lengths:?}");
    }
}

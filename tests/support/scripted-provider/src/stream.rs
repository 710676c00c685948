//! Playing an answer: the frames in time, broken where a fault says so, and booked as they go out.

use crate::fault::{Break, FaultKind, Position};
use crate::model::Format;
use crate::state::Tally;
use crate::wire::{Frame, Stage, errors};
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use serde_json::Value;
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

/// Long enough for what was written to leave before the connection is dropped.
const FLUSH: Duration = Duration::from_millis(25);

/// The time between two signs of life.
const PAUSE: Duration = Duration::from_millis(20);

const GARBAGE: &str = "data: {\"type\":\"content_blo\n\n: \u{1}\u{2}\u{fffd}\n\n<html><body>502 Bad Gateway</body></html>\n\n\
                       data: null\n\ndata: [1,2\n\n";

/// One step of a stream.
#[derive(Debug)]
pub(crate) enum Step {
    Wait(Duration),
    Send(Frame),
    Raw(String),
    Pings(&'static str),
    Stall,
    Drop,
}

/// The steps of an answer.
pub(crate) fn steps(format: Format, frames: Vec<Frame>, delay: Duration, fault: Option<&FaultKind>) -> VecDeque<Step> {
    let mut steps = VecDeque::new();
    let (first_byte, pace) = match fault {
        Some(FaultKind::Slow {
            first_byte,
            tokens_per_second,
        }) => (*first_byte, *tokens_per_second),
        _ => (delay, 0.0),
    };
    if !first_byte.is_zero() {
        steps.push_back(Step::Wait(first_byte));
    }
    let frames = match fault {
        Some(fault) => frames.into_iter().map(|frame| edited(frame, fault)).collect(),
        None => frames,
    };
    let broken = match fault {
        Some(FaultKind::Stream { at, how }) => Some((cut_at(&frames, *at), how)),
        _ => None,
    };
    let sent = broken.as_ref().map_or(frames.len(), |(at, _)| *at);
    for frame in frames.into_iter().take(sent) {
        if pace > 0.0 && frame.chars > 0 {
            steps.push_back(Step::Wait(reading_time(frame.chars, pace)));
        }
        steps.push_back(Step::Send(frame));
    }
    match broken.map(|(_, how)| how) {
        None | Some(Break::CleanEnd) => {}
        Some(Break::Drop) => steps.extend([Step::Wait(FLUSH), Step::Drop]),
        Some(Break::Stall) => steps.push_back(Step::Stall),
        Some(Break::Pings) => steps.push_back(Step::Pings(pings(format))),
        Some(Break::Garbage) => steps.push_back(Step::Raw(GARBAGE.to_owned())),
        Some(Break::ErrorFrame { kind, message }) => {
            steps.push_back(Step::Raw(errors::frame(format, kind, message)));
        }
    }
    steps
}

/// The frame as the fault makes it.
fn edited(mut frame: Frame, fault: &FaultKind) -> Frame {
    let text = || String::from_utf8_lossy(&frame.wire).into_owned();
    match fault {
        FaultKind::Field { name, value } => {
            let text = text();
            let (before, data) = text.split_once("data: ").unwrap_or_default();
            if let Ok(mut event) = serde_json::from_str::<Value>(data) {
                set(&mut event, name, value.as_ref());
                frame.wire = format!("{before}data: {event}\n\n").into_bytes();
            }
        }
        FaultKind::Bytes { find, put } => {
            let text = text();
            let parts: Vec<&[u8]> = text.split(find.as_str()).map(str::as_bytes).collect();
            frame.wire = parts.join(put.as_slice());
        }
        _ => {}
    }
    frame
}

fn set(event: &mut Value, name: &str, value: Option<&Value>) {
    match event {
        Value::Array(items) => items.iter_mut().for_each(|item| set(item, name, value)),
        Value::Object(fields) => {
            if fields.contains_key(name) {
                match value {
                    Some(value) => fields.insert(name.to_owned(), value.clone()),
                    None => fields.remove(name),
                };
            }
            let others = fields.iter_mut().filter(|(other, _)| *other != name);
            others.for_each(|(_, inner)| set(inner, name, value));
        }
        _ => {}
    }
}

/// Signs of life without any content.
fn pings(format: Format) -> &'static str {
    match format {
        Format::Messages => ": alive\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n",
        Format::ChatCompletions => {
            ": alive\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":null}]}\n\n"
        }
        Format::Responses => ": alive\n\ndata: {\"type\":\"response.in_progress\"}\n\n",
    }
}

fn reading_time(chars: usize, tokens_per_second: f64) -> Duration {
    let chars = u32::try_from(chars).unwrap_or(u32::MAX);
    Duration::from_secs_f64(f64::from(chars) / 4.0 / tokens_per_second)
}

/// The number of frames that go out before the stream breaks.
fn cut_at(frames: &[Frame], position: Position) -> usize {
    let first = |stage: Stage| frames.iter().position(|frame| frame.stage == stage);
    let end_of_content = first(Stage::Stop)
        .or_else(|| first(Stage::Terminal))
        .unwrap_or(frames.len());
    match position {
        Position::BeforeFirstFrame => 0,
        Position::AfterStart => frames.iter().take_while(|frame| frame.stage == Stage::Start).count(),
        Position::MidContent => {
            let deltas: Vec<usize> = (0..end_of_content).filter(|&at| frames[at].chars > 0).collect();
            deltas
                .get(deltas.len().saturating_sub(1) / 2)
                .map_or(end_of_content, |at| at + 1)
        }
        Position::AfterToolCall => first(Stage::CallDone).map_or(end_of_content, |at| at + 1),
        Position::BeforeTerminal => first(Stage::Terminal).unwrap_or(frames.len()),
    }
}

/// Plays the steps as a body. The books are written before a frame is handed over: who has read it finds it booked.
pub(crate) fn play(steps: VecDeque<Step>, tally: Tally) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::unfold((steps, tally), |(mut steps, mut tally)| async move {
        loop {
            match steps.pop_front()? {
                Step::Wait(time) => {
                    tokio::select! {
                        () = tokio::time::sleep(time) => {}
                        () = tally.closing() => return None,
                    }
                }
                Step::Send(frame) => {
                    tally.sent(&frame);
                    return Some((Ok(Bytes::from(frame.wire)), (steps, tally)));
                }
                Step::Raw(text) => {
                    tally.begin();
                    return Some((Ok(Bytes::from(text)), (steps, tally)));
                }
                Step::Pings(text) => {
                    tokio::select! {
                        () = tokio::time::sleep(PAUSE) => {}
                        () = tally.closing() => return None,
                    }
                    steps.push_front(Step::Pings(text));
                    return Some((Ok(Bytes::from(text)), (steps, tally)));
                }
                Step::Stall => {
                    tally.closing().await;
                    return None;
                }
                Step::Drop => {
                    let error = io::Error::new(io::ErrorKind::ConnectionReset, "dropped by a fault");
                    return Some((Err(error), (VecDeque::new(), tally)));
                }
            }
        }
    })
}

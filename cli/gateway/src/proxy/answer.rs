//! An answer of a provider as it comes in: cut into frames, read, accounted.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use conclave_engine::ports::CallOutcome;
use conclave_resilience::classify::{FailureClass, ProviderFault};
use conclave_shared::model::ModelId;
use reqwest::Response;
use tokio::time::{Instant, timeout};

use super::{core::Core, in_flight::InFlightRequest};
use crate::{
    accounting::UsageEntry,
    errors::short,
    recording::{CallRecording, Playback},
    wire::{Event, Frame, FrameParser, StreamReader, Wire, brings_answer, failed_text, is_whole_error, mended},
};

/// Maximum length of what a provider sends to show that it is alive, before it has to go on with its answer.
const MAX_PINGS: usize = 4 * 1024 * 1024;

/// Time for which the body of a finished answer is read to its end. Nearly all of them end with the answer.
const DRAIN: Duration = Duration::from_millis(500);

/// The body of an answer: of a provider, or from the recording of an earlier run.
#[derive(Debug)]
pub(crate) enum AnswerBody {
    /// With its beginning, where that was read already.
    Network(Bytes, Response),
    Recording(Playback),
}

impl AnswerBody {
    /// The next bytes; `None` at a clean end.
    async fn chunk(&mut self) -> Result<Option<Bytes>, ProviderFault> {
        match self {
            Self::Network(begun, _) if !begun.is_empty() => Ok(Some(std::mem::take(begun))),
            Self::Network(_, response) => response.chunk().await.map_err(|error| {
                tracing::info!(error = %error.without_url(), "the answer broke off");
                ProviderFault::CutStream
            }),
            Self::Recording(playback) => playback.chunk(),
        }
    }
}

/// The end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With its terminal event.
    Complete,
    /// Without.
    Broken(FailureClass),
}

/// The result of one read.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    /// Whole frames, as they came.
    pub(crate) bytes: Bytes,
    /// True if the answer itself is among them.
    pub(crate) content: bool,
    /// Set with the last piece.
    pub(crate) end: Option<End>,
}

/// The time and the bytes since the last progress of an answer.
#[derive(Debug, Default)]
struct Quiet {
    waited: Duration,
    bytes: usize,
    /// Length of what was written of the answer at the last progress.
    written: u64,
}

/// An answer of a provider as it comes in. Dropping it cancels the call.
///
/// The text of one that breaks off, or that is given up, is kept beside its session: what it has told is not lost when the next
/// answer leaves it out.
pub(crate) struct Answer {
    body: Option<AnswerBody>,
    parser: FrameParser,
    wire: Wire,
    reader: Box<dyn StreamReader>,
    entry: UsageEntry,
    request: Arc<InFlightRequest>,
    recording: Option<CallRecording>,
    quiet: Quiet,
    /// A piece of it could not be read.
    has_lost: bool,
    /// It came to its end, or its text is kept.
    settled: bool,
}

impl Answer {
    pub(crate) fn new(
        body: AnswerBody,
        wire: Wire,
        entry: UsageEntry,
        request: Arc<InFlightRequest>,
        recording: Option<CallRecording>,
    ) -> Self {
        Self {
            body: Some(body),
            parser: FrameParser::new(),
            wire,
            reader: wire.reader(),
            entry,
            request,
            recording,
            quiet: Quiet::default(),
            has_lost: false,
            settled: false,
        }
    }

    pub(crate) fn wire(&self) -> Wire {
        self.wire
    }

    /// The model that answers.
    pub(crate) fn model(&self) -> &ModelId {
        self.entry.model()
    }

    /// The model that the runtime asked for.
    pub(crate) fn asked(&self) -> &ModelId {
        self.entry.asked()
    }

    pub(crate) fn request(&self) -> &InFlightRequest {
        &self.request
    }

    /// The words in which the stream has said that it failed, as one short line.
    pub(crate) fn words_of_failure(&mut self, core: &Core) -> String {
        let said = std::mem::take(&mut self.reader.seen().failure);
        short(&core.redactor.redact(&said))
    }

    /// See [`StreamReader::shortened_end`].
    pub(crate) fn shortened_end(&self) -> Option<String> {
        self.reader.shortened_end()
    }

    /// The next piece, the last one if there was no progress for as long as the limits in force allow. Time between two reads does not count. After a piece
    /// with an end there is none.
    pub(crate) async fn next(&mut self, core: &Core) -> Piece {
        let piece = self.receive(core).await;
        match piece.end {
            Some(End::Complete) => {
                self.entry.ended(CallOutcome::Complete);
                if let Some(carried) = self.reader.carried() {
                    self.request.session.carried.add(carried, self.entry.model());
                }
            }
            Some(End::Broken(class)) => self.entry.ended(CallOutcome::Failed(class.to_string())),
            None => {}
        }
        piece
    }

    async fn receive(&mut self, core: &Core) -> Piece {
        let Some(body) = &mut self.body else {
            return self.over(BytesMut::new(), Piece::default(), ProviderFault::CutStream.into());
        };
        let began = Instant::now();
        let waited = self.quiet.waited;
        let received = core
            .within(|limits| limits.idle.saturating_sub(waited), body.chunk())
            .await;
        self.quiet.waited = self.quiet.waited.saturating_add(began.elapsed());
        match received {
            None => self.stalled(BytesMut::new(), Piece::default()),
            Some(Err(fault)) => self.over(BytesMut::new(), Piece::default(), fault.into()),
            Some(Ok(Some(chunk))) => {
                self.quiet.bytes = self.quiet.bytes.saturating_add(chunk.len());
                self.parser.push(chunk);
                self.frames().await
            }
            Some(Ok(None)) => {
                let mut piece = Piece::default();
                let mut bytes = BytesMut::new();
                let mut class = FailureClass::from(ProviderFault::CutStream);
                if let Some(frame) = self.parser.finish() {
                    class = self.read(frame, &mut piece, &mut bytes).unwrap_or(class);
                } else if let Some(said) = self.parser.rest().strays().filter(|said| is_whole_error(said)) {
                    class = failed_text(self.reader.seen(), &said, ProviderFault::ServerError);
                }
                if piece.end.is_some() {
                    return self.pass(bytes, piece);
                }
                self.over(bytes, piece, class)
            }
        }
    }

    /// The answer makes no progress any more.
    fn stalled(&mut self, bytes: BytesMut, piece: Piece) -> Piece {
        tracing::info!(
            model = %self.entry.model(),
            kept_alive_by = self.quiet.bytes,
            "the answer makes no progress"
        );
        self.over(bytes, piece, ProviderFault::Stalled.into())
    }

    /// Notes whether there was progress.
    fn watch(&mut self) {
        let written = self.reader.seen().written;
        if written > self.quiet.written {
            self.quiet = Quiet {
                written,
                ..Quiet::default()
            };
            self.request.touch();
        }
    }

    /// Takes the whole frames that are there.
    async fn frames(&mut self) -> Piece {
        let mut piece = Piece::default();
        let mut bytes = BytesMut::new();
        let mut before_end = 0;
        while piece.end.is_none() {
            before_end = bytes.len();
            let failed = match self.parser.next_frame() {
                Ok(Some(frame)) => self.read(frame, &mut piece, &mut bytes),
                Ok(None) => break,
                Err(_) => {
                    self.has_lost = true;
                    Some(ProviderFault::Garbage.into())
                }
            };
            if let Some(class) = failed {
                return self.over(bytes, piece, class);
            }
        }
        self.watch();
        if piece.end.is_some() && self.goes_on().await {
            self.has_lost = true;
            bytes.truncate(before_end);
            return self.over(bytes, piece, ProviderFault::Garbage.into());
        }
        // The beginning of a long frame is progress as well, as far as frames may be long.
        if piece.end.is_none() && self.quiet.bytes > MAX_PINGS + self.parser.held() {
            return self.stalled(bytes, piece);
        }
        self.pass(bytes, piece)
    }

    /// Reads one frame and returns the class of the failure, if it ends the stream without an answer.
    fn read(&mut self, frame: Frame, piece: &mut Piece, bytes: &mut BytesMut) -> Option<FailureClass> {
        if let Some(recording) = &mut self.recording {
            recording.frame(frame.raw());
        }
        if let Some(said) = frame.strays() {
            self.has_lost |= brings_answer(&said);
            return Some(failed_text(self.reader.seen(), &said, ProviderFault::Garbage));
        }
        let is_error = frame.is(b"error");
        let Some(data) = frame.data() else {
            frame.append_to(bytes);
            return is_error.then_some(ProviderFault::ServerError.into());
        };
        // Anthropic's has a form. Of the others runtimes of all formats know comments alone.
        if frame.is(b"ping") && self.wire != Wire::Anthropic && !brings_answer(&data) {
            bytes.extend_from_slice(b": ping\n\n");
            return None;
        }
        let mended = mended(&data);
        let mut event = self.reader.read(mended.as_deref().unwrap_or(&data));
        let is_told = matches!(event, Event::Failed(class) if class != ProviderFault::Garbage.into());
        if is_error && !is_told {
            event = Event::Failed(failed_text(self.reader.seen(), &data, ProviderFault::ServerError));
        }
        let is_garbage = event == Event::Failed(ProviderFault::Garbage.into());
        self.has_lost |= is_garbage && is_whole_event(&data);
        drop(data);
        match event {
            // What a broken stream says last is not for the runtime.
            Event::Failed(class) => return Some(class),
            Event::Unusual => {
                bytes.extend_from_slice(self.reader.rewritten().unwrap_or_default().as_bytes());
                bytes.extend_from_slice(self.reader.healed_end().unwrap_or_default().as_bytes());
                piece.end = Some(End::Complete);
                return None;
            }
            Event::Terminal => piece.end = Some(End::Complete),
            Event::Content => piece.content = true,
            Event::Start => {}
        }
        match (self.reader.rewritten(), mended) {
            (Some(frames), _) => bytes.extend_from_slice(frames.as_bytes()),
            (None, Some(data)) => extend_with_frame(bytes, &data),
            (None, None) => frame.append_to(bytes),
        }
        None
    }

    /// The stream goes on, or has come to its end.
    fn pass(&mut self, bytes: BytesMut, mut piece: Piece) -> Piece {
        piece.bytes = bytes.freeze();
        self.book();
        if piece.end.is_some() {
            self.settled = true;
            let odd_stop = self.reader.seen().odd_stop.take();
            self.request.session.stopped(odd_stop);
            if let Some(recording) = &mut self.recording {
                recording.ended(None);
            }
        }
        piece
    }

    /// The stream ended before its terminal event. If nothing of the answer is lost by it, its end is put on; a whole event that could
    /// not be read is a loss, whatever stands before it, and an error page or half an event is the place where it broke off.
    fn over(&mut self, mut bytes: BytesMut, mut piece: Piece, class: FailureClass) -> Piece {
        self.body = None;
        if let Some(recording) = &mut self.recording {
            recording.ended(Some(class));
        }
        let may_heal = class.is_provider_fault() && !self.has_lost;
        let healed = may_heal.then(|| self.reader.healed_end()).flatten();
        piece.end = Some(if let Some(missing) = healed {
            bytes.extend_from_slice(missing.as_bytes());
            self.settled = true;
            End::Complete
        } else {
            self.keep();
            End::Broken(class)
        });
        piece.bytes = bytes.freeze();
        self.book();
        piece
    }

    /// Keeps what an answer has told that will not come to its end.
    fn keep(&mut self) {
        if !std::mem::replace(&mut self.settled, true) {
            self.reader.broke_off();
            let text = self.reader.seen().take_text();
            self.request.session.add_broken_answer(text);
        }
    }

    fn book(&mut self) {
        let seen = self.reader.seen();
        self.entry
            .set(seen.usage, seen.counted, seen.written, seen.unknown_events);
        let signatures = std::mem::take(&mut seen.signatures);
        let stray = std::mem::take(&mut seen.stray_calls);
        self.request.session.add_stray_calls(stray);
        self.request.session.signatures.add(&signatures, self.entry.model());
    }

    /// Reads on behind the end of an answer to that of its body, and returns whether more of an answer comes: then it is unknown which one
    /// counts. A connection that was read to its end is used again, and a new one would cost every turn a handshake.
    async fn goes_on(&mut self) -> bool {
        self.reader.seen().begin_text();
        let mut is_more = self.reads_more();
        let Some(mut body) = self.body.take() else {
            return is_more;
        };
        let rest = async {
            let mut length = 0;
            while length < MAX_PINGS
                && let Ok(Some(chunk)) = body.chunk().await
            {
                length += chunk.len();
                self.parser.push(chunk);
                is_more |= self.reads_more();
            }
        };
        // Some servers never end their streams.
        let _ = timeout(DRAIN, rest).await;
        is_more
    }

    /// Reads the whole frames behind the end, and returns whether one of them brings a part of an answer, or says that it failed.
    fn reads_more(&mut self) -> bool {
        let mut is_more = false;
        while let Ok(Some(frame)) = self.parser.next_frame() {
            if let Some(recording) = &mut self.recording {
                recording.frame(frame.raw());
            }
            let Some(data) = frame.data() else { continue };
            let written = self.reader.seen().written;
            let event = self.reader.read(&data);
            let is_garbage = event == Event::Failed(ProviderFault::Garbage.into());
            let is_failed = matches!(event, Event::Failed(_)) && !is_garbage;
            let is_denied = is_failed && !self.reader.seen().failure.is_empty();
            is_more |= self.reader.seen().written > written || is_denied || (is_garbage && brings_answer(&data));
        }
        is_more
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.keep();
        self.book();
    }
}

/// Returns whether data is an event of some kind, and not what a broken connection leaves.
fn is_whole_event(data: &[u8]) -> bool {
    data.trim_ascii_start().starts_with(b"{") && serde_json::from_slice::<serde::de::IgnoredAny>(data).is_ok()
}

/// Adds a frame with this data.
fn extend_with_frame(bytes: &mut BytesMut, data: &[u8]) {
    for line in data.split(|byte| matches!(byte, b'\n' | b'\r')) {
        bytes.extend_from_slice(b"data: ");
        bytes.extend_from_slice(line);
        bytes.extend_from_slice(b"\n");
    }
    bytes.extend_from_slice(b"\n");
}

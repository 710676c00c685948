//! An answer of a provider as it comes in: cut into frames, read, booked.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use conclave_engine::ports::CallOutcome;
use conclave_resilience::classify::{FailureClass, ProviderFault};
use tokio::time::timeout;

use crate::{
    record::Take,
    sessions::{Booking, Flight},
    source::Source,
    sse::{Frame, FrameParser},
    wire::{Event, Reader, Wire},
};

/// How long the connection of a finished answer is read on, so that it can be used again.
const DRAIN: Duration = Duration::from_secs(1);

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With its terminal event.
    Complete,
    /// Without.
    Broken(FailureClass),
}

/// What came with one read.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    /// Whole frames, as they came.
    pub(crate) bytes: Bytes,
    /// Whether the answer itself is among them.
    pub(crate) content: bool,
    /// Set with the last piece.
    pub(crate) end: Option<End>,
}

/// An answer of a provider as it comes in. Dropping it cancels the call.
#[derive(Debug)]
pub(crate) struct Answer {
    source: Option<Source>,
    parser: FrameParser,
    wire: Wire,
    reader: Reader,
    booking: Booking,
    flight: Arc<Flight>,
    take: Option<Take>,
}

impl Answer {
    pub(crate) fn new(source: Source, wire: Wire, booking: Booking, flight: Arc<Flight>, take: Option<Take>) -> Self {
        Self {
            source: Some(source),
            parser: FrameParser::new(),
            wire,
            reader: wire.reader(),
            booking,
            flight,
            take,
        }
    }

    pub(crate) fn wire(&self) -> Wire {
        self.wire
    }

    pub(crate) fn booking(&self) -> &Booking {
        &self.booking
    }

    pub(crate) fn flight(&self) -> &Flight {
        &self.flight
    }

    /// See [`Reader::shortened_end`].
    pub(crate) fn shortened_end(&self) -> Option<String> {
        self.reader.shortened_end()
    }

    /// The next piece. After one with an end there is none.
    pub(crate) async fn next(&mut self, idle: Duration) -> Piece {
        let piece = self.receive(idle).await;
        match piece.end {
            Some(End::Complete) => self.booking.ended(CallOutcome::Complete),
            Some(End::Broken(class)) => self.booking.ended(CallOutcome::Failed(class.to_string())),
            None => {}
        }
        piece
    }

    async fn receive(&mut self, idle: Duration) -> Piece {
        let Some(source) = &mut self.source else {
            return self.over(BytesMut::new(), Piece::default(), ProviderFault::CutStream.into_class());
        };
        match timeout(idle, source.chunk()).await {
            Err(_) => self.over(BytesMut::new(), Piece::default(), ProviderFault::Timeout.into_class()),
            Ok(Err(fault)) => self.over(BytesMut::new(), Piece::default(), fault.into_class()),
            Ok(Ok(Some(chunk))) => {
                self.flight.touch();
                self.parser.push(chunk);
                self.frames()
            }
            Ok(Ok(None)) => {
                let mut piece = Piece::default();
                let mut bytes = BytesMut::new();
                let mut class = ProviderFault::CutStream.into_class();
                if let Some(frame) = self.parser.finish() {
                    class = self.read(frame, &mut piece, &mut bytes).unwrap_or(class);
                }
                if piece.end.is_some() {
                    return self.pass(bytes, piece);
                }
                self.over(bytes, piece, class)
            }
        }
    }

    /// Takes the whole frames that are there.
    fn frames(&mut self) -> Piece {
        let mut piece = Piece::default();
        let mut bytes = BytesMut::new();
        while piece.end.is_none() {
            let failed = match self.parser.next_frame() {
                Ok(Some(frame)) => self.read(frame, &mut piece, &mut bytes),
                Ok(None) => break,
                Err(_) => Some(ProviderFault::Garbage.into_class()),
            };
            if let Some(class) = failed {
                return self.over(bytes, piece, class);
            }
        }
        self.pass(bytes, piece)
    }

    /// Reads one frame; the class of the failure, if it is the end of a stream that is no answer.
    fn read(&mut self, frame: Frame, piece: &mut Piece, bytes: &mut BytesMut) -> Option<FailureClass> {
        if let Some(take) = &mut self.take {
            take.frame(frame.raw());
        }
        match self.reader.read(frame.data().as_deref()) {
            // What a broken stream says last is not for the runtime.
            Event::Failed(class) => return Some(class),
            Event::Unusual => {
                bytes.extend_from_slice(self.reader.healed_end().unwrap_or_default().as_bytes());
                piece.end = Some(End::Complete);
                return None;
            }
            Event::Terminal => piece.end = Some(End::Complete),
            Event::Content => piece.content = true,
            Event::Start => {}
        }
        frame.append_to(bytes);
        None
    }

    /// The stream goes on, or has come to its end.
    fn pass(&mut self, bytes: BytesMut, mut piece: Piece) -> Piece {
        piece.bytes = bytes.freeze();
        self.book();
        if piece.end.is_some() {
            if let Some(take) = &mut self.take {
                take.ended(None);
            }
            self.drain();
        }
        piece
    }

    /// The stream ended before its terminal event. If nothing of the answer is lost by it, its end is put on.
    fn over(&mut self, mut bytes: BytesMut, mut piece: Piece, class: FailureClass) -> Piece {
        self.source = None;
        if let Some(take) = &mut self.take {
            take.ended(Some(class));
        }
        let healed = class.is_provider_fault().then(|| self.reader.healed_end()).flatten();
        piece.end = Some(match healed {
            Some(missing) => {
                bytes.extend_from_slice(missing.as_bytes());
                End::Complete
            }
            None => End::Broken(class),
        });
        piece.bytes = bytes.freeze();
        self.book();
        piece
    }

    fn book(&mut self) {
        self.booking.set(self.reader.usage(), self.reader.unknown_events());
        let seals = self.reader.take_seals();
        self.flight.session.seal(&seals, self.booking.model());
    }

    /// Reads what is left after the terminal event in the background: a connection that was read to its end is used
    /// again, and a new one would cost every turn a handshake.
    fn drain(&mut self) {
        if let Some(mut source) = self.source.take() {
            tokio::spawn(timeout(DRAIN, async move {
                while let Ok(Some(_)) = source.chunk().await {}
            }));
        }
    }
}

/// A fault as the class that it is.
trait IntoClass {
    fn into_class(self) -> FailureClass;
}

impl IntoClass for ProviderFault {
    fn into_class(self) -> FailureClass {
        FailureClass::Retryable(self)
    }
}

//! An answer of a provider as it comes in: cut into frames, read, booked.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use conclave_engine::ports::CallOutcome;
use conclave_resilience::classify::{FailureClass, ProviderFault};
use reqwest::Response;
use tokio::time::timeout;

use crate::{
    sessions::{Booking, Flight},
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
    response: Option<Response>,
    parser: FrameParser,
    reader: Reader,
    booking: Booking,
    flight: Arc<Flight>,
}

impl Answer {
    pub(crate) fn new(response: Response, wire: Wire, booking: Booking, flight: Arc<Flight>) -> Self {
        Self {
            response: Some(response),
            parser: FrameParser::new(),
            reader: wire.reader(),
            booking,
            flight,
        }
    }

    pub(crate) fn booking(&self) -> &Booking {
        &self.booking
    }

    pub(crate) fn flight(&self) -> &Flight {
        &self.flight
    }

    /// The next piece. After one with an end there is none.
    pub(crate) async fn next(&mut self, idle: Duration) -> Piece {
        let piece = self.read(idle).await;
        match piece.end {
            Some(End::Complete) => self.booking.ended(CallOutcome::Complete),
            Some(End::Broken(class)) => self.booking.ended(CallOutcome::Failed(class.to_string())),
            None => {}
        }
        piece
    }

    async fn read(&mut self, idle: Duration) -> Piece {
        let Some(response) = &mut self.response else {
            return self.broken(Piece::default(), ProviderFault::CutStream);
        };
        match timeout(idle, response.chunk()).await {
            Err(_) => self.broken(Piece::default(), ProviderFault::Timeout),
            Ok(Err(error)) => {
                tracing::info!(error = %error.without_url(), "the answer broke off");
                self.broken(Piece::default(), ProviderFault::CutStream)
            }
            Ok(Ok(None)) => {
                let mut piece = Piece::default();
                if let Some(frame) = self.parser.finish() {
                    let mut bytes = BytesMut::new();
                    self.take(&frame, &mut piece, &mut bytes);
                    piece.bytes = bytes.freeze();
                }
                self.book();
                if piece.end.is_some() {
                    return piece;
                }
                self.broken(piece, ProviderFault::CutStream)
            }
            Ok(Ok(Some(chunk))) => {
                self.flight.touch();
                self.parser.push(&chunk);
                self.frames()
            }
        }
    }

    /// Takes the whole frames that are there.
    fn frames(&mut self) -> Piece {
        let mut piece = Piece::default();
        let mut bytes = BytesMut::new();
        while piece.end.is_none() {
            match self.parser.next_frame() {
                Ok(Some(frame)) => self.take(&frame, &mut piece, &mut bytes),
                Ok(None) => break,
                Err(_) => piece.end = Some(End::Broken(FailureClass::Retryable(ProviderFault::Garbage))),
            }
        }
        piece.bytes = bytes.freeze();
        self.book();
        match piece.end {
            Some(End::Complete) => self.drain(),
            Some(End::Broken(_)) => self.response = None,
            None => {}
        }
        piece
    }

    fn take(&mut self, frame: &Frame, piece: &mut Piece, bytes: &mut BytesMut) {
        match self.reader.read(frame.data().as_deref()) {
            // What a broken stream says last is not for the runtime.
            Event::Failed(class) => {
                piece.end = Some(End::Broken(class));
                return;
            }
            Event::Terminal => piece.end = Some(End::Complete),
            Event::Content => piece.content = true,
            Event::Start => {}
        }
        bytes.extend_from_slice(frame.raw());
    }

    fn book(&mut self) {
        self.booking.set(self.reader.usage());
        let seals = self.reader.take_seals();
        self.flight.session.seal(&seals, self.booking.model());
    }

    /// The stream ended before its terminal event. If the answer was whole all the same, its end is put on.
    fn broken(&mut self, mut piece: Piece, fault: ProviderFault) -> Piece {
        self.response = None;
        if let Some(missing) = self.reader.missing_end() {
            let mut bytes = BytesMut::from(&piece.bytes[..]);
            bytes.extend_from_slice(missing);
            piece.bytes = bytes.freeze();
            piece.end = Some(End::Complete);
        } else {
            piece.end = Some(End::Broken(FailureClass::Retryable(fault)));
        }
        piece
    }

    /// Reads what is left after the terminal event in the background: a connection that was read to its end is used
    /// again, and a new one would cost every turn a handshake.
    fn drain(&mut self) {
        if let Some(mut response) = self.response.take() {
            tokio::spawn(timeout(DRAIN, async move {
                while let Ok(Some(_)) = response.chunk().await {}
            }));
        }
    }
}

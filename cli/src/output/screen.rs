//! The terminal that the table is drawn on: each frame goes to the thread that writes.
//!
//! What draws the table must neither wait for the terminal nor get an error from it: it holds its lock meanwhile, and panics where it
//! cannot make room for a line above the table.

use std::{
    cell::Cell,
    fmt::{self, Write as _},
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use indicatif::TermLike;

use super::writer::{Place, Writer};

thread_local! {
    /// True while this thread draws what is shown even if the terminal does not keep up.
    static IS_ESSENTIAL: Cell<bool> = const { Cell::new(false) };
}

/// Draws frames that must not be left out, however much waits to be written.
pub(super) fn essential<T>(draw: impl FnOnce() -> T) -> T {
    let before = IS_ESSENTIAL.replace(true);
    let drawn = draw();
    IS_ESSENTIAL.set(before);
    drawn
}

/// Standard error as a terminal.
pub(super) struct TableScreen {
    writer: &'static Writer,
    frame: Mutex<String>,
}

impl fmt::Debug for TableScreen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TableScreen").finish_non_exhaustive()
    }
}

impl TableScreen {
    pub(super) fn new(writer: &'static Writer) -> Self {
        Self {
            writer,
            frame: Mutex::default(),
        }
    }

    fn frame(&self) -> MutexGuard<'_, String> {
        self.frame.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the cursor by this number of places.
    fn moved(&self, places: usize, direction: char) {
        if places > 0 {
            let _ = write!(self.frame(), "\x1b[{places}{direction}");
        }
    }
}

/// Columns and rows of the terminal.
fn size() -> (u16, u16) {
    let size = terminal_size::terminal_size_of(io::stderr());
    size.map_or((80, 24), |(columns, rows)| (columns.0, rows.0))
}

impl TermLike for TableScreen {
    fn width(&self) -> u16 {
        // A wide character has two columns: what draws the table does not expect one that fits into no line.
        size().0.max(2)
    }

    fn height(&self) -> u16 {
        size().1
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'A');
        Ok(())
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'B');
        Ok(())
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'C');
        Ok(())
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.moved(n, 'D');
        Ok(())
    }

    fn write_line(&self, s: &str) -> io::Result<()> {
        self.frame().push_str(s);
        self.frame().push('\n');
        Ok(())
    }

    fn write_str(&self, s: &str) -> io::Result<()> {
        self.frame().push_str(s);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.frame().push_str("\r\x1b[2K");
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let frame = std::mem::take(&mut *self.frame());
        if self.writer.lags() && !IS_ESSENTIAL.get() {
            // The next frame is then drawn over the one before this.
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if !frame.is_empty() {
            self.writer.write(Place::Raw, frame);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget};

    use super::*;
    use crate::output::writer::tests::{stalled, written};

    #[test]
    fn a_terminal_that_takes_nothing_misses_frames_but_no_line_above_the_table() {
        let (writer, resume, taken) = stalled();
        let writer: &'static Writer = Box::leak(Box::new(writer));
        let target = ProgressDrawTarget::term_like(Box::new(TableScreen::new(writer)));
        let table = MultiProgress::with_draw_target(target);
        let bar = table.add(ProgressBar::new_spinner());
        for frame in 0..2_000 {
            bar.set_message(format!("frame {frame}"));
        }
        essential(|| table.suspend(|| writer.write(Place::Error, "above\n".to_owned())));
        essential(|| bar.abandon_with_message("the end"));
        resume.send(()).expect("it waits");
        written(writer);
        let taken = taken.lock().expect("a lock");
        assert!(taken.contains("frame 0") && !taken.contains("frame 1998"), "{taken}");
        let above = taken.find("above\n").expect("the line");
        assert!(taken[above..].contains("the end"), "{taken}");
    }
}

//! The terminal that the table is drawn in, for as long as it is there.
//!
//! A terminal that was closed fails every write, and the library that draws takes such a failure for a fault of the program: it panics
//! with the table locked, and whatever prints from then on waits for that lock for ever. So a failure ends here, and the drawing with it.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
};

use console::Term;
use indicatif::{ProgressDrawTarget, TermLike};

/// Maximum number of drawings in a second.
const REFRESH: u8 = 20;

/// Where the table is drawn: on standard error.
pub(super) fn target() -> ProgressDrawTarget {
    drawing_on(Term::buffered_stderr())
}

fn drawing_on(terminal: Term) -> ProgressDrawTarget {
    let terminal = Tty {
        terminal,
        is_gone: AtomicBool::new(false),
    };
    ProgressDrawTarget::term_like_with_hz(Box::new(terminal), REFRESH)
}

/// A terminal whose writes never fail: from the first one that would on, nothing is written.
#[derive(Debug)]
struct Tty {
    terminal: Term,
    is_gone: AtomicBool,
}

impl Tty {
    fn attempt(&self, write: impl FnOnce(&Term) -> io::Result<()>) {
        if !self.is_gone.load(Ordering::Relaxed) && write(&self.terminal).is_err() {
            self.is_gone.store(true, Ordering::Relaxed);
        }
    }
}

impl TermLike for Tty {
    fn width(&self) -> u16 {
        self.terminal.size().1
    }

    fn height(&self) -> u16 {
        self.terminal.size().0
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.attempt(|terminal| terminal.move_cursor_up(n));
        Ok(())
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.attempt(|terminal| terminal.move_cursor_down(n));
        Ok(())
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.attempt(|terminal| terminal.move_cursor_right(n));
        Ok(())
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.attempt(|terminal| terminal.move_cursor_left(n));
        Ok(())
    }

    fn write_line(&self, s: &str) -> io::Result<()> {
        self.attempt(|terminal| terminal.write_line(s));
        Ok(())
    }

    fn write_str(&self, s: &str) -> io::Result<()> {
        self.attempt(|terminal| terminal.write_str(s));
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.attempt(Term::clear_line);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        self.attempt(Term::flush);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use indicatif::{MultiProgress, ProgressBar};

    use super::*;

    #[test]
    fn a_terminal_that_is_gone_fails_neither_the_table_nor_what_is_printed_above_it() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let reading = ours.try_clone().expect("a clone");
        let screen = MultiProgress::with_draw_target(drawing_on(Term::read_write_pair(reading, ours)));
        let bar = screen.add(ProgressBar::new_spinner());
        bar.set_message("at work");
        bar.tick();
        drop(theirs);
        for _ in 0..2 {
            assert_eq!(screen.suspend(|| 7), 7);
            bar.tick();
        }
        bar.abandon();
    }
}

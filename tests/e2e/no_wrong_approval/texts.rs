//! What leaves the run: logs, notes, markers.

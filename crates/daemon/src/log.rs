//! One line each on stderr, and never so many that a hostile client fills the disk with them.
//!
//! Without timestamps: the service manager that collects the lines stamps them.

use std::fmt::Display;
use std::io::Write;
use std::time::Duration;

/// So many lines in each second; the others are counted.
const LINES_PER_SECOND: u32 = 20;

/// The daemon's log.
#[derive(Debug, Default)]
pub struct Log {
    second: u64,
    lines: u32,
    left_out: u64,
}

impl Log {
    /// Writes a line, at time `now` of a clock that never steps.
    pub fn line(&mut self, now: Duration, what: impl Display) {
        if self.second != now.as_secs() {
            if self.left_out > 0 {
                line(format_args!("{} lines left out", self.left_out));
            }
            *self = Self {
                second: now.as_secs(),
                ..Self::default()
            };
        }
        self.lines += 1;
        if self.lines > LINES_PER_SECOND {
            self.left_out += 1;
        } else {
            line(what);
        }
    }
}

/// Writes a line whatever was written before.
pub fn line(what: impl Display) {
    let text = format!("bobtaild: {}\n", what.to_string().replace('\n', " "));
    // Who closed stderr wants no log; the levers matter more than it does.
    drop(std::io::stderr().write_all(text.as_bytes()));
}

//! Traces for tests: drawn as text, or grown from a seed.
//!
//! A trace written as records is unreadable and one taken from a real server is too large to
//! reason about. So tests draw what happened, one fact per line, and read like a timetable:
//!
//! ```
//! let drawn = bobtail_testkit::draw(r#"
//!     open 1 server
//!     0ms    begin #1 read handle=1 ready=-200us   // the request had waited for 200 µs
//!            source 1 "GET /x"
//!     1ms    register pool op=1 "fs.readFile"
//!     2ms    end
//!            poll for=6ms
//!     9ms    begin #2 pool op=1 ready=8ms run=5ms
//!     9.5ms  micro #3 promise from=1
//!     10ms   sink 1 200
//!            end
//! "#);
//! assert_eq!(drawn.records.len(), 10);
//! ```
//!
//! # Notation
//!
//! A line is `[time] fact`. Times are numbers with `ns`, `us`, `ms` or `s`, relative to
//! [`ORIGIN_NS`], and may be negative. A line without a time happens when the one before it did.
//! Events number themselves from 1 like in the format; `#n` after `begin` or `micro` checks the
//! number, so that other lines can refer to it with confidence. `//` starts a comment.
//!
//! | fact | fields |
//! |---|---|
//! | `open h kind` | `["name"]`; kinds are words of the format: `server`, `client` … |
//! | `close h` | |
//! | `begin [#n] kind` | `[handle=h] [op=o] [ready=time [quality=word]] [run=duration]` |
//! | `end` | |
//! | `micro [#n] kind` | `[from=event]`; a clock was read where the line has a time |
//! | `resume event` | likewise |
//! | `poll` | `[for=duration] [count=n]`; the time is when the loop entered the kernel |
//! | `register kind op=o` | `["resource"] [due=time]` |
//! | `write h` | `[bytes=n] [unsent=n]` |
//! | `work` | `span=duration [jit=duration] [ic=duration]`; the time is its end |
//! | `not-running` | `for=duration [end=time] [cause=word]`; the time is when it was told |
//! | `source r "name"` | |
//! | `sink r status` | `["route"]` |
//! | `gc kind for=duration` | scavenge, minor, mark, incremental, weak; time: its begin |
//! | | `[cause=word] ["function file:line"]`, the latter who asked for it |
//! | `at "function file:line"` | what the current event executes |
//! | `mark kind` | `["text"]` |
//! | `loss kind` | `[count=n] [events=n]` |

#![forbid(unsafe_code)]

mod draw;
#[cfg(target_os = "linux")]
pub mod fake_kernel;
mod line;
mod random;
mod served;
mod simulate;
mod turn;

pub use draw::{Drawn, ORIGIN_NS, draw};
pub use random::Random;
pub use simulate::{Shape, Simulation, Waits};

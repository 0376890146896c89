//! The event dependency graph: from the records of one event loop to the critical path of each
//! request.
//!
//! Records are pushed one by one; a request comes out as a [`RequestPath`] when the loop event has
//! ended in which its response was handed over, or when it is known what kept it from the pool.
//! There is no whole graph in memory: what no open request needs is forgotten.
//!
//! | file | concept |
//! |---|---|
//! | `graph` | records in, requests out |
//! | `recorder`, `traffic` | each record becomes rows of the history |
//! | `history` | the bounded past that all else reads |
//! | `events`, `runs` | events, the loop's time line |
//! | `stretches`, `stretch`, `collections` | where its time was not native |
//! | `interruptions`, `work` | what tells so; the sums of an interval |
//! | `locations` | places in code, numbered |
//! | `handles`, `operations`, `requests` | what outlives events: connections, jobs, requests |
//! | `departures` | when the last byte of a response was taken |
//! | `ownership` | which request an event works for |
//! | `walk`, `writers` | from the sink back to the source; who asked on a socket |
//! | `tiling`, `queue`, `pool`, `resource` | from ready to sink in segments, with causes |
//! | `path`, `window`, `timeline`, `ended` | what the next stage reads |
//! | `ring`, `id_table` | two bounded containers |

#![forbid(unsafe_code)]

mod collections;
mod departures;
mod ended;
mod events;
mod graph;
mod handles;
mod history;
mod id_table;
mod interruptions;
mod locations;
mod operations;
mod ownership;
mod path;
mod pool;
mod queue;
mod recorder;
mod requests;
mod resource;
mod ring;
mod runs;
mod stretch;
mod stretches;
mod tiling;
mod timeline;
mod traffic;
mod walk;
mod window;
mod work;
mod writers;

pub use collections::Collection;
pub use ended::{Ended, EndedPiece};
pub use graph::{Graph, Options, Walks};
pub use path::{
    Culprit, CulpritKind, EventKind, Hop, PathEvent, PoolPart, RequestPath, Resource, Segment,
    SegmentKind,
};
pub use timeline::{Doing, Interruption, LoopEventTimes, LoopRun};
pub use window::{EVENTS_LISTED, EventFacts, Running, Window};
pub use work::Work;

//! A loop event that has just ended, with what a replay must know of it.
//!
//! A path tells what one request waited for, but a replay also needs what nobody waited for: it
//! had the loop all the same. Asked after each record instead of told by a callback, so that who
//! only wants paths pays nothing.

use bobtail_trace::record::{EventId, HandleId, LoopKind, Ns, ReadyQuality, RequestId, StringId};

use crate::events::{LoopEvent, Row};
use crate::graph::Graph;
use crate::history::History;
use crate::runs::RunKind;
use crate::work::Work;
use crate::writers::is_server;

/// See the module. Times are absolute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    pub event: EventId,
    pub kind: LoopKind,
    /// 0 none.
    pub handle: HandleId,
    /// It is about a connection on which requests come.
    pub on_server: bool,
    pub ready_ns: Option<Ns>,
    pub ready_quality: ReadyQuality,
    pub begin_ns: Ns,
    pub end_ns: Ns,
    /// Duration of a pool job on its thread, ending at ready; 0 for other kinds.
    pub run_ns: u64,
    /// Who registered the operation that caused it, and when.
    pub registered: Option<(EventId, Ns)>,
    /// The last write to its handle before it: who, and when.
    pub written: Option<(EventId, Ns)>,
    /// What the operation was registered for, or the other end of the connection; 0 unknown.
    pub resource: StringId,
}

/// A piece of a loop event in which the thread did one kind of thing for one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedPiece {
    pub end_ns: Ns,
    /// 0 nobody.
    pub request: RequestId,
    pub work: Work,
}

impl Graph {
    /// The loop event that the last record ended, if it ended one.
    pub fn ended(&self) -> Option<Ended> {
        let history = self.history();
        let row = history.loop_events.get(self.ended_row()?)?;
        let event = history.event(row.event)?;
        Some(Ended {
            event: row.event,
            kind: row.kind,
            handle: row.handle,
            on_server: is_server(history, row),
            ready_ns: row.ready_ns,
            ready_quality: row.quality,
            begin_ns: row.begin_ns,
            end_ns: row.end_ns,
            run_ns: row.run_ns,
            registered: (event.registrar != 0).then_some((event.registrar, row.register_ns)),
            written: written(history, row),
            resource: resource(history, row),
        })
    }

    /// What the thread did in it, piece by piece, without gaps.
    pub fn pieces(&self, ended: &Ended) -> Vec<EndedPiece> {
        let history = self.history();
        let (from_ns, to_ns) = (ended.begin_ns, ended.end_ns);
        let mut pieces = Vec::new();
        for (_, run, start_ns, end_ns) in history.runs.pieces(from_ns, to_ns, history.now) {
            let request = match run.kind {
                RunKind::Event => run.request,
                RunKind::Poll | RunKind::Between | RunKind::Lost => 0,
            };
            let mut at_ns = start_ns;
            let mut add = |end_ns: Ns| {
                if end_ns > at_ns {
                    let work = self.work(at_ns, end_ns);
                    pieces.push(EndedPiece {
                        end_ns,
                        request,
                        work,
                    });
                    at_ns = end_ns;
                }
            };
            for (_, begin_ns, stretch_end_ns) in history.stretches.each(start_ns, end_ns) {
                add(begin_ns);
                add(stretch_end_ns);
            }
            add(end_ns);
        }
        pieces
    }

    /// What the loop thread did in an interval of the recent past.
    pub fn work(&self, from_ns: Ns, to_ns: Ns) -> Work {
        let stretches = &self.history().stretches;
        stretches.work(from_ns, to_ns.max(from_ns), &mut stretches.find(from_ns))
    }
}

fn written(history: &History, row: &LoopEvent) -> Option<(EventId, Ns)> {
    let last: Row = row.last_write?;
    let write = history.handles.writes.get(last)?;
    Some((write.event, write.at_ns))
}

fn resource(history: &History, row: &LoopEvent) -> StringId {
    match history.handles.table.get(row.handle) {
        _ if row.resource != 0 => row.resource,
        Some(handle) if row.kind != LoopKind::Accept => handle.name,
        _ => 0,
    }
}

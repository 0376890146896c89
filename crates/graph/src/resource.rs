//! The name of what an event waited for.

use bobtail_trace::record::LoopKind;

use crate::events::LoopEvent;
use crate::history::History;
use crate::path::{RequestPath, Resource};

/// Of an operation: what its registration named; of a read: the other end of the connection.
pub(crate) fn resource_of(history: &History, path: &RequestPath, event: &LoopEvent) -> Resource {
    if event.resource != 0 {
        return Resource::Named(event.resource);
    }
    let source = history.loop_event(path.source_event);
    if event.handle != 0 && source.is_some_and(|s| s.handle == event.handle) {
        return Resource::Client;
    }
    match history.handles.table.get(event.handle) {
        Some(handle) if handle.name != 0 && event.kind != LoopKind::Accept => {
            Resource::Named(handle.name)
        }
        _ => Resource::Unnamed,
    }
}

//! Writes a recording in which every request has a route of its own, for tests of cardinality.
//!
//! `cargo run --release -p bobtail-breakdown --example many_routes ROUTES FOLDER`
//! A framework names a handful of routes; a service that puts ids in names has as many as it has
//! requests. A recorder stops at a megabyte of names; nothing that reads traces may rely on that.

mod folder;

use std::error::Error;
use std::path::Path;

use bobtail_testkit::ORIGIN_NS;
use bobtail_trace::record::{
    HandleId, HandleKind, LoopKind, Ready, ReadyQuality, Record, RequestId,
};
use bobtail_trace::{Header, TraceWriter};

/// A request comes this often, waits, and is answered; one in 100 takes a hundred times as long.
const EVERY_NS: u64 = 1_000_000;
const WAIT_NS: u64 = 20_000;
const QUICK_NS: u64 = 5_000;
const SLOW_NS: u64 = 500_000;
/// Of a name in the string table.
const NAME_BYTES_MAX: u32 = 24;
const HANDLE: HandleId = 1;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [routes, folder] = &arguments[..] else {
        return Err("ROUTES FOLDER".into());
    };
    let routes: u32 = routes.parse()?;
    let header = folder::header(ORIGIN_NS);
    let names_bytes = routes.saturating_mul(NAME_BYTES_MAX).next_power_of_two();
    let mut writer = TraceWriter::new(Header {
        strings_bytes: names_bytes.max(header.strings_bytes),
        ..header
    })?;
    let name = writer.intern("server");
    writer.push(&Record::HandleOpen {
        handle: HANDLE,
        kind: HandleKind::ServerConnection,
        at_ns: ORIGIN_NS,
        name,
    })?;
    for request in 1..=routes {
        serve(&mut writer, request)?;
    }
    folder::write(Path::new(folder), &writer.close())?;
    Ok(())
}

fn serve(writer: &mut TraceWriter, request: RequestId) -> Result<(), Box<dyn Error>> {
    let ready_ns = ORIGIN_NS + u64::from(request) * EVERY_NS;
    let begin_ns = ready_ns + WAIT_NS;
    let slow = request.is_multiple_of(100);
    let end_ns = begin_ns + if slow { SLOW_NS } else { QUICK_NS };
    let route = writer.intern(&format!("GET /item/{request}"));
    let ready = Ready {
        at_ns: ready_ns,
        quality: ReadyQuality::Exact,
    };
    for record in [
        Record::LoopBegin {
            event: request,
            kind: LoopKind::Read,
            begin_ns,
            ready: Some(ready),
            handle: HANDLE,
            op: 0,
            run_ns: 0,
        },
        Record::Source {
            request,
            at_ns: begin_ns,
            name: route,
        },
        Record::Write {
            handle: HANDLE,
            at_ns: end_ns,
            bytes: 100,
            unsent: 0,
        },
        Record::Sink {
            request,
            at_ns: end_ns,
            route,
            status: 200,
        },
        Record::LoopEnd { end_ns },
    ] {
        writer.push(&record)?;
    }
    Ok(())
}

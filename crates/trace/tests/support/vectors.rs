//! The golden vectors of version 1: small traces, each for one thing a reader must know.
//!
//! Made here and kept in `spec/vectors/v1`; the files stay for good, so a change of this code that
//! changes their bytes is a change of the format.

use bobtail_trace::dump::{dump, error_line};
use bobtail_trace::layout::chunk;
use bobtail_trace::record::{
    CodePlace, GcCause, HandleKind, LoopKind, LossKind, MarkKind, MicroKind, NotRunningCause,
    Ready, ReadyQuality, Record,
};
use bobtail_trace::{Detail, Header, OnDamage, TraceReader, TraceWriter, WriteError};

/// A vector's file name without its extension, and its bytes.
pub type Vector = (&'static str, Vec<u8>);

const START_NS: u64 = 5_000_000_000_000;
const CHUNK_BYTES: u32 = 256;

/// All vectors of version 1.
pub fn vectors() -> Result<Vec<Vector>, WriteError> {
    let rolling = requests(20, 100)?.bytes().to_vec();
    Ok(vec![
        ("started", TraceWriter::new(header(100))?.bytes().to_vec()),
        ("every-record", every_record()?),
        ("rolling", rolling.clone()),
        ("recycled", requests(40, 4)?.close()),
        ("no-chunk", no_chunk()?),
        ("strings-full", strings_full()?),
        (
            "damaged-record",
            damaged(&rolling, 3, chunk::HEADER_BYTES, 0x3f),
        ),
        ("damaged-chunk-magic", damaged(&rolling, 3, chunk::MAGIC, 0)),
        ("cut", rolling[..slot_offset(4) + 100].to_vec()),
        ("cut-header", rolling[..500].to_vec()),
        ("newer", newer(&rolling)),
    ])
}

/// The expected text of a trace.
pub fn text(bytes: &[u8], on_damage: OnDamage) -> String {
    match TraceReader::open(bytes, on_damage) {
        Ok(mut reader) => dump(&mut reader),
        Err(error) => error_line(&error),
    }
}

fn header(max_slots: u32) -> Header {
    Header {
        version: 1,
        strings_bytes: 128,
        chunk_bytes: CHUNK_BYTES,
        ring_slots: 2,
        max_slots,
        pid: 4121,
        thread: 0,
        detail: Detail::Full,
        start_ns: START_NS,
        start_realtime_ns: 1_790_000_000_000_000_000,
        node: "v24.21.0".to_owned(),
        arch: "x64".to_owned(),
    }
}

fn slot_offset(slot: u32) -> usize {
    header(100).slot_offset(slot) as usize
}

fn ready(ns: u64, quality: ReadyQuality) -> Option<Ready> {
    Some(Ready {
        at_ns: START_NS + ns,
        quality,
    })
}

/// Every kind with every flag, every code, small and large numbers.
fn every_record() -> Result<Vec<u8>, WriteError> {
    let mut writer = TraceWriter::new(header(100))?;
    let names = [
        "GET /héllo?x=1",
        "/hello",
        "example.org:443",
        "serialize",
        "src/export.ts",
        "",
    ];
    let ids = names.map(|name| writer.intern(name));
    for record in dispatches().into_iter().chain(facts(ids)) {
        writer.push(&record)?;
    }
    for (index, &kind) in LoopKind::ALL.iter().enumerate() {
        let event = 7 + index as u32;
        let begin_ns = START_NS + 7_000_000 + index as u64;
        let record = Record::LoopBegin {
            event,
            kind,
            begin_ns,
            ready: None,
            handle: 0,
            op: 0,
            run_ns: 0,
        };
        writer.push(&record)?;
    }
    Ok(writer.close())
}

fn dispatches() -> Vec<Record> {
    let begin = |event, kind, ns, ready, handle, op, run_ns| Record::LoopBegin {
        event,
        kind,
        begin_ns: START_NS + ns,
        ready,
        handle,
        op,
        run_ns,
    };
    let micro = |event, kind, registrar, ns: Option<u64>| Record::Micro {
        event,
        kind,
        registrar,
        begin_ns: ns.map(|ns| START_NS + ns),
    };
    vec![
        begin(
            1,
            LoopKind::Read,
            1_000,
            ready(400, ReadyQuality::Exact),
            7,
            0,
            0,
        ),
        micro(2, MicroKind::Tick, 1, None),
        micro(3, MicroKind::Promise, 0, Some(1_300)),
        Record::Resume {
            event: 1,
            at_ns: None,
        },
        Record::Resume {
            event: 0,
            at_ns: Some(START_NS + 1_400),
        },
        begin(
            4,
            LoopKind::Pool,
            90_000,
            ready(80_000, ReadyQuality::UpperBound),
            0,
            3,
            70_000,
        ),
        Record::LoopEnd {
            end_ns: START_NS + 91_000,
        },
        Record::Poll {
            enter_ns: START_NS + 92_000,
            leave_ns: START_NS + 1_092_000,
            ready_count: 1,
        },
        begin(
            5,
            LoopKind::Timer,
            1_093_000,
            ready(1_050_000, ReadyQuality::Estimate),
            0,
            2,
            0,
        ),
        micro(6, MicroKind::Emitter, 5, Some(1_093_000)),
    ]
}

/// A time among the facts, which begin 1.1 ms after the start.
fn fact_ns(ns: u64) -> u64 {
    START_NS + 1_100_000 + ns
}

fn facts(ids: [u32; 6]) -> Vec<Record> {
    let [name, route, resource, function, file, empty] = ids;
    let at = fact_ns;
    let register = |op, kind, ns, resource, due_ns: Option<u64>| Record::Register {
        op,
        kind,
        at_ns: at(ns),
        resource,
        due_ns: due_ns.map(at),
    };
    let mut records = vec![
        Record::Source {
            request: 1,
            at_ns: at(0),
            name,
        },
        register(4, LoopKind::Connect, 10, resource, None),
        register(5, LoopKind::Timer, 20, 0, Some(20_000_020)),
        Record::Write {
            handle: 8,
            at_ns: at(30),
            bytes: 1 << 40,
            unsent: 1 << 20,
        },
        Record::Write {
            handle: 0,
            at_ns: at(40),
            bytes: 0,
            unsent: 0,
        },
        Record::HandleClose {
            handle: 8,
            at_ns: at(50),
        },
        Record::Location {
            at_ns: at(60),
            place: CodePlace {
                function,
                file,
                line: 88,
                column: 21,
            },
        },
    ];
    records.extend(costs());
    records.extend([
        Record::Sink {
            request: 1,
            at_ns: at(5_000_080),
            route,
            status: 200,
        },
        Record::Sink {
            request: u32::MAX,
            at_ns: at(5_000_080),
            route: 0,
            status: 0,
        },
    ]);
    records.extend(each_kind(fact_ns(5_000_090), resource, empty));
    records
}

/// Where the thread's time went.
fn costs() -> Vec<Record> {
    let at = fact_ns;
    let collection = |cause, caller| Record::Gc {
        kind: 4,
        cause,
        caller,
        begin_ns: at(70),
        end_ns: at(5_000_070),
    };
    let caller = CodePlace {
        function: 0,
        file: 1,
        line: 25,
        column: u32::MAX,
    };
    let mut costs: Vec<_> = GcCause::ALL
        .iter()
        .map(|&cause| collection(cause, CodePlace::default()))
        .collect();
    costs.push(collection(GcCause::Asked, caller));
    costs.extend([
        Record::Work {
            end_ns: at(5_000_072),
            span_ns: 90_000,
            jit_ns: 80_000,
            ic_ns: 300,
        },
        Record::Work {
            end_ns: at(5_000_074),
            span_ns: 2,
            jit_ns: 0,
            ic_ns: 2,
        },
        Record::NotRunning {
            at_ns: at(5_000_078),
            end_ns: at(60),
            duration_ns: 40,
            cause: NotRunningCause::Preempted,
        },
        Record::NotRunning {
            at_ns: at(5_000_078),
            end_ns: at(5_000_078),
            duration_ns: 0,
            cause: NotRunningCause::Other,
        },
    ]);
    costs
}

/// A record of each kind of handle, mark and loss.
fn each_kind(at_ns: u64, name: u32, text: u32) -> Vec<Record> {
    let opens = HandleKind::ALL.iter().zip(9..);
    let opens = opens.map(|(&kind, handle)| Record::HandleOpen {
        handle,
        kind,
        at_ns,
        name,
    });
    let marks = MarkKind::ALL.iter();
    let marks = marks.map(|&kind| Record::Mark { kind, at_ns, text });
    let losses = LossKind::ALL.iter().map(|&kind| Record::Loss {
        kind,
        count: 1 << 33,
        events: 0,
    });
    opens.chain(marks).chain(losses).collect()
}

/// One byte of a chunk changed.
fn damaged(bytes: &[u8], slot: u32, at: usize, value: u8) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[slot_offset(slot) + at] = value;
    bytes
}

/// `count` requests with a timer each; more than one chunk, not closed.
fn requests(count: u32, max_slots: u32) -> Result<TraceWriter, WriteError> {
    let mut writer = TraceWriter::new(header(max_slots))?;
    let name = writer.intern("GET /");
    let mut event = 0;
    for request in 1..=count {
        let at = |ns: u64| START_NS + u64::from(request) * 1_000_000 + ns;
        let read = ready(u64::from(request) * 1_000_000 - 50_000, ReadyQuality::Exact);
        event += 3;
        let begin = |event, kind, ns, ready, handle, op| Record::LoopBegin {
            event,
            kind,
            begin_ns: at(ns),
            ready,
            handle,
            op,
            run_ns: 0,
        };
        let due_ns = Some(at(250_000));
        for record in [
            begin(event - 2, LoopKind::Read, 0, read, request, 0),
            Record::Source {
                request,
                at_ns: at(9_000),
                name,
            },
            Record::Register {
                op: request,
                kind: LoopKind::Timer,
                at_ns: at(10_000),
                resource: 0,
                due_ns,
            },
            Record::Poll {
                enter_ns: at(20_000),
                leave_ns: at(260_000),
                ready_count: 0,
            },
            begin(event - 1, LoopKind::Timer, 261_000, None, 0, request),
            Record::Micro {
                event,
                kind: MicroKind::Promise,
                registrar: event - 2,
                begin_ns: None,
            },
            Record::Write {
                handle: request,
                at_ns: at(280_000),
                bytes: 120,
                unsent: 0,
            },
            Record::Sink {
                request,
                at_ns: at(281_000),
                route: 0,
                status: 200,
            },
            Record::LoopEnd {
                end_ns: at(290_000),
            },
        ] {
            writer.push(&record)?;
        }
    }
    Ok(writer)
}

/// Numbers that were given out while no chunk was ready, inside an open loop event.
fn no_chunk() -> Result<Vec<u8>, WriteError> {
    let mut writer = requests(2, 100)?;
    writer.push(&Record::LoopBegin {
        event: 7,
        kind: LoopKind::Read,
        begin_ns: START_NS + 3_000_000,
        ready: None,
        handle: 3,
        op: 0,
        run_ns: 0,
    })?;
    writer.lose(9, 4)?;
    writer.push(&Record::Micro {
        event: 12,
        kind: MicroKind::Microtask,
        registrar: 8,
        begin_ns: None,
    })?;
    Ok(writer.bytes().to_vec())
}

fn strings_full() -> Result<Vec<u8>, WriteError> {
    let mut writer = TraceWriter::new(header(100))?;
    for request in 1..=8 {
        let name = writer.intern(&format!("GET /a/rather/long/path/{request}"));
        let at_ns = START_NS + u64::from(request);
        writer.push(&Record::Source {
            request,
            at_ns,
            name,
        })?;
    }
    Ok(writer.close())
}

fn newer(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes[..4096].to_vec();
    bytes[8] = 2;
    bytes
}

//! Each way in which a trace can be wrong, with the error it gives and the place it names.

use bobtail_trace::layout::{chunk, header, live};
use bobtail_trace::record::{LoopKind, LossKind, Ready, ReadyQuality, Record};
use bobtail_trace::{Damage, Detail, Header, OnDamage, TraceError, TraceReader, TraceWriter};

const START_NS: u64 = 1_000_000;
const STRINGS: usize = 4096;
const SLOTS: usize = STRINGS + 64;
const CHUNK: usize = 128;
/// First record of a slot.
const RECORDS: usize = SLOTS + chunk::HEADER_BYTES;

/// Three chunks with a loop event each, the last one open.
fn trace() -> Vec<u8> {
    let mut writer = TraceWriter::new(Header {
        version: 1,
        strings_bytes: 64,
        chunk_bytes: CHUNK as u32,
        ring_slots: 2,
        max_slots: 8,
        pid: 1,
        thread: 0,
        detail: Detail::Loop,
        start_ns: START_NS,
        start_realtime_ns: 0,
        node: "v26.0.0".to_owned(),
        arch: "arm64".to_owned(),
    })
    .unwrap();
    writer.intern("GET /");
    for event in 1..=3 {
        if event > 1 {
            writer.roll();
        }
        writer.push(&loop_begin(event)).unwrap();
    }
    writer.bytes().to_vec()
}

fn loop_begin(event: u32) -> Record {
    let begin_ns = START_NS + 100 * u64::from(event);
    let ready = Some(Ready {
        at_ns: begin_ns - 50,
        quality: ReadyQuality::Exact,
    });
    Record::LoopBegin {
        event,
        kind: LoopKind::Read,
        begin_ns,
        ready,
        handle: 1,
        op: 0,
        run_ns: 0,
    }
}

fn with(changes: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = trace();
    for (at, change) in changes {
        bytes[*at..*at + change.len()].copy_from_slice(change);
    }
    bytes
}

fn strict(bytes: &[u8]) -> Result<Vec<Record>, TraceError> {
    TraceReader::open(bytes, OnDamage::Fail)?.collect()
}

fn lenient(bytes: &[u8]) -> Vec<Record> {
    TraceReader::open(bytes, OnDamage::Skip)
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

fn lost(kind: LossKind, count: u64, events: u32) -> Record {
    Record::Loss {
        kind,
        count,
        events,
    }
}

#[test]
fn the_sound_trace_is_sound() {
    let expected: Vec<_> = (1..=3).map(loop_begin).collect();
    assert_eq!(strict(&trace()).unwrap(), expected);
    assert_eq!(lenient(&trace()), expected);
}

#[test]
fn a_header_that_is_wrong_names_field_and_value() {
    let cases: [(usize, u32, &str); 9] = [
        (header::VERSION, 0, "version"),
        (header::HEADER_BYTES, 8192, "header_bytes"),
        (header::STRINGS_BYTES, u32::MAX, "strings_bytes"),
        (header::CHUNK_BYTES, 120, "chunk_bytes"),
        (header::CHUNK_BYTES, 132, "chunk_bytes"),
        (header::RING_SLOTS, 0, "ring_slots"),
        (header::RING_SLOTS, 9, "ring_slots"),
        (header::MAX_SLOTS, u32::MAX, "max_slots"),
        (header::DETAIL, 2, "detail"),
    ];
    for (at, found, name) in cases {
        let error = strict(&with(&[(at, &found.to_le_bytes())])).unwrap_err();
        let expected = TraceError::Header {
            field: name,
            value: u64::from(found),
            offset: at as u64,
        };
        assert_eq!(error, expected);
        assert_eq!(error.code(), "BOBTAIL_TRACE_HEADER");
    }
}

#[test]
fn what_is_no_trace_or_a_newer_one_is_refused_by_name() {
    let error = strict(b"\x7fELF\x02\x01\x01\x00 and so on").unwrap_err();
    assert_eq!(error.code(), "BOBTAIL_TRACE_NOT_A_TRACE");
    assert_eq!(
        error.to_string(),
        "not a Bobtail trace: it starts with 7f 45 4c 46 02 01 01 00"
    );
    assert_eq!(
        strict(b"").unwrap_err(),
        TraceError::NotATrace { found: Vec::new() }
    );
    let error = strict(&with(&[(header::VERSION, &[7])])[..100]).unwrap_err();
    assert_eq!(
        error,
        TraceError::Newer {
            found: 7,
            newest: 1
        }
    );
    assert_eq!(error.code(), "BOBTAIL_TRACE_NEWER");
    let error = strict(&trace()[..100]).unwrap_err();
    assert_eq!(
        error,
        TraceError::Truncated {
            offset: 100,
            inside: "the header"
        }
    );
}

#[test]
fn a_damaged_string_table_is_an_error_or_shorter() {
    let used = live::byte_offset(live::STRINGS_USED);
    let cases: [(usize, &[u8], Damage, usize); 3] = [
        (
            used,
            &[65],
            Damage::Range {
                field: "strings_used",
                value: 65,
            },
            used,
        ),
        (STRINGS + 8, &[100], Damage::End, STRINGS + 8),
        (STRINGS + 9, &[0xff], Damage::Utf8(2), STRINGS + 8),
    ];
    for (at, change, damage, offset) in cases {
        let bytes = with(&[(at, change)]);
        let error = strict(&bytes).unwrap_err();
        assert_eq!(
            error,
            TraceError::Strings {
                damage,
                offset: offset as u64
            }
        );
        let reader = TraceReader::open(&bytes[..], OnDamage::Skip).unwrap();
        assert_eq!(reader.strings().get(1), Some("(other)"));
    }
}

/// Bytes that are no record, and what is wrong with them.
fn damaged_records() -> [(&'static [u8], Damage); 20] {
    let range = |field, value| Damage::Range { field, value };
    [
        (&[0], Damage::Tag(0)),
        (&[18], Damage::Tag(18)),
        (&[0x87, 0, 1, 1], Damage::Tag(0x87)),
        (&[0x51, 0, 0, 0, 0], Damage::Tag(0x51)),
        (&[16, 0, 0x80, 0x80, 0x80, 1], range("span", 1 << 21)),
        (
            &[17, 0, 0x80, 0x80, 0x80, 1, 0, 0],
            range("time - end", 1 << 21),
        ),
        (
            &[17, 0, 0, 0x80, 0x80, 0x80, 1, 0],
            range("duration", 1 << 21),
        ),
        (
            &[17, 0, 0, 0, 2],
            Damage::Code {
                field: "cause",
                value: 2,
            },
        ),
        (&[0x42, 0], Damage::Tag(0x42)),
        (&[0x84, 0], Damage::Tag(0x84)),
        (&[0x86, 0, 1, 1, 0], Damage::Tag(0x86)),
        (
            &[2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
            Damage::Varint,
        ),
        (
            &[2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
            range("dt", u64::MAX),
        ),
        (
            &[1, 0, 99],
            Damage::Code {
                field: "loop kind",
                value: 99,
            },
        ),
        (
            &[9, 0, 0x80, 0x80, 0x80, 0x80, 0x10],
            range("handle", 1 << 32),
        ),
        (&[0x83, 1, 0], range("registrar", 0)),
        (&[0x83, 1, 3], range("registrar", 3)),
        (&[4, 4], range("last event - event resumed", 4)),
        (&[12, 0, 0x80, 0x80, 0x80, 1, 4], range("duration", 1 << 21)),
        (
            &[0x41, 0, 1, 0, 0x80, 0x80, 0x80, 1, 0],
            range("begin - ready", 1 << 21),
        ),
    ]
}

#[test]
fn a_damaged_record_names_its_offset_and_value() {
    for (record, damage) in damaged_records() {
        let at = RECORDS + CHUNK;
        let mut bytes = with(&[(at, record)]);
        let second = SLOTS + CHUNK + chunk::USED_BYTES;
        bytes[second] = (chunk::HEADER_BYTES + record.len()) as u8;
        // The second chunk starts after event 1; let it be 2.
        bytes[SLOTS + CHUNK + chunk::FIRST_EVENT] = 2;
        let error = strict(&bytes).unwrap_err();
        let expected = TraceError::Damaged {
            chunk: 2,
            offset: at as u64,
            damage,
        };
        assert_eq!(error, expected, "{record:02x?}");
        assert_eq!(error.code(), "BOBTAIL_TRACE_DAMAGED");
        let resumed = Record::Resume {
            event: 2,
            at_ns: None,
        };
        let found = lenient(&bytes);
        assert_eq!(found.first(), Some(&loop_begin(1)));
        assert!(found.contains(&lost(LossKind::Damaged, 1, 0)), "{found:?}");
        assert!(found.contains(&resumed), "{found:?}");
        assert_eq!(found.last(), Some(&loop_begin(3)));
    }
}

#[test]
fn a_record_may_not_run_past_the_used_bytes() {
    let bytes = with(&[(SLOTS + CHUNK + chunk::USED_BYTES, &[66])]);
    let offset = (RECORDS + CHUNK) as u64;
    let expected = TraceError::Damaged {
        chunk: 2,
        offset,
        damage: Damage::End,
    };
    assert_eq!(strict(&bytes).unwrap_err(), expected);
}

#[test]
fn a_damaged_chunk_header_names_the_chunk() {
    let slot = SLOTS + CHUNK;
    let nan = f64::NAN.to_bits();
    let range = |field, value| Damage::Range { field, value };
    let bits = |value: f64| range("base_ns bits", value.to_bits());
    let cases: [(usize, &[u8], Damage); 9] = [
        (chunk::MAGIC, b"CHNX", Damage::Magic(0x584e_4843)),
        (chunk::USED_BYTES, &[63], range("used_bytes", 63)),
        (chunk::USED_BYTES, &[129], range("used_bytes", 129)),
        (chunk::USED_BYTES, &[0], Damage::Unsealed),
        (
            chunk::BASE_NS,
            &nan.to_le_bytes(),
            range("base_ns bits", nan),
        ),
        (chunk::BASE_NS, &(-1f64).to_le_bytes(), bits(-1.0)),
        (chunk::BASE_NS, &0.5f64.to_le_bytes(), bits(0.5)),
        (chunk::BASE_NS, &99f64.to_le_bytes(), range("base_ns", 99)),
        (chunk::FIRST_EVENT, &[0], range("first_event", 0)),
    ];
    for (at, change, damage) in cases {
        let bytes = with(&[(slot + at, change)]);
        let expected = TraceError::Damaged {
            chunk: 2,
            offset: slot as u64,
            damage,
        };
        assert_eq!(strict(&bytes).unwrap_err(), expected);
    }
    let found = lenient(&with(&[(slot + chunk::MAGIC, b"CHNX")]));
    let resumed = Record::Resume {
        event: 2,
        at_ns: None,
    };
    let expected = [
        loop_begin(1),
        lost(LossKind::Damaged, 1, 1),
        resumed,
        loop_begin(3),
    ];
    assert_eq!(found, expected);
}

#[test]
fn two_slots_with_one_number_are_damage() {
    let slot = SLOTS + CHUNK;
    let bytes = with(&[(slot + chunk::NUMBER, &[1])]);
    let expected = TraceError::Damaged {
        chunk: 1,
        offset: slot as u64,
        damage: Damage::Twice,
    };
    assert_eq!(strict(&bytes).unwrap_err(), expected);
    let found = lenient(&bytes);
    let resumed = Record::Resume {
        event: 2,
        at_ns: None,
    };
    let expected = [
        loop_begin(1),
        lost(LossKind::Damaged, 1, 1),
        resumed,
        loop_begin(3),
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_position_of_the_open_chunk_is_checked() {
    let position = live::byte_offset(live::POSITION);
    let last = SLOTS + 2 * CHUNK;
    for value in [63u32, 129] {
        let bytes = with(&[(position, &value.to_le_bytes())]);
        let damage = Damage::Range {
            field: "used_bytes",
            value: u64::from(value),
        };
        let expected = TraceError::Damaged {
            chunk: 3,
            offset: last as u64,
            damage,
        };
        assert_eq!(strict(&bytes).unwrap_err(), expected);
    }
}

#[test]
fn chunks_missing_at_the_end_are_told() {
    let bytes = &trace()[..SLOTS + CHUNK];
    let expected = [loop_begin(1), lost(LossKind::Damaged, 1, 2)];
    assert_eq!(strict(bytes).unwrap(), expected);
    let starved = live::byte_offset(live::LOSSES);
    let bytes = &with(&[(starved, &[5])])[..SLOTS + CHUNK];
    assert_eq!(strict(bytes).unwrap()[1], lost(LossKind::NoChunk, 2, 2));
    // A killed writer may be one number ahead of its records.
    assert_eq!(strict(&trace()[..SLOTS + 2 * CHUNK]).unwrap().len(), 2);
    let closed = with(&[(live::byte_offset(live::STATE), &[1])]);
    assert_eq!(
        strict(&closed[..SLOTS + 2 * CHUNK]).unwrap()[2],
        lost(LossKind::Damaged, 1, 1)
    );
}

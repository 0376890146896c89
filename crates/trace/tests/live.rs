//! Reading while a writer goes on, and reading what it leaves when it is killed.

mod support;

use std::cell::RefCell;

use bobtail_trace::encode;
use bobtail_trace::layout::{HEADER_BYTES, MAX_RECORD_BYTES, chunk, live};
use bobtail_trace::record::{LoopKind, LossKind, Record};
use bobtail_trace::{OnDamage, ReadAt, ReadError, TraceError, TraceReader, TraceWriter};
use support::{START_NS, header};

/// A file that a writer still appends to.
struct Growing(RefCell<TraceWriter>);

impl ReadAt for Growing {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
        self.0.borrow().bytes().read_at(offset, buf)
    }
}

impl Growing {
    fn write(&self, events: std::ops::RangeInclusive<u32>) {
        for event in events {
            self.0.borrow_mut().push(&loop_begin(event)).unwrap();
        }
    }
}

fn loop_begin(event: u32) -> Record {
    let begin_ns = START_NS + 10 * u64::from(event);
    let kind = LoopKind::Async;
    Record::LoopBegin {
        event,
        kind,
        begin_ns,
        ready: None,
        handle: 0,
        op: 0,
        run_ns: 0,
    }
}

fn growing(max_slots: u32) -> Growing {
    Growing(RefCell::new(
        TraceWriter::new(header(128, 2, max_slots)).unwrap(),
    ))
}

#[test]
fn every_moment_of_a_writer_is_a_trace() {
    let file = growing(1000);
    for event in 1..=100 {
        file.write(event..=event);
        let reader = TraceReader::open(&file, OnDamage::Fail).unwrap();
        let found: Result<Vec<_>, _> = reader.collect();
        assert_eq!(
            found.unwrap(),
            (1..=event).map(loop_begin).collect::<Vec<_>>()
        );
    }
}

#[test]
fn what_is_written_after_opening_does_not_disturb() {
    let file = growing(1000);
    file.write(1..=50);
    let mut reader = TraceReader::open(&file, OnDamage::Fail).unwrap();
    assert_eq!(reader.next_record(), Ok(Some(loop_begin(1))));
    file.write(51..=90);
    file.0.borrow_mut().intern("late");
    let found: Vec<_> = reader.by_ref().map(Result::unwrap).collect();
    assert_eq!(
        found,
        (2..).map(loop_begin).take(found.len()).collect::<Vec<_>>()
    );
    assert!(found.len() >= 49);
    assert_eq!(reader.strings().get(2), None);
    reader.refresh().unwrap();
    assert_eq!(reader.strings().get(2), Some("late"));
    assert_eq!(reader.live().event(), 90);
}

#[test]
fn chunks_recycled_while_reading_are_a_loss() {
    let file = growing(4);
    file.write(1..=4);
    let mut reader = TraceReader::open(&file, OnDamage::Fail).unwrap();
    assert_eq!(reader.chunks(), 4);
    assert_eq!(reader.next_record(), Ok(Some(loop_begin(1))));
    file.write(5..=80);
    let found: Vec<_> = reader.map(Result::unwrap).collect();
    assert_eq!(
        found,
        [Record::Loss {
            kind: LossKind::Overwritten,
            count: 3,
            events: 3
        }]
    );
}

#[test]
fn a_chunk_recycled_before_it_was_reached_is_told_once() {
    let file = growing(4);
    file.write(1..=4);
    let reader = TraceReader::open(&file, OnDamage::Fail).unwrap();
    file.write(5..=5);
    let found: Vec<_> = reader.map(Result::unwrap).collect();
    let lost = Record::Loss {
        kind: LossKind::Overwritten,
        count: 1,
        events: 1,
    };
    let resumed = Record::Resume {
        event: 1,
        at_ns: None,
    };
    assert_eq!(
        found,
        [lost, resumed, loop_begin(2), loop_begin(3), loop_begin(4)]
    );
}

#[test]
fn a_chunk_recycled_while_its_bytes_are_read_is_not_mixed_with_the_next() {
    /// Recycles every slot after the first bytes of records were read.
    struct Racing(Growing);
    impl ReadAt for Racing {
        fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
            let got = self.0.read_at(offset, buf)?;
            let slots = self.0.0.borrow().bytes().len() as u64 - 4 * 128;
            if offset >= slots && buf.len() > 64 && self.0.0.borrow().bytes()[1032] == 4 {
                self.0.write(5..=8);
            }
            Ok(got)
        }
    }
    let file = growing(4);
    file.write(1..=4);
    let reader = TraceReader::open(Racing(file), OnDamage::Fail).unwrap();
    let found: Vec<_> = reader.map(Result::unwrap).collect();
    assert_eq!(
        found,
        [Record::Loss {
            kind: LossKind::Overwritten,
            count: 4,
            events: 4
        }]
    );
}

#[test]
fn a_place_that_cannot_be_read_is_an_error_once() {
    struct Failing(Vec<u8>);
    impl ReadAt for Failing {
        fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ReadError> {
            if buf.len() > 64 && offset > 4096 {
                return Err(ReadError {
                    message: "input/output error".to_owned(),
                });
            }
            self.0.read_at(offset, buf)
        }
    }
    let file = growing(4);
    file.write(1..=40);
    let bytes = file.0.borrow().bytes().to_vec();
    for on_damage in [OnDamage::Fail, OnDamage::Skip] {
        let mut reader = TraceReader::open(Failing(bytes.clone()), on_damage).unwrap();
        let error = reader.next_record().unwrap_err();
        assert!(matches!(error, TraceError::Read { .. }), "{error}");
        assert_eq!(error.code(), "BOBTAIL_TRACE_READ");
        assert_eq!(reader.next_record(), Ok(None));
    }
}

#[test]
fn the_state_of_the_stream_follows_the_records() {
    let mut writer = TraceWriter::new(header(128, 2, 8)).unwrap();
    writer.push(&loop_begin(1)).unwrap();
    writer.roll();
    writer
        .push(&Record::LoopEnd {
            end_ns: START_NS + 20,
        })
        .unwrap();
    let mut reader = TraceReader::open(writer.bytes(), OnDamage::Fail).unwrap();
    reader.next_record().unwrap();
    assert_eq!((reader.current_event(), reader.state().loop_event), (1, 1));
    reader.next_record().unwrap();
    assert_eq!((reader.current_event(), reader.state().loop_event), (0, 0));
    assert_eq!(reader.state().last_ns, START_NS + 20);
}

#[test]
fn a_work_that_is_written_anew_ends_what_can_be_read() {
    let mut writer = TraceWriter::new(header(128, 2, 4)).unwrap();
    writer.push(&loop_begin(1)).unwrap();
    let work = Record::Work {
        end_ns: START_NS + 50_000,
        span_ns: 9_000,
        jit_ns: 0,
        ic_ns: 8_000,
    };
    writer.push(&work).unwrap();
    let position = live::byte_offset(live::POSITION);
    let mut bytes = writer.bytes().to_vec();
    for shorter in 1..8 {
        // Its end as it was before more was added to it.
        bytes[position] = writer.bytes()[position] - shorter;
        let reader = TraceReader::open(&bytes[..], OnDamage::Fail).unwrap();
        let found: Result<Vec<_>, _> = reader.collect();
        assert_eq!(found.unwrap(), [loop_begin(1)], "{shorter} bytes less");
    }
    // A sealed chunk is never written again.
    let mut sealed = writer.close();
    sealed[position] -= 2;
    let used = HEADER_BYTES + header(128, 2, 4).strings_bytes as usize + chunk::USED_BYTES;
    sealed[used] -= 2;
    let reader = TraceReader::open(&sealed[..], OnDamage::Fail).unwrap();
    assert!(reader.last().is_some_and(|record| record.is_err()));
}

/// A trace that ends with one more record, of these bytes.
fn ends_with(record: &[u8]) -> Vec<u8> {
    let header = header(128, 2, 4);
    let mut writer = TraceWriter::new(header.clone()).unwrap();
    writer.push(&loop_begin(1)).unwrap();
    let mut bytes = writer.bytes().to_vec();
    let word = live::byte_offset(live::POSITION);
    let position = usize::from(bytes[word]);
    let at = HEADER_BYTES + header.strings_bytes as usize + position;
    bytes[at..at + record.len()].copy_from_slice(record);
    bytes[word] += record.len() as u8;
    bytes
}

/// Reads a WORK with these bytes, behind a record of 10 ns after the start: time since that
/// record, span, compilation and inline-cache misses.
fn read_work(record: &[u8]) -> [u64; 4] {
    let bytes = ends_with(record);
    let reader = TraceReader::open(&bytes[..], OnDamage::Fail).unwrap();
    match reader.last() {
        Some(Ok(Record::Work {
            end_ns,
            span_ns,
            jit_ns,
            ic_ns,
        })) => [end_ns - START_NS - 10, span_ns, jit_ns, ic_ns],
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_work_grows_in_its_place() {
    let mut out = [0; MAX_RECORD_BYTES];
    let mut before = [0; 4];
    for bits in 0..=21 {
        // Each of another width, and no bit always set.
        let number = |step: u32| ((1_u64 << bits) - 1) >> step & !u64::from(step << 3);
        let numbers = [number(0) << 7, number(0), number(1), number(2)];
        let [dt_ns, span_ns, jit_ns, ic_ns] = numbers;
        let old = out;
        let encoded = encode::growing_work(&mut out, 10, 10 + dt_ns, span_ns, jit_ns, ic_ns);
        let encoded = encoded.expect("fits");
        assert_eq!(encoded.bytes, encode::GROWING_WORK_BYTES);
        assert_eq!(encoded.last_ns, 10 + dt_ns);
        assert_eq!(read_work(&out[..encoded.bytes]), numbers);
        if bits > 0 {
            // Killed between its two stores.
            let torn = [&out[..8], &old[8..encoded.bytes]].concat();
            assert_eq!(read_work(&torn), [dt_ns, span_ns, before[2], before[3]]);
        }
        before = numbers;
    }
}

#[test]
fn a_work_that_is_too_large_to_grow_is_left_as_it_was() {
    let mut out = [7; MAX_RECORD_BYTES];
    let mut grow = |numbers: [u64; 4]| {
        let [dt_ns, span_ns, jit_ns, ic_ns] = numbers;
        let encoded = encode::growing_work(&mut out, 10, 10 + dt_ns, span_ns, jit_ns, ic_ns);
        (encoded.is_some(), out[0] != 7)
    };
    for index in 0..4 {
        let mut numbers = [0; 4];
        numbers[index] = if index == 0 { 1 << 28 } else { 1 << 21 };
        assert_eq!(grow(numbers), (false, false), "{numbers:?}");
        numbers[index] -= 1;
        numbers[(index + 1) % 4] = u64::from(u32::MAX);
        assert_eq!(grow(numbers), (false, false), "{numbers:?}");
    }
    assert_eq!(grow([(1 << 28) - 1, 0, 0, (1 << 21) - 1]), (true, true));
}

//! The bytes of records where the format leaves room for mistakes.

use bobtail_trace::encode::{
    Gc, LoopBegin, gc, loop_begin, loop_end, loss, register, resume, sink,
};
use bobtail_trace::layout::{MAX_RECORD_BYTES, tag};
use bobtail_trace::record::{CodePlace, GcCause, LoopKind, LossKind, ReadyQuality};

#[test]
fn longest_records_fit_the_window() {
    let mut out = [0; MAX_RECORD_BYTES];
    let begin = LoopBegin {
        kind: LoopKind::Pool,
        begin_ns: u64::MAX,
        ready: Some((0, ReadyQuality::Estimate)),
        handle: u32::MAX,
        op: u32::MAX,
        run_ns: u64::MAX,
    };
    let collection = Gc {
        duration_ns: u64::MAX,
        kind: u32::MAX,
        cause: GcCause::Everything,
        caller: CodePlace {
            function: u32::MAX,
            file: u32::MAX,
            line: u32::MAX,
            column: u32::MAX,
        },
    };
    let longest = [
        loop_begin(&mut out, 0, &begin).bytes,
        register(
            &mut out,
            0,
            u64::MAX / 2,
            u32::MAX,
            LoopKind::Close,
            u32::MAX,
            Some(u64::MAX),
        )
        .bytes,
        sink(&mut out, 0, u64::MAX, u32::MAX, u32::MAX, u32::MAX).bytes,
        gc(&mut out, 0, u64::MAX, &collection).bytes,
        loss(&mut out, 0, LossKind::Damaged, u64::MAX, u32::MAX).bytes,
    ];
    assert_eq!(longest[0], 43);
    assert_eq!(longest.iter().max(), Some(&47), "{longest:?}");
}

#[test]
fn a_time_before_the_last_is_the_last() {
    let mut out = [0; MAX_RECORD_BYTES];
    let encoded = loop_end(&mut out, 500, 400);
    assert_eq!((encoded.bytes, encoded.last_ns), (2, 500));
    assert_eq!(out[..2], [tag::LOOP_END, 0]);
}

#[test]
fn ready_is_measured_from_the_begin_as_written() {
    let mut out = [0; MAX_RECORD_BYTES];
    let begin = LoopBegin {
        kind: LoopKind::Read,
        begin_ns: 400,
        ready: Some((450, ReadyQuality::Exact)),
        handle: 7,
        op: 0,
        run_ns: 9,
    };
    let encoded = loop_begin(&mut out, 500, &begin);
    assert_eq!(
        out[..encoded.bytes],
        [tag::LOOP_BEGIN | tag::FLAG_A, 0, 1, 7, 50, 0]
    );
}

#[test]
fn resume_of_no_event_has_its_own_code() {
    let mut out = [0; MAX_RECORD_BYTES];
    let encoded = resume(&mut out, 0, 9, 0, None);
    assert_eq!(
        out[..encoded.bytes],
        [tag::RESUME, 0xff, 0xff, 0xff, 0xff, 0x0f]
    );
    let encoded = resume(&mut out, 0, 9, 7, None);
    assert_eq!(out[..encoded.bytes], [tag::RESUME, 2]);
}

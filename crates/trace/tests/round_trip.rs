//! Whatever a writer lays out, a reader gives back; whatever is cut off or flipped, it survives.

#[path = "support/plan.rs"]
mod plan;
mod support;

use bobtail_trace::record::{LossKind, Record};
use bobtail_trace::{OnDamage, TraceError, TraceReader, TraceWriter};
use plan::{Step, records};
use proptest::prelude::*;
use support::header;

fn steps(count: usize) -> impl Strategy<Value = Vec<Step>> {
    let wide = prop_oneof![0..200u64, 0..1u64 << 40];
    let number = prop_oneof![0..200u32, any::<u32>()];
    let step = (
        any::<u8>(),
        wide.clone(),
        number.clone(),
        number,
        wide,
        any::<bool>(),
    )
        .prop_map(|(kind, dt, a, b, wide, flag)| Step {
            kind,
            dt,
            a,
            b,
            wide,
            flag,
        });
    proptest::collection::vec(step, 0..count)
}

fn write(records: &[Record], chunk_bytes: u32, ring_slots: u32, max_slots: u32) -> TraceWriter {
    let mut writer = TraceWriter::new(header(chunk_bytes, ring_slots, max_slots)).unwrap();
    for record in records {
        writer.push(record).unwrap();
    }
    writer
}

fn read(bytes: &[u8], on_damage: OnDamage) -> Result<Vec<Record>, TraceError> {
    TraceReader::open(bytes, on_damage)?.collect()
}

fn count_events(records: &[Record]) -> usize {
    let opens =
        |record: &&Record| matches!(record, Record::LoopBegin { .. } | Record::Micro { .. });
    records.iter().filter(opens).count()
}

proptest! {
    #[test]
    fn what_is_written_is_read(plan in steps(300), words in 16u32..64, ring in 1u32..5) {
        let expected = records(&plan);
        let writer = write(&expected, words * 8, ring, 1000);
        prop_assert_eq!(&read(writer.bytes(), OnDamage::Fail).unwrap(), &expected);
        prop_assert_eq!(&read(&writer.close(), OnDamage::Skip).unwrap(), &expected);
    }

    #[test]
    fn a_recycled_trace_gives_its_end_and_tells_the_rest(
        plan in steps(400),
        ring in 1u32..3,
        more in 0u32..3,
    ) {
        let expected = records(&plan);
        let bytes = write(&expected, 256, ring, ring + more).close();
        let mut reader = TraceReader::open(&bytes[..], OnDamage::Fail).unwrap();
        let mut found = reader.by_ref().collect::<Result<Vec<_>, _>>().unwrap();
        let chunks = reader.chunk_number();
        let kept = u64::from(ring + more).min(chunks);
        if chunks > kept {
            let Record::Loss { kind, count, .. } = found.remove(0) else { panic!("no loss") };
            prop_assert_eq!((kind, count), (LossKind::Overwritten, chunks - kept));
            let told = |record: &Record| matches!(record, Record::Loss { .. });
            if let Some(first) = found.iter().position(|record| !told(record)) {
                let resumed = matches!(found.remove(first), Record::Resume { at_ns: None, .. });
                prop_assert!(resumed);
            }
        }
        prop_assert_eq!(&found[..], &expected[expected.len() - found.len()..]);
    }

    #[test]
    fn a_cut_trace_gives_a_prefix_or_an_error(plan in steps(100), cut in any::<u32>()) {
        let expected = records(&plan);
        let bytes = write(&expected, 256, 2, 1000).close();
        let cut = cut as usize % (bytes.len() + 1);
        for on_damage in [OnDamage::Fail, OnDamage::Skip] {
            let Ok(found) = read(&bytes[..cut], on_damage) else { continue };
            let kept = found.iter().zip(&expected).take_while(|(a, b)| a == b).count();
            prop_assert!(found.len() - kept <= 1, "{:?}", &found[kept..]);
            let told = matches!(found[kept..], [Record::Loss { kind: LossKind::Damaged, .. }]);
            prop_assert!(told || count_events(&found) == count_events(&expected));
        }
    }

    #[test]
    fn a_rewound_reader_gives_the_same_again(plan in steps(200)) {
        let bytes = write(&records(&plan), 256, 2, 3).close();
        let mut reader = TraceReader::open(&bytes[..], OnDamage::Fail).unwrap();
        let first: Vec<_> = reader.by_ref().collect();
        reader.rewind();
        prop_assert_eq!(first, reader.collect::<Vec<_>>());
    }
}

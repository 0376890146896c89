//! The same recording under the same changes gives the same answer on every machine: an answer that
//! was written on one is read on all.
//!
//! After a change that is meant: `BOBTAIL_GOLDEN=write cargo test -p bobtail-sim --test golden`.

use std::fs;
use std::path::Path;

use bobtail_sim::{Capture, Components, Coverage, Model, Telling, parse, what_if};
use bobtail_testkit::{Shape, Simulation};

/// Of a trace that is replayed as it grew.
const SEED: u64 = 1;
const CHANGES: [&str; 10] = [
    "gc=0.7,rate=1.1",
    "policy=static:3.3",
    "policy=gc-boost:worth=0",
    "policy=queue-boost:window=16",
    "policy=combined:window=16",
    "policy=deadline",
    "policy=rubik",
    "policy=adrenaline:tail=95,types=2",
    "policy=oracle:energy=1.05",
    "policy=gci:collections=all",
];

/// Of loops that have one lever together, or one each.
const OF_TWO_LOOPS: [&str; 3] = [
    "policy=combined:window=16",
    "domain=shared,policy=combined:window=16",
    "domain=shared,policy=oracle:energy=1.5,tail=99",
];

#[test]
fn an_answer_is_the_same_on_every_machine() {
    is_as_written("answer.txt", &[SEED], 60_000, &CHANGES);
}

#[test]
fn an_answer_of_two_loops_is_the_same_on_every_machine() {
    is_as_written("two-loops.txt", &[SEED, SEED + 1], 20_000, &OF_TWO_LOOPS);
}

/// The answer of loops that grow from these seeds, each to so many records.
fn is_as_written(file: &str, seeds: &[u64], records: usize, changes: &[&str]) {
    let mut components = Components::new();
    let grown = |seed: &u64| loop_of(*seed, records, &mut components);
    let (models, coverages): (Vec<Model>, Vec<Coverage>) = seeds.iter().map(grown).unzip();
    let scenarios: Vec<_> = changes
        .iter()
        .map(|text| {
            let scenario = parse(text, &components).expect("a change");
            ((*text).to_owned(), scenario)
        })
        .collect();
    let telling = Telling {
        tail: 99.9,
        latencies: false,
    };
    let coverage = coverages.into_iter().sum();
    let answer = what_if(&models, &coverage, &components, &scenarios, telling).expect("an answer");
    let told = serde_json::to_string_pretty(&answer).expect("JSON") + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(file);
    if std::env::var_os("BOBTAIL_GOLDEN").is_some() {
        fs::write(&path, &told).expect("it can be written");
    }
    let known = fs::read_to_string(&path).expect("it is there");
    let differs = known.lines().zip(told.lines()).find(|(a, b)| a != b);
    assert_eq!(differs, None);
    assert_eq!(known.len(), told.len());
}

fn loop_of(seed: u64, records: usize, components: &mut Components) -> (Model, Coverage) {
    let mut simulation = Simulation::new(seed, Shape::whole());
    let mut capture = Capture::new(None);
    for record in simulation.by_ref().take(records) {
        capture.push(record);
    }
    let log = capture.finish().expect("nothing is lost");
    let names = simulation.strings();
    let name = |id: u32| Some(names.get((id as usize).checked_sub(1)?)?.as_str());
    let model = Model::of(&log, name, components).expect("it has requests");
    (model, Coverage::of(&log))
}

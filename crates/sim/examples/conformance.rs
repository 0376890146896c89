//! Replays traces without a change and shows how far that is from what was recorded, and how fast.
//!
//! `cargo run --release -p bobtail-sim --example conformance -- FILE.trace …`

#![allow(
    clippy::print_stdout,
    reason = "an example that prints what it measured"
)]

use std::time::Instant;

use bobtail_sim::{Capture, Components, Coverage, Model, Scenario, replay};
use bobtail_trace::{OnDamage, TraceReader};

const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];

fn main() {
    println!(
        "trace | requests | events | off at p50 p99 p99.9 | requests moved > 2 % | requests/s"
    );
    for path in std::env::args().skip(1) {
        match line(&path) {
            Ok(line) => println!("{line}"),
            Err(error) => println!("{path}: {error}"),
        }
    }
}

fn line(path: &str) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let reader = TraceReader::open(bytes, OnDamage::Skip).map_err(|error| error.to_string())?;
    let strings = reader.strings().clone();
    let mut capture = Capture::new(None);
    for record in reader {
        capture.push(record.map_err(|error| error.to_string())?);
    }
    let log = capture.finish().map_err(|error| error.to_string())?;
    Coverage::of(&log)
        .check()
        .map_err(|error| error.to_string())?;
    let mut components = Components::new();
    let model = Model::of(&log, |id| strings.get(id), &mut components);
    let model = model.map_err(|error| error.to_string())?;
    let begin = Instant::now();
    let replayed = replay(&model, &Scenario::unchanged(), &components);
    let took = begin.elapsed();
    let mut recorded: Vec<u64> = model.recorded_ns().collect();
    let moved = recorded.iter().zip(&replayed.latencies_ns);
    let moved = moved.filter(|(a, b)| a.abs_diff(**b) * 50 > **a).count();
    let mut latencies = replayed.latencies_ns;
    let off = PERCENTILES.map(|percentile| {
        let [a, b] = [&mut recorded, &mut latencies].map(|all| at(all, percentile));
        format!("{:+.3} %", (b as f64 / a as f64 - 1.0) * 100.0)
    });
    let per_s = model.requests() as f64 / took.as_secs_f64();
    Ok(format!(
        "{path} | {} | {} | {} | {moved} | {per_s:.0} | loop {:.2} pool {:.2} of {}",
        recorded.len(),
        model.events(),
        off.join(" "),
        replayed.loop_use,
        replayed.pool_use,
        model.pool_threads(),
    ))
}

fn at(all: &mut [u64], percentile: f64) -> u64 {
    all.sort_unstable();
    let rank = (all.len() as f64 * percentile / 100.0 - 1e-6).ceil() as usize;
    all[rank.clamp(1, all.len()) - 1]
}

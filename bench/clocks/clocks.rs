//! What one reading of each clock takes in native code; `run.mjs` builds and runs it.
//!
//! Plain `rustc` and no crate, so that nothing of the probe's build is measured with it.

use std::arch::x86_64::_rdtsc;
use std::hint::black_box;
use std::time::Instant;

const READINGS: u32 = 2_000_000;
const ROUNDS: usize = 25;

/// Median over the rounds, in ns a reading.
fn median_ns(mut read: impl FnMut()) -> f64 {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            for _ in 0..READINGS {
                read();
            }
            begin.elapsed().as_secs_f64() * 1e9 / f64::from(READINGS)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

fn main() {
    let monotonic = median_ns(|| {
        black_box(Instant::now());
    });
    let counter = median_ns(|| {
        // SAFETY: reads the processor's counter, which every x86-64 has.
        black_box(unsafe { _rdtsc() });
    });
    println!("native: clock_gettime(CLOCK_MONOTONIC) {monotonic:.1} ns, counter {counter:.1} ns");
}

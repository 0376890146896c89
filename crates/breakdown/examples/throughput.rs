//! Measures how many events per second both passes take, on a grown trace.
//!
//! `cargo run --release -p bobtail-breakdown --example throughput [events]`
//! The trace is grown in batches outside the measured time, so that only graph and breakdown count.

#![allow(
    clippy::print_stdout,
    reason = "an example that prints what it measured"
)]

#[allow(
    dead_code,
    reason = "shared with the other example, which asks for the strings"
)]
mod grown;

use std::convert::Infallible;
use std::time::{Duration, Instant};

use bobtail_breakdown::{Aggregate, Population, RunFacts, TraceInfo, aggregate, report, survey};
use bobtail_trace::record::Record;

use crate::grown::Grown;

const BATCH: usize = 1 << 15;

/// Hands on a grown trace and keeps the time of growing it apart.
struct Timed {
    grown: Grown,
    batch: std::vec::IntoIter<Record>,
    events_left: u64,
    growing: Duration,
    records: u64,
}

impl Timed {
    fn new(events: u64) -> Self {
        Self {
            grown: Grown::new(),
            batch: Vec::new().into_iter(),
            events_left: events,
            growing: Duration::ZERO,
            records: 0,
        }
    }

    fn refill(&mut self) {
        let start = Instant::now();
        let batch: Vec<_> = self.grown.by_ref().take(BATCH).collect();
        let event = |r: &&Record| matches!(r, Record::LoopBegin { .. } | Record::Micro { .. });
        let events = batch.iter().filter(event).count() as u64;
        self.records += batch.len() as u64;
        self.events_left = self.events_left.saturating_sub(events);
        self.batch = batch.into_iter();
        self.growing += start.elapsed();
    }
}

impl Iterator for &mut Timed {
    type Item = Result<Record, Infallible>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.batch.len() == 0 && self.events_left > 0 {
            self.refill();
        }
        self.batch.next().map(Ok)
    }
}

fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find(|l| l.starts_with("VmHWM"))
        .unwrap_or_default();
    line.split_whitespace()
        .nth(1)
        .and_then(|kib| kib.parse::<u64>().ok())
        .unwrap_or(0)
        / 1024
}

fn main() {
    let events: u64 = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(20_000_000);
    let told = |what: &str, took: Duration| {
        let rate = events as f64 / took.as_secs_f64() / 1e6;
        println!(
            "{what:<10} {:>6.2} s  {rate:>6.1} million events/s",
            took.as_secs_f64()
        );
    };

    let mut trace = Timed::new(events);
    let start = Instant::now();
    let Ok(surveyed) = survey(&TraceInfo::default(), &mut trace, 100);
    let first = start.elapsed() - trace.growing;
    told("survey", first);

    let surveys = [surveyed];
    let population = Population::of(&surveys, 99.9);
    let mut trace = Timed::new(events);
    let strings: Vec<String> = Vec::new();
    let mut sums = Aggregate::new();
    let start = Instant::now();
    let Ok(()) = aggregate(&mut sums, &mut trace, &strings, &surveys[0], &population);
    let second = start.elapsed() - trace.growing;
    told("aggregate", second);
    told("both", first + second);

    let report = report(RunFacts::default(), &surveys, &population, &sums);
    let requests = &report.requests;
    println!(
        "{events} events, {} records, {} requests, {} truncated, p99.9 {:?} ns, peak {} MiB",
        trace.records,
        requests.count,
        requests.truncated,
        requests.percentiles_ns.get("99.9"),
        resident_mib(),
    );
}

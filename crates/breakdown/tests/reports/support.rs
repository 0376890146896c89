//! The whole pipeline over traces in memory.

use std::collections::BTreeSet;
use std::convert::Infallible;

use bobtail_breakdown::{
    Aggregate, Explain, Population, Report, RunFacts, Survey, TraceInfo, aggregate, explain,
    report, slowest, survey,
};
use bobtail_testkit::{Drawn, Shape, Simulation, draw};
use bobtail_trace::record::Record;

pub fn records(drawn: &Drawn) -> impl Iterator<Item = Result<Record, Infallible>> {
    drawn.records.iter().copied().map(Ok)
}

pub fn grown(seed: u64, shape: Shape, count: usize) -> Drawn {
    let mut simulation = Simulation::new(seed, shape);
    let records = simulation.by_ref().take(count).collect();
    Drawn {
        records,
        strings: simulation.strings().to_vec(),
    }
}

pub fn trace_info(index: usize) -> TraceInfo {
    let pid = 100 + index as u32;
    TraceInfo {
        pid,
        node: "v24.21.0".into(),
        ..TraceInfo::default()
    }
}

pub fn surveys(traces: &[Drawn]) -> Vec<Survey> {
    let one = |(index, drawn): (usize, &Drawn)| survey(&trace_info(index), records(drawn), 10);
    traces
        .iter()
        .enumerate()
        .map(one)
        .collect::<Result<_, _>>()
        .expect("infallible")
}

/// The report on some traces, for the tail at a percentile.
pub fn report_at(traces: &[Drawn], percentile: f64) -> Report {
    report_of(RunFacts::default(), traces, percentile)
}

/// The same, of a run that is told about.
pub fn report_of(run: RunFacts, traces: &[Drawn], percentile: f64) -> Report {
    let with_infos = traces.iter().enumerate();
    let traces: Vec<_> = with_infos
        .map(|(index, drawn)| (trace_info(index), drawn.clone()))
        .collect();
    report_of_infos(run, &traces, percentile)
}

/// The same, of traces that are told about, too.
pub fn report_of_infos(run: RunFacts, traces: &[(TraceInfo, Drawn)], percentile: f64) -> Report {
    let one = |(info, drawn): &(TraceInfo, Drawn)| survey(info, records(drawn), 10);
    let Ok(surveys): Result<Vec<_>, Infallible> = traces.iter().map(one).collect();
    let population = Population::of(&surveys, percentile);
    let mut sums = Aggregate::new();
    for ((_, drawn), surveyed) in traces.iter().zip(&surveys) {
        let Ok(()) = aggregate(
            &mut sums,
            records(drawn),
            &drawn.strings,
            surveyed,
            &population,
        );
    }
    report(run, &surveys, &population, &sums)
}

/// Explains the slowest request of one trace.
pub fn explain_slowest(drawn: &Drawn) -> Explain {
    explain_slowest_of(&trace_info(0), drawn)
}

/// The same, of a trace that is told about.
pub fn explain_slowest_of(info: &TraceInfo, drawn: &Drawn) -> Explain {
    let Ok(surveyed) = survey(info, records(drawn), 10);
    let ids: BTreeSet<_> = slowest(&[surveyed], 1)
        .into_iter()
        .map(|(_, id)| id)
        .collect();
    let Ok(mut answers) = explain(info, records(drawn), &drawn.strings, &ids);
    assert_eq!(answers.len(), 1);
    answers.remove(0)
}

/// A service that answers each request under a path of its own, every 10 µs for 5 µs.
pub fn many_routes(routes: u64) -> Drawn {
    let mut text = String::from("open 1 server\n");
    for i in 1..=routes {
        let (begin, end) = (i * 10, i * 10 + 5);
        text += &format!(
            "{begin}us begin read handle=1 ready={begin}us\nsource {i} \"GET /{i}\"\n\
             {end}us sink {i} 200\nend\n"
        );
    }
    draw(&text)
}

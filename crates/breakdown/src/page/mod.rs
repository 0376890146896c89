//! What the HTML page is made of, beyond the report: sums that can be filtered, and requests that
//! can be looked at.
//!
//! ```text
//! Tally::new(&population, traces)                  then, beside each `aggregate`, its requests
//! Page::of(tally, &surveys, &aggregate)            which routes and requests are shown
//! for each trace: page.show(trace, records, …)     those requests in full
//! page.finish(report)                              -> PageData
//! ```
//!
//! Everything here has a bound, so that the page stays small whatever the recording was like.

mod advice;
mod bands;
pub(crate) mod curve;
mod gallery;
mod lanes;
pub mod rows;
mod tally;
mod texts;

use std::collections::{BTreeMap, BTreeSet};

use bobtail_trace::record::{Record, RequestId};

use crate::aggregate::Aggregate;
use crate::blame::PlaceTimes;
use crate::names::Name;
use crate::page::curve::Curve;
use crate::page::gallery::{Shown, gallery};
use crate::page::rows::{
    Band, BlameRow, Cell, CulpritRow, CurveRow, PageData, ProcessRow, RequestRow, Text, WaitRow,
};
pub use crate::page::tally::{Counting, Tally};
use crate::page::tally::{Wait, Which};
use crate::page::texts::Texts;
use crate::population::slowest;
use crate::report::{CulpritKind, Report};
use crate::strings::Strings;
use crate::summary::throttled;
use crate::sums::{IoSums, Sums};
use crate::survey::Survey;
use crate::trace_info::{Heap, Throttled, TraceInfo};

/// Slowest requests that are shown in full; surveys must remember as many.
pub const SLOWEST_SHOWN: usize = 100;
const EXAMPLES_SHOWN: usize = 60;
const CULPRITS_SHOWN: usize = 100;
const BLAME_SHOWN: usize = 4000;
const WAITS_SHOWN: usize = 4000;
/// Rows of processes times routes.
const PAIRS_SHOWN: usize = 4000;
const ROUTES_SHOWN: [usize; 2] = [20, 200];

/// A page that is being put together.
#[derive(Debug)]
pub struct Page {
    tally: Tally,
    processes: Vec<ProcessRow>,
    texts: Texts,
    /// Shown routes by rank; the first is all that are not told apart.
    routes: Vec<Name>,
    ranks: BTreeMap<Which, usize>,
    wanted: Vec<BTreeSet<RequestId>>,
    requests: Vec<(usize, RequestRow)>,
    heaps: Vec<Heap>,
    throttled: Option<Throttled>,
}

impl Page {
    /// Decides what is shown. `aggregate` knows whom the longest collections delayed.
    pub fn of(tally: Tally, surveys: &[Survey], aggregate: &Aggregate) -> Self {
        let routes = routes_shown(&tally, surveys.len());
        let slowest = slowest(surveys, SLOWEST_SHOWN);
        let ranks: BTreeMap<Which, usize> = slowest.iter().copied().zip(1..).collect();
        let mut wanted = vec![BTreeSet::new(); surveys.len()];
        for &(trace, request) in &slowest {
            wanted[trace].insert(request);
        }
        let place = |route: Name| routes.iter().position(|shown| *shown == route);
        let mut examples: Vec<_> = tally
            .examples
            .iter()
            .filter_map(|(&(route, band), &(_, which))| Some((place(route)?, band, which)))
            .collect();
        examples.sort_unstable();
        for (_, _, (trace, request)) in examples.into_iter().take(EXAMPLES_SHOWN) {
            wanted[trace].insert(request);
        }
        for pause in &aggregate.watched {
            wanted[pause.trace].extend(pause.named.first().map(|victim| victim.request));
        }
        Self {
            tally,
            processes: surveys.iter().map(process).collect(),
            texts: Texts::new(),
            routes,
            ranks,
            wanted,
            requests: Vec::new(),
            heaps: surveys
                .iter()
                .filter_map(|s| s.trace.heap.clone())
                .collect(),
            throttled: throttled(surveys),
        }
    }

    /// Explains the shown requests of a trace. One pass, none where nothing is shown of it.
    pub fn show<E>(
        &mut self,
        index: usize,
        trace: &TraceInfo,
        records: impl IntoIterator<Item = Result<Record, E>>,
        strings: &(impl Strings + ?Sized),
    ) -> Result<(), E> {
        let shown = gallery(
            trace,
            records,
            strings,
            &self.wanted[index],
            &mut self.texts,
        )?;
        for Shown { request, row } in shown {
            let rank = self.ranks.get(&(index, request)).copied().unwrap_or(0);
            let process = index;
            let row = RequestRow {
                process,
                rank,
                ..row
            };
            self.requests.push((rank, row));
        }
        Ok(())
    }

    /// Whether any request of a trace is shown.
    pub fn wants(&self, index: usize) -> bool {
        !self.wanted[index].is_empty()
    }

    /// All of it.
    pub fn finish(mut self, report: Report) -> PageData {
        let mut requests = std::mem::take(&mut self.requests);
        requests.sort_by(|(_, a), (_, b)| b.latency_ns.cmp(&a.latency_ns).then(a.id.cmp(&b.id)));
        let borders = self.tally.bands.borders().iter();
        let bands = borders.map(|&(percentile, from_ns)| Band {
            percentile,
            from_ns,
        });
        let bands = bands.collect();
        let cells = self.cells();
        let curves = self.curves();
        let (culprits, blame) = self.blame();
        let advice = self.advice(&report);
        let waits = self.waits();
        let names = &self.tally.routes;
        let texts = &mut self.texts;
        let routes: Vec<_> = self
            .routes
            .iter()
            .map(|route| texts.of(names.text(*route)))
            .collect();
        let place = |text: Text| routes.iter().position(|route| *route == text);
        let requests = requests.into_iter().map(|(_, row)| RequestRow {
            route: place(row.name).unwrap_or(0),
            ..row
        });
        PageData {
            schema: "bobtail-html/1",
            requests: requests.collect(),
            report,
            processes: self.processes,
            bands,
            routes,
            cells,
            curves,
            culprits,
            blame,
            waits,
            advice,
            strings: self.texts.into_all(),
        }
    }

    /// Place of a route among those shown.
    fn place(&self, route: Name) -> usize {
        let at = self.routes.iter().position(|shown| *shown == route);
        at.unwrap_or(0)
    }

    fn cells(&self) -> Vec<Cell> {
        let mut folded: BTreeMap<(usize, usize, u8), Sums> = BTreeMap::new();
        for (&(process, route, band), sums) in &self.tally.cells {
            let key = (process, self.place(route), band);
            folded.entry(key).or_default().add(sums);
        }
        let cells = folded
            .into_iter()
            .map(|((process, route, band), sums)| Cell {
                process,
                route,
                band,
                count: sums.count,
                latency_ns: sums.latency_ns,
                io_ns: sums.io_ns,
                queue_ns: sums.queue_ns,
                exec_ns: sums.exec_ns,
                unattributed_ns: sums.unattributed_ns,
                gc_ns: sums.work.gc_ns,
                jit_ns: sums.work.jit_ns,
                ic_ns: sums.work.ic_ns,
                loop_ns: sums.work.loop_ns,
                not_running_ns: sums.work.not_running_ns,
            });
        cells.collect()
    }

    fn curves(&self) -> Vec<CurveRow> {
        let mut folded: BTreeMap<(usize, usize), Curve> = BTreeMap::new();
        for (&(process, route), curve) in &self.tally.curves {
            let key = (process, self.place(route));
            folded.entry(key).or_default().merge(curve);
        }
        let curves = folded
            .into_iter()
            .map(|((process, route), curve)| CurveRow {
                process,
                route,
                steps: curve.steps(),
            });
        curves.collect()
    }

    /// What the requests of each cell waited for, the longest first.
    fn waits(&mut self) -> Vec<WaitRow> {
        let mut folded: BTreeMap<Wait, IoSums> = BTreeMap::new();
        for (&((process, route, band), resource, kind), sums) in &self.tally.waits {
            let key = ((process, self.place(route) as Name, band), resource, kind);
            folded.entry(key).or_default().merge(sums);
        }
        let mut ranked: Vec<_> = folded.into_iter().collect();
        ranked.sort_by(|(a, one), (b, other)| other.io_ns.cmp(&one.io_ns).then(a.cmp(b)));
        ranked.truncate(WAITS_SHOWN);
        let (texts, resources) = (&mut self.texts, &self.tally.resources);
        let rows = ranked.into_iter().map(|(key, sums)| {
            let ((process, route, band), resource, kind) = key;
            WaitRow {
                process,
                route: route as usize,
                band,
                resource: texts.of(resource.map_or(kind, |name| resources.text(name))),
                kind: texts.of(kind),
                requests: sums.requests,
                io_ns: sums.io_ns,
                pool_wait_ns: sums.pool_wait_ns,
                pool_run_ns: sums.pool_run_ns,
                shared_ns: sums.shared_ns,
            }
        });
        rows.collect()
    }

    /// Culprits by what they did to all, and what each did to whom.
    fn blame(&mut self) -> (Vec<CulpritRow>, Vec<BlameRow>) {
        type Key = (CulpritKind, Option<String>, String, Option<Name>);
        let mut inflicted: BTreeMap<Key, (u64, PlaceTimes)> = BTreeMap::new();
        let mut rows = Vec::new();
        for (&(process, route), blame) in &self.tally.blame {
            let route = route.map(|route| self.place(route));
            let Tally {
                culprit_routes,
                places,
                resources,
                ..
            } = &self.tally;
            for row in blame.ranked(culprit_routes, places, resources) {
                let one = row.culprit;
                let key = (one.kind, one.route, one.word, row.line);
                if route.is_none() {
                    let (ns, places) = inflicted.entry(key.clone()).or_default();
                    *ns += one.inflicted_ns;
                    places.merge(&row.places);
                }
                let told = [
                    one.inflicted_ns,
                    one.victims,
                    one.occurrences,
                    one.longest_ns,
                ];
                rows.push((key, process, route, told));
            }
        }
        let mut ranked: Vec<_> = inflicted.into_iter().collect();
        ranked.sort_by(|(a, (a_ns, _)), (b, (b_ns, _))| b_ns.cmp(a_ns).then_with(|| a.cmp(b)));
        ranked.truncate(CULPRITS_SHOWN);
        let numbers: BTreeMap<&Key, usize> = ranked.iter().map(|(key, _)| key).zip(0..).collect();
        rows.retain(|(key, ..)| numbers.contains_key(key));
        rows.sort_by_key(|(_, _, route, told)| (route.is_some(), std::cmp::Reverse(told[0])));
        rows.truncate(BLAME_SHOWN);
        let blame = rows.iter().map(|(key, process, route, told)| BlameRow {
            process: *process,
            route: *route,
            culprit: numbers[key],
            inflicted_ns: told[0],
            victims: told[1],
            occurrences: told[2],
            longest_ns: told[3],
        });
        let blame = blame.collect();
        let (texts, places) = (&mut self.texts, &self.tally.places);
        let culprits = ranked.iter().map(|((kind, route, word, _), (_, times))| {
            let located = times.main().map(|id| &places.get(id).located);
            CulpritRow {
                kind: texts.of(kind.word()),
                route: texts.maybe(route.as_deref()),
                word: texts.of(word),
                location: texts.maybe(located.map(|one| one.location.as_str())),
                generated: texts.maybe(located.and_then(|one| one.generated.as_deref())),
            }
        });
        (culprits.collect(), blame)
    }
}

/// The routes that took most time in all, after the one for all others.
fn routes_shown(tally: &Tally, traces: usize) -> Vec<Name> {
    let mut totals: BTreeMap<Name, u64> = BTreeMap::new();
    for (&(_, route, _), sums) in &tally.cells {
        *totals.entry(route).or_default() += sums.latency_ns;
    }
    totals.remove(&0);
    let mut ranked: Vec<_> = totals.into_iter().collect();
    ranked.sort_by_key(|&(route, ns)| (std::cmp::Reverse(ns), route));
    let [fewest, most] = ROUTES_SHOWN;
    let count = (PAIRS_SHOWN / traces.max(1)).clamp(fewest, most);
    let shown = ranked.into_iter().take(count).map(|(route, _)| route);
    std::iter::once(0).chain(shown).collect()
}

fn process(survey: &Survey) -> ProcessRow {
    let trace = &survey.trace;
    ProcessRow {
        pid: trace.pid,
        thread: trace.thread,
        gc: trace.measured.gc,
        jit: trace.measured.jit,
        ic: trace.measured.ic,
        not_running: trace.measured.not_running,
    }
}

//! The first pass over a trace: latencies only.
//!
//! Which requests are the tail is not known before all are seen, and walking every path twice
//! would double the cost. So the first pass walks none and remembers nothing per request.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet};

use bobtail_graph::{Collection, Graph, Options, RequestPath, Walks, Window};
use bobtail_trace::layout::LAST_EVENT;
use bobtail_trace::record::{
    CodePlace, EventId, LossKind, MarkKind, Ns, Record, RequestId, StringId,
};

use crate::latencies::Latencies;
use crate::longest_pauses::LongestPauses;
use crate::report::EndReason;
use crate::trace_info::TraceInfo;

/// Names of requests whose route was learned; more than that are not.
const ROUTES_LEARNED: usize = 100_000;
/// Places to listen at; more than that are not remembered.
const PLACES_REMEMBERED: usize = 1000;
/// Places in code told of one trace; what comes after stays where it ran. A real service has some
/// hundreds.
pub const SAMPLED_REMEMBERED: usize = 1 << 16;

/// What the first pass tells about one trace.
#[derive(Debug, Clone)]
pub struct Survey {
    pub trace: TraceInfo,
    pub latencies: Latencies,
    /// Requests left out because they came during warm-up.
    pub warmup: u64,
    /// Requests of which no sink was seen.
    pub unfinished: u64,
    /// Requests that were under way when recording paused or went on.
    pub straddling: u64,
    /// Finished requests whose connection was closed before the whole response had left.
    pub cut_off: u64,
    /// When and why the recording ended before the loop did, as far as is known.
    pub ended: Option<(Ns, EndReason)>,
    /// Time in which recording was paused.
    pub paused_ns: u64,
    /// Records lost, by word.
    pub losses: BTreeMap<String, u64>,
    /// Where the loop listens: a port or a path.
    pub(crate) listening: BTreeSet<StringId>,
    /// When the first and the last of the counted requests came.
    pub(crate) sources_ns: Option<(Ns, Ns)>,
    /// Latest time seen.
    pub end_ns: Ns,
    /// The slowest requests, slowest first.
    pub slowest: Vec<(u64, RequestId)>,
    /// The longest collections after warm-up.
    pub(crate) pauses: LongestPauses,
    /// Route of a request by its name, where the two differ.
    pub(crate) routes: HashMap<StringId, StringId>,
    /// Where code was seen running. Collected here, so that looking them up in source maps before
    /// the second pass costs no pass of its own.
    pub sampled: HashSet<CodePlace>,
}

impl Survey {
    /// In the first tenth of what is analysed.
    pub(crate) fn is_early(&self, time_ns: Ns) -> bool {
        let trace = &self.trace;
        let begin_ns = trace.warmup_end_ns.unwrap_or(0).max(trace.start_ns);
        let length_ns = self.end_ns.saturating_sub(begin_ns);
        time_ns < begin_ns + length_ns / 10
    }

    /// Adds what the counters of the trace know beyond its records: losses that there was no room
    /// to write a record for. Of a full disk that means that it never had room again.
    pub fn add_counters(&mut self, counters: impl IntoIterator<Item = (LossKind, u32)>) {
        for (kind, count) in counters.into_iter().filter(|&(_, count)| count > 0) {
            let told = self.losses.entry(kind.word().to_owned()).or_default();
            if kind == LossKind::DiskFull && *told < u64::from(count) {
                self.ended = Some((self.end_ns, EndReason::DiskFull));
            }
            *told = (*told).max(u64::from(count));
        }
    }
}

/// Surveys one trace; remembers its `slowest` requests by number.
pub fn survey<E>(
    trace: &TraceInfo,
    records: impl IntoIterator<Item = Result<Record, E>>,
    slowest: usize,
) -> Result<Survey, E> {
    let mut graph = Graph::new(Options {
        walks: Walks::None,
        ..Options::default()
    });
    let mut counting = Counting::new(trace, slowest);
    for record in records {
        let record = record?;
        counting.see(&record);
        graph.push(record, &mut |path: &RequestPath, _: Window<'_>| {
            counting.count(path)
        });
    }
    graph.finish(&mut |path: &RequestPath, _: Window<'_>| counting.count(path));
    Ok(Survey {
        straddling: graph.straddling(),
        ..counting.into_survey(graph.unfinished())
    })
}

struct Counting {
    survey: Survey,
    slowest: BinaryHeap<Reverse<(u64, Reverse<RequestId>)>>,
    slowest_count: usize,
    paused_at_ns: Option<Ns>,
    last_event: EventId,
}

impl Counting {
    fn new(trace: &TraceInfo, slowest_count: usize) -> Self {
        let survey = Survey {
            trace: trace.clone(),
            latencies: Latencies::new(),
            warmup: 0,
            unfinished: 0,
            straddling: 0,
            cut_off: 0,
            ended: None,
            paused_ns: 0,
            losses: BTreeMap::new(),
            listening: BTreeSet::new(),
            sources_ns: None,
            end_ns: trace.start_ns,
            slowest: Vec::new(),
            pauses: LongestPauses::default(),
            routes: HashMap::new(),
            sampled: HashSet::new(),
        };
        Self {
            survey,
            slowest: BinaryHeap::new(),
            slowest_count,
            paused_at_ns: None,
            last_event: 0,
        }
    }

    fn see(&mut self, record: &Record) {
        if let Record::LoopBegin { event, .. } | Record::Micro { event, .. } = *record {
            self.last_event = event;
        }
        match *record {
            Record::Mark {
                kind: MarkKind::WarmupEnd,
                at_ns,
                ..
            } => self.end_warmup(at_ns),
            Record::Mark {
                kind: MarkKind::Paused,
                at_ns,
                ..
            } => self.paused_at_ns = Some(at_ns),
            Record::Mark {
                kind: MarkKind::Resumed,
                at_ns,
                ..
            } => {
                if let Some(paused_ns) = self.paused_at_ns.take() {
                    self.survey.paused_ns += at_ns.saturating_sub(paused_ns);
                }
            }
            Record::Mark {
                kind: MarkKind::Listening,
                text,
                ..
            } if self.survey.listening.len() < PLACES_REMEMBERED => {
                self.survey.listening.insert(text);
            }
            Record::Gc {
                begin_ns, caller, ..
            } => {
                if caller.file != 0 && self.survey.sampled.len() < SAMPLED_REMEMBERED {
                    self.survey.sampled.insert(caller);
                }
                let counts = !self.is_warmup(begin_ns);
                if let Some(pause) = Collection::told_by(record).filter(|_| counts) {
                    self.survey.pauses.add(pause);
                }
            }
            Record::Location { place, .. } if self.survey.sampled.len() < SAMPLED_REMEMBERED => {
                self.survey.sampled.insert(place);
            }
            Record::Loss { kind, count, .. } => {
                *self.survey.losses.entry(kind.word().into()).or_default() += count;
            }
            Record::LoopBegin {
                begin_ns: at_ns, ..
            }
            | Record::LoopEnd { end_ns: at_ns }
            | Record::Poll {
                leave_ns: at_ns, ..
            } => {
                self.survey.end_ns = self.survey.end_ns.max(at_ns);
            }
            _ => {}
        }
    }

    /// Everything counted so far turns out to be warm-up.
    fn end_warmup(&mut self, at_ns: Ns) {
        let survey = &mut self.survey;
        survey.warmup += survey.latencies.count();
        survey.latencies = Latencies::new();
        survey.sources_ns = None;
        survey.cut_off = 0;
        survey.trace.warmup_end_ns = survey.trace.warmup_end_ns.max(Some(at_ns));
        survey.pauses.keep_from(at_ns);
        self.slowest.clear();
    }

    fn is_warmup(&self, time_ns: Ns) -> bool {
        let warmup_end_ns = self.survey.trace.warmup_end_ns;
        warmup_end_ns.is_some_and(|end_ns| time_ns < end_ns)
    }

    fn count(&mut self, path: &RequestPath) {
        let is_warmup = self.is_warmup(path.source_ns);
        let survey = &mut self.survey;
        if path.route != path.name && survey.routes.len() < ROUTES_LEARNED {
            survey.routes.insert(path.name, path.route);
        }
        if is_warmup {
            survey.warmup += 1;
            return;
        }
        survey.latencies.add(path.latency_ns);
        let (first_ns, last_ns) = survey
            .sources_ns
            .unwrap_or((path.source_ns, path.source_ns));
        survey.sources_ns = Some((first_ns.min(path.source_ns), last_ns.max(path.source_ns)));
        survey.cut_off += u64::from(path.cut_off);
        self.rank(path);
    }

    /// Keeps the slowest so far; nearly all are not, and are told so by one comparison.
    fn rank(&mut self, path: &RequestPath) {
        let place = Reverse((path.latency_ns, Reverse(path.id)));
        if self.slowest.len() < self.slowest_count {
            self.slowest.push(place);
        } else if let Some(mut least) = self.slowest.peek_mut()
            && place < *least
        {
            *least = place;
        }
    }

    fn into_survey(self, unfinished: u64) -> Survey {
        let ordered = self.slowest.into_sorted_vec();
        let slowest = ordered
            .into_iter()
            .map(|Reverse((ns, Reverse(id)))| (ns, id))
            .collect();
        let reason = if self.last_event >= LAST_EVENT {
            EndReason::EventNumbers
        } else {
            EndReason::Paused
        };
        Survey {
            unfinished,
            slowest,
            ended: self.paused_at_ns.map(|at_ns| (at_ns, reason)),
            ..self.survey
        }
    }
}

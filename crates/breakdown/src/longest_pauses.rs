//! The longest single collections, each with the requests that it delayed.
//!
//! Which they are is known after the first pass, so the second one keeps the victims of these few
//! only: memory depends neither on the number of collections nor on that of requests.

use std::cmp::Reverse;

use bobtail_graph::{Collection, RequestPath, Window};
use bobtail_trace::record::{Ns, RequestId};

use crate::report::{Class, Inside, Pause, PauseVictim};
use crate::survey::Survey;
use crate::trace_info::TraceInfo;

/// Collections that are told one by one.
pub(crate) const PAUSES_TOLD: usize = 10;
/// Victims named of each; all are counted.
pub(crate) const VICTIMS_NAMED: usize = 10;

/// The longest collections of one trace, longest first; of equals, the first.
#[derive(Debug, Clone, Default)]
pub(crate) struct LongestPauses(Vec<Collection>);

impl LongestPauses {
    pub(crate) fn add(&mut self, pause: Collection) {
        let length_ns = duration_ns(&pause);
        let place = self.0.partition_point(|p| duration_ns(p) >= length_ns);
        if place < PAUSES_TOLD {
            self.0.truncate(PAUSES_TOLD - 1);
            self.0.insert(place, pause);
        }
    }

    /// Forgets those that began before.
    pub(crate) fn keep_from(&mut self, time_ns: Ns) {
        self.0.retain(|pause| pause.begin_ns >= time_ns);
    }

    /// The longest of several traces, with the index of the trace; longest first.
    pub(crate) fn of_all(surveys: &[Survey]) -> Vec<(usize, Collection)> {
        let each = surveys.iter().enumerate();
        let mut all: Vec<_> = each
            .flat_map(|(trace, s)| s.pauses.0.iter().map(move |&pause| (trace, pause)))
            .collect();
        all.sort_by_key(|(trace, pause)| (Reverse(duration_ns(pause)), *trace, pause.begin_ns));
        all.truncate(PAUSES_TOLD);
        all
    }
}

pub(crate) fn duration_ns(pause: &Collection) -> u64 {
    pause.end_ns.saturating_sub(pause.begin_ns)
}

/// A request that a collection delayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Victim {
    pub request: RequestId,
    pub class: Class,
    /// By this collection.
    pub delay_ns: u64,
    pub latency_ns: u64,
}

/// One of the longest collections, and what the second pass finds out about it.
#[derive(Debug, Clone)]
pub(crate) struct Watched {
    /// Index of its trace.
    pub trace: usize,
    pub pause: Collection,
    /// Its number in the trace; `None` until it is seen.
    pub number: Option<u32>,
    /// What it interrupted.
    pub inside: Option<Inside>,
    pub victims: u64,
    pub tail_victims: u64,
    pub inflicted_ns: u64,
    /// The tail first, then those that were delayed most.
    pub named: Vec<Victim>,
}

impl Watched {
    fn new(trace: usize, pause: Collection) -> Self {
        Self {
            trace,
            pause,
            number: None,
            inside: None,
            victims: 0,
            tail_victims: 0,
            inflicted_ns: 0,
            named: Vec::new(),
        }
    }

    fn add(&mut self, path: &RequestPath, window: Window<'_>, class: Class) {
        let Some(number) = self.number else { return };
        if self.pause.begin_ns >= path.sink_ns || self.pause.end_ns <= path.source_ready_ns {
            return;
        }
        let delay_ns = window.delay_ns(path, number);
        if delay_ns == 0 {
            return;
        }
        self.victims += 1;
        self.tail_victims += u64::from(class == Class::Tail);
        self.inflicted_ns += delay_ns;
        let victim = Victim {
            request: path.id,
            class,
            delay_ns,
            latency_ns: path.latency_ns,
        };
        let order = |v: &Victim| (v.class, Reverse(v.delay_ns), v.request);
        let place = self.named.partition_point(|v| order(v) < order(&victim));
        if place < VICTIMS_NAMED {
            self.named.truncate(VICTIMS_NAMED - 1);
            self.named.insert(place, victim);
        }
    }
}

/// The longest collections of one trace, while it is read the second time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watching {
    all: Vec<Watched>,
    /// Collections of any length so far: the number of the last one.
    collections: u32,
    /// What some of those seen interrupted is to be found out.
    unplaced: bool,
}

impl Watching {
    /// Of the longest of all traces, those of one.
    pub(crate) fn new(trace: usize, longest: &[(usize, Collection)]) -> Self {
        let of_it = longest.iter().filter(|(of, _)| *of == trace);
        Self {
            all: of_it
                .map(|&(_, pause)| Watched::new(trace, pause))
                .collect(),
            ..Self::default()
        }
    }

    /// Sees a collection, watched or not. Watched ones are known by their times: of a recording
    /// that goes on, those before may be gone by now, and then it has another number.
    pub(crate) fn see(&mut self, pause: Collection) {
        self.collections = self.collections.wrapping_add(1);
        let mut watched = self.all.iter_mut();
        if let Some(one) = watched.find(|w| w.pause == pause && w.number.is_none()) {
            one.number = Some(self.collections);
            self.unplaced = true;
        }
    }

    pub(crate) fn has_unplaced(&self) -> bool {
        self.unplaced
    }

    /// Notes what those seen lately interrupted, by the time at which they began.
    pub(crate) fn place(&mut self, inside: impl Fn(&Collection) -> Option<Inside>) {
        let lately = |w: &&mut Watched| w.number.is_some() && w.inside.is_none();
        for one in self.all.iter_mut().filter(lately) {
            one.inside = inside(&one.pause);
        }
        self.unplaced = false;
    }

    /// Adds what they did to a request.
    pub(crate) fn add(&mut self, path: &RequestPath, window: Window<'_>, class: Class) {
        for one in &mut self.all {
            one.add(path, window, class);
        }
    }

    /// Those that there are, at the end.
    pub(crate) fn seen(self) -> impl Iterator<Item = Watched> {
        self.all.into_iter().filter(|w| w.number.is_some())
    }
}

/// The answer, longest first. Times count from the start of the run.
pub(crate) fn told(watched: &[Watched], surveys: &[Survey], start_ns: Ns) -> Vec<Pause> {
    let mut ordered: Vec<_> = watched.iter().collect();
    ordered.sort_by_key(|w| (Reverse(duration_ns(&w.pause)), w.trace, w.pause.begin_ns));
    let one = |w: &Watched| pause(w, &surveys[w.trace].trace, start_ns);
    ordered.into_iter().map(one).collect()
}

fn pause(watched: &Watched, trace: &TraceInfo, start_ns: Ns) -> Pause {
    let named = |victim: &Victim| PauseVictim {
        id: trace.request_name(victim.request),
        class: victim.class,
        delay_ns: victim.delay_ns,
        latency_ns: victim.latency_ns,
    };
    Pause {
        kind: watched.pause.as_culprit().word().into(),
        pid: trace.pid,
        thread: trace.thread,
        number: watched.number.unwrap_or(0),
        start_ns: watched.pause.begin_ns.saturating_sub(start_ns),
        duration_ns: duration_ns(&watched.pause),
        inside: watched.inside.clone(),
        victims: watched.victims,
        tail_victims: watched.tail_victims,
        inflicted_ns: watched.inflicted_ns,
        requests: watched.named.iter().map(named).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(begin_ns: Ns, length_ns: u64) -> Collection {
        Collection {
            kind: 1,
            begin_ns,
            end_ns: begin_ns + length_ns,
            ..Collection::default()
        }
    }

    #[test]
    fn the_longest_stay_and_of_equals_the_first() {
        let mut longest = LongestPauses::default();
        for i in 0..100 {
            longest.add(pause(1000 * i, 1 + i % 5));
        }
        let expected: Vec<_> = (0..10).map(|i| pause(1000 * (5 * i + 4), 5)).collect();
        assert_eq!(longest.0, expected);
    }
}

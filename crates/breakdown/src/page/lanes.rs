//! What the loop thread and the pool did around a request, as coarse as a screen can show.
//!
//! In a request of seconds lie a hundred thousand callbacks; so what is shorter than a pixel is
//! drawn together with its neighbours, and the sums are told by the segments, never by this.

use bobtail_graph::{Doing, Interruption, LoopEventTimes, LoopRun, RequestPath, Resource, Window};
use bobtail_trace::record::{CodePlace, LoopKind, Ns, StringId};

use crate::page::rows::{InterruptionRow, JobRow, RunRow, Text, TimelineRow};
use crate::page::texts::Texts;
use crate::places::located;
use crate::strings::Strings;

/// Pieces that are told apart over the whole width.
const PIECES: u64 = 320;
/// Share of the latency that is shown before the request was ready.
const BEFORE: u64 = 10;
const JOBS: usize = 150;

/// Draws the lanes of one request.
pub(crate) fn lanes(
    path: &RequestPath,
    window: Window<'_>,
    strings: &(impl Strings + ?Sized),
    texts: &mut Texts,
) -> TimelineRow {
    let from_ns = path
        .source_ready_ns
        .saturating_sub(path.latency_ns / BEFORE);
    let to_ns = path.sink_ns.max(path.source_ready_ns + 1);
    let events: Vec<_> = window.loop_events(path, from_ns, to_ns).collect();
    let mut drawing = Drawing {
        zero_ns: path.source_ready_ns,
        step_ns: ((to_ns - from_ns) / PIECES).max(1),
        strings,
        texts,
    };
    TimelineRow {
        from_ns: drawing.at(from_ns),
        to_ns: drawing.at(to_ns),
        runs: drawing.runs(window.runs(from_ns, to_ns)),
        interruptions: drawing.interruptions(window.interruptions(from_ns, to_ns)),
        jobs: drawing.jobs(&events),
        waiting: drawing.waiting(&events, from_ns),
    }
}

struct Drawing<'a, S: ?Sized> {
    zero_ns: Ns,
    step_ns: u64,
    strings: &'a S,
    texts: &'a mut Texts,
}

impl<S: Strings + ?Sized> Drawing<'_, S> {
    fn at(&self, time_ns: Ns) -> i64 {
        time_ns as i64 - self.zero_ns as i64
    }

    fn text(&mut self, id: StringId) -> Text {
        self.texts.maybe(self.strings.get(id))
    }

    fn location(&mut self, place: CodePlace) -> Text {
        let located = located(place, self.strings);
        self.texts.maybe(located.map(|l| l.location).as_deref())
    }

    /// Runs that together are shorter than a step are one, called after the longest of them.
    fn runs(&mut self, runs: impl Iterator<Item = LoopRun>) -> Vec<RunRow> {
        let mut rows = Vec::new();
        let mut group: Option<(LoopRun, u64, Ns, u32)> = None;
        for run in runs {
            let length_ns = run.end_ns - run.begin_ns;
            match &mut group {
                Some((longest, longest_ns, begin_ns, merged))
                    if run.end_ns - *begin_ns <= self.step_ns =>
                {
                    *merged += 1;
                    let end_ns = run.end_ns;
                    if length_ns > *longest_ns {
                        (*longest, *longest_ns) = (run, length_ns);
                    }
                    longest.end_ns = end_ns;
                }
                _ => {
                    rows.extend(group.take().map(|group| self.run(group)));
                    group = Some((run, length_ns, run.begin_ns, 0));
                }
            }
        }
        rows.extend(group.map(|group| self.run(group)));
        rows
    }

    fn run(&mut self, (run, _, begin_ns, merged): (LoopRun, u64, Ns, u32)) -> RunRow {
        let word = match run.doing {
            Doing::Event(kind) => kind.word(),
            Doing::Poll => "poll",
            Doing::Between => "other",
            Doing::Lost => "lost",
        };
        RunRow {
            begin_ns: self.at(begin_ns),
            duration_ns: run.end_ns.saturating_sub(begin_ns),
            word: self.texts.of(word),
            event: run.event,
            request: run.request,
            route: self.text(run.route),
            location: self.location(run.location),
            merged,
        }
    }

    /// Those of one class that are nearer to each other than a step are one.
    fn interruptions(
        &mut self,
        all: impl Iterator<Item = (Interruption, Ns, Ns)>,
    ) -> Vec<InterruptionRow> {
        let mut rows: Vec<InterruptionRow> = Vec::new();
        let mut last_of_class: [Option<usize>; 4] = [None; 4];
        for (interruption, begin_ns, end_ns) in all {
            for (class, class_word, word, spent_ns) in classes(interruption, end_ns - begin_ns) {
                if spent_ns == 0 {
                    continue;
                }
                let (begin_ns, end_ns) = (self.at(begin_ns), self.at(end_ns));
                let word = self.texts.of(word);
                let last = last_of_class[class].map(|index| &mut rows[index]);
                if let Some(last) = last
                    && last.word == word
                    && begin_ns - (last.begin_ns + last.duration_ns as i64) <= self.step_ns as i64
                {
                    last.duration_ns = (end_ns - last.begin_ns) as u64;
                    last.spent_ns += spent_ns;
                    continue;
                }
                last_of_class[class] = Some(rows.len());
                rows.push(InterruptionRow {
                    begin_ns,
                    duration_ns: (end_ns - begin_ns) as u64,
                    class: self.texts.of(class_word),
                    word,
                    spent_ns,
                });
            }
        }
        rows.retain(|row| row.spent_ns >= self.step_ns / 8);
        rows
    }

    /// The longest, in order of time.
    fn jobs(&mut self, events: &[LoopEventTimes]) -> Vec<JobRow> {
        let mut jobs: Vec<_> = events
            .iter()
            .filter(|event| event.kind == LoopKind::Pool && event.run_ns > 0)
            .filter_map(|event| Some((event, event.ready_ns?)))
            .collect();
        jobs.sort_by_key(|(event, _)| std::cmp::Reverse(event.run_ns));
        jobs.truncate(JOBS);
        jobs.sort_by_key(|(event, ready_ns)| (ready_ns - event.run_ns.min(*ready_ns), event.event));
        let jobs = jobs.into_iter().map(|(event, ready_ns)| JobRow {
            submit_ns: event.register_ns.map(|ns| self.at(ns)),
            begin_ns: self.at(ready_ns.saturating_sub(event.run_ns)),
            duration_ns: event.run_ns,
            event: event.event,
            request: event.request,
            route: self.text(event.route),
            resource: match event.resource {
                Resource::Named(id) => self.text(id),
                Resource::Client => self.texts.of("client"),
                Resource::Unnamed => 0,
            },
        });
        jobs.collect()
    }

    /// How many loop events were ready and had not begun; of a step, the most at any moment.
    fn waiting(&self, events: &[LoopEventTimes], from_ns: Ns) -> Vec<i64> {
        let mut changes: Vec<(Ns, i64)> = Vec::with_capacity(events.len() * 2);
        for event in events {
            let Some(ready_ns) = event.ready_ns else {
                continue;
            };
            if ready_ns < event.begin_ns {
                changes.extend([(ready_ns.max(from_ns), 1), (event.begin_ns, -1)]);
            }
        }
        changes.sort_unstable();
        let mut steps: Vec<i64> = Vec::new();
        let mut tell = |at_ns: i64, value: i64| {
            let before = steps.last().copied().unwrap_or(0);
            if before != value {
                steps.extend([at_ns, value]);
            }
        };
        let step_of = |at_ns: Ns| (at_ns - from_ns) / self.step_ns;
        let (mut now, mut changes) = (0, changes.into_iter().peekable());
        while let Some(&(at_ns, _)) = changes.peek() {
            let step = step_of(at_ns);
            let mut most = now;
            while let Some((_, change)) = changes.next_if(|&(ns, _)| step_of(ns) == step) {
                now += change;
                most = most.max(now);
            }
            tell(self.at(from_ns + step * self.step_ns), most);
            tell(self.at(from_ns + (step + 1) * self.step_ns), now);
        }
        steps
    }
}

/// Number and word of the class, word of the kind, and time spent.
fn classes(
    interruption: Interruption,
    length_ns: u64,
) -> [(usize, &'static str, &'static str, u64); 2] {
    match interruption {
        Interruption::Collection(whole) => {
            let word = whole.as_culprit().word();
            [(0, "gc", word, length_ns), (0, "gc", word, 0)]
        }
        Interruption::Engine { jit_ns, ic_ns } => [
            (1, "jit", "compilation", jit_ns),
            (2, "ic", "inline-cache misses", ic_ns),
        ],
        Interruption::NotRunning(cause) => [
            (3, "cpu", cause.word(), length_ns),
            (3, "cpu", cause.word(), 0),
        ],
    }
}

//! What holds for every replay, on traces that grow from a seed and under any change.

use bobtail_testkit::{Shape, Simulation};
use bobtail_trace::record::Ns;
use proptest::prelude::*;

use crate::model::{Action, EventIx, Model, NO_GATE, Step, Trigger};
use crate::scenario::scaled;
use crate::{
    Capture, Closed, Components, Ran, Replayed, Scenario, Shedding, WorkFactors, replay,
    replay_told,
};

/// A model of a trace that grew from this seed.
pub(crate) fn grown(seed: u64, records: usize) -> (Model, Components) {
    let mut components = Components::new();
    let model = grown_with(seed, records, &mut components);
    (model, components)
}

/// The same, of one of several loops.
pub(crate) fn grown_with(seed: u64, records: usize, components: &mut Components) -> Model {
    // Half of them with all that the made-up loop can do.
    let shape = match seed % 2 {
        0 => Shape::whole(),
        _ => Shape::default(),
    };
    let mut simulation = Simulation::new(seed, shape);
    let mut capture = Capture::new(None);
    for record in simulation.by_ref().take(records) {
        capture.push(record);
    }
    let log = capture.finish().expect("nothing is lost in a grown trace");
    let names = simulation.strings();
    let name = |id: u32| Some(names.get((id as usize).checked_sub(1)?)?.as_str());
    Model::of(&log, name, components).expect("it has requests")
}

/// In the order of the recording.
fn by_event(replayed: &Replayed) -> Vec<Ran> {
    let mut ran = replayed.ran.clone();
    ran.sort_by_key(|one| one.event);
    ran
}

/// The events that each waits for: the one that releases it and, where it does so in steps behind
/// a gate, all that the gate waits for.
fn parents(model: &Model) -> Vec<Vec<EventIx>> {
    let mut behind = vec![Vec::new(); model.gates.len()];
    for (event, step) in steps(model) {
        if let Action::Gate(gate) | Action::Join(gate) = step.action {
            behind[gate as usize].push(event);
        }
    }
    let mut parents = vec![Vec::new(); model.events.len()];
    for (event, step) in steps(model) {
        if let Action::Release(child) = step.action {
            let all = &mut parents[child as usize];
            assert!(all.is_empty(), "released once");
            all.push(event);
            if step.gate != NO_GATE {
                all.extend_from_slice(&behind[step.gate as usize]);
            }
        }
    }
    parents
}

/// Every step, with its event.
fn steps(model: &Model) -> impl Iterator<Item = (EventIx, &Step)> {
    let events = 0..model.events.len() as EventIx;
    let ranges = events.map(|event| (event, model.steps_of(event)));
    ranges.flat_map(|(event, range)| model.steps[range].iter().map(move |step| (event, step)))
}

/// Every event ran once, one after the other, and none before its parent.
pub(crate) fn ran_once_and_after_parents(
    model: &Model,
    replayed: &Replayed,
) -> Result<(), TestCaseError> {
    let ran = by_event(replayed);
    prop_assert_eq!(ran.len(), model.events.len());
    prop_assert!(
        ran.iter()
            .enumerate()
            .all(|(ix, one)| ix == one.event as usize)
    );
    for pair in replayed.ran.windows(2) {
        prop_assert!(pair[0].end_ns <= pair[1].begin_ns, "{:?}", pair);
    }
    for (child, all) in parents(model).into_iter().enumerate() {
        prop_assert!(ran[child].ready_ns <= ran[child].begin_ns);
        for parent in all {
            prop_assert!(ran[parent as usize].begin_ns <= ran[child].ready_ns);
        }
    }
    Ok(())
}

fn change() -> impl Strategy<Value = Scenario> {
    let factor = || prop_oneof![Just(1.0), 0.1..3.0f64];
    let work = (factor(), factor(), factor());
    (work, factor(), 0.5..1.5f64, prop::option::of(1..6u32)).prop_map(|(work, io, rate, pool)| {
        Scenario {
            work: WorkFactors {
                native: work.0,
                gc: work.1,
                ic: work.2,
                ..WorkFactors::UNCHANGED
            },
            io,
            rate,
            pool,
            ..Scenario::unchanged()
        }
    })
}

/// Only the made-up loop that takes turns as libuv does is one that a replay can know.
#[test]
fn unchanged_every_request_takes_as_long_as_recorded() {
    // In the last a job of the pool is done just after a wake-up that takes those that are.
    for seed in (0..400).step_by(2).chain([3214]) {
        let (model, components) = grown(seed, 6_000);
        let told = replay(&model, &Scenario::unchanged(), &components).latencies_ns;
        let recorded: Vec<u64> = model.recorded_ns().collect();
        assert_eq!(told, recorded, "seed {seed}");
        assert!(recorded.len() > 50 && model.requests() > recorded.len());
    }
}

#[test]
fn grown_traces_have_reads_with_several_answers() {
    let parts = |seed| {
        let (model, _) = grown(seed, 6_000);
        model.events.iter().filter(|one| one.joins).count()
    };
    assert!((0..10).map(parts).sum::<usize>() > 0);
}

#[test]
fn grown_traces_have_events_that_wait_for_several_others() {
    let several = |seed| {
        let (model, _) = grown(seed, 6_000);
        parents(&model).iter().filter(|all| all.len() > 2).count()
    };
    assert!((0..10).map(several).sum::<usize>() > 0);
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 48,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_event_runs_once_one_after_the_other_and_none_before_its_parent(
        seed in any::<u64>(),
        scenario in change(),
    ) {
        let (model, components) = grown(seed, 6_000);
        let replayed = replay_told(&model, &scenario, &components);
        ran_once_and_after_parents(&model, &replayed)?;
        // An answer comes after its request, and always.
        prop_assert!(replayed.latencies_ns.iter().all(|&ns| ns < 1 << 60));
    }

    #[test]
    fn work_is_conserved_and_the_loop_never_rests_while_there_is_some(
        seed in any::<u64>(),
        scenario in change(),
    ) {
        let (model, components) = grown(seed, 6_000);
        let replayed = replay_told(&model, &scenario, &components);
        let routes = scenario.by_route(&components);
        let due_ns: u64 = model.works().map(|(work_ns, route)| {
            let classes = work_ns.iter().zip(routes[route]);
            classes.map(|(&ns, factor)| scaled(ns, factor)).sum::<u64>()
        }).sum();
        let done_ns: u64 = replayed.ran.iter().map(|one| one.end_ns - one.begin_ns).sum();
        prop_assert_eq!(done_ns, due_ns);
        let lead_ns = |one: &Ran| model.events[one.event as usize].lead_ns
            .max(model.lead_busy_ns)
            .max(model.lead_woken_ns);
        let polls_ns = model.events.iter().map(|one| one.poll_ns);
        let poll_ns = polls_ns.max().unwrap_or(0).max(model.poll_woken_ns);
        let mut free_ns = 0;
        for one in &replayed.ran {
            // What it still waits for is the kernel's answer and its own way to its callback.
            let at_most_ns = free_ns.max(one.ready_ns) + lead_ns(one) + poll_ns;
            prop_assert!(one.begin_ns <= at_most_ns, "{:?} free {}", one, free_ns);
            free_ns = one.end_ns;
        }
    }

    #[test]
    fn no_event_that_is_ready_is_slept_over(seed in any::<u64>(), scenario in change()) {
        let (model, components) = grown(seed, 6_000);
        let ran = replay_told(&model, &scenario, &components).ran;
        let lead_ns = model.events.iter().map(|one| one.lead_ns).max().unwrap_or(0);
        let poll_ns = model.events.iter().map(|one| one.poll_ns).max().unwrap_or(0);
        let usual_ns = model.lead_woken_ns.max(model.lead_busy_ns) + model.poll_woken_ns;
        let slack_ns = lead_ns + poll_ns + usual_ns;
        // Of all that are still to run.
        let mut first_ready_ns = Ns::MAX;
        for pair in ran.windows(2).rev() {
            let [before, next] = pair else { continue };
            first_ready_ns = first_ready_ns.min(next.ready_ns);
            let rested = next.begin_ns.saturating_sub(before.end_ns.max(first_ready_ns));
            prop_assert!(rested <= slack_ns, "{:?} ready {}", pair, first_ready_ns);
        }
    }

    #[test]
    fn the_pool_never_does_more_at_once_than_it_has_threads(
        seed in any::<u64>(),
        scenario in change(),
    ) {
        let (model, components) = grown(seed, 6_000);
        // Where a job began earlier than a thread was free, nobody knows how many there were.
        prop_assume!(model.pool.jobs.iter().all(|one| one.lead_ns >= 0));
        let resources = scenario.by_resource(&components);
        let told = replay_told(&model, &scenario, &components);
        let mut changes: Vec<(u64, i64)> = Vec::new();
        for one in &told.ran {
            let event = &model.events[one.event as usize];
            if let Trigger::Job { job } = event.trigger {
                let recorded_ns = model.pool.jobs[job as usize].run_ns;
                let run_ns = scaled(recorded_ns, scenario.of_wait(&event.wait, &resources));
                changes.extend([(one.ready_ns - run_ns, 1), (one.ready_ns, -1)]);
            }
        }
        // Who ends at a moment makes room for who begins then.
        changes.sort_unstable();
        let threads = scenario.pool.unwrap_or(model.pool.threads);
        let mut at_once = 0;
        for (_, change) in changes {
            at_once += change;
            prop_assert!(at_once <= i64::from(threads), "{} of {}", at_once, threads);
        }
    }

    #[test]
    fn the_same_change_gives_the_same_answer(seed in any::<u64>(), scenario in change()) {
        let (model, components) = grown(seed, 3_000);
        let (again, _) = grown(seed, 3_000);
        prop_assert_eq!(&model, &again);
        let told = replay_told(&model, &scenario, &components);
        prop_assert_eq!(&told, &replay_told(&again, &scenario, &components));
        prop_assert_eq!(told.latencies_ns, replay(&model, &scenario, &components).latencies_ns);
    }

    #[test]
    fn who_comes_while_nobody_is_let_in_is_turned_away_and_nobody_else(
        seed in any::<u64>(),
        change in change(),
    ) {
        let (model, components) = grown(seed, 6_000);
        for shedding in [Shedding::Full, Shedding::All] {
            let scenario = Scenario { shedding: Some(shedding), ..change.clone() };
            let told = replay_told(&model, &scenario, &components);
            prop_assert_eq!(told.ran.len(), model.events.len());
            prop_assert!(told.latencies_ns.iter().all(|&ns| ns < 1 << 60));
            for pair in told.closed.windows(2) {
                prop_assert!(pair[0].to_ns <= pair[1].from_ns, "{:?}", pair);
            }
            for (request, &away) in model.counted().zip(&told.turned_away) {
                let source = &model.events[request.source as usize];
                let Trigger::Arrival { is_released: false, .. } = source.trigger else {
                    continue;
                };
                let ran = told.ran.iter().find(|one| one.event == request.source);
                let ready_ns = ran.expect("it ran").ready_ns;
                let comes_ns = ready_ns.saturating_add_signed(-request.before_ns);
                let within = |one: &Closed| one.from_ns <= comes_ns && comes_ns < one.to_ns;
                prop_assert_eq!(away, told.closed.iter().any(within), "{}", comes_ns);
            }
        }
    }

    #[test]
    fn what_comes_from_outside_comes_with_the_load(seed in any::<u64>(), rate in 0.5..2.0f64) {
        let (model, components) = grown(seed, 3_000);
        let scenario = Scenario { rate, ..Scenario::unchanged() };
        let ran = by_event(&replay_told(&model, &scenario, &components));
        let origin_ns = model.span_ns.0;
        for (event, ran) in model.events.iter().zip(&ran) {
            // The first on a connection does not come before that is accepted.
            if let Trigger::Arrival { since_ns, at_ns, is_load: true, is_released: false } =
                event.trigger
            {
                let after_ns = since_ns.saturating_sub(origin_ns) as f64 / rate;
                let due_ns = since_ns.min(origin_ns) as f64 + after_ns + (at_ns - since_ns) as f64;
                prop_assert!((ran.ready_ns as f64 - due_ns).abs() < 1_000.0);
            }
        }
    }
}

//! What holds for every replay under a policy, on traces that grow from a seed.

use bobtail_policy::{CollectionKind, Reasons};
use proptest::prelude::*;

use crate::invariants::{grown, grown_with, ran_once_and_after_parents};
use crate::model::{Action, CLASSES, LOOP, Model, NOT_RUNNING};
use crate::{
    AtSpeed, Components, Ledger, Replayed, Scenario, WorkFactors, parse, replay, replay_all,
    replay_told,
};

const POLICIES: [&str; 13] = [
    "policy=static:base",
    "policy=static:3.3",
    "latency=500us,policy=gc-boost:worth=0",
    "policy=queue-boost:window=16,period=50us,hold=0ns",
    "latency=0ns,policy=combined:window=16",
    "policy=deadline:hold=300us",
    "budget=2,policy=queue-boost:window=16",
    "budget=0.1,latency=0ns,policy=combined:window=16",
    "policy=oracle:tail=90",
    "policy=oracle:energy=1.2",
    "policy=adrenaline:tail=90,types=2",
    "policy=rubik:tail=90",
    "latency=0ns,policy=rubik:tail=75,target=2ms",
];

fn scenario(text: &str, components: &Components) -> Scenario {
    parse(text, components).expect("a policy")
}

fn replayed(text: &str, model: &Model, components: &Components) -> Replayed {
    replay(model, &scenario(text, components), components)
}

/// All work that a speed changes, and the steps it is in.
fn work_ns(model: &Model) -> (u64, u64) {
    let steps = model.work_ns.iter();
    let running = steps.map(|one| one.iter().sum::<u64>() - one[NOT_RUNNING]);
    (running.sum(), model.steps.len() as u64)
}

/// All that it does is in its events, and charged from the very first of them.
fn without_leads(model: &mut Model) {
    model.span_ns.0 = 0;
    for event in &mut model.events {
        (event.lead_ns, event.lead_gc_ns) = (0, 0);
    }
    (model.lead_busy_ns, model.lead_woken_ns) = (0, 0);
}

/// Whatever the speed, of a model [`without_leads`].
fn does_its_work(model: &Model, ledger: &Ledger) -> Result<(), TestCaseError> {
    let each = ledger.all_speeds().into_iter();
    let done_ns: f64 = each.map(|one| one.worked_ns as f64 * one.ratio).sum();
    let (due_ns, steps) = work_ns(model);
    // Each step ends on a whole nanosecond, at up to 4.0 / 2.6 of base speed.
    let rounded_ns = 2.0 * steps as f64 + 1.0;
    let more_ns = done_ns - due_ns as f64;
    prop_assert!(
        (-1.0..=rounded_ns).contains(&more_ns),
        "{} of {}",
        done_ns,
        due_ns
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 24,
        ..ProptestConfig::default()
    })]

    #[test]
    fn at_base_speed_nothing_changes(seed in any::<u64>()) {
        let (model, components) = grown(seed, 4_000);
        let unchanged = replay(&model, &Scenario::unchanged(), &components);
        let base = replayed("policy=static:base", &model, &components);
        prop_assert_eq!(&base.latencies_ns, &unchanged.latencies_ns);
        prop_assert_eq!(base.ledger.relative_energy(), 1.0);
        prop_assert!((base.loop_use - unchanged.loop_use).abs() < 1e-9);
        // A lever that is slower than the recording is long never helps.
        let late = replayed("latency=1s,policy=gc-boost", &model, &components);
        let (from_ns, to_ns) = model.span_ns;
        if model.events.iter().all(|one| one.lead_gc_kind.is_none()) && to_ns - from_ns < 1 << 29 {
            prop_assert_eq!(&late.latencies_ns, &unchanged.latencies_ns);
        }
    }

    #[test]
    fn energy_accounting_closes(seed in any::<u64>(), policy in 0..POLICIES.len()) {
        let (model, components) = grown(seed, 4_000);
        let scenario = scenario(POLICIES[policy], &components);
        let told = replay_told(&model, &scenario, &components);
        let sum = |speeds: &[AtSpeed]| speeds.iter().map(|one| one.total_ns).sum::<u64>();
        // Every nanosecond from the first request on is charged, and once; but what comes after
        // the last response.
        let last_ns = told.ran.iter().map(|one| one.end_ns).max().unwrap_or(0);
        prop_assert_eq!(sum(&told.ledger.all_speeds()), last_ns - model.span_ns.0);
        let speeds = told.ledger.speeds();
        let total_ns = sum(speeds);
        prop_assert!((1..=last_ns - model.span_ns.0).contains(&total_ns));
        prop_assert!(speeds.iter().all(|one| one.worked_ns <= one.total_ns));
        // Each time at its power, and together between the lowest and the highest of them.
        let powers = speeds.iter().map(|one| bobtail_policy::relative_power(one.ratio));
        let energy: f64 = speeds.iter().zip(powers.clone())
            .map(|(one, power)| one.total_ns as f64 * power).sum();
        let relative = told.ledger.relative_energy();
        prop_assert!((relative - energy / total_ns as f64).abs() < 1e-9);
        let most = powers.fold(0.0_f64, f64::max);
        prop_assert!((1.0 - 1e-9..=most + 1e-9).contains(&relative), "{}", relative);
    }

    #[test]
    fn every_event_runs_once_and_none_before_what_brings_it(
        seed in any::<u64>(),
        policy in 0..POLICIES.len(),
    ) {
        let (model, components) = grown(seed, 4_000);
        let told = replay_told(&model, &scenario(POLICIES[policy], &components), &components);
        ran_once_and_after_parents(&model, &told)?;
    }

    #[test]
    fn an_oracle_stays_within_its_energy(seed in any::<u64>(), budget in 1.0..2.8f64) {
        let (model, components) = grown(seed, 3_000);
        for domain in ["own", "shared"] {
            let policy = format!("domain={domain},policy=oracle:energy={budget}");
            let told = replayed(&policy, &model, &components);
            prop_assert!(told.ledger.relative_energy() <= budget + 1e-9);
        }
    }

    #[test]
    fn the_same_work_is_done_at_any_speed(seed in any::<u64>(), policy in 0..POLICIES.len()) {
        let (mut model, components) = grown(seed, 4_000);
        without_leads(&mut model);
        let told = replayed(POLICIES[policy], &model, &components);
        does_its_work(&model, &told.ledger)?;
    }

    #[test]
    fn nothing_is_boosted_without_a_reason(seed in any::<u64>(), policy in 2..POLICIES.len()) {
        let (model, components) = grown(seed, 4_000);
        let told = replayed(POLICIES[policy], &model, &components);
        let boosts = &told.ledger.boosts;
        for one in boosts {
            prop_assert!(!one.reasons.is_empty() && one.reasons != Reasons::HOLD);
            prop_assert!(one.from_ns <= one.to_ns);
        }
        prop_assert!(boosts.windows(2).all(|pair| pair[0].to_ns <= pair[1].from_ns));
        let collects = model.steps.iter().any(|step| matches!(step.action, Action::Collect(_)))
            || model.events.iter().any(|one| one.lead_gc_kind.is_some());
        if policy == 2 && !collects {
            prop_assert!(told.ledger.boosts.is_empty());
        }
    }

    #[test]
    fn no_speed_is_below_base_or_above_peak(seed in any::<u64>(), policy in 2..POLICIES.len()) {
        let (model, components) = grown(seed, 4_000);
        let told = replayed(POLICIES[policy], &model, &components);
        let ratios = told.ledger.speeds().iter().map(|one| one.ratio);
        let peak = 4.0 / 2.6 + 1e-9;
        prop_assert!(ratios.clone().all(|ratio| (1.0..=peak).contains(&ratio)));
        prop_assert!(told.ledger.relative_energy() <= 2.712 + 1e-9);
        prop_assert!((0.0..=1.0).contains(&told.ledger.fast_share()));
    }

    #[test]
    fn loops_that_share_a_lever_give_the_same_answer_again_and_a_fixed_speed_that_of_their_own(
        seed in any::<u64>(),
        policy in 0..POLICIES.len(),
        latency_us in 0..200_u32,
    ) {
        let mut components = Components::new();
        let models: Vec<Model> = (0..3).map(|n| {
            grown_with(seed ^ n, 1_500, &mut components)
        }).collect();
        let policy = POLICIES[policy].rsplit_once("policy=").unwrap_or_default().1;
        let told = |domain: &str| {
            let changes = format!("domain={domain},latency={latency_us}us,policy={policy}");
            replay_all(&models, &scenario(&changes, &components), &components)
        };
        let shared = told("shared");
        // Whatever the threads do, the answer is the same.
        prop_assert_eq!(&shared, &told("shared"));
        for (one, model) in shared.loops.iter().zip(&models) {
            prop_assert_eq!(one.latencies_ns.len(), model.recorded_ns().count());
            let total_ns: u64 = one.ledger.speeds().iter().map(|one| one.total_ns).sum();
            prop_assert!(total_ns > 0);
        }
        if policy.starts_with("static") {
            prop_assert_eq!(&shared, &told("own"));
        }
    }

    #[test]
    fn loops_that_share_a_lever_do_their_work_and_pay_for_the_speed_of_the_fastest(
        seed in any::<u64>(),
        policy in 0..POLICIES.len(),
    ) {
        let mut components = Components::new();
        let mut models: Vec<Model> = (0..3).map(|n| {
            grown_with(seed.wrapping_add(n), 1_500, &mut components)
        }).collect();
        models.iter_mut().for_each(without_leads);
        let policy = POLICIES[policy].rsplit_once("policy=").unwrap_or_default().1;
        let scenario = scenario(&format!("domain=shared,policy={policy}"), &components);
        let told = replay_all(&models, &scenario, &components);
        let mut all: Vec<Vec<AtSpeed>> = Vec::new();
        for (one, model) in told.loops.iter().zip(&models) {
            does_its_work(model, &one.ledger)?;
            all.push(one.ledger.all_speeds());
        }
        let total_ns = |speeds: &[AtSpeed]| speeds.iter().map(|one| one.total_ns).sum::<u64>();
        all.sort_by_key(|speeds| total_ns(speeds));
        // There is one speed at a time: who goes on for longer was at each at least as long.
        for pair in all.windows(2) {
            for at in &pair[0] {
                let of_longer = pair[1].iter().find(|one| one.ratio == at.ratio);
                let longer_ns = of_longer.map_or(0, |one| one.total_ns);
                prop_assert!(at.total_ns <= longer_ns, "{:?} of {:?}", at, pair);
            }
        }
    }

    #[test]
    fn the_loop_itself_is_no_component_and_as_fast_as_the_thread(seed in any::<u64>()) {
        let (mut model, components) = grown(seed, 3_000);
        for work_ns in &mut model.work_ns {
            let all_ns = work_ns.iter().sum();
            *work_ns = [0; CLASSES];
            work_ns[LOOP] = all_ns;
        }
        let unchanged = replay(&model, &Scenario::unchanged(), &components);
        let none = replayed("exec=0,not-running=0", &model, &components);
        prop_assert_eq!(&none.latencies_ns, &unchanged.latencies_ns);
        let peak = replayed("policy=static:peak", &model, &components);
        prop_assert!(peak.loop_use < 0.7 * unchanged.loop_use);
    }

    #[test]
    fn a_collection_before_a_callback_is_changed_with_the_others(seed in any::<u64>()) {
        let (mut model, components) = grown(seed, 3_000);
        for step in &mut model.steps {
            if let Action::Collect(_) | Action::Collected = step.action {
                step.action = Action::None;
            }
        }
        for event in &mut model.events {
            (event.lead_ns, event.lead_gc_ns) = (2_000_000, 1_000_000);
            event.lead_gc_kind = Some(CollectionKind::MarkCompact);
        }
        let boosts = |gc: f64| {
            let text = "latency=0ns,policy=gc-boost:worth=0";
            let mut scenario = scenario(text, &components);
            scenario.work = WorkFactors { gc, ..WorkFactors::UNCHANGED };
            replay(&model, &scenario, &components).ledger.boosts.len()
        };
        prop_assert!(boosts(1.0) > 0);
        prop_assert_eq!(boosts(0.0), 0);
    }

    #[test]
    fn the_same_policy_gives_the_same_answer(seed in any::<u64>(), policy in 0..POLICIES.len()) {
        let (model, components) = grown(seed, 3_000);
        let (again, _) = grown(seed, 3_000);
        let told = replayed(POLICIES[policy], &model, &components);
        prop_assert_eq!(&told, &replayed(POLICIES[policy], &again, &components));
    }
}

//! The daemon's decisions on a fake kernel: rights, bounds, arbitration, silence, faults, and that
//! nothing ever stays raised.

use std::time::Duration;

use bobtail_control::cpufreq::min_max::CpufreqMinMax;
use bobtail_control::topology::frequency_domains;
use bobtail_control::{Actuator, Asked, LeverKind};
use bobtail_daemon::config::Config;
use bobtail_daemon::protocol::{Answer, Refusal, Request, Want};
use bobtail_daemon::rights::Peer;
use bobtail_policy::Speed;
use bobtail_testkit::fake_kernel::{FakePolicy, Fault};
use desk::{Desk, MIN_MAX, PEER, USERSPACE, after_a_kill, config, granted, refusal, settings};
use proptest::prelude::*;

#[path = "support/desk.rs"]
mod desk;
#[path = "support/folder.rs"]
mod folder;

const POLICY0: &str = "sys/devices/system/cpu/cpufreq/policy0";
const MIN0: &str = "sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq";
const EACCES: i32 = 13;
const EIO: i32 = 5;
const EROFS: i32 = 30;
const MS: Duration = Duration::from_millis(1);

#[test]
fn the_highest_claim_of_a_domain_wins_and_the_last_one_puts_it_back() {
    let mut desk = Desk::new(config());
    let (one, two) = (desk.join(), desk.join());
    assert_eq!(
        granted(desk.raise(one, 0, 2_000_000)),
        (2_000_000, 2_000_000)
    );
    // CPU 1 shares the clock of CPU 0; CPU 2 does not.
    assert_eq!(
        granted(desk.raise(two, 1, 3_000_000)),
        (3_000_000, 3_000_000)
    );
    assert_eq!(
        granted(desk.raise(one, 0, 1_000_000)),
        (1_000_000, 3_000_000)
    );
    assert_eq!(
        granted(desk.raise(one, 2, 1_500_000)),
        (1_500_000, 1_500_000)
    );
    assert_eq!(
        (desk.min_khz(0), desk.min_khz(2)),
        ("3000000".into(), "1500000".into())
    );
    desk.lower(two, 1);
    assert_eq!(desk.min_khz(0), "1000000");
    desk.service.leave(one, desk.now);
    assert_eq!(
        (desk.min_khz(0), desk.min_khz(2)),
        ("800000".into(), "800000".into())
    );
}

#[test]
fn what_is_put_back_is_written_once() {
    let mut desk = Desk::new(config());
    let client = desk.join();
    granted(desk.raise(client, 0, 3_000_000));
    let before = desk.kernel.writes().len();
    desk.lower(client, 0);
    assert_eq!(desk.kernel.writes()[before..], [format!("{MIN0} = 800000")]);
}

#[test]
fn claims_are_clamped_to_the_rule_and_the_lever() {
    let mut desk = Desk::new(config());
    let client = desk.join();
    assert_eq!(
        granted(desk.raise(client, 0, 4_000_000)).0,
        3_300_000,
        "the rule's"
    );
    assert_eq!(granted(desk.raise(client, 0, 1)).0, 800_000, "the lever's");
    let want = Want {
        lever: MIN_MAX,
        target: 0,
    };
    let peak = Request::Raise {
        want,
        speed: Speed::Peak,
    };
    assert_eq!(granted(desk.ask(client, peak)).0, 3_300_000);
    let Answer::Offered(offer) = desk.ask(client, Request::Ask(want)) else {
        panic!("no offer");
    };
    assert_eq!((offer.lowest, offer.highest), (800_000, 3_300_000));
}

#[test]
fn who_is_not_named_gets_nothing() {
    let mut desk = Desk::new(config());
    let stranger = Peer { uid: 5, ..PEER };
    assert_eq!(
        desk.service.admit(stranger, desk.now),
        Err(Refusal::NotAllowed)
    );
    let client = desk.join();
    assert_eq!(
        refusal(desk.raise(client, 3, 2_000_000)),
        Refusal::NotAllowedHere
    );
    assert_eq!(
        refusal(desk.raise(client, 99, 2_000_000)),
        Refusal::NotAllowedHere
    );
    assert_eq!(desk.kernel.writes(), Vec::<String>::new());
}

#[test]
fn two_kinds_of_lever_do_not_fight_over_a_cpu() {
    let mut desk = Desk::new(config());
    let (one, two) = (desk.join(), desk.join());
    granted(desk.raise(one, 0, 2_000_000));
    let want = Want {
        lever: USERSPACE,
        target: 1,
    };
    let speed = Speed::Peak;
    let other = desk.ask(two, Request::Raise { want, speed });
    assert_eq!(refusal(other), Refusal::DomainBusy);
    desk.lower(one, 0);
    granted(desk.ask(two, Request::Raise { want, speed }));
}

#[test]
fn silence_is_the_end_of_claims_but_not_of_those_who_claim_nothing() {
    let mut desk = Desk::new(config());
    let (idle, silent, lively) = (desk.join(), desk.join(), desk.join());
    granted(desk.raise(silent, 0, 3_000_000));
    granted(desk.raise(lively, 0, 2_000_000));
    desk.pass(600 * MS);
    let beat = Request::Beat.encode(1, true);
    desk.service.receive(lively, beat.bytes(), desk.now);
    desk.pass(600 * MS);
    assert_eq!(desk.min_khz(0), "2000000", "the silent one's claim is gone");
    desk.pass(1000 * MS);
    assert_eq!(desk.min_khz(0), "800000");
    granted(desk.raise(idle, 0, 2_000_000));
}

#[test]
fn who_floods_or_claims_too_much_is_stopped() {
    let mut desk = Desk::new(Config {
        max_claims: 1,
        max_clients_per_user: 1,
        requests_per_second: 50,
        ..config()
    });
    let client = desk.join();
    let more = desk.service.admit(PEER, desk.now);
    assert_eq!(more, Err(Refusal::TooManyClients));
    granted(desk.raise(client, 0, 2_000_000));
    assert_eq!(
        refusal(desk.raise(client, 2, 2_000_000)),
        Refusal::TooManyClaims
    );
    let mut last = None;
    for _ in 0..50 {
        last = Some(desk.raise(client, 0, 2_000_000));
    }
    assert_eq!(refusal(last.unwrap()), Refusal::Flood);
}

#[test]
fn a_lever_that_refuses_leaves_nothing_behind_and_works_again() {
    let mut desk = Desk::new(config());
    let before = settings(&desk.kernel);
    let client = desk.join();
    for errno in [EACCES, EROFS] {
        desk.kernel.spoil(POLICY0, Fault::Open(errno));
        let answer = desk.raise(client, 0, 2_000_000);
        assert_eq!(refusal(answer), Refusal::NoLever);
        assert!(matches!(answer, Answer::Refused { detail, .. } if detail == errno as u32));
    }
    desk.kernel.mend(POLICY0);
    granted(desk.raise(client, 0, 2_000_000));
    desk.lower(client, 0);
    desk.kernel.spoil(MIN0, Fault::Write(EIO));
    assert_eq!(
        refusal(desk.raise(client, 0, 3_000_000)),
        Refusal::LeverFailed
    );
    assert_eq!(settings(&desk.kernel), before);
    desk.kernel.mend(MIN0);
    desk.pass(200 * MS);
    granted(desk.raise(client, 0, 3_000_000));
}

#[test]
fn a_lever_that_turns_read_only_while_raised_is_put_back_when_it_can_be() {
    let mut desk = Desk::new(config());
    let before = settings(&desk.kernel);
    let client = desk.join();
    granted(desk.raise(client, 0, 3_000_000));
    desk.kernel.spoil(MIN0, Fault::Write(EROFS));
    desk.service.leave(client, desk.now);
    assert_eq!(desk.min_khz(0), "3000000", "nobody could");
    let other = desk.join();
    assert_eq!(
        refusal(desk.raise(other, 0, 1_000_000)),
        Refusal::LeverFailed
    );
    for _ in 0..5 {
        desk.pass(Duration::from_secs(9));
    }
    assert_eq!(
        after_a_kill(&desk.kernel, &desk.journal),
        before,
        "the journal still has it"
    );
    desk.kernel.mend(MIN0);
    desk.pass(Duration::from_secs(11));
    assert_eq!(settings(&desk.kernel), before);
}

#[test]
fn a_cpu_that_went_away_raised_is_put_back_when_it_returns() {
    let mut desk = Desk::new(config());
    let before = settings(&desk.kernel);
    let client = desk.join();
    granted(desk.raise(client, 0, 3_000_000));
    let with_cpu = desk.kernel.texts();
    desk.kernel.remove(POLICY0);
    desk.service.leave(client, desk.now);
    desk.pass(Duration::from_secs(9));
    for (path, text) in with_cpu {
        let below = path.strip_prefix("/fake").unwrap();
        desk.kernel.put(below.to_str().unwrap(), text.trim());
    }
    assert_eq!(
        desk.min_khz(0),
        "3000000",
        "as the kernel keeps it over hotplug"
    );
    desk.pass(Duration::from_secs(11));
    assert_eq!(settings(&desk.kernel), before);
}

#[test]
fn what_others_set_between_two_boosts_is_what_is_put_back() {
    let mut desk = Desk::new(config());
    let client = desk.join();
    granted(desk.raise(client, 0, 3_000_000));
    desk.lower(client, 0);
    desk.kernel.put(MIN0, "1200000");
    granted(desk.raise(client, 0, 3_000_000));
    desk.lower(client, 0);
    assert_eq!(desk.min_khz(0), "1200000");
}

#[test]
fn without_a_journal_nothing_is_raised() {
    let mut desk = Desk::new(config());
    let before = settings(&desk.kernel);
    let client = desk.join();
    // Root may write into any directory, but not into one that is not there.
    std::fs::remove_dir_all(&desk.folder.0).unwrap();
    assert_eq!(
        refusal(desk.raise(client, 0, 3_000_000)),
        Refusal::NoJournal
    );
    assert_eq!(settings(&desk.kernel), before);
    std::fs::create_dir(&desk.folder.0).unwrap();
    granted(desk.raise(client, 0, 3_000_000));
}

#[test]
fn a_base_of_the_configuration_holds_while_someone_claims() {
    let mut desk = Desk::new(Config {
        levers: vec![(
            MIN_MAX,
            Asked {
                base: Some(2_600_000),
                ..Asked::default()
            },
        )],
        ..config()
    });
    let before = settings(&desk.kernel);
    let client = desk.join();
    let want = Want {
        lever: MIN_MAX,
        target: 0,
    };
    let speed = Speed::Base;
    assert_eq!(
        granted(desk.ask(client, Request::Raise { want, speed })).0,
        2_600_000
    );
    desk.service.leave(client, desk.now);
    assert_eq!(settings(&desk.kernel), before);
}

#[test]
fn what_another_owner_holds_is_left_to_it() {
    let mut desk = Desk::new(config());
    let client = desk.join();
    let want = Want {
        lever: MIN_MAX,
        target: 0,
    };
    // Opened before the other takes hold, so that what it would go back to is not what stands.
    desk.ask(client, Request::Ask(want));
    let host = desk.kernel.host();
    let domain = frequency_domains(&host).unwrap().remove(0);
    let mut other = CpufreqMinMax::open(&host, &domain, &[], &Asked::default()).unwrap();
    other.apply(Speed::Khz(3_900_000)).unwrap();
    let answer = desk.raise(client, 0, 2_000_000);
    assert!(
        matches!(
            answer,
            Answer::Refused {
                refusal: Refusal::LeverFailed,
                detail: 16
            }
        ),
        "{answer:?}"
    );
    assert_eq!(desk.min_khz(0), "3900000");
    desk.pass(Duration::from_secs(11));
    assert_eq!(desk.min_khz(0), "3900000");
    drop(other);
    desk.pass(Duration::from_secs(11));
    granted(desk.raise(client, 0, 2_000_000));
}

#[test]
fn a_lever_without_frequencies_has_base_and_peak() {
    let lever = LeverKind::EnergyPreference;
    let offers = [None, Some(1)].map(|highest| {
        let mut config = config();
        config.allow[0].levers = vec![lever];
        config.allow[0].highest = highest;
        let mut desk = Desk::new(config);
        desk.kernel.cpufreq(&FakePolicy {
            driver: "amd-pstate-epp",
            governors: "performance powersave",
            governor: "powersave",
            ..FakePolicy::of_cpu(2)
        });
        let before = desk.kernel.texts();
        let client = desk.join();
        let want = Want { lever, target: 2 };
        let speed = Speed::Peak;
        let (granted, _) = granted(desk.ask(client, Request::Raise { want, speed }));
        let file = "sys/devices/system/cpu/cpufreq/policy2/energy_performance_preference";
        let text = desk.kernel.text(file);
        desk.service.leave(client, desk.now);
        assert_eq!(desk.kernel.texts(), before);
        (granted, text)
    });
    assert_eq!(offers[0].1, "performance");
    assert_eq!(
        offers[1].1, "balance_performance",
        "the rule keeps it from its peak"
    );
    assert!(offers[1].0 < offers[0].0);
}

#[test]
fn nothing_but_the_protocol_is_understood() {
    let mut desk = Desk::new(config());
    let client = desk.service.admit(PEER, desk.now).unwrap();
    let early = desk.ask(client, Request::LowerAll);
    assert_eq!(refusal(early), Refusal::BadFrame, "HELLO comes first");
    let client = desk.service.admit(PEER, desk.now).unwrap();
    let newer = Request::Hello {
        oldest: 2,
        newest: 9,
    };
    assert_eq!(refusal(desk.ask(client, newer)), Refusal::Version);
    let reply = desk.service.receive(client, b"GET / HTTP/1.1", desk.now);
    assert!(reply.ends);
    desk.pass(1001 * MS);
    let gone = desk
        .service
        .receive(client, Request::Beat.encode(1, false).bytes(), desk.now);
    assert!(gone.frame.is_none(), "who says no HELLO is gone");
}

/// One step of a made-up life of the daemon.
#[derive(Debug, Clone)]
enum Step {
    Join,
    Raise(usize, u32, u32),
    Lower(usize, u32),
    Leave(usize),
    Spoil(u8),
    Mend,
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let client = 0usize..4;
    prop_oneof![
        2 => Just(Step::Join),
        6 => (client.clone(), 0u32..3, 7u32..42)
            .prop_map(|(client, cpu, speed)| Step::Raise(client, cpu, speed * 100_000)),
        3 => (client.clone(), 0u32..3).prop_map(|(client, cpu)| Step::Lower(client, cpu)),
        2 => client.prop_map(Step::Leave),
        1 => (0u8..3).prop_map(Step::Spoil),
        2 => Just(Step::Mend),
        3 => (0u64..1500).prop_map(Step::Pass),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(100)
    })]
    /// Whatever clients do and levers refuse: a kill at any moment is mended by the journal, and
    /// when all are gone and the levers work, all is as it was.
    #[test]
    fn no_lever_is_ever_left_raised(steps in proptest::collection::vec(step(), 1..40)) {
        let mut desk = Desk::new(config());
        let before = settings(&desk.kernel);
        let mut clients = Vec::new();
        let nth = |clients: &Vec<u64>, index: usize| {
            clients.get(index % clients.len().max(1)).copied().unwrap_or_default()
        };
        let faults = [Fault::Open(EACCES), Fault::Write(EROFS), Fault::Write(EIO)];
        for step in steps {
            match step {
                Step::Join if clients.len() < 4 => clients.push(desk.join()),
                Step::Join => {}
                Step::Raise(client, target, khz) => {
                    let want = Want { lever: MIN_MAX, target };
                    let speed = Speed::Khz(khz);
                    let frame = Request::Raise { want, speed }.encode(1, true);
                    desk.service.receive(nth(&clients, client), frame.bytes(), desk.now);
                }
                Step::Lower(client, target) => {
                    let frame = Request::Lower(Want { lever: MIN_MAX, target }).encode(1, true);
                    desk.service.receive(nth(&clients, client), frame.bytes(), desk.now);
                }
                Step::Leave(client) => {
                    let leaving = nth(&clients, client);
                    desk.service.leave(leaving, desk.now);
                    clients.retain(|other| *other != leaving);
                }
                Step::Spoil(fault) => desk.kernel.spoil(POLICY0, faults[fault as usize]),
                Step::Mend => desk.kernel.mend(POLICY0),
                Step::Pass(ms) => desk.pass(Duration::from_millis(ms)),
            }
            prop_assert_eq!(&after_a_kill(&desk.kernel, &desk.journal), &before);
        }
        desk.kernel.mend(POLICY0);
        for client in clients {
            desk.service.leave(client, desk.now);
        }
        for _ in 0..3 {
            desk.pass(Duration::from_secs(11));
        }
        prop_assert_eq!(&settings(&desk.kernel), &before);
        let (left, _) = desk.service.end(desk.now);
        prop_assert_eq!(left, 0);
    }
}

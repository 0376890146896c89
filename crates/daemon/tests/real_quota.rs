//! That a raised quota keeps its account on the kernel of this machine: a group whose threads want
//! all there is has no more than its quota in the long run, whatever its clients ask for.

use std::time::{Duration, Instant};

use bobtail_control::{Host, LeverKind};
use bobtail_daemon::config::{Config, Rule};
use bobtail_daemon::holdings::Holdings;
use bobtail_daemon::journal::Journal;
use bobtail_daemon::protocol::{Request, VERSION, Want};
use bobtail_daemon::rights::Peer;
use bobtail_daemon::service::Service;
use bobtail_policy::Speed;
use folder::Folder;
use real_group::{Account, RealGroup};

#[path = "support/folder.rs"]
mod folder;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../control/tests/support/real_group.rs"]
mod real_group;

const MS: Duration = Duration::from_millis(1);
const QUOTA_US: u32 = 30_000;
const PERIOD_US: u32 = 100_000;
const WANT: Want = Want {
    lever: LeverKind::Quota,
    target: 0,
};

/// How clients of a group move its quota.
#[derive(Debug, Clone, Copy)]
struct Pattern {
    account: Account,
    burst_us: u32,
    raised: Duration,
    lowered: Duration,
}

/// CPUs' worth of time that a busy group had, and by how much that is beyond its quota, in ms.
fn taken(pattern: Pattern, time: Duration) -> (f64, f64) {
    let mut group = RealGroup::counted("daemon-test", pattern.account);
    group.limit(QUOTA_US);
    group.burst(pattern.burst_us);
    let pid = group.spin(2) as i32;
    let folder = Folder::new();
    let host = Host::default();
    let journal = Journal::begin(&folder.0.join("journal.json"), &host, "test", vec![]).unwrap();
    let rule = Rule {
        users: vec![0],
        levers: vec![LeverKind::Quota],
        ..Rule::default()
    };
    let config = Config {
        allow: vec![rule],
        ..Config::default()
    };
    let mut service = Service::new(config, Holdings::new(host, journal));
    let peer = Peer {
        pid,
        uid: 0,
        gid: 0,
    };
    let began = Instant::now();
    let client = service.admit(peer, began.elapsed()).unwrap();
    let ask = |service: &mut Service, request: Request| {
        let frame = request.encode(1, true);
        service.receive(client, frame.bytes(), began.elapsed());
    };
    let hello = Request::Hello {
        oldest: VERSION,
        newest: VERSION,
    };
    ask(&mut service, hello);
    // What the group has saved up before is its own.
    std::thread::sleep(300 * MS);
    let (since, before_ns) = (Instant::now(), group.used_ns());
    while since.elapsed() < time {
        let raise = Request::Raise {
            want: WANT,
            speed: Speed::Peak,
        };
        for (request, pause) in [
            (raise, pattern.raised),
            (Request::Lower(WANT), pattern.lowered),
        ] {
            ask(&mut service, request);
            let asked = Instant::now();
            while asked.elapsed() < pause {
                std::thread::sleep(MS.min(pause));
                service.tick(began.elapsed());
            }
        }
    }
    let used_ms = (group.used_ns() - before_ns) as f64 / 1e6;
    let elapsed_ms = since.elapsed().as_secs_f64() * 1e3;
    let due_ms = elapsed_ms * f64::from(QUOTA_US) / f64::from(PERIOD_US);
    service.end(began.elapsed());
    (used_ms / elapsed_ms, used_ms - due_ms)
}

/// Where the group is counted, its burst, and how long clients want the peak and do not, in ms.
const BRIEF: [(Account, u32, u32, u32); 3] = [
    (Account::Same, QUOTA_US, 20, 20),
    (Account::Same, QUOTA_US, 0, 1200),
    (Account::Another, 0, 20, 20),
];
const RHYTHMS_MS: [(u32, u32); 6] = [(5, 5), (20, 20), (10, 300), (10, 1300), (0, 20), (0, 1200)];

/// All that is tried when there is time for it.
fn all() -> Vec<(Account, u32, u32, u32)> {
    let mut all = vec![];
    for account in [Account::Same, Account::Another, Account::Machine] {
        for burst_us in [0, QUOTA_US] {
            let rhythms = RHYTHMS_MS.iter();
            all.extend(rhythms.map(|(raised, lowered)| (account, burst_us, *raised, *lowered)));
        }
    }
    all
}

/// With `BOBTAIL_QUOTA_SECONDS` all patterns are tried, each for so long.
#[test]
#[allow(clippy::print_stderr, reason = "the figures are what it is asked for")]
fn a_busy_group_gets_no_more_than_its_quota_however_it_is_boosted() {
    let told = std::env::var("BOBTAIL_QUOTA_SECONDS");
    let told: Option<u64> = told.ok().and_then(|seconds| seconds.parse().ok());
    let patterns = told.map_or_else(|| BRIEF.to_vec(), |_| all());
    let time = Duration::from_secs(told.unwrap_or(4));
    let mut too_much = vec![];
    for (account, burst_us, raised, lowered) in patterns {
        let pattern = Pattern {
            account,
            burst_us,
            raised: raised * MS,
            lowered: lowered * MS,
        };
        let (cpus, beyond_ms) = taken(pattern, time);
        let line = format!("{pattern:?}: {cpus:.3} CPUs, {beyond_ms:.0} ms beyond the quota");
        eprintln!("{line}");
        // What it may owe, what two CPUs take until that is seen, and what is filled up when it is
        // lowered; and the window is not that of the kernel's periods.
        let burst_ms = f64::from(burst_us) / 1e3;
        if beyond_ms > 30.0 + 20.0 + 30.0 + burst_ms + 30.0 {
            too_much.push(line);
        }
    }
    assert!(too_much.is_empty(), "{too_much:#?}");
}

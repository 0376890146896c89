//! The daemon without sockets, on a fake kernel and with a clock of the test's own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use bobtail_control::{Host, LeverKind};
use bobtail_daemon::claims::ClientId;
use bobtail_daemon::config::{Config, Rule};
use bobtail_daemon::holdings::Holdings;
use bobtail_daemon::journal::{self, Journal};
use bobtail_daemon::protocol::{Answer, Refusal, Request, VERSION, Want};
use bobtail_daemon::rights::Peer;
use bobtail_daemon::service::Service;
use bobtail_policy::Speed;
use bobtail_testkit::fake_kernel::{FakeKernel, FakePolicy};

use super::folder::Folder;

pub const MIN_MAX: LeverKind = LeverKind::CpufreqMinMax;
pub const USERSPACE: LeverKind = LeverKind::CpufreqUserspace;
pub const PEER: Peer = Peer {
    pid: 7,
    uid: 1000,
    gid: 1000,
};

pub struct Desk {
    pub kernel: FakeKernel,
    pub service: Service,
    pub now: Duration,
    pub journal: PathBuf,
    pub folder: Folder,
}

/// CPUs 0 and 1 share a clock; 2 and 3 have their own.
pub fn kernel() -> FakeKernel {
    let kernel = FakeKernel::with_cpus(4);
    kernel.cpufreq(&FakePolicy {
        cpus: vec![0, 1],
        ..FakePolicy::of_cpu(0)
    });
    kernel.cpufreq(&FakePolicy::of_cpu(2));
    kernel.cpufreq(&FakePolicy::of_cpu(3));
    kernel
}

/// User 1000 may move both levers of CPUs 0 to 2 up to 3.3 GHz.
pub fn config() -> Config {
    Config {
        allow: vec![Rule {
            users: vec![PEER.uid],
            levers: vec![MIN_MAX, USERSPACE],
            cpus: Some(vec![0, 1, 2]),
            highest: Some(3_300_000),
            ..Rule::default()
        }],
        ..Config::default()
    }
}

impl Desk {
    pub fn new(config: Config) -> Self {
        let (folder, kernel) = (Folder::new(), kernel());
        let journal = folder.0.join("journal.json");
        let begun = Journal::begin(&journal, &kernel.host(), "test", vec![]).unwrap();
        Self {
            service: Service::new(config, Holdings::new(kernel.host(), begun)),
            now: Duration::from_secs(5),
            kernel,
            journal,
            folder,
        }
    }

    pub fn join(&mut self) -> ClientId {
        let client = self.service.admit(PEER, self.now).unwrap();
        let hello = Request::Hello {
            oldest: VERSION,
            newest: VERSION,
        };
        let welcome = self.ask(client, hello);
        assert!(matches!(welcome, Answer::Welcome { .. }), "{welcome:?}");
        client
    }

    /// The answer to a request that has one.
    pub fn ask(&mut self, client: ClientId, request: Request) -> Answer {
        let frame = request.encode(3, false);
        let reply = self.service.receive(client, frame.bytes(), self.now);
        let frame = reply.frame.expect("an answer");
        Answer::decode(frame.bytes()).unwrap().0
    }

    pub fn raise(&mut self, client: ClientId, target: u32, khz: u32) -> Answer {
        let lever = MIN_MAX;
        let want = Want { lever, target };
        let speed = Speed::Khz(khz);
        self.ask(client, Request::Raise { want, speed })
    }

    pub fn lower(&mut self, client: ClientId, target: u32) -> Answer {
        let lever = MIN_MAX;
        self.ask(client, Request::Lower(Want { lever, target }))
    }

    pub fn pass(&mut self, time: Duration) {
        self.now += time;
        self.service.expire(self.now);
        self.service.tick(self.now);
    }

    pub fn min_khz(&self, policy: u32) -> String {
        let path = format!("sys/devices/system/cpu/cpufreq/policy{policy}/scaling_min_freq");
        self.kernel.text(&path)
    }
}

/// What a restart or a guard would do now: the kernel's texts after the journal was followed.
pub fn after_a_kill(kernel: &FakeKernel, journal: &std::path::Path) -> BTreeMap<PathBuf, String> {
    let copy = FakeKernel::default();
    for (path, text) in kernel.texts() {
        let below = path.strip_prefix("/fake").unwrap().to_str().unwrap();
        copy.put(below, text.trim());
    }
    let host: Host = copy.host();
    let content = journal::read(journal, &host).expect("readable");
    let content = content.expect("of this boot");
    for saved in &content.entries {
        saved.restore(&host);
    }
    settings(&copy)
}

/// All settings: what the levers may change, without what only tells the state of others.
pub fn settings(kernel: &FakeKernel) -> BTreeMap<PathBuf, String> {
    let mut texts = kernel.texts();
    let is_setting = |path: &std::path::Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("scaling_") && name != "scaling_cur_freq")
    };
    texts.retain(|path, _| is_setting(path));
    texts
        .into_iter()
        .map(|(path, text)| (path, text.trim().to_owned()))
        .collect()
}

/// What was granted, and where the lever stands.
pub fn granted(answer: Answer) -> (u32, u32) {
    match answer {
        Answer::Granted { granted, effective } => (granted, effective),
        other => panic!("not granted: {other:?}"),
    }
}

pub fn refusal(answer: Answer) -> Refusal {
    match answer {
        Answer::Refused { refusal, .. } => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

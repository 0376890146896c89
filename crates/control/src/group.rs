//! The CPU time of a control group, v1 or v2: where its settings are and what they say.
//!
//! In containers these are the only levers. Both versions have the same two, under other names.

pub mod assumed;
pub mod burst;
pub mod ledger;
pub mod quota;
mod repayment;

use crate::error::ControlError;
use crate::files::Ownership;
use crate::host::{Host, Place};
use crate::knob::Knob;
use crate::lever::LeverKind;
use crate::syscalls;

/// Where the v1 CPU controller, and v2, may be mounted below the root of control groups.
const V1_MOUNTS: [&str; 2] = ["cpu", "cpu,cpuacct"];
const V1_USAGE_MOUNTS: [&str; 2] = ["cpuacct", "cpu,cpuacct"];
const V2_MOUNTS: [&str; 2] = ["", "unified"];

/// Where a group is in the hierarchies, without the leading `/`. Each of v1 has groups of its own,
/// so that the account of CPU time may be another's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupPath {
    /// Of the CPU controller.
    pub settings: String,
    account: String,
}

impl GroupPath {
    fn new(settings: &str, account: &str) -> Self {
        let [settings, account] = [settings, account].map(|path| path.trim_matches('/').to_owned());
        Self { settings, account }
    }
}

/// The CPU settings of one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuGroup {
    /// The group's path in its hierarchy, without the leading `/`.
    pub path: String,
    version: Version,
    /// The directory of its settings below the root of control groups.
    directory: String,
    /// The directory of v1's own account of CPU time.
    usage_directory: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

impl CpuGroup {
    /// The group of a process, by its id or `self`.
    ///
    /// # Errors
    ///
    /// When the process is gone, or its group has no CPU controller (as the root has none).
    pub fn of_process(host: &Host, kind: LeverKind, process: &str) -> Result<Self, ControlError> {
        Self::at(host, kind, &Self::path_of_process(host, process)?)
    }

    /// The path of the group of a process, whether or not it has settings.
    ///
    /// # Errors
    ///
    /// When the process is gone.
    pub fn path_of_process(host: &Host, process: &str) -> Result<GroupPath, ControlError> {
        let text = host.read(&Place::proc(format!("{process}/cgroup")))?;
        // `1:cpu,cpuacct:/path` in v1, `0::/path` in v2; v1 is in charge where both are there.
        let of = |wanted: &str| {
            text.lines().find_map(|line| {
                let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
                let mut names = controllers.split(',');
                names.any(|name| name == wanted).then_some(path)
            })
        };
        let settings = of("cpu").or_else(|| of("")).unwrap_or_default();
        Ok(GroupPath::new(settings, of("cpuacct").unwrap_or(settings)))
    }

    /// The group of this path, which is that of its account too.
    ///
    /// # Errors
    ///
    /// When it has no CPU controller.
    pub fn find(host: &Host, kind: LeverKind, path: &str) -> Result<Self, ControlError> {
        Self::at(host, kind, &GroupPath::new(path, path))
    }

    /// The group at these paths.
    ///
    /// # Errors
    ///
    /// When it has no CPU controller.
    pub fn at(host: &Host, kind: LeverKind, paths: &GroupPath) -> Result<Self, ControlError> {
        let path = paths.settings.clone();
        let has = |directory: &str, file: &str| {
            let place = Place::cgroup(join(directory, file));
            Ok::<_, ControlError>(host.read_if_there(&place)?.is_some())
        };
        for mount in V1_MOUNTS {
            let directory = join(mount, &path);
            // Only the machine's own root has a release agent, and no quota can be set there.
            if has(&directory, "cpu.cfs_quota_us")? && !has(&directory, "release_agent")? {
                return Ok(Self {
                    usage_directory: account_of(host, &paths.account)?,
                    version: Version::V1,
                    path,
                    directory,
                });
            }
        }
        for mount in V2_MOUNTS {
            let directory = join(mount, &path);
            if has(&directory, "cpu.max")? {
                return Ok(Self {
                    usage_directory: Some(directory.clone()),
                    version: Version::V2,
                    path,
                    directory,
                });
            }
        }
        Err(ControlError::Unavailable {
            lever: kind,
            why: why_not(host, &path)?,
        })
    }

    /// Whether it is one of cgroup v2, which moves whole processes: no thread can be taken out.
    pub fn is_of_v2(&self) -> bool {
        self.version == Version::V2
    }

    fn place(&self, file: &str) -> Place {
        Place::cgroup(join(&self.directory, file))
    }

    fn quota_place(&self) -> Place {
        self.place(match self.version {
            Version::V1 => "cpu.cfs_quota_us",
            Version::V2 => "cpu.max",
        })
    }

    fn burst_place(&self) -> Place {
        self.place(match self.version {
            Version::V1 => "cpu.cfs_burst_us",
            Version::V2 => "cpu.max.burst",
        })
    }

    /// That nobody may make groups inside but root and this process's own user, who may move the
    /// quota anyway. In v1 the kernel takes none below that of a group inside
    /// (`tg_cfs_schedulable_down`): who makes one while it is raised keeps it raised by that.
    fn check_undivided(&self, host: &Host, kind: LeverKind) -> Result<(), ControlError> {
        if self.version == Version::V2 {
            return Ok(());
        }
        let Ownership { user, mode } = host.ownership(&Place::cgroup(&self.directory))?;
        let is_others = user != 0 && user != syscalls::effective_user();
        if !is_others && mode & 0o022 == 0 {
            return Ok(());
        }
        let who = match is_others {
            true => format!("user {user}"),
            false => format!("others than its owner (mode {mode:o})"),
        };
        let path = &self.path;
        Err(ControlError::Unavailable {
            lever: kind,
            why: format!("{who} may make groups in /{path}, by which a raised quota stays raised"),
        })
    }

    /// What an owner of any of its levers holds.
    fn marks(&self, host: &Host) -> Result<Vec<Place>, ControlError> {
        let burst = self.burst_place();
        let has_burst = host.read_if_there(&burst)?.is_some();
        Ok(std::iter::once(self.quota_place())
            .chain(has_burst.then_some(burst))
            .collect())
    }

    /// Where a thread enters the group and its account; nowhere in v2, which moves whole processes.
    fn tasks_places(&self) -> Vec<Place> {
        if self.version == Version::V2 {
            return vec![];
        }
        let account = self.usage_directory.iter();
        let account = account.filter(|directory| **directory != self.directory);
        let account = account.map(|directory| Place::cgroup(join(directory, "tasks")));
        std::iter::once(self.place("tasks"))
            .chain(account)
            .collect()
    }

    /// Takes a thread, or with `is_process` a whole process, out of the group, to the root of its
    /// hierarchy: who drives a quota must not be held back by it. False where there is no way: in
    /// v2, where a thread stays with its process, and in a container that sees nothing above it.
    ///
    /// # Errors
    ///
    /// The kernel's refusal.
    pub fn leave(&self, host: &Host, id: u32, is_process: bool) -> Result<bool, ControlError> {
        if self.version == Version::V2 || self.path.is_empty() {
            return Ok(false);
        }
        let mount = self.directory.strip_suffix(self.path.as_str());
        let Some(mount) = mount.and_then(|mount| mount.strip_suffix('/')) else {
            return Ok(false);
        };
        let file = if is_process { "cgroup.procs" } else { "tasks" };
        let place = Place::cgroup(join(mount, file));
        Knob::open(host, place)?.write_number(id.into())?;
        Ok(true)
    }

    /// How often the kernel has held the group back.
    fn throttled(&self, host: &Host) -> Result<u64, ControlError> {
        let text = host.read_if_there(&self.place("cpu.stat"))?;
        let text = text.unwrap_or_default();
        let count = text
            .lines()
            .find_map(|line| line.strip_prefix("nr_throttled "));
        Ok(count.and_then(|count| count.parse().ok()).unwrap_or(0))
    }

    /// Quota, if there is one, and period, in µs.
    fn limit(&self, host: &Host) -> Result<(Option<u32>, u32), ControlError> {
        let place = self.quota_place();
        let text = host.read(&place)?;
        let (quota, period) = match self.version {
            Version::V1 => (text.clone(), host.read(&self.place("cpu.cfs_period_us"))?),
            Version::V2 => match text.split_once(' ') {
                Some((quota, period)) => (quota.to_owned(), period.to_owned()),
                None => (text.clone(), String::new()),
            },
        };
        let malformed = || {
            Ok(ControlError::Malformed {
                path: host.path(&place)?,
                value: format!("{quota} {period}"),
                expected: "a quota and a period",
            })
        };
        let Ok(period) = period.parse() else {
            return Err(malformed().unwrap_or_else(|error| error));
        };
        if quota == "-1" || quota == "max" {
            return Ok((None, period));
        }
        match quota.parse() {
            Ok(quota) => Ok((Some(quota), period)),
            Err(_) => Err(malformed().unwrap_or_else(|error| error)),
        }
    }

    /// The lowest quota of the groups around this one, in µs of its period; none where none of
    /// those that can be seen has one. A container sees nothing above its own.
    fn outer_limit_us(&self, host: &Host, period_us: u32) -> Result<Option<u32>, ControlError> {
        let mut lowest: Option<u32> = None;
        let mut group = self.clone();
        while let Some((path, _)) = group.path.clone().rsplit_once('/') {
            let Some((directory, _)) = group.directory.rsplit_once('/') else {
                break;
            };
            group.directory = directory.to_owned();
            group.path = path.to_owned();
            if host.read_if_there(&group.quota_place())?.is_none() {
                continue;
            }
            if let (Some(quota_us), outer_period_us) = group.limit(host)? {
                let of_period = u64::from(quota_us) * u64::from(period_us);
                let of_period = of_period / u64::from(outer_period_us.max(1));
                let of_period = u32::try_from(of_period).unwrap_or(u32::MAX);
                lowest = Some(lowest.map_or(of_period, |lowest| lowest.min(of_period)));
            }
        }
        Ok(lowest)
    }

    /// CPU time that the group has used, in ns; none where nobody keeps that account.
    fn used_ns(&self, host: &Host) -> Result<Option<u64>, ControlError> {
        let Some(directory) = &self.usage_directory else {
            return Ok(None);
        };
        if self.version == Version::V1 {
            let place = Place::cgroup(join(directory, "cpuacct.usage"));
            return host.read_number(&place).map(Some);
        }
        let text = host.read(&Place::cgroup(join(directory, "cpu.stat")))?;
        let used = text
            .lines()
            .find_map(|line| line.strip_prefix("usage_usec "));
        Ok(used
            .and_then(|used| used.parse::<u64>().ok())
            .map(|us| us * 1000))
    }
}

/// Why a group has no setting to raise: what to do about it differs.
fn why_not(host: &Host, path: &str) -> Result<String, ControlError> {
    let mut is_mounted = false;
    for mount in V1_MOUNTS.into_iter().chain(V2_MOUNTS) {
        is_mounted |= !host.list(&Place::cgroup(mount))?.is_empty();
        if !host.list(&Place::cgroup(join(mount, path)))?.is_empty() && !path.is_empty() {
            return Ok(format!("the control group /{path} has no CPU controller"));
        }
    }
    Ok(match (is_mounted, path) {
        (false, _) => "no control groups are mounted at /sys/fs/cgroup".to_owned(),
        (true, "") => "the process is in no control group but the root".to_owned(),
        (true, path) => format!("the control group /{path} is not to be seen from here"),
    })
}

/// The directory of v1's account of CPU time for a path of that hierarchy; none where there is
/// no such account, or only that of the whole machine, which tells nothing of a group.
fn account_of(host: &Host, path: &str) -> Result<Option<String>, ControlError> {
    for mount in V1_USAGE_MOUNTS {
        let directory = join(mount, path);
        let has = |file: &str| host.read_if_there(&Place::cgroup(join(&directory, file)));
        if has("cpuacct.usage")?.is_some() {
            let is_machines = has("release_agent")?.is_some();
            return Ok((!is_machines).then_some(directory));
        }
    }
    Ok(None)
}

fn join(directory: &str, name: &str) -> String {
    match (directory, name) {
        ("", name) => name.to_owned(),
        (directory, "") => directory.to_owned(),
        (directory, name) => format!("{directory}/{name}"),
    }
}

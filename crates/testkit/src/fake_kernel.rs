//! A kernel's settings in memory, with the kernel's manners: what it refuses, clamps and forgets.
//!
//! A copy of `/sys` in a directory takes every value; real levers fail by EACCES, EROFS, EINVAL
//! and EBUSY, lose their files with a CPU, or take a value and do nothing. Each of these is one
//! call here. The rules follow `drivers/cpufreq/cpufreq.c`, `intel_pstate.c`, `amd-pstate.c` and
//! `kernel/sched/core.c` of Linux 6.

mod bandwidth;
mod groups;
mod rules;
mod threads;

pub use threads::FakeThreads;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bobtail_control::Host;
use bobtail_control::files::{Files, KnobFile, Ownership};

/// Where the tree of a fake kernel seems to be.
const ROOT: &str = "/fake";

/// A kernel's settings; clones are the same kernel.
#[derive(Debug, Clone, Default)]
pub struct FakeKernel(Arc<Mutex<Tree>>);

#[derive(Debug, Default)]
pub(crate) struct Tree {
    texts: BTreeMap<PathBuf, String>,
    faults: BTreeMap<PathBuf, Fault>,
    /// Of directories; root's, of mode 755, where nothing is said.
    owned: BTreeMap<PathBuf, Ownership>,
    held: BTreeMap<PathBuf, u64>,
    writes: Vec<(PathBuf, String)>,
    /// What a file still says though it was written, and how often it will.
    late: BTreeMap<PathBuf, (String, u32)>,
    /// CPU time that writes have given to control groups, in µs, by the group's directory.
    refilled_us: BTreeMap<PathBuf, u64>,
    opened: u64,
}

/// What is wrong with a file, or with everything in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Opening it for writing fails with this number of an error (EACCES, EROFS).
    Open(i32),
    /// Writing it fails so (EINVAL, EBUSY, EIO).
    Write(i32),
    /// It takes every value and keeps its own.
    Ignores,
}

/// How often a bound of cpufreq is read before it shows what was written: the kernel applies it on
/// a thread of its own (`cpufreq_notifier_min`, `handle_update`).
const LATE_READS: u32 = 2;

/// A cpufreq policy.
#[derive(Debug, Clone)]
pub struct FakePolicy {
    pub number: u32,
    /// `related_cpus`
    pub cpus: Vec<u32>,
    /// `freqdomain_cpus`, which only some drivers have.
    pub coupled_cpus: Option<Vec<u32>>,
    pub driver: &'static str,
    pub governors: &'static str,
    pub governor: &'static str,
    pub min_khz: u32,
    pub max_khz: u32,
    pub latency_ns: u32,
}

impl FakePolicy {
    /// The policy of one CPU: acpi-cpufreq, 0.8 to 4.0 GHz, every governor, schedutil in use.
    pub fn of_cpu(cpu: u32) -> Self {
        Self {
            number: cpu,
            cpus: vec![cpu],
            coupled_cpus: None,
            driver: "acpi-cpufreq",
            governors: "conservative ondemand userspace powersave performance schedutil",
            governor: "schedutil",
            min_khz: 800_000,
            max_khz: 4_000_000,
            latency_ns: 10_000,
        }
    }
}

impl FakeKernel {
    /// A machine with this many CPUs, each a core of its own, and nothing else.
    pub fn with_cpus(count: u32) -> Self {
        let kernel = Self::default();
        kernel.put("sys/devices/system/cpu/online", &format!("0-{}", count - 1));
        for cpu in 0..count {
            kernel.siblings(&[cpu]);
        }
        kernel
    }

    /// Makes CPUs hardware threads of one core.
    pub fn siblings(&self, cpus: &[u32]) {
        let list: Vec<_> = cpus.iter().map(u32::to_string).collect();
        for cpu in cpus {
            let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            self.put(&path, &list.join(","));
        }
    }

    /// Adds a cpufreq policy.
    pub fn cpufreq(&self, policy: &FakePolicy) {
        let spaced = |cpus: &[u32]| cpus.iter().map(|cpu| format!("{cpu} ")).collect::<String>();
        let file = |name: &str, text: &str| {
            let number = policy.number;
            self.put(
                &format!("sys/devices/system/cpu/cpufreq/policy{number}/{name}"),
                text,
            );
        };
        file("related_cpus", &spaced(&policy.cpus));
        if let Some(cpus) = &policy.coupled_cpus {
            file("freqdomain_cpus", &spaced(cpus));
        }
        file("scaling_driver", policy.driver);
        file("scaling_available_governors", policy.governors);
        file("scaling_governor", policy.governor);
        file("scaling_setspeed", "<unsupported>");
        file("cpuinfo_transition_latency", &policy.latency_ns.to_string());
        for name in ["cpuinfo_min_freq", "scaling_min_freq", "scaling_cur_freq"] {
            file(name, &policy.min_khz.to_string());
        }
        for name in ["cpuinfo_max_freq", "scaling_max_freq"] {
            file(name, &policy.max_khz.to_string());
        }
        if policy.driver.contains("pstate") {
            file(
                "energy_performance_available_preferences",
                "default performance balance_performance balance_power power ",
            );
            file("energy_performance_preference", "balance_performance");
        }
    }

    /// Creates a file, or sets its text without asking any rule.
    pub fn put(&self, path: &str, text: &str) {
        let (path, text) = (Path::new(ROOT).join(path), format!("{text}\n"));
        let mut tree = self.tree();
        tree.late.remove(&path);
        tree.texts.insert(path, text);
    }

    /// The text of a file, without the space around it, as it will be.
    ///
    /// # Panics
    ///
    /// When there is no such file.
    pub fn text(&self, path: &str) -> String {
        let tree = self.tree();
        let text = tree.texts.get(&Path::new(ROOT).join(path));
        text.unwrap_or_else(|| panic!("no {path}"))
            .trim()
            .to_owned()
    }

    /// Takes a file, or a whole directory, away.
    pub fn remove(&self, path: &str) {
        let gone = Path::new(ROOT).join(path);
        let mut tree = self.tree();
        tree.texts.retain(|path, _| !path.starts_with(&gone));
        tree.late.retain(|path, _| !path.starts_with(&gone));
    }

    /// Gives a directory to a user.
    pub fn give(&self, directory: &str, user: u32, mode: u32) {
        let directory = Path::new(ROOT).join(directory);
        self.tree()
            .owned
            .insert(directory, Ownership { user, mode });
    }

    /// Spoils a file, or a whole directory.
    pub fn spoil(&self, path: &str, fault: Fault) {
        self.tree().faults.insert(Path::new(ROOT).join(path), fault);
    }

    /// Mends what was spoiled.
    pub fn mend(&self, path: &str) {
        self.tree().faults.remove(&Path::new(ROOT).join(path));
    }

    /// Everything that was written and taken, as `path below the root = value`.
    pub fn writes(&self) -> Vec<String> {
        let tree = self.tree();
        let told = tree.writes.iter().map(|(path, value)| {
            let path = path.strip_prefix(ROOT).unwrap_or(path);
            format!("{} = {value}", path.display())
        });
        told.collect()
    }

    /// All texts, to compare a machine before and after.
    pub fn texts(&self) -> BTreeMap<PathBuf, String> {
        self.tree().texts.clone()
    }

    /// A host whose settings these are.
    pub fn host(&self) -> Host {
        Host::with_files(Arc::new(self.clone()), Path::new(ROOT))
    }

    /// Writes the tree to a directory, for a test of another process ([`Host::below`]).
    ///
    /// # Errors
    ///
    /// When the directory cannot be written.
    pub fn write_to(&self, directory: &Path) -> io::Result<()> {
        for (path, text) in &self.tree().texts {
            let copy = directory.join(path.strip_prefix(ROOT).unwrap_or(path));
            if let Some(parent) = copy.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(copy, text)?;
        }
        Ok(())
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tree {
    fn fault(&self, path: &Path) -> Option<Fault> {
        path.ancestors()
            .find_map(|part| self.faults.get(part))
            .copied()
    }

    fn write(&mut self, path: &Path, value: &str) -> io::Result<()> {
        if !self.texts.contains_key(path) {
            return Err(io::Error::from_raw_os_error(rules::ENODEV));
        }
        match self.fault(path) {
            Some(Fault::Write(errno)) => return Err(io::Error::from_raw_os_error(errno)),
            Some(Fault::Ignores) => return Ok(()),
            _ => {}
        }
        let before = self.texts.get(path).cloned().unwrap_or_default();
        rules::write(self, path, value.trim()).map_err(io::Error::from_raw_os_error)?;
        if rules::is_applied_later(path) && !self.late.contains_key(path) {
            self.late.insert(path.to_owned(), (before, LATE_READS));
        }
        self.writes.push((path.to_owned(), value.trim().to_owned()));
        Ok(())
    }
}

impl Files for FakeKernel {
    fn read(&self, path: &Path) -> io::Result<String> {
        let mut tree = self.tree();
        if let Some((before, reads)) = tree.late.get_mut(path) {
            let before = before.clone();
            *reads -= 1;
            if *reads == 0 {
                tree.late.remove(path);
            }
            return Ok(before);
        }
        let text = tree.texts.get(path);
        text.cloned()
            .ok_or_else(|| io::Error::from_raw_os_error(rules::ENOENT))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let tree = self.tree();
        let below = tree.texts.keys().filter_map(|file| {
            let first = file.strip_prefix(path).ok()?.components().next()?;
            Some(first.as_os_str().to_string_lossy().into_owned())
        });
        let mut names: Vec<_> = below.collect();
        names.dedup();
        if names.is_empty() {
            return Err(io::Error::from_raw_os_error(rules::ENOENT));
        }
        Ok(names)
    }

    fn ownership(&self, directory: &Path) -> io::Result<Ownership> {
        let roots = Ownership {
            user: 0,
            mode: 0o755,
        };
        Ok(self.tree().owned.get(directory).copied().unwrap_or(roots))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn KnobFile>> {
        if let Some(Fault::Open(errno)) = self.tree().fault(path) {
            return Err(io::Error::from_raw_os_error(errno));
        }
        self.open_to_hold(path)
    }

    fn open_to_hold(&self, path: &Path) -> io::Result<Box<dyn KnobFile>> {
        let mut tree = self.tree();
        if !tree.texts.contains_key(path) {
            return Err(io::Error::from_raw_os_error(rules::ENOENT));
        }
        tree.opened += 1;
        Ok(Box::new(FakeKnob {
            kernel: self.clone(),
            path: path.to_owned(),
            id: tree.opened,
        }))
    }
}

#[derive(Debug)]
struct FakeKnob {
    kernel: FakeKernel,
    path: PathBuf,
    id: u64,
}

impl KnobFile for FakeKnob {
    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        let text = String::from_utf8_lossy(text);
        self.kernel.tree().write(&self.path, &text)
    }

    fn hold(&mut self) -> io::Result<bool> {
        let mut tree = self.kernel.tree();
        let holder = *tree.held.entry(self.path.clone()).or_insert(self.id);
        Ok(holder == self.id)
    }

    fn let_go(&mut self) {
        let id = self.id;
        let mut tree = self.kernel.tree();
        tree.held.retain(|_, holder| *holder != id);
    }
}

impl Drop for FakeKnob {
    fn drop(&mut self) {
        self.let_go();
    }
}

//! A control group of this machine, and threads in it that want all there is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Where the CPU time of a group's processes is counted, where v1 counts it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Account {
    /// In a group of the same name.
    Same,
    /// In one of another name.
    Another,
    /// In that of the whole machine.
    Machine,
}

/// A child group of this machine's root, for one test alone; removed with its owner.
pub struct RealGroup {
    pub name: String,
    cpu: PathBuf,
    /// Of v1, where the account is in a hierarchy of its own.
    account: Option<PathBuf>,
    busy: Vec<Child>,
}

impl RealGroup {
    /// In whichever version this machine has its CPU controller.
    pub fn create(of: &str) -> Self {
        Self::counted(of, Account::Same)
    }

    /// With its account elsewhere, on a machine that has it apart.
    pub fn counted(of: &str, account: Account) -> Self {
        let mounts = [
            "/sys/fs/cgroup/cpu",
            "/sys/fs/cgroup/cpu,cpuacct",
            "/sys/fs/cgroup",
        ];
        let has_cpu = |mount: &&str| {
            let controllers = fs::read_to_string(Path::new(mount).join("cgroup.controllers"));
            let is_v2 = controllers.is_ok_and(|text| text.split_whitespace().any(|c| c == "cpu"));
            is_v2 || Path::new(mount).join("cpu.cfs_quota_us").exists()
        };
        let mount = mounts.into_iter().find(has_cpu).expect("a CPU controller");
        let name = format!("bobtail-{of}-{}", std::process::id());
        let mut apart = Path::new("/sys/fs/cgroup/cpuacct").join(&name);
        if account == Account::Another {
            apart.set_extension("account");
        }
        let cpu = Path::new(mount).join(&name);
        fs::create_dir_all(&cpu).expect("a group needs root");
        let is_apart = account != Account::Machine
            && !cpu.join("cpuacct.usage").exists()
            && !cpu.join("cpu.max").exists();
        if is_apart {
            fs::create_dir_all(&apart).expect("a group needs root");
        }
        Self {
            name,
            cpu,
            account: is_apart.then_some(apart),
            busy: vec![],
        }
    }

    pub fn limit(&self, quota_us: u32) {
        self.write(["cpu.cfs_quota_us", "cpu.max"], quota_us);
    }

    pub fn burst(&self, burst_us: u32) {
        self.write(["cpu.cfs_burst_us", "cpu.max.burst"], burst_us);
    }

    fn write(&self, names: [&str; 2], value: u32) {
        let places = names.map(|name| self.cpu.join(name));
        let place = places.iter().find(|place| place.exists());
        fs::write(place.expect("the setting"), value.to_string()).unwrap();
    }

    /// Starts processes that never rest in the group; the number of the last.
    pub fn spin(&mut self, processes: u32) -> u32 {
        let enter = [Some(&self.cpu), self.account.as_ref()];
        let enter = enter.into_iter().flatten();
        let enter = enter.map(|group| format!("echo $$ > {}/cgroup.procs; ", group.display()));
        let script = enter.collect::<String>() + "echo; while :; do :; done";
        for _ in 0..processes {
            let mut command = Command::new("sh");
            command.args(["-c", &script]).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let is_in = child.stdout.as_mut().expect("a pipe");
            std::io::Read::read_exact(is_in, &mut [0]).expect("it is in the group");
            self.busy.push(child);
        }
        self.busy.last().map_or(0, Child::id)
    }

    /// CPU time that its processes have used, in ns, by the scheduler's own word.
    pub fn used_ns(&self) -> u64 {
        let of_process = |child: &Child| {
            let text = fs::read_to_string(format!("/proc/{}/schedstat", child.id())).unwrap();
            let on_cpu = text.split_whitespace().next().expect("three numbers");
            on_cpu.parse::<u64>().unwrap()
        };
        self.busy.iter().map(of_process).sum()
    }
}

impl Drop for RealGroup {
    fn drop(&mut self) {
        for child in &mut self.busy {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        for group in [Some(&self.cpu), self.account.as_ref()]
            .into_iter()
            .flatten()
        {
            fs::remove_dir(group).unwrap();
        }
    }
}

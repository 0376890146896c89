//! Control groups of a fake kernel, in both versions.

use std::path::Path;

use super::{FakeKernel, ROOT};

impl FakeKernel {
    /// Adds a group of v1 with a quota (-1 is none) per 100 ms, and the process `self` to it.
    pub fn group_v1(&self, path: &str, quota_us: i32) {
        let file = |controller: &str, name: &str, text: &str| {
            self.put(&format!("sys/fs/cgroup/{controller}/{path}/{name}"), text);
        };
        file("cpu", "cpu.cfs_quota_us", &quota_us.to_string());
        file("cpu", "cpu.cfs_period_us", "100000");
        file("cpu", "cpu.cfs_burst_us", "0");
        file("cpuacct", "cpuacct.usage", "0");
        self.put(
            "proc/self/cgroup",
            &format!("5:cpuset:/\n2:cpuacct:/{path}\n1:cpu:/{path}\n0::/"),
        );
    }

    /// Adds a group of v2 with a quota (`max` is none) per 100 ms, and the process `self` to it.
    pub fn group_v2(&self, path: &str, quota: &str) {
        let file = |name: &str, text: &str| {
            self.put(&format!("sys/fs/cgroup/{path}/{name}"), text);
        };
        file("cpu.max", &format!("{quota} 100000"));
        file("cpu.max.burst", "0");
        file("cpu.stat", "usage_usec 0\nuser_usec 0\nsystem_usec 0");
        self.put("proc/self/cgroup", &format!("0::/{path}"));
    }

    /// CPU time that writes to a group's settings have given it beyond what its periods give, in
    /// µs, if it had used up what it had before each.
    pub fn refilled_us(&self, directory: &str) -> u64 {
        let directory = Path::new(ROOT).join(directory);
        self.tree()
            .refilled_us
            .get(&directory)
            .copied()
            .unwrap_or(0)
    }
}

//! Levers on files of a disk, as another process sees them: written whole, locked, put back.

use std::fs;
use std::path::PathBuf;

use bobtail_control::cpufreq::userspace::CpufreqUserspace;
use bobtail_control::topology::frequency_domains;
use bobtail_control::{Actuator, Asked, ControlError, Host, SavedState};
use bobtail_policy::Speed;
use bobtail_testkit::fake_kernel::{FakeKernel, FakePolicy};

/// A directory that goes with its owner.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let name = format!("bobtail-control-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn a_tree_in_a_directory_is_written_held_and_restored() {
    let directory = Directory::new("tree");
    let kernel = FakeKernel::with_cpus(1);
    kernel.cpufreq(&FakePolicy::of_cpu(0));
    kernel.write_to(&directory.0).unwrap();
    let host = Host::below(&directory.0);
    let domain = frequency_domains(&host).unwrap().remove(0);
    let open = || CpufreqUserspace::open(&host, &domain, &[0], &Asked::default()).unwrap();
    let policy = directory.0.join("sys/devices/system/cpu/cpufreq/policy0");
    let text = |file: &str| fs::read_to_string(policy.join(file)).unwrap();
    let (mut lever, mut other) = (open(), open());
    lever.apply(Speed::Peak).unwrap();
    assert_eq!(text("scaling_setspeed"), "4000000");
    assert_eq!(text("scaling_governor"), "userspace");
    lever.apply(Speed::Base).unwrap();
    assert_eq!(
        text("scaling_setspeed"),
        "800000",
        "nothing is left of a longer value"
    );
    let error = other.apply(Speed::Peak).unwrap_err();
    assert!(matches!(error, ControlError::Held { .. }), "{error}");
    let journal = serde_json::to_string(lever.saved()).unwrap();
    std::mem::forget(lever);
    let saved: SavedState = serde_json::from_str(&journal).unwrap();
    assert_eq!(saved.restore(&host).restored, 3);
    assert_eq!(text("scaling_governor"), "schedutil");
}

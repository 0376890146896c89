//! Putting back where descriptors have run out: with one at a time, and never by waiting for what
//! nobody wrote.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bobtail_control::cpufreq::min_max::CpufreqMinMax;
use bobtail_control::files::{Files, KnobFile, Ownership};
use bobtail_control::topology::frequency_domains;
use bobtail_control::{Actuator, Asked, ControlError, Host, SavedState};
use bobtail_policy::Speed;
use bobtail_testkit::fake_kernel::{FakeKernel, FakePolicy, Fault};

const EMFILE: i32 = 24;
const CLOCKS: u32 = 100;
/// Each clock of them by itself would be waited for 10 ms.
const SOON: Duration = Duration::from_millis(500);

fn kernel() -> FakeKernel {
    let kernel = FakeKernel::with_cpus(CLOCKS);
    (0..CLOCKS).for_each(|cpu| kernel.cpufreq(&FakePolicy::of_cpu(cpu)));
    kernel
}

/// What each clock is to be put back to, as is in the journal of an owner that raised it.
fn raised(kernel: &FakeKernel) -> Vec<SavedState> {
    let host = kernel.host();
    let domains = frequency_domains(&host).unwrap();
    let raise = |domain| {
        let mut lever = CpufreqMinMax::open(&host, domain, &[], &Asked::default()).unwrap();
        lever.apply(Speed::Peak).unwrap();
        let saved = lever.saved().clone();
        // As by the end of its process.
        std::mem::forget(lever);
        saved
    };
    domains.iter().map(raise).collect()
}

/// Files of a process that may have one descriptor more.
#[derive(Debug)]
struct OneLeft {
    kernel: FakeKernel,
    open: Arc<AtomicU32>,
    refused: Arc<AtomicU32>,
}

#[derive(Debug)]
struct Counted(Box<dyn KnobFile>, Arc<AtomicU32>);

impl OneLeft {
    fn take(&self) -> io::Result<()> {
        if self.open.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(io::Error::from_raw_os_error(EMFILE))
    }
}

impl Files for OneLeft {
    fn read(&self, path: &Path) -> io::Result<String> {
        self.take().and_then(|()| self.kernel.read(path))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.take().and_then(|()| self.kernel.list(path))
    }

    fn ownership(&self, directory: &Path) -> io::Result<Ownership> {
        self.kernel.ownership(directory)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn KnobFile>> {
        self.take()?;
        let file = self.kernel.open(path)?;
        self.open.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Counted(file, self.open.clone())))
    }

    fn open_to_hold(&self, path: &Path) -> io::Result<Box<dyn KnobFile>> {
        self.open(path)
    }
}

impl KnobFile for Counted {
    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        self.0.write(text)
    }

    fn hold(&mut self) -> io::Result<bool> {
        self.0.hold()
    }

    fn let_go(&mut self) {
        self.0.let_go();
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn one_descriptor_is_enough_to_put_everything_back() {
    let kernel = kernel();
    let before = kernel.texts();
    let saved = raised(&kernel);
    let refused = Arc::new(AtomicU32::new(0));
    let files = OneLeft {
        kernel: kernel.clone(),
        open: Arc::default(),
        refused: refused.clone(),
    };
    let host = Host::with_files(Arc::new(files), Path::new("/fake"));
    for saved in &saved {
        saved.restore(&host).into_result().unwrap();
    }
    assert_eq!(kernel.texts(), before);
    assert_eq!(refused.load(Ordering::Relaxed), 0);
}

#[test]
fn what_no_descriptor_is_left_for_is_not_waited_for_and_not_said_to_be_back() {
    let kernel = kernel();
    let saved = raised(&kernel);
    // One that says what it said before is no better known: what was raised may show later.
    for is_raised in [true, false] {
        if !is_raised {
            saved.iter().for_each(|saved| {
                saved.restore(&kernel.host());
            });
        }
        kernel.spoil("sys/devices/system/cpu/cpufreq", Fault::Open(EMFILE));
        let began = Instant::now();
        for saved in &saved {
            let restored = saved.restore(&kernel.host());
            assert!(
                matches!(&restored.failed[..], [ControlError::Open { .. }]),
                "{restored:?}"
            );
        }
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
        kernel.mend("sys/devices/system/cpu/cpufreq");
    }
}

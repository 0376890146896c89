//! What the kernel does with a value that is written to one of its settings.
//!
//! One function per setting, by the file's name, as in the kernel.

use std::path::{Path, PathBuf};

use super::Tree;

pub(super) const ENOENT: i32 = 2;
const EBUSY: i32 = 16;
pub(super) const ENODEV: i32 = 19;
pub(super) const EINVAL: i32 = 22;

/// Takes a value, or gives the number of the error with which the kernel refuses it.
pub(super) fn write(tree: &mut Tree, path: &Path, value: &str) -> Result<(), i32> {
    let mut setting = Setting { tree, path };
    match path.file_name().and_then(|name| name.to_str()) {
        Some("scaling_governor") => setting.governor(value),
        Some("scaling_min_freq") => setting.min_freq(value),
        Some("scaling_max_freq") => setting.max_freq(value),
        Some("scaling_setspeed") => setting.setspeed(value),
        Some("energy_performance_preference") => setting.preference(value),
        Some("min_perf_pct") => setting.min_perf(value),
        Some("cpu.cfs_quota_us") => setting.quota_v1(value),
        Some("cpu.cfs_burst_us") => setting.burst_v1(value),
        Some("cpu.max") => setting.quota_v2(value),
        Some("cpu.max.burst") => setting.burst_v2(value),
        _ => {
            setting.set(path.to_owned(), value);
            Ok(())
        }
    }
}

/// Whether a setting is shown as it was until a thread of the kernel has applied it.
pub(super) fn is_applied_later(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    matches!(name, Some("scaling_min_freq" | "scaling_max_freq"))
}

pub(super) struct Setting<'a> {
    pub(super) tree: &'a mut Tree,
    pub(super) path: &'a Path,
}

impl Setting<'_> {
    pub(super) fn set(&mut self, path: PathBuf, value: &str) {
        self.tree.texts.insert(path, format!("{value}\n"));
    }

    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }

    pub(super) fn text(&self, name: &str) -> Result<&str, i32> {
        let text = self.tree.texts.get(&self.beside(name));
        text.map(|text| text.trim()).ok_or(ENODEV)
    }

    pub(super) fn number(&self, name: &str) -> Result<u32, i32> {
        self.text(name)?.parse().map_err(|_| EINVAL)
    }

    fn governor(&mut self, value: &str) -> Result<(), i32> {
        let offered = self.text("scaling_available_governors")?;
        if !offered.split_whitespace().any(|name| name == value) {
            return Err(EINVAL);
        }
        let speed = match value {
            "userspace" => self.text("scaling_cur_freq")?.to_owned(),
            _ => "<unsupported>".to_owned(),
        };
        self.set(self.path.to_owned(), value);
        self.set(self.beside("scaling_setspeed"), &speed);
        self.run()
    }

    fn min_freq(&mut self, value: &str) -> Result<(), i32> {
        let khz = self.within_hardware(value)?;
        if khz > self.number("scaling_max_freq")? {
            return Err(EINVAL);
        }
        self.set(self.path.to_owned(), &khz.to_string());
        self.run()
    }

    fn max_freq(&mut self, value: &str) -> Result<(), i32> {
        let khz = self.within_hardware(value)?;
        if khz < self.number("scaling_min_freq")? {
            return Err(EINVAL);
        }
        self.set(self.path.to_owned(), &khz.to_string());
        self.run()
    }

    fn within_hardware(&self, value: &str) -> Result<u32, i32> {
        let khz: u32 = value.parse().map_err(|_| EINVAL)?;
        let (min, max) = (
            self.number("cpuinfo_min_freq")?,
            self.number("cpuinfo_max_freq")?,
        );
        Ok(khz.clamp(min, max))
    }

    fn setspeed(&mut self, value: &str) -> Result<(), i32> {
        if self.text("scaling_governor")? != "userspace" {
            return Err(EINVAL);
        }
        let khz: u32 = value.parse().map_err(|_| EINVAL)?;
        self.set(self.path.to_owned(), &khz.to_string());
        self.run()
    }

    /// What the governor makes of the settings.
    fn run(&mut self) -> Result<(), i32> {
        let (min, max) = (
            self.number("scaling_min_freq")?,
            self.number("scaling_max_freq")?,
        );
        let khz = match self.text("scaling_governor")? {
            "performance" => max,
            "userspace" => self.number("scaling_setspeed")?.clamp(min, max),
            _ => min,
        };
        self.set(self.beside("scaling_cur_freq"), &khz.to_string());
        Ok(())
    }

    /// intel_pstate and amd_pstate keep the preference of the governor performance to themselves.
    fn preference(&mut self, value: &str) -> Result<(), i32> {
        let offered = self.text("energy_performance_available_preferences")?;
        if !offered.split_whitespace().any(|name| name == value) {
            return Err(EINVAL);
        }
        if self.text("scaling_governor")? == "performance" && value != "performance" {
            return Err(EBUSY);
        }
        self.set(self.path.to_owned(), value);
        Ok(())
    }

    fn min_perf(&mut self, value: &str) -> Result<(), i32> {
        let percent: u32 = value.parse().map_err(|_| EINVAL)?;
        let kept = percent.min(self.number("max_perf_pct")?);
        self.set(self.path.to_owned(), &kept.to_string());
        Ok(())
    }
}

//! Bounds what all traces of a recording take together: no new trace, and no growth, beyond it.
//!
//! By what the files of the folder take, and not by a count that the processes share: they come and
//! go, are killed, and the sum is needed once per trace and per chunk, never on a loop's hot path.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

const BLOCK_BYTES: u64 = 512;

/// The bound of one recording, as one trace of it sees it.
#[derive(Debug, Clone)]
pub struct TotalBound {
    folder: PathBuf,
    /// 0: none.
    pub max_bytes: u64,
    /// What a trace takes before it overwrites itself: each is counted with that much, because
    /// that much it may still grow.
    pub trace_bytes: u64,
}

/// The folder that was found full, and the loops of this process that it had no room for.
#[derive(Debug)]
struct Refused {
    folder: PathBuf,
    loops: u32,
}

static REFUSED: Mutex<Option<Refused>> = Mutex::new(None);

/// Keeps other threads of the process from looking for room until a trace is made.
pub struct Admission(#[expect(dead_code, reason = "held")] MutexGuard<'static, Option<Refused>>);

impl TotalBound {
    /// The bound of the recording that the trace at `path` is part of.
    pub fn of(path: &str, max_bytes: u64, trace_bytes: u64) -> Self {
        let parent = Path::new(path).parent().unwrap_or(Path::new(""));
        let here = parent.as_os_str().is_empty();
        Self {
            folder: if here { ".".into() } else { parent.to_owned() },
            max_bytes,
            trace_bytes,
        }
    }

    /// Asks for room for one more trace. Two processes that ask at once may both get the last.
    ///
    /// # Errors
    /// How many loops of this process were refused until now; told in `refused-<pid>.json`, too.
    pub fn admit(&self) -> Result<Admission, u32> {
        let mut refused = REFUSED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = refused.as_mut().filter(|it| it.folder == self.folder);
        let loops = match known {
            // Traces only grow, so that no other need look.
            Some(known) => {
                known.loops += 1;
                known.loops
            }
            None if self.has_room(self.trace_bytes) => return Ok(Admission(refused)),
            None => {
                let folder = self.folder.clone();
                *refused = Some(Refused { folder, loops: 1 });
                1
            }
        };
        self.tell(loops);
        Err(loops)
    }

    /// The traces may take so much more. A folder that cannot be read bounds nothing: then no trace
    /// can be made in it, either.
    pub fn has_room(&self, more_bytes: u64) -> bool {
        self.max_bytes == 0
            || self
                .taken_bytes()
                .is_ok_and(|taken| taken + more_bytes <= self.max_bytes)
    }

    fn taken_bytes(&self) -> io::Result<u64> {
        let mut taken_bytes = 0;
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.path().extension().is_some_and(|it| it == "trace") {
                // One that was just removed takes nothing.
                let blocks = entry.metadata().map_or(0, |file| file.blocks());
                taken_bytes += (blocks * BLOCK_BYTES).max(self.trace_bytes);
            }
        }
        Ok(taken_bytes)
    }

    fn tell(&self, loops: u32) {
        let pid = std::process::id();
        let path = self.folder.join(format!("refused-{pid}.json"));
        let draft = path.with_extension("json.tmp");
        let text = format!(
            "{{\"pid\":{pid},\"loops\":{loops},\"maxTotalBytes\":{}}}\n",
            self.max_bytes
        );
        // On a full disk the number told last stays.
        let told = fs::write(&draft, text).and_then(|()| fs::rename(&draft, &path));
        if told.is_err() {
            fs::remove_file(&draft).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE_BYTES: u64 = 64 << 10;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("bobtail-{name}-{}", std::process::id()));
        fs::create_dir(&folder).expect("is new");
        folder
    }

    fn bound(folder: &Path, max_bytes: u64) -> TotalBound {
        let path = folder.join("1-0.trace");
        TotalBound::of(path.to_str().expect("is UTF-8"), max_bytes, TRACE_BYTES)
    }

    #[test]
    fn each_trace_counts_with_what_it_may_grow_to() {
        let folder = folder("counts");
        let bound = bound(&folder, 4 * TRACE_BYTES);
        fs::write(folder.join("1-0.trace"), "small").expect("writes");
        fs::write(folder.join("2-0.trace"), vec![1; 2 * TRACE_BYTES as usize]).expect("writes");
        fs::write(folder.join("run.json"), vec![1; 9 * TRACE_BYTES as usize]).expect("writes");
        assert!(bound.has_room(TRACE_BYTES));
        assert!(!bound.has_room(TRACE_BYTES + 1));
        fs::remove_dir_all(folder).expect("is there");
    }

    #[test]
    fn counts_what_it_refuses_and_tells_it() {
        let folder = folder("refuses");
        let bound = bound(&folder, 2 * TRACE_BYTES);
        for name in ["1-0.trace", "1-1.trace"] {
            assert!(bound.admit().is_ok(), "{name}");
            fs::write(folder.join(name), "").expect("writes");
        }
        assert_eq!(bound.admit().err(), Some(1));
        assert_eq!(bound.admit().err(), Some(2));
        let told = folder.join(format!("refused-{}.json", std::process::id()));
        let told = fs::read_to_string(told).expect("was told");
        assert!(
            told.contains("\"loops\":2,\"maxTotalBytes\":131072"),
            "{told}"
        );
        fs::remove_dir_all(folder).expect("is there");
    }

    #[test]
    fn without_a_bound_there_is_room_for_all() {
        let nowhere = TotalBound::of("no-such-folder/1-0.trace", 0, TRACE_BYTES);
        assert!(nowhere.has_room(u64::MAX));
        assert!(nowhere.admit().is_ok());
    }
}

//! Analyses on the thread pool of the command line's Node.
//!
//! A panic anywhere in the analysis is a fault of Bobtail, but must reach the user as one line with
//! an exit code, so it is caught here and nowhere else.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Once;

use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Result, Task};

use crate::error::BindingError;
use crate::sources::knowing;
use crate::surveyed::{Surveyed, SurveyedHandle};

/// An analysis with its input in it; JSON out.
type Run = Box<dyn Fn() -> std::result::Result<String, BindingError> + Send>;

/// A call that waits for its turn.
pub struct Analysis {
    run: Run,
    originals_json: Option<String>,
}

impl Analysis {
    /// Of a surveyed recording, with options.
    pub(crate) fn of_surveyed(
        survey: &SurveyedHandle,
        options_json: String,
        originals_json: Option<String>,
        run: fn(&Surveyed, &str) -> std::result::Result<String, BindingError>,
    ) -> AsyncTask<Self> {
        let surveyed = survey.surveyed();
        Self::of(originals_json, move || run(&surveyed, &options_json))
    }

    /// Of one folder, with options.
    pub(crate) fn of_folder(
        dir: String,
        options_json: String,
        originals_json: Option<String>,
        run: fn(&Path, &str) -> std::result::Result<String, BindingError>,
    ) -> AsyncTask<Self> {
        Self::of(originals_json, move || run(dir.as_ref(), &options_json))
    }

    /// Of anything.
    pub(crate) fn of(
        originals_json: Option<String>,
        run: impl Fn() -> std::result::Result<String, BindingError> + Send + 'static,
    ) -> AsyncTask<Self> {
        AsyncTask::new(Self {
            run: Box::new(run),
            originals_json,
        })
    }
}

impl Task for Analysis {
    type Output = String;
    type JsValue = String;

    fn compute(&mut self) -> Result<String> {
        guarded(|| knowing(self.originals_json.as_deref(), || (self.run)()))
    }

    fn resolve(&mut self, _env: Env, output: String) -> Result<String> {
        Ok(output)
    }
}

/// What `run` gives; a panic in it is an error like any other.
pub(crate) fn guarded<T>(run: impl FnOnce() -> std::result::Result<T, BindingError>) -> Result<T> {
    tell_panics_quietly();
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => {
            let reason = PANIC.take().unwrap_or_else(|| "unknown fault".to_owned());
            Err(BindingError::Internal { reason }.into())
        }
    }
}

thread_local! {
    /// The last panic of this thread: its message and place.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps the message of a panic instead of printing it: printing is the command line's business.
fn tell_panics_quietly() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            let payload = panic.payload();
            let message = payload
                .downcast_ref::<&str>()
                .copied()
                .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
                .unwrap_or("panic");
            let place = panic
                .location()
                .map(|at| format!(" at {}:{}", at.file(), at.line()));
            let text = format!("{message}{}", place.unwrap_or_default());
            PANIC.with_borrow_mut(|last| *last = Some(text));
        }));
    });
}

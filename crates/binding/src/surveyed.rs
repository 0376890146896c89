//! A recording after its first pass, as JavaScript holds it between two calls.
//!
//! Where code was seen running is known then, so source maps can be looked up before the second
//! pass names anything. A pass for that alone would be a sixth of the time of a report, and asking
//! while the analysis runs is no way either: a pool thread that waits for the thread of its caller
//! keeps `process.exit` and the end of a worker waiting for ever.

use std::path::Path;
use std::sync::Arc;

use bobtail_breakdown::{Population, SLOWEST_SHOWN, Survey};
use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Result, Task};
use napi_derive::napi;

use crate::analysis::{survey_all, why_nothing};
use crate::error::BindingError;
use crate::recording::Recording;
use crate::sources::places_of;
use crate::task::guarded;

/// A recording and the surveys of its traces; it has finished requests.
pub struct Surveyed {
    pub recording: Recording,
    pub surveys: Vec<Survey>,
}

impl Surveyed {
    /// The first pass over a folder.
    pub fn of(dir: &Path) -> std::result::Result<Self, BindingError> {
        let recording = Recording::open(dir)?;
        let surveys = survey_all(&recording, SLOWEST_SHOWN)?;
        if surveys.iter().all(|survey| survey.latencies.count() == 0) {
            return Err(why_nothing(&recording, &surveys));
        }
        Ok(Self { recording, surveys })
    }

    /// Who is the tail, from this percentile on.
    pub fn population(&self, percentile: f64) -> Population {
        Population::of(&self.surveys, percentile)
    }
}

/// What [`survey`](crate::survey) gives JavaScript, for the analyses that go on from there.
#[napi(js_name = "Surveyed")]
pub struct SurveyedHandle {
    surveyed: Arc<Surveyed>,
    places: String,
}

#[napi]
impl SurveyedHandle {
    /// Where code was seen running, as `places` tells it.
    #[napi(getter)]
    pub fn places(&self) -> &str {
        &self.places
    }

    pub(crate) fn surveyed(&self) -> Arc<Surveyed> {
        Arc::clone(&self.surveyed)
    }
}

/// The first pass on the thread pool.
pub struct FirstPass(String);

impl FirstPass {
    pub(crate) fn over(dir: String) -> AsyncTask<Self> {
        AsyncTask::new(Self(dir))
    }
}

impl Task for FirstPass {
    type Output = (Surveyed, String);
    type JsValue = SurveyedHandle;

    fn compute(&mut self) -> Result<Self::Output> {
        guarded(|| {
            let surveyed = Surveyed::of(self.0.as_ref())?;
            let places = places_of(&surveyed)?;
            Ok((surveyed, places))
        })
    }

    fn resolve(&mut self, _env: Env, (surveyed, places): Self::Output) -> Result<Self::JsValue> {
        Ok(SurveyedHandle {
            surveyed: Arc::new(surveyed),
            places,
        })
    }
}

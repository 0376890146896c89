//! Rows of tables for a program that takes them piece by piece.
//!
//! A thread reads and waits until the last piece was taken, so that no more than two are in memory;
//! a call for each piece instead would have to keep the state of the analysis between calls.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Result, Task};
use napi_derive::napi;

use crate::error::BindingError;
use crate::export;
use crate::sources::knowing;
use crate::surveyed::{Surveyed, SurveyedHandle};

type Pieces = Receiver<std::result::Result<String, BindingError>>;

/// Rows under way. A piece is `{"table", "columns": {name: [value …]}}`; the last text is what
/// `exportTo` answers.
#[napi]
pub struct RowReader {
    pieces: Arc<Mutex<Pieces>>,
}

#[napi]
impl RowReader {
    /// Starts to read. Options as for `exportTo`, with the format `rows`.
    #[napi(constructor)]
    pub fn new(
        survey: &SurveyedHandle,
        options_json: String,
        originals_json: Option<String>,
    ) -> Self {
        let surveyed = survey.surveyed();
        let (sender, receiver) = sync_channel(1);
        thread::spawn(move || {
            let originals = originals_json.as_deref();
            read(&surveyed, &options_json, originals, &sender);
        });
        Self {
            pieces: Arc::new(Mutex::new(receiver)),
        }
    }

    /// The next text, null after the last. Rejects like `report`.
    #[napi(ts_return_type = "Promise<string | null>")]
    pub fn next(&self) -> AsyncTask<NextPiece> {
        AsyncTask::new(NextPiece {
            pieces: Arc::clone(&self.pieces),
        })
    }
}

fn read(
    surveyed: &Surveyed,
    options_json: &str,
    originals_json: Option<&str>,
    sender: &SyncSender<std::result::Result<String, BindingError>>,
) {
    // Nobody takes the pieces any more: the reader was dropped, and so is what it asked for.
    let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
    let mut sink = |piece| sender.send(Ok(piece)).map_err(gone);
    let run = || {
        knowing(originals_json, || {
            export::rows(surveyed, options_json, &mut sink)
        })
    };
    let last = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let reason = "a fault while reading rows".to_owned();
        Err(BindingError::Internal { reason })
    });
    // As above.
    let _ = sender.send(last);
}

/// Waits for a piece on the thread pool.
pub struct NextPiece {
    pieces: Arc<Mutex<Pieces>>,
}

impl Task for NextPiece {
    type Output = Option<String>;
    type JsValue = Option<String>;

    fn compute(&mut self) -> Result<Self::Output> {
        let pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        match pieces.recv() {
            Ok(piece) => Ok(Some(piece?)),
            Err(_) => Ok(None),
        }
    }

    fn resolve(&mut self, _env: Env, output: Self::Output) -> Result<Self::JsValue> {
        Ok(output)
    }
}

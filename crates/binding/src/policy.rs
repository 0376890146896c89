//! Reads a policy before anything is started with it.

use bobtail_policy::Policy;
use napi_derive::napi;

use crate::error::BindingError;

/// `policy(text)`: the policy with all its settings, as text. Throws `BOBTAIL_OPTIONS: <message>`
/// with what is wrong and where.
#[napi]
pub fn policy(text: String) -> napi::Result<String> {
    let policy: Result<Policy, _> = text.parse();
    let policy = policy.map_err(|error| BindingError::Options {
        reason: error.to_string(),
    })?;
    Ok(policy.to_string())
}

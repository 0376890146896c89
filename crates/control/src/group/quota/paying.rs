//! What the account of a quota allows of a value, and how that is written.
//!
//! Apart from the lever because here is all that keeps a group from more than its quota: a write
//! too many gives it CPU time, and one that the kernel refuses must not make its debt forgotten.

use super::Quota;
use crate::error::ControlError;
use crate::group::repayment::Repayment;

impl Quota {
    /// What the account allows of a value.
    pub(super) fn allowed(&mut self, value: u32) -> Result<u32, ControlError> {
        let base = self.lever.range.base;
        if self.ledger.debt_ns() == 0 {
            self.repayment = None;
            self.is_refused = false;
        }
        // A group that pays only by what it leaves unused would else be raised as soon as it has
        // left a little.
        let pays_by_rest = self.repayment.is_some_and(|one| one.value_us == base);
        let is_barred = self.is_refused && pays_by_rest;
        if value > base && self.ledger.has_credit() && !is_barred {
            return Ok(value);
        }
        if self.ledger.debt_ns() == 0 {
            return Ok(value.min(base));
        }
        self.is_refused |= !self.ledger.has_credit();
        Ok(value.min(self.repay()?.value_us))
    }

    /// How what is owed is paid back, as it stands or looked at anew.
    fn repay(&mut self) -> Result<Repayment, ControlError> {
        let (range, now_ns) = (&self.lever.range, self.last_ns);
        let stands = self
            .repayment
            .filter(|one| !one.is_to_be_read(range.base, now_ns));
        let repayment = match stands {
            Some(repayment) => repayment,
            None => Repayment::read(&self.host, &self.group, range, self.period_us, now_ns)?,
        };
        self.repayment = Some(repayment);
        Ok(repayment)
    }

    /// Writes a value, or the base where the kernel refuses to go below it: a burst, or a group
    /// inside, may have grown since the floor was read. What is set then.
    pub(super) fn write(&mut self, value: u32) -> Result<u32, ControlError> {
        let base = self.lever.range.base;
        match self.write_if_changed(value) {
            Err(error) if value < base && is_invalid(&error) => {
                self.repayment = Some(Repayment::at_base(base, self.last_ns));
                self.write_if_changed(base)?;
                Ok(base)
            }
            outcome => outcome.map(|()| value),
        }
    }

    fn write_if_changed(&mut self, value: u32) -> Result<(), ControlError> {
        if self.now != Some(value) {
            self.knob.write_number(value.into())?;
            self.now = Some(value);
            self.fill_up(value);
        }
        Ok(())
    }

    /// The kernel has filled the group up, since a value was written.
    pub(super) fn fill_up(&mut self, value: u32) {
        self.assumed.fill_up(value);
        self.written_ns = Some(self.last_ns);
    }

    /// Whether the group may still have what a write has given it beyond its quota: what it does
    /// not use by the end of a period is gone, but for its burst.
    pub(super) fn is_filled_up(&self) -> bool {
        let period_ns = u64::from(self.period_us) * 1000;
        let written = self.written_ns;
        written.is_some_and(|at_ns| self.last_ns.saturating_sub(at_ns) < period_ns)
    }
}

/// The kernel's word for a quota that burst, period or other groups do not allow.
fn is_invalid(error: &ControlError) -> bool {
    let ControlError::Write { cause, .. } = error else {
        return false;
    };
    cause.raw_os_error() == Some(libc::EINVAL)
}

//! The accounts of levers that are closed and may be opened again.
//!
//! Kept apart from what is held, since a lever that is closed has no file and no state, and since
//! control groups come and go without end where CPUs do not: the oldest accounts make room.

use std::collections::VecDeque;
use std::time::Duration;

use bobtail_control::{Domain, LeverKind};

use super::raised_time::RaisedTime;

/// Accounts that are kept; a machine has fewer clocks.
const CLOSED_MAX: usize = 4096;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct ClosedAccounts(VecDeque<(LeverKind, Domain, RaisedTime)>);

impl ClosedAccounts {
    /// Keeps the account of a lever that is closed; forgets the one closed longest ago when there
    /// are too many.
    pub(super) fn keep(&mut self, kind: LeverKind, domain: Domain, account: RaisedTime) {
        if self.0.len() == CLOSED_MAX {
            self.0.pop_front();
        }
        self.0.push_back((kind, domain, account));
    }

    /// The account of a lever that is opened: what it was before it was closed goes on.
    pub(super) fn reopen(&mut self, kind: LeverKind, at: &Domain, now: Duration) -> RaisedTime {
        let same = |(of, domain, _): &(LeverKind, Domain, _)| (*of, domain) == (kind, at);
        let index = self.0.iter().position(same);
        let before = index.and_then(|index| self.0.remove(index));
        before.map_or_else(|| RaisedTime::since(now), |(_, _, account)| account)
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (LeverKind, &Domain, &RaisedTime)> {
        self.0
            .iter()
            .map(|(kind, domain, account)| (*kind, domain, account))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu(number: usize) -> Domain {
        Domain::Cpus(vec![u32::try_from(number).unwrap()])
    }

    /// For how long the account of a CPU that is reopened after a minute has it opened.
    fn opened_for(accounts: &mut ClosedAccounts, number: usize) -> Duration {
        let now = Duration::from_secs(60);
        let account = accounts.reopen(LeverKind::CpufreqUserspace, &cpu(number), now);
        let told = account.told(LeverKind::CpufreqUserspace, &cpu(number), now);
        Duration::from_nanos(told.of_ns)
    }

    #[test]
    fn what_was_closed_longest_ago_is_forgotten_when_there_are_too_many() {
        let mut accounts = ClosedAccounts::default();
        let begin = || RaisedTime::since(Duration::ZERO);
        for number in 0..CLOSED_MAX {
            accounts.keep(LeverKind::CpufreqUserspace, cpu(number), begin());
        }
        // Reopened and closed again, it is the one closed last.
        assert_eq!(opened_for(&mut accounts, 0), Duration::from_secs(60));
        accounts.keep(LeverKind::CpufreqUserspace, cpu(0), begin());
        accounts.keep(LeverKind::CpufreqUserspace, cpu(CLOSED_MAX), begin());
        assert_eq!(accounts.iter().count(), CLOSED_MAX);
        assert_eq!(opened_for(&mut accounts, 1), Duration::ZERO, "forgotten");
        for number in [0, 2, CLOSED_MAX] {
            let told = opened_for(&mut accounts, number);
            assert_eq!(told, Duration::from_secs(60), "{number}");
        }
    }

    #[test]
    fn another_lever_of_the_same_cpu_has_its_own() {
        let mut accounts = ClosedAccounts::default();
        let begin = RaisedTime::since(Duration::ZERO);
        accounts.keep(LeverKind::EnergyPreference, cpu(0), begin);
        assert_eq!(opened_for(&mut accounts, 0), Duration::ZERO);
        assert_eq!(accounts.iter().count(), 1);
    }
}

//! What a process asked its bobtaild for and what came of it, where it does not wait for answers.
//!
//! By the number of each request, and not by what was asked last: an answer may come when
//! something else was asked for since, and a boost that was refused then is not the one before.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bobtail_control::Outcome;

use crate::client::LateAnswer;

/// Changes in the order in which they were asked for; each takes one request a clock.
#[derive(Debug, Default)]
pub struct Changes {
    /// Of a lever whose boost is the lower value.
    falls: bool,
    latest: u32,
    asked: VecDeque<Asked>,
    outcomes: VecDeque<Outcome>,
}

#[derive(Debug)]
struct Asked {
    change: u32,
    /// Numbers of its requests.
    first: u32,
    count: u32,
    at: Instant,
    answered: u32,
    refused: u32,
    stands: Option<u32>,
    why: String,
}

impl Changes {
    /// Of a lever whose boost is the higher value, or the lower one.
    pub fn new(falls: bool) -> Self {
        Self {
            falls,
            ..Self::default()
        }
    }

    /// Another change is asked for from now on.
    pub fn begin(&mut self) {
        self.latest = self.latest.wrapping_add(1);
    }

    /// So many requests from this number on were sent for the latest change.
    pub fn ask(&mut self, first: u32, count: u32, at: Instant) {
        self.asked.push_back(Asked {
            change: self.latest,
            first,
            count,
            at,
            answered: 0,
            refused: 0,
            stands: None,
            why: String::new(),
        });
    }

    /// Takes an answer in; one that nobody asked for is about what stands.
    pub fn answer(&mut self, LateAnswer { sequence, stands }: LateAnswer) {
        if sequence == 0 {
            let why = stands.map_or_else(|error| error.to_string(), |_| String::new());
            self.outcomes.push_back(Outcome {
                change: self.latest,
                stands: Err(why),
                refused: 1,
            });
            return;
        }
        let is_its = |asked: &Asked| sequence.wrapping_sub(asked.first) < asked.count;
        let Some(at) = self.asked.iter().position(is_its) else {
            return;
        };
        let asked = &mut self.asked[at];
        asked.answered += 1;
        match stands {
            Ok(value) => {
                let fastest = |other: u32| match self.falls {
                    true => other.min(value),
                    false => other.max(value),
                };
                asked.stands = Some(asked.stands.map_or(value, fastest));
            }
            Err(error) => {
                asked.refused += 1;
                asked.why = error.to_string();
            }
        }
        if asked.answered < asked.count {
            return;
        }
        if let Some(asked) = self.asked.remove(at) {
            self.outcomes.push_back(Outcome {
                change: asked.change,
                stands: asked.stands.ok_or(asked.why),
                refused: asked.refused,
            });
        }
    }

    /// The latest change, where it is not answered.
    pub fn unanswered(&self) -> Option<u32> {
        let is_latest = |asked: &Asked| asked.change == self.latest;
        self.asked.iter().any(is_latest).then_some(self.latest)
    }

    /// For how long the oldest request has had no answer.
    pub fn waited(&self, now: Instant) -> Duration {
        let oldest = self.asked.front();
        oldest.map_or(Duration::ZERO, |asked| {
            now.saturating_duration_since(asked.at)
        })
    }

    /// Whether the latest change is known to have been refused, or to stand no longer.
    pub fn is_refused(&self) -> bool {
        let mut outcomes = self.outcomes.iter();
        outcomes.any(|outcome| outcome.change == self.latest && outcome.stands.is_err())
    }

    /// The oldest that was not told yet.
    pub fn outcome(&mut self) -> Option<Outcome> {
        self.outcomes.pop_front()
    }

    /// Nothing that was asked for will be answered.
    pub fn forget(&mut self) {
        self.asked.clear();
        self.outcomes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ClientError;
    use crate::protocol::Refusal;

    fn granted(sequence: u32, value: u32) -> LateAnswer {
        let stands = Ok(value);
        LateAnswer { sequence, stands }
    }

    fn refused(sequence: u32) -> LateAnswer {
        let refusal = Refusal::LeverFailed;
        let stands = Err(ClientError::Refused { refusal, detail: 0 });
        LateAnswer { sequence, stands }
    }

    fn asked(changes: &mut Changes, first: u32, count: u32) {
        changes.begin();
        changes.ask(first, count, Instant::now());
    }

    #[test]
    fn answers_go_by_their_requests_however_late() {
        let mut changes = Changes::default();
        asked(&mut changes, 10, 1);
        asked(&mut changes, 11, 1);
        assert_eq!(changes.unanswered(), Some(2));
        changes.answer(refused(10));
        assert!(!changes.is_refused(), "the first was");
        assert_eq!(
            changes.outcome().map(|one| (one.change, one.refused)),
            Some((1, 1))
        );
        changes.answer(granted(11, 7));
        assert_eq!(changes.unanswered(), None);
        let stands = Ok(7);
        let expected = Outcome {
            change: 2,
            stands,
            refused: 0,
        };
        assert_eq!(changes.outcome(), Some(expected));
        assert_eq!(changes.outcome(), None);
    }

    #[test]
    fn of_several_clocks_the_highest_counts_and_each_refusal() {
        let mut changes = Changes::default();
        asked(&mut changes, 1, 3);
        for answer in [granted(1, 5), refused(2)] {
            changes.answer(answer);
            assert_eq!(changes.outcome(), None, "one is missing");
        }
        changes.answer(granted(3, 4));
        let stands = Ok(5);
        let expected = Outcome {
            change: 1,
            stands,
            refused: 1,
        };
        assert_eq!(changes.outcome(), Some(expected));
    }

    #[test]
    fn of_a_lever_whose_boost_is_the_lower_value_that_counts() {
        let mut changes = Changes::new(true);
        asked(&mut changes, 1, 2);
        changes.answer(granted(1, 0));
        changes.answer(granted(2, 128));
        assert_eq!(changes.outcome().map(|one| one.stands), Some(Ok(0)));
    }

    #[test]
    fn what_nobody_asked_for_is_about_what_stands() {
        let mut changes = Changes::default();
        asked(&mut changes, 1, 1);
        changes.answer(granted(1, 5));
        changes.outcome();
        changes.answer(refused(0));
        assert!(changes.is_refused());
        assert!(
            changes
                .outcome()
                .is_some_and(|one| one.stands.is_err() && one.change == 1)
        );
        changes.answer(granted(99, 5));
        assert_eq!(changes.outcome(), None, "of a request that was never sent");
    }
}

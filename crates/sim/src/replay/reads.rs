//! The replay on connections over which several requests ask: one read brings all answers that are
//! there by then.
//!
//! Apart from the loop itself, since it is another order than that of becoming ready: as with jobs
//! of the pool, what came since the kernel told comes before who stood in line earlier.

use bobtail_trace::record::Ns;

use super::Run;
use crate::agenda::Due;
use crate::model::NO_CONNECTION;
use crate::turns::in_order;

impl Run<'_> {
    /// The kernel tells of a connection once, however much has come on it.
    pub(super) fn once_by_connection(&self, batch: &mut Vec<Due>) {
        if batch.len() < 2 {
            return;
        }
        let mut told: Vec<u32> = Vec::new();
        batch.retain(|due| {
            let connection = self.model.events[due.1 as usize].connection;
            let is_again = told.contains(&connection);
            if connection != NO_CONNECTION && !is_again {
                told.push(connection);
            }
            !is_again
        });
    }

    /// Reads what has come on a connection, of which the kernel told then: more than it told of.
    pub(super) fn read(&mut self, (ready_ns, event): Due, told_ns: Ns) {
        let connection = self.model.events[event as usize].connection;
        // Kept, since there is one with every other event.
        let mut answers = std::mem::take(&mut self.answers);
        self.agenda.read(connection, told_ns, told_ns, &mut answers);
        in_order(&mut answers, &self.model.events);
        let lead_ns = answers.first().map_or(0, |first| self.lead_of(*first));
        let read_ns = self.now.max(ready_ns) + lead_ns;
        self.agenda.read(connection, read_ns, told_ns, &mut answers);
        in_order(&mut answers, &self.model.events);
        for (number, due) in answers.drain(..).enumerate() {
            self.run(due, number > 0);
        }
        self.answers = answers;
    }
}

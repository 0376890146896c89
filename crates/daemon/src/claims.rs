//! Who wants which speed of which lever: the arbitration between clients.
//!
//! The highest claim wins, because a slower lever would break the promise to whoever claimed more;
//! a lever nobody claims has no value here, which means: put it back.

use std::collections::BTreeMap;

/// Number of a connection; never used again.
pub type ClientId = u64;

/// All claims, by holding (a lever on a domain) `K`.
///
/// A client may claim one holding through several targets (CPUs of one domain) at once.
#[derive(Debug, Clone)]
pub struct Claims<K> {
    of: BTreeMap<K, BTreeMap<(ClientId, u32), u32>>,
}

impl<K> Default for Claims<K> {
    fn default() -> Self {
        Self {
            of: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Copy> Claims<K> {
    /// Adds or changes a claim; gives back what it was before, for who must take it back.
    pub fn put(&mut self, key: K, client: ClientId, target: u32, value: u32) -> Option<u32> {
        let claims = self.of.entry(key).or_default();
        claims.insert((client, target), value)
    }

    /// Ends a claim; whether there was one.
    pub fn remove(&mut self, key: K, client: ClientId, target: u32) -> bool {
        let Some(claims) = self.of.get_mut(&key) else {
            return false;
        };
        let was_there = claims.remove(&(client, target)).is_some();
        if claims.is_empty() {
            self.of.remove(&key);
        }
        was_there
    }

    /// What a client claims through a target.
    pub fn claimed(&self, client: ClientId, target: u32) -> Vec<K> {
        let claims = self.of.iter();
        let claimed = claims.filter(|(_, claims)| claims.contains_key(&(client, target)));
        claimed.map(|(key, _)| *key).collect()
    }

    /// Ends all claims of a client: how many, and of which holdings.
    pub fn remove_client(&mut self, client: ClientId) -> (u32, Vec<K>) {
        let (mut removed, mut touched) = (0, Vec::new());
        for (key, claims) in &mut self.of {
            let before = claims.len();
            claims.retain(|(owner, _), _| *owner != client);
            if claims.len() < before {
                removed += (before - claims.len()) as u32;
                touched.push(*key);
            }
        }
        self.of.retain(|_, claims| !claims.is_empty());
        (removed, touched)
    }

    /// Ends all claims of a holding; whose they were.
    pub fn remove_holding(&mut self, key: K) -> Vec<ClientId> {
        let claims = self.of.remove(&key).unwrap_or_default();
        let mut clients: Vec<_> = claims.into_keys().map(|(client, _)| client).collect();
        clients.dedup();
        clients
    }

    /// The highest claim; none when nobody has one.
    pub fn highest(&self, key: K) -> Option<u32> {
        self.of.get(&key)?.values().copied().max()
    }

    /// How many claims a client has.
    pub fn count(&self, client: ClientId) -> u32 {
        let of_client = |claims: &BTreeMap<(ClientId, u32), u32>| {
            claims.range((client, 0)..=(client, u32::MAX)).count() as u32
        };
        self.of.values().map(of_client).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_highest_wins_and_the_last_one_lets_go() {
        let mut claims = Claims::default();
        claims.put('a', 1, 0, 20);
        claims.put('a', 2, 0, 30);
        assert_eq!(claims.highest('a'), Some(30));
        assert!(claims.remove('a', 2, 0));
        assert_eq!(claims.highest('a'), Some(20));
        assert!(claims.remove('a', 1, 0));
        assert_eq!(claims.highest('a'), None);
        assert!(!claims.remove('a', 1, 0), "twice");
    }

    #[test]
    fn two_targets_of_one_domain_are_two_claims() {
        let mut claims = Claims::default();
        claims.put('a', 1, 0, 20);
        claims.put('a', 1, 1, 30);
        claims.remove('a', 1, 1);
        assert_eq!(claims.highest('a'), Some(20));
        assert_eq!(claims.count(1), 1);
    }

    proptest! {
        /// Whatever happened before, a client that is gone has no part in any holding.
        #[test]
        fn clients_that_are_gone_claim_nothing(
            steps in proptest::collection::vec((0u8..3, 0u8..3, 0u64..4, 0u32..3, 0u32..9), 0..60),
        ) {
            let mut claims = Claims::default();
            let mut model: Vec<(u8, u64, u32, u32)> = Vec::new();
            for (step, key, client, target, value) in steps {
                let same = |entry: &(u8, u64, u32, u32)| {
                    (entry.0, entry.1, entry.2) == (key, client, target)
                };
                match step {
                    0 => {
                        claims.put(key, client, target, value);
                        model.retain(|entry| !same(entry));
                        model.push((key, client, target, value));
                    }
                    1 => {
                        let was_there = model.iter().any(same);
                        prop_assert_eq!(claims.remove(key, client, target), was_there);
                        model.retain(|entry| !same(entry));
                    }
                    _ => {
                        let (removed, _) = claims.remove_client(client);
                        let before = model.len();
                        model.retain(|entry| entry.1 != client);
                        prop_assert_eq!(removed as usize, before - model.len());
                    }
                }
                for key in 0..3 {
                    let of_key = model.iter().filter(|entry| entry.0 == key);
                    prop_assert_eq!(claims.highest(key), of_key.map(|entry| entry.3).max());
                }
            }
        }
    }
}

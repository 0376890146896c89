//! Lints about what V8 did on the loop thread: collections, compilation, inline caches.

use std::collections::BTreeSet;

use super::{Evidence, finding, place};
use crate::figures::{percent, stretches, time};
use crate::report::{Culprit, CulpritKind, Finding, Pause};

/// Share of the tail's latency from which a cause is worth telling.
const WORTH_TELLING: f64 = 0.1;
const MIB: u64 = 1 << 20;
/// The findings that are about collections.
pub(super) const COLLECTIONS: [&str; 2] = [FULL, YOUNG];
const FULL: &str = "gc-full";
const YOUNG: &str = "gc-young";
/// How the words of collections end that V8 did not decide on by the size of its heap.
const ASKED: &str = "(asked for)";
const EXTERNAL: &str = "(external memory)";
const EVERYTHING: &str = "(to free all)";
/// A heap that may grow to this is not collected because it is near its limit.
const ROOMY_BYTES: u64 = 2 << 30;

/// Collections of the whole heap and their parts: they take as long as there are live objects.
pub(super) fn full_collections(evidence: &Evidence<'_>) -> Option<Finding> {
    let heap = range(evidence.heaps.iter().map(|heap| heap.limit_bytes));
    let limit = heap.map_or_else(String::new, |(low, high)| {
        format!("; the heap limit is {}", mib(low, high))
    });
    let memory = evidence.heaps.iter().filter_map(|h| h.memory_limit_bytes);
    let larger = match (heap, memory.min()) {
        // Twice the heap has to fit into the memory, beside what is not on the heap.
        (Some((low, high)), memory)
            if low == high && memory.is_none_or(|m| m / 4 * 3 > 2 * low) =>
        {
            format!("={}", 2 * low / MIB)
        }
        _ => String::new(),
    };
    let lever = match heap {
        Some((low, _)) if low >= ROOMY_BYTES => {
            "let fewer short-lived ones grow old (--max-semi-space-size)".to_owned()
        }
        _ => format!("raise the heap limit (--max-old-space-size{larger})"),
    };
    let action = format!("keep fewer objects alive, or {lever}, and measure again");
    collections(evidence, FULL, is_full, &limit, action)
}

/// Collections of the young generation: rarer when it is larger.
pub(super) fn young_collections(evidence: &Evidence<'_>) -> Option<Finding> {
    let sizes = evidence.heaps.iter().filter_map(|h| h.semi_space_bytes);
    let semi_space = range(sizes);
    let limit = match semi_space {
        Some((low, high)) => format!("; a semi-space is {}", mib(low, high)),
        None if evidence.heaps.is_empty() => String::new(),
        None => "; a semi-space has V8's default size, which is not known here".to_owned(),
    };
    let larger = match semi_space {
        Some((low, high)) if low == high => format!("={}", 2 * low / MIB),
        _ => String::new(),
    };
    let action = format!(
        "allocate less per request, or try a larger --max-semi-space-size{larger}, and measure \
         again"
    );
    collections(evidence, YOUNG, is_young, &limit, action)
}

/// Collections that the program asked for: no size of the heap makes them fewer.
pub(super) fn asked_collections(evidence: &Evidence<'_>) -> Option<Finding> {
    let is_asked = |c: &Culprit| c.word.ends_with(ASKED);
    // Who asked for a later turn of the loop has no place.
    let mut asked = evidence.culprits.iter().filter(|c| is_asked(c));
    let place = asked.find_map(|c| place(c.route.as_deref(), c.location.as_deref()));
    let place = place.map_or_else(String::new, |place| format!(" out of {place}"));
    let action = format!("take the call of gc(){place}: V8 collects by itself when it has to");
    let by = "; the program asked for them (gc(), or an inspector)";
    collections(evidence, "gc-asked", is_asked, by, action)
}

/// Collections because of buffers, which no size of the heap makes fewer either.
pub(super) fn collections_for_external_memory(evidence: &Evidence<'_>) -> Option<Finding> {
    let is_external = |c: &Culprit| c.word.ends_with(EXTERNAL);
    let action = "keep fewer bytes in Buffers and ArrayBuffers at once: stream them, or use them \
                  again; flags of the heap do not help";
    let held = "; V8 wanted memory back that lies outside its heap";
    collections(evidence, "gc-external", is_external, held, action.into())
}

/// Collections that were to free whatever could be freed.
pub(super) fn collections_to_free_all(evidence: &Evidence<'_>) -> Option<Finding> {
    let is_to_free_all = |c: &Culprit| c.word.ends_with(EVERYTHING);
    let action = "take no heap snapshots while it serves; where none is taken, memory runs out: \
                  keep fewer objects alive";
    collections(evidence, "gc-all", is_to_free_all, "", action.into())
}

fn is_full(culprit: &Culprit) -> bool {
    !is_young(culprit) && is_of_heap(culprit)
}

fn is_young(culprit: &Culprit) -> bool {
    matches!(culprit.word.as_str(), "scavenge" | "minor mark-compact")
}

/// V8 decided on it by the size of the heap, as far as it tells.
fn is_of_heap(culprit: &Culprit) -> bool {
    !culprit.word.ends_with(')')
}

/// The kinds of a group together, and the one that cost most.
fn collections(
    evidence: &Evidence<'_>,
    code: &str,
    is_of_group: impl Fn(&Culprit) -> bool,
    limit: &str,
    action: String,
) -> Option<Finding> {
    let all = evidence.culprits.iter();
    let group: Vec<_> = all
        .filter(|c| c.kind == CulpritKind::Gc && is_of_group(c))
        .collect();
    let worst = group.first()?;
    let impact_ns = evidence.per_request(group.iter().map(|c| c.inflicted_ns).sum());
    if evidence.share(impact_ns) < WORTH_TELLING {
        return None;
    }
    let mut kinds: Vec<_> = group.iter().map(|c| c.word.as_str()).collect();
    // Those that were asked for have a row for each place.
    let mut seen = BTreeSet::new();
    kinds.retain(|kind| seen.insert(*kind));
    let mostly = match kinds.len() {
        1 => String::new(),
        _ => format!("most by {}, ", worst.word),
    };
    let sentence = format!(
        "{} pauses cost the tail {}, {} of its latency: {mostly}{}{}{limit}",
        kinds.join(" and "),
        time(impact_ns),
        percent(evidence.share(impact_ns)),
        stretches(worst.occurrences, worst.longest_ns),
        longest(evidence, &kinds),
    );
    Some(finding(code, impact_ns, sentence, action))
}

/// The longest of these kinds that the tail waited for, and in whose code it began: who allocates,
/// or asks for a collection, is the likelier there the longer it runs.
fn longest(evidence: &Evidence<'_>, kinds: &[&str]) -> String {
    // One that stopped another thread, or nobody, is not what the tail waited for.
    let of_kind = |pause: &&Pause| pause.tail_victims > 0 && kinds.contains(&pause.kind.as_str());
    let Some(pause) = evidence.pauses.iter().find(of_kind) else {
        return String::new();
    };
    let inside = pause.inside.as_ref();
    let where_it = inside.and_then(|i| place(i.route.as_deref(), i.location.as_deref()));
    let begun = where_it.map_or_else(String::new, |place| format!(", begun in {place}"));
    format!("; the longest took {}{begun}", time(pause.duration_ns))
}

fn range(bytes: impl Iterator<Item = u64> + Clone) -> Option<(u64, u64)> {
    Some((bytes.clone().min()?, bytes.max()?))
}

fn mib(low: u64, high: u64) -> String {
    if low == high {
        format!("{} MB", low / MIB)
    } else {
        format!("{} to {} MB", low / MIB, high / MIB)
    }
}

/// Code is compiled while requests wait for it.
pub(super) fn compilation(evidence: &Evidence<'_>) -> Option<Finding> {
    let impact_ns = evidence.per_request(evidence.tail_sums.work.jit_ns);
    if evidence.share(impact_ns) < WORTH_TELLING || !evidence.tail_sums.measured.jit {
        return None;
    }
    let warming = evidence.tail_sums.early_jit_ns > evidence.tail_sums.work.jit_ns / 2;
    let early = if warming {
        ", most of it in the first tenth of the recording"
    } else {
        ""
    };
    let sentence = format!(
        "V8 compiles code for {} of the tail's latency ({} in a request of the rest){early}",
        percent(evidence.share(impact_ns)),
        time(evidence.rest_sums.work.jit_ns / evidence.rest_sums.count.max(1)),
    );
    let action = if warming {
        "warm the service up before it takes requests, or leave its beginning out (--warmup)"
    } else {
        "compile once and keep it, nothing per request: eval, new Function, vm scripts, templates, \
         large functions that run once, modules loaded late"
    };
    Some(finding("jit", impact_ns, sentence, action))
}

/// Property accesses miss their caches.
pub(super) fn inline_caches(evidence: &Evidence<'_>) -> Option<Finding> {
    let impact_ns = evidence.per_request(evidence.tail_sums.work.ic_ns);
    if evidence.share(impact_ns) < WORTH_TELLING || !evidence.tail_sums.measured.ic {
        return None;
    }
    let sentence = format!(
        "inline-cache misses are {} of the tail's latency ({} in a request of the rest)",
        percent(evidence.share(impact_ns)),
        time(evidence.rest_sums.work.ic_ns / evidence.rest_sums.count.max(1)),
    );
    let action = "give objects that pass the same code the same properties in the same order, and \
                  use a Map for keys that vary";
    Some(finding("ic", impact_ns, sentence, action))
}

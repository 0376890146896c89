//! What the tail of a cluster is made of: the paper's table 5.
//!
//! The paper has each part as a share of the tail's latency, where table 4 has shares of the
//! thread's time only; so waiting for I/O stands beside the work classes. What the paper has no
//! column for is kept as `other`, so that the parts sum up.

use std::collections::BTreeSet;

use crate::report::{Breakdown, Class, Cluster, ProcessBreakdown};

/// Fewer processes that finished requests are no cluster; worker threads are one process.
const PROCESSES_MIN: usize = 2;

/// Of `breakdown`, the row over all requests of the tail; `None` of a single process.
pub(crate) fn cluster(breakdown: &[Breakdown], processes: &[ProcessBreakdown]) -> Option<Cluster> {
    let pids: BTreeSet<u32> = processes.iter().map(|row| row.pid).collect();
    if pids.len() < PROCESSES_MIN {
        return None;
    }
    let is_whole = |row: &&Breakdown| row.class == Class::Tail && row.route == "*";
    let tail = breakdown.iter().find(is_whole)?;
    let work = &tail.work;
    let told = [work.native_ns, work.gc_ns, work.jit_ns, work.ic_ns];
    let told_ns: u64 = told.into_iter().flatten().sum();
    Some(Cluster {
        processes: pids.len() as u64,
        count: tail.count,
        latency_ns: tail.latency_ns,
        io_ns: tail.io_ns,
        ic_ns: work.ic_ns,
        gc_ns: work.gc_ns,
        jit_ns: work.jit_ns,
        native_ns: work.native_ns,
        other_ns: tail.latency_ns.saturating_sub(tail.io_ns + told_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Work;
    use crate::summary::process_breakdown;

    const WORK: Work = Work {
        native_ns: Some(30),
        gc_ns: Some(20),
        jit_ns: None,
        ic_ns: Some(5),
        loop_ns: Some(4),
        not_running_ns: Some(1),
    };

    fn row(route: &str, class: Class) -> Breakdown {
        Breakdown {
            route: route.into(),
            class,
            count: 2,
            latency_ns: 103,
            io_ns: 40,
            queue_ns: 50,
            exec_ns: 10,
            unattributed_ns: 3,
            work: WORK,
            paper_sum_ns: 0,
        }
    }

    fn process(pid: u32, thread: u32) -> ProcessBreakdown {
        process_breakdown(pid, thread, row("*", Class::Tail))
    }

    #[test]
    fn parts_sum_to_the_latency_of_the_tail() {
        let rows = [
            row("*", Class::Nontail),
            row("/a", Class::Tail),
            row("*", Class::Tail),
        ];
        let told = cluster(&rows, &[process(7, 0), process(8, 0)]).expect("two processes");
        let of_class = [told.ic_ns, told.gc_ns, told.jit_ns, told.native_ns];
        let parts: u64 = of_class.into_iter().flatten().sum();
        assert_eq!(told.io_ns + parts + told.other_ns, told.latency_ns);
        assert_eq!((told.processes, told.jit_ns, told.other_ns), (2, None, 8));
    }

    #[test]
    fn threads_of_one_process_are_no_cluster() {
        let rows = [row("*", Class::Tail)];
        assert_eq!(cluster(&rows, &[process(7, 0), process(7, 1)]), None);
    }
}

//! Waiting for a thread of the pool: which jobs had them.

use bobtail_graph::Options;
use bobtail_testkit::draw;

use super::support::{check, paths, paths_by};

/// Two threads: a job of 10 ms and one of 40 ms of /reports have them when /short wants one.
const EXHAUSTED: &str = r#"
    open 1 server
    open 2 server
    open 3 server
    0ms    begin #1 read handle=1 ready=0ms
           source 1 "GET /reports"
    0.5ms  at "report app.js:7:3"
           register pool op=1 "fs.read big"
           register pool op=2 "crypto.pbkdf2"
    1ms    end
    2ms    begin #2 read handle=2 ready=2ms
           source 2 "GET /short"
           register pool op=3 "fs.stat a"
    2ms    end
    3ms    begin #3 read handle=3 ready=3ms
           source 3 "GET /none"
    4ms    sink 3 200
           write 3
           end
    11ms   begin #4 pool op=1 ready=11ms run=10ms
    11ms   end
    12ms   begin #5 pool op=3 ready=12ms run=1ms
    13ms   sink 2 200
           write 2
           end
    41ms   begin #6 pool op=2 ready=41ms run=40ms
           sink 1 200
           write 1
           end
    "#;

#[test]
fn jobs_that_had_the_threads_share_the_wait_also_one_that_is_back_after_the_response() {
    check(
        EXHAUSTED,
        2,
        "GET /short 11ms
         io 9ms pool-wait pool#5 fs.stat a < job#4 GET /reports fs.read big report app.js:7:3 \
         4.5ms, job#6 GET /reports crypto.pbkdf2 report app.js:7:3 4.5ms
         io 1ms pool-run pool#5 fs.stat a
         exec 1ms pool#5",
    );
}

#[test]
fn a_request_that_waited_for_a_thread_is_handed_on_when_all_is_known_or_nothing_more_comes() {
    let drawn = draw(EXHAUSTED);
    let order = |drawn| -> Vec<_> {
        let all = paths(drawn, Options::default());
        all.iter().map(|path| path.id).collect()
    };
    assert_eq!(order(&drawn), [3, 2, 1]);
    let mut cut = drawn.clone();
    cut.records.truncate(cut.records.len() - 4);
    let known = paths(&cut, Options::default());
    let [_, short] = &known[..] else {
        panic!("{known:#?}")
    };
    let culprits: Vec<_> = short
        .culprits
        .iter()
        .map(|c| (c.event, c.duration_ns))
        .collect();
    assert_eq!(culprits, [(4, 9_000_000)], "what is not back is not known");
}

#[test]
fn a_thread_that_is_woken_late_is_nobodys_doing() {
    check(
        r#"
        open 1 server
        0ms     begin #1 read handle=1 ready=0ms
                source 1 "GET /"
                register pool op=1 "fs.read long"
                register pool op=2 "fs.stat a"
        0ms     end
        1.06ms  begin #2 pool op=2 ready=1.06ms run=1ms
        2ms     sink 1 200
                end
        9ms     begin #3 pool op=1 ready=9ms run=8.99ms
                end
        "#,
        1,
        "GET / 2ms
         io 0.06ms pool-wait pool#2 fs.stat a
         io 1ms pool-run pool#2 fs.stat a
         exec 0.94ms pool#2",
    );
}

/// A job that does not come back has a thread when /short wants one; `then` follows.
fn beside_a_job_without_end(then: &str) -> (Vec<u32>, usize) {
    let drawing = format!(
        r#"
        open 1 server
        open 2 server
        0ms    begin #1 read handle=1 ready=0ms
               source 1 "GET /pipe"
               register pool op=1 "fs.read pipe"
               register pool op=2 "crypto.pbkdf2"
        1ms    end
        2ms    begin #2 read handle=2 ready=2ms
               source 2 "GET /short"
               register pool op=3 "fs.stat a"
        2ms    end
        11ms   begin #3 pool op=2 ready=11ms run=10ms
        11ms   end
        12ms   begin #4 pool op=3 ready=12ms run=1ms
        13ms   sink 2 200
               write 2
               end
        {then}
        "#
    );
    let (paths, before_end) = paths_by(&draw(&drawing), Options::default());
    (paths.iter().map(|path| path.id).collect(), before_end)
}

#[test]
fn a_job_that_takes_longer_than_a_second_is_not_waited_for() {
    let (paths, before_end) = beside_a_job_without_end("900ms begin #5 read handle=2 ready=900ms");
    assert_eq!((paths, before_end), (vec![2], 0));
    let (paths, before_end) =
        beside_a_job_without_end("1100ms begin #5 read handle=2 ready=1100ms");
    assert_eq!((paths, before_end), (vec![2], 1));
}

#[test]
fn a_job_that_may_have_come_back_in_what_was_lost_is_not_waited_for() {
    let (paths, before_end) = beside_a_job_without_end("20ms loss no-chunk count=7 events=7");
    assert_eq!((paths, before_end), (vec![2], 1));
}

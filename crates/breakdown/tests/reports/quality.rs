//! Findings about the recording itself: how far its answers can be trusted.

use bobtail_breakdown::RunFacts;
use bobtail_testkit::draw;

use super::findings::{expect, repeated, repeated_of};
use super::support::{many_routes, report_of};

/// One request in a hundred, the slowest, has a hop that was deduced.
#[test]
fn a_tail_that_is_deduced_is_told_though_few_requests_are() {
    let mut text = String::from("open 900 server\n");
    for i in 1..=1000 {
        let begin = i * 1000;
        let (length, then) = match i % 90 {
            0 => (
                90,
                format!(
                    "register pool op={i} \"x\"\nend\n{}ms begin other\n",
                    begin + 80
                ),
            ),
            _ => (5, String::new()),
        };
        text += &format!(
            "{begin}ms begin read handle=900 ready={begin}ms\nsource {i} \"GET /x\"\n{then}\
             {}ms sink {i} 200\nend\n",
            begin + length
        );
    }
    let report = report_of(RunFacts::default(), &[draw(&text)], 99.0);
    let finding = report.findings.iter().find(|f| f.code == "inferred");
    let sentence = &finding.expect("a finding").sentence;
    let counts = "the path of 11 of 1,000 requests, 11 of 11 in the tail, has a hop";
    assert!(sentence.starts_with(counts), "{sentence}");
}

#[test]
fn unexplained_time_is_a_finding() {
    let report = repeated(
        r#"@0 begin read handle=900 ready=@0
           source $1 "GET /x"
           write 902
           end
           poll for=0ms
           @100 begin read handle=902
           sink $1 200
           end"#,
    );
    expect(&report, "unattributed", 100);
}

#[test]
fn loop_events_alone_are_one_finding_about_the_recording() {
    let scene = r#"@0 begin read handle=900 ready=@0
           source $1 "GET /x"
           @40 end
           @41 begin other ready=@40
           @90 sink $1 200
           end"#;
    let codes = |detail: &str| {
        let detail = detail.to_owned();
        let run = RunFacts {
            detail,
            ..RunFacts::default()
        };
        let report = repeated_of(run, scene, 50.0);
        let mut codes: Vec<_> = report.findings.into_iter().map(|f| f.code).collect();
        codes.sort();
        codes
    };
    assert_eq!(codes("full"), ["inferred", "own-work"]);
    assert_eq!(codes("loop"), ["loop-detail"]);
}

#[test]
fn threads_beyond_the_bound_are_a_loss_and_a_finding() {
    let scene = r#"@0 begin read handle=900 ready=@0
           source $1 "GET /x"
           @90 sink $1 200
           end"#;
    let of = |refused_loops| {
        let run = RunFacts {
            refused_loops,
            ..RunFacts::default()
        };
        let report = repeated_of(run, scene, 50.0);
        let code = |code: &str| report.findings.iter().any(|f| f.code == code);
        let told = (code("not-all-recorded"), code("lost-history"));
        (told, report.losses.get("event-loops").copied())
    };
    assert_eq!(of(0), ((false, false), None));
    assert_eq!(of(12), ((true, false), Some(12)));
}

#[test]
fn routes_without_a_name_of_their_own_are_told() {
    let of = |routes| {
        let report = report_of(RunFacts::default(), &[many_routes(routes)], 50.0);
        let finding = report
            .findings
            .into_iter()
            .find(|f| f.code == "unnamed-routes");
        finding.map(|f| f.sentence)
    };
    assert_eq!(of(1_000), None);
    let told = "3 of 1,003 requests are of routes beyond the first 1,000, which are told together \
                as (other)";
    assert_eq!(of(1_003).as_deref(), Some(told));
}

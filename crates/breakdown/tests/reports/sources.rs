//! Places in code are told in the source, where something is known of it.

use std::collections::BTreeSet;

use bobtail_breakdown::{
    Aggregate, CodeLocation, Explain, Page, Population, Report, RunFacts, Strings, Tally,
    aggregate_and, explain, report, slowest,
};
use bobtail_testkit::{Drawn, draw};
use bobtail_trace::record::StringId;

use super::support::{records, surveys, trace_info};

/// Two places of a bundle are one line of its source.
struct Bundle(Vec<String>);

impl Strings for Bundle {
    fn get(&self, id: StringId) -> Option<&str> {
        self.0.get(id)
    }

    fn original(&self, ran: &CodeLocation) -> Option<CodeLocation> {
        let column = match (ran.file.as_str(), ran.column) {
            ("dist.js", 710) => 5,
            ("dist.js", 720) => 21,
            _ => return None,
        };
        Some(CodeLocation {
            function: "serialize".into(),
            file: "src/export.ts".into(),
            line: 88,
            column,
        })
    }
}

/// Requests that wait for 20 ms behind one place of the bundle and for 10 ms behind another.
fn two_places() -> Drawn {
    let mut text = String::new();
    for number in 0..40 {
        let at = |ms| number * 1000 + ms;
        let ids = [3 * number + 1, 3 * number + 2, 3 * number + 3];
        text += &format!(
            "{}ms begin read handle=900 ready={0}ms\n source {} \"GET /a\"\n\
             {}ms at \"a dist.js:1:710\"\n{}ms sink {1} 200\n end\n\
             begin read handle=901 ready={}ms\n source {} \"GET /a\"\n\
             {}ms at \"b dist.js:1:720\"\n{}ms sink {5} 200\n end\n\
             begin read handle=902 ready={4}ms\n source {} \"GET /x\"\n{}ms sink {8} 200\n end\n",
            at(0),
            ids[0],
            at(6),
            at(20),
            at(0),
            ids[1],
            at(25),
            at(30),
            ids[2],
            at(31),
        );
    }
    draw(&text)
}

/// The report and the page of it.
fn answers() -> (Report, serde_json::Value) {
    let drawn = two_places();
    let bundle = Bundle(drawn.strings.clone());
    let surveys = surveys(std::slice::from_ref(&drawn));
    let population = Population::of(&surveys, 70.0);
    let mut sums = Aggregate::new();
    let mut tally = Tally::new(&population, 1);
    let mut counting = tally.of_trace(0, &bundle, &surveys[0]);
    let also = |path: &_| counting.see(path);
    let all = records(&drawn);
    let Ok(()) = aggregate_and(&mut sums, all, &bundle, &surveys[0], &population, also);
    let report = report(RunFacts::default(), &surveys, &population, &sums);
    let mut page = Page::of(tally, &surveys, &sums);
    let Ok(()) = page.show(0, &trace_info(0), records(&drawn), &bundle);
    let page = serde_json::to_value(page.finish(report.clone()));
    (report, page.expect("serializable"))
}

fn slowest_request() -> Explain {
    let drawn = two_places();
    let ids: BTreeSet<_> = slowest(&surveys(std::slice::from_ref(&drawn)), 1)
        .into_iter()
        .map(|(_, id)| id)
        .collect();
    let bundle = Bundle(drawn.strings.clone());
    let Ok(mut answers) = explain(&trace_info(0), records(&drawn), &bundle, &ids);
    answers.remove(0)
}

#[test]
fn what_waits_behind_two_places_of_a_line_is_counted_once() {
    let (report, page) = answers();
    assert_eq!(report.tail.count, 40, "{report:#?}");
    let [hog] = report.culprits.as_slice() else {
        panic!("{:#?}", report.culprits);
    };
    assert_eq!(
        hog.location.as_deref(),
        Some("serialize src/export.ts:88:5")
    );
    assert_eq!(hog.generated_location.as_deref(), Some("a dist.js:1:710"));
    assert_eq!((hog.victims, hog.occurrences), (40, 80));
    assert_eq!(hog.inflicted_ns, 40 * 30_000_000);
    let finding = &report.findings[0];
    assert_eq!(finding.code, "loop-hog");
    for text in [&finding.sentence, &finding.action] {
        let named = text.contains("serialize src/export.ts:88:5 (GET /a)");
        assert!(named && !text.contains("dist.js"), "{finding:?}");
    }
    let [row] = page["culprits"].as_array().expect("a list").as_slice() else {
        panic!("{page:#}");
    };
    let text = |place: usize| {
        let number = row[place].as_u64().expect("the number of a text");
        page["strings"][number as usize].as_str()
    };
    assert_eq!(text(3), hog.location.as_deref());
    assert_eq!(text(4), hog.generated_location.as_deref());
}

#[test]
fn a_request_names_both_the_source_and_what_ran() {
    let answer = slowest_request();
    let culprits = answer.segments.iter().flat_map(|s| &s.culprits);
    let places: Vec<_> = culprits
        .map(|c| (c.location.as_deref(), c.generated_location.as_deref()))
        .collect();
    assert_eq!(
        places,
        [
            (
                Some("serialize src/export.ts:88:5"),
                Some("a dist.js:1:710")
            ),
            (
                Some("serialize src/export.ts:88:21"),
                Some("b dist.js:1:720")
            ),
        ]
    );
    let hog = answer.events.iter().find(|event| event.id == 1);
    let hog = hog.expect("the first event");
    assert_eq!(
        hog.location.as_deref(),
        Some("serialize src/export.ts:88:5")
    );
    assert_eq!(hog.generated_location.as_deref(), Some("a dist.js:1:710"));
}

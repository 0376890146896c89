//! What drawn traces come to when they are replayed, as text.

use bobtail_sim::{Capture, Components, Coverage, Log, Model, Refusal, Scenario, replay};
use bobtail_testkit::{Drawn, draw};

pub fn capture(drawn: &Drawn) -> Result<Log, Refusal> {
    let mut capture = Capture::new(None);
    drawn
        .records
        .iter()
        .for_each(|record| capture.push(*record));
    let log = capture.finish()?;
    Coverage::of(&log).check()?;
    Ok(log)
}

/// Latencies of a drawing under a change, by request: `/a 5ms, /b 7ms`.
pub fn latencies(drawing: &str, change: impl Fn(&mut Scenario, &Components)) -> String {
    let drawn = draw(drawing);
    let log = capture(&drawn).expect("the drawing can be replayed");
    let mut components = Components::new();
    let model = Model::of(&log, |id| Some(drawn.text(id)), &mut components).unwrap();
    let mut scenario = Scenario::unchanged();
    change(&mut scenario, &components);
    let replayed = replay(&model, &scenario, &components);
    let names = components.routes();
    let each = model.routes().zip(replayed.latencies_ns);
    let mut told: Vec<String> = each
        .map(|(route, ns)| format!("{} {}ms", names[route as usize], ns as f64 / 1e6))
        .collect();
    told.sort();
    told.join(", ")
}

/// Without a change and with one.
pub fn check(
    drawing: &str,
    recorded: &str,
    change: impl Fn(&mut Scenario, &Components),
    expected: &str,
) {
    assert_eq!(latencies(drawing, |_, _| {}), recorded);
    assert_eq!(latencies(drawing, change), expected);
}

/// The number of a resource.
pub fn resource(components: &Components, name: &str) -> u32 {
    let at = components.resources().iter().position(|one| one == name);
    at.expect("the resource is there") as u32
}

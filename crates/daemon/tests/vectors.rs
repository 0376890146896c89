//! The golden vectors of the protocol: each frame has the bytes and the meaning that the
//! specification says, and each bad one its error.

use bobtail_control::{LeverKind, Unit};
use bobtail_daemon::protocol::{Answer, Offer, Refusal, Request, Want};
use bobtail_policy::Speed;
use serde_json::Value;

const VECTORS: &str = include_str!("../../../spec/vectors/bobtaild-v1/frames.json");

fn number<T: TryFrom<u64>>(vector: &Value, key: &str) -> T {
    let found = vector[key]
        .as_u64()
        .and_then(|number| T::try_from(number).ok());
    found.unwrap_or_else(|| panic!("{key} of {vector}"))
}

fn want(vector: &Value) -> Want {
    let lever: LeverKind = serde_json::from_value(vector["lever"].clone()).unwrap();
    let target = number(vector, "target");
    Want { lever, target }
}

fn request(vector: &Value) -> Request {
    let speed = match &vector["speed"] {
        Value::String(name) if name == "peak" => Speed::Peak,
        Value::Number(khz) => Speed::Khz(khz.as_u64().unwrap() as u32),
        _ => Speed::Base,
    };
    match vector["kind"].as_str().unwrap() {
        "hello" => Request::Hello {
            oldest: number(vector, "oldest"),
            newest: number(vector, "newest"),
        },
        "ask" => Request::Ask(want(vector)),
        "raise" => Request::Raise {
            want: want(vector),
            speed,
        },
        "lower" => Request::Lower(want(vector)),
        "lower-all" => Request::LowerAll,
        "beat" => Request::Beat,
        other => panic!("{other}"),
    }
}

fn answer(vector: &Value) -> Answer {
    match vector["kind"].as_str().unwrap() {
        "welcome" => Answer::Welcome {
            heartbeat_timeout_ns: number(vector, "heartbeatTimeoutNs"),
            max_claims: number(vector, "maxClaims"),
        },
        "offered" => Answer::Offered(Offer {
            domain: number(vector, "domain"),
            unit: serde_json::from_value::<Unit>(vector["unit"].clone()).unwrap(),
            lowest: number(vector, "lowest"),
            highest: number(vector, "highest"),
            base: number(vector, "base"),
            peak: number(vector, "peak"),
            transition_ns: vector["transitionNs"].as_u64().map(|ns| ns as u32),
        }),
        "granted" => Answer::Granted {
            granted: number(vector, "granted"),
            effective: number(vector, "effective"),
        },
        "lowered" => Answer::Lowered {
            claims: number(vector, "claims"),
        },
        "refused" => Answer::Refused {
            refusal: refusal(vector["refusal"].as_str().unwrap()),
            detail: number(vector, "detail"),
        },
        other => panic!("{other}"),
    }
}

fn refusal(name: &str) -> Refusal {
    match name {
        "bad-frame" => Refusal::BadFrame,
        "version" => Refusal::Version,
        "not-allowed" => Refusal::NotAllowed,
        "not-allowed-here" => Refusal::NotAllowedHere,
        "no-lever" => Refusal::NoLever,
        "lever-failed" => Refusal::LeverFailed,
        "domain-busy" => Refusal::DomainBusy,
        "no-journal" => Refusal::NoJournal,
        "too-many-clients" => Refusal::TooManyClients,
        "too-many-claims" => Refusal::TooManyClaims,
        "flood" => Refusal::Flood,
        "expired" => Refusal::Expired,
        "ending" => Refusal::Ending,
        "speed-off" => Refusal::SpeedOff,
        other => panic!("{other}"),
    }
}

fn bytes(vector: &Value) -> Vec<u8> {
    let hex = vector["hex"].as_str().unwrap();
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}

#[test]
fn every_vector_means_what_it_says() {
    let vectors: Vec<Value> = serde_json::from_str(VECTORS).unwrap();
    assert!(vectors.len() > 50, "{} vectors", vectors.len());
    for vector in &vectors {
        let (bytes, is_request) = (bytes(vector), vector["side"] == "request");
        if let Some(expected) = vector["error"].as_str() {
            let error = if is_request {
                Request::decode(&bytes).unwrap_err()
            } else {
                Answer::decode(&bytes).unwrap_err()
            };
            assert_eq!(error.to_string(), expected, "{vector}");
            continue;
        }
        let sequence = number(vector, "sequence");
        if is_request {
            let is_silent = vector["silent"].as_bool().unwrap();
            let request = request(vector);
            assert_eq!(
                request.encode(sequence, is_silent).bytes(),
                bytes,
                "{vector}"
            );
            let decoded = Request::decode(&bytes).unwrap();
            assert_eq!(decoded, (request, sequence, is_silent), "{vector}");
        } else {
            let answer = answer(vector);
            assert_eq!(answer.encode(sequence).bytes(), bytes, "{vector}");
            assert_eq!(
                Answer::decode(&bytes).unwrap(),
                (answer, sequence),
                "{vector}"
            );
        }
    }
}

//! Packets of one sequence: slices, counters and tracks, with names written once.
//!
//! A name is sent with its number the first time and by number from then on; otherwise routes and
//! code locations would be most of the file. Numbers are bounded, later names stand in full.

use std::collections::HashMap;
use std::io::{self, Write};

use bobtail_trace::record::Ns;
use prost::Message;

use super::messages::{
    Clock, ClockSnapshot, DebugAnnotation, Defaults, Interned, InternedData, TracePacket,
    TrackDescriptor, TrackEvent, clock, event_type, flag,
};

/// Names that get a number.
const NAMES: usize = 1 << 16;
/// `Trace.packet`, length-delimited.
const PACKET_TAG: u8 = 0x0a;

/// The value of an argument of a slice.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(String),
    Number(u64),
    Flag(bool),
}

/// What a slice says besides its times.
#[derive(Debug, Clone, Default)]
pub(super) struct Slice<'a> {
    pub category: &'static str,
    pub name: &'a str,
    pub args: Vec<(&'static str, Value)>,
    /// Arrows that go through it.
    pub flows: Vec<u64>,
    /// Arrows that end in it.
    pub last_of_flows: Vec<u64>,
}

/// A slice without arguments.
pub(super) fn of_category<'n>(category: &'static str, name: &'n str) -> Slice<'n> {
    Slice {
        category,
        name,
        ..Slice::default()
    }
}

/// Writes packets that share numbered names.
#[derive(Debug)]
pub(super) struct Sequence<W> {
    out: W,
    id: u32,
    names: HashMap<String, u64>,
    categories: HashMap<&'static str, u64>,
    arguments: HashMap<&'static str, u64>,
    fresh: InternedData,
    buffer: Vec<u8>,
}

impl<W: Write> Sequence<W> {
    /// Starts a sequence; all its times are of `CLOCK_MONOTONIC`.
    pub fn start(out: W, id: u32) -> io::Result<Self> {
        let mut sequence = Self {
            out,
            id,
            names: HashMap::new(),
            categories: HashMap::new(),
            arguments: HashMap::new(),
            fresh: InternedData::default(),
            buffer: Vec::new(),
        };
        sequence.write(TracePacket {
            sequence_flags: Some(flag::CLEARED),
            trace_packet_defaults: Some(Defaults {
                timestamp_clock_id: Some(clock::MONOTONIC),
            }),
            ..TracePacket::default()
        })?;
        Ok(sequence)
    }

    /// Says that times of this trace are of `CLOCK_MONOTONIC`, and what time of day they are.
    pub fn clocks(&mut self, monotonic_ns: u64, realtime_ns: u64) -> io::Result<()> {
        let clock_of = |id, ns| Clock {
            clock_id: Some(id),
            timestamp: Some(ns),
        };
        self.write(TracePacket {
            clock_snapshot: Some(ClockSnapshot {
                clocks: vec![
                    clock_of(clock::MONOTONIC, monotonic_ns),
                    clock_of(clock::REALTIME, realtime_ns),
                ],
                primary_trace_clock: Some(clock::MONOTONIC),
            }),
            ..TracePacket::default()
        })
    }

    pub fn track(&mut self, track: TrackDescriptor) -> io::Result<()> {
        self.write(TracePacket {
            track_descriptor: Some(track),
            ..TracePacket::default()
        })
    }

    pub fn begin(&mut self, track: u64, at_ns: Ns, slice: &Slice<'_>) -> io::Result<()> {
        let name_iid = self.name(slice.name);
        let annotations = slice.args.iter();
        let event = TrackEvent {
            category_iids: vec![self.category(slice.category)],
            debug_annotations: annotations.map(|arg| self.annotation(arg)).collect(),
            r#type: Some(event_type::BEGIN),
            name_iid,
            track_uuid: Some(track),
            name: name_iid.is_none().then(|| slice.name.to_owned()),
            flow_ids: slice.flows.clone(),
            terminating_flow_ids: slice.last_of_flows.clone(),
            ..TrackEvent::default()
        };
        self.event(at_ns, event)
    }

    pub fn end(&mut self, track: u64, at_ns: Ns) -> io::Result<()> {
        let event = TrackEvent {
            r#type: Some(event_type::END),
            track_uuid: Some(track),
            ..TrackEvent::default()
        };
        self.event(at_ns, event)
    }

    pub fn counter(&mut self, track: u64, at_ns: Ns, value: i64) -> io::Result<()> {
        let event = TrackEvent {
            r#type: Some(event_type::COUNTER),
            track_uuid: Some(track),
            counter_value: Some(value),
            ..TrackEvent::default()
        };
        self.event(at_ns, event)
    }

    fn event(&mut self, at_ns: Ns, event: TrackEvent) -> io::Result<()> {
        let fresh = std::mem::take(&mut self.fresh);
        self.write(TracePacket {
            timestamp: Some(at_ns),
            sequence_flags: Some(flag::NEEDED),
            interned_data: (fresh != InternedData::default()).then_some(fresh),
            track_event: Some(event),
            ..TracePacket::default()
        })
    }

    fn write(&mut self, mut packet: TracePacket) -> io::Result<()> {
        packet.trusted_packet_sequence_id = Some(self.id);
        self.buffer.clear();
        self.buffer.push(PACKET_TAG);
        packet.encode_length_delimited(&mut self.buffer)?;
        self.out.write_all(&self.buffer)
    }

    fn annotation(&mut self, (name, value): &(&'static str, Value)) -> DebugAnnotation {
        let fresh = &mut self.fresh.debug_annotation_names;
        let mut annotation = DebugAnnotation {
            name_iid: Some(word_number(&mut self.arguments, name, fresh)),
            ..DebugAnnotation::default()
        };
        match value {
            Value::Text(text) => annotation.string_value = Some(text.clone()),
            Value::Number(number) => annotation.uint_value = Some(*number),
            Value::Flag(flag) => annotation.bool_value = Some(*flag),
        }
        annotation
    }

    /// The number of a slice's name, while there are numbers.
    fn name(&mut self, name: &str) -> Option<u64> {
        if let Some(&iid) = self.names.get(name) {
            return Some(iid);
        }
        if self.names.len() >= NAMES {
            return None;
        }
        let iid = self.names.len() as u64 + 1;
        self.names.insert(name.to_owned(), iid);
        self.fresh.event_names.push(interned(iid, name));
        Some(iid)
    }

    fn category(&mut self, word: &'static str) -> u64 {
        word_number(&mut self.categories, word, &mut self.fresh.event_categories)
    }
}

/// The number of a word of the program, which is told the first time.
fn word_number(
    words: &mut HashMap<&'static str, u64>,
    word: &'static str,
    fresh: &mut Vec<Interned>,
) -> u64 {
    let next = words.len() as u64 + 1;
    *words.entry(word).or_insert_with(|| {
        fresh.push(interned(next, word));
        next
    })
}

fn interned(iid: u64, name: &str) -> Interned {
    Interned {
        iid: Some(iid),
        name: Some(name.to_owned()),
    }
}

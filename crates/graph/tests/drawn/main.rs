//! Drawn traces and the critical path that must come out, as text.

mod departures;
mod http;
mod joins;
mod losses;
mod others;
mod pool;
mod queues;
mod sockets;
mod steps;
mod support;
mod work;

//! One imitation per CPU of a machine: two would slow each other's work, and neither would notice
//! while the other is parked.
//!
//! A name in the kernel's abstract namespace of sockets, because the kernel gives it back whenever
//! and however the process ends. Processes in other network namespaces do not see it.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::emulated::KIND;
use crate::error::ControlError;

/// The right to slow a CPU, until it is dropped.
#[derive(Debug)]
pub(crate) struct Claim(#[allow(dead_code, reason = "held for its name")] UnixDatagram);

impl Claim {
    /// Claims a CPU.
    ///
    /// # Errors
    ///
    /// [`ControlError::Unavailable`] when it is claimed already.
    pub(crate) fn of_cpu(cpu: u32) -> Result<Self, ControlError> {
        let name = format!("bobtail-emulated-cpu{cpu}");
        let bound = SocketAddr::from_abstract_name(&name)
            .and_then(|address| UnixDatagram::bind_addr(&address));
        match bound {
            Ok(socket) => Ok(Self(socket)),
            Err(cause) if cause.kind() == io::ErrorKind::AddrInUse => {
                Err(ControlError::Unavailable {
                    lever: KIND,
                    why: format!("another bobtail imitates the frequency of CPU {cpu}"),
                })
            }
            Err(cause) => Err(ControlError::Call {
                lever: KIND,
                call: "bind",
                cause,
            }),
        }
    }
}

//! Drills that run at once together take no more of a CPU than one may take alone; the same holds for devices that work
//! in interrupts and softirqs.
//!
//! A CPU's share is cut into parts, each of which is an abstract socket: a run holds as many as it may come to need,
//! and they are free again when the process is gone, however it ends. Anybody may hold such a name: one held by a user
//! whom this process need not trust keeps nobody from running.

use punctual_kernel::Refused;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
    sockopt::socket_peercred,
};
use std::os::fd::OwnedFd;

/// What one name stands for, percent of a CPU.
const PART_PERCENT: u64 = 5;

/// So many may have asked whose a name is: nobody accepts their question, the kernel answers it.
const MAX_ASKING: i32 = 4_096;

/// Who shares a CPU with whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    Drills,
    /// Devices whose work runs in interrupts and softirqs.
    Devices,
}

impl Sharing {
    fn name(self) -> &'static str {
        match self {
            Sharing::Drills => "drill",
            Sharing::Devices => "device",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Sharing::Drills => "wait until they end, inject less, or choose other CPUs with -a",
            Sharing::Devices => {
                "wait until they end, choose another CPU with -a, or a context that the scheduler shares out, such as thread:80"
            }
        }
    }
}

/// Shares of CPUs that no other run takes, for as long as this lives.
pub(crate) struct Claim(#[expect(dead_code, reason = "the names are taken as long as it lives")] Vec<OwnedFd>);

impl Claim {
    /// Claims a share of each of these CPUs; all claims together may take this much of each, percent.
    ///
    /// # Errors
    /// If others leave less than that.
    pub(crate) fn take(sharing: Sharing, cpus: &[u32], share_percent: u64, max_percent: u64) -> Result<Claim, Refused> {
        let mut held = Vec::new();
        for &cpu in cpus {
            let mut wanted = share_percent.div_ceil(PART_PERCENT).max(1);
            for part in 0..max_percent / PART_PERCENT {
                if wanted > 0 && take_part(sharing, cpu, part, &mut held)? {
                    wanted -= 1;
                }
            }
            if wanted > 0 {
                let reason = format!(
                    "other {}s run there, and all together take {max_percent} % of it at most: {}",
                    sharing.name(),
                    sharing.advice()
                );
                return Err(Refused::because(format!("taking {share_percent} % of CPU {cpu}"), reason));
            }
        }
        Ok(Claim(held))
    }
}

/// Takes a part of a CPU's share; returns whether it was to be had.
fn take_part(sharing: Sharing, cpu: u32, part: u64, held: &mut Vec<OwnedFd>) -> Result<bool, Refused> {
    let failed = |error: rustix::io::Errno| Refused::because(format!("claiming CPU {cpu}"), error.to_string());
    let address = format!("punctual-{}-cpu-{cpu}-{part}", sharing.name());
    let address = SocketAddrUnix::new_abstract_name(address.as_bytes()).map_err(failed)?;
    let own = socket().map_err(failed)?;
    match bind(&own, &address) {
        Ok(()) => {
            listen(&own, MAX_ASKING).map_err(failed)?;
            held.push(own);
            Ok(true)
        }
        Err(rustix::io::Errno::ADDRINUSE) => Ok(!is_trusted(&address)),
        Err(error) => Err(failed(error)),
    }
}

fn socket() -> rustix::io::Result<OwnedFd> {
    // A holder that does not answer keeps nobody waiting.
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
}

/// Whether root or this user listens there.
fn is_trusted(address: &SocketAddrUnix) -> bool {
    let listener = socket().and_then(|asking| {
        connect(&asking, address)?;
        socket_peercred(&asking)
    });
    match listener {
        Ok(listener) => listener.uid.is_root() || listener.uid == rustix::process::geteuid(),
        // A run that is just beginning does not listen yet; one that many ask accepts no more questions.
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drills_share_what_one_may_take() {
        // CPUs that no machine has.
        let first = Claim::take(Sharing::Drills, &[900_001, 900_002], 13, 25).unwrap();
        assert!(Claim::take(Sharing::Drills, &[900_003], 25, 25).is_ok());
        let second = Claim::take(Sharing::Drills, &[900_002], 10, 25).unwrap();
        let refused = Claim::take(Sharing::Drills, &[900_002], 1, 25).err().unwrap().to_string();
        assert!(refused.contains("CPU 900002") && refused.contains("25 %"), "{refused}");
        // One that agreed to more shares that.
        let third = Claim::take(Sharing::Drills, &[900_002], 25, 50).unwrap();
        assert!(Claim::take(Sharing::Drills, &[900_002], 1, 50).is_err());
        drop((second, third));
        assert!(Claim::take(Sharing::Drills, &[900_002], 10, 25).is_ok());
        // Devices have a share of their own.
        assert!(Claim::take(Sharing::Devices, &[900_002], 50, 50).is_ok());
        drop(first);
        assert!(Claim::take(Sharing::Drills, &[900_001], 25, 25).is_ok());
    }
}

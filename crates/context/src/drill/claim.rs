//! Drills that run at once take together no more of a CPU than one may take alone.
//!
//! A CPU's share is cut into parts, each of which is an abstract socket: a drill holds as many as it may come to need, and they
//! are free again when the process is gone, however it ends. Anybody may hold such a name: one that a user holds whom this
//! process need not trust keeps nobody from drilling.

use punctual_kernel::Refused;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
    sockopt::socket_peercred,
};
use std::os::fd::OwnedFd;

/// What one name stands for, percent of a CPU.
const PART_PERCENT: u64 = 5;

/// So many may have asked whose a name is: nobody takes their question up, it is answered by the kernel.
const MAX_ASKING: i32 = 4_096;

/// Shares of CPUs that no other drill takes, for as long as this lives.
pub(crate) struct Claim(#[expect(dead_code, reason = "the names are taken as long as it lives")] Vec<OwnedFd>);

impl Claim {
    /// Claims a share of each of these CPUs, of which all drills together may take so much, percent.
    ///
    /// # Errors
    /// Other drills leave less than that.
    pub(crate) fn take(cpus: &[u32], share_percent: u64, most_percent: u64) -> Result<Claim, Refused> {
        let mut held = Vec::new();
        for &cpu in cpus {
            let mut wanted = share_percent.div_ceil(PART_PERCENT).max(1);
            for part in 0..most_percent / PART_PERCENT {
                if wanted > 0 && take_part(cpu, part, &mut held)? {
                    wanted -= 1;
                }
            }
            if wanted > 0 {
                let reason = format!(
                    "other drills run there, and all together take {most_percent} % of it at most: wait for their end, inject \
                     less, or choose other CPUs with -a"
                );
                return Err(Refused::because(format!("taking {share_percent} % of CPU {cpu}"), reason));
            }
        }
        Ok(Claim(held))
    }
}

/// Takes a part of a CPU's share; whether it could be had.
fn take_part(cpu: u32, part: u64, held: &mut Vec<OwnedFd>) -> Result<bool, Refused> {
    let failed = |error: rustix::io::Errno| Refused::because(format!("claiming CPU {cpu}"), error.to_string());
    let address = SocketAddrUnix::new_abstract_name(format!("punctual-drill-cpu-{cpu}-{part}").as_bytes());
    let address = address.map_err(failed)?;
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
    // Who holds a name and answers nobody keeps nobody waiting.
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
        // A drill that just begins does not listen yet; one that many ask does not take another question.
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drills_share_what_one_may_take() {
        // CPUs that no machine has.
        let first = Claim::take(&[900_001, 900_002], 13, 25).unwrap();
        assert!(Claim::take(&[900_003], 25, 25).is_ok());
        let second = Claim::take(&[900_002], 10, 25).unwrap();
        let refused = Claim::take(&[900_002], 1, 25).err().unwrap().to_string();
        assert!(refused.contains("CPU 900002") && refused.contains("25 %"), "{refused}");
        // Who agreed to more shares that.
        let third = Claim::take(&[900_002], 25, 50).unwrap();
        assert!(Claim::take(&[900_002], 1, 50).is_err());
        drop((second, third));
        assert!(Claim::take(&[900_002], 10, 25).is_ok());
        drop(first);
        assert!(Claim::take(&[900_001], 25, 25).is_ok());
    }
}

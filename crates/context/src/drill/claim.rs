//! One drill on a CPU at a time: two would take together what each may take alone.
//!
//! A drill holds an abstract socket for each of its CPUs; that is gone when the process is, however it ends. Anybody may hold
//! such a name: one that a user holds whom this process need not trust keeps nobody from drilling.

use punctual_kernel::Refused;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
    sockopt::socket_peercred,
};
use std::os::fd::OwnedFd;

/// CPUs that this process alone drills, for as long as this lives.
pub(crate) struct Claim(#[expect(dead_code, reason = "the names are taken as long as it lives")] Vec<OwnedFd>);

impl Claim {
    /// Claims these CPUs.
    ///
    /// # Errors
    /// Another drill has one of them.
    pub(crate) fn take(cpus: &[u32]) -> Result<Claim, Refused> {
        let mut held = Vec::new();
        for cpu in cpus {
            let doing = || format!("claiming CPU {cpu}");
            let failed = |error: rustix::io::Errno| Refused::because(doing(), error.to_string());
            let name = format!("punctual-drill-cpu-{cpu}");
            let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).map_err(failed)?;
            let own = socket().map_err(failed)?;
            match bind(&own, &address) {
                Ok(()) => {
                    listen(&own, 1).map_err(failed)?;
                    held.push(own);
                }
                Err(rustix::io::Errno::ADDRINUSE) if !is_trusted(&address) => {}
                Err(rustix::io::Errno::ADDRINUSE) => {
                    let reason = "another drill runs there, and two would take more of it than one may: wait for its end, \
                                  or choose other CPUs with -a";
                    return Err(Refused::because(doing(), reason));
                }
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(Claim(held))
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
    fn a_cpu_is_claimed_by_one_drill() {
        // CPUs that no machine has.
        let first = Claim::take(&[900_001, 900_002]).unwrap();
        assert!(Claim::take(&[900_003]).is_ok());
        let refused = Claim::take(&[900_002]).err().unwrap().to_string();
        assert!(refused.contains("CPU 900002") && refused.contains("-a"), "{refused}");
        drop(first);
        assert!(Claim::take(&[900_002]).is_ok());
    }
}

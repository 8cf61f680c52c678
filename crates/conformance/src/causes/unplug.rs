//! A CPU is taken out of the machine and put back.

use super::scene::{MS, Made, Refused, Scene, real_time};
use super::system::{self, now};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// It takes a CPU from everybody, so somebody has to declare that nobody else is on the machine.
const ALLOWED: &str = "PUNCTUAL_UNPLUG";

/// The switch of a CPU on which no role runs.
fn switch_of_a_spare_cpu(scene: &Scene) -> Result<PathBuf, Refused> {
    if std::env::var_os(ALLOWED).is_none() {
        return Err(Refused(format!("it takes a CPU from everybody on the machine: {ALLOWED}=1 allows it")));
    }
    let used = [scene.here, scene.there];
    let spare = system::cpus().into_iter().find(|cpu| !used.contains(cpu));
    let spare = spare.ok_or_else(|| Refused("a CPU that is taken out has to be the third".into()))?;
    let switch = PathBuf::from(format!("/sys/devices/system/cpu/cpu{spare}/online"));
    if switch.exists() { Ok(switch) } else { Err(Refused("this kernel takes no CPU out".into())) }
}

/// Puts the CPU back, however the scene ends.
struct PutBack<'a>(&'a Path);

impl Drop for PutBack<'_> {
    fn drop(&mut self) {
        let _ = std::fs::write(self.0, "1");
    }
}

/// The victim interrupts all CPUs that run its program; no CPU may come or go meanwhile.
pub(super) fn expedited(scene: &mut Scene) -> Made {
    let (board, here, there, count) = (scene.board, scene.here, scene.there, scene.count);
    let switch = switch_of_a_spare_cpu(scene)?;
    scene.culprit("c-unplugger", || {
        system::steady(there);
        let back = PutBack(&switch);
        let mut result = Ok(());
        board.injections(count, (12, 28), |_| {
            for state in ["0", "1"] {
                let start = now();
                if let Err(error) = std::fs::write(back.0, state) {
                    result = Err(Refused(format!("no CPU is taken out ({error})")));
                }
                board.injected("c-unplugger", start, now());
            }
        });
        result
    })?;
    scene.role("c-victim", || {
        system::expedited_barrier().map_err(|error| Refused(format!("no membarrier ({error})")))?;
        real_time(70, here)?;
        board.cycle(Duration::from_nanos(2 * MS), || {
            let _ = system::expedited_barrier();
        });
        Ok(())
    })?;
    Ok(())
}

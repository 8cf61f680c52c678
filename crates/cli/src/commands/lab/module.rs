//! A driver's module, built for each of the kernels.

use super::kernel::{Kernel, Origin};
use crate::output::{self, Usage};
use crate::signals::Interrupted;
use punctual_lab::cache::Cache;
use punctual_lab::module::{Built, Sources, build, headers_of_tree};
use punctual_report::shell_word;
use punctual_study::lab::{Driver, LabError};

/// Where a guest finds the module.
pub(super) const PLACE: &str = "/module.ko";

/// With these, a guest ends when the module breaks its kernel; otherwise it would go on, or hang, and look as if it had
/// been measured. A hang is 10 s in which nobody else gets the CPU.
pub(super) const PARAMETERS: &str = "oops=panic softlockup_panic=1 watchdog_thresh=5";

/// How a guest loads the module.
pub(super) struct Loaded {
    /// Shell text that runs before anything else.
    pub(super) script: String,
    /// Where the module gives out its stamps, if it does.
    pub(super) stamps: Option<String>,
}

/// Tenths of a second that loading may take.
const PATIENCE: u32 = 100;

/// Builds the module for each kernel, in their order.
pub(super) fn modules(driver: &Driver, kernels: &[Kernel], interrupted: &Interrupted) -> anyhow::Result<Vec<Built>> {
    let sources = match &driver.directory {
        None => Sources::shipped(),
        Some(directory) => Sources::read(directory).map_err(LabError::Sources)?,
    };
    let cache = Cache::new();
    let one = |kernel: &Kernel| -> anyhow::Result<Built> {
        let tell = |name: &str| output::note(&format!("building module {} for {name}", driver.name()));
        let (name, headers) = match &kernel.origin {
            Origin::Package(package) => {
                let (named, held) = package.as_ref();
                tell(&named.name);
                let refused = |error| LabError::Kernel { name: named.name.clone(), error };
                (named.name.clone(), cache.headers(named, held).map_err(refused)?)
            }
            Origin::Tree(tree) => {
                let name = tree.display().to_string();
                tell(&name);
                let refused = |error| LabError::Module { kernel: name.clone(), error };
                let headers = headers_of_tree(&cache, tree, &mut || !interrupted.is_set()).map_err(refused)?;
                (name, headers)
            }
            Origin::Image => {
                let why = "--module is built with the headers of a kernel's package, or in the tree where a kernel was \
                           built: give kernels by their names, or those trees";
                return Err(Usage(why.to_owned()).into());
            }
        };
        let built = build(&cache, &sources, &headers, &mut || !interrupted.is_set());
        Ok(built.map_err(|error| LabError::Module { kernel: name, error })?)
    };
    kernels.iter().map(one).collect()
}

/// How guests load a module built this way.
pub(super) fn loaded(driver: &Driver, built: &Built) -> Loaded {
    let parameters: String = driver.parameters.iter().map(|parameter| format!(" {}", shell_word(parameter))).collect();
    let name = &built.name;
    // What the kernel says about the module, except that it is not one of its own.
    let called = name.replace('-', "_");
    let of_kernel = format!("dmesg | grep -F {} | grep -v taint | tail -n 1", shell_word(&called));
    // The kernel loads the module all the same, as if the parameter had not been given.
    let unknown = format!(
        "dmesg | grep -F {} | sed \"s/.*unknown parameter '\\(.*\\)' ignored.*/\\1/\" | head -n 1",
        shell_word(&format!("{called}: unknown parameter"))
    );
    let script = format!(
        "insmod {PLACE}{parameters} >/tmp/.module 2>&1 &\n\
         loading=$!\n\
         for tenth in $(seq {PATIENCE}); do kill -0 $loading 2>/dev/null || break; sleep 0.1; done\n\
         if kill -0 $loading 2>/dev/null; then\n\
         echo 'error: module {name}: it had not been loaded after {} s'; exit 1\n\
         fi\n\
         wait $loading || {{ said=$({of_kernel}); echo \"error: module {name}: $(cat /tmp/.module)${{said:+ ($said)}}\"; exit 1; }}\n\
         unknown=$({unknown})\n\
         [ -z \"$unknown\" ] || {{ echo \"error: module {name}: it has no parameter '$unknown'\"; exit 1; }}\n",
        PATIENCE / 10
    );
    Loaded { script, stamps: built.stamps.clone() }
}

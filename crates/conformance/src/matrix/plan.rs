//! What is booted, what runs in it and what the result should be: `matrix.toml`.

use super::checks::Check;
use super::expected::{Expected, NAMES_A_VERSION};
use super::version::series;
use punctual_lab::table::Kernel;
use serde::Deserialize;

/// Something that a kernel has, or that a variant takes away.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Feature {
    pub(super) name: String,
    pub(super) since: Option<String>,
    /// From this version on, a variant no longer takes it away.
    pub(super) until: Option<String>,
    pub(super) real_time: Option<bool>,
    /// What a command must say if it is missing: a regular expression.
    pub(super) reason: String,
}

/// How a kernel is booted, and how commands run in it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its name.
    pub name: String,
    #[serde(default)]
    pub(super) append: String,
    #[serde(default)]
    pub(super) prelude: String,
    #[serde(default)]
    pub(super) wrap: String,
    #[serde(default = "one")]
    pub(super) cpus: u32,
    pub(super) lacks: Vec<String>,
}

fn one() -> u32 {
    1
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Also {
    pub(super) variant: String,
    kernels: Vec<String>,
}

/// A command that is tried.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Command {
    pub(super) name: String,
    pub(super) run: String,
    pub(super) check: Check,
    /// Where its answer in JSON must have something, as JSON pointers: neither nothing, nor no, nor 0.
    #[serde(default)]
    pub(super) told: Vec<String>,
    pub(super) recording: Option<String>,
    #[serde(default)]
    pub(super) needs: Vec<String>,
    #[serde(default)]
    pub(super) uses: Vec<String>,
    pub(super) refused_before: Option<String>,
    /// The lines of `punctual capabilities` that together promise it.
    #[serde(default)]
    pub(super) capabilities: Vec<String>,
    /// The command whose recording it reads: if that one is not right, this one is left out.
    pub(super) of: Option<String>,
    /// The kernels on which it runs, and the variants in which it does; everywhere if none is named.
    #[serde(default)]
    kernels: Vec<String>,
    #[serde(default)]
    variants: Vec<String>,
    /// How long it may take, s of the guest's time, if the usual time is too short.
    pub(super) limit_s: Option<u32>,
    /// The kernels on which it belongs to `./test`.
    #[serde(default)]
    pub(super) fast: Vec<String>,
}

/// A drill whose blame is judged.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Drill {
    pub(super) name: String,
    #[serde(default)]
    pub(super) needs: Vec<String>,
    /// What the recorder of causes needs in addition.
    #[serde(default)]
    pub(super) uses: Vec<String>,
    pub(super) refused_before: Option<String>,
    /// The kernels on which it belongs to `./test`.
    #[serde(default)]
    pub(super) fast: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Table {
    pub(super) feature: Vec<Feature>,
    pub(super) variant: Vec<Variant>,
    pub(super) also: Vec<Also>,
    pub(super) command: Vec<Command>,
    pub(super) drill: Vec<Drill>,
}

const TABLE: &str = include_str!("../../matrix.toml");
const UNBOUND: &str = include_str!("../../matrix-unbound.toml");

/// Commands that ask the kernel for nothing special: the same is right on all of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unbound {
    command: Vec<Command>,
}

pub(super) fn table() -> Table {
    let mut table: Table = toml::from_str(TABLE).expect("crates/conformance/matrix.toml fits");
    let unbound: Unbound = toml::from_str(UNBOUND).expect("crates/conformance/matrix-unbound.toml fits");
    table.command.extend(unbound.command);
    table
}

/// What every row runs, as the shell of a guest reads it.
#[must_use]
pub fn scripts() -> Vec<String> {
    table().command.into_iter().map(|command| command.run).collect()
}

/// The names of the commands' rows, in their order.
pub(super) fn row_names() -> Vec<String> {
    table().command.into_iter().map(|command| command.name).collect()
}

/// A kernel and a variant that are booted together.
#[derive(Clone, Debug)]
pub struct Boot {
    /// The kernel.
    pub kernel: Kernel,
    /// The version that is available.
    pub version: String,
    /// The variant.
    pub variant: Variant,
}

impl Boot {
    /// `6.1`, or `6.1, no BTF`.
    #[must_use]
    pub fn name(&self) -> String {
        if self.is_plain() { self.kernel.name.clone() } else { format!("{}, {}", self.kernel.name, self.variant.name) }
    }

    /// Whether nothing is taken away from the kernel.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.variant.name == PLAIN
    }

    /// Whether the guest's clock is the host's.
    pub(super) fn is_by_host(&self) -> bool {
        self.variant.cpus > 1
    }

    /// Whether a command has a row here.
    pub(super) fn has(&self, command: &Command) -> bool {
        let is_named = |names: &[String], name: &String| names.is_empty() || names.contains(name);
        is_named(&command.kernels, &self.kernel.name) && is_named(&command.variants, &self.variant.name)
    }

    /// How many injections of each drill it gets. On kernels where nobody can be named, many show no more than a few
    /// do; and a cloud kernel names the same as its sister, which has the same source.
    pub(super) fn length(&self, all: bool) -> Length {
        let is_held = series(&self.version) >= HELD_FROM && !self.kernel.flavour.starts_with("cloud-");
        if all && is_held { Length::FULL } else { Length::FAST }
    }

    fn is_lacking(&self, feature: &Feature) -> bool {
        let too_old = feature.since.as_ref().is_some_and(|since| series(&self.version) < series(since));
        let too_soft = feature.real_time == Some(false) && self.kernel.flavour.starts_with("rt-");
        let is_past = feature.until.as_ref().is_some_and(|until| series(&self.version) >= series(until));
        too_old || too_soft || !is_past && self.variant.lacks.contains(&feature.name)
    }

    pub(super) fn expected(&self, needs: &[String], uses: &[String], refused_before: Option<&String>) -> Expected {
        let features = table().feature;
        let reasons = |names: &[String]| {
            let missing = features.iter().filter(|feature| names.contains(&feature.name) && self.is_lacking(feature));
            let reasons: Vec<String> = missing.map(|feature| format!("(?:{})", feature.reason)).collect();
            (!reasons.is_empty()).then(|| reasons.join("|"))
        };
        let is_old = refused_before.is_some_and(|version| series(&self.version) < series(version));
        if let Some(reason) = reasons(needs) {
            return Expected::Refused(if is_old { format!("{reason}|{NAMES_A_VERSION}") } else { reason });
        }
        if let Some(reason) = reasons(uses) {
            return Expected::Degraded(reason);
        }
        if is_old { Expected::RightOrRefused } else { Expected::Right }
    }
}

const PLAIN: &str = "plain";

/// From this version on, kernels record causes.
const HELD_FROM: (u64, u64) = (5, 12);

/// What is booted: the plain variant of each kernel and, with `all`, also its other variants.
///
/// # Panics
///
/// If the table names a variant that it does not have, which a test excludes.
#[must_use]
pub fn plan(kernels: &[(Kernel, String)], all: bool) -> Vec<Boot> {
    let table = table();
    let variant =
        |name: &str| table.variant.iter().find(|variant| variant.name == name).expect("a known variant").clone();
    let boot = |(kernel, version): &(Kernel, String), name: &str| Boot {
        kernel: kernel.clone(),
        version: version.clone(),
        variant: variant(name),
    };
    let mut boots: Vec<Boot> = kernels.iter().map(|kernel| boot(kernel, PLAIN)).collect();
    for also in table.also.iter().filter(|_| all) {
        let of = kernels.iter().filter(|(kernel, _)| also.kernels.contains(&kernel.name));
        boots.extend(of.map(|kernel| boot(kernel, &also.variant)));
    }
    boots
}

/// How many injections of each drill there are, and what its blame must satisfy.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// Injections of a drill during one recording.
    pub injections: u32,
    /// How far apart they are: a recording keeps the evidence of 240 late wakeups, and of 4 more per second.
    pub(super) every: &'static str,
    /// This many injections must have met a wakeup.
    pub met: u64,
    /// How many in 300 may go without their name, and how many of these may have another one; at least one.
    misses_in_300: u64,
    wrong_in_300: u64,
}

impl Length {
    /// For `./test`.
    pub const FAST: Length = Length { injections: 45, every: "20ms", met: 20, misses_in_300: 0, wrong_in_300: 0 };
    /// For `--all`.
    pub const FULL: Length = Length { injections: 400, every: "250ms", met: 300, misses_in_300: 15, wrong_in_300: 3 };

    pub(super) fn misses(self, judged: u64) -> u64 {
        (judged * self.misses_in_300 / 300).max(1)
    }

    pub(super) fn wrong(self, judged: u64) -> u64 {
        (judged * self.wrong_in_300 / 300).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::{Boot, Check, Expected, NAMES_A_VERSION, UNBOUND, Unbound, plan, table};
    use punctual_lab::table::kernels;

    fn boots() -> Vec<Boot> {
        let with_version = |kernel: punctual_lab::table::Kernel| {
            let version = kernel.recorded.as_ref().expect("a recorded version").version.clone();
            (kernel, version)
        };
        let versions: Vec<_> = kernels().into_iter().map(with_version).collect();
        plan(&versions, true)
    }

    #[test]
    fn whatever_is_named_is_in_the_table() {
        let table = table();
        let is_feature = |name: &String| table.feature.iter().any(|feature| feature.name == *name);
        let needs = table.command.iter().flat_map(|command| command.needs.iter().chain(&command.uses));
        let all = needs.chain(table.drill.iter().flat_map(|drill| drill.needs.iter().chain(&drill.uses)));
        assert!(all.chain(table.variant.iter().flat_map(|variant| &variant.lacks)).all(is_feature));
        for feature in &table.feature {
            regex::Regex::new(&feature.reason).unwrap();
        }
        for command in &table.command {
            let is_fast = |name: &String| kernels().iter().any(|kernel| kernel.name == *name && kernel.fast);
            assert!(command.fast.iter().all(is_fast), "{command:?}");
            let has_a_row = |name: &String| boots().iter().any(|boot| boot.kernel.name == *name && boot.has(command));
            assert!(command.fast.iter().chain(&command.kernels).all(has_a_row), "{command:?}");
            let is_variant = |name: &String| table.variant.iter().any(|variant| variant.name == *name);
            assert!(command.variants.iter().all(is_variant), "{command:?}");
            assert_eq!(command.check == Check::Answer, !command.told.is_empty(), "{command:?}");
            assert!(command.told.iter().all(|pointer| pointer.starts_with('/')), "{command:?}");
        }
        let unbound: Unbound = toml::from_str(UNBOUND).unwrap();
        assert!(unbound.command.iter().all(|command| command.needs.is_empty() && command.uses.is_empty()));
        for drill in &table.drill {
            let is_fast = |name: &String| kernels().iter().any(|kernel| kernel.name == *name && kernel.fast);
            assert!(!drill.fast.is_empty() && drill.fast.iter().all(is_fast), "{drill:?}");
        }
        for also in &table.also {
            assert!(also.kernels.iter().all(|name| kernels().iter().any(|kernel| kernel.name == *name)), "{also:?}");
        }
        assert!(table.drill.iter().all(|drill| crate::truth::CULPRITS.iter().any(|known| known.drill == drill.name)));
        assert!(boots().len() > kernels().len());
    }

    #[test]
    fn a_command_that_some_kernels_suffice_for_is_tried_on_their_plain_variant() {
        let table = table();
        let tried = |name: &str| -> Vec<String> {
            let command = table.command.iter().find(|command| command.name == name).unwrap();
            boots().iter().filter(|boot| boot.has(command)).map(Boot::name).collect()
        };
        assert_eq!(tried("verifier budget"), ["5.10", "6.1", "6.12", "newest"]);
        assert_eq!(tried("record").len(), boots().len());
    }

    #[test]
    fn what_a_kernel_lacks_is_refused_and_else_the_command_is_right() {
        let boots = boots();
        let expected = |kernel: &str, variant: &str, name: &str| {
            let boot = boots.iter().find(|boot| boot.kernel.name == kernel && boot.variant.name == variant).unwrap();
            let table = table();
            let command = table.command.iter().find(|command| command.name == name).unwrap();
            boot.expected(&command.needs, &command.uses, command.refused_before.as_ref())
        };
        assert_eq!(expected("6.1", "plain", "record --via softirq"), Expected::Right);
        assert!(matches!(expected("6.1-rt", "plain", "device softirq"), Expected::Refused(_)));
        assert!(matches!(expected("5.10", "plain", "record --via softirq"), Expected::Refused(_)));
        assert_eq!(expected("5.10", "plain", "record"), Expected::Right);
        assert!(matches!(expected("5.10", "plain", "log"), Expected::Refused(_)));
        assert!(matches!(expected("5.10", "plain", "record --why"), Expected::Degraded(_)));
        assert_eq!(expected("5.10", "plain", "device irq"), Expected::RightOrRefused);
        let without_privilege = expected("5.10", "unprivileged", "device irq");
        assert!(matches!(&without_privilege, Expected::Refused(reason) if reason.contains(NAMES_A_VERSION)));
        assert!(matches!(expected("6.1", "lockdown", "device irq"), Expected::Refused(_)));
        assert_eq!(expected("6.12", "lockdown", "device irq"), Expected::Right);
        assert!(matches!(expected("6.1", "no BTF", "record"), Expected::Degraded(_)));
        assert!(matches!(expected("6.12", "unprivileged", "log"), Expected::Refused(_)));
        assert_eq!(expected("6.12", "four capabilities", "record"), Expected::Right);
        let without_samples = expected("6.12", "four capabilities", "record --why");
        assert!(matches!(&without_samples, Expected::Degraded(reason) if reason.contains("perf_event_paranoid")));
        assert!(matches!(expected("6.12", "four capabilities", "device irq"), Expected::Refused(_)));
        assert!(matches!(expected("newest", "two CPUs", "rialto run"), Expected::Refused(_)));
        assert_eq!(expected("newest-rt", "plain", "rialto run"), Expected::Right);
    }

    #[test]
    fn a_row_is_where_its_entry_says() {
        let (boots, table) = (boots(), table());
        let study = table.command.iter().find(|command| command.name == "device study").unwrap();
        let with: Vec<String> = boots.iter().filter(|boot| boot.has(study)).map(Boot::name).collect();
        assert_eq!(with, ["6.12", "newest-rt", "6.12, unprivileged"]);
        let migrate = table.command.iter().find(|command| command.name == "drill migrate").unwrap();
        assert!(boots.iter().all(|boot| boot.has(migrate) == (boot.variant.name == "two CPUs")));
        let record = table.command.iter().find(|command| command.name == "record").unwrap();
        assert!(boots.iter().all(|boot| boot.has(record)));
    }
}

//! The page of each kind of blame: what it is, how to be sure, what helps and what does not.

use crate::kind::Kind;

/// Where the page about void episodes, and about late wakeups without evidence, is in the source.
pub const VOID_PAGE: &str = "docs/void.md";
/// That page, in Markdown; the program carries it.
pub const VOID_PAGE_TEXT: &str = include_str!("../../../docs/void.md");

impl Kind {
    /// Where its page is in the source, after its name: `docs/causes/irq.md`.
    pub fn page(self) -> String {
        format!("docs/causes/{}.md", self.name())
    }

    /// Its page, in Markdown; the program carries it.
    pub fn page_text(self) -> &'static str {
        match self {
            Kind::Irq => include_str!("../../../docs/causes/irq.md"),
            Kind::Softirq => include_str!("../../../docs/causes/softirq.md"),
            Kind::IrqOff => include_str!("../../../docs/causes/irq_off.md"),
            Kind::Blind => include_str!("../../../docs/causes/blind.md"),
            Kind::Kernel => include_str!("../../../docs/causes/kernel.md"),
            Kind::HigherPriority => include_str!("../../../docs/causes/higher_priority.md"),
            Kind::SamePriority => include_str!("../../../docs/causes/same_priority.md"),
            Kind::LowerPriority => include_str!("../../../docs/causes/lower_priority.md"),
            Kind::Throttled => include_str!("../../../docs/causes/throttled.md"),
            Kind::FairServer => include_str!("../../../docs/causes/fair_server.md"),
            Kind::Migration => include_str!("../../../docs/causes/migration.md"),
            Kind::IdleExit => include_str!("../../../docs/causes/idle_exit.md"),
            Kind::Fault => include_str!("../../../docs/causes/fault.md"),
            Kind::Io => include_str!("../../../docs/causes/io.md"),
            Kind::Lock => include_str!("../../../docs/causes/lock.md"),
            Kind::Wait => include_str!("../../../docs/causes/wait.md"),
            Kind::Sleep => include_str!("../../../docs/causes/sleep.md"),
            Kind::Idle => include_str!("../../../docs/causes/idle.md"),
            Kind::TimerSlack => include_str!("../../../docs/causes/timer_slack.md"),
            Kind::Stopped => include_str!("../../../docs/causes/stopped.md"),
            Kind::Own => include_str!("../../../docs/causes/own.md"),
            Kind::Steal => include_str!("../../../docs/causes/steal.md"),
            Kind::KernelWake => include_str!("../../../docs/causes/kernel_wake.md"),
            Kind::Unknown => include_str!("../../../docs/causes/unknown.md"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Shorter ones leave something out; longer ones are not read.
    const LINES: std::ops::RangeInclusive<usize> = 15..=35;
    const PARTS: [&str; 4] =
        ["## How to be sure", "## What helps", "## What does not help", "## Where it cannot be seen"];

    fn directory() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/causes")
    }

    #[test]
    fn every_kind_has_its_page_and_every_page_its_kind() {
        let index = std::fs::read_to_string(directory().join("README.md")).unwrap();
        let mut expected = BTreeSet::from(["README.md".to_owned()]);
        for kind in Kind::ALL {
            let file = format!("{}.md", kind.name());
            assert!(kind.page().ends_with(&format!("/{file}")), "{kind:?}");
            assert_eq!(kind.page_text(), std::fs::read_to_string(directory().join(&file)).unwrap(), "{kind:?}");
            assert!(index.contains(&format!("[`{}`]({file})", kind.name())), "{kind:?} is not in the index");
            expected.insert(file);
        }
        let names =
            std::fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(names.collect::<BTreeSet<_>>(), expected);
        assert_eq!(expected.len(), Kind::ALL.len() + 1);
    }

    #[test]
    fn every_page_says_the_same_things_in_the_same_order() {
        let mut looked_at = 0;
        for kind in Kind::ALL {
            let page = kind.page_text();
            assert!(page.starts_with(&format!("# {}: ", kind.name())), "{kind:?}");
            assert!(LINES.contains(&page.lines().count()), "{kind:?} has {} lines", page.lines().count());
            assert!(page.lines().all(|line| line.chars().count() <= 80), "{kind:?} is wider than a terminal");
            let places = PARTS.map(|part| page.find(&format!("\n{part}\n")));
            assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{kind:?}: {places:?}");
            looked_at += 1;
        }
        assert_eq!(looked_at, Kind::ALL.len());
    }

    #[test]
    fn a_shorter_period_is_advised_only_where_its_quota_is_large() {
        let page = Kind::Throttled.page_text().split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, advice) = page.split_once("in a shorter period ").expect("advice on shorter periods");
        assert!(advice.starts_with("shortens waits only while the quota of one period stays well above"), "{advice}");
        assert!(advice.contains("Below that, waits get more and longer."), "{advice}");
    }

    #[test]
    fn a_quota_is_raised_in_the_files_of_either_version() {
        let remedy = Kind::Throttled.remedy(&"/web".into()).unwrap();
        for file in ["cpu.max", "cpu.cfs_quota_us"] {
            assert!(remedy.contains(file), "{remedy}");
            assert!(Kind::Throttled.page_text().contains(&format!("> {file}`")), "{file}");
        }
    }
}

//! What the kernel's account says of inputs if nothing followed the program: what they took of its CPU time, and how long they
//! were kept from a CPU.

use super::model::InteractReport;
use punctual_recording::{Interaction, counted, format_ns};

/// The means over the typed inputs for which they are known, in a line; `None` if the program was followed, since the split of
/// each input's time says more then, or if nothing is known.
pub(super) fn account(report: &InteractReport<'_>) -> Option<String> {
    let known = report.typed().filter_map(times).filter(|_| !report.summary.followed);
    in_words(&known.collect::<Vec<_>>())
}

/// CPU time and the time kept from a CPU, ns.
fn times(input: &Interaction) -> Option<[u64; 2]> {
    Some([input.cpu_ns?, input.run_delay_ns?])
}

fn in_words(known: &[[u64; 2]]) -> Option<String> {
    let inputs = known.len() as u64;
    let mean = |of: usize| known.iter().fold(0_u64, |sum, one| sum.saturating_add(one[of])).checked_div(inputs);
    let [cpu_ns, kept_ns] = [mean(0)?, mean(1)?].map(format_ns);
    Some(format!(
        "until the next input, all threads of the program together took {cpu_ns} of CPU time on average, and were ready to run \
         without a CPU for {kept_ns} ({})",
        counted(inputs, "input")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_of_inputs_with_both_times() {
        let input = |cpu_ns, run_delay_ns| Interaction { cpu_ns, run_delay_ns, ..Interaction::default() };
        let all = [input(Some(1_000_000), Some(0)), input(Some(3_000_000), Some(500_000)), input(Some(9), None)];
        let known: Vec<[u64; 2]> = all.iter().filter_map(times).collect();
        let words = in_words(&known).unwrap();
        assert!(words.contains("took 2.00 ms of CPU time") && words.contains("for 250 us (2 inputs)"), "{words}");
        assert_eq!(in_words(&[]), None);
    }
}

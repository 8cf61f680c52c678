//! How close BPF programs are to what a kernel accepts: which are too close, and the text.

use super::answer::{BudgetAnswer, BudgetLimits, ObjectRow, ProgramRow};
use crate::layout::{as_fine_percent, grouped, table};
use punctual_recording::format_ns;

/// A program may use one part in so many of what a kernel accepts: the next kernel's verifier may find more paths in it.
const ALLOWED: u64 = 2;
/// A program that uses more than one part in so many is listed by name.
const LISTED: u64 = 5;

impl<'a> BudgetAnswer<'a> {
    /// Judges programs by what a kernel accepts.
    pub fn new(
        kernel: &'a str,
        limits: BudgetLimits,
        objects: Vec<ObjectRow<'a>>,
        programs: Vec<ProgramRow<'a>>,
        refused: &'a [String],
    ) -> BudgetAnswer<'a> {
        let over_budget = programs.iter().filter(|program| limits.is_exceeded(program, ALLOWED)).count();
        BudgetAnswer { kernel, limits, objects, programs, refused, over_budget }
    }

    /// The largest program of each object and those close to a limit, or every program.
    pub fn text(&self, with_every_program: bool) -> String {
        let is_listed = |program: &&ProgramRow<'_>| with_every_program || self.limits.is_exceeded(program, LISTED);
        let listed: Vec<&ProgramRow<'_>> = self.programs.iter().filter(is_listed).collect();
        let mut text = format!("{}\n\n{}\n", self.verdict(), self.objects_table());
        if !listed.is_empty() {
            let which = if with_every_program { "Every program:" } else { "More than a fifth of a limit:" };
            text += &format!("\n{which}\n\n{}\n", self.programs_table(&listed));
        }
        for line in self.refused {
            text += &format!("\nnot loaded: {line}");
        }
        text
    }

    /// A row for each object, the one with the largest program first.
    fn objects_table(&self) -> String {
        let mut rows: Vec<(u64, Vec<String>)> =
            self.objects.iter().filter_map(|object| self.object_cells(object)).collect();
        rows.sort_by_key(|(instructions, _)| std::cmp::Reverse(*instructions));
        let heads = ["object", "largest program", "programs", "instructions", "of the limit", "deepest stack"];
        let heads = [&heads[..], &["of the limit", "bytes", "relocations", "load"]].concat();
        table(&heads, 2..heads.len(), rows.into_iter().map(|(_, cells)| cells))
    }

    /// Its largest program's instructions, and its row; `None` if nothing of it was accepted.
    fn object_cells(&self, object: &ObjectRow<'_>) -> Option<(u64, Vec<String>)> {
        let programs = || self.programs.iter().filter(|program| program.object == object.object);
        let largest = programs().max_by_key(|program| program.instructions)?;
        let stack = programs().map(|program| program.stack).max().unwrap_or(0);
        let cells = vec![
            object.object.to_owned(),
            largest.program.to_owned(),
            programs().count().to_string(),
            grouped(largest.instructions),
            as_fine_percent(largest.instructions, self.limits.instructions),
            stack.to_string(),
            as_fine_percent(stack, self.limits.stack),
            grouped(object.bytes),
            grouped(object.relocations),
            format_ns(object.load_ns),
        ];
        Some((largest.instructions, cells))
    }

    fn programs_table(&self, programs: &[&ProgramRow<'_>]) -> String {
        let rows = programs.iter().map(|program| {
            let mark = if self.limits.is_exceeded(program, ALLOWED) { "OVER" } else { "" };
            vec![
                program.object.to_owned(),
                program.program.to_owned(),
                grouped(program.instructions),
                as_fine_percent(program.instructions, self.limits.instructions),
                program.stack.to_string(),
                as_fine_percent(program.stack, self.limits.stack),
                mark.to_owned(),
            ]
        });
        table(&["object", "program", "instructions", "of the limit", "stack", "of the limit", ""], 2..6, rows)
    }
}

impl BudgetLimits {
    /// Whether a program needs more than one part in so many of either.
    fn is_exceeded(self, program: &ProgramRow<'_>, parts: u64) -> bool {
        program.instructions.saturating_mul(parts) > self.instructions
            || program.stack.saturating_mul(parts) > self.stack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: BudgetLimits = BudgetLimits { instructions: 1_000_000, stack: 512 };

    fn program(object: &'static str, program: &'static str, instructions: u64, stack: u64) -> ProgramRow<'static> {
        ProgramRow { object, program, instructions, stack }
    }

    fn answer(programs: Vec<ProgramRow<'static>>) -> BudgetAnswer<'static> {
        let row = |object| ObjectRow { object, bytes: 12_345, relocations: 67, load_ns: 8_900_000 };
        BudgetAnswer::new("6.1.0", LIMITS, ["timer", "recorder", "none"].map(row).to_vec(), programs, &[])
    }

    #[test]
    fn a_program_may_use_half_of_each_limit() {
        let over = |instructions, stack| answer(vec![program("timer", "a", instructions, stack)]).over_budget;
        assert_eq!([over(500_000, 256), over(500_001, 0), over(1, 257)], [0, 1, 1]);
        assert_eq!(answer(Vec::new()).over_budget, 0);
    }

    #[test]
    fn the_short_table_has_a_row_for_each_object_and_whoever_is_close_to_a_limit() {
        let programs = vec![
            program("recorder", "note_waking", 300_000, 64),
            program("recorder", "note_switch", 200_000, 100),
            program("timer", "timer_expired", 290, 104),
            program("timer", "timer_armed", 600_000, 8),
        ];
        let text = answer(programs).text(false);
        let (objects, close) = text.split_once("More than a fifth of a limit:").unwrap();
        let rows: Vec<&str> = objects.lines().filter(|line| line.contains("8.90 ms")).collect();
        let [timer, recorder] = rows[..] else { panic!("{text}") };
        assert!(timer.starts_with("timer") && timer.contains("timer_armed") && timer.contains("60.0 %"), "{text}");
        assert!(timer.contains("20.3 %") && timer.contains("12,345"), "{text}");
        assert!(recorder.contains("note_waking") && recorder.contains("300,000"), "{text}");
        assert!(["note_waking", "timer_expired", "timer_armed"].iter().all(|name| close.contains(name)), "{text}");
        assert!(!close.contains("note_switch") && close.matches("OVER").count() == 1, "{text}");
    }

    #[test]
    fn without_a_program_that_is_close_to_a_limit_there_is_one_table_unless_all_are_asked_for() {
        let answer = answer(vec![program("timer", "timer_armed", 285, 32)]);
        assert!(!answer.text(false).contains("a fifth"), "{}", answer.text(false));
        assert!(answer.text(true).contains("Every program:"), "{}", answer.text(true));
    }
}

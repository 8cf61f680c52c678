//! The tables of a recording of wakeups, as its writer and its reader know them.

use crate::format::table::{Schema, in_words, optional, required};

pub(crate) static WAKEUPS: Schema<'static> = Schema {
    name: "wakeups",
    columns: &[
        required("cpu").about("The CPU on which the thread ran"),
        required("tid").about("The thread's id; recording.json lists what is known about it"),
        required("expected_ns").about("When it was due, ns of CLOCK_MONOTONIC"),
        required("total_ns").about("How late it ran, ns: the sum of the stages that were seen"),
        required("missed").about("Periods that went by without their wakeup before the next"),
        optional("irq_ns").about("From when it was due to the timer interrupt, ns"),
        optional("softirq_ns").about("From the interrupt to the softirq callback, ns; only with --via softirq"),
        optional("wake_ns").about("Until the thread was made runnable, ns"),
        optional("thread_ns").about("Until the scheduler switched to it, ns"),
        optional("user_ns").about("Until it ran in user space, ns"),
        optional("steal_ns").about("Time that the host gave to others meanwhile, ns, within the stages"),
        optional("work_ns").about("From then to its next sleep, ns; for followed threads"),
        optional("executed_ns").about("CPU time that it took for that, ns; for followed threads"),
        optional("woken_by").about("What woke it: a position in followed.wakers of recording.json"),
        in_words("thread").about("Whose wakeup: policy and priority, or the name of a followed thread"),
    ],
};

pub(crate) static TAIL: Schema<'static> = Schema {
    name: "tail",
    columns: &[
        required("tid").about("The thread's id"),
        required("stage").about("The stage, as a number; stage_name says it"),
        required("expected_ns").about("When the wakeup was due, ns of CLOCK_MONOTONIC"),
        required("value_ns").about("How long the stage took, ns"),
        in_words("stage_name").about("The stage: irq, softirq, wake, thread, user, total, ..."),
        in_words("thread").about("Whose wakeup: policy and priority, or the name of a followed thread"),
    ],
};

pub(crate) static MAXIMA: Schema<'static> = Schema {
    name: "maxima",
    columns: &[
        required("tid").about("The thread's id"),
        required("stage").about("The stage, as a number; stage_name says it"),
        required("block").about("The second, counted from the beginning of CLOCK_MONOTONIC"),
        required("max_ns").about("The longest in that second, ns"),
        required("count").about("How many wakeups had the stage in that second"),
        in_words("stage_name").about("The stage: irq, softirq, wake, thread, user, total, ..."),
        in_words("thread").about("Whose wakeups: policy and priority, or the name of a followed thread"),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::contents::Followed;

    #[test]
    fn what_woke_a_thread_is_a_position_in_a_list_that_the_document_has() {
        let about = WAKEUPS.columns.iter().find(|column| column.name == "woken_by").unwrap().about;
        let (_, list) = about.split_once("a position in followed.").unwrap();
        let list = list.split(' ').next().unwrap();
        let followed = serde_json::to_value(Followed::default()).unwrap();
        assert!(followed[list].is_array(), "there is no list {list} in {followed}");
    }
}

//! What cannot be seen without a program that a kernel has no place for, or refuses.

use punctual_kernel::Missing;
use punctual_kernel::bpf::LeftOut;
use punctual_kernel::features::missing_tracepoint;

/// What this kernel lacks for the programs that were left out, each thing once.
pub(crate) fn lacking(left_out: &[LeftOut]) -> Vec<Missing> {
    let mut missing: Vec<Missing> = Vec::new();
    for LeftOut { program, refused } in left_out {
        // A kernel that refused a program has its tracepoint.
        let found = missing_without(program).map(|found| match refused {
            Some(refused) => refused.clone().so_blind_for(found.blind),
            None => found,
        });
        missing.extend(found.filter(|found| !missing.contains(found)));
    }
    missing
}

/// What a result without these programs cannot see, in lines.
pub(crate) fn blind_without(left_out: &[LeftOut]) -> Vec<String> {
    lacking(left_out).iter().map(Missing::line).collect()
}

/// `None`: nothing that a user would look for.
fn missing_without(program: &str) -> Option<Missing> {
    let (tracepoint, blind) = match program {
        "note_migration" => ("sched_migrate_task", "moves of threads between CPUs"),
        "softirq_raised" => {
            ("softirq_raise", "how long softirqs that were raised together ran in all: only each by itself")
        }
        "callback_begins" | "callback_ends" => ("timer_expire_entry", "which ordinary timer ran in a softirq"),
        "work_begins" | "work_ends" => ("workqueue_execute_start", "which work a kernel worker did"),
        "input_is_told" | "input_begins_to_come" | "input_has_come" => {
            ("workqueue_queue_work", "when input comes to a terminal while its program is at work")
        }
        "work_queued" => ("workqueue_queue_work", "which thread handed a kernel worker its work: the worker is named"),
        "lock_begins" | "lock_ends" => ("contention_begin", "waiting for the kernel's own locks"),
        "priority_is_lent" => (
            "sched_pi_setprio",
            "waiting without sleep for a priority-inheriting lock of a program: it counts as own work",
        ),
        "request_waits" | "request_goes" | "request_done" => {
            ("block_rq_issue", "which disk a thread waited for, and whose requests it served meanwhile")
        }
        "packet_queued" | "packet_delivered" => {
            ("netif_rx", "which thread sent a packet to this machine itself where another softirq delivered it")
        }
        "function_asked" | "function_begins" | "function_ends" => (
            "csd_queue_cpu",
            "which function another CPU has called here, and who asked for it: only that it interrupts",
        ),
        "interrupt_sent" => ("ipi_send_cpu", "who sent an interrupt from another CPU"),
        "interrupts_sent" => ("ipi_send_cpumask", "who sent an interrupt to several CPUs at once"),
        "hrtimer_armed" => ("hrtimer_start", "which thread armed a high-resolution timer"),
        "callback_armed" => ("timer_start", "which thread armed an ordinary timer of the kernel's"),
        "thread_ends" => ("sched_process_exit", "the name of a thread that armed a timer and has ended"),
        "tasklet_begins" | "tasklet_ends" => ("tasklet_entry", "which tasklet a softirq ran"),
        "user_fault" | "kernel_fault" => ("page_fault_user", "page faults, which have a tracepoint on x86 alone"),
        "process_forks" | "process_execs" | "process_exits" | "thread_renamed" => {
            ("sched_process_fork", "some beginnings, ends and names of processes")
        }
        "stop_asked" => ("signal_generate", "who stops a thread by a signal"),
        "futex_begins" | "futex_ends" => ("sys_enter", "futex calls"),
        _ => {
            let vector = program.strip_suffix("_begins").or_else(|| program.strip_suffix("_ends"))?;
            if !cfg!(target_arch = "x86_64") {
                // Elsewhere timers and messages between processors are interrupts like any other, with handlers of their own.
                return None;
            }
            let blind = format!("interrupts of the class {vector}, which count as what they interrupt");
            return Some(missing_tracepoint(&format!("{vector}_entry")).so_blind_for(blind));
        }
    };
    Some(missing_tracepoint(tracepoint).so_blind_for(blind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_program_lacks_what_the_kernel_said_and_not_its_tracepoint() {
        let one = |refused: Option<Missing>| LeftOut { program: "lock_begins".to_owned(), refused };
        let blind = "waiting for the kernel's own locks: this kernel lacks ";
        let absent = blind_without(&[one(None)]);
        assert_eq!(absent, [format!("{blind}the tracepoint `contention_begin` (from Linux 5.19 on)")]);
        let room = Missing::new("room for a BPF program of this size in its verifier", None);
        let refused = blind_without(&[one(Some(room.clone()))]);
        assert_eq!(refused, [format!("{blind}{room}")]);
    }
}

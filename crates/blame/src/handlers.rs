//! What would change that an interrupt or a softirq ran, by what it is.

/// The programs and callbacks with which punctual's own devices, drills and modems work in interrupts and softirqs; the
/// kernel cuts names of programs to 15 characters.
const OWN_WORK: [&str; 6] =
    ["device_callback", "device_interrup", "modem_callback", "modem_interrup", "drill_softirq", "drill_irq"];
/// What helps against them.
const END_OWN_WORK: &str = "Stop it: a device, drill or modem of punctual runs there.";

/// Whether what runs in an interrupt or a softirq with this name is punctual's own work.
pub fn is_own_work(name: &str) -> bool {
    OWN_WORK.iter().any(|own| name.starts_with(own))
}

/// What would change that an interrupt ran.
pub(crate) fn of_an_interrupt(name: &str) -> &'static str {
    match name {
        "local_timer" => {
            "Arm fewer timers on this CPU, or keep the tick off it (nohz_full= on the kernel's command line)."
        }
        own if is_own_work(own) => END_OWN_WORK,
        _ => {
            "If /proc/interrupts lists it, as N, send it to another CPU: `echo CPU | sudo tee /proc/irq/N/smp_affinity_list` (stop \
             irqbalance first). Else a timer, a counter or a BPF program runs there: end that."
        }
    }
}

/// What would change that a softirq ran, given by its name or by that of a function that it called.
pub(crate) fn of_a_softirq(name: &str) -> &'static str {
    match name {
        "timer" | "hrtimer" => {
            "Arm fewer timers, or arm them on another CPU; or let threads do such work: threadirqs on the kernel's command line, \
             or a PREEMPT_RT kernel."
        }
        // No device asks for these: the kernel itself does, at its ticks.
        "rcu" => {
            "Keep RCU's callbacks off this CPU (rcu_nocbs= or nohz_full= on the kernel's command line), or move the thread to \
             a CPU where less is freed; a PREEMPT_RT kernel lets threads do them."
        }
        "sched" => {
            "Keep the balancer from this CPU (cpuset partitions, isolcpus=), or let threads do such work: threadirqs on the \
             kernel's command line, or a PREEMPT_RT kernel."
        }
        "hi" | "net_tx" | "net_rx" | "block" | "irq_poll" | "tasklet" => {
            "Send its device's interrupt to another CPU, or let threads do such work: threadirqs on the kernel's command line, \
             or a PREEMPT_RT kernel."
        }
        own if is_own_work(own) => END_OWN_WORK,
        // A timer's function or a tasklet's.
        _ => {
            "If a timer calls it, arm fewer of them, or on another CPU; otherwise send its device's interrupt to another CPU. Or \
             let threads do such work: threadirqs on the kernel's command line, or a PREEMPT_RT kernel."
        }
    }
}

//! Who had a slice of time, given what the victim was doing.

mod answer;
mod asked;
mod begun;
mod children;
mod classifier;
mod counted;
mod file_locks;
mod had_again;
mod holder;
mod inside;
mod interrupted;
mod kernel_locks;
mod limits;
mod mailbox;
mod polled;
mod preempted;
mod queued;
mod reached;
mod sampled;
mod several;
mod spinning;
mod stopped;
mod unasked;
mod unseen;
mod way;
mod where_asked;

pub(crate) use self::begun::{Beginning, Ender, WaitedFor};
pub(crate) use self::classifier::{Blamed, Classifier};
use self::classifier::{OWN_PATH_NS, Stretch};
pub(crate) use self::holder::Holder;
use self::inside::{path, unexplained};
pub(crate) use self::several::teller;
use crate::episode::asked::Asked;
use crate::episode::detail::{Detail, HeldBack, QUOTA_USED_UP, REAL_TIME_BUDGET_USED_UP};
use crate::episode::groups::turn;
use crate::episode::priorities::Priorities;
use crate::episode::replay::{Running, SWITCH_NS, Slice};
use crate::episode::span::{Doing, StateSpan};
use crate::kind::Kind;
use punctual_recording::Vector;
use punctual_recording::episode::{Event, EventKind, INTERRUPTED_USER};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Either of two threads had the CPU, and it is not known which one when.
const SWITCH_NOT_SEEN: &str = "a switch was not seen";

/// The thread was woken before it had left its CPU.
const NOT_YET: &str = "not yet asleep";

/// The code, or where it ran, and who asked for it.
fn detail(seen: Option<String>, asked: Option<Asked>) -> Option<Detail> {
    match asked {
        Some(asked) => Some(Detail::Asked(seen, asked)),
        None => seen.map(Detail::Seen),
    }
}

/// A thread of this priority number or above is a normal one.
const NORMAL: i16 = 100;
/// The kernel's name for the threads by which it moves others, before the number of a CPU, ...
const MOVER: &str = "migration/";
/// ... and their priority number, before which there are only threads with a deadline.
const MOVERS: i16 = 0;

impl Classifier<'_> {
    /// The verdict on a whole span in which it does not matter what its CPU was doing.
    pub(crate) fn off_cpu(&self, span: &StateSpan) -> Option<Blamed> {
        match span.doing {
            Doing::Blocked { left_state, woken_by } => Some(self.blocked(span, left_state, woken_by)),
            Doing::Spinning { holder } => Some(self.spun_for(holder)),
            Doing::HeldBefore { taker } => Some(self.held_before(taker)),
            Doing::HeldBack { disk, limit, is_under_one } => Some(self.held_back(disk, limit, is_under_one)),
            Doing::Interrupted { by, is_lock, woken_by } => Some(self.stopped_meanwhile(by, is_lock, woken_by)),
            Doing::OutOfQuota { name } => Some(self.out_of_quota(name)),
            Doing::Slack => Some(Blamed::new(Kind::TimerSlack, self.victim())),
            Doing::Waiting { since_ns, .. } => self.would_have_waited(span, since_ns),
            Doing::Due | Doing::Running => None,
        }
    }

    /// The verdicts on `own` ns of a slice between two times, by time; they add up to `own`.
    pub(crate) fn judge(&self, span: &StateSpan, slice: &Slice, start: u64, end: u64, own: u64) -> Vec<(Blamed, u64)> {
        if let Some(why) = self.is_lost(slice) {
            return vec![(Blamed::unknown(why), own)];
        }
        if let Some((inner, outer)) = slice.interrupt() {
            return vec![(self.interrupt(span, inner, outer, own), own)];
        }
        match span.doing {
            Doing::Due if self.was_busy_when_due() => {
                vec![(Blamed::unknown("its timer was due while it was not waiting for it"), own)]
            }
            Doing::Due => self.due(span, slice, (start, end), own),
            Doing::Running => match slice.softirq() {
                Some((inner, outer)) => vec![(self.softirq(slice, inner, outer, start, end), own)],
                None if self.has_another(span, slice, end) => vec![(Blamed::unknown(SWITCH_NOT_SEEN), own)],
                None => self.running(slice, start, end, own),
            },
            Doing::Waiting { .. } => match slice.softirq() {
                Some((inner, outer)) => vec![(self.softirq(slice, inner, outer, start, end), own)],
                None => self.waiting_and_switch(span, slice, start, end, own),
            },
            Doing::Slack
            | Doing::Blocked { .. }
            | Doing::HeldBefore { .. }
            | Doing::HeldBack { .. }
            | Doing::Interrupted { .. }
            | Doing::Spinning { .. }
            | Doing::OutOfQuota { .. } => Vec::new(),
        }
    }

    /// The time after a CPU's last event.
    pub(crate) fn after_last(&self, span: &StateSpan, last: &Event, ns: u64) -> Vec<(Blamed, u64)> {
        let runs_victim = last.kind == EventKind::Switch && last.value == u64::from(self.subject.tid)
            || last.kind != EventKind::Switch && last.tid == self.subject.tid;
        let is_silent = self.is_silent(last.cpu, last.at_ns, last.at_ns.saturating_add(ns), 0);
        match span.doing {
            Doing::Running if runs_victim && self.subject.stage.holds_work() && !is_silent => {
                vec![(self.own_work(None), ns)]
            }
            Doing::Running if is_silent => vec![(Blamed::unknown("no event of this CPU"), ns)],
            Doing::Running if runs_victim => path(ns, unexplained()),
            _ => vec![(Blamed::unknown("no event of this CPU"), ns)],
        }
    }

    /// Its group has used up the time that it may have in a period. Whoever ran meanwhile kept it from nothing.
    fn out_of_quota(&self, name: u32) -> Blamed {
        Blamed {
            detail: Some(Detail::Seen(QUOTA_USED_UP.to_owned())),
            ..Blamed::new(Kind::Throttled, self.episode.name(name))
        }
    }

    /// What a real-time thread waits for that was not let in, if its group has a budget for such threads. A thread with
    /// a budget has not kept normal threads away for so long that they get the kernel's share.
    fn group_budget(&self, victim: i16) -> Option<Blamed> {
        let group = self.index.group_of(self.subject.tid).filter(|_| (0..NORMAL).contains(&victim))?;
        group.real_time_us?;
        Some(Blamed {
            detail: Some(Detail::Seen(REAL_TIME_BUDGET_USED_UP.to_owned())),
            ..Blamed::new(Kind::Throttled, group.path.as_str())
        })
    }

    /// A group may ask no more of a disk, be it for the thread itself or for whoever had asked for what it waits for:
    /// others' requests kept it from nothing.
    fn held_back(&self, disk: u32, limit: Option<u32>, is_under_one: bool) -> Blamed {
        let own = self.episode.disk_limit.as_deref().filter(|_| is_under_one);
        let group = limit.map(|limit| self.episode.name(limit)).or(own).unwrap_or("a control group");
        let whose = if own == Some(group) { HeldBack::Own } else { HeldBack::Anothers };
        let detail = Detail::HeldBack(self.episode.name(disk).to_owned(), whose);
        Blamed { detail: Some(detail), ..Blamed::new(Kind::Throttled, group) }
    }

    fn interrupt(&self, span: &StateSpan, inner: &Running, outer: &Running, ns: u64) -> Blamed {
        let name = self.running_name(inner);
        // The victim's own timer function, from its entry to the waking, is the way of a wakeup.
        let own = span.doing == Doing::Due
            && inner.kind == EventKind::TimerBegin
            && ns < OWN_PATH_NS
            && self.waking.is_some_and(|waking| {
                waking.cpu == span.cpu && inner.began_ns.is_some_and(|began| began <= waking.at_ns) && {
                    span.end_ns == waking.at_ns && waking.at_ns - inner.began_ns.unwrap_or(0) <= ns
                }
            });
        if own {
            return Blamed::new(Kind::KernelWake, "timer to waking");
        }
        let around = (inner != outer).then(|| format!("in {}", self.running_name(outer)));
        Blamed { detail: detail(around, self.who_asked(span.cpu, inner)), ..Blamed::new(Kind::Irq, name) }
    }

    fn running_name(&self, running: &Running) -> String {
        let given = self.episode.name(running.name);
        match running.kind {
            EventKind::VectorBegin => {
                Vector::name_of(running.value).map_or_else(|| format!("vector {}", running.value), str::to_owned)
            }
            _ => given.to_owned(),
        }
    }

    fn softirq(&self, slice: &Slice, inner: &Running, outer: &Running, start: u64, end: u64) -> Blamed {
        let mut blamed = Blamed::new(Kind::Softirq, self.running_name(inner));
        let around = || (inner != outer).then(|| format!("in softirq {}", self.running_name(outer)));
        let cpu = self.episode.events[slice.ends_with].cpu;
        let seen = self.sampled(slice, start, end).or_else(around);
        blamed.detail = detail(seen, self.who_asked(cpu, inner));
        blamed
    }

    /// Whether a thread woke it long after its timer was due: whatever that thread did until then, it was not the timer
    /// that the victim waited for. Threads that serve softirqs wake for timers.
    fn was_busy_when_due(&self) -> bool {
        self.waking.is_some_and(|waking| {
            let serves = ["ktimers/", "ksoftirqd/"].iter().any(|name| self.thread(waking.tid).starts_with(name));
            let is_a_threads = waking.is_the_threads_own() && waking.tid != 0 && !serves;
            is_a_threads && waking.at_ns.saturating_sub(self.subject.start_ns) > OWN_PATH_NS
        })
    }

    /// The victim's timer is due and its interrupt does not come.
    fn due(&self, span: &StateSpan, slice: &Slice, (start, end): (u64, u64), own: u64) -> Vec<(Blamed, u64)> {
        let ends_with = &self.episode.events[slice.ends_with];
        if slice.tid == 0 && slice.softirq().is_none() {
            return vec![(Blamed::new(Kind::IdleExit, "idle"), own)];
        }
        if slice.instead_of.is_some() {
            return vec![(Blamed::unknown(SWITCH_NOT_SEEN), own)];
        }
        // For as long as an interrupt usually takes to come, nobody held it up.
        let usual = own.min(self.episode.usual_delivery_ns);
        let mut verdicts = vec![(Blamed::new(Kind::KernelWake, "interrupt delivery"), usual)];
        let rest = own - usual;
        if rest == 0 {
            return verdicts;
        }
        let interrupted =
            (ends_with.kind == EventKind::VectorBegin && ends_with.at_ns == slice.end_ns).then_some(ends_with);
        let is_off = || self.are_interrupts_off(span, start, ends_with);
        let code = |event| self.interrupted_code(event).or_else(|| self.sampled(slice, start, end)).map(Detail::Seen);
        let blamed = match (slice.softirq(), interrupted) {
            (None, Some(event)) if event.extra & INTERRUPTED_USER != 0 => {
                // User code cannot turn interrupts off.
                self.by_exclusion(slice, start, end, Blamed::new(Kind::Blind, "outside this kernel"))
            }
            (Some((inner, _)), Some(event)) if is_off() => {
                let name = format!("softirq {}", self.running_name(inner));
                let blamed = Blamed { detail: code(event), ..Blamed::new(Kind::IrqOff, name) };
                self.by_late_interrupt(slice, start, end, blamed)
            }
            (None, Some(event)) if is_off() => {
                let blamed = Blamed {
                    detail: code(event),
                    tid: Some(slice.tid),
                    ..Blamed::new(Kind::IrqOff, self.thread_at(slice.tid, start))
                };
                self.by_late_interrupt(slice, start, end, blamed)
            }
            // Something else happened first, so interrupts were not off all the time.
            _ => Blamed::new(Kind::Blind, format!("while {} ran", self.thread(slice.tid))),
        };
        verdicts.push((blamed, rest));
        verdicts
    }

    /// Whether interrupts may have been off while a timer was due, from a time to this interrupt. Another one that comes meanwhile, or
    /// that came before, shows that they were on, unless the timer's comes with it.
    fn are_interrupts_off(&self, span: &StateSpan, start_ns: u64, until: &Event) -> bool {
        let is_timer =
            |event: &Event| event.kind == EventKind::VectorBegin && event.value == u64::from(Vector::LocalTimer.code());
        let comes_with_it = || {
            let later = self.index.vectors_within(until.cpu, until.at_ns.saturating_add(1), span.end_ns);
            let ended = later.iter().find(|event| event.kind == EventKind::VectorEnd);
            let timer = later.iter().find(|event| is_timer(event));
            ended.zip(timer).is_some_and(|(ended, timer)| timer.at_ns.saturating_sub(ended.at_ns) <= OWN_PATH_NS)
        };
        self.first_interrupt(span) >= start_ns && (is_timer(until) || comes_with_it())
    }

    /// When an interrupt began in a span, or went on from before it, for the first time.
    fn first_interrupt(&self, span: &StateSpan) -> u64 {
        let stretch = (span.cpu, span.start_ns, span.end_ns);
        let mut known = self.interrupted.borrow_mut();
        if let Some((_, first_ns)) = known.as_ref().filter(|(of, _)| *of == stretch) {
            return *first_ns;
        }
        let slices = self.timelines.get(&span.cpu).map_or(&[][..], |of_cpu| of_cpu.within(span.start_ns, span.end_ns));
        let first = slices.iter().find(|slice| slice.interrupt().is_some());
        let first_ns = first.map_or(u64::MAX, |slice| slice.start_ns);
        *known = Some((stretch, first_ns));
        first_ns
    }

    /// The victim is ready and another thread runs; what ends with the switch to the victim ends with the scheduler's work.
    fn waiting_and_switch(
        &self,
        span: &StateSpan,
        slice: &Slice,
        start: u64,
        end: u64,
        own: u64,
    ) -> Vec<(Blamed, u64)> {
        if slice.tid == self.subject.tid && self.subject.stage.holds_work() {
            // It is on its CPU, and the switch that brought it there was not seen.
            return self.running(slice, start, end, own);
        }
        if slice.instead_of.is_some() {
            return vec![(Blamed::unknown(SWITCH_NOT_SEEN), own)];
        }
        let ends_with = &self.episode.events[slice.ends_with];
        let blamed = self.waiting(span, slice, start, end, ends_with);
        let let_in = ends_with.kind == EventKind::Switch
            && ends_with.value == u64::from(self.subject.tid)
            && ends_with.at_ns == end
            && matches!(blamed.kind, Kind::Kernel | Kind::IdleExit | Kind::IrqOff);
        let switch = if let_in { own.min(SWITCH_NS) } else { 0 };
        vec![(blamed, own - switch), (Blamed::new(Kind::KernelWake, "switch"), switch)]
    }

    /// Who runs while the victim is ready.
    fn waiting(&self, span: &StateSpan, slice: &Slice, start: u64, end: u64, ends_with: &Event) -> Blamed {
        let Doing::Waiting { since_ns, moved } = span.doing else { return Blamed::unknown("not waiting") };
        let victim = self.priority_beside(span, slice);
        let name = self.thread_at(slice.tid, start);
        // Whom a CPU had chosen before the victim was moved there was not chosen over it.
        let here_ns = moved.map_or(since_ns, |index| self.episode.events[index].at_ns.max(since_ns));
        let is_after = |since: u64| since >= here_ns && !self.was_switching(span.cpu, since_ns, since);
        let chosen =
            slice.since_ns.is_some_and(is_after) || slice.tid != 0 && self.was_let_go_on(span, slice.tid, since_ns);
        let real_time = victim < NORMAL;
        // What a kernel worker was given to do, and by whom, says more than where it is in doing it.
        let work = || {
            let name = slice.work()?;
            detail(Some(format!("work {}", self.episode.name(name))), self.who_queued(slice.tid, start))
        };
        let detail = || work().or_else(|| self.sampled(slice, start, end).map(Detail::Seen));
        let with = |kind| Blamed { detail: detail(), tid: Some(slice.tid), ..Blamed::new(kind, name.clone()) };
        let priorities = Some(Priorities { runs: slice.priority, waits: victim });
        if slice.tid == self.subject.tid {
            // On its way out: it was woken before it was gone. That takes no longer than any way through the kernel.
            let is_ordinary = end - start <= OWN_PATH_NS;
            return if is_ordinary { Blamed::new(Kind::KernelWake, NOT_YET) } else { Blamed::unknown(SWITCH_NOT_SEEN) };
        }
        if let Some(moved) =
            moved.map(|index| &self.episode.events[index]).filter(|moved| self.moves(moved.tid, moved.priority))
            && slice.tid == 0
        {
            return self.migration(moved.tid, moved.at_ns);
        }
        let throttled = || {
            self.group_budget(victim).unwrap_or_else(|| Blamed {
                detail: Some(Detail::Seen(format!("while {name} ran"))),
                ..Blamed::new(Kind::Throttled, self.victim())
            })
        };
        if slice.tid == 0 {
            return if chosen { throttled() } else { Blamed::new(Kind::IdleExit, "idle") };
        }
        if self.moves(slice.tid, slice.priority) {
            return self.migration(slice.tid, end);
        }
        if !real_time && slice.priority >= NORMAL {
            return self.had_its_turn(slice, victim, with(Kind::SamePriority));
        }
        if slice.priority < victim {
            return Blamed { priorities, ..with(Kind::HigherPriority) };
        }
        if slice.priority == victim {
            return Blamed { priorities, ..with(Kind::SamePriority) };
        }
        if chosen {
            // The scheduler picked a thread that has no right to go first.
            let fair = slice.priority >= NORMAL && victim >= 0 && self.group_budget(victim).is_none();
            return if fair { with(Kind::FairServer) } else { throttled() };
        }
        let came_late = ends_with.kind == EventKind::VectorBegin && ends_with.extra & INTERRUPTED_USER != 0;
        if came_late && end - start > OWN_PATH_NS {
            // The interrupt that reports the waking preempts user code: it did not come.
            return self.by_exclusion(slice, start, end, Blamed::new(Kind::Blind, "outside this kernel"));
        }
        let kept_off = self.sampling_stopped(slice, start, end) || self.timer_was_kept(slice, start, end);
        self.by_exclusion(slice, start, end, with(if kept_off { Kind::IrqOff } else { Kind::Kernel }))
    }

    /// Whether a CPU was in the midst of a switch when another CPU woke the thread for it: whom it switched to was chosen before.
    fn was_switching(&self, cpu: u32, since_ns: u64, switched_ns: u64) -> bool {
        let waking = self.index.last_woken(self.subject.tid, since_ns);
        let is_from_afar = waking.is_some_and(|waking| waking.at_ns == since_ns && waking.cpu != cpu);
        is_from_afar && switched_ns - since_ns <= SWITCH_NS
    }

    /// The priority with which a thread waits while another one runs. Somebody may have lowered it meanwhile, which
    /// shows only when it gets its CPU: if a thread ran that had no right to with the earlier priority, the later one
    /// counts.
    fn priority_beside(&self, span: &StateSpan, slice: &Slice) -> i16 {
        if slice.priority <= span.priority {
            return span.priority;
        }
        let tid = u64::from(self.subject.tid);
        let turns = self.index.turns_from(tid, slice.start_ns);
        let comes = turns.iter().find(|event| event.kind == EventKind::Switch && event.value == tid);
        let later = comes.map_or(span.priority, |event| event.other_priority());
        let explains = later > slice.priority || later >= NORMAL && slice.priority >= NORMAL;
        if slice.tid != 0 && explains { later } else { span.priority }
    }

    /// Whether the scheduler let a thread go on although the victim was ready: an interrupt came while its own code
    /// ran, and returned there. On that way the scheduler checks whether another thread should run.
    fn was_let_go_on(&self, span: &StateSpan, tid: u32, since_ns: u64) -> bool {
        let stretch = (span.cpu, since_ns, span.end_ns);
        let mut known = self.let_go_on.borrow_mut();
        if known.as_ref().is_none_or(|(of, _)| *of != stretch) {
            *known = Some((stretch, self.let_go_on_in(stretch)));
        }
        known.as_ref().is_some_and(|(_, threads)| threads.contains(&tid))
    }

    /// The threads for which that holds.
    fn let_go_on_in(&self, (cpu, since_ns, end_ns): Stretch) -> BTreeSet<u32> {
        let mut threads = BTreeSet::new();
        let Some(timeline) = self.timelines.get(&cpu) else { return threads };
        // Whether an interrupt came while the code of this thread ran, which has had the CPU since.
        let (mut came, mut current) = (false, None);
        for slice in timeline.within(since_ns, end_ns) {
            came &= current == Some(slice.tid);
            current = Some(slice.tid);
            let is_its_own = slice.open.is_empty();
            if is_its_own && came && slice.end_ns - slice.start_ns > SWITCH_NS {
                threads.insert(slice.tid);
            }
            let ends_with = &self.episode.events[slice.ends_with];
            let interrupts = matches!(ends_with.kind, EventKind::VectorBegin | EventKind::HandlerBegin);
            if is_its_own && interrupts {
                came = ends_with.at_ns > since_ns && ends_with.extra & INTERRUPTED_USER != 0;
            }
        }
        threads
    }

    /// Normal threads take turns by weight, by that of their groups if those differ.
    fn had_its_turn(&self, slice: &Slice, victim: i16, blamed: Blamed) -> Blamed {
        let turn = turn(self.index, (slice.tid, slice.priority), (self.subject.tid, victim));
        let kind = match turn.weight.cmp(&turn.waiting_weight) {
            Ordering::Greater => Kind::HigherPriority,
            Ordering::Equal => Kind::SamePriority,
            Ordering::Less => Kind::LowerPriority,
        };
        Blamed { kind, turn: Some(turn), ..blamed }
    }

    /// Whether a thread is one of those by which the kernel moves others between CPUs. A program may call its own what it likes.
    fn moves(&self, tid: u32, priority: i16) -> bool {
        let cpu = self.threads.get(&tid).and_then(|name| name.strip_prefix(MOVER));
        priority <= MOVERS && cpu.is_some_and(|cpu| cpu.bytes().all(|digit| digit.is_ascii_digit()))
    }

    /// A move by this thread: attributed to whoever asked for it, if that was seen.
    fn migration(&self, tid: u32, until_ns: u64) -> Blamed {
        let mover = self.thread(tid);
        // What it was woken for before it slept is done.
        let is_done = |asks: &&Event| {
            let leaves = self.index.leaves_within(tid, asks.at_ns, until_ns);
            leaves.iter().any(|leave| leave.left_state() != 0)
        };
        // What balances CPUs in an interrupt or a softirq comes over whatever thread.
        let asks = self.index.last_woken(tid, until_ns).filter(|asks| !is_done(asks));
        match asks.filter(|event| event.is_the_threads_own() && event.tid != 0) {
            Some(event) => {
                Blamed { detail: Some(Detail::Seen(mover)), ..Blamed::new(Kind::Migration, self.thread(event.tid)) }
            }
            None => Blamed::new(Kind::Migration, mover),
        }
    }
}

//! The answer of `punctual why`.

use super::advice::{Advice, after_a_loop};
use super::call_rows::CallRow;
use super::ends::{self, EndRow};
use super::model::{EpisodeView, WhyReport};
use super::processes::ProcessRow;
use super::sockets::SocketRow;
use super::{SCHEMA, cost, processes, steps};
use crate::NextStep;
use crate::answer::Answer;
use crate::layout::rfc3339;
use punctual_blame::{Asker, Awaited, Cause, Detail, Inside, Kind, Priorities, Who};
use punctual_recording::episode::Victim;
use punctual_recording::{Call, RecorderSummary, Stage};
use serde::Serialize;
use std::path::Path;

/// Who made wakeups late.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WhyAnswer<'a> {
    schema: &'static str,
    verdict: String,
    exit_code: u8,
    /// What to do next, at most two steps: `why` for a thread that was late for another reason than most, and what would
    /// change each leading cause; with `--episode`, what would change the largest parts of that one.
    next: Vec<NextStep>,
    recording: &'a Path,
    cut: bool,
    missing_episodes: u64,
    /// The name or number of the thread whose episodes these are, if not everybody's; and how many others there are.
    thread: Option<&'a str>,
    other_episodes: u64,
    blind: &'a [String],
    /// What was not measured as it was asked for; absent if everything was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    conditions: Vec<&'a str>,
    #[cfg_attr(test, schemars(with = "Option<serde_json::Map<String, serde_json::Value>>"))]
    recorder: Option<&'a RecorderSummary>,
    cpu_share: Option<f64>,
    late_ns: u64,
    /// How late void episodes were, which `late_ns` leaves out; of requests at most.
    #[serde(skip_serializing_if = "is_zero")]
    void_ns: u64,
    unknown_ns: u64,
    blind_ns: u64,
    /// For how much of `late_ns` no request was waiting.
    #[serde(skip_serializing_if = "is_zero")]
    idle_ns: u64,
    /// How many episodes are so long only because of that.
    #[serde(skip_serializing_if = "is_zero")]
    only_idle: u64,
    /// How many more may be: nothing tells whether a wait was for an answer or for the next request.
    #[serde(skip_serializing_if = "is_zero")]
    maybe_only_idle: u64,
    kinds: Vec<KindRow>,
    causes: Vec<CauseRow<'a>>,
    /// What the waits for other threads came down to at the end of their chains, largest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    wait_ends: Vec<EndRow<'a>>,
    /// Late wakeups by process, if they belong to threads of several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    processes: Vec<ProcessRow<'a>>,
    /// How many of `episodes` have only sums: their details would take up too much.
    without_details: u64,
    /// How many functions are listed with their caller in `call_tree`: the trees would take up too much.
    functions_left_out: u64,
    episodes: Vec<EpisodeRow<'a>>,
}

impl<'a> WhyAnswer<'a> {
    /// The answer for programs; with `only`, with one episode alone.
    pub fn new(report: &'a WhyReport<'a>, only: Option<u64>) -> WhyAnswer<'a> {
        let chosen = report.episodes.iter().filter(|episode| only.is_none_or(|only| only == episode.id));
        let without_details = chosen.clone().filter(|episode| episode.without_details).count();
        let shared_ns = report.late_ns();
        let single = only.and_then(|only| report.episodes.iter().find(|episode| episode.id == only));
        WhyAnswer {
            schema: SCHEMA,
            verdict: report.verdict(),
            exit_code: 0,
            next: single.map_or_else(|| steps::next(report), |episode| steps::of_episode(report, episode)),
            recording: report.recording,
            cut: report.cut,
            missing_episodes: report.missing(),
            thread: report.only.as_ref().map(|only| only.asked.as_str()),
            other_episodes: report.only.as_ref().map_or(0, |only| only.others),
            blind: report.blind,
            conditions: report.conditions.iter().map(String::as_str).collect(),
            recorder: report.recorder.as_ref(),
            cpu_share: report.recorder.as_ref().and_then(cost::cpu_share),
            late_ns: report.summary.late_ns,
            void_ns: report.void_ns(),
            unknown_ns: report.summary.unknown_ns,
            blind_ns: report.total_of(Kind::Blind),
            idle_ns: report.total_of(Kind::Idle),
            only_idle: report.only_idle(),
            maybe_only_idle: report.maybe_only_idle(),
            kinds: report.kinds().into_iter().map(|(kind, total_ns)| KindRow::new(kind, total_ns, shared_ns)).collect(),
            causes: report.summary.causes.iter().map(|cause| CauseRow::new(cause, shared_ns, report)).collect(),
            wait_ends: ends::rows(report),
            processes: processes::rows(report),
            without_details: without_details as u64,
            functions_left_out: report.functions_left_out,
            episodes: chosen.map(|episode| EpisodeRow::new(report, episode)).collect(),
        }
    }
}

impl Answer for WhyAnswer<'_> {
    fn exit_code(&mut self) -> &mut u8 {
        &mut self.exit_code
    }
}

/// All causes of a kind together.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct KindRow {
    kind: &'static str,
    total_ns: u64,
    /// Of `late_ns` without `idle_ns`; 0 for `idle`.
    share: f64,
}

fn not_seen(who: &Who) -> Option<&'static str> {
    who.not_seen().map(Awaited::name)
}

/// What is no part of a late request has no share of it.
fn share(kind: Kind, part_ns: u64, late_ns: u64) -> f64 {
    if kind == Kind::Idle {
        return 0.0;
    }
    part_ns as f64 / late_ns.max(1) as f64
}

impl KindRow {
    fn new(kind: Kind, total_ns: u64, late_ns: u64) -> KindRow {
        KindRow { kind: kind.name(), total_ns, share: share(kind, total_ns, late_ns) }
    }
}

/// One cause over all episodes that are not void.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CauseRow<'a> {
    kind: &'static str,
    name: &'a str,
    /// The number of the thread that it was in all episodes, where others have the same name.
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<u32>,
    /// If it was not seen who it was: `holder` of a lock, or the `ender` of a wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_seen: Option<&'static str>,
    detail: Option<String>,
    /// For how much of a wait the detail says what held up whoever was waited for, ns.
    detail_ns: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    asked_by: Vec<AskerRow<'a>>,
    cgroup: Option<&'a str>,
    weight: Option<u64>,
    waiting_weight: Option<u64>,
    /// What the thread that ran and the late one are, if they are not both normal: `SCHED_DEADLINE`, `real-time priority 95`.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_class: Option<String>,
    /// Of `late_ns` without `idle_ns`; 0 for `idle`.
    share: f64,
    episodes: u64,
    /// In how many of these the wait ended when whoever was waited for ended.
    #[serde(skip_serializing_if = "is_zero")]
    ended: u64,
    max_ns: u64,
    typical_ns: u64,
    total_ns: u64,
    unknown_ns: u64,
    example: u64,
    happened: String,
    remedy: Option<String>,
    /// The page of its kind, which `punctual why --explain KIND` prints.
    page: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl<'a> CauseRow<'a> {
    fn new(cause: &'a Cause, late_ns: u64, report: &WhyReport<'_>) -> CauseRow<'a> {
        let Advice { happened, remedy, .. } = Advice::on(cause, report.recording, report.setting);
        CauseRow {
            happened,
            remedy: after_a_loop(report, cause).or(remedy),
            page: cause.kind.page(),
            kind: cause.kind.name(),
            name: cause.who.name(),
            thread: cause.thread,
            not_seen: not_seen(&cause.who),
            detail: cause.detail.as_ref().map(ToString::to_string),
            detail_ns: cause.detail_ns,
            asked_by: AskerRow::all(cause.detail.as_ref()),
            cgroup: cause.cgroup.as_deref(),
            weight: cause.turn.map(|turn| turn.weight),
            waiting_weight: cause.turn.map(|turn| turn.waiting_weight),
            class: cause.priorities.map(Priorities::class),
            waiting_class: cause.priorities.map(Priorities::waiting_class),
            share: share(cause.kind, cause.total_ns, late_ns),
            episodes: cause.episodes,
            ended: cause.ended,
            max_ns: cause.max_ns,
            typical_ns: cause.typical_ns,
            total_ns: cause.total_ns,
            unknown_ns: cause.unknown_ns,
            example: cause.example,
        }
    }
}

/// One late wakeup.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct EpisodeRow<'a> {
    id: u64,
    void: bool,
    nesting_known: bool,
    void_reason: Option<&'a str>,
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, serde_json::Value>"))]
    victim: &'a Victim,
    cgroup: Option<&'a str>,
    expected_ns: u64,
    /// `expected_ns` in UTC, as RFC 3339 has it, if the recording knows its clock's offset.
    at: Option<String>,
    total_ns: u64,
    #[cfg_attr(test, schemars(with = "String"))]
    stage: Stage,
    parts: Vec<PartRow<'a>>,
    /// If so, `pieces`, `chain`, `late_interrupt_stacks`, `build_ids` and `sockets` are empty for want of room, not of evidence.
    without_details: bool,
    pieces: Vec<PieceRow<'a>>,
    chain: Vec<LinkRow<'a>>,
    samples: u64,
    call_tree: Vec<CallRow<'a>>,
    late_interrupt_stacks: &'a [Vec<String>],
    build_ids: Vec<BuildRow<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sockets: Vec<SocketRow<'a>>,
}

/// A part of the lateness; all of them add up to it. `thread` is its thread's number, where others have the same name.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PartRow<'a> {
    kind: &'static str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<u32>,
    /// If it was not seen who it was: `holder` of a lock, or the `ender` of a wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_seen: Option<&'static str>,
    ns: u64,
    detail: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    asked_by: Vec<AskerRow<'a>>,
    unknown_ns: u64,
    inside: Vec<InsideRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<&'static str>,
    /// The wait ended when whoever was waited for ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    ended: bool,
    cgroup: Option<&'a str>,
    weight: Option<u64>,
    waiting_weight: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_class: Option<String>,
}

/// What the holder of a lock, or whoever else is waited for, was doing meanwhile; all of them add up to the part, and
/// those inside one add up to that one, if there are any.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct InsideRow<'a> {
    kind: &'static str,
    name: &'a str,
    /// If it was not seen who it was: `holder` of a lock, or the `ender` of a wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_seen: Option<&'static str>,
    ns: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    inside: Vec<InsideRow<'a>>,
}

impl<'a> InsideRow<'a> {
    fn all(inside: &'a [Inside]) -> Vec<InsideRow<'a>> {
        let row = |inside: &'a Inside| InsideRow {
            kind: inside.kind.name(),
            name: inside.who.name(),
            not_seen: not_seen(&inside.who),
            ns: inside.ns,
            inside: InsideRow::all(&inside.inside),
        };
        inside.iter().map(row).collect()
    }
}

/// A stretch of the lateness.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct PieceRow<'a> {
    start_ns: u64,
    ns: u64,
    cpu: u32,
    kind: &'static str,
    name: &'a str,
    /// If it was not seen who it was: `holder` of a lock, or the `ender` of a wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_seen: Option<&'static str>,
    detail: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    asked_by: Vec<AskerRow<'a>>,
    cgroup: Option<&'a str>,
}

/// Who asked for what an interrupt or a softirq did; several if it cannot be told which of them it was.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AskerRow<'a> {
    /// `armed` a timer, had a function `called` on another CPU, or `sent` the interrupt.
    how: &'static str,
    /// `thread`, or the `interrupt` or `softirq` that interrupted one.
    what: &'static str,
    name: &'a str,
    tid: Option<u32>,
    cpu: Option<u32>,
}

impl<'a> AskerRow<'a> {
    fn all(detail: Option<&'a Detail>) -> Vec<AskerRow<'a>> {
        let Some(asked) = detail.and_then(Detail::asked) else { return Vec::new() };
        let how = asked.how.name();
        let row = |asker: &'a Asker| match asker {
            Asker::Thread(name, tid) => AskerRow { how, what: "thread", name, tid: Some(*tid), cpu: None },
            Asker::Over(what, name, cpu) => AskerRow { how, what, name, tid: None, cpu: Some(*cpu) },
        };
        asked.by.iter().map(row).collect()
    }
}

/// Who woke whom.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LinkRow<'a> {
    at_ns: u64,
    cpu: u32,
    woken: &'a str,
    by: &'static str,
    name: &'a str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct BuildRow<'a> {
    path: &'a str,
    build_id: &'a str,
}

impl<'a> EpisodeRow<'a> {
    fn new(report: &WhyReport<'_>, episode: &'a EpisodeView) -> EpisodeRow<'a> {
        let parts = episode.split.parts.iter().map(|part| PartRow {
            kind: part.kind.name(),
            name: part.who.name(),
            thread: part.number(),
            not_seen: not_seen(&part.who),
            ns: part.ns,
            detail: part.detail.as_ref().map(ToString::to_string),
            asked_by: AskerRow::all(part.detail.as_ref()),
            unknown_ns: part.unknown_ns,
            inside: InsideRow::all(&part.inside),
            call: part.call.map(Call::name),
            ended: part.has_ended,
            cgroup: part.cgroup.as_deref(),
            weight: part.turn.map(|turn| turn.weight),
            waiting_weight: part.turn.map(|turn| turn.waiting_weight),
            class: part.priorities.map(Priorities::class),
            waiting_class: part.priorities.map(Priorities::waiting_class),
        });
        let pieces = episode.split.pieces.iter().map(|piece| PieceRow {
            start_ns: piece.start_ns,
            ns: piece.ns,
            cpu: piece.cpu,
            kind: piece.kind.name(),
            name: piece.who.name(),
            not_seen: not_seen(&piece.who),
            detail: piece.detail.as_ref().map(ToString::to_string),
            asked_by: AskerRow::all(piece.detail.as_ref()),
            cgroup: piece.cgroup.as_deref(),
        });
        let chain = episode.chain.iter().map(|link| LinkRow {
            at_ns: link.at_ns,
            cpu: link.cpu,
            woken: &link.woken,
            by: link.by,
            name: &link.name,
        });
        EpisodeRow {
            id: episode.id,
            void: episode.void.is_some(),
            nesting_known: episode.nesting_known,
            void_reason: episode.void.as_deref(),
            victim: &episode.victim,
            cgroup: episode.cgroup.as_deref(),
            expected_ns: episode.expected_ns,
            at: rfc3339(episode.expected_ns, report.to_unix_ns),
            total_ns: episode.total_ns,
            stage: episode.stage,
            parts: parts.collect(),
            without_details: episode.without_details,
            pieces: pieces.collect(),
            chain: chain.collect(),
            samples: episode.tree.count(),
            call_tree: CallRow::below(&episode.tree),
            late_interrupt_stacks: &episode.late_stacks,
            sockets: SocketRow::all(&episode.sockets),
            build_ids: episode.builds.iter().map(|(path, build_id)| BuildRow { path, build_id }).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_blame::{CallTree, Room};
    use punctual_recording::Episode;

    #[test]
    fn shares_are_of_the_time_in_which_a_request_was_waiting() {
        let parts = [(Kind::Idle, "no request was waiting", 60), (Kind::Own, "late", 30), (Kind::Wait, "store", 10)];
        let episodes = vec![crate::why::tests::of_parts(&parts)];
        let report = WhyReport::new(Path::new("x"), 0, None, episodes, false, None, &[]);
        let answer = serde_json::to_value(WhyAnswer::new(&report, None)).unwrap();
        for list in ["kinds", "causes"] {
            let rows = answer[list].as_array().unwrap().iter();
            let shares: Vec<_> = rows.map(|row| (row["kind"].as_str(), row["share"].as_f64())).collect();
            let expected =
                [("idle", 0.0), ("own", 0.75), ("wait", 0.25)].map(|(kind, share)| (Some(kind), Some(share)));
            assert_eq!(shares, expected, "{list}");
        }
        assert_eq!((answer["late_ns"].as_u64(), answer["idle_ns"].as_u64()), (Some(100_000_000), Some(60_000_000)));
    }

    #[test]
    fn an_episode_whose_details_take_too_much_says_that_they_are_left_out() {
        let line = r#"{"id":1,"victim":{"tid":7,"name":"late","priority":19,"cpu":0},"expected_ns":1000,"total_ns":500,
            "threshold_ns":100,"void":null}"#;
        let episode: Episode = serde_json::from_str(line).unwrap();
        let mut view = EpisodeView::new(&episode, &mut Room::of(1 << 20));
        let told = |view: EpisodeView| {
            let is_whole = !view.without_details;
            let mut report = WhyReport::new(Path::new("x"), 0, None, vec![view], false, None, &[]);
            report.functions_left_out = u64::from(!is_whole) * 7;
            let page = crate::why::page::html(&report, &CallTree::default(), &crate::why::page::tests::document());
            for said in ["1 of 1 episode is shown as totals only", "7 functions were merged into their callers"] {
                assert_eq!(crate::why::whole_text(&report).contains(said), !is_whole);
                assert_eq!(page.contains(said), !is_whole);
            }
            let answer = serde_json::to_value(WhyAnswer::new(&report, None)).unwrap();
            let episode = &answer["episodes"][0];
            let parts = episode["parts"].as_array().unwrap().len();
            assert_eq!(answer["functions_left_out"], report.functions_left_out);
            (answer["without_details"].clone(), episode["without_details"].clone(), episode["pieces"].clone(), parts)
        };
        let whole = told(EpisodeView::new(&episode, &mut Room::of(1 << 20)));
        assert_eq!((whole.0, whole.1, whole.2.as_array().unwrap().len(), whole.3), (0.into(), false.into(), 1, 1));
        view.leave_out_details();
        let sums = told(view);
        assert_eq!((sums.0, sums.1, sums.2.as_array().unwrap().len(), sums.3), (1.into(), true.into(), 0, 1));
    }
}

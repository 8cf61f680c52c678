//! Who made wakeups late: the answer of `punctual why`.

use super::advice;
use crate::layout::{microseconds, shortened, table};
use crate::why::cost::MIN_COUNTED_NS;
use punctual_blame::{CallTree, Room};
use punctual_blame::{
    Cause, ENDER_NOT_SEEN, HOLDER_NOT_SEEN, Kind, Link, Piece, Split, Summary, Turn, chain, is_nesting_known, sentence,
    split, summarize,
};
use punctual_recording::episode::Victim;
use punctual_recording::{Episode, RecorderSummary, Stage, format_ns};
use std::fmt::Write;
use std::path::Path;

/// Causes below this share of the late time are summed up in text, in thousandths.
const SHOWN_THOUSANDTHS: u64 = 1;
/// What nothing explains is always shown.
const ALWAYS_SHOWN: [Kind; 2] = [Kind::Unknown, Kind::Blind];
/// Symbols of generic code are longer than any column is wide.
pub(crate) const MAX_CHARACTERS: usize = 56;
/// Episodes that the text shows by themselves.
const SHOWN_EPISODES: usize = 5;

/// An episode and what was made of it.
pub struct EpisodeView {
    /// Its number.
    pub id: u64,
    /// Why nothing is concluded from it, where nothing is.
    pub void: Option<String>,
    /// Whether the kernel's count of nested interrupts was read, and agrees with what else was seen; see
    /// [`punctual_blame::is_nesting_known`].
    pub nesting_known: bool,
    /// Who was late.
    pub victim: Victim,
    /// In which control group, where that is known.
    pub cgroup: Option<String>,
    /// When it was due, ns of `CLOCK_MONOTONIC`.
    pub expected_ns: u64,
    /// How late it was, ns.
    pub total_ns: u64,
    /// Where that ends, see [`Episode::stage`].
    pub stage: Stage,
    /// The split.
    pub split: Split,
    /// Who woke it, and who woke that one.
    pub chain: Vec<Link>,
    /// What was being executed meanwhile on the victim's CPU.
    pub tree: CallTree,
    /// Stacks that late timer interrupts found below them, innermost first.
    pub late_stacks: Vec<Vec<String>>,
    /// Build identifiers of the files in the tree.
    pub builds: Vec<(String, String)>,
    /// Whether its pieces, chain, late stacks and builds were let go of, see [`EpisodeView::leave_out_details`].
    pub without_details: bool,
}

impl EpisodeView {
    /// Looks into an episode.
    pub fn new(episode: &Episode, room: &mut Room) -> EpisodeView {
        let split = split(episode);
        EpisodeView {
            id: episode.id,
            void: episode.void.clone(),
            nesting_known: is_nesting_known(episode),
            victim: episode.victim.clone(),
            cgroup: punctual_blame::cgroup(episode, episode.victim.tid),
            expected_ns: episode.expected_ns,
            total_ns: episode.total_ns(),
            stage: episode.stage,
            chain: chain(episode),
            tree: CallTree::of_samples(episode, &split, room),
            late_stacks: punctual_blame::late_stacks(episode, &split),
            builds: episode.builds.clone(),
            without_details: false,
            split,
        }
    }

    /// How much memory its details take up, bytes, about; without the tree, which keeps to its room.
    pub fn detail_bytes(&self) -> usize {
        // A text of its own takes 32 bytes at least.
        let text = |text: &str| size_of::<String>() + text.len().max(32);
        let pieces = self.split.pieces.iter().map(|piece| {
            let path: usize = piece.path.iter().map(|(_, name)| size_of::<Kind>() + text(name)).sum();
            let detail = piece.detail.as_ref().map_or(0, |detail| text(&detail.to_string()));
            size_of::<Piece>() + text(&piece.name) + path + detail
        });
        let links = self.chain.iter().map(|link| size_of::<Link>() + text(&link.woken) + text(&link.name));
        let stacks = self.late_stacks.iter().flatten().map(|function| text(function));
        let builds = self.builds.iter().map(|(path, build)| text(path) + text(build));
        pieces.chain(links).chain(stacks).chain(builds).sum()
    }

    /// Lets go of its details; the sums of its parts stay.
    pub fn leave_out_details(&mut self) {
        self.split.pieces = Vec::new();
        self.chain = Vec::new();
        self.late_stacks = Vec::new();
        self.builds = Vec::new();
        self.without_details = true;
    }
}

/// A recording's late wakeups and their causes.
pub struct WhyReport<'a> {
    /// Where the recording is.
    pub recording: &'a Path,
    /// When it began, ns of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// What the flight recorder counted.
    pub recorder: Option<RecorderSummary>,
    /// The episodes, in order of time.
    pub episodes: Vec<EpisodeView>,
    /// Whether the recording or its episodes were cut short.
    pub cut: bool,
    /// How the recording's own end is told where it did not end in order and could say so: a full disk.
    pub failure: Option<String>,
    /// What could not be seen.
    pub blind: &'a [String],
    /// Causes over all episodes that are whole.
    pub(super) summary: Summary,
}

impl<'a> WhyReport<'a> {
    /// Sums up. What a recorder that was cut short counted last is made to agree with the episodes that stand there.
    pub fn new(
        recording: &'a Path,
        started_ns: u64,
        mut recorder: Option<RecorderSummary>,
        episodes: Vec<EpisodeView>,
        cut: bool,
        failure: Option<String>,
        blind: &'a [String],
    ) -> WhyReport<'a> {
        let cut = cut || failure.is_some();
        if let Some(recorder) = recorder.as_mut().filter(|_| cut) {
            let void = episodes.iter().filter(|episode| episode.void.is_some()).count();
            recorder.kept = recorder.kept.max(episodes.len() as u64);
            recorder.void = recorder.void.max(void as u64);
            let unkept = recorder.over_budget.saturating_add(recorder.writing_behind);
            recorder.late = recorder.late.max(recorder.kept.saturating_add(unkept));
        }
        let whole = episodes.iter().filter(|episode| episode.void.is_none());
        let summary = summarize(whole.map(|episode| (episode.id, &episode.split)));
        WhyReport { recording, started_ns, recorder, episodes, cut, failure, blind, summary }
    }

    /// Causes over all episodes that are whole, largest first.
    pub fn causes(&self) -> &[Cause] {
        &self.summary.causes
    }

    fn is_shown(&self, cause: &Cause) -> bool {
        let least = u128::from(self.summary.late_ns) * u128::from(SHOWN_THOUSANDTHS);
        u128::from(cause.total_ns) * 1_000 >= least || ALWAYS_SHOWN.contains(&cause.kind)
    }

    /// The causes that have a line of their own, largest first.
    pub(crate) fn shown_causes(&self) -> impl Iterator<Item = &Cause> {
        self.summary.causes.iter().filter(|cause| self.is_shown(cause))
    }

    /// What all others had, ns.
    pub(crate) fn rest_ns(&self) -> u64 {
        sum(self.summary.causes.iter().filter(|cause| !self.is_shown(cause)))
    }

    /// What each kind had in all, ns, largest first.
    pub(super) fn kinds(&self) -> Vec<(Kind, u64)> {
        let mut kinds: Vec<(Kind, u64)> = Kind::ALL.iter().map(|&kind| (kind, self.total_of(kind))).collect();
        kinds.retain(|(_, ns)| *ns > 0);
        kinds.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        kinds
    }

    pub(super) fn total_of(&self, kind: Kind) -> u64 {
        sum(self.summary.causes.iter().filter(|cause| cause.kind == kind))
    }

    /// A culprit's name with its control group, where that is not the root or is another one than a victim's.
    fn who(&self, name: &str, cgroup: Option<&str>, turn: Option<Turn>) -> String {
        let is_theirs = self.episodes.iter().all(|episode| episode.cgroup.as_deref() == cgroup);
        with_group(name, cgroup, turn, is_theirs)
    }

    fn whole(&self) -> usize {
        self.episodes.iter().filter(|episode| episode.void.is_none()).count()
    }

    /// Whether it is about how long threads took to sleep again, not about how late they began.
    fn of_responses(&self) -> bool {
        self.stage().holds_work()
    }

    fn stage(&self) -> Stage {
        self.recorder.as_ref().map_or(Stage::Total, |recorder| recorder.stage)
    }

    fn later(&self) -> &'static str {
        match self.stage() {
            Stage::Request => "from their waking until they waited for more work longer than",
            Stage::Response => "from their waking to their next sleep longer than",
            _ => "later than",
        }
    }

    fn threshold(&self) -> String {
        let Some(recorder) = &self.recorder else { return "the threshold".to_owned() };
        match recorder.threshold_ns {
            Some(ns) if recorder.threshold.starts_with('p') => format!("{} ({})", recorder.threshold, format_ns(ns)),
            Some(ns) => format_ns(ns),
            None => recorder.threshold.clone(),
        }
    }

    /// Episodes that the recorder kept and that are not in the recording any more.
    pub(super) fn missing(&self) -> u64 {
        let kept = self.recorder.as_ref().map_or(0, |recorder| recorder.kept);
        kept.saturating_sub(self.episodes.len() as u64)
    }

    /// The verdict where no wakeup is known to have been late.
    fn nothing_late(&self) -> String {
        let later = self.later();
        let counted_ns = self.recorder.as_ref().map_or(0, |recorder| recorder.armed_ns);
        let has_threshold = self.recorder.as_ref().is_none_or(|recorder| recorder.threshold_ns.is_some());
        match (self.cut, has_threshold) {
            (true, _) if counted_ns < MIN_COUNTED_NS => {
                "Cut short before anything was counted: whether a wakeup was late is not known.".to_owned()
            }
            (true, true) => format!(
                "Cut short. In the first {}, which is all that was counted, no wakeup was {later} {}.",
                format_ns(counted_ns),
                self.threshold()
            ),
            (cut, false) => format!(
                "{}There were too few wakeups to know {}: nothing was kept as late.",
                if cut { "Cut short. " } else { "" },
                self.threshold()
            ),
            (false, true) => format!("No wakeup was {later} {}: there is nothing to explain.", self.threshold()),
        }
    }

    /// The answer in a sentence or two.
    pub fn verdict(&self) -> String {
        let verdict = self.verdict_on_evidence();
        match &self.failure {
            Some(failure) => format!("{verdict} {failure}"),
            None => verdict,
        }
    }

    fn verdict_on_evidence(&self) -> String {
        let cut = if self.cut { "Cut short. " } else { "" };
        let late = self.recorder.as_ref().map_or(self.episodes.len() as u64, |recorder| recorder.late);
        let later = self.later();
        let of_lateness = if self.of_responses() { "" } else { " of lateness" };
        if late == 0 && self.episodes.is_empty() {
            return self.nothing_late();
        }
        let missing = self.missing();
        let were = if late == 1 { "wakeup was" } else { "wakeups were" };
        if missing > 0 && self.episodes.is_empty() {
            let kept = if missing == 1 { "one that was kept".to_owned() } else { format!("{missing} that were kept") };
            return format!(
                "{cut}{late} {were} {later} {}, and the evidence of the {kept} is gone from the recording: nothing can be \
                 concluded.",
                self.threshold()
            );
        }
        // What a thread does itself makes nobody late but itself: the cause is looked for elsewhere first.
        let kinds = self.kinds();
        let kind = kinds.iter().find(|(kind, _)| *kind != Kind::Own).or(kinds.first());
        let first = kind.and_then(|(kind, _)| self.summary.causes.iter().find(|cause| cause.kind == *kind));
        let (Some(&(kind, of_kind_ns)), Some(first)) = (kind, first) else {
            return format!(
                "{cut}{late} {were} {later} {}, and no evidence of {} is whole: nothing can be concluded.",
                self.threshold(),
                if late == 1 { "it" } else { "them" }
            );
        };
        // Many may share a kind, as the threads of a compiler do.
        let is_whole = first.total_ns >= of_kind_ns / 10 * 9;
        let many = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let mut verdict = format!(
            "{cut}{}, {later} {}: {} of the {}{of_lateness} was {}",
            many(self.whole() as u64, "wakeup"),
            self.threshold(),
            percent(if is_whole { first.total_ns } else { of_kind_ns }, self.summary.late_ns),
            format_ns(self.summary.late_ns),
            if is_whole {
                cause_words(kind, &self.who(&first.name, first.cgroup.as_deref(), first.turn))
            } else {
                format!("{}: most {}", kind.plural(), first.name)
            },
        );
        verdict.push_str(&beside(&first.name, first.detail.as_deref()));
        if !is_whole {
            let _ = write!(verdict, " with {}", percent(first.total_ns, self.summary.late_ns));
        }
        let own = match self.total_of(Kind::Own) {
            0 => String::new(),
            own => format!(" Their own work: {}.", percent(own, self.summary.late_ns)),
        };
        let _ = write!(
            verdict,
            ", in {}, at most {}.{own} Unknown: {}, out of sight: {}.",
            many(first.episodes, "episode"),
            format_ns(first.max_ns),
            percent(self.summary.unknown_ns, self.summary.late_ns),
            percent(self.total_of(Kind::Blind), self.summary.late_ns),
        );
        verdict.push_str(&self.left_out());
        verdict
    }

    /// Late wakeups of which the verdict says nothing, where there are any.
    fn left_out(&self) -> String {
        let void = self.episodes.len() - self.whole();
        let without = self.recorder.as_ref().map_or(0, |recorder| recorder.late.saturating_sub(recorder.kept));
        let parts = [(void as u64, "void"), (without, "without evidence"), (self.missing(), "gone from the recording")];
        let parts: Vec<String> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        if parts.is_empty() { String::new() } else { format!(" Left out: {}.", parts.join(", ")) }
    }
}

/// The longest path of a control group that stands whole beside a name, characters.
const MAX_PATH: usize = 40;

fn with_group(name: &str, cgroup: Option<&str>, turn: Option<Turn>, is_the_victims: bool) -> String {
    let turn = turn.filter(|turn| !is_the_victims && turn.weight != turn.waiting_weight);
    let path = cgroup.filter(|cgroup| *cgroup != "/").map(|cgroup| shortened(cgroup, MAX_PATH));
    let weights = turn.map(|Turn { weight, waiting_weight }| format!("weight {weight} against {waiting_weight}"));
    let words: Vec<String> = path.into_iter().chain(weights).collect();
    if words.is_empty() { name.to_owned() } else { format!("{name} [{}]", words.join(", ")) }
}

/// A cause in words.
pub(crate) fn cause_words(kind: Kind, name: &str) -> String {
    match (kind, name) {
        (Kind::Lock, HOLDER_NOT_SEEN) => "a lock whose holder was not seen".to_owned(),
        (Kind::Wait, ENDER_NOT_SEEN) => "waiting for a thread that was not seen".to_owned(),
        _ => format!("{} {name}", kind.words()),
    }
}

/// A detail in a column of its own: code is cut short, a sentence is not.
pub(super) fn as_detail(detail: &str) -> String {
    if sentence(detail).is_some() { detail.to_owned() } else { shortened(detail, MAX_CHARACTERS) }
}

/// What stands behind a cause's name: the code in brackets, or what became of whoever was waited for as a sentence.
fn beside(name: &str, detail: Option<&str>) -> String {
    match detail.filter(|detail| *detail != name) {
        Some(told) if sentence(told).is_some() => format!(": {told}"),
        Some(code) => format!(" ({})", shortened(code, MAX_CHARACTERS)),
        None => String::new(),
    }
}

/// Late time of causes, ns.
fn sum<'a>(causes: impl Iterator<Item = &'a Cause>) -> u64 {
    causes.fold(0, |sum, cause| sum.saturating_add(cause.total_ns))
}

/// A share to the tenth of a percent.
fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 / whole.max(1) as f64 * 100.0)
}

/// The report as text: the verdict, what is missing, causes, the latest episodes.
pub fn text(report: &WhyReport<'_>) -> String {
    let mut text = format!("{}\n", report.verdict());
    notes(&mut text, report);
    if !report.summary.causes.is_empty() {
        let _ = writeln!(text, "\n{}", cause_table(report));
    }
    let mut latest: Vec<&EpisodeView> = report.episodes.iter().filter(|episode| episode.void.is_none()).collect();
    latest.sort_by_key(|episode| std::cmp::Reverse(episode.total_ns));
    for episode in latest.iter().take(SHOWN_EPISODES) {
        let _ = writeln!(text, "\n{}", episode_text(report, episode, false));
    }
    if latest.len() > SHOWN_EPISODES {
        let _ = writeln!(text, "\n{} more episodes: --episode N shows one in full", latest.len() - SHOWN_EPISODES);
    }
    let _ = writeln!(text, "\nrecording: {}", report.recording.display());
    for advice in advice::leading(report) {
        let _ = writeln!(text, "next: {} {}", advice.happened, advice.remedy.unwrap_or_default());
    }
    text
}

fn notes(text: &mut String, report: &WhyReport<'_>) {
    for note in report.blind {
        let _ = writeln!(text, "note: not seen: {note}");
    }
    let untold = report.episodes.iter().filter(|episode| !episode.nesting_known).count();
    if untold > 0 {
        let _ = writeln!(
            text,
            "note: in {untold} episodes the kernel's count of nested interrupts was not read, or not rightly: interrupts and \
             softirqs are known by their beginnings and ends alone, and one whose end was missed seems to go on"
        );
    }
    let within = report.summary.unknown_ns.saturating_sub(report.total_of(Kind::Unknown));
    if within > 0 {
        let _ = writeln!(
            text,
            "note: {} of the time in {} is unknown as well, and counted so: who {} them, or what kept that one, was not seen",
            format_ns(within),
            if report.stage() == Stage::Request { "locks and waits" } else { "locks" },
            if report.stage() == Stage::Request { "held or ended" } else { "held" }
        );
    }
    let Some(recorder) = &report.recorder else { return };
    if report.missing() > 0 {
        let _ = writeln!(
            text,
            "note: the recorder kept {} episodes, and {} of them {} gone from the recording: what follows is of the rest",
            recorder.kept,
            report.missing(),
            if report.missing() == 1 { "is" } else { "are" }
        );
    }
    if recorder.over_budget > 0 {
        let _ = writeln!(
            text,
            "note: of {} late wakeups {} left no evidence, for the budget was spent: a higher --why threshold keeps \
             those that matter",
            recorder.late, recorder.over_budget
        );
    }
    if recorder.writing_behind > 0 {
        let _ = writeln!(
            text,
            "note: of {} late wakeups {} left no evidence, for it could not be written, or not as fast as it came: \
             a higher --why threshold keeps those that matter",
            recorder.late, recorder.writing_behind
        );
    }
    if recorder.without_end > 0 {
        let _ = writeln!(
            text,
            "note: {} requests had more waits than can be followed, and none that is known to be for more work: they are not in \
             this",
            recorder.without_end
        );
    }
    let mut reasons: Vec<&str> = report.episodes.iter().filter_map(|episode| episode.void.as_deref()).collect();
    let void = reasons.len();
    reasons.sort_unstable();
    reasons.dedup();
    if void > 0 {
        let are = if void == 1 { "episode is" } else { "episodes are" };
        let _ = writeln!(text, "note: {void} {are} void: {}", reasons.join("; "));
    }
    let _ = writeln!(text, "{}", crate::why::cost::recorder_lines(recorder, report.cut));
}

fn cause_table(report: &WhyReport<'_>) -> String {
    let late_ns = report.summary.late_ns;
    let mut rows: Vec<Vec<String>> = Vec::new();
    let row = |kind: &str, name: String, share: u64, cells: [String; 5]| {
        let mut row = vec![kind.to_owned(), name, percent(share, late_ns)];
        row.extend(cells);
        row
    };
    for cause in report.shown_causes() {
        let who = report.who(&cause.name, cause.cgroup.as_deref(), cause.turn);
        let name = format!("{who}{}", beside(&cause.name, cause.detail.as_deref()));
        rows.push(row(
            cause.kind.label(),
            name,
            cause.total_ns,
            [
                cause.episodes.to_string(),
                microseconds(Some(cause.typical_ns)),
                microseconds(Some(cause.max_ns)),
                microseconds(Some(cause.total_ns)),
                cause.example.to_string(),
            ],
        ));
    }
    let rest = report.rest_ns();
    let empty = || "-".to_owned();
    if rest > 0 {
        let cells = [empty(), empty(), empty(), microseconds(Some(rest)), empty()];
        rows.push(row("", "all others".to_owned(), rest, cells));
    }
    for kind in ALWAYS_SHOWN {
        if report.total_of(kind) == 0 {
            rows.push(row(
                kind.label(),
                "-".to_owned(),
                0,
                ["0".to_owned(), empty(), empty(), microseconds(Some(0)), empty()],
            ));
        }
    }
    table(&["kind", "name", "share", "episodes", "typical us", "longest us", "total us", "example"], 2..8, rows)
}

/// One episode as text; `whole` with every part, the chain and the whole call tree.
pub fn episode_text(report: &WhyReport<'_>, episode: &EpisodeView, whole: bool) -> String {
    let victim = &episode.victim;
    let mut text = format!(
        "Episode {}: {} (thread {}) on CPU {} {}, {:.6} s after the beginning",
        episode.id,
        victim.name,
        victim.tid,
        victim.cpu,
        match episode.stage {
            Stage::Response => format!("slept again {} us after it was due", microseconds(Some(episode.total_ns))),
            Stage::Request =>
                format!("waited for more work {} us after it was due", microseconds(Some(episode.total_ns))),
            _ => format!("ran {} us late", microseconds(Some(episode.total_ns))),
        },
        episode.expected_ns.saturating_sub(report.started_ns) as f64 / 1e9
    );
    if let Some(reason) = &episode.void {
        let _ = write!(text, "\nvoid: {reason}; what follows is as far as the evidence goes");
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut rest = 0;
    for part in &episode.split.parts {
        if !whole
            && part.ns.saturating_mul(100) < episode.total_ns
            && part.kind != Kind::Unknown
            && part.kind != Kind::Blind
        {
            rest += part.ns;
            continue;
        }
        let detail = part.detail.clone().filter(|detail| *detail != part.name).unwrap_or_default();
        let who = with_group(
            &part.name,
            part.cgroup.as_deref(),
            part.turn,
            episode.cgroup.as_deref() == part.cgroup.as_deref(),
        );
        let cells = [part.kind.label().to_owned(), who, as_detail(&detail)];
        let figures = [microseconds(Some(part.ns)), percent(part.ns, episode.total_ns)];
        rows.push(figures.into_iter().chain(cells).collect());
    }
    if rest > 0 {
        let cells = [microseconds(Some(rest)), percent(rest, episode.total_ns), String::new(), "all others".to_owned()];
        rows.push(cells.into_iter().chain([String::new()]).collect());
    }
    let _ = write!(text, "\n{}", table(&["us", "share", "kind", "name", "code"], 0..2, rows));
    if whole && episode.stage == Stage::Request {
        text.push_str(&super::waits::text(episode));
    }
    if whole && !episode.chain.is_empty() {
        text.push_str("\nwoken by:");
        for link in &episode.chain {
            let after = link.at_ns as i128 - i128::from(episode.expected_ns);
            let _ = write!(
                text,
                "\n  {} by {} {} on CPU {}, {:+.1} us from when it was due",
                link.woken,
                link.by,
                link.name,
                link.cpu,
                after as f64 / 1e3
            );
        }
    }
    for stack in episode.late_stacks.iter().take(if whole { usize::MAX } else { 1 }) {
        let shown = if whole { stack.len() } else { stack.len().min(6) };
        let _ = write!(text, "\nbelow a late timer interrupt: {}", stack[..shown].join(" < "));
    }
    if episode.tree.count() > 0 {
        let _ = write!(text, "\n{}", super::tree::text(&episode.tree, if whole { usize::MAX } else { 12 }));
        let _ = write!(text, "{:>6} samples in episode", episode.tree.count());
    }
    if whole {
        for (path, id) in &episode.builds {
            let _ = write!(text, "\nbuild {id} {path}");
        }
    }
    text
}

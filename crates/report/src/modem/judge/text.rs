//! The same as text for people.

use super::Judging;
use crate::layout::{counted, grouped, table};
use punctual_modem::judge::{Judged, LossRow, NoiseRow};
use punctual_recording::format_ns;
use std::fmt::Write as _;

/// What modems of several makes came to: the verdict first.
pub fn judge_text(judging: &Judging<'_>) -> String {
    let Judging { how, judged, .. } = judging;
    let line = &how.line;
    let echo = line.echo.map_or_else(|| "no echo".to_owned(), |echo| format!("echo {echo} dB below"));
    let law = if line.companding.is_some() { "companded" } else { "not companded" };
    let mut text = format!("{}\n\n", judging.verdict());
    let _ = writeln!(
        text,
        "line: {echo}, {law}; in virtual time, {} a ratio and a loss, {} each; seed {}",
        counted(how.calls, "call"),
        format_ns(u64::from(how.compared_ms) * 1_000_000),
        how.seed,
    );
    if judged.is_empty() {
        return text;
    }
    let _ = writeln!(text, "\n{}", modems(judged));
    text += "ns: processor time for a sample at the end that calls or sends, and at the one that answers or receives\n";
    let _ = writeln!(text, "\nwrong bits by noise below the signal, over 3,600 Hz\n{}", noise(judged));
    text += "*: not every call connected at its rate and lasted; -: none did\n";
    if !how.losses_us.is_empty() {
        let _ = writeln!(
            text,
            "\nfor how long the call was disturbed when the second end lost samples\n{}",
            losses(judging)
        );
        text += "*: an end trained again; lost: not as before within 12 s\n";
    }
    text
}

fn modems(judged: &[Judged]) -> String {
    let header = ["modem", "of", "bit/s", "ways", "no error from", "calls ns", "answers ns"];
    let rows = judged.iter().map(|judged| {
        let cost = |end: usize| {
            judged.cost.as_ref().map_or_else(|| "-".to_owned(), |cost| format!("{:.0}", cost.least_ns[end]))
        };
        vec![
            judged.name.clone(),
            judged.maker.to_owned(),
            grouped(judged.bits_per_second.into()),
            if judged.is_duplex { "both" } else { "one" }.to_owned(),
            judged.flawless_from().map_or_else(|| "-".to_owned(), |ratio| format!("{ratio} dB")),
            cost(0),
            cost(1),
        ]
    });
    table(&header, 2..7, rows)
}

/// A header with a column for each modem.
fn header<'a>(first: &'a str, judged: &'a [Judged]) -> Vec<&'a str> {
    [first].into_iter().chain(judged.iter().map(|judged| judged.name.as_str())).collect()
}

fn noise(judged: &[Judged]) -> String {
    let row_at = |judged: &'_ Judged, ratio: f64| judged.noise.iter().find(|row| row.signal_to_noise <= ratio).copied();
    let mut ratios: Vec<f64> = judged.iter().flat_map(|judged| &judged.noise).map(|row| row.signal_to_noise).collect();
    ratios.sort_by(|one, other| other.total_cmp(one));
    ratios.dedup();
    // From the last ratio on at which every modem is flawless.
    let is_dull =
        |ratio: &&f64| judged.iter().all(|judged| row_at(judged, **ratio).is_some_and(|row| row.is_flawless()));
    let dull = ratios.iter().take_while(is_dull).count();
    let rows = ratios[dull.saturating_sub(1)..].iter().map(|ratio| {
        let cell = |judged: &Judged| {
            judged.noise.iter().find(|row| row.signal_to_noise == *ratio).map_or_else(String::new, errors)
        };
        [format!("{ratio}")].into_iter().chain(judged.iter().map(cell)).collect()
    });
    table(&header("dB", judged), 0..judged.len() + 1, rows)
}

fn errors(row: &NoiseRow) -> String {
    let Some(rate) = row.error_rate() else { return "-".to_owned() };
    let star = if row.connected < row.calls || row.lasted < row.calls || row.slips > 0 { "*" } else { "" };
    if row.wrong == 0 { format!("0{star}") } else { format!("{rate:.1e}{star}") }
}

fn losses(judging: &Judging<'_>) -> String {
    let rows = judging.how.losses_us.iter().enumerate().map(|(place, length_us)| {
        let cell = |judged: &Judged| judged.losses.get(place).map_or_else(String::new, disturbed);
        let length = format_ns(u64::from(*length_us) * 1_000);
        [length].into_iter().chain(judging.judged.iter().map(cell)).collect()
    });
    table(&header("lost", judging.judged), 0..judging.judged.len() + 1, rows)
}

fn disturbed(row: &LossRow) -> String {
    let star = if row.retrained > 0 { "*" } else { "" };
    match row.disturbed_ms {
        _ if row.calls == 0 => "-".to_owned(),
        Some(ms) if row.recovered == row.calls => format!("{}{star}", format_ns(ms * 1_000_000)),
        Some(_) => format!("{} of {}{star}", row.recovered, row.calls),
        None => format!("lost{star}"),
    }
}

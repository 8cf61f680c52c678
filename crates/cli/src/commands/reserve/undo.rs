//! Restores threads that keep a reservation.

use super::applied;
use crate::output::{self, Output};
use punctual_kernel::other_thread::{Before, PutBack, put_back_all};
use punctual_report::reserve::{PutBackRow, UndoAnswer, undo_text};

pub(super) fn run(output: Output) -> anyhow::Result<u8> {
    let held = applied::hold_what_is_noted()?;
    let changed = if held.is_some() { applied::take()? } else { Vec::new() };
    let rows: Vec<PutBackRow> = changed.iter().zip(put_back_all(&changed)).map(row).collect();
    let restored: Vec<u32> = rows.iter().filter(|row| row.refused.is_none()).map(|row| row.tid).collect();
    if let Some(held) = &held {
        applied::forget(held, &restored)?;
    }
    drop(held);
    let code = u8::from(restored.len() < rows.len());
    if output.json {
        output::answer(UndoAnswer::new(&rows, code), 0);
    } else {
        output::print_text(&undo_text(&rows));
    }
    Ok(code)
}

fn row((before, happened): (&Before, PutBack)) -> PutBackRow {
    let (scheduling, refused) = match happened {
        PutBack::Done => (Some(before.scheduling.to_string()), None),
        PutBack::Gone => (None, None),
        PutBack::Refused(refused) => (None, Some(refused.to_string())),
    };
    PutBackRow { tid: before.tid, name: before.name.clone(), scheduling, refused }
}

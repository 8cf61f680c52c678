//! A file over two of the library's modems, through everything else of a call: dialling, frames, lost blocks, a late processor.

use punctual_modem::adapter::Stalls;
use punctual_modem::experiment::Experiment;
use punctual_modem::transfer::Transfer;
use punctual_spandsp::{Library, Resampled, V22bis};

/// Sends 2,000 bytes twice over V.22bis, with stalls of this length every 4 s.
fn sent(library: &'static Library, stall_ms: u64) -> Transfer {
    let stalls = Stalls::every(stall_ms * 1_000_000, 4_000_000_000);
    let experiment = Experiment { attempts: 2, stalls: (stall_ms > 0).then_some(stalls), ..Experiment::default() };
    let bytes: Vec<u8> = (0..2_000u32).map(|place| ((place * place) >> 3) as u8).collect();
    let end = |calls| V22bis::new(library, calls).map(Resampled::new);
    experiment.transfer_with(&bytes, &mut || Some([end(true)?, end(false)?]), &mut |_| true)
}

#[test]
fn a_file_arrives_over_somebody_elses_modem_whatever_is_lost() {
    let library = match Library::load() {
        Ok(library) => library,
        Err(missing) => return punctual_testing::skip("a file over spandsp's V.22bis", missing),
    };
    let mut arrived = 0;
    for stall_ms in [0, 5, 30, 120] {
        let transfer = sent(library, stall_ms);
        assert_eq!(transfer.attempts.len(), 2, "{stall_ms} ms");
        for attempt in &transfer.attempts {
            assert!(attempt.succeeded() && attempt.received == 2_000, "{stall_ms} ms: {attempt:?}");
            assert!([1_200, 2_400].contains(&attempt.bits_per_second), "{stall_ms} ms: {attempt:?}");
            let damaged = attempt.crc_errors + attempt.far_crc_errors;
            match stall_ms {
                0 | 5 => assert_eq!((attempt.underruns, damaged, attempt.retrains), (0, 0, 0), "{attempt:?}"),
                // Longer than slack and block together: each costs samples, and those frames.
                _ => assert!(attempt.stalls > 0 && attempt.underruns >= attempt.stalls && damaged > 0, "{attempt:?}"),
            }
            assert_eq!(attempt.overruns > 0, stall_ms == 120, "{attempt:?}");
            arrived += 1;
        }
    }
    assert_eq!(arrived, 8);
    // The same seeds give the same calls.
    assert_eq!(sent(library, 30).attempts, sent(library, 30).attempts);
}

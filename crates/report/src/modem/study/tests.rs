use super::*;
use punctual_modem::experiment::Experiment;
use punctual_modem::tables::{Published, setup};
use punctual_modem::transfer::{Attempt, Transfer};
use punctual_modem::virtual_time::FarEnd;

fn attempt(ending: Ending, seconds: u64) -> Attempt {
    let is_exact = ending == Ending::Arrived;
    Attempt {
        ending,
        is_exact,
        received: if is_exact { 200_000 } else { 10 },
        set_up_ns: 5_000_000_000,
        transfer_ns: is_exact.then_some(seconds * 1_000_000_000),
        bits_per_second: 9_600,
        retrains: 7,
        crc_errors: 2_000,
        far_crc_errors: 3,
        resent: 4,
        underruns: 500,
        underrun_samples: 40_000,
        overruns: 1,
        lost_samples: 450,
        stalls: 0,
    }
}

fn row(table: u8, name: &str, mean: Option<f64>, successes: u32, attempts: &[Attempt]) -> Row {
    Row {
        table,
        name: name.to_owned(),
        id: name.to_lowercase(),
        far_end: if table == 1 { FarEnd::Pool } else { FarEnd::Dedicated },
        published: Published { mean, successes, clean: 36.367, ..Published::default() },
        transfer: Transfer { bytes: 200_000, attempts: attempts.to_vec(), ..Transfer::default() },
        numbers: (1..=attempts.len() as u32).collect(),
    }
}

fn tables() -> Tables {
    let (arrived, slow, hung_up) =
        (attempt(Ending::Arrived, 100), attempt(Ending::Arrived, 250), attempt(Ending::HungUp, 0));
    Tables {
        experiment: Experiment { setup: setup(), attempts: 2, ..Experiment::default() },
        bytes: 200_000,
        clean: Some(arrived),
        rows: vec![
            row(1, "INT", Some(37.222), 10, &[arrived, arrived]),
            row(2, "RES 1ms/8ms", None, 0, &[hung_up, hung_up]),
            row(3, "RES 3ms/16ms", Some(36.5), 10, &[slow, hung_up]),
            row(3, "RES 8ms/20ms", Some(36.394), 10, &[arrived]),
        ],
    }
}

#[test]
fn the_tables_in_words_and_for_programs() {
    let tables = tables();
    let studied =
        Studied { tables: &tables, interrupted: true, kept: 1, directory: Some("my study"), options: "--attempts 2" };
    let text = text(&studied);
    assert!(text.starts_with("2 of 3 rows that are whole come out as in the paper"), "{text}");
    for part in [
        "otherwise: Table 3, RES 3ms/16ms: marginal here, sufficient in the paper",
        "missing: 1 attempt\n",
        "failed: RES 3ms/16ms: 1 hung up",
        "taken from my study: 1 call\n",
        "2.50",
        "next: `punctual modem study --attempts 2 -o 'my study'` continues with",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let value = crate::answer::value(&StudyAnswer::new(&studied));
    assert_eq!(
        (value["exit_code"].as_u64(), value["agreeing"].as_u64(), value["whole"].as_u64()),
        (Some(1), Some(2), Some(3))
    );
    assert_eq!(value["rows"][2]["times_clean"], 2.5);
    assert_eq!(
        (value["rows"][2]["attempts"][1]["number"].as_u64(), value["rows"][1]["paper"]["mean_s"].as_f64()),
        (Some(2), None)
    );
}

#[test]
fn a_study_that_is_whole_says_so_and_leads_on() {
    let mut tables = tables();
    tables.rows.truncate(2);
    let studied = Studied { tables: &tables, interrupted: false, kept: 0, directory: None, options: "" };
    assert!(studied.verdict().starts_with("2 of 2 rows come out as in the paper"), "{}", studied.verdict());
    assert_eq!((studied.exit_code(), studied.next().len()), (0, 1));
    let mut one = tables.clone();
    one.rows.truncate(1);
    let verdict = Studied { tables: &one, ..studied }.verdict();
    assert!(verdict.starts_with("1 of 1 row comes out as in the paper"), "{verdict}");
    let none = Tables { clean: None, ..tables.clone() };
    let studied = Studied { tables: &none, interrupted: true, ..studied };
    assert_eq!(studied.verdict(), "No row has all of its attempts; interrupted.");
    assert!(studied.next()[0].command.ends_with("-o DIRECTORY"), "{:?}", studied.next());
}

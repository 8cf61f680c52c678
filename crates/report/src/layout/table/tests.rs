use super::*;
use proptest::prelude::*;

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

fn at(width: usize, header: &[&str], numbers: Range<usize>, rows: &[&[&str]]) -> String {
    let text = Table::new(header, numbers, rows.iter().map(|cells| row(cells))).fitted(width);
    assert!(text.lines().all(|line| line.width() <= width), "{text}");
    text
}

#[test]
fn a_table_that_fits_stays_as_it_is() {
    let text = at(80, &["name", "us"], 1..2, &[&["a", "1.0"], &["longer", "12.0"]]);
    assert_eq!(text, "name      us\na        1.0\nlonger  12.0");
}

#[test]
fn words_wrap_before_numbers_are_touched() {
    let text = at(24, &["worst us", "what it was"], 0..1, &[&["123456.7", "a thread of the kernel"]]);
    assert_eq!(text, "worst us  what it was\n123456.7  a thread of\n          the kernel");
}

#[test]
fn sentences_stand_below_their_row() {
    let rows: &[&[&str]] = &[&["audio", "5.33 ms", "12.5 ms", "cannot tell yet: nothing was seen in this time"]];
    let text = at(40, &["device", "period", "slack", "verdict"], 1..3, rows);
    let expected = "device   period    slack\naudio   5.33 ms  12.5 ms\n      verdict: cannot tell yet: nothing\n      was seen in this time";
    assert_eq!(text, expected);
    // What has no heading has none there either, and nothing stands below a row without a sentence.
    let rows: &[&[&str]] =
        &[&["audio", "5.33 ms", "12.5 ms", "nothing was seen in this time"], &["modem", "1 ms", "2 ms", ""]];
    let text = at(40, &["device", "period", "slack", ""], 1..3, rows);
    assert_eq!(
        text,
        "device   period    slack\naudio   5.33 ms  12.5 ms\n      nothing was seen in this time\nmodem      1 ms     2 ms"
    );
}

/// How often requests were slow on two sides.
#[test]
fn long_cells_of_words_stay_in_one_table() {
    let cells = [
        "requests slower than 20.0 ms",
        "at most 8.17 % (531 to 551 of 6,744 in 90.1 s)",
        "at most 2.01 % (161 to 178 of 8,837 in 90.1 s)",
        "no difference (0.25 times the share, 0.006 to 10.3)",
    ];
    let text = at(80, &["", "A", "B", "B is"], 0..0, &[&cells]);
    assert!(!text.contains("\n\n") && text.contains("no difference (0.25 times the share, 0.006 to 10.3)"), "{text}");
    let text = at(80, &["", "A", "B", "B is"], 1..3, &[&cells]);
    assert_eq!(text.matches("\n\n").count(), 2, "{text}");
}

#[test]
fn cells_keep_a_number_with_its_unit_and_a_reservation_with_its_times() {
    let text = at(20, &["context", "kept"], 2..2, &[&["reservation:218us/640us", "up to 1.28 ms late"]]);
    for whole in ["218us/", "640us", "1.28 ms"] {
        assert!(text.contains(whole), "{whole}: {text}");
    }
    let lines = |cell: &str, width: usize| cell_lines(cell, width);
    assert_eq!(lines("reservation:218us/640us", 22), ["reservation:218us/", "640us"]);
    assert_eq!(lines("reservation:218us/640us", 14), ["reservation:", "218us/640us"]);
    assert_eq!(lines("in every 16.0 ms of it", 13), ["in every", "16.0 ms of it"]);
    // What is no place for a cut is cut where the line ends, and so is a word whose only such place comes too early.
    assert_eq!(lines("aaaaaaaa", 3), ["aaa", "aaa", "aa"]);
    assert_eq!(lines("/aaaaaaaa", 5), ["/aaaa", "aaaa"]);
}

#[test]
fn many_numbers_come_in_parts_with_the_same_first_column() {
    let header = ["stage", "one", "two", "three", "four"];
    let rows: &[&[&str]] = &[&["irq", "111111.1", "222222.2", "333333.3", "444444.4"]];
    let text = at(26, &header, 1..5, rows);
    assert_eq!(
        text,
        "stage       one       two\nirq    111111.1  222222.2\n\nstage     three      four\nirq    333333.3  444444.4"
    );
}

#[test]
fn every_block_repeats_what_names_its_rows() {
    let header = ["threads", "stage", "p50", "p99", "max us"];
    let rows: &[&[&str]] = &[
        &["client", "irq", "111111.1", "222222.2", "333333.3"],
        &["client", "wake", "1.1", "2.2", "3.3"],
        &["server", "irq", "1.1", "2.2", "3.3"],
    ];
    assert_eq!(
        at(34, &header, 2..5, rows),
        "threads  stage       p50       p99\nclient   irq    111111.1  222222.2\nclient   wake        1.1       2.2\n\
         server   irq         1.1       2.2\n\n\
         threads  stage    max us\nclient   irq    333333.3\nclient   wake        3.3\nserver   irq         3.3"
    );
    // What is the same in all rows names none.
    assert_eq!(
        at(34, &header, 2..5, &rows[..2]),
        "threads  stage       p50       p99\nclient   irq    111111.1  222222.2\nclient   wake        1.1       2.2\n\n\
         stage    max us\nirq    333333.3\nwake        3.3"
    );
}

#[test]
fn rows_that_only_figures_tell_apart_are_numbered() {
    let rows: &[&[&str]] =
        &[&["irq", "111111.1", "222222.2", "333333.3"], &["irq", "111111.2", "222222.2", "333333.3"]];
    assert_eq!(
        at(24, &["kind", "one", "two", "three"], 1..4, rows),
        "#  kind       one\n1  irq   111111.1\n2  irq   111111.2\n\n\
         #       two     three\n1  222222.2  333333.3\n2  222222.2  333333.3"
    );
}

#[test]
fn no_block_is_made_for_nothing() {
    let header = ["name", "one", "two", "code", "nothing"];
    let rows: &[&[&str]] = &[&["a", "111111.1", "222222.2", "", ""], &["b", "1.1", "2.2", "in_a_function_of_its", ""]];
    assert_eq!(
        at(26, &header, 1..3, rows),
        "name       one       two\na     111111.1  222222.2\nb          1.1       2.2\n\n\
         name  code\nb     in_a_function_of_its"
    );
}

fn tables() -> impl Strategy<Value = (Vec<String>, usize, Vec<Vec<String>>)> {
    let cell = prop_oneof![
        3 => "[ab]",
        2 => "[ab]{1,3} [cd]{1,12}",
        1 => "[ab]{20,90}",
        1 => "[0-9]{1,9}\\.[0-9]",
        1 => Just(String::new()),
    ];
    (2..9usize).prop_flat_map(move |columns| {
        (
            prop::collection::vec("[a-z]{1,9}( [a-z]{1,9})?", columns),
            0..columns,
            prop::collection::vec(prop::collection::vec(cell.clone(), columns), 1..10),
        )
    })
}

proptest! {
    #[test]
    fn rows_can_be_told_apart_in_every_block((header, numbers, rows) in tables(), width in 38..130usize) {
        let names: Vec<&str> = header.iter().map(String::as_str).collect();
        let table = Table::new(&names, numbers..header.len(), rows);
        for line in table.fitted(width).lines().chain(table.parts(width).lines()) {
            prop_assert!(line.width() <= width, "{} of {width}: {line}", line.width());
        }
        let (table, keys) = match table.keys(width) {
            Some(keys) => (table, keys),
            None => (table.numbered(), vec![0]),
        };
        let blocks = table.blocks(&keys, width);
        for block in &blocks {
            let seen = |row: usize| block.columns.iter().map(|index| &table.rows[row][*index]).collect::<Vec<_>>();
            for (place, one) in block.rows.iter().enumerate() {
                for other in &block.rows[place + 1..] {
                    let are_same = table.rows[*one] == table.rows[*other];
                    prop_assert!(are_same || seen(*one) != seen(*other), "rows {one} and {other} of {block:?}");
                }
            }
        }
        // Nothing is lost.
        for (row, cells) in table.rows.iter().enumerate().skip(1) {
            for (column, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
                let holds = |block: &Block| block.columns.contains(&column) && block.rows.contains(&row);
                prop_assert!(blocks.iter().any(holds), "{cell} of row {row} and column {column}: {blocks:?}");
            }
        }
    }
}

use super::*;
use proptest::prelude::*;

fn said(interpreter: &mut Interpreter, typed: &str) -> String {
    interpreter.input(typed.as_bytes(), 0);
    String::from_utf8(interpreter.output()).unwrap().replace("\r\n", "|").replace('\r', "!")
}

#[test]
fn commands_and_their_results() {
    let mut at = Interpreter::default();
    let cases = [
        ("AT\r", "AT!|OK|"),
        ("ate0\r", "ate0!|OK|"),
        ("AT S7?\r", "|060||OK|"),
        ("ATS7=30S7?\r", "|030||OK|"),
        ("A/", "|030||OK|"),
        ("ATS99=1\r", "|ERROR|"),
        ("ATS0=256\r", "|ERROR|"),
        ("ATE999\r", "|ERROR|"),
        ("AT&F\r", "|OK|"),
        ("ATX!\r", "ATX!!|ERROR|"),
        ("hello\r", "hello!"),
        ("ATEV0\r", "ATEV0!0!"),
        ("ATQ1\r", ""),
        ("ATQ0\r", "0!"),
        ("ATZ\r", "|OK|"),
        ("ATD\r", "ATD!|ERROR|"),
        ("ATO\r", "ATO!|ERROR|"),
        // What chat scripts and terminal programs begin with.
        ("ATE0&FE0V1X4M1L1Q0&C1&D2&K3S0=0\r", "ATE0&FE0V1X4M1L1Q0&C1&D2&K3S0=0!|OK|"),
        ("AT&K9\r", "|ERROR|"),
        ("AT&W\r", "|OK|"),
        ("AT&W1\r", "|ERROR|"),
        ("ATE1\r", "|OK|"),
        ("AX\u{8}T\r", "AX\u{8}T!|OK|"),
    ];
    for (typed, shown) in cases {
        assert_eq!(said(&mut at, typed), shown, "{typed}");
    }
}

#[test]
fn what_is_kept_comes_back_and_is_shown() {
    let mut at = Interpreter::default();
    assert_eq!(said(&mut at, "ATE0S0=3&W\r"), "ATE0S0=3&W!|OK|");
    assert_eq!(said(&mut at, "AT&FE0S0?\r"), "|000||OK|");
    assert_eq!(said(&mut at, "ATZS0?\r"), "|003||OK|");
    assert_eq!(
        said(&mut at, "AT&V\r"),
        "|E0 Q0 V1 X4 &D2 &K3 \\N3|S00:003 S01:000 S02:043 S03:013 S04:010 S05:008 S06:000 S07:060 S08:000 S09:000 \
         S10:000 S11:000 S12:050||OK|"
    );
    // What programs ask a modem first.
    assert_eq!(said(&mut at, "ATQ0V1E0S0=0&C1&D2+FCLASS=0\r"), "|OK|");
    assert_eq!(said(&mut at, "AT+FCLASS=?;+GMI\r"), "|0||punctual||OK|");
    assert_eq!(said(&mut at, "AT+FCLASS=1\r"), "|ERROR|");
}

#[test]
fn there_are_as_many_results_as_were_asked_for() {
    for (level, connected, busy) in
        [(0, "|CONNECT|", "|NO CARRIER|"), (1, "|CONNECT 9600|", "|NO CARRIER|"), (3, "|CONNECT 9600|", "|BUSY|")]
    {
        let mut at = Interpreter::default();
        said(&mut at, &format!("ATE0X{level}DT5\r"));
        at.event(Event::Connected(9_600));
        assert_eq!(said(&mut at, ""), connected);
        at.event(Event::NoCarrier);
        assert_eq!(said(&mut at, "ATDT5\r"), "|NO CARRIER|");
        at.event(Event::Busy);
        assert_eq!(said(&mut at, ""), busy);
    }
    // As numbers; and who goes back online is told at which rate.
    let mut at = Interpreter::default();
    said(&mut at, "ATE0V0DT5\r");
    at.event(Event::Connected(14_400));
    assert_eq!(said(&mut at, ""), "13!");
    at.input(b"+++", 10_000);
    at.tick(11_000);
    assert_eq!(said(&mut at, "ATO\r"), "0!13!");
}

#[test]
fn the_last_number_is_dialled_again_and_registers_count_rings_and_name_keys() {
    let mut at = Interpreter::default();
    assert_eq!(said(&mut at, "ATE0DL\r"), "ATE0DL!|ERROR|");
    said(&mut at, "ATDT W 555,0100\r");
    at.event(Event::NoCarrier);
    said(&mut at, "ATDL\r");
    let dialled = Action::Dial("5550100".to_owned());
    assert_eq!(at.actions(), [dialled.clone(), dialled]);
    let mut at = Interpreter::default();
    at.event(Event::Ring);
    at.event(Event::Ring);
    assert_eq!(said(&mut at, "ATE0S1?\r"), "|RING||RING|ATE0S1?!|002||OK|");
    assert_eq!(said(&mut at, "ATS3=200\r"), "|ERROR|");
    said(&mut at, "ATS3=59\r");
    at.input(b"AT;", 0);
    assert_eq!(at.output(), b";\nOK;\n");
}

#[test]
fn a_call_from_dialling_to_hanging_up() {
    let mut at = Interpreter::default();
    said(&mut at, "ATE0DT 555-0100\r");
    assert_eq!(at.actions(), [Action::Dial("5550100".to_owned())]);
    at.event(Event::Connected(9_600));
    at.input(b"ATH\r", 100);
    assert_eq!(at.actions(), [Action::Send(b"ATH\r".to_vec())], "online, commands are data");
    // Pluses in the middle of data escape nothing, nor do four.
    at.input(b"a+++", 2_000);
    at.tick(9_000);
    at.input(b"++++", 11_000);
    at.tick(20_000);
    assert!(at.is_online());
    for time in [30_000, 30_100, 30_200] {
        at.input(b"+", time);
    }
    at.tick(31_100);
    assert!(at.is_online(), "the guard time is not over");
    at.tick(31_200);
    assert!(!at.is_online());
    at.actions();
    assert!(said(&mut at, "ATO\r").is_empty() || at.is_online());
    at.input(b"+++", 90_000);
    at.tick(91_000);
    at.actions();
    said(&mut at, "ATH\r");
    assert_eq!(at.actions(), [Action::HangUp]);
    at.event(Event::NoCarrier);
    assert!(at.output().is_empty(), "it was hung up here");
}

#[test]
fn what_happens_when_the_program_closes_the_terminal_is_set_by_and_d() {
    for (command, actions, online) in [
        ("AT&D0\r", vec![], true),
        ("AT&D1\r", vec![], false),
        ("AT\r", vec![Action::HangUp], false),
        ("AT&D3\r", vec![Action::HangUp], false),
    ] {
        let mut at = Interpreter::default();
        said(&mut at, command);
        said(&mut at, "ATS7=9DT5\r");
        at.event(Event::Connected(9_600));
        at.actions();
        at.show(b"unread");
        at.closed();
        assert_eq!((at.actions(), at.is_online(), at.output().len()), (actions, online, 0), "{command}");
        assert_eq!(at.patience_s(), if command == "AT&D3\r" { 60 } else { 9 });
    }
}

#[test]
fn xoff_of_the_terminal_stops_what_is_shown_and_is_not_sent() {
    let mut at = Interpreter::default();
    said(&mut at, "AT&K4DT5\r");
    at.event(Event::Connected(9_600));
    at.output();
    at.actions();
    at.input(&[b'a', XOFF, b'b'], 10);
    assert_eq!((at.is_stopped(), at.actions()), (true, vec![Action::Send(b"ab".to_vec())]));
    at.input(&[XON], 20);
    assert_eq!((at.is_stopped(), at.actions()), (false, vec![]));
    // Without it both are bytes like others.
    let mut at = Interpreter::default();
    said(&mut at, "ATDT5\r");
    at.event(Event::Connected(9_600));
    at.actions();
    at.input(&[XOFF], 10);
    assert_eq!((at.is_stopped(), at.actions()), (false, vec![Action::Send(vec![XOFF])]));
}

#[test]
fn it_answers_by_itself_after_so_many_rings() {
    let mut at = Interpreter::default();
    at.event(Event::Ring);
    assert!(at.actions().is_empty());
    at.event(Event::NoCarrier);
    said(&mut at, "ATS0=2\r");
    at.event(Event::Ring);
    assert!(at.actions().is_empty());
    at.event(Event::Ring);
    assert_eq!(at.actions(), [Action::Answer]);
    assert!(said(&mut at, "x").contains("NO CARRIER"), "a key gives the call up");
    assert_eq!(at.actions(), [Action::HangUp]);
}

proptest! {
    #[test]
    fn any_bytes_are_taken(parts in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..40), 0..9u8), 0..40)) {
        let mut at = Interpreter::default();
        for (place, (bytes, event)) in parts.into_iter().enumerate() {
            let now = place as u64 * 400;
            at.input(b"AT", now);
            at.input(&bytes, now);
            at.input(b"\r", now);
            at.tick(now);
            match event {
                0 => at.event(Event::Ring),
                1 => at.event(Event::Connected(4_800)),
                2 => at.event(Event::NoCarrier),
                3 => at.event(Event::NoAnswer),
                4 => at.event(Event::Busy),
                5 => at.closed(),
                _ => {}
            }
            let dialled = at.actions().into_iter().all(|action| match action {
                Action::Dial(number) => tones::is_number(&number),
                _ => true,
            });
            prop_assert!(dialled);
        }
    }
}

use super::*;
use proptest::prelude::*;
use punctual_recording::START;

/// An input at this time: when it was seen, which one it was taken with, when the next one came.
fn input(number: u32, begin_ns: u64, seen_ns: Option<u64>, end_ns: u64) -> Interaction {
    Interaction {
        number,
        kind: if number == 0 { START } else { "key" }.to_owned(),
        begin_ns,
        seen_ns,
        end_ns,
        ..Interaction::default()
    }
}

#[test]
fn both_are_side_by_side_from_the_first_input_on() {
    let mut inputs = vec![
        input(0, 10, Some(90), 100),
        // Queued and at work for 30, asleep on a timer until 160.
        input(1, 100, Some(160), 200),
        // Taken together with the next one.
        input(2, 200, None, 220),
        input(3, 220, Some(260), 300),
        // Nobody knows what the machine said.
        input(4, 300, Some(310), 400),
        input(5, 400, None, 450),
    ];
    inputs[2].merged_into = Some(3);
    inputs[5].outcome = Some(Outcome::Unfinished);
    let said = BTreeMap::from([
        (1, vec![(100, 130), (155, 170)]),
        (2, vec![(200, 220)]),
        (3, vec![(220, 250)]),
        (5, vec![(400, 400)]),
    ]);
    let found = OverTime::of(&inputs, &said).unwrap();
    let expected = OverTime {
        from_ns: 100,
        to_ns: 450,
        until_seen: vec![(100, 160), (200, 260), (300, 310), (400, 450)],
        machine: vec![(100, 130), (155, 170), (200, 250)],
        not_known: vec![(300, 400)],
    };
    assert_eq!(found, expected);
    let told = Agreement {
        both_wait_ns: 30 + 5 + 50,
        only_until_seen_ns: 25 + 10 + 50,
        only_machine_1996_ns: 10,
        both_think_ns: 30 + 40,
        not_known_ns: 100,
    };
    assert_eq!(found.agreement(), told);
    let [seen, machine] = found.states();
    assert_eq!((seen.0, seen.2), ("until seen", vec![(160, 200), (260, 300), (310, 400)]));
    assert_eq!(machine.2, [(130, 155), (170, 200), (250, 300), (400, 450)]);
    // A recording of which nothing is known, and one without inputs.
    assert_eq!(OverTime::of(&inputs, &BTreeMap::new()), None);
    assert_eq!(OverTime::of(&inputs[..1], &said), None);
}

proptest! {
    /// Every nanosecond is told once, as a count nanosecond by nanosecond says.
    #[test]
    fn all_time_is_told_once(
        typed in prop::collection::vec((1..20u64, prop::option::of(0..30u64), any::<bool>()), 1..20),
        stretches in prop::collection::vec((0..20usize, 0..25u64, 0..12u64), 0..40),
    ) {
        let (mut inputs, mut at) = (Vec::new(), 50);
        for (number, (pause, seen, _)) in (1..).zip(&typed) {
            inputs.push(input(number, at, seen.map(|seen| at + seen), at + pause));
            at += pause;
        }
        let mut said: BTreeMap<u32, Stretches> = BTreeMap::new();
        for ((number, one), (.., is_known)) in (1..).zip(&inputs).zip(&typed) {
            if *is_known {
                let own = stretches.iter().filter(|(of, ..)| *of as u32 + 1 == number);
                let own: Stretches = own.map(|(_, after, lasts)| (one.begin_ns + after, one.begin_ns + after + lasts)).collect();
                said.insert(number, if own.is_empty() { vec![(one.begin_ns, one.begin_ns)] } else { own });
            }
        }
        let Some(found) = OverTime::of(&inputs, &said) else { return Ok(()) };
        let Agreement { both_wait_ns, only_until_seen_ns, only_machine_1996_ns, both_think_ns, not_known_ns } = found.agreement();
        let told = [both_wait_ns, only_until_seen_ns, only_machine_1996_ns, both_think_ns, not_known_ns];
        prop_assert_eq!(told.iter().sum::<u64>(), found.to_ns - found.from_ns);
        let is_in = |stretches: &[(u64, u64)], at: u64| stretches.iter().any(|(begin, end)| (*begin..*end).contains(&at));
        let mut counted = [0; 5];
        for at in found.from_ns..found.to_ns {
            let place = match (is_in(&found.not_known, at), is_in(&found.until_seen, at), is_in(&found.machine, at)) {
                (true, ..) => 4,
                (_, true, true) => 0,
                (_, true, false) => 1,
                (_, false, true) => 2,
                (_, false, false) => 3,
            };
            counted[place] += 1;
            let is_seen = inputs.iter().any(|one| one.seen_ns.is_some_and(|seen| (one.begin_ns..seen).contains(&at)));
            prop_assert_eq!(is_in(&found.until_seen, at), is_seen);
        }
        prop_assert_eq!(told, counted);
    }
}

//! What Rialto/NT promises, for random reservations and constraints.

use proptest::prelude::*;
use punctual_random::Random;
use punctual_rialto::{
    Constraints, Form, MAX_SLOTS, Plan, PlanError, Received, SERVED_NS, SLOT_NS, Share, received, received_in,
};

fn share(budget: u64, period: u64, form: Form) -> Share {
    Share { budget_ns: budget * SLOT_NS, period_ns: period * SLOT_NS, form }
}

/// When a reservation has its slots, for this many periods of the plan.
fn runs(plan: &Plan, owner: u8, slots: u64) -> Vec<(u64, u64)> {
    let own = (0..slots).filter(|slot| plan.owner_of(*slot) == owner);
    own.map(|slot| (slot * SLOT_NS, (slot + 1) * SLOT_NS)).collect()
}

fn powers() -> impl Strategy<Value = Vec<Share>> {
    let one = (0u32..7).prop_flat_map(|power| (1..=1u64 << power, Just(1u64 << power)));
    prop::collection::vec(one.prop_map(|(budget, period)| share(budget, period, Form::Competing)), 1..=4)
}

fn any() -> impl Strategy<Value = Vec<Share>> {
    let one = (1u64..40).prop_flat_map(|period| (1..=period, Just(period)));
    prop::collection::vec(one.prop_map(|(budget, period)| share(budget, period, Form::Hard)), 1..=4)
}

/// Each gets its budget in every window of its period, wherever it begins.
fn hold(plan: &Plan, shares: &[Share]) -> Result<(), TestCaseError> {
    for (index, share) in shares.iter().enumerate() {
        let runs = runs(plan, index as u8 + 1, 2 * MAX_SLOTS);
        if share.budget_ns < share.period_ns {
            let found = received(&runs, share.period_ns).expect("many periods");
            prop_assert_eq!((found.least_ns, found.most_ns), (share.budget_ns, share.budget_ns), "{:?}", share);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn harmonic_reservations_are_granted_exactly_where_they_fit(shares in powers()) {
        // In 64ths of the CPU: whole numbers.
        let asked: u64 = shares.iter().map(|share| share.budget_ns * 64 / share.period_ns).sum();
        match Plan::new(&shares) {
            Ok(plan) => {
                prop_assert!(asked <= 64);
                hold(&plan, &shares)?;
            }
            Err(error) => {
                prop_assert!(asked > 64, "{error:?}");
                prop_assert!(matches!(error, PlanError::Full(_)), "{error:?}");
            }
        }
    }

    #[test]
    fn others_keep_their_promise_or_are_refused(shares in any()) {
        if let Ok(plan) = Plan::new(&shares) {
            hold(&plan, &shares)?;
        }
    }

    #[test]
    fn edges_are_where_the_owner_changes(shares in any(), at in 0u64..10_000_000_000) {
        let Ok(plan) = Plan::new(&shares) else { return Ok(()) };
        match plan.next_edge(at) {
            Some(edge) => {
                prop_assert!(edge > at);
                prop_assert_ne!(plan.owner_at(edge), plan.owner_at(at));
                prop_assert_eq!(plan.owner_at(edge - 1), plan.owner_at(at));
            }
            None => prop_assert!((0..MAX_SLOTS).all(|slot| plan.owner_of(slot) == plan.owner_at(at))),
        }
    }
}

#[test]
fn of_a_thousand_constraints_each_granted_one_is_met_and_each_refused_one_could_not_be() {
    let plan = Plan::new(&[share(2, 8, Form::Competing), share(3, 16, Form::Competing)]).unwrap();
    let mut random = Random(2026);
    let mut constraints = Constraints::default();
    let (mut granted, mut refused, mut now) = (Vec::new(), 0, 0);
    let mut slots: Vec<Option<u32>> = Vec::new();
    for _ in 0..1_000 {
        now += random.below(12_000_000);
        // The time up to now is over: what was given then is kept.
        while (slots.len() as u64 + 1) * SLOT_NS <= now {
            slots.push(constraints.owner_of(slots.len() as u64));
        }
        let (deadline, estimate) = (now + random.between(1, 60_000_000), random.between(1, 20_000_000));
        let free = (now.div_ceil(SLOT_NS)..deadline / SLOT_NS)
            .filter(|slot| plan.owner_of(*slot) == 0 && constraints.owner_of(*slot).is_none())
            .count() as u64;
        match constraints.admit(&plan, now, deadline, estimate) {
            Ok(number) => granted.push((number, now, deadline, estimate)),
            Err(_) => {
                refused += 1;
                assert!(free * SERVED_NS < estimate, "{free} slots were free for {estimate} ns");
            }
        }
    }
    let end = slots.len() as u64 + 100;
    slots.extend((slots.len() as u64..end).map(|slot| constraints.owner_of(slot)));
    for &(number, from, deadline, estimate) in &granted {
        let own = slots.iter().enumerate().filter(|(_, owner)| **owner == Some(number)).map(|(slot, _)| slot as u64);
        let inside = own.filter(|slot| slot * SLOT_NS >= from && (slot + 1) * SLOT_NS <= deadline);
        assert!(inside.count() as u64 * SERVED_NS >= estimate, "constraint {number}");
    }
    let stolen = slots.iter().enumerate().filter(|(slot, owner)| owner.is_some() && plan.owner_of(*slot as u64) != 0);
    assert_eq!(stolen.count(), 0, "slots of reservations were given away");
    assert!(granted.len() > 100 && refused > 100, "{} granted, {refused} refused", granted.len());
    eprintln!("{} granted, {refused} refused", granted.len());
}

#[test]
fn what_no_clock_of_a_millisecond_gives_is_refused() {
    let competing = |budget, period| Plan::new(&[share(budget, period, Form::Competing)]);
    assert_eq!(competing(2, 13), Err(PlanError::NotPowerOfTwo));
    assert_eq!(competing(0, 8), Err(PlanError::NotWhole));
    assert_eq!(competing(9, 8), Err(PlanError::NotWhole));
    assert_eq!(competing(1, 8_192), Err(PlanError::TooLong));
    let fine = Share { budget_ns: 800_000, period_ns: 5_000_000, form: Form::Hard };
    assert_eq!(Plan::new(&[fine]), Err(PlanError::NotWhole));
    assert_eq!(Plan::new(&[share(1, 8, Form::Hard); 5]), Err(PlanError::TooMany));
    let primes = [37, 31, 29].map(|period| share(1, period, Form::Hard));
    assert_eq!(Plan::new(&primes), Err(PlanError::TooLong));
    assert_eq!(Plan::new(&[share(5, 8, Form::Hard), share(4, 8, Form::Hard)]), Err(PlanError::Full(2)));
    // The rows of Table 3.
    for (budget, period) in
        [(1, 7), (1, 8), (2, 13), (2, 14), (2, 15), (3, 15), (3, 16), (3, 17), (4, 16), (4, 17), (7, 20), (8, 20)]
    {
        Plan::new(&[share(budget, period, Form::Hard)]).unwrap();
    }
}

#[test]
fn windows_are_those_that_hold_least_and_most() {
    let runs = [(0, 2), (8, 10), (17, 19), (24, 26), (40, 42)];
    // Nothing came from 26 to 40; 8 to 10 and 17 to 19 are further apart than a window.
    assert_eq!(received(&runs, 8), Some(Received { least_ns: 0, most_ns: 3, mean_ns: 1 }));
    assert_eq!(received(&runs[..1], 8), None);
    assert_eq!(received(&[], 8), None);
    // Between stretches nothing is missed.
    let stretches = [vec![(0, 2), (8, 10), (16, 18)], vec![(100, 102), (108, 110), (116, 119)], vec![(200, 201)]];
    assert_eq!(received_in(&stretches, 8), Some(Received { least_ns: 2, most_ns: 3, mean_ns: 2 }));
    assert_eq!(received(&[(0, 10), (10, 30)], 8), Some(Received { least_ns: 8, most_ns: 8, mean_ns: 8 }));
}

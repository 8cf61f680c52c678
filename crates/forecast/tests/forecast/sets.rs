//! Random task sets against a simulation of Linux's rules: no set that is called schedulable is late in any schedule
//! that is played. The whole benchmark is `cargo bench --profile dev -p punctual-forecast --bench sets`.

#[path = "../../benches/sets/classes.rs"]
mod classes;
#[path = "../../benches/sets/linux.rs"]
mod linux;
#[path = "../../benches/sets/schedules.rs"]
mod schedules;

use classes::CLASSES;
use punctual_forecast::schedulability::Standing;
use punctual_random::Random;
use schedules::one;

/// Sets of each class.
const SETS: u64 = 25;

#[test]
fn no_schedulable_set_is_late_under_the_rules_of_linux() {
    let (mut schedulable, mut late, mut global) = (0, 0, 0);
    for (number, class) in CLASSES.iter().enumerate() {
        let mut random = Random(1_000 + number as u64);
        for set in 0..SETS {
            let found = one(class, &mut random);
            late += u64::from(found.misses);
            global += u64::from(found.tests.is_some_and(|tests| tests.contains(&true)));
            if found.standing == Standing::Schedulable {
                schedulable += 1;
                assert!(!found.misses, "{}, set {set}", class.name);
            }
        }
    }
    eprintln!(
        "{} sets, {schedulable} schedulable, {late} late, {global} pass a test for global EDF",
        CLASSES.len() as u64 * SETS
    );
    // Both must come, or nothing was tried.
    assert!(
        schedulable >= 100 && late >= 100 && global >= 3,
        "{schedulable} schedulable, {late} late, {global} global"
    );
}

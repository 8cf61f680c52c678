use super::*;
use punctual_modem::apart::Remote;
use punctual_modem::office::Office;
use punctual_modem::telephone::Telephone;
use punctual_random::Random;

fn plan(work: Work) -> ApartPlan {
    ApartPlan { telephone: Telephone::default(), seed: 5, work, duration: None }
}

fn send(bytes: &[u8]) -> Work {
    Work::Send { file: "sent".into(), bytes: bytes.to_vec() }
}

fn receive(max: usize) -> Work {
    Work::Receive { file: "came".into(), max }
}

/// The two ends at an exchange until both are over, for so many blocks at most: what came of each.
fn run(works: [Work; 2], blocks: u32) -> [(FileRun, Option<Vec<u8>>); 2] {
    let mut office = Office::new([Remote::default(), Remote::default()], None, Telephone::default().line, 5);
    let [first, second] = works;
    let mut ends = [End::new(&plan(first), CALLS).unwrap(), End::new(&plan(second), ANSWERS).unwrap()];
    let mut are_over = [false; 2];
    for number in 0..blocks {
        for (end, is_over) in ends.iter_mut().zip(&mut are_over) {
            *is_over = *is_over || end.work();
        }
        if are_over == [true; 2] {
            break;
        }
        office.step();
        for (place, end) in ends.iter_mut().enumerate() {
            let told = office.station(place).tell(number);
            let answer = end.respond(number, &told).unwrap();
            office.station(place).answered(number, &answer).unwrap();
        }
    }
    ends.map(|end| {
        let mut run = LineRun::default();
        let received = end.ended(&mut run);
        (run.file.unwrap(), received)
    })
}

/// Bytes that would be commands to a modem that took any from a file.
fn bytes(count: usize) -> Vec<u8> {
    let mut random = Random(7);
    let mut bytes: Vec<u8> = (0..count).map(|_| random.bits() as u8).collect();
    bytes[..9].copy_from_slice(b"+++ATH\r\x13\x11");
    bytes[count - 3..].copy_from_slice(b"+++");
    bytes
}

#[test]
fn a_file_passes_in_either_direction_and_both_ends_know() {
    let bytes = bytes(3_000);
    for place in [CALLS, ANSWERS] {
        let mut works = [receive(3_000), receive(3_000)];
        works[place] = send(&bytes);
        let ran = run(works, 80 * 60);
        let length = Some(3_000);
        assert_eq!(ran[place], (FileRun { length, bytes: 3_000, is_through: true }, None));
        let (file, received) = &ran[1 - place];
        assert_eq!(*file, FileRun { length: None, bytes: 3_000, is_through: true });
        assert!(received.as_ref() == Some(&bytes), "another file arrived");
    }
}

#[test]
fn half_a_file_is_none() {
    // A call comes about in less than 7 s, and the file takes longer than the rest.
    let [(sent, _), (came, received)] = run([send(&bytes(20_000)), receive(20_000)], 80 * 12);
    assert!(!sent.is_through && (1..20_000).contains(&sent.bytes), "{sent:?}");
    assert!(!came.is_through && (1..20_000).contains(&came.bytes), "{came:?}");
    assert!(sent.bytes <= came.bytes, "{sent:?}, {came:?}: what is acknowledged has come");
    assert_eq!(received, None);
}

#[test]
fn what_is_longer_than_it_may_be_is_not_kept() {
    let [(sent, _), (came, received)] = run([send(&bytes(20_000)), receive(1_000)], 80 * 20);
    assert!(!sent.is_through && !came.is_through && received.is_none(), "{sent:?}, {came:?}");
    assert!((1_001..4_000).contains(&came.bytes), "{came:?}");
}

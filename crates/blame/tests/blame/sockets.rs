//! By which local sockets a late thread was asked and answered.

use crate::support::requests::{IDLE, READ, SERVER, WAITS};
use crate::support::{Story, VICTIM, VICTIM_RUNS};
use punctual_blame::{SocketRead, socket_reads};
use punctual_recording::Stage;
use punctual_recording::episode::{EventKind, WaitEnd};

const CLIENTS: u32 = 4;
const STORE: u32 = 5;
const PAIR: u32 = 6;

/// Somebody asks at 1,000 us; the late thread then waits twice for its store, 200 and 1,500 us, and once for what comes by a pair.
#[test]
fn waits_are_told_by_the_path_of_who_listens() {
    let mut story = Story::new(SERVER, 5_000);
    story.episode.stage = Stage::Request;
    (story.episode.accepted, story.episode.connected) = (vec![CLIENTS], vec![STORE]);
    story.episode.sockets =
        [(CLIENTS, "/run/api.sock"), (STORE, "/run/store.sock")].map(|(number, path)| (number, path.to_owned())).into();
    let wakes = |story: &mut Story, at_us: u64, descriptor: u32| {
        let end = WaitEnd { descriptor: Some(descriptor), ..READ };
        story.event(at_us, EventKind::Waking, 0, u64::from(VICTIM), end.bits() | 19, 2);
        story.switch(at_us + 5, VICTIM_RUNS, 0, 1);
    };
    wakes(&mut story, 1_000, CLIENTS);
    for (left_us, woken_us, descriptor) in [(1_100, 1_300, STORE), (1_400, 2_900, STORE), (3_000, 3_100, PAIR)] {
        story.switch(left_us, SERVER, WAITS, 2);
        wakes(&mut story, woken_us, descriptor);
    }
    story.switch(5_000, IDLE, WAITS, 0);
    let read = |path: &str, is_accepted, begins, waits, ns| {
        let path = path.to_owned();
        SocketRead { path, is_accepted, begins, waits, ns }
    };
    assert_eq!(
        socket_reads(&story.episode),
        [read("/run/store.sock", false, false, 2, 1_700_000), read("/run/api.sock", true, true, 0, 0)]
    );
    story.episode.sockets.clear();
    assert_eq!(socket_reads(&story.episode), []);
}

//! Threads that a program makes while it is followed.

use super::*;

/// A server makes a thread for each connection, which sleeps within its first request, reads on, and ends with the connection.
#[test]
fn what_wakes_a_thread_first_that_a_server_has_made_may_be_a_request() {
    let client = Connection { descriptor: 4, inode: 100, brings: WaitedFor::Request };
    for (began, accepts, by, expected) in [
        (true, true, EndedBy::Thread, true),
        (true, true, EndedBy::Sender, true),
        (true, true, EndedBy::Timer, false),
        (true, false, EndedBy::Thread, false),
        (false, true, EndedBy::Thread, false),
    ] {
        let mut play = Play::default();
        if accepts {
            play.stretch(EndedBy::Thread, waits(IDLE, Call::Read));
            play.requests.saw_connections(TID, (play.now, play.now + 1), &[client]);
            play.requests.threads.remove(&TID);
        }
        assert!(play.requests.is_new(TID));
        if began {
            play.requests.began(TID);
        }
        let start = play.now + 10;
        play.stretch(by, waits(OTHER, Call::Sleep)).stretch(EndedBy::Timer, waits(IDLE, Call::Read));
        let until = play.now;
        play.stretch(EndedBy::Thread, Pause::Ends);
        let case = format!("{began} {accepts} {by:?}: {:?}", play.over);
        assert_eq!(play.over.contains(&(start, until)), expected, "{case}");
        assert!(play.known.iter().all(|known| !known.is_sure()), "{case}");
    }
}

//! The programs of `record --comm` and of its `--why`, without the command.

use crate::busy::{Busy, OTHER_CPU};
use punctual_probe::recorder::FlightRecorder;
use punctual_probe::{Programs, Selection};
use std::sync::Arc;
use std::time::Duration;

/// As the command empties its rings while much comes.
const EMPTIED_EVERY: Duration = Duration::from_millis(3);

/// They leave the kernel when this is dropped.
pub(crate) struct Within {
    // In this order they are dropped: the recorder last, as its programs go on with the others.
    threads: Vec<Busy>,
    following: Arc<Programs>,
    #[allow(dead_code, reason = "its programs run until this is dropped")]
    recorder: Option<FlightRecorder>,
}

impl Within {
    /// Those that follow this process's threads; another CPU empties their rings.
    pub(crate) fn following() -> Within {
        let own = Selection::of_processes(vec![std::process::id()]);
        let following = Arc::new(Programs::start(&own).expect("BPF programs"));
        Within { threads: Vec::new(), following, recorder: None }.emptied_on(OTHER_CPU)
    }

    /// The same and the flight recorder's, with so many samples a second, as when the kernel has ended its measuring of them.
    pub(crate) fn with_why(samples: u32) -> Within {
        let own = Selection::of_processes(vec![std::process::id()]);
        let mut recorder = FlightRecorder::start(samples, false).expect("the recorder starts");
        recorder.stop_measuring();
        let following = Arc::new(Programs::start_beside(&own, &recorder).expect("BPF programs"));
        Within { threads: Vec::new(), following, recorder: Some(recorder) }.emptied_on(OTHER_CPU)
    }

    /// The kernel measures them again.
    pub(crate) fn measured(mut self) -> Within {
        let measuring = punctual_kernel::bpf::enable_run_time_statistics().expect("the kernel measures");
        self.threads.push(Busy::on(OTHER_CPU, move || {
            let _held = &measuring;
            Duration::from_millis(100)
        }));
        self
    }

    /// This CPU and no other empties the rings.
    pub(crate) fn emptied_on(mut self, cpu: u32) -> Within {
        let following = Arc::clone(&self.following);
        self.threads = vec![Busy::on(cpu, move || {
            following.discard();
            EMPTIED_EVERY
        })];
        self
    }

    /// Another CPU looks so many times a second at the cache line that says how far a ring has come, besides.
    pub(crate) fn looked_at(mut self, a_second: u64) -> Within {
        let following = Arc::clone(&self.following);
        self.threads.push(Busy::on(OTHER_CPU, move || {
            std::hint::black_box(following.lost());
            Duration::from_nanos(1_000_000_000 / a_second)
        }));
        self
    }

    /// Another CPU does this, besides.
    pub(crate) fn beside(mut self, busy: Busy) -> Within {
        self.threads.push(busy);
        self
    }

    /// Records for which there was no room.
    pub(crate) fn lost(&self) -> u64 {
        self.following.lost()
    }
}

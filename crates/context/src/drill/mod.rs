//! Fire drills: known causes of lateness, injected for a bounded time, with a log of the truth.

//! How much any file of a recording may make a reader hold, whatever it says of itself.
//!
//! A table is read in batches, so its length is not bounded. The bounds on what has to be held at once are far above
//! what any measurement writes; beyond them the reader says so and ends.

/// A reader of recordings stays below this much memory in all, bytes.
pub const MAX_READER_BYTES: u64 = 300_000_000;
/// The longest JSON file of a recording, bytes.
pub const MAX_JSON_BYTES: u64 = 32 << 20;
/// The most values (numbers, texts, lists, objects) in a JSON file.
pub const MAX_JSON_VALUES: usize = 4 << 20;
/// The deepest nesting in a JSON file.
pub const MAX_JSON_DEPTH: usize = 32;
/// The most distributions in a recording: by measure, stage and CPU.
pub const MAX_DISTRIBUTIONS: usize = 1 << 16;
/// The most filled buckets of one distribution: as many as exist.
pub const MAX_BUCKETS: usize = 1 << 16;
/// The most that all distributions of a recording may take up, bytes.
pub const MAX_DISTRIBUTION_BYTES: usize = 64 << 20;
/// The most tasks in a recording, and of the threads that were followed.
pub const MAX_TASKS: usize = 1 << 17;
/// The most files of a table.
pub const MAX_SEGMENTS: usize = 1 << 16;
/// The longest description that a table may hold of itself, bytes.
pub const MAX_METADATA_BYTES: u64 = 1 << 20;
/// The most columns of a table.
pub const MAX_COLUMNS: usize = 64;
/// The most row groups of a file of a table.
pub const MAX_ROW_GROUPS: usize = 1 << 12;
/// The most rows that a table may have for each of its bytes: far more than any measurement has, because its times
/// differ.
pub const MAX_ROWS_A_BYTE: u64 = 64;
/// The largest page of a column, compressed and not, bytes.
pub const MAX_PAGE_BYTES: usize = 4 << 20;
/// The most values in a page.
pub const MAX_PAGE_VALUES: usize = 1 << 18;
/// The longest text in a table, bytes.
pub const MAX_CELL_BYTES: usize = 16 << 10;
/// The most text in a few thousand rows of a table, bytes.
pub const MAX_BATCH_TEXT_BYTES: usize = 32 << 20;
/// The most of the largest values (`tail.parquet`) that are held at once.
pub const MAX_TAIL_VALUES: usize = 2 << 20;
/// The most seconds with wakeups that are held at once, of all tasks together: 36 days.
pub const MAX_SECONDS: usize = 3 << 20;
/// The most events of an episode.
pub const MAX_EPISODE_EVENTS: usize = 1 << 17;
/// The most samples of an episode.
pub const MAX_EPISODE_SAMPLES: usize = 1 << 14;
/// The most functions in all stacks of an episode.
pub const MAX_EPISODE_FRAMES: usize = 1 << 19;
/// The most descriptors of connections of an episode: each wait is looked for among them.
pub const MAX_EPISODE_DESCRIPTORS: usize = 1 << 10;
/// The most that the names of an episode's events and functions may take, if each were as long as the longest, bytes.
pub const MAX_EPISODE_TEXT_BYTES: usize = 64 << 20;
/// What the details of all episodes may take up, bytes; those of later ones are left out.
pub const MAX_DETAIL_BYTES: usize = 64 << 20;
/// What the call trees of all episodes may take up, bytes; functions beyond that count for their callers.
pub const MAX_TREE_BYTES: usize = 32 << 20;
/// What the different names in a log may take up while they are counted, bytes; later ones count together.
pub const MAX_LOG_NAME_BYTES: usize = 32 << 20;
/// The longest line of `episodes.jsonl`, bytes.
pub const MAX_EPISODE_BYTES: usize = 12 << 20;
/// The most measures of a recording; readers go through each separately. The names of followed threads may take up a
/// third of them.
pub const MAX_MEASURES: usize = 1 << 12;
/// The most notes, CPUs, priorities, settings and the like of a recording, of each kind.
pub const MAX_LISTED_TEXTS: usize = 1 << 13;
/// The longest note, load's or measure's name, bytes.
pub const MAX_LISTED_TEXT_BYTES: usize = 16 << 10;
/// The latest time, ns of `CLOCK_MONOTONIC`: two of them can be added, with room to spare.
pub const MAX_TIME_NS: u64 = i64::MAX as u64 / 2;
/// The longest time that a wakeup, a gap or an activation takes, ns: nine years, so that all stages can be added.
pub const MAX_SPAN_NS: u64 = 1 << 58;
/// The longest time from an input to what it caused, ns: 19 hours, so that those of all inputs can be added.
pub const MAX_INPUT_NS: u64 = 1 << 46;
/// The longest period of a task, ns: a month.
pub const MAX_PERIOD_NS: u64 = 30 * 24 * 3_600 * 1_000_000_000;
/// The largest count of anything.
pub const MAX_COUNT: u64 = 1 << 47;

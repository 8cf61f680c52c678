//! How figures, names and tables look in text, whatever they are about.

mod document;
mod markdown;
mod table;
mod twice;
mod when;
mod width;
mod words;

pub(crate) use document::{
    busy_with_others, is_simulated, load_beside_others, load_heading, on_machine, spoken_duration, what_ran,
};
pub use document::{load_name, load_words};
pub use markdown::paragraphs;
pub(crate) use punctual_recording::{agreeing, counted, grouped};
pub(crate) use table::indented;
pub use table::table;
pub use twice::{for_markdown, for_screen, lay_out_twice};
pub(crate) use when::{day, rfc3339, time_of_day};
pub(crate) use width::width;
pub use width::{Layout, fitted, lay_out};
pub(crate) use words::{
    as_fine_percent, as_percent, capitalized, fitting, how_often, percent, rate, shortened, thousands, thousandths,
};
pub use words::{microseconds, shell_word};

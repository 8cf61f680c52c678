//! Pages with pictures that can be read with pointer and keyboard: one file, nothing loaded from anywhere.
//!
//! A [`Page`] is a title, a verdict, what must be known first, and a list of sections. Words and tables are written
//! here as HTML, so that they can be read without any script; each [`Picture`] is data that the bundled script draws
//! according to its kind (`page/src/KIND.ts`). [`Page::html`] puts all of it into one file.

pub(crate) mod bars;
pub(crate) mod colours;
pub(crate) mod curve;
pub(crate) mod heat;
pub(crate) mod history;
pub(crate) mod intervals;
pub(crate) mod setting;
pub(crate) mod style;
mod subject;
pub(crate) mod table;

pub use bars::Bars;
pub use curve::{Curve, CurveLine, Mark, survival};
pub use heat::{Cell, Heat};
pub use history::{History, Series, SeriesLine};
pub use intervals::{Band, BandLine, Interval, IntervalRow, Intervals, Judged, Unit};
pub use subject::Subject;
pub use table::{Column, Table, Value};

use crate::NextStep;
use crate::encode::head::Head;
use crate::encode::plain_page::{escape, prose};
use punctual_recording::is_control;
use serde::Serialize;
use std::fmt::Write;

/// The script that draws: empty if Node was missing when the program was built.
const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/page.js"));

/// What a page with pictures says if the program was built without the script that draws them.
pub const NEEDS_SCRIPT: &str = "this punctual was built without the script that draws pages: install Node.js 18 or newer and npm, \
     run scripts/setup and build again";

/// A page that cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoScript;

impl std::fmt::Display for NoScript {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(NEEDS_SCRIPT)
    }
}

impl std::error::Error for NoScript {}

/// Whether pages with pictures can be made.
///
/// # Errors
/// [`NoScript`] if the program was built without the script.
pub fn can_draw() -> Result<(), NoScript> {
    if SCRIPT.is_empty() { Err(NoScript) } else { Ok(()) }
}

/// A page: what it says, in the order in which it says it.
pub struct Page {
    /// The heading.
    pub title: String,
    /// A line above the heading: the command, the machine, the date.
    pub context: String,
    /// The answer, in a sentence or two, or one a line.
    pub verdict: String,
    /// What to run next.
    pub next: Vec<NextStep>,
    /// What must be known before believing the rest: losses, fallbacks, trouble.
    pub warnings: Vec<String>,
    /// What the measurement could not see.
    pub blind: Vec<String>,
    /// The rest.
    pub sections: Vec<Section>,
    /// The same answer as the command's `--json`, for programs that are handed the page.
    pub report: serde_json::Value,
}

/// A part of a page with a heading.
pub struct Section {
    /// The anchor: unique, letters and hyphens.
    pub id: String,
    /// The heading.
    pub title: String,
    /// A sentence or two on how to read it.
    pub lead: String,
    /// What it holds.
    pub blocks: Vec<Block>,
}

/// What a section is made of.
pub enum Block {
    /// A heading within the section.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// A table.
    Table(Table),
    /// A picture over the whole width.
    Picture(Picture),
    /// Small pictures beside one another.
    Gallery(Vec<Picture>),
    /// Something that is folded away until the reader opens it: its title and its content.
    Folded(String, Vec<Block>),
}

impl Block {
    /// A picture over the whole width.
    pub(crate) fn picture(id: &str, title: &str, caption: &str, drawing: Drawing) -> Block {
        Block::Picture(Picture { id: id.to_owned(), title: title.to_owned(), caption: caption.to_owned(), drawing })
    }
}

/// Data that the script draws.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Picture {
    /// The anchor: unique on the page.
    pub id: String,
    /// What it shows; also what a screen reader calls it.
    pub title: String,
    /// How to read it, or what was left out.
    pub caption: String,
    /// What is drawn, by kind.
    #[serde(flatten)]
    pub drawing: Drawing,
}

/// What can be drawn. Each kind has its renderer in `page/src`, under the same name.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Drawing {
    /// Lines over two logarithmic axes: share against latency.
    Curve(Curve),
    /// Lines over time.
    Series(Series),
    /// Cells over time.
    Heat(Heat),
    /// Numbers with their intervals, one per line.
    Intervals(Intervals),
    /// Curves of such numbers.
    Band(Band),
    /// Bars over a logarithmic axis of latency.
    Bars(Bars),
}

impl Page {
    /// The page as one file.
    ///
    /// # Errors
    /// [`NoScript`] if the program was built without the script that draws.
    pub fn html(&self) -> Result<String, NoScript> {
        can_draw()?;
        Ok(self.html_with(SCRIPT))
    }

    fn html_with(&self, script: &str) -> String {
        let mut pictures = Vec::new();
        let head = Head {
            title: &self.title,
            context: &self.context,
            verdict: &self.verdict,
            next: &self.next,
            warnings: &self.warnings,
            blind: &self.blind,
        };
        let mut body = head.html(self.sections.iter().map(|section| (section.id.as_str(), section.title.as_str())));
        body.push_str("<main id=\"main\" tabindex=\"-1\">\n");
        for section in &self.sections {
            let id = escape(&section.id);
            let _ = writeln!(
                body,
                "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{}</h2>\n<p class=\"soft\">{}</p>",
                escape(&section.title),
                prose(&section.lead)
            );
            blocks(&section.blocks, &mut pictures, &mut body);
            body.push_str("</section>\n");
        }
        // It consists of strings and numbers, so it can always be written.
        let data = serde_json::to_string(&Data { report: &self.report, pictures }).unwrap_or_default();
        let _ = write!(
            body,
            "</main>\n<noscript><p class=\"soft\">The pictures need JavaScript; the words and tables do not.</p></noscript>\n\
             <div id=\"reading\" class=\"unseen\" aria-live=\"polite\"></div>\n<pre id=\"errors\" class=\"bad\" role=\"alert\" hidden=\"hidden\"></pre>\n\
             <script type=\"application/json\" id=\"data\">{}</script>\n<script>{}</script>\n",
            inert(&data),
            script.replace("</script", "<\\/script")
        );
        crate::encode::plain_page::frame(&self.title, style::STYLE, &body)
    }
}

/// JSON that cannot end the element that contains it, nor change the direction of lines when somebody reads the page's
/// source.
fn inert(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter == '<' || (is_control(letter) && letter != '\n') {
            let _ = write!(out, "\\u{:04x}", u32::from(letter));
        } else {
            out.push(letter);
        }
    }
    out
}

/// The input of a page's script.
#[derive(Serialize)]
struct Data<'a> {
    /// The same object that `--json` prints.
    report: &'a serde_json::Value,
    pictures: Vec<&'a Picture>,
}

fn blocks<'a>(blocks_here: &'a [Block], pictures: &mut Vec<&'a Picture>, out: &mut String) {
    for block in blocks_here {
        match block {
            Block::Heading(text) => {
                let _ = writeln!(out, "<h3>{}</h3>", escape(text));
            }
            Block::Text(text) => {
                let _ = writeln!(out, "<p>{}</p>", prose(text));
            }
            Block::Table(table) => table.html(out),
            Block::Picture(picture) => place(picture, pictures, out),
            Block::Gallery(gallery) => {
                out.push_str("<div class=\"gallery\">\n");
                gallery.iter().for_each(|picture| place(picture, pictures, out));
                out.push_str("</div>\n");
            }
            Block::Folded(summary, inner) => {
                let _ = writeln!(out, "<details><summary>{}</summary>", escape(summary));
                blocks(inner, pictures, out);
                out.push_str("</details>\n");
            }
        }
    }
}

fn place<'a>(picture: &'a Picture, pictures: &mut Vec<&'a Picture>, out: &mut String) {
    let _ = writeln!(
        out,
        "<figure class=\"picture\" id=\"{}\"><figcaption><strong>{}</strong> <span class=\"soft\">{}</span></figcaption></figure>",
        escape(&picture.id),
        escape(&picture.title),
        prose(&picture.caption)
    );
    pictures.push(picture);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name in a recording may have any length, and no blank at which to break it.
    #[test]
    fn what_has_names_in_it_breaks_within_them() {
        let breaking = style::STYLE.split('}').filter(|rule| rule.contains("overflow-wrap:anywhere"));
        let broken: Vec<&str> =
            breaking.flat_map(|rule| rule.split('{').next().unwrap_or_default().split(',')).collect();
        for held in ["h1", "h3", "caption", "figcaption", ".legend", "td", "header .verdict", ".context"] {
            assert!(broken.iter().any(|name| name.trim() == held), "{held}: {broken:?}");
        }
    }

    #[test]
    fn nothing_in_the_data_or_the_words_can_become_markup() {
        let hostile = "</script><script>alert(1)</script><!--\u{202e}\u{9b}";
        let page = Page {
            title: hostile.into(),
            context: hostile.into(),
            verdict: hostile.into(),
            next: vec![NextStep::new(hostile, hostile.into())],
            warnings: vec![hostile.into()],
            blind: vec![hostile.into()],
            sections: vec![Section {
                id: "a".into(),
                title: hostile.into(),
                lead: hostile.into(),
                blocks: vec![Block::Picture(Picture {
                    id: "p".into(),
                    title: hostile.into(),
                    caption: hostile.into(),
                    drawing: Drawing::Heat(Heat::default()),
                })],
            }],
            report: serde_json::json!({ "load": hostile }),
        };
        let html = page.html_with("let own = '</script>';");
        assert_eq!(html.matches("<script").count(), 2, "the data and the script");
        assert_eq!(html.matches("</script>").count(), 2);
        assert!(!html.contains("alert(1)</script>") && !html.contains("<!--"));
        assert!(!html.contains(|letter| is_control(letter) && letter != '\n'));
        let data = html.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["report"]["load"], hostile);
        assert_eq!(data["pictures"][0]["kind"], "heat");
        for loaded in ["<link", "<img", " src=", "url(", "@import"] {
            assert!(!html.contains(loaded), "{loaded}");
        }
    }
}

//! What comes above the sections of every page, and the pages whose pictures are part of the page itself.

use crate::NextStep;
use crate::encode::html::style;
use crate::encode::plain_page::{code, escape, frame, prose};
use std::fmt::Write;

/// A verdict with more letters than this is set in smaller type.
const LONG: usize = 400;
/// So many lines of a list are seen at once; the rest are folded away, so that the figures are not far below.
const SHOWN_LINES: usize = 3;

/// What a page says before its sections.
pub(crate) struct Head<'a> {
    /// The heading.
    pub(crate) title: &'a str,
    /// A line above the heading: the command, the machine, the date.
    pub(crate) context: &'a str,
    /// The answer, in a sentence or two, or one a line.
    pub(crate) verdict: &'a str,
    /// What to run next.
    pub(crate) next: &'a [NextStep],
    /// What must be known before believing the rest.
    pub(crate) warnings: &'a [String],
    /// What the measurement could not see.
    pub(crate) blind: &'a [String],
}

impl Head<'_> {
    /// With links to the sections: each an anchor and a heading.
    pub(crate) fn html<'s>(&self, sections: impl Iterator<Item = (&'s str, &'s str)>) -> String {
        let mut body = format!(
            "<a class=\"skip\" href=\"#main\">Skip to the pictures and tables</a>\n<header>\n<p class=\"context\">{}</p>\n\
             <h1>{}</h1>\n{}",
            escape(self.context),
            escape(self.title),
            answer(self.verdict)
        );
        steps(self.next, &mut body);
        list("warnings", "Know this first", self.warnings, &mut body);
        list("blind", "What this measurement could not see", self.blind, &mut body);
        body.push_str("</header>\n<nav aria-label=\"Sections\"><ul>");
        for (id, title) in sections {
            let _ = write!(body, "<li><a href=\"#{}\">{}</a></li>", escape(id), escape(title));
        }
        body.push_str("</ul></nav>\n");
        body
    }
}

/// The answer as a paragraph, or as a list where it consists of lines.
fn answer(verdict: &str) -> String {
    let long = if verdict.len() > LONG { " long" } else { "" };
    if !verdict.contains('\n') {
        return format!("<p class=\"verdict{long}\">{}</p>\n", prose(verdict));
    }
    let items: String = verdict.lines().map(|line| format!("<li>{}</li>\n", prose(line))).collect();
    format!("<ul class=\"verdict{long}\">\n{items}</ul>\n")
}

/// A section of a page that no script draws.
pub(crate) struct Part {
    /// The anchor: unique on its page.
    pub(crate) id: String,
    /// The heading.
    pub(crate) title: String,
    /// What it holds, as HTML.
    pub(crate) body: String,
}

impl Part {
    pub(crate) fn new(id: impl Into<String>, title: impl Into<String>, body: String) -> Part {
        Part { id: id.into(), title: title.into(), body }
    }
}

/// A whole page of such sections, which needs no script; `style`: what this page has beyond the style of every page.
pub(crate) fn standing(head: &Head<'_>, parts: &[Part], style: &str) -> String {
    let mut body = head.html(parts.iter().map(|part| (part.id.as_str(), part.title.as_str())));
    body.push_str("<main id=\"main\" tabindex=\"-1\">\n");
    for Part { id, title, body: inside } in parts {
        let (id, title) = (escape(id), escape(title));
        let _ = writeln!(body, "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{title}</h2>\n{inside}</section>");
    }
    body.push_str("</main>\n");
    frame(head.title, &format!("{}{style}", style::STYLE), &body)
}

fn list(class: &str, heading: &str, lines: &[String], out: &mut String) {
    if lines.is_empty() {
        return;
    }
    let (shown, folded) = lines.split_at(lines.len().min(SHOWN_LINES));
    let _ = write!(out, "<div class=\"{class}\"><h2>{heading}</h2>");
    items(shown, out);
    if !folded.is_empty() {
        let _ = write!(out, "<details><summary>{} more</summary>", folded.len());
        items(folded, out);
        out.push_str("</details>");
    }
    out.push_str("</div>\n");
}

fn items(lines: &[String], out: &mut String) {
    out.push_str("<ul>");
    for line in lines {
        let _ = write!(out, "<li>{}</li>", prose(line));
    }
    out.push_str("</ul>");
}

fn steps(next: &[NextStep], out: &mut String) {
    if next.is_empty() {
        return;
    }
    out.push_str("<ul class=\"next\">");
    for step in next {
        let command = code(&step.command);
        let _ = match &step.action {
            Some(action) => write!(out, "<li>Next: {} More: {command}</li>", prose(action)),
            None => write!(out, "<li>Next: {command} {}</li>", prose(&step.purpose)),
        };
    }
    out.push_str("</ul>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_shows_its_beginning_and_folds_the_rest() {
        let lines: Vec<String> = (1..=5).map(|number| format!("line {number}")).collect();
        let mut html = String::new();
        list("warnings", "Know this first", &lines, &mut html);
        let (seen, folded) = html.split_once("<details><summary>2 more</summary>").expect(&html);
        assert_eq!((seen.matches("<li>").count(), folded.matches("<li>").count()), (3, 2), "{html}");
        assert!(seen.contains("line 3") && folded.contains("line 4"), "{html}");
        let mut short = String::new();
        list("warnings", "Know this first", &lines[..3], &mut short);
        assert!(short.matches("<li>").count() == 3 && !short.contains("<details>"), "{short}");
    }

    #[test]
    fn an_answer_of_several_lines_is_a_list() {
        assert_eq!(answer("a < b."), "<p class=\"verdict\">a &lt; b.</p>\n");
        let list = "<ul class=\"verdict\">\n<li>a &lt; b.</li>\n<li>c.</li>\n</ul>\n";
        assert_eq!(answer("a < b.\nc."), list);
    }

    /// Pages are looked at for faults of layout in one theme only: so the other may move nothing.
    #[test]
    fn the_dark_theme_changes_nothing_but_colours() {
        let head = Head { title: "", context: "", verdict: "", next: &[], warnings: &[], blind: &[] };
        let html = standing(&head, &[], "");
        let (mut themes, mut colours) = (0, 0);
        for theme in html.split("@media (prefers-color-scheme:dark){").skip(1) {
            let inside = theme.split_once("}}").map_or(theme, |(inside, _)| inside);
            let declarations = inside.strip_prefix(":root{").unwrap_or_else(|| panic!("{inside}"));
            for declaration in declarations.split(';').map(str::trim) {
                let (name, value) = declaration.split_once(':').unwrap_or((declaration, ""));
                assert!(name.starts_with("--") && value.starts_with('#'), "{declaration}");
                // A colour of the light theme, too.
                assert!(html.matches(&format!("{name}:#")).count() >= 2, "{declaration}");
                colours += 1;
            }
            themes += 1;
        }
        assert_eq!(themes, html.matches("color-scheme:dark").count(), "a theme is written otherwise");
        assert!(themes == 2 && colours > 20, "{colours} colours in {themes} themes");
    }
}

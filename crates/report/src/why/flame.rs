//! The flame graph of the lateness: a picture that needs nothing else, and a script that zooms into it and searches it.

use crate::encode::plain_page::{LETTER, coordinate, escape};
use crate::layout::{microseconds, thousands};
use punctual_blame::CallTree;
use std::fmt::Write;

/// Pixels.
const WIDTH: f64 = 1_100.0;
const ROW: f64 = 17.0;
const MAX_DEPTH: usize = 60;
/// Nobody can see what is narrower than this, pixels ...
const MIN_SEEN: f64 = 0.5;
/// ... and what is narrower than this is left out of the page; anything in between shows when somebody zooms in.
const MIN_KEPT: f64 = 0.02;

/// What this page has beyond the style of every page.
pub(super) const STYLE: &str = "
.flames .tools{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;margin:.3rem 0}
.flames .tools[hidden]{display:none}
.flames input,.flames button{font:inherit;color:inherit;background:var(--panel);border:1px solid var(--soft);
border-radius:3px;padding:.1rem .4rem}
.flames .cause{fill:var(--ink)}.flames text.oncause{fill:var(--page)}
.flames .code{fill:color-mix(in oklab,var(--heat) 25%,var(--page))}
.flames .alive g{cursor:pointer}.flames g:focus{outline:none}.flames g:focus rect{stroke:var(--mark);stroke-width:2}
.flames .around rect,.flames .searched g:not(.found) rect{fill:var(--line)}
.flames .around text,.flames .searched g:not(.found) text{fill:var(--ink)}
";

const SCRIPT: &str = include_str!("flame.js");

/// Writes the graph of a tree with weights in ns.
pub(super) fn flame_graph(body: &mut String, tree: &CallTree) {
    let height = depth_of(tree).min(MAX_DEPTH) as f64 * ROW;
    let _ = writeln!(
        body,
        "<figure class=\"flames\"><div class=\"tools\" hidden=\"hidden\"><label>Search <input type=\"search\"/></label>\
         <button type=\"button\" hidden=\"hidden\">All of it</button><span class=\"said-of soft\" role=\"status\"></span></div>\n\
         <svg viewBox=\"0 0 {WIDTH} {0}\" width=\"{WIDTH}\" height=\"{0}\" role=\"img\" aria-label=\"Flame graph of the lateness\">",
        coordinate(height)
    );
    let whole = tree.count().max(1) as f64;
    below(body, tree, 0.0, whole, 0);
    let _ = writeln!(body, "</svg></figure>\n<script>{SCRIPT}</script>");
}

fn depth_of(tree: &CallTree) -> usize {
    tree.children().iter().map(|(_, child)| 1 + depth_of(child)).max().unwrap_or(0)
}

fn below(body: &mut String, tree: &CallTree, left: f64, whole: f64, level: usize) {
    if level >= MAX_DEPTH {
        return;
    }
    let mut at = left;
    for (name, child) in tree.children() {
        let size = child.count() as f64 / whole;
        if size * WIDTH >= MIN_KEPT {
            frame(body, name, child.count(), (at, size), level);
            below(body, child, at, whole, level + 1);
        }
        at += size;
    }
}

/// One function, with its beginning and its width as parts of the whole.
fn frame(body: &mut String, name: &str, ns: u64, (left, size): (f64, f64), level: usize) {
    let (class, text_class) = if level < 2 { ("cause", "oncause") } else { ("code", "oncode") };
    let (at, width, top) = (left * WIDTH, size * WIDTH, level as f64 * ROW);
    let hidden = if width < MIN_SEEN { " style=\"display:none\"" } else { "" };
    let room = ((width - 6.0) / LETTER).max(0.0) as usize;
    let shown: String = if room >= 3 { name.chars().take(room).collect() } else { String::new() };
    let _ = writeln!(
        body,
        "<g data-left=\"{left:.6}\" data-size=\"{size:.6}\" data-level=\"{level}\"{hidden}><title>{}: {} us</title>\
         <rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{class}\"/>\
         <text x=\"{}\" y=\"{}\" class=\"{text_class}\">{}</text></g>",
        escape(name),
        thousands(&microseconds(Some(ns))),
        coordinate(at),
        coordinate(top),
        coordinate((width - 0.5).max(0.3)),
        coordinate(ROW - 1.0),
        coordinate(at + 3.0),
        coordinate(top + ROW - 5.0),
        escape(&shown)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_narrow_to_see_is_there_to_zoom_in_and_what_is_narrower_is_not() {
        let mut tree = CallTree::default();
        let mut room = punctual_blame::Room::of(1 << 20);
        for (name, ns) in [("wide", 999_000), ("narrow", 999), ("nothing", 1)] {
            tree.add(&[name.to_owned(), format!("below {name}")], ns, &mut room);
        }
        let mut body = String::new();
        flame_graph(&mut body, &tree);
        let line = |name: &str| body.lines().find(|line| line.contains(&format!("<title>{name}: "))).map(str::to_owned);
        assert!(!line("wide").unwrap().contains("display:none"));
        assert!(
            line("narrow").unwrap().contains("data-size=\"0.000999\"")
                || line("narrow").unwrap().contains("data-size=\"0.00099\"")
        );
        assert!(line("below wide").unwrap().contains("data-level=\"1\""));
        assert_eq!((line("nothing"), line("below nothing")), (None, None));
    }

    #[test]
    fn a_name_stays_within_its_function() {
        assert!(SCRIPT.contains(&format!("const LETTER = {LETTER};")));
        let mut met = 0;
        for part in (5..1_000).step_by(5) {
            let (mut tree, mut room) = (CallTree::default(), punctual_blame::Room::of(1 << 20));
            for (name, ns) in [("mem_cgroup_commit_charge", part), ("programmierung", 1_000 - part)] {
                tree.add(&[name.to_owned()], ns, &mut room);
            }
            let mut body = String::new();
            flame_graph(&mut body, &tree);
            for line in body.lines().filter(|line| line.starts_with("<g ")) {
                let width = line.split(" width=\"").nth(1).unwrap().split('"').next().unwrap();
                let shown = line.rsplit_once("</text>").unwrap().0.rsplit_once('>').unwrap().1;
                // In DejaVu Sans of 12 pixels, the widest that is common, its letters are 7.4 wide on average.
                let needed = 3.0 + 7.4 * shown.chars().count() as f64;
                assert!(shown.is_empty() || needed <= width.parse::<f64>().unwrap(), "{shown} in {width}");
                met += usize::from(!shown.is_empty());
            }
        }
        assert!(met > 300, "{met} names");
    }
}

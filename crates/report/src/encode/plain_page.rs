//! The frame of every HTML page: one file, nothing loaded from anywhere. Light, dark and print.

use crate::layout::thousands;
use punctual_recording::is_control;

/// Text escaped for HTML and for attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Control characters are not allowed in a document, escaped or not; others reverse the direction of the
            // line.
            steering if is_control(steering) && steering != '\n' && steering != '\t' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

/// A sentence as HTML: what is between backticks in text, a command or a name, is set as code here.
pub(crate) fn prose(text: &str) -> String {
    let pieces: Vec<&str> = text.split('`').collect();
    let mut out = String::new();
    for (index, piece) in pieces.iter().enumerate() {
        let is_code = index % 2 == 1;
        let is_open = is_code && index + 1 == pieces.len();
        match (is_code, is_open) {
            // A backtick without its counterpart is part of somebody's name.
            (_, true) => out += &format!("`{}", escape(piece)),
            (true, _) => out += &code(piece),
            (false, _) => out += &escape(piece),
        }
    }
    out
}

/// A longer word breaks wherever the page is too narrow.
const MAX_OPTION: usize = 28;

/// A command or a name as HTML. Browsers break lines after a hyphen, even that of `-i`: options stay whole. A hyphen at which no
/// line breaks would do too, but whoever copied the command would not get an option.
pub(crate) fn code(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let ends = word.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').unwrap_or(word.len());
        let (option, rest) = word.split_at(ends);
        match option.starts_with('-') && option.len() <= MAX_OPTION {
            true => format!("<span class=\"option\">{}</span>{}", escape(option), escape(rest)),
            false => escape(word),
        }
    });
    format!("<code>{}</code>", words.collect::<Vec<String>>().join(" "))
}

/// How wide a letter in a drawing is, pixels, rather more than less: names full of m and c must keep within their place, too. The
/// script of the flame graph has the same.
pub(crate) const LETTER: f64 = 7.5;

/// A number with no more digits than a reader can use, and its thousands set apart.
pub(crate) fn number(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e15 {
        return thousands(&format!("{value}"));
    }
    thousands(format!("{value:.3}").trim_end_matches('0').trim_end_matches('.'))
}

/// A coordinate in a picture: to a tenth of a pixel, without trailing zeros, because there are many of them.
pub(crate) fn coordinate(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

// Colours are variables, so that pictures follow the page. The three colours of classes differ in lightness as well as
// in hue, and every class also has a shape.
const STYLE: &str = "
.option{white-space:nowrap}
:root{color-scheme:light dark;--page:#fff;--ink:#1c1f24;--soft:#596170;--line:#d5d9e0;--panel:#f5f6f8;--mark:#1f5fbf;
--paper:#a8380c;--bad:#b00020;--badback:#fdecee;--good:#1b6e3c;--no:#dfe2e7;--some:#f0c05a;--yes:#2b7a4b;--onyes:#fff;
--onsome:#2b1d00;--onno:#3a3f48}
@media (prefers-color-scheme:dark){:root{--page:#14171c;--ink:#e6e8ec;--soft:#a3abb8;--line:#363c47;--panel:#1c2027;
--mark:#7fb0ff;--paper:#ffa066;--bad:#ff8a95;--badback:#3a1a20;--good:#74d49a;--no:#333943;--some:#c9952c;
--yes:#6fce95;--onyes:#08210f;--onsome:#1d1300;--onno:#d5d9e0}}
@media print{:root{--page:#fff;--ink:#000;--soft:#333;--line:#999;--panel:#fff;--mark:#123f86;--paper:#7a2500;
--bad:#900;--badback:#fff;--good:#000;--no:#eee;--some:#ccc;--yes:#555;--onyes:#fff;--onsome:#000;--onno:#000}
figure,tr{break-inside:avoid}nav{display:none}body{font-size:9pt}.wide{overflow:visible}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main,nav,header{max-width:70rem;margin:0 auto;padding:0 1rem}
h1{font-size:1.6rem;margin:1.5rem 0 .5rem}h2{font-size:1.3rem;margin:2.5rem 0 .5rem;border-top:1px solid var(--line);
padding-top:1rem}h3{font-size:1.05rem;margin:1.5rem 0 .3rem}
.verdict{font-size:1.1rem;font-weight:600}.soft{color:var(--soft)}
nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;padding:0;list-style:none}a{color:var(--mark)}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.85rem;margin:.5rem 0 1rem;width:100%}
caption{text-align:left;font-weight:600;padding:.3rem 0}
th,td{text-align:left;vertical-align:top;padding:.25rem .5rem;border-bottom:1px solid var(--line)}
thead th{background:var(--panel)}tbody th{font-weight:400}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
table.short{width:auto}
.words{min-width:18rem}
tr.fails{background:var(--badback);outline:2px solid var(--bad)}
.bad{color:var(--bad);font-weight:700}.good{color:var(--good)}
.id{display:block;color:var(--soft);font:.75rem/1.3 ui-monospace,monospace}
figure{margin:1rem 0 2rem;padding:0}figcaption{font-size:.9rem}
svg{display:block;max-width:100%;height:auto;background:var(--page)}
@media screen and (max-width:72rem){figure{overflow-x:auto}figure svg{max-width:none}}
svg text{fill:var(--ink);font:12px system-ui,sans-serif}svg .soft{fill:var(--soft)}
svg text.halo{stroke:var(--page);stroke-width:3;paint-order:stroke}
svg .axis{stroke:var(--soft);fill:none}svg .grid{stroke:var(--line);fill:none}
svg .dots{stroke:var(--ink);stroke-width:2.4;stroke-linecap:round;fill:none}svg .bar{fill:var(--ink)}
svg .said{stroke:var(--paper);stroke-dasharray:5 4;fill:none}svg text.saidtext{fill:var(--paper)}
svg .no{fill:var(--no)}svg .some{fill:var(--some)}svg .yes{fill:var(--yes)}svg .none{fill:none;stroke:var(--line)}
svg text.onno{fill:var(--onno)}svg text.onsome{fill:var(--onsome)}svg text.onyes{fill:var(--onyes)}
svg .cross{stroke:var(--soft);fill:none}svg .worse{fill:var(--bad)}
svg .irq{fill:var(--c1)}svg .deferred{fill:var(--c4)}svg .thread{fill:var(--c2)}svg .late{stroke:var(--bad);stroke-width:2;fill:none}
.planes{display:flex;flex-wrap:wrap;gap:1rem}.planes figure{margin:.3rem 0}
details{margin:.5rem 0}summary{cursor:pointer}details>pre{white-space:pre-wrap;overflow-wrap:anywhere}
";

/// A whole page around `body`, which brings its own landmarks; `style`: what this page has beyond the style of every
/// page.
pub(crate) fn frame(title: &str, style: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{}</title>\n\
         <style>{STYLE}{style}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escape(title)
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Asserts that every tag is closed, in order, and that nothing is loaded.
    pub(crate) fn assert_well_formed(html: &str) {
        let body = html.strip_prefix("<!DOCTYPE html>\n").expect("a document type");
        let mut open: Vec<&str> = Vec::new();
        for part in body.split('<').skip(1) {
            let (tag, text) = part.split_once('>').unwrap_or_else(|| panic!("a tag without an end: {part:.60}"));
            assert!(!text.contains('>') || tag == "style", "a stray '>': {part:.60}");
            assert_eq!(tag.matches('"').count() % 2, 0, "an open quote: {tag}");
            let name = tag.trim_start_matches('/').split([' ', '/', '\n']).next().unwrap_or("");
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name), "closed out of order");
            } else if !tag.ends_with('/') {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "never closed: {open:?}");
        for loaded in ["<script", "<link", "<img", "src=", "url(", "@import", "http"] {
            assert!(!html.contains(loaded), "{loaded}");
        }
    }

    /// What each label of 12 pixels in a drawing takes at most: left, right, top and bottom, and its words.
    pub(crate) fn labels(drawing: &str) -> Vec<([f64; 4], String)> {
        let label = |text: &str| {
            let (attributes, words) = text.split('<').next().unwrap().split_once('>').unwrap();
            let attribute = |name: &str| attributes.split(&format!(" {name}=\"")).nth(1)?.split('"').next();
            let number = |name: &str| -> f64 { attribute(name).unwrap().parse().unwrap() };
            let (x, y) = (number("x"), number("y"));
            let width = words.chars().count() as f64 * 7.0;
            let left = match attribute("text-anchor") {
                Some("middle") => x - width / 2.0,
                Some("end") => x - width,
                _ => x,
            };
            ([left, left + width, y - 11.0, y + 3.0], words.to_owned())
        };
        drawing.split("<text").skip(1).map(label).collect()
    }

    #[test]
    fn text_cannot_break_out() {
        let html = frame("<b>\"&\u{1}", "", "<p>x</p>\n");
        assert_well_formed(&html);
        assert!(html.contains("<title>&lt;b&gt;&quot;&amp;\u{fffd}</title>"));
    }

    #[test]
    fn what_stands_between_backticks_is_code() {
        assert_eq!(prose("run `a <b>` or `c`."), "run <code>a &lt;b&gt;</code> or <code>c</code>.");
        assert_eq!(prose("a thread named x`y & z"), "a thread named x`y &amp; z");
        assert_eq!(prose("`a` and x`y"), "<code>a</code> and x`y");
        // The values of options break as they did, and so does what is too long for a line.
        let option = |name: &str| format!("<span class=\"option\">{name}</span>");
        let said = prose("`record -i 64@48kHz --comm='^a-b' x-y`");
        assert_eq!(said, format!("<code>record {} 64@48kHz {}='^a-b' x-y</code>", option("-i"), option("--comm")));
        let long = format!("--{}", "a".repeat(MAX_OPTION));
        assert_eq!(code(&long), format!("<code>{long}</code>"));
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!((number(14.7), number(2.0), number(1.0001)), ("14.7".into(), "2".into(), "1".into()));
        assert_eq!(
            (number(-1234.5), number(1e6), number(999.0)),
            ("-1,234.5".into(), "1,000,000".into(), "999".into())
        );
        assert_eq!((coordinate(3.0), coordinate(3.26), coordinate(10.0)), ("3".into(), "3.3".into(), "10".into()));
    }
}

//! What every page of `punctual reserve` has: the answer at its head, then its parts, then where it comes from.

use crate::NextStep;
use crate::encode::head::{Head, Part, standing};
use crate::encode::html::setting::{context, provenance};
use punctual_recording::Document;

/// The page, one file; `first` is the first recording of the study.
pub(super) fn standing_answer(
    title: &str,
    (verdict, notes): (&str, &[String]),
    next: &[NextStep],
    mut parts: Vec<Part>,
    first: Option<&Document>,
) -> String {
    if let Some(document) = first {
        let mut body =
            "<p class=\"soft\">Of the first recording; the others differ in what was tried.</p>\n".to_owned();
        provenance(&[("recording".to_owned(), document)]).0.html(&mut body);
        parts.push(Part::new("provenance", "Provenance", body));
    }
    let head = Head { title, context: &context("punctual reserve", first), verdict, next, warnings: notes, blind: &[] };
    standing(&head, &parts, "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::plain_page::tests::assert_well_formed;

    #[test]
    fn a_page_says_where_and_when_it_was_measured() {
        let document = include_str!("../../../cli/tests/golden/why.punctual/recording.json");
        let document: Document = serde_json::from_str(document).unwrap();
        let host = document.provenance.host.name.clone().unwrap();
        let page = |first| standing_answer("A reservation", ("It suffices.", &[]), &[], Vec::new(), first);
        let (known, unknown) = (page(Some(&document)), page(None));
        assert_well_formed(&known);
        assert!(known.contains(&format!("<p class=\"context\">punctual reserve · {host} · ")), "{known}");
        assert!(known.contains("<a href=\"#provenance\">") && known.contains("<th scope=\"row\">kernel</th>"));
        assert!(unknown.contains("<p class=\"context\">punctual reserve</p>") && !unknown.contains("#provenance"));
    }
}

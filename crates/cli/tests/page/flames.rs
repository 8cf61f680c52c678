//! The flame graph on the page of `why`.

use crate::browser::{between, browser, opened};
use crate::support::{self, punctual, skip, stderr};

const USE_FLAMES: &str = r#"
addEventListener('load', () => setTimeout(() => {
  const out = document.body.appendChild(document.createElement('pre'));
  out.id = 'used';
  const frames = [...document.querySelectorAll('.flames g')];
  const shown = () => frames.filter((frame) => frame.style.display !== 'none').length;
  const wide = (frame) => Number(frame.querySelector('rect').getAttribute('width'));
  const press = (frame, key) => frame.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  const at = () => document.activeElement.querySelector('title').textContent;
  const small = frames.find((frame) => frame.dataset.level === '1' && Number(frame.dataset.size) < 0.5);
  const all = shown();
  small.dispatchEvent(new MouseEvent('click', { bubbles: true }));
  out.append(`zoomed:${wide(small)}:${shown() < all}:${at() === small.querySelector('title').textContent}\n`);
  press(small, 'ArrowUp');
  out.append(`up:${document.activeElement.dataset.level}\n`);
  press(document.activeElement, 'Escape');
  out.append(`back:${shown() === all}:${wide(small) < 600}\n`);
  frames[0].focus();
  press(frames[0], 'ArrowDown');
  out.append(`down:${document.activeElement.dataset.level}\n`);
  const search = document.querySelector('.flames input');
  search.value = frames[0].querySelector('title').textContent.split(':')[0].toUpperCase();
  search.dispatchEvent(new Event('input'));
  out.append(`found:${frames[0].classList.contains('found')}:${document.querySelector('.said-of').textContent}\n`);
}, 300));"#;
#[test]
fn a_flame_graph_is_zoomed_searched_and_walked_with_keys() {
    const NAME: &str = "a_flame_graph_is_zoomed_searched_and_walked_with_keys";
    let Some(browser) = browser() else { return skip(NAME, "there is no chromium") };
    let golden = support::golden();
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("why.html");
    let output = punctual().current_dir(golden).args(["why", "why.punctual", "--html"]).arg(&page).output().unwrap();
    assert_eq!(support::code(&output), 0, "{}", stderr(&output));
    let (dom, complaints) = opened(&browser, &page, USE_FLAMES);
    assert!(!complaints.contains("CONSOLE"), "{complaints}");
    let used = between(&dom, "<pre id=\"used\">", "</pre>");
    for told in ["zoomed:1099.5:true:true", "up:0", "back:true:true", "down:1", "found:true:"] {
        assert!(used.lines().any(|line| line.starts_with(told)), "{told}: {used}");
    }
    assert!(used.contains(" found, ") && used.contains(" % of the lateness"), "{used}");
}

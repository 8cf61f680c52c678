//! What somebody did in the windows of a program, from what a display's server did with keys and buttons. Pure.
//!
//! Where the pointer was, and what was held, is known when a device reports something; whose it is, when the server tells
//! a client of it.

use super::super::write::{Happened, Size};
use super::super::{MAX_HAPPENED, MAX_NAMELESS, NotLearned};
use super::symbols::{Named, Symbols, holds_key};
use crate::display::clients::MAX_DEPTH;
use crate::display::told::Told;
use crate::display::windows::{Window, Windows};
use crate::script::{Act, Button, Direction, Spot};
use std::collections::{HashMap, VecDeque};
use std::time::Duration;
use x11rb::protocol::xproto::{
    BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, KEY_PRESS_EVENT, KEY_RELEASE_EVENT, MOTION_NOTIFY_EVENT,
};

/// How many presses are kept until it is known whose they are.
const MAX_WAITING: usize = 4_096;
/// What the server has told nobody of the program for this long is not the program's: a window manager may have it first.
const WHOSE_NS: u64 = 1_000_000_000;
/// A button that comes up this far from where it went down has dragged something, pixels: what toolkits begin with.
const DRAGGED: u16 = 8;
/// A pointer that is still for this long has stopped, ms.
const STOPPED_MS: u32 = 300;
/// Of the state of the mouse: a button is held.
const BUTTONS: u16 = 0x1f00;

/// What a device has reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reported {
    /// By the core protocol's number, 2 to 6.
    pub(super) kind: u8,
    /// The key or the button.
    pub(super) detail: u8,
    /// By the server's clock, ms.
    pub(super) time_ms: u32,
    /// Where the pointer was on the screen.
    pub(super) at: (i16, i16),
    /// What was held before.
    pub(super) state: u16,
}

/// What was pressed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    Key(Named),
    /// A button that waits for where it comes up.
    Button(Button),
    Wheel(Direction),
    OtherButton,
}

/// Something that was pressed, until it is known whose it is, and for a button where it comes up.
#[derive(Debug)]
struct Waiting {
    what: What,
    reported: Reported,
    told_ns: u64,
    /// The window in which scripts would do it, its size, and where in it that is; as it was then.
    window: Option<(u32, (u16, u16))>,
    spot: Option<Spot>,
    /// Whether that was the program's only one.
    is_only: bool,
    /// Whether the program has been told, and in the window in which scripts would do it.
    owner: Option<bool>,
    /// Where it came up.
    released: Option<(i16, i16)>,
    /// Whether something else was pressed while it was held.
    is_with_other: bool,
}

/// Notes what was done, and when.
pub(super) struct Listener {
    pub(super) windows: Windows,
    symbols: Symbols,
    waiting: VecDeque<Waiting>,
    pub(super) happened: Vec<Happened>,
    pub(super) not_learned: NotLearned,
    pub(super) too_many: u64,
    pub(super) nameless: Vec<String>,
    pub(super) nameless_keys: u64,
    /// When the last thing in the script was done, by the server's clock, ms; before that, when the last window was shown, ns.
    last_ms: Option<u32>,
    shown_ns: u64,
    /// The window in which it was done.
    last_window: Option<u32>,
    /// The size of the first one in which something was clicked.
    first_size: Option<(u16, u16)>,
    /// How large each window was when something was first done in it, and in how many clicks and turns since it was not.
    used: HashMap<u32, (u16, u16)>,
    pub(super) resized: u64,
    /// When the pointer was last moved on the program, ms, since something was last done.
    moved_ms: Option<u32>,
}

impl Listener {
    pub(super) fn new(symbols: Symbols, now_ns: u64) -> Listener {
        Listener {
            windows: Windows::default(),
            symbols,
            waiting: VecDeque::new(),
            happened: Vec::new(),
            not_learned: NotLearned::default(),
            too_many: 0,
            nameless: Vec::new(),
            nameless_keys: 0,
            last_ms: None,
            shown_ns: now_ns,
            last_window: None,
            first_size: None,
            used: HashMap::new(),
            resized: 0,
            moved_ms: None,
        }
    }

    /// What the script says of the size.
    pub(super) fn size(&self) -> Size {
        Size::Window { first: self.first_size, resized: self.resized }
    }

    /// A window with this number is made: what another one was does not matter any more.
    pub(super) fn is_anew(&mut self, window: u32) {
        self.used.remove(&window);
    }

    /// The keyboard is another one from now on.
    pub(super) fn has_symbols(&mut self, symbols: Symbols) {
        self.symbols = symbols;
    }

    /// Before anything is done, the person waits for what the program shows.
    pub(super) fn shown(&mut self, now_ns: u64) {
        self.shown_ns = now_ns;
    }

    /// A device has reported something.
    pub(super) fn reported(&mut self, reported: Reported, now_ns: u64) {
        match reported.kind {
            KEY_PRESS_EVENT => {
                let named = self.symbols.named(reported.detail, reported.state);
                self.pressed(What::Key(named), reported, now_ns);
            }
            BUTTON_PRESS_EVENT => {
                let what = match reported.detail {
                    1 => What::Button(Button::Left),
                    2 => What::Button(Button::Middle),
                    3 => What::Button(Button::Right),
                    4 => What::Wheel(Direction::Up),
                    5 => What::Wheel(Direction::Down),
                    6 => What::Wheel(Direction::Left),
                    7 => What::Wheel(Direction::Right),
                    _ => What::OtherButton,
                };
                self.pressed(what, reported, now_ns);
            }
            KEY_RELEASE_EVENT | BUTTON_RELEASE_EVENT => {
                let press = reported.kind - 1;
                let is_it = |one: &&mut Waiting| {
                    one.reported.kind == press && one.reported.detail == reported.detail && one.released.is_none()
                };
                if let Some(one) = self.waiting.iter_mut().find(is_it) {
                    one.released = Some(reported.at);
                }
            }
            MOTION_NOTIFY_EVENT if reported.state & BUTTONS == 0 => self.moved(reported),
            _ => {}
        }
    }

    fn pressed(&mut self, what: What, reported: Reported, now_ns: u64) {
        for one in self.waiting.iter_mut().filter(|one| one.released.is_none()) {
            one.is_with_other = true;
        }
        // Nobody knows any more where that came up.
        let is_same = |one: &Waiting| matches!(one.what, What::Button(_)) && one.what == what && one.released.is_none();
        let before = self.waiting.len();
        self.waiting.retain(|one| !is_same(one));
        self.not_learned.lost += (before - self.waiting.len()) as u64;
        if self.waiting.len() >= MAX_WAITING {
            self.not_learned.lost += 1;
            return;
        }
        if reported.kind == BUTTON_PRESS_EVENT {
            // It was moved to where this is.
            self.moved_ms = None;
        }
        let current = self.windows.current();
        self.waiting.push_back(Waiting {
            what,
            reported,
            told_ns: now_ns,
            window: current.map(|window| (window.id, (window.width, window.height))),
            spot: current.and_then(|window| window.spot_of(reported.at)),
            is_only: self.windows.usable().count() == 1,
            owner: None,
            released: None,
            is_with_other: false,
        });
    }

    fn moved(&mut self, to: Reported) {
        self.has_stopped(to.time_ms);
        let is_on_program = self.windows.usable().any(|window| window.spot_of(to.at).is_some());
        self.moved_ms = is_on_program.then_some(to.time_ms);
    }

    /// Counts a stop of the pointer, if that was one.
    fn has_stopped(&mut self, now_ms: u32) {
        if self.moved_ms.take_if(|moved| now_ms.wrapping_sub(*moved) > STOPPED_MS).is_some() {
            self.not_learned.hovers += 1;
        }
    }

    /// The server has told the program of something; `parent` is the window around a window.
    pub(super) fn told(&mut self, told: Told, parent: &mut dyn FnMut(u32) -> Option<u32>) {
        let is_it = |one: &&mut Waiting| {
            let Reported { kind, detail, time_ms, .. } = one.reported;
            (kind, u32::from(detail), time_ms) == (told.kind, told.detail, told.time_ms) && one.owner != Some(true)
        };
        for one in self.waiting.iter_mut().filter(is_it) {
            let fits = |window: &Window| window.is_passing || one.window.is_some_and(|(id, _)| id == window.id);
            let is_right = one.is_only || top_of(&self.windows, told.window, parent).is_some_and(fits);
            one.owner = Some(is_right);
        }
    }

    /// Writes down what is known by then.
    pub(super) fn settle(&mut self, now_ns: u64) {
        while let Some(first) = self.waiting.front() {
            let is_over = first.released.is_some();
            let is_known = match first.what {
                What::Button(_) => is_over,
                What::Key(Named::Held(_)) => is_over || first.is_with_other,
                _ => true,
            };
            let is_nobodys = first.owner.is_none() && now_ns.saturating_sub(first.told_ns) > WHOSE_NS;
            if !(is_nobodys || is_known && first.owner.is_some()) {
                return;
            }
            self.write_first();
        }
    }

    /// Nothing more comes.
    pub(super) fn end(&mut self) {
        while !self.waiting.is_empty() {
            self.write_first();
        }
        if self.moved_ms.take().is_some() {
            self.not_learned.hovers += 1;
        }
    }

    fn write_first(&mut self) {
        let Some(one) = self.waiting.pop_front() else { return };
        if self.leaves_out(&one) {
            return;
        }
        let time_ms = one.reported.time_ms;
        let since = |last: u32| u64::try_from(time_ms.wrapping_sub(last).cast_signed()).unwrap_or(0);
        let pause = match self.last_ms {
            Some(last) => Duration::from_millis(since(last)),
            None => Duration::from_nanos(one.told_ns.saturating_sub(self.shown_ns)),
        };
        let (Some((window, size)), Some(happened)) = (one.window, one.happened(pause)) else {
            self.not_learned.beside += 1;
            return;
        };
        if self.happened.len() + 1 >= MAX_HAPPENED {
            self.too_many += 1;
            return;
        }
        if self.last_window.replace(window).is_some_and(|last| last != window) {
            self.happened.push(Happened::OtherWindow);
        }
        let was = *self.used.entry(window).or_insert(size);
        if matches!(happened, Happened::Mouse { .. }) {
            self.first_size.get_or_insert(size);
            self.resized += u64::from(was != size);
        }
        self.last_ms = Some(time_ms);
        self.happened.push(happened);
    }

    /// Counts what no script can do, and returns whether it is that.
    fn leaves_out(&mut self, one: &Waiting) -> bool {
        let not = &mut self.not_learned;
        let is_mouse = matches!(one.what, What::Button(_) | What::Wheel(_));
        let is_dragged = one.released.is_some_and(|to| is_far(one.reported.at, to));
        let count = match (&one.what, one.owner) {
            (What::Key(Named::Switch), _) => return true,
            (What::Key(Named::Held(_)), owner) if owner.is_none() || one.is_with_other => return true,
            (_, None) => &mut not.elsewhere,
            (What::Key(Named::Nameless(name) | Named::Held(name)), _) => {
                if self.nameless.len() < MAX_NAMELESS && !self.nameless.contains(name) {
                    self.nameless.push(name.clone());
                }
                &mut self.nameless_keys
            }
            (What::OtherButton, _) => &mut not.other_buttons,
            _ if is_mouse && holds_key(one.reported.state) => &mut not.with_key_held,
            (What::Button(_), _) if is_dragged => &mut not.drags,
            (_, Some(false)) => &mut not.other_windows,
            _ => return false,
        };
        *count += 1;
        true
    }
}

impl Waiting {
    /// What happened in the window in which scripts would do it; `None`: that is beside it.
    fn happened(&self, pause: Duration) -> Option<Happened> {
        let mouse = |act: Act| Some(Happened::Mouse { act, at: self.spot?, pause });
        match &self.what {
            What::Key(Named::Key(name)) => Some(Happened::Key { name: name.clone(), pause }),
            What::Button(button) => mouse(Act::Click(*button)),
            What::Wheel(direction) => mouse(Act::Scroll(*direction)),
            _ => None,
        }
    }
}

/// The uppermost window of the program that a window is in, if that is there.
fn top_of<'a>(windows: &'a Windows, mut id: u32, parent: &mut dyn FnMut(u32) -> Option<u32>) -> Option<&'a Window> {
    for _ in 0..MAX_DEPTH {
        let Some(window) = windows.get(id) else {
            id = parent(id)?;
            continue;
        };
        // Whoever is told of a key may close the window before the server could be asked.
        let Some(around) = window.within else { return Some(window) };
        id = around;
    }
    None
}

fn is_far(from: (i16, i16), to: (i16, i16)) -> bool {
    from.0.abs_diff(to.0) > DRAGGED || from.1.abs_diff(to.1) > DRAGGED
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    /// The key with an a, and Shift.
    const A: u8 = 10;
    const HELD: u8 = 11;
    /// The program's window, and one within it.
    const WINDOW: u32 = 1;
    const WITHIN: u32 = 7;

    fn listener() -> Listener {
        let symbols = Symbols::new(A, 2, vec![0x61, 0x41, 0xffe1, 0]);
        let mut listener = Listener::new(symbols, 0);
        show(&mut listener, WINDOW, (100, 50), (200, 100));
        listener
    }

    fn show(listener: &mut Listener, window: u32, place: (i16, i16), size: (u16, u16)) {
        listener.windows.made(window, place, size, false);
        listener.windows.mapped(window, false);
    }

    fn report(listener: &mut Listener, kind: u8, detail: u8, time_ms: u32, at: (i16, i16)) {
        listener.reported(Reported { kind, detail, time_ms, at, state: 0 }, u64::from(time_ms) * MS);
    }

    /// The program is told of a press in this window.
    fn tell(listener: &mut Listener, kind: u8, detail: u8, time_ms: u32, window: u32) {
        let mut parent = |id: u32| (id == WITHIN).then_some(WINDOW);
        listener.told(Told { kind, detail: detail.into(), time_ms, window }, &mut parent);
    }

    fn press(listener: &mut Listener, kind: u8, detail: u8, time_ms: u32, at: (i16, i16)) {
        report(listener, kind, detail, time_ms, at);
        tell(listener, kind, detail, time_ms, WITHIN);
    }

    fn click(listener: &mut Listener, button: u8, time_ms: u32, at: (i16, i16), to: (i16, i16)) {
        press(listener, BUTTON_PRESS_EVENT, button, time_ms, at);
        report(listener, BUTTON_RELEASE_EVENT, button, time_ms, to);
    }

    /// What was done, where, and the pauses before, ms.
    fn done(listener: &Listener) -> Vec<(String, u128)> {
        let one = |one: &Happened| match one {
            Happened::Key { name, pause } => (name.clone(), pause.as_millis()),
            Happened::Mouse { act, at, pause } => (format!("{} {at}", act.label()), pause.as_millis()),
            other => (format!("{other:?}"), 0),
        };
        listener.happened.iter().map(one).collect()
    }

    fn expected<const COUNT: usize>(all: [(&str, u128); COUNT]) -> Vec<(String, u128)> {
        all.map(|(what, ms)| (what.to_owned(), ms)).to_vec()
    }

    #[test]
    fn keys_clicks_and_turns_have_their_place_their_order_and_their_pauses() {
        let mut listener = listener();
        listener.shown(500 * MS);
        press(&mut listener, KEY_PRESS_EVENT, A, 800, (0, 0));
        // The second key goes down while the button is held.
        press(&mut listener, BUTTON_PRESS_EVENT, 1, 900, (110, 70));
        press(&mut listener, KEY_PRESS_EVENT, A, 950, (0, 0));
        listener.settle(951 * MS);
        assert_eq!(listener.happened.len(), 1, "it is not known yet whether something is dragged");
        report(&mut listener, BUTTON_RELEASE_EVENT, 1, 990, (113, 70));
        // Two notches in one millisecond.
        report(&mut listener, BUTTON_PRESS_EVENT, 5, 1_200, (110, 70));
        report(&mut listener, BUTTON_PRESS_EVENT, 5, 1_200, (110, 70));
        tell(&mut listener, BUTTON_PRESS_EVENT, 5, 1_200, WINDOW);
        listener.settle(1_201 * MS);
        let all = [("a", 300), ("left 10 20", 100), ("a", 50), ("down 10 20", 250), ("down 10 20", 0)];
        assert_eq!(done(&listener), expected(all));
        assert_eq!(listener.not_learned, NotLearned::default());
        assert_eq!(listener.size(), Size::Window { first: Some((200, 100)), resized: 0 });
    }

    #[test]
    fn what_no_script_can_do_is_counted() {
        let mut listener = listener();
        click(&mut listener, 1, 100, (110, 70), (110, 79));
        let held = Reported { kind: BUTTON_PRESS_EVENT, detail: 4, time_ms: 200, at: (110, 70), state: 4 };
        listener.reported(held, 200 * MS);
        tell(&mut listener, BUTTON_PRESS_EVENT, 4, 200, WINDOW);
        click(&mut listener, 8, 300, (110, 70), (110, 70));
        click(&mut listener, 1, 400, (99, 70), (99, 70));
        press(&mut listener, KEY_PRESS_EVENT, HELD, 500, (0, 0));
        report(&mut listener, KEY_RELEASE_EVENT, HELD, 510, (0, 0));
        press(&mut listener, KEY_PRESS_EVENT, HELD, 600, (0, 0));
        press(&mut listener, KEY_PRESS_EVENT, A, 700, (0, 0));
        // It stops twice on the program, once beside it, and then goes to where something is clicked.
        for (time_ms, x) in [(1_000, 150), (1_010, 151), (1_500, 160), (2_000, 10), (2_500, 170), (2_600, 171)] {
            report(&mut listener, MOTION_NOTIFY_EVENT, 0, time_ms, (x, 70));
        }
        click(&mut listener, 2, 2_700, (171, 70), (171, 70));
        listener.settle(2_800 * MS);
        assert_eq!(done(&listener), expected([("a", 700), ("middle 71 20", 2_000)]));
        let not =
            NotLearned { drags: 1, with_key_held: 1, other_buttons: 1, beside: 1, hovers: 2, ..NotLearned::default() };
        assert_eq!(listener.not_learned, not);
        assert_eq!((listener.nameless_keys, listener.nameless), (1, vec!["shift alone".to_owned()]));
    }

    #[test]
    fn what_goes_to_others_is_not_kept_however_late_that_is_known() {
        let mut listener = listener();
        report(&mut listener, KEY_PRESS_EVENT, A, 100, (0, 0));
        press(&mut listener, KEY_PRESS_EVENT, A, 400, (0, 0));
        // Nobody pressed that: a program says so.
        tell(&mut listener, KEY_PRESS_EVENT, A, 333, WINDOW);
        listener.settle(500 * MS);
        assert_eq!(listener.happened.len(), 0, "a window manager may have the first key");
        listener.settle(1_200 * MS);
        listener.end();
        assert_eq!(done(&listener), expected([("a", 400)]));
        assert_eq!(listener.not_learned, NotLearned { elsewhere: 1, ..NotLearned::default() });
    }

    #[test]
    fn only_the_window_that_was_shown_last_is_one_that_scripts_know() {
        let mut listener = listener();
        click(&mut listener, 1, 100, (110, 70), (110, 70));
        show(&mut listener, 2, (150, 60), (80, 80));
        press(&mut listener, KEY_PRESS_EVENT, A, 200, (0, 0));
        click(&mut listener, 1, 300, (155, 70), (155, 70));
        for (time_ms, window) in [(400, 2), (450, 99)] {
            report(&mut listener, KEY_PRESS_EVENT, A, time_ms, (0, 0));
            tell(&mut listener, KEY_PRESS_EVENT, A, time_ms, window);
        }
        listener.settle(500 * MS);
        // A click closes it.
        report(&mut listener, BUTTON_PRESS_EVENT, 3, 600, (155, 70));
        tell(&mut listener, BUTTON_PRESS_EVENT, 3, 600, 2);
        listener.windows.gone(2);
        report(&mut listener, BUTTON_RELEASE_EVENT, 3, 601, (155, 70));
        // A menu has the keys and clicks of the window below it.
        listener.windows.made(3, (120, 60), (50, 50), true);
        listener.windows.mapped(3, true);
        report(&mut listener, BUTTON_PRESS_EVENT, 1, 700, (130, 70));
        tell(&mut listener, BUTTON_PRESS_EVENT, 1, 700, 3);
        listener.end();
        let all = [
            ("left 10 20", 100),
            ("OtherWindow", 0),
            ("a", 300),
            ("right 5 10", 200),
            ("OtherWindow", 0),
            ("left 30 20", 100),
        ];
        assert_eq!(done(&listener), expected(all));
        // In the first window while the second one is shown, and in one that was gone before it could be asked whose it is.
        assert_eq!(listener.not_learned, NotLearned { other_windows: 3, ..NotLearned::default() });
    }

    #[test]
    fn keys_belong_to_the_window_around_the_one_that_was_put_into_it() {
        let mut listener = listener();
        show(&mut listener, 2, (300, 50), (80, 80));
        // Made directly on the screen, then put into the second one, and shown after that.
        listener.windows.made(WITHIN, (300, 82), (80, 48), false);
        listener.windows.reparented(WITHIN, Some(2));
        listener.windows.mapped(WITHIN, false);
        let mut parent = |_| None;
        for (kind, detail, time_ms, window) in
            [(KEY_PRESS_EVENT, A, 100, 2), (KEY_PRESS_EVENT, A, 150, WITHIN), (BUTTON_PRESS_EVENT, 4, 250, WITHIN)]
        {
            report(&mut listener, kind, detail, time_ms, (310, 90));
            listener.told(Told { kind, detail: detail.into(), time_ms, window }, &mut parent);
        }
        listener.end();
        assert_eq!(done(&listener), expected([("a", 100), ("a", 50), ("up 10 40", 100)]));
        assert_eq!(listener.not_learned, NotLearned::default());
    }

    #[test]
    fn clicks_in_a_window_that_has_another_size_than_at_first_are_counted() {
        let mut listener = listener();
        press(&mut listener, KEY_PRESS_EVENT, A, 100, (0, 0));
        click(&mut listener, 1, 200, (110, 70), (110, 70));
        listener.windows.changed(WINDOW, (100, 50), (400, 300));
        click(&mut listener, 1, 300, (410, 70), (410, 70));
        press(&mut listener, BUTTON_PRESS_EVENT, 4, 400, (410, 70));
        press(&mut listener, KEY_PRESS_EVENT, A, 500, (0, 0));
        listener.windows.changed(WINDOW, (90, 40), (200, 100));
        click(&mut listener, 1, 600, (110, 70), (110, 70));
        listener.settle(601 * MS);
        assert_eq!(listener.size(), Size::Window { first: Some((200, 100)), resized: 2 });
        listener.is_anew(WINDOW);
        listener.windows.changed(WINDOW, (90, 40), (90, 90));
        click(&mut listener, 1, 700, (110, 70), (110, 70));
        listener.end();
        assert_eq!((listener.resized, listener.happened.len()), (2, 7));
    }

    #[test]
    fn a_display_that_is_flooded_costs_no_more_than_a_bound_and_says_so() {
        let mut listener = listener();
        (0..MAX_WAITING as u32 + 7).for_each(|time_ms| report(&mut listener, KEY_PRESS_EVENT, A, time_ms, (0, 0)));
        assert_eq!((listener.waiting.len(), listener.not_learned.lost), (MAX_WAITING, 7));
        listener.end();
        for time_ms in 0..MAX_HAPPENED as u32 + 5 {
            press(&mut listener, KEY_PRESS_EVENT, A, time_ms, (0, 0));
            listener.settle(0);
        }
        assert!(listener.happened.len() <= MAX_HAPPENED);
        assert_eq!(listener.happened.len() as u64 + listener.too_many, MAX_HAPPENED as u64 + 5);
    }

    #[test]
    fn a_button_that_never_came_up_keeps_nothing_back() {
        let mut listener = listener();
        press(&mut listener, BUTTON_PRESS_EVENT, 1, 100, (110, 70));
        press(&mut listener, KEY_PRESS_EVENT, A, 200, (0, 0));
        click(&mut listener, 1, 300, (120, 70), (120, 70));
        listener.settle(301 * MS);
        assert_eq!(done(&listener), expected([("a", 200), ("left 20 20", 100)]));
        assert_eq!(listener.not_learned, NotLearned { lost: 1, ..NotLearned::default() });
    }

    #[test]
    fn the_servers_clock_begins_anew_and_never_goes_back() {
        let mut listener = listener();
        for time_ms in [u32::MAX - 99, 50, 20] {
            press(&mut listener, KEY_PRESS_EVENT, A, time_ms, (0, 0));
        }
        listener.settle(0);
        let pauses: Vec<u128> = done(&listener).iter().skip(1).map(|(_, ms)| *ms).collect();
        assert_eq!(pauses, [150, 0]);
    }
}

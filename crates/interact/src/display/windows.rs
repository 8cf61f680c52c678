//! The windows on the display: which one gets the keys.

use crate::script::{Length, Spot};

/// How many windows of the program are remembered.
const MAX_WINDOWS: usize = 1_024;
/// Nobody uses a smaller window, pixels.
const MIN_SIDE: u16 = 10;

/// A window directly on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) id: u32,
    /// The corner of what is within its border.
    pub(crate) x: i16,
    pub(crate) y: i16,
    pub(crate) width: u16,
    pub(crate) height: u16,
    /// A menu or a hint, which takes no keys by itself.
    pub(crate) is_passing: bool,
    is_mapped: bool,
    /// It was put into this one of the program's windows, and is a part of that.
    pub(crate) within: Option<u32>,
}

impl Window {
    /// The same at another place.
    pub(crate) fn at(self, x: i16, y: i16) -> Window {
        Window { x, y, ..self }
    }

    /// A place in it, on the screen.
    pub(crate) fn on_screen(&self, spot: Spot) -> (i16, i16) {
        let along = |from: i16, length: u32| i16::try_from(i64::from(from) + i64::from(length)).unwrap_or(i16::MAX);
        (along(self.x, spot.x.within(self.width.into())), along(self.y, spot.y.within(self.height.into())))
    }

    /// Where in it a place on the screen is; `None`: that is beside it.
    pub(crate) fn spot_of(&self, (x, y): (i16, i16)) -> Option<Spot> {
        let along = |from: i16, length: u16, at: i16| {
            let pixels = i32::from(at) - i32::from(from);
            (0..i32::from(length)).contains(&pixels).then_some(Length::Pixels(pixels))
        };
        Some(Spot { x: along(self.x, self.width, x)?, y: along(self.y, self.height, y)? })
    }

    /// Somebody can use it: it is shown, no part of another, takes keys, and is not too small.
    fn is_usable(&self) -> bool {
        self.is_mapped && self.within.is_none() && !self.is_passing && self.width >= MIN_SIDE && self.height >= MIN_SIDE
    }
}

/// The corner of what is within the border of a window, from that of the border.
pub(crate) fn within_border((x, y): (i16, i16), border: u16) -> (i16, i16) {
    let border = i16::try_from(border).unwrap_or(i16::MAX);
    (x.saturating_add(border), y.saturating_add(border))
}

/// All of them; the one that was shown last is the last.
#[derive(Debug, Default)]
pub(crate) struct Windows(Vec<Window>);

impl Windows {
    pub(crate) fn made(&mut self, id: u32, (x, y): (i16, i16), (width, height): (u16, u16), is_passing: bool) {
        self.gone(id);
        if self.0.len() < MAX_WINDOWS {
            self.0.push(Window { id, x, y, width, height, is_passing, is_mapped: false, within: None });
        }
    }

    pub(crate) fn changed(&mut self, id: u32, (x, y): (i16, i16), (width, height): (u16, u16)) {
        if let Some(window) = self.0.iter_mut().find(|window| window.id == id) {
            (window.x, window.y, window.width, window.height) = (x, y, width, height);
        }
    }

    /// From now on it is shown, above all others.
    pub(crate) fn mapped(&mut self, id: u32, is_passing: bool) {
        if let Some(at) = self.0.iter().position(|window| window.id == id) {
            let mut window = self.0.remove(at);
            (window.is_mapped, window.is_passing) = (true, is_passing);
            self.0.push(window);
        }
    }

    pub(crate) fn unmapped(&mut self, id: u32) {
        if let Some(window) = self.0.iter_mut().find(|window| window.id == id) {
            window.is_mapped = false;
        }
    }

    /// It was put into another window: one of the program's, of which it is a part from now on, or any other, as the screen
    /// or what a window manager puts around it.
    pub(crate) fn reparented(&mut self, id: u32, within: Option<u32>) {
        if let Some(window) = self.0.iter_mut().find(|window| window.id == id) {
            window.within = within;
        }
    }

    pub(crate) fn gone(&mut self, id: u32) {
        self.0.retain(|window| window.id != id);
    }

    /// The one that gets the keys: the last that was shown and takes them.
    pub(crate) fn current(&self) -> Option<&Window> {
        self.usable().next_back()
    }

    /// All in which somebody can do something.
    pub(crate) fn usable(&self) -> impl DoubleEndedIterator<Item = &Window> {
        self.0.iter().filter(|window| window.is_usable())
    }

    /// The one with this number.
    pub(crate) fn get(&self, id: u32) -> Option<&Window> {
        self.0.iter().find(|window| window.id == id)
    }

    /// The numbers of all.
    pub(crate) fn ids(&self) -> Vec<u32> {
        self.0.iter().map(|window| window.id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_window_that_is_shown_and_takes_keys_is_typed_into() {
        let mut windows = Windows::default();
        let current = |windows: &Windows| windows.current().map(|window| window.id);
        windows.made(1, (0, 0), (640, 480), false);
        assert_eq!(current(&windows), None);
        windows.mapped(1, false);
        windows.made(2, (10, 20), (1, 1), false);
        windows.mapped(2, false);
        windows.made(3, (10, 20), (100, 50), true);
        windows.mapped(3, true);
        assert_eq!(current(&windows), Some(1));
        windows.changed(2, (10, 20), (200, 100));
        assert_eq!(current(&windows), Some(2));
        let window = windows.current().unwrap();
        assert_eq!(window.on_screen(Spot::parse("50% -1").unwrap()), (110, 119));
        assert_eq!(window.spot_of((110, 119)), Some(Spot::parse("100 99").unwrap()));
        assert_eq!((window.spot_of((9, 119)), window.spot_of((110, 120))), (None, None));
        assert_eq!((windows.usable().count(), within_border((-3, 5), 2)), (2, (-1, 7)));
        // Toolkits make a window, put it into one around it and a menu bar, and show both.
        windows.reparented(2, Some(4));
        assert_eq!((current(&windows), windows.usable().count()), (Some(1), 1));
        windows.mapped(2, false);
        assert_eq!(current(&windows), Some(1));
        windows.reparented(2, None);
        assert_eq!(current(&windows), Some(2));
        windows.unmapped(2);
        assert_eq!(current(&windows), Some(1));
        windows.gone(1);
        assert_eq!(current(&windows), None);
    }
}

//! The windows on the display: which one gets the keys.

use crate::script::Spot;

/// How many windows of the program are remembered.
const MAX_WINDOWS: usize = 1_024;
/// Nobody uses a smaller window, pixels.
const MIN_SIDE: u16 = 10;

/// A window directly on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) id: u32,
    pub(super) x: i16,
    pub(super) y: i16,
    pub(super) width: u16,
    pub(super) height: u16,
    /// A menu or a hint, which takes no keys by itself.
    pub(super) is_passing: bool,
    is_mapped: bool,
}

impl Window {
    /// The same at another place.
    pub(super) fn at(self, x: i16, y: i16) -> Window {
        Window { x, y, ..self }
    }

    /// A place in it, on the screen.
    pub(super) fn on_screen(&self, spot: Spot) -> (i16, i16) {
        let along = |from: i16, length: u32| i16::try_from(i64::from(from) + i64::from(length)).unwrap_or(i16::MAX);
        (along(self.x, spot.x.within(self.width.into())), along(self.y, spot.y.within(self.height.into())))
    }
}

/// The corner of what is within the border of a window, from that of the border.
pub(super) fn within_border((x, y): (i16, i16), border: u16) -> (i16, i16) {
    let border = i16::try_from(border).unwrap_or(i16::MAX);
    (x.saturating_add(border), y.saturating_add(border))
}

/// All of them; the one that was shown last is the last.
#[derive(Debug, Default)]
pub(super) struct Windows(Vec<Window>);

impl Windows {
    pub(super) fn made(&mut self, id: u32, (x, y): (i16, i16), (width, height): (u16, u16), is_passing: bool) {
        self.gone(id);
        if self.0.len() < MAX_WINDOWS {
            self.0.push(Window { id, x, y, width, height, is_passing, is_mapped: false });
        }
    }

    pub(super) fn changed(&mut self, id: u32, (x, y): (i16, i16), (width, height): (u16, u16)) {
        if let Some(window) = self.0.iter_mut().find(|window| window.id == id) {
            (window.x, window.y, window.width, window.height) = (x, y, width, height);
        }
    }

    /// From now on it is shown, above all others.
    pub(super) fn mapped(&mut self, id: u32, is_passing: bool) {
        if let Some(at) = self.0.iter().position(|window| window.id == id) {
            let mut window = self.0.remove(at);
            (window.is_mapped, window.is_passing) = (true, is_passing);
            self.0.push(window);
        }
    }

    pub(super) fn unmapped(&mut self, id: u32) {
        if let Some(window) = self.0.iter_mut().find(|window| window.id == id) {
            window.is_mapped = false;
        }
    }

    pub(super) fn gone(&mut self, id: u32) {
        self.0.retain(|window| window.id != id);
    }

    /// The one that gets the keys: the last that was shown and takes them.
    pub(super) fn current(&self) -> Option<&Window> {
        let is_usable = |window: &&Window| {
            window.is_mapped && !window.is_passing && window.width >= MIN_SIDE && window.height >= MIN_SIDE
        };
        self.0.iter().rev().find(is_usable)
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
        assert_eq!(windows.current().unwrap().on_screen(Spot::parse("50% -1").unwrap()), (110, 119));
        assert_eq!(within_border((-3, 5), 2), (-1, 7));
        windows.unmapped(2);
        assert_eq!(current(&windows), Some(1));
        windows.gone(1);
        assert_eq!(current(&windows), None);
    }
}

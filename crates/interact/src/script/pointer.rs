//! Actions with a keyboard and a mouse.

/// The kind of input of a key that goes down, unless the script gives it one.
pub const PRESS: &str = "press";
/// That of a key that comes up.
pub const RELEASE: &str = "release";

/// What is put in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// A key, pressed and released.
    Key(super::Key),
    /// A key that goes down.
    KeyDown(super::Key),
    /// A key that comes up.
    KeyUp(super::Key),
    /// The pointer moves there.
    Point(Spot),
    /// A button is pressed and released.
    Click(Button),
    /// The wheel turns by a notch.
    Scroll(Direction),
}

/// A place in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    /// From the left.
    pub x: Length,
    /// From the top.
    pub y: Length,
}

/// A length in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// So many pixels; a negative number counts from the other side.
    Pixels(i32),
    /// So many thousandths of the window.
    Thousandths(u32),
}

/// A button of a mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Button {
    /// The first.
    Left,
    /// The second.
    Middle,
    /// The third.
    Right,
}

/// Which way a wheel is turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To what is further up.
    Up,
    /// To what is further down.
    Down,
    /// To the left.
    Left,
    /// To the right.
    Right,
}

/// Where the pointer is at first: in the middle of the window.
pub const MIDDLE: Spot = Spot { x: Length::Thousandths(500), y: Length::Thousandths(500) };
/// No window is larger than this, pixels.
const MAX_PIXELS: i32 = 32_767;

impl Act {
    /// Its name in scripts and answers.
    pub fn label(&self) -> String {
        match self {
            Act::Key(key) | Act::KeyDown(key) | Act::KeyUp(key) => key.label.clone(),
            Act::Point(spot) => format!("to {spot}"),
            Act::Click(button) => button.name().to_owned(),
            Act::Scroll(direction) => direction.name().to_owned(),
        }
    }

    /// Its key, if it is of the keyboard.
    pub fn key(&self) -> Option<&super::Key> {
        match self {
            Act::Key(key) | Act::KeyDown(key) | Act::KeyUp(key) => Some(key),
            Act::Point(_) | Act::Click(_) | Act::Scroll(_) => None,
        }
    }

    /// Whether a key comes up, and nothing else.
    pub fn is_release(&self) -> bool {
        matches!(self, Act::KeyUp(_))
    }

    /// Its kind of input, if a script does not say.
    pub fn kind(&self) -> &'static str {
        match self {
            Act::Key(key) => key.kind,
            Act::KeyDown(_) => PRESS,
            Act::KeyUp(_) => RELEASE,
            Act::Point(_) => "pointer",
            Act::Click(_) => "click",
            Act::Scroll(_) => "scroll",
        }
    }
}

impl Button {
    const ALL: [Button; 3] = [Button::Left, Button::Middle, Button::Right];

    fn name(self) -> &'static str {
        match self {
            Button::Left => "left",
            Button::Middle => "middle",
            Button::Right => "right",
        }
    }

    /// Its number in the X Window System.
    pub fn number(self) -> u8 {
        match self {
            Button::Left => 1,
            Button::Middle => 2,
            Button::Right => 3,
        }
    }

    /// The button of this name.
    ///
    /// # Errors
    /// What a name would be.
    pub fn named(name: &str) -> Result<Button, String> {
        let found = Button::ALL.into_iter().find(|button| button.name() == name);
        found.ok_or_else(|| format!("`{name}` is not a button: write left, middle or right"))
    }
}

impl Direction {
    const ALL: [Direction; 4] = [Direction::Up, Direction::Down, Direction::Left, Direction::Right];

    fn name(self) -> &'static str {
        match self {
            Direction::Up => "up",
            Direction::Down => "down",
            Direction::Left => "left",
            Direction::Right => "right",
        }
    }

    /// The button that represents it in the X Window System.
    pub fn number(self) -> u8 {
        match self {
            Direction::Up => 4,
            Direction::Down => 5,
            Direction::Left => 6,
            Direction::Right => 7,
        }
    }

    /// The direction of this name.
    ///
    /// # Errors
    /// What a name would be.
    pub fn named(name: &str) -> Result<Direction, String> {
        let found = Direction::ALL.into_iter().find(|direction| direction.name() == name);
        found.ok_or_else(|| format!("`{name}` is not a direction: write up, down, left or right"))
    }
}

impl Length {
    fn parse(word: &str) -> Option<Length> {
        if let Some(share) = word.strip_suffix('%') {
            let share: f64 = share.parse().ok()?;
            return (0.0..=100.0).contains(&share).then(|| Length::Thousandths((share * 10.0).round() as u32));
        }
        let pixels: i32 = word.parse().ok()?;
        (-MAX_PIXELS..=MAX_PIXELS).contains(&pixels).then_some(Length::Pixels(pixels))
    }

    /// Where that is in a window of so many pixels; always within it.
    pub fn within(self, size: u32) -> u32 {
        let last = size.saturating_sub(1);
        match self {
            Length::Pixels(pixels) if pixels < 0 => size.saturating_sub(pixels.unsigned_abs()).min(last),
            Length::Pixels(pixels) => pixels.unsigned_abs().min(last),
            Length::Thousandths(share) => {
                u32::try_from(u64::from(size) * u64::from(share) / 1_000).unwrap_or(last).min(last)
            }
        }
    }
}

impl Spot {
    /// From `50% 30`.
    ///
    /// # Errors
    /// What a place would be.
    pub fn parse(text: &str) -> Result<Spot, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let spot = match words[..] {
            [x, y] => Length::parse(x).zip(Length::parse(y)).map(|(x, y)| Spot { x, y }),
            _ => None,
        };
        spot.ok_or_else(|| {
            format!(
                "`{text}` is not a place in a window: write how far from the left and the top, in pixels (-20: from the other \
                 side) or percent, as in at = \"50% 40\""
            )
        })
    }
}

impl std::fmt::Display for Length {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Length::Pixels(pixels) => write!(to, "{pixels}"),
            Length::Thousandths(share) if share % 10 == 0 => write!(to, "{}%", share / 10),
            Length::Thousandths(share) => write!(to, "{}.{}%", share / 10, share % 10),
        }
    }
}

impl std::fmt::Display for Spot {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{} {}", self.x, self.y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lie_within_the_window() {
        for (text, shown, expected) in [
            ("50% 40", "50% 40", (320, 40)),
            (" 12.5%  -20 ", "12.5% -20", (80, 460)),
            ("0 0%", "0 0%", (0, 0)),
            ("100% 9999", "100% 9999", (639, 479)),
            ("-9999 -1", "-9999 -1", (0, 479)),
        ] {
            let spot = Spot::parse(text).unwrap();
            assert_eq!((spot.x.within(640), spot.y.within(480)), expected, "{text}");
            assert_eq!(spot.to_string(), shown);
        }
        for wrong in ["", "50%", "1 2 3", "a b", "101% 0", "40000 0", "-1% 0"] {
            assert!(Spot::parse(wrong).unwrap_err().contains("50% 40"), "{wrong}");
        }
        assert_eq!((MIDDLE.x.within(0), MIDDLE.x.within(1)), (0, 0));
    }

    #[test]
    fn buttons_and_directions_have_names() {
        assert_eq!(Button::named("middle").map(Button::number), Ok(2));
        assert_eq!(Direction::named("down").map(Direction::number), Ok(5));
        assert!(Button::named("first").unwrap_err().contains("left, middle or right"));
        assert!(Direction::named("back").unwrap_err().contains("up, down"));
    }
}

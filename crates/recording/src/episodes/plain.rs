//! The events of an episode, read as this program writes them.
//!
//! Nearly all of a line is numbers of events. A parser of JSON must expect anything at each of them; here a number is
//! digits and what comes after it, or the whole line is left to that parser.

use crate::episodes::episode::{Event, EventKind};

/// Reads a list of events, without spaces, from the beginning of a text; their times are left as they are written. Returns
/// them with the length of the list, or nothing if the text begins with anything else.
pub(super) fn events(text: &[u8]) -> Option<(Vec<Event>, usize)> {
    let mut numbers = Numbers { text, at: 0 };
    let mut events = Vec::new();
    numbers.expect(b'[')?;
    if text.get(numbers.at) == Some(&b']') {
        return Some((events, numbers.at + 1));
    }
    loop {
        numbers.expect(b'[')?;
        events.push(Event {
            at_ns: numbers.signed(b',')? as u64,
            cpu: numbers.number(b',')?.try_into().ok()?,
            kind: EventKind::from_code(numbers.number(b',')?)?,
            tid: numbers.number(b',')?.try_into().ok()?,
            priority: numbers.signed(b',')?.try_into().ok()?,
            context: numbers.number(b',')?.try_into().ok()?,
            steal_ns: numbers.number(b',')?,
            value: numbers.number(b',')?,
            extra: numbers.number(b',')?,
            name: numbers.number(b']')?.try_into().ok()?,
        });
        match numbers.byte()? {
            b',' => {}
            b']' => return Some((events, numbers.at)),
            _ => return None,
        }
    }
}

/// Numbers, one after the other.
struct Numbers<'a> {
    text: &'a [u8],
    at: usize,
}

impl Numbers<'_> {
    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.text.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.byte()? == byte).then_some(())
    }

    /// A number without a sign, and this byte after it.
    #[inline]
    fn number(&mut self, after: u8) -> Option<u64> {
        let begin = self.at;
        let mut value = 0_u64;
        loop {
            let byte = self.byte()?;
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                let digits = self.at - 1 - begin;
                let is_number = digits == 1 || digits > 1 && self.text[begin] != b'0';
                return (is_number && byte == after).then_some(value);
            }
            value = value.checked_mul(10)?.checked_add(digit.into())?;
        }
    }

    /// A number that may have a minus sign.
    #[inline]
    fn signed(&mut self, after: u8) -> Option<i64> {
        if self.text.get(self.at) != Some(&b'-') {
            return i64::try_from(self.number(after)?).ok();
        }
        self.at += 1;
        // In JSON, -0 is no whole number.
        let value = Some(self.number(after)?).filter(|value| *value != 0)?;
        0_i64.checked_sub_unsigned(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_written_by_this_program_is_left_to_the_parser() {
        const EVENT: &str = "[-5,1,2,3,-1,0,18446744073709551615,0,9,4]";
        let read = |text: &str| events(text.as_bytes());
        let (one, length) = read(&format!("[{EVENT}],\"samples\":[]")).unwrap();
        assert_eq!((one.len(), length), (1, EVENT.len() + 2));
        assert_eq!((one[0].at_ns as i64, one[0].kind, one[0].priority), (-5, EventKind::Waking, -1));
        assert_eq!((one[0].steal_ns, one[0].name), (u64::MAX, 4));
        assert_eq!(read("[]]").unwrap(), (Vec::new(), 2));
        assert_eq!(read(&format!("[{EVENT},{EVENT}]")).unwrap().0.len(), 2);
        let mut met = 0;
        for (from, to) in [
            ("[-5,", "[ -5,"),
            ("[-5,", "[-0,"),
            ("[-5,", "[-,"),
            ("[-5,", "[05,"),
            ("[-5,", "[,"),
            ("[-5,", "[5.0,"),
            ("[-5,", "[9223372036854775808,"),
            (",1,2,", ",1,200,"),
            (",1,2,", ",4294967296,2,"),
            (",1,2,", ",-1,2,"),
            (",3,-1,", ",3,-32769,"),
            ("18446744073709551615", "18446744073709551616"),
            (",9,4]", ",9,4,1]"),
            (",9,4]", ",9]"),
            (",9,4]", ",9,4"),
            (",9,4]", ",9,4} "),
            (",9,4]", ",9,4],"),
        ] {
            let text = format!("[{}]", EVENT.replace(from, to));
            assert_ne!(text, format!("[{EVENT}]"));
            assert_eq!(read(&text), None, "{text}");
            met += 1;
        }
        assert_eq!(met, 17);
        for text in ["", "[", "{}", "null", "[[", "[]"] {
            assert_eq!(read(text).is_some(), text == "[]", "{text}");
        }
    }
}

//! What was last found for a key, so that finding it again takes one comparison.
//!
//! Threads and their names come up again and again, and nothing that programs choose may make a table slow: behind this
//! is one whose hashes nobody can foresee.

/// A key that says where to look for it.
pub(crate) trait Placed: Eq + Copy {
    /// Any number that is the same for the same key; those of different keys should differ in their low bits.
    fn place(&self) -> usize;
}

impl Placed for u32 {
    fn place(&self) -> usize {
        *self as usize
    }
}

/// A thread's name, as the kernel keeps it.
impl Placed for [u8; 16] {
    fn place(&self) -> usize {
        let mixed = u128::from_ne_bytes(*self);
        let mixed = (mixed as u64 ^ (mixed >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 48) as usize
    }
}

/// Keeps the last value of each place; two keys of one place displace one another.
pub(crate) struct Recent<K, V>(Vec<Option<(K, V)>>);

/// A power of two.
const PLACES: usize = 256;

impl<K: Placed, V> Default for Recent<K, V> {
    fn default() -> Self {
        Recent((0..PLACES).map(|_| None).collect())
    }
}

impl<K: Placed, V> Recent<K, V> {
    /// What was put for this key, unless something has displaced it.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.0[key.place() & (PLACES - 1)].as_ref().filter(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// The same, to change it.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.0[key.place() & (PLACES - 1)].as_mut().filter(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// Keeps a value for a key. Returns what it displaces.
    pub(crate) fn put(&mut self, key: K, value: V) -> Option<V> {
        self.0[key.place() & (PLACES - 1)].replace((key, value)).map(|(_, value)| value)
    }

    /// Takes everything that is kept.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = V> {
        self.0.iter_mut().filter_map(|kept| kept.take().map(|(_, value)| value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_was_put_for_this_key() {
        let mut recent = Recent::default();
        let places = PLACES as u32;
        let (mut found, mut displaced) = (0, 0);
        for key in 0..3 * places {
            assert_eq!(recent.get(&key), None);
            displaced += usize::from(recent.put(key, key * 2).is_some());
            assert_eq!((recent.get(&key), recent.get(&(key + places))), (Some(&(key * 2)), None));
            found += usize::from(key >= places && recent.get(&(key - places)).is_none());
        }
        assert_eq!((found, displaced), (2 * PLACES, 2 * PLACES));
        assert_eq!(recent.take_all().count(), PLACES);
        assert_eq!(recent.take_all().count(), 0);
    }

    #[test]
    fn names_are_spread_and_told_apart() {
        let mut recent = Recent::default();
        let name = |number: u32| {
            let mut name = [0; 16];
            let text = format!("kworker/{number}:1");
            name[..text.len()].copy_from_slice(text.as_bytes());
            name
        };
        (0..32).for_each(|number| _ = recent.put(name(number), number));
        let kept = (0..32).filter(|&number| recent.get(&name(number)) == Some(&number)).count();
        assert!(kept >= 24, "{kept} of 32");
    }
}

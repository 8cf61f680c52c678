//! A table of codes as a type.

/// Makes an enumeration whose numbers and names are written beside its variants. Both are kept on disk or shared with
/// programs in the kernel: a number that was ever used never means anything else, whatever the order of the lines.
macro_rules! codes {
    (
        $(#[$about:meta])*
        pub enum $name:ident {
            $($(#[$meaning:meta])* $variant:ident = $code:literal, $text:literal;)+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[repr(u8)]
        pub enum $name {
            $($(#[$meaning])* #[cfg_attr(feature = "serde", serde(rename = $text))] $variant = $code,)+
        }

        impl $name {
            /// All of them, in the order in which they are shown.
            pub const ALL: [$name; [$($code),+].len()] = [$($name::$variant),+];

            /// Its number.
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// The one with this number.
            pub fn from_code(code: impl TryInto<u8>) -> Option<$name> {
                match code.try_into().ok()? {
                    $($code => Some($name::$variant),)+
                    _ => None,
                }
            }

            /// Its name in options, JSON and tables.
            pub const fn name(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)+
                }
            }

            /// The one with this name.
            pub fn from_name(name: &str) -> Option<$name> {
                match name {
                    $($text => Some($name::$variant),)+
                    _ => None,
                }
            }

            /// The name of the one with this number.
            pub fn name_of(code: impl TryInto<u8>) -> Option<&'static str> {
                $name::from_code(code).map($name::name)
            }

            /// Its variants as Rust spells them, with their numbers, for the header.
            #[allow(dead_code, reason = "not every table stands in the header")]
            pub(crate) const SPELT: [(&'static str, u8); $name::ALL.len()] = [$((stringify!($variant), $code)),+];
        }
    };
}

pub(crate) use codes;

//! The library, and its functions as `spandsp.h` of 0.0.6 declares them.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// The library whose functions have these signatures: one with another interface has another number. The dynamic loader
/// looks for it in its cache and its directories, and in those of `LD_LIBRARY_PATH`, unless this program has rights that its caller
/// lacks.
const NAME: &CStr = c"libspandsp.so.2";

/// Why there is no spandsp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// It is not installed, or cannot be loaded.
    #[error("spandsp cannot be loaded ({0}): apt-get install libspandsp2, or your distribution's equivalent")]
    NotLoaded(String),
    /// It lacks a function.
    #[error("this spandsp has no function {0}: version 0.0.6 of Debian's libspandsp2 has")]
    Without(&'static str),
    /// This program contains its C library, and so cannot load another.
    #[error("this program is linked statically and loads no libraries: for spandsp, build it with ./run")]
    Static,
}

/// A modem of the library: only it knows what is inside.
pub(crate) type State = *mut c_void;
pub(crate) type GetBit = unsafe extern "C" fn(*mut c_void) -> c_int;
pub(crate) type PutBit = unsafe extern "C" fn(*mut c_void, c_int);
pub(crate) type Receive = unsafe extern "C" fn(State, *const i16, c_int) -> c_int;
pub(crate) type Transmit = unsafe extern "C" fn(State, *mut i16, c_int) -> c_int;
pub(crate) type Power = unsafe extern "C" fn(State, f32);
pub(crate) type Free = unsafe extern "C" fn(State) -> c_int;
pub(crate) type DuplexInit =
    unsafe extern "C" fn(State, c_int, c_int, c_int, GetBit, *mut c_void, PutBit, *mut c_void) -> State;
pub(crate) type SenderInit = unsafe extern "C" fn(State, c_int, c_int, GetBit, *mut c_void) -> State;
pub(crate) type ReceiverInit = unsafe extern "C" fn(State, c_int, PutBit, *mut c_void) -> State;

/// Declares [`Library`] with a field for each function, and how they are found.
macro_rules! functions {
    ($($name:ident: $signature:ty,)*) => {
        /// The library's functions. It is loaded once and never unloaded.
        #[derive(Debug)]
        pub struct Library {
            $(pub(crate) $name: $signature,)*
        }

        impl Library {
            /// Finds every function.
            ///
            /// # Safety
            /// `handle` is that of a loaded library whose functions of these names have these signatures.
            unsafe fn find(handle: *mut c_void) -> Result<Library, Missing> {
                Ok(Library {
                    $($name: {
                        const SYMBOL: &str = concat!(stringify!($name), "\0");
                        // SAFETY: the handle is a library's, and the name ends with 0.
                        let address = unsafe { libc::dlsym(handle, SYMBOL.as_ptr().cast::<c_char>()) };
                        if address.is_null() {
                            return Err(Missing::Without(stringify!($name)));
                        }
                        // SAFETY: the caller says that the function has this signature.
                        unsafe { std::mem::transmute::<*mut c_void, $signature>(address) }
                    },)*
                })
            }
        }
    };
}

functions! {
    v22bis_init: DuplexInit,
    v22bis_rx: Receive,
    v22bis_rx_signal_cutoff: Power,
    v22bis_tx: Transmit,
    v22bis_tx_power: Power,
    v22bis_get_current_bit_rate: unsafe extern "C" fn(State) -> c_int,
    v22bis_free: Free,
    v17_tx_init: SenderInit,
    v17_tx: Transmit,
    v17_tx_power: Power,
    v17_tx_free: Free,
    v17_rx_init: ReceiverInit,
    v17_rx: Receive,
    v17_rx_signal_cutoff: Power,
    v17_rx_free: Free,
    v29_tx_init: SenderInit,
    v29_tx: Transmit,
    v29_tx_power: Power,
    v29_tx_free: Free,
    v29_rx_init: ReceiverInit,
    v29_rx: Receive,
    v29_rx_signal_cutoff: Power,
    v29_rx_free: Free,
    v27ter_tx_init: SenderInit,
    v27ter_tx: Transmit,
    v27ter_tx_power: Power,
    v27ter_tx_free: Free,
    v27ter_rx_init: ReceiverInit,
    v27ter_rx: Receive,
    v27ter_rx_signal_cutoff: Power,
    v27ter_rx_free: Free,
}

impl Library {
    /// Loads the library the first time, and says afterwards what came of that.
    ///
    /// # Errors
    /// If it is not there, or lacks a function.
    pub fn load() -> Result<&'static Library, Missing> {
        static LOADED: OnceLock<Result<Library, Missing>> = OnceLock::new();
        LOADED.get_or_init(|| Library::open(NAME)).as_ref().map_err(Clone::clone)
    }

    fn open(name: &CStr) -> Result<Library, Missing> {
        // A static C library would need the very libraries that it was built with, or crash.
        if cfg!(target_feature = "crt-static") {
            return Err(Missing::Static);
        }
        // SAFETY: the name ends with 0. Initializers that the library has run now; those of Debian's have no effect here.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            // SAFETY: it returns a string of the C library, or null; nothing else in this thread loads meanwhile.
            let error = unsafe { libc::dlerror() };
            if error.is_null() {
                return Err(Missing::NotLoaded("for no known reason".to_owned()));
            }
            // SAFETY: not null, and it ends with 0.
            let words = unsafe { CStr::from_ptr(error) }.to_string_lossy();
            return Err(Missing::NotLoaded(words.lines().next().unwrap_or_default().to_owned()));
        }
        // SAFETY: the handle is the library's; its name has the number of the interface that the signatures are of.
        unsafe { Library::find(handle) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_in_a_line_with_its_package() {
        let missing = Library::open(c"libspandsp-that-is-not-there.so.2").unwrap_err();
        let words = missing.to_string();
        assert!(words.contains("libspandsp-that-is-not-there.so.2"), "{words}");
        assert!(words.contains("apt-get install libspandsp2"), "{words}");
        assert!(!words.contains('\n'), "{words}");
    }

    #[test]
    fn a_library_that_is_another_is_refused_by_the_function_that_it_lacks() {
        assert_eq!(Library::open(c"libm.so.6").unwrap_err(), Missing::Without("v22bis_init"));
    }
}

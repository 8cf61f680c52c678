//! A program of GTK 3 that logs every event that GTK is given, by the name that GTK itself has for it: what
//! `tests/kernel/interact_toolkit.rs` holds the events of `punctual interact --toolkit` against.
//!
//! `interact_gtk LOG`: each line of the log is `at_ns name`. `interact_gtk check` ends with 77 where there is no GTK 3.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, OnceLock};

fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a structure that the call fills.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// `GEnumValue`.
#[repr(C)]
struct Named {
    value: c_int,
    name: *const c_char,
    nick: *const c_char,
}

type Handler = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// What is called for each event.
struct Handled {
    gtk_main_do_event: unsafe extern "C" fn(*mut c_void),
    g_enum_get_value: unsafe extern "C" fn(*mut c_void, c_int) -> *const Named,
    /// `GEnumClass` of the events' numbers.
    kinds: usize,
    log: Mutex<File>,
}

static HANDLED: OnceLock<Handled> = OnceLock::new();

/// A function of GTK, or of a library below it.
fn function(library: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: a library that stays open, and a name that ends with a 0.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    assert!(!found.is_null(), "{name:?} is in GTK 3");
    found
}

/// Writes down an event, and hands it to GTK.
unsafe extern "C" fn handle(event: *mut c_void, _: *mut c_void) {
    let handled = HANDLED.get().expect("set before any event");
    let at_ns = now_ns();
    // SAFETY: every `GdkEvent` begins with its number.
    let number = unsafe { event.cast::<c_int>().read() };
    // SAFETY: a class that is kept, and what it has of a number: names that last.
    let nick = unsafe {
        let named = (handled.g_enum_get_value)(handled.kinds as *mut c_void, number);
        named.as_ref().map(|named| CStr::from_ptr(named.nick).to_string_lossy().replace('-', "_"))
    };
    let nick = nick.unwrap_or_else(|| format!("type {number}"));
    let _ = writeln!(handled.log.lock().expect("one thread"), "{at_ns} {nick}");
    // SAFETY: the event that GTK was given, as GTK would have taken it.
    unsafe { (handled.gtk_main_do_event)(event) };
}

fn main() {
    // SAFETY: a name that ends with a 0.
    let gtk = unsafe { libc::dlopen(c"libgtk-3.so.0".as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if gtk.is_null() {
        std::process::exit(77);
    }
    let log = std::env::args().nth(1).expect("LOG");
    if log == "check" {
        return;
    }
    macro_rules! call {
        ($name:literal, fn($($kind:ty),*) $(-> $result:ty)?, $($given:expr),*) => {{
            type Called = unsafe extern "C" fn($($kind),*) $(-> $result)?;
            // SAFETY: the function of that name takes and gives these.
            let called = unsafe { std::mem::transmute::<*mut c_void, Called>(function(gtk, $name)) };
            // SAFETY: as its documentation has it, on the one thread that uses GTK.
            unsafe { called($($given),*) }
        }};
    }
    let none = std::ptr::null_mut::<c_void>();
    call!(c"gtk_init", fn(*mut c_void, *mut c_void), none, none);
    let kind = call!(c"gdk_event_type_get_type", fn() -> usize,);
    let kinds = call!(c"g_type_class_ref", fn(usize) -> *mut c_void, kind);
    // SAFETY: functions of these names take and give these.
    let (gtk_main_do_event, g_enum_get_value) = unsafe {
        (
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(function(gtk, c"gtk_main_do_event")),
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void, c_int) -> *const Named>(function(
                gtk,
                c"g_enum_get_value",
            )),
        )
    };
    let log = Mutex::new(File::create(log).expect("the log can be written"));
    let handled = Handled { gtk_main_do_event, g_enum_get_value, kinds: kinds as usize, log };
    assert!(HANDLED.set(handled).is_ok(), "once");
    let handler: Handler = handle;
    call!(c"gdk_event_handler_set", fn(Handler, *mut c_void, *mut c_void), handler, none, none);
    let window = call!(c"gtk_window_new", fn(c_uint) -> *mut c_void, 0);
    let text = call!(c"gtk_text_view_new", fn() -> *mut c_void,);
    call!(c"gtk_container_add", fn(*mut c_void, *mut c_void), window, text);
    call!(c"gtk_window_set_default_size", fn(*mut c_void, c_int, c_int), window, 300, 300);
    call!(c"gtk_widget_show_all", fn(*mut c_void), window);
    call!(c"gtk_main", fn(),);
}

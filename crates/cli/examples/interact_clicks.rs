//! A program with windows that logs each key and click that it is given, and where: what `tests/kernel/interact_learn_window.rs`
//! holds against what somebody did, and what a script does again.
//!
//! `interact_clicks LOG`: each line of the log is `key CODE STATE WINDOW` or `button NUMBER WINDOW X Y`. There is a window
//! within the first one. m moves that away, o opens a second one, p a menu that reaches beyond the first one; a click closes
//! both. w opens one as toolkits do: made on the screen, and put into another below what would be a menu bar. q ends it.

use std::fs::File;
use std::io::Write;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    ConfigureWindowAux, ConnectionExt as _, CreateWindowAux, EventMask, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;

/// A window's name, place, size and border, pixels.
type Shape = (&'static str, (i16, i16), (u16, u16), u16);

const FIRST: Shape = ("first", (20, 30), (300, 260), 2);
const INNER: Shape = ("inner", (150, 100), (100, 80), 1);
const SECOND: Shape = ("second", (250, 150), (200, 150), 0);
const MENU: Shape = ("menu", (60, 200), (120, 120), 1);

const WRAPPED: Shape = ("wrapped", (250, 150), (200, 118), 0);
/// How high a menu bar would be, pixels.
const BAR: u16 = 32;

struct Program {
    connection: RustConnection,
    root: Window,
    windows: Vec<(Window, &'static str)>,
    symbols: Vec<u32>,
    symbols_each: usize,
    first_key: u8,
    log: File,
}

impl Program {
    fn show(&mut self, shape: Shape, parent: Window) -> Window {
        let window = self.make(shape, parent);
        self.connection.map_window(window).and_then(|_| self.connection.flush()).expect("the window is shown");
        window
    }

    /// Shows a window within another one that is made after it.
    fn show_wrapped(&mut self) {
        let (name, place, (width, height), border) = WRAPPED;
        let inner = self.make(WRAPPED, self.root);
        let wrapper = self.make((name, place, (width, height + BAR), border), self.root);
        let connection = &self.connection;
        connection.reparent_window(inner, wrapper, 0, BAR.cast_signed()).expect("it is put into the other");
        for window in [wrapper, inner] {
            connection.map_window(window).expect("the window is shown");
        }
        connection.flush().expect("the server is there");
    }

    fn make(&mut self, (name, (x, y), (width, height), border): Shape, parent: Window) -> Window {
        let window = self.connection.generate_id().expect("an id");
        let wanted = CreateWindowAux::new()
            .background_pixel(0x00c0_c0c0)
            .override_redirect(u32::from(name == "menu"))
            .event_mask(EventMask::KEY_PRESS | EventMask::BUTTON_PRESS);
        let (depth, class, copied) =
            (x11rb::COPY_DEPTH_FROM_PARENT, WindowClass::INPUT_OUTPUT, x11rb::COPY_FROM_PARENT);
        let connection = &self.connection;
        connection
            .create_window(depth, window, parent, x, y, width, height, border, class, copied, &wanted)
            .expect("the window is asked for");
        self.windows.push((window, name));
        window
    }

    fn name(&self, window: Window) -> &'static str {
        self.windows.iter().find(|(id, _)| *id == window).map_or("?", |(_, name)| name)
    }

    fn close(&mut self, window: Window) {
        self.windows.retain(|(id, _)| *id != window);
        self.connection.destroy_window(window).and_then(|_| self.connection.flush()).expect("the window is closed");
    }
}

fn main() {
    let log = std::env::args().nth(1).expect("LOG");
    let (connection, screen) = x11rb::connect(None).expect("there is a display");
    let setup = connection.setup();
    let (first_key, last_key, root) = (setup.min_keycode, setup.max_keycode, setup.roots[screen].root);
    let mapping = connection.get_keyboard_mapping(first_key, last_key - first_key + 1).expect("asked");
    let mapping = mapping.reply().expect("a keyboard");
    let symbols_each = usize::from(mapping.keysyms_per_keycode);
    let (symbols, log) = (mapping.keysyms, File::create(log).expect("the log can be written"));
    let mut program = Program { connection, root, windows: Vec::new(), symbols, symbols_each, first_key, log };
    let first = program.show(FIRST, root);
    program.show(INNER, first);
    while let Ok(event) = program.connection.wait_for_event() {
        match event {
            Event::KeyPress(key) => {
                let name = program.name(key.event);
                let _ = writeln!(program.log, "key {} {} {name}", key.detail, u16::from(key.state));
                let at = usize::from(key.detail - program.first_key) * program.symbols_each;
                match program.symbols.get(at).and_then(|symbol| char::from_u32(*symbol)) {
                    Some('m') => {
                        let to = ConfigureWindowAux::new().x(90).y(70);
                        let moved = program.connection.configure_window(first, &to);
                        moved.and_then(|_| program.connection.flush()).expect("the window is moved");
                    }
                    Some('o') => drop(program.show(SECOND, program.root)),
                    Some('p') => drop(program.show(MENU, program.root)),
                    Some('w') => program.show_wrapped(),
                    Some('q') => return,
                    _ => {}
                }
            }
            Event::ButtonPress(pressed) => {
                let (number, x, y) = (pressed.detail, pressed.event_x, pressed.event_y);
                let name = program.name(pressed.event);
                let _ = writeln!(program.log, "button {number} {name} {x} {y}");
                if name == "second" || name == "menu" {
                    program.close(pressed.event);
                }
            }
            _ => {}
        }
    }
}

//! A program with a window that does a known thing for each key, draws, and logs it: what `tests/kernel/interact_x11.rs` holds
//! the split and what is seen against.
//!
//! `interact_window LOG [releases]`: each line of the log is `key begin_ns part_ns drawn_ns`, the time in which the known thing was done, and
//! when the server had drawn what came of it; `-` in place of the key where that cannot be told from something else. With `releases` it does the same once more
//! when a key comes up; else nobody tells it of that.

mod support;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use support::{compute, name_thread, now_ns, serve};
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    ChangeGCAux, ConnectionExt as _, CreateGCAux, CreateWindowAux, EventMask, Gcontext, Rectangle, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;

/// The cursor blinks this often.
const BLINK: Duration = Duration::from_millis(530);
/// Sides of the window, pixels.
const SIDE: u16 = 300;
/// What the cursor is drawn in, and where keys are drawn.
const CURSOR: Rectangle = Rectangle { x: 2, y: 2, width: 8, height: 16 };
const KEYS: Rectangle = Rectangle { x: 40, y: 40, width: 200, height: 200 };

struct Truth {
    connection: RustConnection,
    window: Window,
    pencil: Gcontext,
    /// Symbols of the keyboard's keys, from the first on.
    symbols: Vec<u32>,
    symbols_each: usize,
    first_key: u8,
    colour: u32,
    /// When the cursor was last drawn.
    blinked: Option<Instant>,
    log: File,
    server: Child,
}

impl Truth {
    fn open(log: File, server: Child, takes_releases: bool) -> Truth {
        let (connection, screen) = x11rb::connect(None).expect("there is a display");
        let setup = connection.setup();
        let (first_key, last_key) = (setup.min_keycode, setup.max_keycode);
        let screen = &setup.roots[screen];
        let window = connection.generate_id().expect("an id");
        let pencil = connection.generate_id().expect("an id");
        let releases = if takes_releases { EventMask::KEY_RELEASE } else { EventMask::NO_EVENT };
        let wanted = CreateWindowAux::new()
            .background_pixel(screen.white_pixel)
            .event_mask(EventMask::KEY_PRESS | EventMask::BUTTON_PRESS | EventMask::EXPOSURE | releases);
        let (parent, depth, copied) = (screen.root, x11rb::COPY_DEPTH_FROM_PARENT, x11rb::COPY_FROM_PARENT);
        let class = WindowClass::INPUT_OUTPUT;
        connection
            .create_window(depth, window, parent, 20, 30, SIDE, SIDE, 0, class, copied, &wanted)
            .expect("the window is asked for");
        connection.create_gc(pencil, window, &CreateGCAux::new()).expect("the pencil is asked for");
        let mapping = connection.get_keyboard_mapping(first_key, last_key - first_key + 1).expect("asked");
        let mapping = mapping.reply().expect("a keyboard");
        let symbols_each = usize::from(mapping.keysyms_per_keycode);
        connection.map_window(window).and_then(|_| connection.flush()).expect("the window is shown");
        let symbols = mapping.keysyms;
        Truth { connection, window, pencil, symbols, symbols_each, first_key, colour: 0, blinked: None, log, server }
    }

    fn letter(&self, key: u8) -> char {
        let at = usize::from(key - self.first_key) * self.symbols_each;
        self.symbols.get(at).and_then(|symbol| char::from_u32(*symbol)).unwrap_or('?')
    }

    /// Draws in another colour than before.
    fn draw(&mut self, where_to: Rectangle) {
        self.colour = (self.colour + 0x0030_5711) & 0x00ff_ffff;
        let colour = ChangeGCAux::new().foreground(self.colour);
        let _ = self.connection.change_gc(self.pencil, &colour);
        let _ = self.connection.poly_fill_rectangle(self.window, self.pencil, &[where_to]);
        self.connection.flush().expect("the server is there");
    }

    /// Waits for the server for so many ms; whether it has told something.
    fn has_something_within(&self, ms: i32) -> bool {
        let mut poll = libc::pollfd { fd: self.connection.stream().as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure, which lives through the call.
        unsafe { libc::poll(&raw mut poll, 1, ms) != 0 }
    }

    /// Does what a key stands for, and draws where it stands for something.
    fn handle(&mut self, key: char, blink: Instant) {
        let begin_ns = now_ns();
        let began = Instant::now();
        match key {
            'c' => compute(Duration::from_millis(5)),
            't' => std::thread::sleep(Duration::from_millis(25)),
            'r' => {
                // A repaint timer: back to waiting for the display until it is due.
                self.has_something_within(20);
            }
            'a' => {
                let (input, output) = (self.server.stdin.as_mut(), self.server.stdout.as_mut());
                let _ = input.expect("a pipe").write_all(b"q");
                let _ = output.expect("a pipe").read_exact(&mut [0]);
            }
            _ => {}
        }
        let part_ns = now_ns() - begin_ns;
        if key != 'n' {
            self.draw(KEYS);
        }
        // What the server answers, it answers after it has drawn.
        let _ = self.connection.get_input_focus().map(|cookie| cookie.reply());
        // What is drawn in one go with the cursor cannot be told from it, nor a repaint timer that is due with the cursor's.
        let nearly = if key == 'r' { Duration::from_millis(20) } else { Duration::from_millis(2) };
        let comes = Instant::now() + nearly >= blink;
        let came = self.blinked.is_some_and(|blinked| began < blinked + Duration::from_millis(5));
        let key = if comes || came { '-' } else { key };
        let _ = writeln!(self.log, "{key} {begin_ns} {part_ns} {}", now_ns());
    }

    /// Waits for events until then; false once there will be none any more.
    fn wait_until(&mut self, until: Instant) -> bool {
        loop {
            match self.connection.poll_for_event() {
                Ok(Some(Event::KeyPress(moved) | Event::KeyRelease(moved))) => {
                    let letter = self.letter(moved.detail);
                    self.handle(letter, until);
                }
                Ok(Some(Event::ButtonPress(pressed))) => {
                    self.handle(if pressed.detail == 1 { '1' } else { '4' }, until)
                }
                Ok(Some(Event::Expose(_))) => self.draw(KEYS),
                Ok(Some(_)) => {}
                Err(_) => return false,
                Ok(None) => {
                    let left = until.saturating_duration_since(Instant::now()).as_millis() as i32;
                    if !self.has_something_within(left) {
                        return true;
                    }
                }
            }
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if words.get(1).map(String::as_str) == Some("serve") {
        return serve(c"window-server");
    }
    let [_, log, more @ ..] = &words[..] else { panic!("LOG [releases]") };
    name_thread(c"window");
    let own = std::env::current_exe().expect("this program");
    let mut command = Command::new(own);
    let server = command.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let takes_releases = more.first().is_some_and(|word| word == "releases");
    let mut truth = Truth::open(File::create(log).expect("the log can be written"), server, takes_releases);
    let mut blink = Instant::now() + BLINK;
    while truth.wait_until(blink) {
        truth.draw(CURSOR);
        truth.blinked = Some(Instant::now());
        blink += BLINK;
    }
}

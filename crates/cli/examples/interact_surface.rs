//! A Wayland program that does a known thing for each key, draws, and logs it: what `tests/kernel/interact_wayland.rs` holds the
//! split and what is seen against.
//!
//! `interact_surface LOG`: each line of the log is `key begin_ns part_ns shown_ns`, the time in which the known thing was done, and
//! when the compositor has said that it has shown the picture that came of it; `-` in place of the key where that cannot be told from
//! something else.

mod support;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use support::{compute, name_thread, now_ns, serve};
use wayland_client::globals::{GlobalListContents, registry_queue_init};
use wayland_client::protocol::wl_buffer::{Event as BufferEvent, WlBuffer};
use wayland_client::protocol::wl_callback::{Event as CallbackEvent, WlCallback};
use wayland_client::protocol::wl_compositor::WlCompositor;
use wayland_client::protocol::wl_keyboard::{Event as KeyEvent, KeyState, WlKeyboard};
use wayland_client::protocol::wl_pointer::{Event as PointerEvent, WlPointer};
use wayland_client::protocol::wl_registry::WlRegistry;
use wayland_client::protocol::wl_seat::WlSeat;
use wayland_client::protocol::wl_shm::{Format, WlShm};
use wayland_client::protocol::wl_shm_pool::WlShmPool;
use wayland_client::protocol::wl_surface::WlSurface;
use wayland_client::{Connection, Dispatch, EventQueue, Proxy, QueueHandle, WEnum, delegate_noop};
use wayland_protocols::xdg::shell::client::xdg_surface::{Event as SurfaceEvent, XdgSurface};
use wayland_protocols::xdg::shell::client::xdg_toplevel::{Event as WindowEvent, XdgToplevel};
use wayland_protocols::xdg::shell::client::xdg_wm_base::{Event as ShellEvent, XdgWmBase};

/// The cursor blinks this often.
const BLINK: Duration = Duration::from_millis(830);
/// Sides of the picture, pixels; bytes of one.
const SIDE: usize = 300;
const PICTURE: usize = SIDE * SIDE * 4;
/// Pictures that there is room for: one is drawn while the compositor has another.
const PICTURES: usize = 4;

/// What is drawn: where the cursor is, and where keys are shown.
#[derive(Clone, Copy)]
enum Spot {
    Cursor,
    Keys,
}

/// What the compositor told.
#[derive(Default)]
struct Told {
    keys: Vec<u32>,
    buttons: usize,
    is_shown: bool,
    is_over: bool,
    /// Pictures that the compositor has.
    lent: Vec<u32>,
    /// When the compositor had shown the last picture.
    shown_ns: Option<u64>,
}

impl Dispatch<WlCallback, ()> for Told {
    fn event(told: &mut Told, _: &WlCallback, _: CallbackEvent, (): &(), _: &Connection, _: &QueueHandle<Told>) {
        told.shown_ns = Some(now_ns());
    }
}

impl Dispatch<WlKeyboard, ()> for Told {
    fn event(told: &mut Told, _: &WlKeyboard, event: KeyEvent, (): &(), _: &Connection, _: &QueueHandle<Told>) {
        if let KeyEvent::Key { key, state: WEnum::Value(KeyState::Pressed), .. } = event {
            told.keys.push(key);
        }
    }
}

impl Dispatch<WlPointer, ()> for Told {
    fn event(told: &mut Told, _: &WlPointer, event: PointerEvent, (): &(), _: &Connection, _: &QueueHandle<Told>) {
        if let PointerEvent::Button { .. } = event {
            told.buttons += 1;
        }
    }
}

impl Dispatch<WlBuffer, ()> for Told {
    fn event(told: &mut Told, buffer: &WlBuffer, _: BufferEvent, (): &(), _: &Connection, _: &QueueHandle<Told>) {
        told.lent.retain(|lent| *lent != buffer.id().protocol_id());
    }
}

impl Dispatch<XdgSurface, ()> for Told {
    fn event(
        told: &mut Told,
        surface: &XdgSurface,
        event: SurfaceEvent,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Told>,
    ) {
        if let SurfaceEvent::Configure { serial } = event {
            surface.ack_configure(serial);
            told.is_shown = true;
        }
    }
}

impl Dispatch<XdgToplevel, ()> for Told {
    fn event(told: &mut Told, _: &XdgToplevel, event: WindowEvent, (): &(), _: &Connection, _: &QueueHandle<Told>) {
        told.is_over |= matches!(event, WindowEvent::Close);
    }
}

impl Dispatch<XdgWmBase, ()> for Told {
    fn event(_: &mut Told, shell: &XdgWmBase, event: ShellEvent, (): &(), _: &Connection, _: &QueueHandle<Told>) {
        if let ShellEvent::Ping { serial } = event {
            shell.pong(serial);
        }
    }
}

impl Dispatch<WlRegistry, GlobalListContents> for Told {
    fn event(
        _: &mut Told,
        _: &WlRegistry,
        _: <WlRegistry as Proxy>::Event,
        _: &GlobalListContents,
        _: &Connection,
        _: &QueueHandle<Told>,
    ) {
    }
}

delegate_noop!(Told: ignore WlSeat);
delegate_noop!(Told: ignore WlShm);
delegate_noop!(Told: ignore WlSurface);
delegate_noop!(Told: ignore WlCompositor);
delegate_noop!(Told: WlShmPool);

/// A thread that keeps a lock for 10 ms whenever it is told to.
fn holder(lock: Arc<Mutex<()>>, orders: &Receiver<()>, has_it: &SyncSender<()>) {
    name_thread(c"holder");
    while orders.recv().is_ok() {
        let kept = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = has_it.send(());
        compute(Duration::from_millis(10));
        drop(kept);
    }
}

struct Truth {
    queue: EventQueue<Told>,
    told: Told,
    surface: WlSurface,
    pictures: Vec<WlBuffer>,
    memory: File,
    colour: u8,
    blinked: Option<Instant>,
    log: File,
    server: Child,
    lock: Arc<Mutex<()>>,
    orders: SyncSender<()>,
    has_it: Receiver<()>,
}

impl Truth {
    fn open(log: File, server: Child) -> Truth {
        let connection = Connection::connect_to_env().expect("there is a compositor");
        let (globals, queue) = registry_queue_init::<Told>(&connection).expect("it says what it has");
        let handle = queue.handle();
        let compositor: WlCompositor = globals.bind(&handle, 4..=4, ()).expect("surfaces");
        let memory_manager: WlShm = globals.bind(&handle, 1..=1, ()).expect("memory");
        let shell: XdgWmBase = globals.bind(&handle, 1..=1, ()).expect("windows");
        let seat: WlSeat = globals.bind(&handle, 1..=1, ()).expect("a seat");
        seat.get_keyboard(&handle, ());
        seat.get_pointer(&handle, ());
        let surface = compositor.create_surface(&handle, ());
        let window = shell.get_xdg_surface(&surface, &handle, ());
        window.get_toplevel(&handle, ()).set_title("truth".to_owned());
        surface.commit();
        let memory = rustix::fs::memfd_create("truth", rustix::fs::MemfdFlags::CLOEXEC).expect("memory");
        rustix::fs::ftruncate(&memory, (PICTURE * PICTURES) as u64).expect("enough of it");
        let pool = memory_manager.create_pool(memory.as_fd(), (PICTURE * PICTURES) as i32, &handle, ());
        let side = SIDE as i32;
        let picture =
            |at: usize| pool.create_buffer((at * PICTURE) as i32, side, side, side * 4, Format::Xrgb8888, &handle, ());
        let pictures = (0..PICTURES).map(picture).collect();
        let lock = Arc::new(Mutex::new(()));
        let (orders, received) = sync_channel(1);
        let (has, has_it) = sync_channel(1);
        let shared = lock.clone();
        std::thread::spawn(move || holder(shared, &received, &has));
        Truth {
            queue,
            told: Told::default(),
            surface,
            pictures,
            memory: memory.into(),
            colour: 0,
            blinked: None,
            log,
            server,
            lock,
            orders,
            has_it,
        }
    }

    /// Draws in another colour than before.
    fn draw(&mut self, spot: Spot) {
        self.colour = self.colour.wrapping_add(0x35);
        let (x, y, width, height) = match spot {
            Spot::Cursor => (2, 2, 8, 16),
            Spot::Keys => (40, 40, 200, 200),
        };
        let is_free = |picture: &&WlBuffer| !self.told.lent.contains(&picture.id().protocol_id());
        let Some(at) = self.pictures.iter().position(|picture| is_free(&picture)) else { return };
        let row = vec![self.colour; width * 4];
        for line in y..y + height {
            let place = at * PICTURE + (line * SIDE + x) * 4;
            self.memory.write_all_at(&row, place as u64).expect("memory can be written");
        }
        let picture = &self.pictures[at];
        self.told.lent.push(picture.id().protocol_id());
        self.surface.attach(Some(picture), 0, 0);
        self.surface.damage_buffer(x as i32, y as i32, width as i32, height as i32);
        if matches!(spot, Spot::Keys) {
            self.surface.frame(&self.queue.handle(), ());
        }
        self.surface.commit();
        self.queue.flush().expect("the compositor is there");
    }

    /// When what was drawn last was shown.
    fn was_shown(&mut self) -> u64 {
        let until = Instant::now() + Duration::from_millis(500);
        while self.told.shown_ns.is_none() && self.listens_until(until) {
            let _ = self.queue.dispatch_pending(&mut self.told);
        }
        self.told.shown_ns.take().unwrap_or_else(now_ns)
    }

    /// Waits for the compositor until then; whether it has told something.
    fn listens_until(&mut self, until: Instant) -> bool {
        let _ = self.queue.flush();
        let Some(reading) = self.queue.prepare_read() else { return true };
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let connection = reading.connection_fd();
        let mut waited = [PollFd::from_borrowed_fd(connection, PollFlags::IN)];
        if poll(&mut waited, Some(&timeout)).unwrap_or(0) == 0 {
            return false;
        }
        if reading.read().is_err() {
            std::process::exit(0);
        }
        true
    }

    /// Does what a key stands for, and draws where it stands for something.
    fn handle(&mut self, key: char, blink: Instant) {
        let (began, begin_ns) = (Instant::now(), now_ns());
        match key {
            'c' => compute(Duration::from_millis(5)),
            't' => std::thread::sleep(Duration::from_millis(25)),
            'r' => {
                // A repaint timer: back to waiting for the compositor until it is due.
                let due = Instant::now() + Duration::from_millis(25);
                while self.listens_until(due) {
                    let _ = self.queue.dispatch_pending(&mut self.told);
                }
            }
            'a' => {
                let (input, output) = (self.server.stdin.as_mut(), self.server.stdout.as_mut());
                let _ = input.expect("a pipe").write_all(b"q");
                let _ = output.expect("a pipe").read_exact(&mut [0]);
            }
            'l' => {
                let _ = self.orders.send(());
                let _ = self.has_it.recv();
                drop(self.lock.lock());
            }
            _ => {}
        }
        let part_ns = now_ns() - begin_ns;
        self.told.shown_ns = None;
        let shown_ns = if key == 'n' {
            now_ns()
        } else {
            self.draw(Spot::Keys);
            self.was_shown()
        };
        // What is shown in one go with the cursor cannot be told from it, nor a repaint timer that is due with the cursor's.
        let nearly = Duration::from_millis(if key == 'r' { 25 } else { 20 });
        let comes = Instant::now() + nearly >= blink;
        let came = self.blinked.is_some_and(|blinked| began < blinked + Duration::from_millis(40));
        let key = if comes || came { '-' } else { key };
        let _ = writeln!(self.log, "{key} {begin_ns} {part_ns} {shown_ns}");
    }

    /// Waits for keys until then; false once there will be none any more.
    fn wait_until(&mut self, until: Instant) -> bool {
        loop {
            if self.queue.dispatch_pending(&mut self.told).is_err() || self.told.is_over {
                return false;
            }
            if std::mem::take(&mut self.told.is_shown) {
                self.draw(Spot::Keys);
            }
            for key in std::mem::take(&mut self.told.keys) {
                let letter = LETTERS.iter().find(|(code, _)| *code == key).map_or('?', |(_, letter)| *letter);
                self.handle(letter, until);
            }
            for _ in 0..std::mem::take(&mut self.told.buttons) {
                self.handle('1', until);
            }
            // Some may have come while it waited for something else.
            let has_more = !self.told.keys.is_empty() || self.told.buttons > 0;
            if !has_more && !self.listens_until(until) {
                return true;
            }
        }
    }
}

/// The kernel's numbers of the keys that stand for something.
const LETTERS: [(u32, char); 6] = [(46, 'c'), (20, 't'), (19, 'r'), (30, 'a'), (38, 'l'), (49, 'n')];

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if words.get(1).map(String::as_str) == Some("serve") {
        return serve(c"surface-server");
    }
    let [_, log] = &words[..] else { panic!("LOG") };
    name_thread(c"surface");
    let own = std::env::current_exe().expect("this program");
    let mut command = Command::new(own);
    let server = command.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut truth = Truth::open(File::create(log).expect("the log can be written"), server);
    let mut blink = Instant::now() + BLINK;
    while truth.wait_until(blink) {
        truth.draw(Spot::Cursor);
        truth.blinked = Some(Instant::now());
        blink += BLINK;
    }
}

//! What the compositor reports: which windows exist, and when it has drawn something new.
//!
//! It is asked for a picture of one pixel, which it takes only once anything on its screen has changed, and then for
//! the next. Its screen changes at most once in a refresh, and by the next one it has been asked again.

use crate::terminal::Arrival;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::os::fd::{AsFd, OwnedFd};
use wayland_client::backend::ObjectId;
use wayland_client::globals::GlobalListContents;
use wayland_client::protocol::wl_buffer::WlBuffer;
use wayland_client::protocol::wl_output::WlOutput;
use wayland_client::protocol::wl_registry::WlRegistry;
use wayland_client::protocol::wl_seat::WlSeat;
use wayland_client::protocol::wl_shm::WlShm;
use wayland_client::protocol::wl_shm_pool::WlShmPool;
use wayland_client::{Connection, Dispatch, Proxy, QueueHandle, WEnum, delegate_noop, event_created_child};
use wayland_protocols_misc::zwp_virtual_keyboard_v1::client::zwp_virtual_keyboard_manager_v1::ZwpVirtualKeyboardManagerV1;
use wayland_protocols_misc::zwp_virtual_keyboard_v1::client::zwp_virtual_keyboard_v1::ZwpVirtualKeyboardV1;
use wayland_protocols_wlr::foreign_toplevel::v1::client::zwlr_foreign_toplevel_handle_v1::{
    Event as WindowEvent, ZwlrForeignToplevelHandleV1,
};
use wayland_protocols_wlr::foreign_toplevel::v1::client::zwlr_foreign_toplevel_manager_v1::{
    EVT_TOPLEVEL_OPCODE, Event as WindowsEvent, ZwlrForeignToplevelManagerV1,
};
use wayland_protocols_wlr::screencopy::v1::client::zwlr_screencopy_frame_v1::{
    Event as PictureEvent, ZwlrScreencopyFrameV1,
};
use wayland_protocols_wlr::screencopy::v1::client::zwlr_screencopy_manager_v1::ZwlrScreencopyManagerV1;
use wayland_protocols_wlr::virtual_pointer::v1::client::zwlr_virtual_pointer_manager_v1::ZwlrVirtualPointerManagerV1;
use wayland_protocols_wlr::virtual_pointer::v1::client::zwlr_virtual_pointer_v1::ZwlrVirtualPointerV1;

/// Bytes of a pixel.
const PIXEL_BYTES: u64 = 4;
/// How many pictures in a row may fail, as they do when the screen changes its size.
const MAX_FAILURES: u32 = 100;
/// How many windows are remembered.
const MAX_WINDOWS: usize = 1_024;

/// What was reported.
pub(super) struct Watcher {
    pictures: ZwlrScreencopyManagerV1,
    screen: WlOutput,
    memory: WlShm,
    /// The buffer for pictures.
    paper: Option<WlBuffer>,
    windows: Vec<ObjectId>,
    /// How much the next picture will have changed, bytes.
    changed: u64,
    /// What was drawn and not yet fetched.
    drawn: Option<Arrival>,
    failures: u32,
    /// Why nothing more is reported.
    trouble: Option<String>,
}

impl Watcher {
    pub(super) fn new(pictures: ZwlrScreencopyManagerV1, screen: WlOutput, memory: WlShm) -> Watcher {
        Watcher {
            pictures,
            screen,
            memory,
            paper: None,
            windows: Vec::new(),
            changed: 0,
            drawn: None,
            failures: 0,
            trouble: None,
        }
    }

    /// Asks for the next picture.
    pub(super) fn ask(&self, queue: &QueueHandle<Watcher>) {
        self.pictures.capture_output_region(0, &self.screen, 0, 0, 1, 1, queue, ());
    }

    pub(super) fn has_window(&self) -> bool {
        !self.windows.is_empty()
    }

    /// What was drawn since the last call.
    pub(super) fn take(&mut self) -> Result<Option<Arrival>, String> {
        self.trouble.take().map_or_else(|| Ok(self.drawn.take()), Err)
    }

    /// A buffer for a picture of this size and format.
    fn paper(
        &mut self,
        size: (u32, u32, u32),
        form: WEnum<wayland_client::protocol::wl_shm::Format>,
        queue: &QueueHandle<Watcher>,
    ) {
        let (width, height, stride) = size;
        let Ok(form) = form.into_result() else {
            self.trouble = Some("its pictures have an unknown format".to_owned());
            return;
        };
        let Some(bytes) = stride.checked_mul(height).filter(|bytes| *bytes <= 1 << 20) else {
            self.trouble = Some(format!("a picture of one pixel is {width} by {height}"));
            return;
        };
        match memory_of(u64::from(bytes)) {
            Ok(file) => {
                let pool = self.memory.create_pool(file.as_fd(), bytes as i32, queue, ());
                let paper = pool.create_buffer(0, width as i32, height as i32, stride as i32, form, queue, ());
                pool.destroy();
                self.paper = Some(paper);
            }
            Err(error) => self.trouble = Some(punctual_kernel::plain(&error.into())),
        }
    }
}

/// This much memory, as a file.
pub(super) fn memory_of(bytes: u64) -> rustix::io::Result<OwnedFd> {
    let file = memfd_create("punctual", MemfdFlags::CLOEXEC)?;
    ftruncate(&file, bytes)?;
    Ok(file)
}

impl Dispatch<ZwlrScreencopyFrameV1, ()> for Watcher {
    fn event(
        watcher: &mut Watcher,
        picture: &ZwlrScreencopyFrameV1,
        event: PictureEvent,
        (): &(),
        _: &Connection,
        queue: &QueueHandle<Watcher>,
    ) {
        match event {
            PictureEvent::Buffer { format, width, height, stride } if watcher.paper.is_none() => {
                watcher.paper((width, height, stride), format, queue);
            }
            PictureEvent::BufferDone => {
                if let Some(paper) = &watcher.paper {
                    picture.copy_with_damage(paper);
                }
            }
            PictureEvent::Damage { width, height, .. } => {
                watcher.changed += u64::from(width) * u64::from(height) * PIXEL_BYTES;
            }
            PictureEvent::Ready { tv_sec_hi, tv_sec_lo, tv_nsec } => {
                let seconds = u64::from(tv_sec_hi) << 32 | u64::from(tv_sec_lo);
                let at_ns = seconds.saturating_mul(1_000_000_000).saturating_add(tv_nsec.into());
                let before = watcher.drawn.map_or(0, |arrival| arrival.bytes);
                watcher.drawn = Some(Arrival { at_ns, bytes: before + std::mem::take(&mut watcher.changed) });
                watcher.failures = 0;
                picture.destroy();
                watcher.ask(queue);
            }
            PictureEvent::Failed => {
                picture.destroy();
                watcher.paper = None;
                watcher.failures += 1;
                if watcher.failures > MAX_FAILURES {
                    watcher.trouble = Some("it takes no pictures".to_owned());
                } else {
                    watcher.ask(queue);
                }
            }
            _ => {}
        }
    }
}

impl Dispatch<ZwlrForeignToplevelManagerV1, ()> for Watcher {
    fn event(
        watcher: &mut Watcher,
        _: &ZwlrForeignToplevelManagerV1,
        event: WindowsEvent,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Watcher>,
    ) {
        if let WindowsEvent::Toplevel { toplevel } = event
            && watcher.windows.len() < MAX_WINDOWS
        {
            watcher.windows.push(toplevel.id());
        }
    }

    event_created_child!(Watcher, ZwlrForeignToplevelManagerV1, [EVT_TOPLEVEL_OPCODE => (ZwlrForeignToplevelHandleV1, ())]);
}

impl Dispatch<ZwlrForeignToplevelHandleV1, ()> for Watcher {
    fn event(
        watcher: &mut Watcher,
        window: &ZwlrForeignToplevelHandleV1,
        event: WindowEvent,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Watcher>,
    ) {
        if let WindowEvent::Closed = event {
            watcher.windows.retain(|known| *known != window.id());
            window.destroy();
        }
    }
}

impl Dispatch<WlRegistry, GlobalListContents> for Watcher {
    fn event(
        _: &mut Watcher,
        _: &WlRegistry,
        _: <WlRegistry as Proxy>::Event,
        _: &GlobalListContents,
        _: &Connection,
        _: &QueueHandle<Watcher>,
    ) {
    }
}

delegate_noop!(Watcher: ignore WlOutput);
delegate_noop!(Watcher: ignore WlSeat);
delegate_noop!(Watcher: ignore WlShm);
delegate_noop!(Watcher: ignore WlBuffer);
delegate_noop!(Watcher: WlShmPool);
delegate_noop!(Watcher: ZwlrScreencopyManagerV1);
delegate_noop!(Watcher: ZwpVirtualKeyboardManagerV1);
delegate_noop!(Watcher: ZwpVirtualKeyboardV1);
delegate_noop!(Watcher: ZwlrVirtualPointerManagerV1);
delegate_noop!(Watcher: ZwlrVirtualPointerV1);

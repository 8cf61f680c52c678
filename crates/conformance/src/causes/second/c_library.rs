//! Locks of the C library that a program takes without knowing it.

use super::super::scene::{MS, Made, Scene, beside};
use super::super::system::{self, now, spin};
use std::ffi::CString;

/// A stream of the C library.
#[derive(Clone, Copy)]
struct Stream(*mut libc::FILE);

// SAFETY: the C library locks its streams.
unsafe impl Send for Stream {}

impl Stream {
    /// A stream that writes nothing by itself until `room` bytes are in it.
    fn over(descriptor: i32, room: usize) -> Stream {
        // SAFETY: the mode ends with NUL; the buffer lives as long as the stream.
        unsafe {
            let stream = libc::fdopen(descriptor, c"w".as_ptr());
            let buffer = Box::leak(vec![0_u8; room].into_boxed_slice());
            libc::setvbuf(stream, buffer.as_mut_ptr().cast(), libc::_IOFBF, room);
            Stream(stream)
        }
    }

    fn put(self, text: &CString) {
        // SAFETY: the text ends with NUL; the stream is never closed.
        unsafe { libc::fputs(text.as_ptr(), self.0) };
    }

    fn flush(self) {
        // SAFETY: the stream is never closed.
        unsafe { libc::fflush(self.0) };
    }
}

/// A log through `stdio`: a thread that writes it out has the stream for as long as the pipe's reader likes.
pub(super) fn stream(scene: &mut Scene) -> Made {
    let (board, there) = (scene.board, scene.there);
    let (from, to) = system::pipe()?;
    scene.role("c-reader", || {
        system::steady(there);
        let mut bytes = vec![0; 256 << 10];
        let mut random = punctual_random::Random(53);
        board.prepared();
        while !board.is_ending() {
            if system::poll(from, 20) {
                spin(now(), random.between(3 * MS, 6 * MS));
                while system::poll(from, 1) {
                    system::read(from, &mut bytes);
                }
            }
        }
        Ok(())
    })?;
    let stream = Stream::over(to, 1 << 20);
    let text = |length: usize| CString::new(vec![b'x'; length]).expect("no NUL in it");
    let (line, much) = (text(40), text(100 << 10));
    beside(
        scene,
        "c-logger",
        2 * MS,
        move || stream.put(&line),
        move |_| {
            stream.put(&much);
            let start = now();
            stream.flush();
            board.injected("c-logger", start, now());
        },
    )
}

/// One heap for all threads, one of which gives free pages back.
pub(super) fn heap(scene: &mut Scene) -> Made {
    const CHUNK: usize = 100 << 10;
    const CHUNKS: usize = 150;
    let board = scene.board;
    // SAFETY: plain numbers, as the C library documents.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 16 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
    }
    // More than a thread keeps for itself.
    let take = || drop(std::hint::black_box(Vec::<u8>::with_capacity(3_000)));
    beside(scene, "c-trimmer", 3 * MS / 2, take, move |_| {
        let chunks: Vec<Vec<u8>> = (0..CHUNKS).map(|_| std::hint::black_box(vec![1; CHUNK])).collect();
        // So that they are not at the end of the heap.
        let last = std::hint::black_box(vec![1_u8; CHUNK]);
        drop(chunks);
        let start = now();
        // SAFETY: a plain number.
        unsafe { libc::malloc_trim(0) };
        board.injected("c-trimmer", start, now());
        drop(last);
    })
}

extern "C" fn nothing(_: *mut libc::dl_phdr_info, _: usize, _: *mut libc::c_void) -> i32 {
    1
}

extern "C" fn slowly(_: *mut libc::dl_phdr_info, _: usize, ns: *mut libc::c_void) -> i32 {
    spin(now(), ns as u64);
    1
}

/// As a profiler or a tracer does while it looks at each library's symbols.
pub(super) fn loader(scene: &mut Scene) -> Made {
    let board = scene.board;
    let look = |callback: extern "C" fn(*mut libc::dl_phdr_info, usize, *mut libc::c_void) -> i32, ns: u64| {
        // SAFETY: the callback takes what it is called with, and does not read through the pointer, which is a number.
        unsafe { libc::dl_iterate_phdr(Some(callback), ns as *mut libc::c_void) };
    };
    beside(
        scene,
        "c-loader",
        2 * MS,
        move || look(nothing, 0),
        move |random| {
            let start = now();
            look(slowly, random.between(3 * MS, 6 * MS));
            board.injected("c-loader", start, now());
        },
    )
}

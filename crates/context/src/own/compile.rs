//! Compiles a user's C. Nothing is written anywhere: the text goes in through a pipe, the object comes out through one.

use super::directives;
use super::{HEADER, HEADER_NAME, OwnWork, refuse};
use punctual_kernel::Refused;
use rustix::fs::{MemfdFlags, SealFlags};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A compiler or a linker that takes longer is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// The user that clang and ld run as if root runs punctual.
const NOBODY: u32 = 65_534;
/// No more warnings than this are shown.
const MAX_WARNINGS: usize = 10;
/// No object and no list of errors is longer, bytes.
const MAX_OUTPUT: u64 = 4 << 20;

/// An object with one function, for BPF.
///
/// # Errors
/// If there is no clang; otherwise the first thing that it finds wrong.
pub(super) fn for_bpf(name: &str, source: &str) -> Result<Compiled, Refused> {
    compile(name, source, &["-target", "bpf", "-mcpu=v3", "-g"])
}

/// What came of it.
pub(super) struct Compiled {
    pub(super) object: Vec<u8>,
    /// What clang warns of in the user's file, a line each.
    pub(super) warnings: Vec<String>,
}

/// A library with one function, for this processor, in memory.
///
/// # Errors
/// As [`for_bpf`]; if it is not C, and if there is no linker.
pub(super) fn for_processor(work: &OwnWork) -> Result<File, Refused> {
    let name = work.name();
    let no_source = || refuse(name, "a thread runs native code: give FILE.c, or --context irq");
    let source = work.source.as_ref().ok_or_else(no_source)?;
    let Compiled { object, .. } = compile(name, source, &[&["-fPIC"], &CHECKS[..]].concat())?;
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = |name: &str| rustix::fs::memfd_create(name, flags).map(File::from);
    let failed = |error: std::io::Error| refuse(name, punctual_kernel::plain(&error));
    let mut input = memory("punctual-object").map_err(|error| failed(error.into()))?;
    let library = memory("punctual-library").map_err(|error| failed(error.into()))?;
    input.write_all(&object).map_err(failed)?;
    let linker = as_nobody("ld")
        .args(["-shared", "/proc/self/fd/0", "-o", "/proc/self/fd/1"])
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(library.try_clone().map_err(failed)?))
        .stderr(Stdio::null())
        .spawn();
    let mut linker = linker.map_err(failed)?;
    match wait_for(&mut linker, "ld did not link it", PATIENCE) {
        Ok(status) if status.success() => {
            let sealed = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
            rustix::fs::fcntl_add_seals(&library, sealed).map_err(|error| failed(error.into()))?;
            Ok(library)
        }
        Ok(_) => Err(refuse(name, "ld does not link it for this processor")),
        Err(reason) => Err(refuse(name, reason)),
    }
}

/// In a thread nothing verifies the work: what the verifier refuses ends it there, instead of reaching what is beside an array.
const CHECKS: [&str; 2] = ["-fsanitize=bounds,integer-divide-by-zero", "-fsanitize-trap=all"];

/// Whoever reads somebody's file has only that user's rights: run as root, a compiler could be asked for everybody's.
fn as_nobody(program: &str) -> Command {
    let mut command = Command::new(program);
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY).current_dir("/");
    }
    command
}

fn compile(name: &str, source: &str, kind: &[&str]) -> Result<Compiled, Refused> {
    let text = whole(name, source).map_err(|reason| refuse(name, reason))?;
    let child = as_nobody("clang")
        .args(kind)
        // An assembler reads files too (`.incbin`), by words that may be put together from parts.
        .args(["-fno-gnu-inline-asm"])
        .args(["-O2", "-std=gnu11", "-ffreestanding", "-fno-finite-loops", "-fno-ident", "-nostdinc"])
        .args(["-Wall", "-Werror=implicit-function-declaration", "-Werror=incompatible-pointer-types"])
        .args(["-fno-color-diagnostics", "-fno-caret-diagnostics", "-x", "c", "-c", "-", "-o", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.map_err(|error| {
        let reason = punctual_kernel::plain(&error);
        refuse(name, format!("clang, which compiles it, cannot be run ({reason}): install clang, or give a FILE.bpf.o"))
    })?;
    let (object, said, succeeded) = talk(child, text).map_err(|reason| refuse(name, reason))?;
    if succeeded {
        Ok(Compiled { object, warnings: warnings(&said) })
    } else {
        Err(refuse(name, first_error(name, source, &said)))
    }
}

/// The header followed by the text, with lines counted as they are in each.
fn whole(name: &str, source: &str) -> Result<String, String> {
    let text = directives::without_header(source)?;
    // As a header of the system's (3), whose warnings are of no use, and back (2).
    Ok(format!("# 1 \"{HEADER_NAME}\" 1 3\n{HEADER}\n# 1 \"{}\" 2\n{text}", name.replace(['"', '\\', '\n'], "?")))
}

/// Gives the compiler its text and takes what it makes and says; kills it if it takes too long.
fn talk(mut child: Child, text: String) -> Result<(Vec<u8>, String, bool), String> {
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let give = std::thread::spawn(move || input.map(|mut input| input.write_all(text.as_bytes())));
    let take = |stream: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stream.map(|stream| stream.take(MAX_OUTPUT).read_to_end(&mut bytes));
            bytes
        })
    };
    let object = take(output.map(|stream| Box::new(stream) as Box<dyn Read + Send>));
    let said = take(errors.map(|stream| Box::new(stream) as Box<dyn Read + Send>));
    let status = wait_for(&mut child, "clang did not compile it", PATIENCE)?;
    let _ = give.join();
    let read = |thread: std::thread::JoinHandle<Vec<u8>>| thread.join().unwrap_or_default();
    Ok((read(object), String::from_utf8_lossy(&read(said)).into_owned(), status.success()))
}

/// Waits for a program's end; kills it if that takes too long, and says what it did not do.
fn wait_for(child: &mut Child, undone: &str, patience: Duration) -> Result<ExitStatus, String> {
    let began = Instant::now();
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => return Ok(status),
            None if began.elapsed() > patience => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{undone} within {} s", patience.as_secs()));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// What clang says about things that BPF cannot do, and what that means.
const CANNOT: [(&str, &str); 9] = [
    ("inline assembly is disabled", "inline assembly is refused: write it in C"),
    ("= sdiv ", "BPF has no signed division: divide unsigned numbers, or shift"),
    ("= srem ", "BPF has no signed division: divide unsigned numbers, or shift"),
    ("unsupported signed division", "BPF has no signed division: divide unsigned numbers, or shift"),
    ("stack limit", LOCALS),
    ("'memset'", "it sets too much at once: use a loop with a constant bound"),
    ("'memcpy'", "it copies too much at once: use a loop with a constant bound"),
    ("'__multi3'", "BPF has no numbers of 128 bits: use long long"),
    ("call to built-in function '__", NO_FLOAT),
];
const NO_FLOAT: &str = "BPF has whole numbers of up to 64 bits only: no float, no double";
const LOCALS: &str = "its local variables are larger than the 512 bytes of BPF's stack: keep them in block->state";

/// What it warns of, the first few.
fn warnings(said: &str) -> Vec<String> {
    let lines = said.lines().filter(|line| line.contains(" warning: ")).take(MAX_WARNINGS);
    lines.map(|line| punctual_recording::printable(&line.replacen(" warning:", "", 1))).collect()
}

/// The first error of the compiler's, `encoder.c:12:3: ...`, in a line.
fn first_error(name: &str, source: &str, said: &str) -> String {
    let error = said.lines().find(|line| line.contains("error:")).or_else(|| said.lines().next());
    let error = error.unwrap_or("clang did not say why").replacen(" fatal error:", "", 1).replacen(" error:", "", 1);
    let place = place_in(name, &error);
    let error = match CANNOT.iter().find(|(part, _)| error.contains(part)) {
        Some((_, words)) if *words == NO_FLOAT && place.is_empty() => {
            format!("{}{words}", fractional_line(source).map_or_else(String::new, |line| format!("{name}:{line}: ")))
        }
        Some((_, words)) => format!("{place}{words}"),
        None if error.contains("conflicting types for 'work'") => {
            format!("{place}its function has the wrong signature: it must be {}", super::signature::WANTED)
        }
        None => error,
    };
    punctual_recording::printable(&error)
}

/// The first line that names a type with fractions: when clang says that it has none, it does not say where.
fn fractional_line(source: &str) -> Option<usize> {
    let named = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        let mut words = code.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        words.any(|word| ["float", "double"].contains(&word))
    };
    source.lines().position(named).map(|line| line + 1)
}

/// `encoder.c:12:3: `, if the error is in the user's file.
fn place_in(name: &str, error: &str) -> String {
    let digits = |text: &str| text.chars().take_while(|letter| letter.is_ascii_digit()).collect::<String>();
    let after = error.split_once(&format!("{name}:")).map(|(_, after)| after);
    let line = after.map(digits).filter(|line| !line.is_empty());
    line.map_or_else(String::new, |line| {
        let column = after.and_then(|after| after.get(line.len() + 1..)).map(digits).unwrap_or_default();
        if column.is_empty() { format!("{name}:{line}: ") } else { format!("{name}:{line}:{column}: ") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_gets_one_text_and_its_first_error_is_told() {
        let text = whole("a\"b.c", "#include \"punctual_work.h\"\n  # include <punctual_work.h>\nint x;\n").unwrap();
        assert!(text.ends_with("# 1 \"a?b.c\" 2\n\n\nint x;\n"), "{text}");
        assert_eq!(text.matches("include").count(), HEADER.matches("include").count());
        let said = "In file included from x\na.c:3:1: error: use of undeclared identifier 'y'\na.c:4:1: error: z\n";
        let first_error = |said| first_error("a.c", "int x; // no double\n\ndouble y;\n", said);
        assert_eq!(first_error(said), "a.c:3:1: use of undeclared identifier 'y'");
        assert!(first_error("a.c:1:1: error: unsupported signed division").starts_with("a.c:1:1: BPF has no signed"));
        let selecting =
            "fatal error: error in backend: Cannot select: 0x1: i64 = sdiv 0x2, a.c:2:72 @[ punctual_work.h:76:17 ]";
        assert_eq!(first_error(selecting), "a.c:2:72: BPF has no signed division: divide unsigned numbers, or shift");
        let signature = first_error("a.c:2:6: error: conflicting types for 'work'\n");
        assert!(signature.contains("it must be int work(struct punctual_block *block)"), "{signature}");
        assert_eq!(first_error(""), "clang did not say why");
        let floats = first_error("error: <unknown>:0:0: in function work: call to built-in function '__muldf3'\n");
        assert!(floats.starts_with("a.c:3: BPF has whole numbers"), "{floats}");
        let disabled = first_error("a.c:3:1: error: GNU-style inline assembly is disabled\n");
        assert_eq!(disabled, "a.c:3:1: inline assembly is refused: write it in C");
        let said = "a.c:6:2: warning: past the end [-Warray-bounds]\na.h:1:1: note: declared here\n";
        assert_eq!(warnings(said), ["a.c:6:2: past the end [-Warray-bounds]"]);
        assert_eq!(warnings(&said.repeat(30)).len(), MAX_WARNINGS);
    }

    #[test]
    fn a_program_that_takes_too_long_is_ended() {
        let start = |seconds: &str| Command::new("sleep").arg(seconds).spawn().unwrap();
        let said = wait_for(&mut start("600"), "it did not sleep", Duration::ZERO).unwrap_err();
        assert_eq!(said, "it did not sleep within 0 s");
        assert!(wait_for(&mut start("0"), "it did not sleep", PATIENCE).unwrap().success());
    }
}

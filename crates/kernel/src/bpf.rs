//! Loads BPF objects.
//!
//! Nothing is pinned: programs, maps and links live as long as this process holds their descriptors, so none outlives
//! it, however it ends.

pub use crate::bpf_memory::SharedMemory;
use crate::kernel_types::{kernel_types, named};
pub use crate::loading::may_load;
use crate::{Missing, Refused, bpf_words, ending, verifier};
use libbpf_rs::btf::BtfKind;
use libbpf_rs::{Link, MapCore, MapHandle, Object, ObjectBuilder};
use punctual_recording::without_error_number;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

/// Programs that an object marks as optional are loaded where the kernel has the tracepoint they are for.
fn leave_out_missing(open: &mut libbpf_rs::OpenObject) {
    let mut kernel = None;
    for mut program in open.progs_mut().filter(|program| !program.autoload()) {
        let section = program.section().to_string_lossy().into_owned();
        let section = section.trim_start_matches('?');
        let Some(tracepoint) = section.strip_prefix("tp_btf/").or_else(|| section.strip_prefix("raw_tp/")) else {
            continue;
        };
        let kernel = kernel.get_or_insert_with(kernel_types);
        let is_there = kernel.as_ref().is_some_and(|kernel| kernel.tracepoint(tracepoint).is_some());
        program.set_autoload(is_there);
    }
}

/// How many arguments the kernel gives to programs on a tracepoint; `None` where it has no tracepoint of that name.
///
/// Tracepoints have gained arguments over time; a program that reads one that is not there does not load.
pub fn tracepoint_arguments(tracepoint: &str) -> Option<usize> {
    use libbpf_rs::ReferencesType as _;
    use libbpf_rs::btf::types::{FuncProto, Ptr};
    let types = kernel_types()?;
    let name = types.tracepoint(tracepoint)?;
    let pointer = Ptr::try_from(name.referenced_type()).ok()?;
    let function = FuncProto::try_from(pointer.referenced_type()).ok()?;
    // The first one is the kernel's own.
    function.len().checked_sub(1)
}

/// Whether a record of the kernel has a member; `None` where the kernel has no such record, or does not describe its records.
pub fn kernel_record_has(record: &str, member: &str) -> Option<bool> {
    let types = kernel_types()?;
    let record: libbpf_rs::btf::types::Struct<'_> = named(&types, record, BtfKind::Struct)?;
    Some(record.iter().any(|one| one.name.is_some_and(|name| name == member)))
}

/// Whether an enumeration of the kernel's has this name in it, as the kernel describes itself; `None` where it does not.
pub fn kernel_enumeration_has(enumeration: &str, name: &str) -> Option<bool> {
    let types = kernel_types()?;
    let enumeration: libbpf_rs::btf::types::Enum<'_> = named(&types, enumeration, BtfKind::Enum)?;
    Some(enumeration.iter().any(|one| one.name.is_some_and(|known| known == name)))
}

/// The programs that an object can do without: their sections begin with a question mark, by which the library
/// remembers not to load them by itself.
pub fn optional_programs(elf: &[u8]) -> Vec<String> {
    let opened = ObjectBuilder::default().open_memory(elf);
    opened.map_or_else(|_| Vec::new(), |mut open| optional_among(&mut open))
}

/// The same, of an object that was just opened.
fn optional_among(open: &mut libbpf_rs::OpenObject) -> Vec<String> {
    let optional = open.progs_mut().filter(|program| !program.autoload());
    optional.map(|program| program.name().to_string_lossy().into_owned()).collect()
}

/// Loads an object without the programs that are left out by name. Those that it can do without go into `optional`.
fn load(
    name: &str,
    elf: &[u8],
    read_only: Option<&[u8]>,
    sizes: &[(&str, u32)],
    is_left_out: &dyn Fn(&str) -> bool,
    optional: &mut Vec<String>,
) -> libbpf_rs::Result<Object> {
    bpf_words::begin();
    let mut builder = ObjectBuilder::default();
    builder.name(name)?;
    let mut open = builder.open_memory(elf)?;
    *optional = optional_among(&mut open);
    if let Some(data) = read_only {
        let mut map = open
            .maps_mut()
            .find(|map| map.name().to_string_lossy().ends_with(".rodata"))
            .ok_or_else(|| libbpf_rs::Error::from(std::io::Error::other("it has no read-only data")))?;
        // Whatever is linked with an object adds read-only data of its own after the object's.
        let place = map.initial_value_mut().and_then(|value| value.get_mut(..data.len()));
        let place =
            place.ok_or_else(|| libbpf_rs::Error::from(std::io::Error::other("its read-only data are shorter")))?;
        place.copy_from_slice(data);
    }
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if let Some((_, entries)) = sizes.iter().find(|(sized, _)| *sized == name) {
            map.set_max_entries(*entries)?;
        }
    }
    leave_out_missing(&mut open);
    for mut program in open.progs_mut() {
        if is_left_out(&program.name().to_string_lossy()) {
            program.set_autoload(false);
        }
        if verifier::is_measuring() {
            program.set_log_level(verifier::LOG_STATISTICS);
        }
    }
    open.load()
}

/// Why an object was not loaded, by what the library and the verifier said.
fn why_refused(name: &str, error: &libbpf_rs::Error) -> Refused {
    let doing = format!("loading the BPF programs of `{name}`");
    let said = bpf_words::said();
    let denied = matches!(error.kind(), libbpf_rs::ErrorKind::PermissionDenied);
    let reason = match bpf_words::lack(&said) {
        Some(missing) => return Refused::lacking(doing, missing),
        None if said.contains("failed to create: -E2BIG") => {
            let missing = Missing::new("room for BPF memory as large as these programs share", None);
            return Refused::lacking(doing, missing);
        }
        // What the verifier objects to is also denied to this user, but then it says how far it got.
        None if denied && !bpf_words::was_verified(&said) => return Refused::for_want_of_privilege(doing),
        None => match bpf_words::refused_program(&said) {
            Some(program) => format!("this kernel refuses the BPF program `{program}` (-v shows its message)"),
            None => without_error_number(error),
        },
    };
    Refused::because(doing, reason)
}

/// A program of an object that does not run.
#[derive(Debug, Clone)]
pub struct LeftOut {
    /// The program's name.
    pub program: String,
    /// What the kernel lacks that refused it; `None` if it has no such tracepoint, or the program was not chosen.
    pub refused: Option<Missing>,
}

/// A loaded and attached BPF object.
pub struct LoadedObject {
    // Dropped first, so that no program runs while its maps go away.
    links: Vec<Link>,
    object: Object,
    /// Programs that the object can do without.
    optional: Vec<String>,
    /// Those of them that the kernel refused, and what it lacks by its own words.
    refused: Vec<(String, Missing)>,
    /// Those of them that were loaded and could not be attached.
    unattached: Vec<String>,
}

impl LoadedObject {
    /// Loads an object with this configuration as its read-only data. Attach it with [`LoadedObject::attach`].
    ///
    /// A program in a section `?tp_btf/NAME` or `?raw_tp/NAME` is left out where the kernel has no such tracepoint, or refuses
    /// it; see [`LoadedObject::left_out`].
    ///
    /// # Errors
    /// What the kernel refused, with the verifier's reason where it gave one.
    pub fn load(name: &str, elf: &[u8], read_only: Option<&[u8]>) -> Result<LoadedObject, Refused> {
        LoadedObject::load_sized(name, elf, read_only, &[])
    }

    /// As [`LoadedObject::load`], with this many entries in maps whose size is known only here.
    ///
    /// # Errors
    /// As for [`LoadedObject::load`].
    pub fn load_sized(
        name: &str,
        elf: &[u8],
        read_only: Option<&[u8]>,
        sizes: &[(&str, u32)],
    ) -> Result<LoadedObject, Refused> {
        LoadedObject::load_chosen(name, elf, read_only, sizes, &|_| true)
    }

    /// As [`LoadedObject::load_sized`], but only the programs that are `chosen` by name.
    ///
    /// # Errors
    /// As for [`LoadedObject::load`].
    pub fn load_chosen(
        name: &str,
        elf: &[u8],
        read_only: Option<&[u8]>,
        sizes: &[(&str, u32)],
        chosen: &dyn Fn(&str) -> bool,
    ) -> Result<LoadedObject, Refused> {
        ending::refuse_if_asked()?;
        let began = Instant::now();
        let mut optional = Vec::new();
        let mut refused: Vec<(String, Missing)> = Vec::new();
        let loaded = loop {
            let is_refused = |program: &str| refused.iter().any(|(other, _)| other == program);
            let is_left_out = |program: &str| !chosen(program) || is_refused(program);
            let loaded = load(name, elf, read_only, sizes, &is_left_out, &mut optional);
            let said = bpf_words::said();
            match bpf_words::refused_program(&said).filter(|name| optional.iter().any(|other| other == name)) {
                Some(name) if loaded.is_err() && !is_refused(name) => {
                    let lack = || Missing::new(format!("what makes it accept the BPF program `{name}`"), None);
                    refused.push((name.to_owned(), bpf_words::lack(&said).unwrap_or_else(lack)));
                }
                _ => break loaded,
            }
        };
        let object = loaded.map_err(|error| why_refused(name, &error))?;
        if verifier::is_measuring() {
            verifier::note(name, elf.len(), began.elapsed(), &bpf_words::said());
        }
        Ok(LoadedObject { links: Vec::new(), object, optional, refused, unattached: Vec::new() })
    }

    /// Attaches every program that has a place to attach to.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn attach(&mut self) -> Result<(), Refused> {
        self.attach_without(&[])
    }

    /// The same, but for programs that others go on with ([`crate::bpf_jumps`]).
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn attach_without(&mut self, jumped_to: &[&str]) -> Result<(), Refused> {
        for program in self.object.progs_mut() {
            ending::refuse_if_asked()?;
            let is_called =
                matches!(program.prog_type(), libbpf_rs::ProgramType::Syscall | libbpf_rs::ProgramType::PerfEvent);
            if is_called || !program.autoload() {
                continue;
            }
            let name = program.name().to_string_lossy().into_owned();
            if jumped_to.contains(&name.as_str()) {
                continue;
            }
            match program.attach() {
                Ok(link) => self.links.push(link),
                Err(_) if self.optional.contains(&name) => self.unattached.push(name),
                Err(error) => {
                    return Err(Refused::because(format!("attaching the BPF program `{name}`"), error.to_string()));
                }
            }
        }
        Ok(())
    }

    /// Makes a set of programs the kernel's, such as a scheduler, until this object is dropped or detached.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn attach_struct_ops(&mut self, name: &str) -> Result<(), Refused> {
        let doing = || format!("attaching the BPF programs of `{name}`");
        let found = self.object.maps_mut().find(|map| map.name() == name);
        let mut found = found.ok_or_else(|| Refused::because(doing(), "there are no such programs"))?;
        let link = found.attach_struct_ops();
        self.links.push(link.map_err(|error| Refused::because(doing(), without_error_number(&error)))?);
        Ok(())
    }

    /// Takes every program away from where it was attached; what they wrote stays.
    pub fn detach(&mut self) {
        self.links.clear();
    }

    /// Runs a program on each overflow of a perf event, until this object is dropped.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn attach_perf_event(&mut self, program: &str, event: OwnedFd) -> Result<(), Refused> {
        use std::os::fd::IntoRawFd;
        let doing = || format!("attaching the BPF program `{program}`");
        let found = self.object.progs_mut().find(|candidate| candidate.name() == program);
        let found = found.ok_or_else(|| Refused::because(doing(), "there is no such program"))?;
        // The library closes the descriptor with the link.
        let link = found.attach_perf_event(event.into_raw_fd());
        self.links.push(link.map_err(|error| Refused::because(doing(), error.to_string()))?);
        Ok(())
    }

    /// Runs a program whenever a process reaches this place in a file that it has mapped, in bytes from the file's
    /// beginning, until this object is dropped.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn attach_in_program(
        &mut self,
        program: &str,
        process: u32,
        file: &std::path::Path,
        offset: u64,
    ) -> Result<(), Refused> {
        let doing = || format!("attaching the BPF program `{program}` to {}", file.display());
        let found = self.object.progs_mut().find(|candidate| candidate.name() == program);
        let found = found.ok_or_else(|| Refused::because(doing(), "there is no such program"))?;
        let (process, offset) = (i32::try_from(process).unwrap_or(0), usize::try_from(offset).unwrap_or(0));
        let link = found.attach_uprobe(false, process, file, offset);
        self.links.push(link.map_err(|error| Refused::because(doing(), without_error_number(&error)))?);
        Ok(())
    }

    /// The programs that do not run: this kernel lacks their tracepoint or refused them, or they were not chosen.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let missing = self.object.progs().filter(|program| !program.autoload());
        let missing = missing.map(|program| program.name().to_string_lossy().into_owned());
        let refused = |program: &str| self.refused.iter().find(|(name, _)| name == program);
        let all = missing.chain(self.unattached.iter().cloned());
        all.map(|program| LeftOut { refused: refused(&program).map(|(_, lack)| lack.clone()), program }).collect()
    }

    /// Whether a program does not run, as [`LoadedObject::left_out`] has it.
    pub fn is_left_out(&self, program: &str) -> bool {
        self.left_out().iter().any(|other| other.program == program)
    }

    /// Runs a program that is called rather than attached, with this context.
    ///
    /// # Errors
    /// What the kernel or the program refused.
    pub fn call(&self, program: &str, context: &mut [u8]) -> Result<(), Refused> {
        let doing = || format!("calling the BPF program `{program}`");
        let found = self.object.progs_mut().find(|candidate| candidate.name() == program);
        let found = found.ok_or_else(|| Refused::because(doing(), "there is no such program"))?;
        let input = libbpf_rs::ProgramInput { context_in: Some(context), ..Default::default() };
        let output = found.test_run(input).map_err(|error| Refused::because(doing(), error.to_string()))?;
        if output.return_value == 0 {
            Ok(())
        } else {
            let error = std::io::Error::from_raw_os_error((output.return_value as i32).wrapping_neg());
            Err(Refused::because(doing(), crate::plain(&error)))
        }
    }

    /// The descriptor of a map, for as long as the object lives.
    ///
    /// # Errors
    /// Where the object has no such map.
    pub fn map_descriptor(&self, name: &str) -> Result<BorrowedFd<'_>, Refused> {
        let map = self.object.maps().find(|map| map.name() == name);
        let map = map.ok_or_else(|| Refused::because(format!("using the BPF map `{name}`"), "there is no such map"))?;
        let descriptor = map.as_fd();
        // SAFETY: the object owns the descriptor and closes it only when it is dropped itself.
        Ok(unsafe { BorrowedFd::borrow_raw(std::os::fd::AsRawFd::as_raw_fd(&descriptor)) })
    }

    /// A map, which stays open when the object is gone.
    pub(crate) fn map_handle(&self, name: &str) -> Result<MapHandle, Refused> {
        let refused = |reason: String| Refused::because(format!("using the BPF map `{name}`"), reason);
        let map = self.object.maps().find(|map| map.name() == name);
        let map = map.ok_or_else(|| refused("there is no such map".to_owned()))?;
        MapHandle::try_from(&map).map_err(|error| refused(without_error_number(&error)))
    }

    /// Puts a map into a map of maps.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn put_inner_map(&self, outer: &str, index: u32, inner: BorrowedFd<'_>) -> Result<(), Refused> {
        use std::os::fd::AsRawFd;
        let inner = inner.as_raw_fd();
        self.with_map(outer, |map| map.update(&index.to_ne_bytes(), &inner.to_ne_bytes(), libbpf_rs::MapFlags::ANY))
    }

    /// Puts an entry into a map.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn put(&self, name: &str, key: &[u8], value: &[u8]) -> Result<(), Refused> {
        self.with_map(name, |map| map.update(key, value, libbpf_rs::MapFlags::ANY))
    }

    /// Removes an entry from a map.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn remove(&self, name: &str, key: &[u8]) -> Result<(), Refused> {
        self.with_map(name, |map| map.delete(key))
    }

    fn with_map(
        &self,
        name: &str,
        change: impl Fn(&libbpf_rs::Map<'_>) -> libbpf_rs::Result<()>,
    ) -> Result<(), Refused> {
        let refused = |reason: String| Refused::because(format!("changing the BPF map `{name}`"), reason);
        let map = self.object.maps().find(|map| map.name() == name);
        let map = map.ok_or_else(|| refused("there is no such map".to_owned()))?;
        change(&map).map_err(|error| refused(without_error_number(&error)))
    }

    /// The object's zero-initialized globals, shared with the programs.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn shared_globals(&self) -> Result<SharedMemory, Refused> {
        let map = self.object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss"));
        let map = map.ok_or_else(|| Refused::because("mapping BPF memory", "the object has no globals"))?;
        SharedMemory::map(map.as_fd(), 0, map.value_size() as usize, true)
    }

    /// An array that user space may map, with all its entries.
    ///
    /// # Errors
    /// What the kernel refused.
    pub fn shared_array(&self, name: &str) -> Result<SharedMemory, Refused> {
        let map = self.object.maps().find(|map| map.name() == name);
        let map = map.ok_or_else(|| Refused::because("mapping BPF memory", format!("there is no map `{name}`")))?;
        let length = map.value_size() as usize * map.max_entries() as usize;
        SharedMemory::map(map.as_fd(), 0, length, true)
    }

    /// The entries of a map that has a value for each CPU: the key, and the values.
    pub fn entries_per_cpu(&self, name: &str) -> Vec<(Vec<u8>, Vec<Vec<u8>>)> {
        let Some(map) = self.object.maps().find(|map| map.name() == name) else { return Vec::new() };
        let values = |key: &Vec<u8>| map.lookup_percpu(key, libbpf_rs::MapFlags::ANY).ok().flatten();
        map.keys().filter_map(|key| values(&key).map(|values| (key, values))).collect()
    }

    /// Descriptors of the loaded programs, by name.
    pub fn programs(&self) -> Vec<(String, i32)> {
        use std::os::fd::AsRawFd;
        self.object
            .progs()
            .map(|program| (program.name().to_string_lossy().into_owned(), program.as_fd().as_raw_fd()))
            .collect()
    }
}

// SAFETY: the library's objects and links are plain memory that belongs to this value; none is bound to a thread.
unsafe impl Send for LoadedObject {}

/// What would allow this user to load BPF programs.
pub fn remedy() -> String {
    remedy_with("")
}

/// What would also allow it to load those that recognise timers by the functions they call.
pub fn remedy_with_addresses() -> String {
    remedy_with(",cap_syslog")
}

fn remedy_with(more: &str) -> String {
    format!(
        "run as root: sudo punctual ...; or grant it: \
         setcap cap_bpf,cap_perfmon,cap_sys_nice,cap_ipc_lock{more}=ep punctual"
    )
}

/// Makes the kernel measure the run time of BPF programs for as long as the result lives.
///
/// # Errors
/// What the kernel refused.
pub fn enable_run_time_statistics() -> Result<std::os::fd::OwnedFd, Refused> {
    // SAFETY: takes a plain number.
    let descriptor = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    if descriptor < 0 {
        let error = std::io::Error::from_raw_os_error(-descriptor);
        return Err(Refused::because("enabling BPF statistics", crate::plain(&error)));
    }
    // SAFETY: a descriptor just made, owned by nobody else.
    Ok(unsafe { std::os::fd::FromRawFd::from_raw_fd(descriptor) })
}

/// How often a program ran, for how long in all (ns), and how often it was skipped because it was already running.
pub fn run_statistics(program: i32) -> Option<(u64, u64, u64)> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = size_of_val(&info) as u32;
    // SAFETY: the kernel writes at most `length` bytes into the structure.
    let result = unsafe { libbpf_sys::bpf_obj_get_info_by_fd(program, (&raw mut info).cast(), &mut length) };
    (result == 0).then_some((info.run_cnt, info.run_time_ns, info.recursion_misses))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_arguments_of_a_tracepoint_are_counted() {
        if libbpf_rs::btf::Btf::from_vmlinux().is_err() {
            return punctual_testing::skip("arguments of tracepoints", "the kernel has no type information");
        }
        assert_eq!(tracepoint_arguments("no_such_tracepoint"), None);
        // Every kernel has these.
        assert_eq!(tracepoint_arguments("sched_waking"), Some(1));
        assert!((3..=4).contains(&tracepoint_arguments("sched_switch").unwrap()));
    }
}

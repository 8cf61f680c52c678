//! The drill that keeps interrupts off: a BPF program in a system call of a thread pinned to the CPU.
//!
//! The kernel has offered `bpf_local_irq_save` to programs since Linux 6.14; older ones refuse to load this one.

use super::DrillKind;
use super::spinner::real_time;
use super::stop::Stop;
use super::worker::{Injector, Made};
use punctual_kernel::bpf::LoadedObject;
use punctual_kernel::features::explain;
use punctual_kernel::{Refused, clock};

const PROGRAM: &str = "drill_irq_off";

/// `struct irq_off_context` of `bpf/drill_irq_off.bpf.c`.
#[derive(Debug, Default, Clone, Copy)]
#[repr(C)]
struct Context {
    length: u64,
    start: u64,
    end: u64,
    cpu: u32,
    pad: u32,
}

/// The program in the kernel; it leaves it when this is dropped.
pub(crate) struct IrqOff {
    object: LoadedObject,
}

impl IrqOff {
    pub(crate) fn load() -> Result<IrqOff, Refused> {
        super::kernel_burn::check_clock()?;
        let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/drill_irq_off.bpf.o"));
        let object =
            LoadedObject::load(PROGRAM, bytes, None).map_err(|refused| explain(refused, DrillKind::IrqOff.needed()))?;
        Ok(IrqOff { object })
    }

    /// Calls it for no time at all, to see whether it can be called.
    pub(crate) fn try_out(&self) -> Result<(), Refused> {
        IrqOffInjector { program: self.descriptor()? }.call(0).map(|_| ())
    }

    /// The program's descriptor, valid for as long as this lives.
    pub(crate) fn descriptor(&self) -> Result<i32, Refused> {
        let found = self.object.programs().into_iter().find(|(name, _)| name == PROGRAM);
        found
            .map(|(_, descriptor)| descriptor)
            .ok_or_else(|| Refused::because("finding the BPF program", "it is missing"))
    }
}

/// Calls the program from a thread of its own.
pub(crate) struct IrqOffInjector {
    program: i32,
}

impl IrqOffInjector {
    /// Sets the calling thread up. The descriptor must stay open.
    pub(crate) fn prepare(program: i32, cpu: u32, priority: u32) -> Result<IrqOffInjector, Refused> {
        real_time(cpu, priority)?;
        Ok(IrqOffInjector { program })
    }

    fn call(&self, length_ns: u64) -> Result<Context, Refused> {
        let mut context = Context { length: length_ns, ..Context::default() };
        let mut options = libbpf_sys::bpf_test_run_opts {
            sz: size_of::<libbpf_sys::bpf_test_run_opts>() as _,
            ctx_in: (&raw mut context).cast(),
            ctx_size_in: size_of::<Context>() as u32,
            ..Default::default()
        };
        // SAFETY: the kernel reads the context and writes it back, as large as it says; both live through the call.
        let result = unsafe { libbpf_sys::bpf_prog_test_run_opts(self.program, &raw mut options) };
        if result == 0 {
            return Ok(context);
        }
        let error = std::io::Error::from_raw_os_error(-result);
        Err(Refused::because("calling the BPF program that keeps interrupts off", error.to_string()))
    }
}

impl Injector for IrqOffInjector {
    fn inject(&mut self, at_ns: u64, length_ns: u64, stop: &Stop) -> Result<Option<Made>, Refused> {
        if !stop.sleep_until(at_ns) {
            return Ok(None);
        }
        let made = self.call(length_ns)?;
        let tid = Some(clock::thread_id());
        Ok(Some(Made { start_ns: made.start, end_ns: made.end, cpu: made.cpu, tid, ..Made::default() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use libbpf_rs::btf::types::Struct;
    use libbpf_rs::btf::{Btf, HasSize};

    #[test]
    fn the_context_is_that_of_the_program() {
        let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/drill_irq_off.bpf.o"));
        let btf = Btf::from_raw(PROGRAM, bytes).unwrap().unwrap();
        let record: Struct<'_> = btf.type_by_name("irq_off_context").unwrap();
        let names: Vec<String> =
            record.iter().map(|member| member.name.unwrap().to_string_lossy().into_owned()).collect();
        assert_eq!(names, ["length", "start", "end", "cpu", "pad"]);
        assert_eq!(record.size(), size_of::<Context>());
    }
}

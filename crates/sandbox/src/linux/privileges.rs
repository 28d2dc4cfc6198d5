//! The limits of a process, and the privileges that it has from its user.

use std::io;

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits, set_no_new_privs,
};

use super::doing;
use crate::{Limits, UNLIMITED};

/// Sets the limits that the kernel keeps for each process. `processes` limits the whole user, or the whole user
/// namespace; with `None`, that limit stays.
///
/// # Errors
/// When a limit cannot be set.
pub(super) fn limit(limits: &Limits, processes: Option<u64>) -> io::Result<()> {
    let all = [
        (Resource::Cpu, Some(limits.cpu_s), "the processor time"),
        (Resource::As, Some(limits.address_space), "the address space"),
        (Resource::Fsize, Some(limits.file_size), "the size of files"),
        (Resource::Nofile, Some(limits.open_files), "the open files"),
        (Resource::Nproc, processes, "the processes"),
        (Resource::Core, Some(0), "core dumps"),
        (Resource::Memlock, Some(64 << 10), "locked memory"),
        (Resource::Msgqueue, Some(0), "message queues"),
    ];
    for (resource, most, name) in all {
        let Some(most) = most.filter(|most| *most != UNLIMITED) else { continue };
        // A limit that is already lower is kept.
        let least = rustix::process::getrlimit(resource).maximum.map_or(most, |now| now.min(most));
        // There is one second between the signal that reports the limit and the signal that ends the process.
        let grace = u64::from(resource == Resource::Cpu);
        let end =
            rustix::process::getrlimit(resource).maximum.map_or(least + grace, |now| now.min(least + grace));
        setrlimit(resource, Rlimit { current: Some(least), maximum: Some(end) })
            .map_err(doing(&format!("limit {name}")))?;
    }
    Ok(())
}

/// Gives up every privilege for good, including those of the superuser and those that programs could give when
/// executed.
///
/// # Errors
/// When a privilege cannot be given up.
pub(super) fn drop_all() -> io::Result<()> {
    set_no_new_privs(true).map_err(doing("forbid new privileges"))?;
    clear_ambient_capability_set().map_err(doing("clear the ambient capabilities"))?;
    let held = capabilities(None).map_err(doing("read the capabilities"))?;
    if held.effective.contains(CapabilitySet::SETPCAP) {
        for bit in 0..64 {
            match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit)) {
                Ok(()) => {}
                // The kernel does not know this capability, and knows none with a higher number.
                Err(rustix::io::Errno::INVAL) => break,
                Err(error) => return Err(doing("drop a capability")(error)),
            }
        }
        use CapabilitiesSecureBits as Bits;
        let bits = Bits::NO_ROOT
            | Bits::NO_ROOT_LOCKED
            | Bits::NO_SETUID_FIXUP
            | Bits::NO_SETUID_FIXUP_LOCKED
            | Bits::KEEP_CAPS_LOCKED
            | Bits::NO_CAP_AMBIENT_RAISE
            | Bits::NO_CAP_AMBIENT_RAISE_LOCKED;
        set_capabilities_secure_bits(bits).map_err(doing("lock the capabilities"))?;
    }
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .map_err(doing("drop the capabilities"))
}

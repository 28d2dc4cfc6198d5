//! Landlock: files, signals, abstract sockets.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, Scope,
};

use crate::Confinement;

/// Without the rights of this version, what is only to be read can be cut to nothing: Linux 6.2.
const LEAST: ABI = ABI::V3;

/// Where programs throw things away and find chance.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Who keeps signals in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signals {
    /// A PID namespace does: others have no number here.
    Apart,
    /// Landlock must.
    Held,
}

/// Holds the calling thread, and all that comes of it, to the files that it was given. `starts` is what it executes
/// itself.
///
/// # Errors
/// When the kernel cannot hold all of it, or a path is not there.
pub(super) fn confine(within: &Confinement, starts: &[PathBuf], signals: Signals) -> io::Result<()> {
    let failed = |e: landlock::RulesetError| io::Error::other(format!("Landlock (Linux 6.2 or later): {e}"));
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST))
        .map_err(failed)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V7))
        .map_err(failed)?
        .handle_access(if within.network { AccessNet::BindTcp.into() } else { AccessNet::from_all(ABI::V7) })
        .map_err(failed)?
        .scope(Scope::from_all(ABI::V7))
        .map_err(failed)?
        .create()
        .map_err(failed)?;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let change = read
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::RemoveDir
        | AccessFs::RemoveFile
        | AccessFs::MakeDir
        | AccessFs::MakeReg
        | AccessFs::MakeFifo
        | AccessFs::MakeSym
        | AccessFs::Refer;
    let execute = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    let rules = allow(rules, &within.readable, read)?;
    let rules = allow(rules, &within.writable, change)?;
    let rules = allow(rules, &within.executable, execute)?;
    let rules = allow(rules, starts, execute)?;
    let devices: Vec<PathBuf> =
        DEVICES.iter().map(Path::new).filter(|path| path.exists()).map(Path::to_path_buf).collect();
    let rules = allow(rules, &devices, AccessFs::ReadFile | AccessFs::WriteFile)?;
    let status = rules.restrict_self().map_err(failed)?;
    let LandlockStatus::Available { effective_abi, .. } = status.landlock else {
        return Err(io::Error::other("this kernel has no Landlock, or it is turned off"));
    };
    if !status.no_new_privs || effective_abi < LEAST {
        return Err(io::Error::other("Landlock does not hold (Linux 6.2 or later)"));
    }
    if signals == Signals::Held && effective_abi < ABI::V6 {
        return Err(io::Error::other(
            "nothing keeps signals in: there is no PID namespace, and Landlock does it from Linux 6.12 on",
        ));
    }
    Ok(())
}

fn allow(rules: RulesetCreated, paths: &[PathBuf], rights: BitFlags<AccessFs>) -> io::Result<RulesetCreated> {
    let of_files = AccessFs::ReadFile
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::Execute
        | AccessFs::IoctlDev;
    paths.iter().try_fold(rules, |rules, path| {
        let wrong = |what: String| io::Error::other(format!("{}: {what}", path.display()));
        let opened = PathFd::new(path).map_err(|e| wrong(e.to_string()))?;
        // The path that was given is the place that was meant, with no link put into it since.
        let real = std::fs::read_link(format!("/proc/self/fd/{}", opened.as_fd().as_raw_fd()));
        if real.map_err(|e| wrong(e.to_string()))? != *path {
            return Err(wrong("it leads elsewhere now".to_owned()));
        }
        let is_dir = std::fs::metadata(path).map_err(|e| wrong(e.to_string()))?.is_dir();
        let rights = if is_dir { rights } else { rights & of_files };
        rules.add_rule(PathBeneath::new(opened, rights)).map_err(|e| wrong(e.to_string()))
    })
}

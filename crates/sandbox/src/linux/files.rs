//! The Landlock rules, for files, signals and abstract sockets.

use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus,
    PathBeneath, PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, Scope,
};

use crate::Confinement;

/// The minimum version of Landlock, which Linux 6.2 has. Earlier versions cannot prevent that a file without write
/// access is truncated.
const MIN_ABI: ABI = ABI::V3;

/// The minimum version for a process that opens no file for writing, which Linux 5.13 has. There, seccomp prevents
/// that files are truncated.
const MIN_ABI_FOR_READERS: ABI = ABI::V1;

/// The devices that every program may use, to discard output and to get random numbers.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// The mechanism that confines signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignalConfinement {
    /// A PID namespace, in which other processes have no number.
    Apart,
    /// Landlock.
    Held,
    /// Seccomp: the process can only signal itself. In this case, it opens no file for writing either.
    Itself,
}

/// Confines the calling thread and its descendants to the files that they were given. `starts` lists the files that
/// the process executes itself.
///
/// # Errors
/// When the kernel cannot enforce all restrictions, or a path does not exist.
pub(super) fn confine(
    within: &Confinement,
    starts: &[PathBuf],
    signals: SignalConfinement,
) -> io::Result<()> {
    let least = if signals == SignalConfinement::Itself { MIN_ABI_FOR_READERS } else { MIN_ABI };
    let needed = if signals == SignalConfinement::Itself { "5.13" } else { "6.2" };
    if let Some((changed, started)) = writable_executable_overlap(within, starts) {
        return Err(io::Error::other(format!(
            "{} may be changed and {} may be started: one of them lies in the other",
            changed.display(),
            started.display()
        )));
    }
    let failed = |error: landlock::RulesetError| match error {
        // The library lists every right that the kernel does not know, which nobody can use.
        landlock::RulesetError::HandleAccesses(_) => {
            io::Error::other(format!("this kernel lacks Landlock of Linux {needed} or later"))
        }
        error => io::Error::other(format!("Landlock (Linux {needed} or later): {error}")),
    };
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(least))
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
    if !status.no_new_privs || effective_abi < least {
        return Err(io::Error::other(format!("Landlock does not hold (Linux {needed} or later)")));
    }
    if signals == SignalConfinement::Held && effective_abi < ABI::V6 {
        return Err(io::Error::other(
            "nothing keeps signals in: there is no PID namespace, and Landlock does it from Linux 6.12 on",
        ));
    }
    Ok(())
}

/// Returns a writable place and an executable place, if one of them contains the other. Landlock adds up the rights
/// of its rules along a path, so a file written there could be started.
fn writable_executable_overlap<'a>(
    within: &'a Confinement,
    starts: &'a [PathBuf],
) -> Option<(&'a Path, &'a Path)> {
    let overlap = |a: &Path, b: &Path| a.starts_with(b) || b.starts_with(a);
    let started = || within.executable.iter().chain(starts);
    let pairs = within.writable.iter().flat_map(|changed| started().map(move |it| (changed, it)));
    pairs.map(|(a, b)| (a.as_path(), b.as_path())).find(|(changed, started)| overlap(changed, started))
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
        // The opened file must be at the given path. A link could have been put into the path in the meantime.
        let real = std::fs::read_link(format!("/proc/self/fd/{}", opened.as_fd().as_raw_fd()));
        if real.map_err(|e| wrong(e.to_string()))? != *path {
            return Err(wrong("it leads elsewhere now".to_owned()));
        }
        let is_dir = std::fs::metadata(path).map_err(|e| wrong(e.to_string()))?.is_dir();
        let rights = if is_dir { rights } else { rights & of_files };
        rules.add_rule(PathBeneath::new(opened, rights)).map_err(|e| wrong(e.to_string()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_of_writable_and_executable_places_is_found() {
        let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect::<Vec<_>>();
        for (writable, executable, starts, expected) in [
            (&["/mine"][..], &["/usr"][..], &["/usr/bin/git"][..], None),
            (&["/usr2"], &["/usr"], &[], None),
            (&[], &["/usr"], &["/usr/bin/git"], None),
            (&["/usr/local/src"], &["/usr"], &[], Some(("/usr/local/src", "/usr"))),
            (&["/"], &["/usr"], &[], Some(("/", "/usr"))),
            (&["/usr"], &["/usr"], &[], Some(("/usr", "/usr"))),
            (&["/tmp/x", "/mine"], &[], &["/mine/venv/bin/python"], Some(("/mine", "/mine/venv/bin/python"))),
        ] {
            let within = Confinement {
                readable: vec![],
                writable: paths(writable),
                executable: paths(executable),
                network: false,
                pretends: true,
                limits: crate::Limits::default(),
            };
            let expected = expected.map(|(a, b)| (Path::new(a), Path::new(b)));
            assert_eq!(writable_executable_overlap(&within, &paths(starts)), expected, "{writable:?}");
        }
    }
}

//! The ban on ambient authority is whole, and only adapters opt out of it.

use super::Problem;
use super::tree::Tree;

const CLIPPY: &str = "clippy.toml";
const LINT: &str = "clippy::disallowed_methods";

/// Crates that work on their arguments alone; in tests they may do as they like.
const NO_OPT_OUT: &[&str] =
    &["passable", "kernel", "switchboard", "policy", "operator", "worker", "pipeline", "skill"];

/// The methods that must be banned, by module. Removing a line from clippy.toml is then a change in two places, on
/// purpose.
const BANNED: &[(&str, &[&str])] = &[
    (
        "std::fs::",
        &[
            "canonicalize",
            "copy",
            "create_dir",
            "create_dir_all",
            "exists",
            "hard_link",
            "metadata",
            "read",
            "read_dir",
            "read_link",
            "read_to_string",
            "remove_dir",
            "remove_dir_all",
            "remove_file",
            "rename",
            "set_permissions",
            "symlink_metadata",
            "write",
            "File::create",
            "File::create_new",
            "File::open",
            "File::options",
            "OpenOptions::new",
            "DirBuilder::new",
        ],
    ),
    (
        "std::path::Path::",
        &[
            "canonicalize",
            "exists",
            "is_dir",
            "is_file",
            "is_symlink",
            "metadata",
            "read_dir",
            "read_link",
            "symlink_metadata",
            "try_exists",
        ],
    ),
    (
        "std::net::",
        &[
            "TcpListener::bind",
            "TcpStream::connect",
            "TcpStream::connect_timeout",
            "UdpSocket::bind",
            "ToSocketAddrs::to_socket_addrs",
        ],
    ),
    (
        "std::os::unix::",
        &[
            "fs::symlink",
            "net::UnixDatagram::bind",
            "net::UnixDatagram::unbound",
            "net::UnixListener::bind",
            "net::UnixStream::connect",
        ],
    ),
    ("std::process::", &["Command::new", "abort", "exit"]),
    ("std::time::", &["Instant::elapsed", "Instant::now", "SystemTime::elapsed", "SystemTime::now"]),
    (
        "std::env::",
        &[
            "args",
            "args_os",
            "current_dir",
            "current_exe",
            "home_dir",
            "remove_var",
            "set_current_dir",
            "set_var",
            "temp_dir",
            "var",
            "var_os",
            "vars",
            "vars_os",
        ],
    ),
    ("std::io::", &["stderr", "stdin", "stdout"]),
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = bans(tree);
    for (file, source, owner) in tree.rust() {
        for (number, line) in source.every().filter(|(_, line)| line.contains(LINT)) {
            // An `allow` over several lines: the reason stands within the next few.
            let reason = source.code[number - 1..].iter().take(8).take_while(|line| !line.starts_with(")]"));
            if !reason.clone().any(|line| line.contains("reason")) {
                let way_out = "add `reason = \"…\"`: which part of the world this code owns";
                problems.push(Problem::fault(
                    &file.path,
                    number,
                    format!("`{LINT}` is allowed without a reason"),
                    way_out,
                ));
            }
            if NO_OPT_OUT.contains(&owner.name.as_str())
                && !source.test[number - 1]
                && !line.contains("cfg_attr(test")
            {
                let wrong = format!("`{}` opts out of the ban on ambient authority", owner.name);
                let way_out = "take the file, time or setting as an argument; the adapter above reads it";
                problems.push(Problem::fault(&file.path, number, wrong, way_out));
            }
        }
    }
    problems
}

fn bans(tree: &Tree) -> Vec<Problem> {
    let Some(clippy) = tree.file(CLIPPY) else {
        return vec![Problem::fault(CLIPPY, 0, "the list of banned methods is not there", "bring it back")];
    };
    let mut problems = Vec::new();
    for (module, names) in BANNED {
        for name in *names {
            let path = format!("path = \"{module}{name}\"");
            match clippy
                .text
                .lines()
                .enumerate()
                .find(|(_, line)| line.contains(&path) && !line.trim_start().starts_with('#'))
            {
                None => {
                    let wrong = format!("`{module}{name}` is not banned");
                    problems.push(Problem::fault(
                        CLIPPY,
                        0,
                        wrong,
                        format!("add {{ {path}, reason = \"…\" }}"),
                    ));
                }
                Some((index, line)) if !line.contains("reason = \"") => {
                    let wrong = format!("`{module}{name}` is banned without a reason");
                    problems.push(Problem::fault(
                        CLIPPY,
                        index + 1,
                        wrong,
                        "say what to use instead: `reason = \"…\"`",
                    ));
                }
                Some(_) => {}
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{BANNED, check};
    use crate::tidy::planted::{at, tree};

    fn whole() -> String {
        let lines = BANNED.iter().flat_map(|(module, names)| {
            names.iter().map(move |name| format!("  {{ path = \"{module}{name}\", reason = \"why\" }},\n"))
        });
        lines.collect()
    }

    #[test]
    fn missing_bans_are_found() {
        let find = |text: &str, expected: &[&str]| at(&check(&tree(&[("clippy.toml", text)])), expected);
        find(&whole(), &[]);
        find(
            &whole().replace("  { path = \"std::fs::read\",", "  # { path = \"std::fs::read\","),
            &["clippy.toml:0"],
        );
        find(&whole().replacen(", reason = \"why\"", "", 1), &["clippy.toml:1"]);
        at(&check(&tree(&[])), &["clippy.toml:0"]);
    }

    #[test]
    fn opt_out_needs_an_adapter_and_a_reason() {
        let find = |path: &str, text: &str, expected: &[&str]| {
            at(&check(&tree(&[("clippy.toml", &whole()), (path, text)])), expected);
        };
        let allow = "#![allow(clippy::disallowed_methods, reason = \"owns its files\")]";
        find("crates/store/src/lib.rs", allow, &[]);
        find(
            "crates/store/src/lib.rs",
            "#![allow(\n    clippy::disallowed_methods,\n    reason = \"x\"\n)]",
            &[],
        );
        find(
            "crates/store/src/lib.rs",
            "#![allow(clippy::disallowed_methods)]",
            &["crates/store/src/lib.rs:1"],
        );
        find("crates/kernel/src/lib.rs", allow, &["crates/kernel/src/lib.rs:1"]);
        find("crates/kernel/tests/it/main.rs", allow, &[]);
    }
}

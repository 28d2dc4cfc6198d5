//! The other paths by which a directory can be reached: those of bind mounts, from the table of mounts.

/// One mount, as `/proc/self/mountinfo` tells it.
struct MountEntry {
    device: String,
    /// The directory of the file system that is mounted.
    root: String,
    /// The path at which it is mounted.
    point: String,
}

/// Returns the paths of other mounts that lead to a directory or into it, given its real path and the table of mounts.
pub(crate) fn other_paths(real: &str, table: &str) -> Vec<String> {
    let mounts: Vec<MountEntry> = table.lines().filter_map(parse).collect();
    // Of several mounts at one path, the last one is visible.
    let holding = mounts.iter().enumerate().filter_map(|(at, mount)| {
        let rest = below(real, &mount.point)?;
        Some(((mount.point.len(), at), mount, rest))
    });
    let Some((_, mount, rest)) = holding.max_by_key(|(order, ..)| *order) else { return vec![] };
    let inner = joined(&mount.root, rest);
    let mut paths: Vec<String> = mounts
        .iter()
        .filter(|other| other.device == mount.device)
        .filter_map(|other| match below(&inner, &other.root) {
            Some(rest) => Some(joined(&other.point, rest)),
            // A part of the directory is mounted there.
            None => below(&other.root, &inner).map(|_| other.point.clone()),
        })
        .filter(|path| path != real)
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

fn parse(line: &str) -> Option<MountEntry> {
    let mut fields = line.split(' ').skip(2);
    let (device, root, point) = (fields.next()?, fields.next()?, fields.next()?);
    Some(MountEntry { device: device.to_owned(), root: unescaped(root), point: unescaped(point) })
}

/// Returns a path without the octal escapes of blanks, tabs, line ends and backslashes.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(byte) => {
                plain.push(byte);
                plain.extend_from_slice(part.get(3..).unwrap_or_default().as_bytes());
            }
            None => {
                plain.push(b'\\');
                plain.extend_from_slice(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// Returns the rest of a path below a directory, or `None` if it is not there.
fn below<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(directory.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
}

fn joined(directory: &str, rest: &str) -> String {
    match (directory.trim_end_matches('/'), rest) {
        ("", rest) => format!("/{rest}"),
        (directory, "") => directory.to_owned(),
        (directory, rest) => format!("{directory}/{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
        23 22 8:2 / /home rw - ext4 /dev/sda2 rw\n\
        24 22 8:2 /me/mail /srv/mail rw - ext4 /dev/sda2 rw\n\
        25 22 8:2 /me/mail/outbox /proj/out\\040here rw shared:1 - ext4 /dev/sda2 rw\n\
        26 22 8:2 /me/mail/outbox/new /proj/new rw - ext4 /dev/sda2 rw\n\
        27 22 0:5 /me/mail/outbox /other rw - tmpfs none rw\n\
        28 22 8:1 /opt/a /opt/b rw - ext4 /dev/sda1 rw\n";

    #[test]
    fn bind_mounts_of_a_directory_are_found() {
        for (real, others) in [
            ("/home/me/mail/outbox", &["/proj/new", "/proj/out here", "/srv/mail/outbox"][..]),
            ("/srv/mail/outbox", &["/home/me/mail/outbox", "/proj/new", "/proj/out here"]),
            ("/proj/new", &["/home/me/mail/outbox/new", "/proj/out here/new", "/srv/mail/outbox/new"]),
            ("/home/me/docs", &[]),
            ("/opt/a/spool", &["/opt/b/spool"]),
            ("/opt/ab", &[]),
            ("/other/x", &[]),
        ] {
            assert_eq!(other_paths(real, TABLE), others, "{real}");
        }
        assert!(other_paths("/home/me", "no table\n\n").is_empty());
    }
}

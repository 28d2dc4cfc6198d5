//! The search for protected files that are named in the arguments of a program.
//!
//! A program may read any part of an argument as a path, so every such part counts. `.env` is named by `.env`,
//! `--file=.env`, `@.env`, `-f.env`, `if=.env` and `.env:/there`. The result only decides whether a person is asked;
//! the sandbox decides which files the program can reach. A program that searches a whole directory names none of the
//! files in it.

use crate::protected::{ProtectionReason, may_hold, protected};

/// The maximum number of argument parts that are checked. A person sees every call with more parts in full.
const MAX_PARTS: usize = 2048;

/// The maximum length of a path in system calls, in bytes.
const MAX_PATH_LEN: usize = 4096;

/// The characters that separate the parts of an argument.
const SEPARATORS: &[char] =
    &['=', ':', ',', '@', ';', '|', '&', '<', '>', '(', ')', '"', '\'', '`', '?', '#', '{', '}', '[', ']'];

/// The directories whose content differs for each process that looks.
const PROCESS_PATHS: [&str; 2] = ["/proc", "/dev/fd"];

/// A protected file that a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectedMention {
    /// The index of the argument that names the file.
    pub at: usize,
    /// The path of the file: as it is written in the argument, or the path to which its links lead.
    pub path: String,
    /// The reason why the file is protected.
    pub why: ProtectionReason,
}

/// The protected files that the arguments of a call name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileMentions {
    /// The protected files, at most one for each word, in the order of the words.
    pub protected: Vec<ProtectedMention>,
    /// The index of the first argument that was not fully checked, because there were too many parts.
    pub beyond: Option<usize>,
}

/// Returns the protected files that the arguments after the program's name mention. `directories` are the directories
/// that the program reaches, with its working directory first. `writes` says whether the program may change any of
/// them. `look` resolves a path with all its links, and returns `None` if there is no such file.
///
/// A file that holds keys always counts. A file that a program obeys counts only if the call can write.
pub fn find_protected(
    argv: &[String],
    directories: &[String],
    writes: bool,
    look: &dyn Fn(&str) -> Option<String>,
) -> FileMentions {
    let mut found = FileMentions::default();
    let mut parts = 0;
    for (at, word) in argv.iter().enumerate().skip(1) {
        for part in parts_of(word) {
            parts += 1;
            if parts > MAX_PARTS {
                found.beyond = Some(at);
                return found;
            }
            if part.len() > MAX_PATH_LEN {
                continue;
            }
            if let Some((path, why)) = protected_file_in(part, directories, writes, look) {
                found.protected.push(ProtectedMention { at, path, why });
                break;
            }
        }
    }
    found
}

/// Returns every part of an argument that could be a path.
fn parts_of(word: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || SEPARATORS.contains(&c);
    // The smallest parts come first, because they show best which file is meant.
    word.split(is_between).chain(std::iter::once(word)).filter(|part| !part.is_empty()).flat_map(|part| {
        // A value may directly follow one or more option letters, as in `-f.env`, `-xzf.env` or `-fid_rsa`.
        let letters = part.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let value = letters.map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()));
        let second =
            letters.and_then(|rest| rest.char_indices().nth(1)).and_then(|(at, _)| part.get(at + 1..));
        [value, second, Some(part)].into_iter().flatten().filter(|part| !part.is_empty())
    })
}

/// Returns the protected file that a part of an argument names, with the reason why it is protected.
fn protected_file_in(
    part: &str,
    directories: &[String],
    writes: bool,
    look: &dyn Fn(&str) -> Option<String>,
) -> Option<(String, ProtectionReason)> {
    let counts = |path: &str| protected(path).filter(|why| makes_ask(*why, writes));
    // A call could fill a directory elsewhere, and then replace this one with it as a whole.
    let holds = |path: &str| may_hold(path).filter(|why| writes && makes_ask(*why, writes));
    let written = plain(part);
    if PROCESS_PATHS.iter().any(|place| lies_in(&written, &[(*place).to_owned()])) {
        return Some((written, ProtectionReason::Hidden));
    }
    let own = counts(&written);
    // A part without dot and slash, as in `grep secrets`, may be an ordinary word. It only counts if there is such a
    // file.
    let is_word = !part.contains(['/', '.']);
    let own = own.filter(|why| !is_word || *why == ProtectionReason::Obeyed);
    if let Some(why) = own.or_else(|| holds(&written).filter(|_| !is_word)) {
        return Some((written, why));
    }
    for directory in directories {
        let full = if part.starts_with('/') { part.to_owned() } else { format!("{directory}/{part}") };
        let plainly = plain(&full);
        if !lies_in(&plainly, directories) {
            continue;
        }
        let Some((real, is_there)) = resolve(&full, look) else { continue };
        // A missing path is only a word, unless a link on the way to it leads elsewhere.
        let paths = if is_there { vec![plainly, real] } else { vec![real] };
        let found = |path: String| counts(&path).or_else(|| holds(&path)).map(|why| (path, why));
        if let Some(found) =
            paths.into_iter().filter(|path| is_there || *path != plain(&full)).find_map(found)
        {
            return Some(found);
        }
    }
    None
}

/// Returns whether a name in an argument makes a person look at the call. A file that holds keys always does, and one
/// that programs obey does where the call can write. The names of build files stand in too many calls, such as
/// `make -f Makefile`.
fn makes_ask(why: ProtectionReason, writes: bool) -> bool {
    match why {
        ProtectionReason::Keys | ProtectionReason::Hidden => true,
        ProtectionReason::Obeyed | ProtectionReason::Included => writes,
        ProtectionReason::Built | ProtectionReason::Unlisted => false,
    }
}

/// Returns the resolved path, and whether there is a file. For a missing file, its nearest existing directory is
/// resolved.
fn resolve(path: &str, look: &dyn Fn(&str) -> Option<String>) -> Option<(String, bool)> {
    if let Some(real) = look(path) {
        return Some((real, true));
    }
    let mut rest = path.trim_end_matches('/');
    while let Some((above, _)) = rest.rsplit_once('/').filter(|(above, _)| !above.is_empty()) {
        if let Some(real) = look(above) {
            let missing = path.get(above.len()..).unwrap_or_default();
            return Some((plain(&format!("{real}{missing}")), false));
        }
        rest = above;
    }
    None
}

fn lies_in(path: &str, directories: &[String]) -> bool {
    directories.iter().any(|directory| {
        path.strip_prefix(directory.trim_end_matches('/'))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Returns a path without `.`, `..` and double slashes. Links are not followed.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resolves a path of the test tree: two directories, and the targets of the links in them.
    fn look(path: &str) -> Option<String> {
        let path = plain(path);
        let there =
            ["/w", "/w/notes.md", "/w/secrets", "/w/src", "/g/.git", "/g/.git/config", "/g/.git/index"];
        let links = [("/w/harmless", "/w/src/.env"), ("/w/out", "/home/me/.ssh/id_rsa"), ("/w/h", "/g/.git")];
        let link = links.iter().find(|(from, _)| *from == path).map(|(_, to)| (*to).to_owned());
        link.or_else(|| there.contains(&path.as_str()).then_some(path))
    }

    fn check(directories: &[&str], writes: bool, line: &str, expected: &[(usize, &str)]) {
        let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let directories: Vec<String> = directories.iter().map(|dir| (*dir).to_owned()).collect();
        let found = find_protected(&argv, &directories, writes, &look);
        let found: Vec<(usize, &str)> =
            found.protected.iter().map(|named| (named.at, named.path.as_str())).collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn protected_file_is_found_in_every_notation() {
        for (line, expected) in [
            ("cat .env", &[(1, ".env")][..]),
            ("cat ./a/../.env", &[(1, ".env")]),
            ("cat a//.ENV", &[(1, "a/.ENV")]),
            ("cp a.txt .git/hooks/pre-commit", &[(2, ".git/hooks/pre-commit")]),
            ("cp a.txt .git/x/../config", &[(2, ".git/config")]),
            ("cat ~/.ssh/id_rsa", &[(1, "~/.ssh/id_rsa")]),
            ("cat /home/me/.aws/config", &[(1, "/home/me/.aws/config")]),
            ("tool --file=.env", &[(1, ".env")]),
            ("tool --file .env", &[(2, ".env")]),
            ("tool @.env", &[(1, ".env")]),
            ("tool -f.env", &[(1, ".env")]),
            ("tool -xzf.env", &[(1, ".env")]),
            ("tool -o.git/config", &[(1, ".git/config")]),
            ("tool -osub/.git/config", &[(1, "/.git/config")]),
            ("tool -fid_rsa.", &[(1, "id_rsa.")]),
            ("dd if=.env of=x", &[(1, ".env")]),
            ("tool -v .env:/there", &[(2, ".env")]),
            ("tool a,b,policy.cedar", &[(1, "policy.cedar")]),
            ("curl file:///home/me/.netrc", &[(1, "/home/me/.netrc")]),
            ("scp me@host:.ssh/config x", &[(1, ".ssh/config")]),
            ("tool a.md .env .npmrc", &[(2, ".env"), (3, ".npmrc")]),
            ("cat .env?mode=ro", &[(1, ".env")]),
            ("cat {.env,x}", &[(1, ".env")]),
            // Paths that are different for each process.
            ("cat /proc/self/cwd/harmless", &[(1, "/proc/self/cwd/harmless")]),
            ("cat /dev/fd/3", &[(1, "/dev/fd/3")]),
            // These are a missing file behind a link, and directories that are replaced as a whole.
            ("cp a.txt h/hooks/pre-commit", &[(2, "/g/.git/hooks/pre-commit")]),
            ("cp -r x .git", &[(3, ".git")]),
            ("mv x sub/.config", &[(2, "sub/.config")]),
            // These are files behind a link, and files that are found in one of the directories.
            ("cat harmless", &[(1, "/w/src/.env")]),
            ("cat ./out", &[(1, "/home/me/.ssh/id_rsa")]),
            ("cat secrets", &[(1, "/w/secrets")]),
            ("tool config", &[(1, "/g/.git/config")]),
            ("tool --file=config", &[(1, "/g/.git/config")]),
            // Words that name no protected file.
            ("cat notes.md", &[]),
            ("grep credentials notes.md", &[]),
            ("grep -rn token src", &[]),
            ("wc -l .gitignore", &[]),
            ("tool index", &[(1, "/g/.git/index")]),
            ("tool id_rsa.pub .env.example", &[]),
            ("tool -n -- -", &[]),
            ("tool", &[]),
        ] {
            check(&["/w", "/g/.git"], true, line, expected);
        }
    }

    #[test]
    fn obeyed_file_counts_only_where_the_call_can_write() {
        check(&["/w"], false, "cat .git/config", &[]);
        check(&["/w"], true, "cat .git/config", &[(1, ".git/config")]);
        check(&["/w"], false, "cat .env", &[(1, ".env")]);
        check(&[], false, "cat .env", &[(1, ".env")]);
        check(&[], true, "cat config", &[]);
        // A path that is too long for any system call.
        check(&["/w"], true, &format!("cat {}.env", "a/".repeat(MAX_PATH_LEN / 2)), &[]);
        check(&["/w"], true, &format!("cat {}.env", "./".repeat(100)), &[(1, ".env")]);
    }

    #[test]
    fn argument_parts_beyond_the_limit_are_reported() {
        let crowd = ",".repeat(100) + &"x,".repeat(MAX_PARTS);
        let argv = ["tool".to_owned(), "a".to_owned(), crowd, ".env".to_owned()];
        assert_eq!(
            find_protected(&argv, &[], true, &look),
            FileMentions { protected: vec![], beyond: Some(2) }
        );
    }
}

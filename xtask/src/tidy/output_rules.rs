//! Output to a screen goes through few files, and foreign text in it is made visible first.

use super::Problem;
use super::tree::Tree;

/// The files that may write to the standard streams, and why.
const STREAM_FILES: &[(&str, &str)] = &[
    (
        "crates/almoner/src/ui/output.rs",
        "the door for people: all that a terminal gets is made visible there",
    ),
    ("crates/almoner/src/verbs/names.rs", "`cat` hands bytes to programs, and makes them visible for people"),
    ("crates/almoner/src/verbs/models.rs", "a progress bar with figures of ours"),
    (
        "crates/daemon/src/processes/mod.rs",
        "tells the daemon the outcome of an attempt in a sandbox, in words of ours",
    ),
    ("crates/daemon/src/state/log.rs", "the daemon's log, each line made visible"),
    (
        "crates/daemon/src/processes/code_reader.rs",
        "what the process that reads proposed code has found, as JSON",
    ),
    ("crates/daemon/src/processes/document_reader.rs", "the text of one document, in a frame"),
    ("crates/daemon/src/api/main_loop.rs", "tells the client that started it why it ends, as JSON"),
    ("crates/daemon/src/processes/git_host.rs", "frames of the process of a repository"),
    ("crates/daemon/src/processes/model_host.rs", "frames of the model host"),
    ("crates/daemon/src/processes/vat_host.rs", "frames of the process of guest code"),
    ("crates/sandbox/src/linux/warden.rs", "tells the daemon what became of a program, in a frame"),
];

/// The crates that make text for people.
const TEXT_CRATES: &[&str] = &["almoner", "control", "daemon", "gateway-web"];

/// Macros that make text.
const TEXT_MACROS: &[&str] = &["format!(", "write!(", "writeln!(", "format_args!("];

/// Methods that look at foreign text without showing it.
const HARMLESS_METHODS: &[&str] = &[".len()", ".is_empty()", ".as_bytes()", ".lines().count()"];

/// Calls in which text becomes foreign again.
const FOREIGN_WRAPPERS: &[&str] = &["Untrusted::new(", "Failure::new("];

/// Checks that only a few files write to standard output and standard error.
pub(super) fn check_streams(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, source, _) in tree.rust() {
        let shipped = file.path.starts_with("crates/") && file.path.contains("/src/");
        if !shipped || STREAM_FILES.iter().any(|(door, _)| file.path == *door) {
            continue;
        }
        for (number, line) in source.shipped().filter(|(_, line)| opens_stream(line)) {
            let wrong = format!("a standard stream is opened here: `{}`", line.trim());
            let way_out = "print with `commands::output`, which makes text visible; or add the file to the doors and say why";
            problems.push(Problem::fault(&file.path, number, wrong, way_out));
        }
    }
    problems
}

/// Returns whether a line opens a standard stream, rather than asking whether a person sees it.
fn opens_stream(line: &str) -> bool {
    ["stdout()", "stderr()"].iter().any(|stream| {
        line.match_indices(stream).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let method = before.is_some_and(|c| c == '.' || c == '_' || c.is_alphanumeric());
            let asks = line[at + stream.len()..].starts_with(".is_terminal()");
            !method && !asks
        })
    })
}

/// Checks that foreign text is made visible before it goes into a text for people.
pub(super) fn check_raw_text(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, source, owner) in
        tree.rust().filter(|(_, _, owner)| TEXT_CRATES.contains(&owner.name.as_str()))
    {
        if !file.path.starts_with(&format!("{}/src/", owner.folder)) {
            continue;
        }
        let lines: Vec<(usize, &str)> = source.shipped().collect();
        for (index, (number, line)) in lines.iter().enumerate() {
            let Some(start) = TEXT_MACROS.iter().filter_map(|maker| line.find(maker)).min() else { continue };
            let wrapped = FOREIGN_WRAPPERS.iter().any(|wrap| line[..start].contains(wrap));
            let rest = lines[index + 1..].iter().map(|(_, line)| *line);
            let call = call(std::iter::once(&line[start..]).chain(rest));
            let printed = line[..start].contains("output::") && shows(&call, ".display()");
            if !wrapped && (shows(&call, ".raw()") || printed) {
                let wrong = "foreign text is put into a text as it came";
                let way_out = "write `.visible_line()`, or `.visible()` where lines may be, or `output::path(…)`; data for programs is no text";
                problems.push(Problem::fault(&file.path, *number, wrong, way_out));
            }
        }
    }
    problems
}

/// Returns the first call in these lines, to its closing bracket.
fn call<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let (mut out, mut depth) = (String::new(), 0_usize);
    for line in lines.take(40) {
        for char in line.chars() {
            out.push(char);
            match char {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => continue,
            }
            if depth == 0 {
                return out;
            }
        }
        out.push('\n');
    }
    out
}

/// Returns whether a call shows the result of a method.
fn shows(call: &str, method: &str) -> bool {
    call.match_indices(method).any(|(at, found)| {
        let behind = call[at + found.len()..].trim_start();
        // A call around the method may still make the result visible.
        let guarded = call[..at].rfind("visible").is_some_and(|guard| {
            let between = &call[guard..at];
            between.matches('(').count() > between.matches(')').count()
        });
        !guarded && !HARMLESS_METHODS.iter().any(|look| behind.starts_with(look))
    })
}

#[cfg(test)]
mod tests {
    use super::{STREAM_FILES, check_raw_text, check_streams};
    use crate::tidy::planted::{at, tree};

    #[test]
    fn standard_streams_open_only_in_listed_files() {
        let find =
            |path: &str, text: &str, expected: &[&str]| at(&check_streams(&tree(&[(path, text)])), expected);
        let show = "crates/control/src/show/a.rs";
        find(show, "writeln!(io::stdout().lock(), x);", &["crates/control/src/show/a.rs:1"]);
        find(show, "let mut err = std::io::stderr();", &["crates/control/src/show/a.rs:1"]);
        find(show, "if io::stdout().is_terminal() {}", &[]);
        find(show, "command.stdout(Stdio::null()); error.use_stderr(); child.stdout()", &[]);
        find(show, "// io::stdout()\n#[cfg(test)]\nmod tests { fn f() { io::stdout(); } }", &[]);
        find("crates/almoner/tests/it/main.rs", "io::stdout().lock();", &[]);
        find(STREAM_FILES[0].0, "io::stdout().lock();", &[]);
        find("crates/caps/src/a.rs", "std::io::stdout().write(x);", &["crates/caps/src/a.rs:1"]);
    }

    #[test]
    fn raw_foreign_text_in_output_is_found() {
        let path = "crates/control/src/show/a.rs";
        let find = |text: &str, found: bool| {
            let expected = format!("{path}:1");
            let expected: &[&str] = if found { &[&expected] } else { &[] };
            at(&check_raw_text(&tree(&[(path, text)])), expected);
        };
        find("let x = format!(\"{}\", it.raw());", true);
        find("let x = format!(\n    \"{} {}\",\n    one(),\n    it.raw()\n);", true);
        find("write!(out, \"{}\", reason.raw())", true);
        find("format!(\"{}\", visible(a)); b.raw()", false);
        find("format!(\"{} {}\", visible(a), b.raw())", true);
        find("format!(\"{}\", visible_line(it.raw()))", false);
        find("format!(\"{} bytes\", it.raw().len())", false);
        find("Untrusted::new(format!(\"{}\", it.raw()))", false);
        find("store(it.raw());", false);
        find("output::note(&format!(\"{}\", path.display()));", true);
        find("Failure::new(exit, format!(\"{}\", path.display()))", false);
        find("#[cfg(test)]\nmod tests { fn f() { format!(\"{}\", it.raw()); } }", false);
        at(&check_raw_text(&tree(&[("crates/kernel/src/a.rs", "format!(\"{}\", it.raw())")])), &[]);
    }
}

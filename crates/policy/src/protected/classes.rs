//! The classes of protected names that need no list.

/// Returns whether a path within an endowed directory has a name that programs read and people rarely see: a part that
/// begins with a dot, a run-control file such as `muttrc`, or a file in a place of programs.
///
/// Only the path as the call names it counts. The path of the endowed directory itself was chosen by a person.
pub(super) fn is_of_programs(parts: &[&str]) -> bool {
    let has_dot = parts.iter().any(|part| part.len() > 1 && part.starts_with('.'));
    has_dot || parts.last().is_some_and(|last| is_run_control(last)) || is_executable_place(parts)
}

/// Returns whether a name has the form of a run-control file: `direnvrc`, and no ending.
fn is_run_control(name: &str) -> bool {
    /// The length of the shortest such name. `src` is none.
    const MIN_LEN: usize = 5;
    name.len() >= MIN_LEN && name.ends_with("rc") && !name.contains(['.', ' '])
}

/// Returns whether a path lies in a directory of programs. `src/bin` holds source code.
fn is_executable_place(parts: &[&str]) -> bool {
    let places = parts.split_last().map_or(&[][..], |(_, above)| above);
    places.iter().enumerate().any(|(at, part)| {
        let is_source = at > 0 && matches!(places[at - 1], "src" | "source" | "lib");
        matches!(*part, "bin" | "sbin" | "libexec") && !is_source
    })
}

/// Returns the words of a name, in lower case. `accessTokens.json` has the words `access`, `tokens` and `json`.
pub(super) fn split_name(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| letters.get(at));
        let after = letters.get(at + 1);
        let is_hump = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        let is_number = before.is_some_and(|before| before.is_numeric() != letter.is_numeric());
        if is_hump || is_number || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns whether a file of this name is source code, a text for readers or a picture. Such a file about passwords
/// holds none.
pub(super) fn is_source(name: &str) -> bool {
    const ENDINGS: &[&str] = &[
        "rs", "py", "pyi", "pyx", "pyc", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue",
        "svelte", "astro", "go", "java", "kt", "kts", "scala", "groovy", "c", "h", "cc", "cpp", "cxx", "hpp",
        "hh", "m", "mm", "cs", "fs", "vb", "swift", "rb", "erb", "php", "phpt", "twig", "pl", "pm", "t",
        "ex", "exs", "eex", "heex", "erl", "hrl", "clj", "cljs", "hs", "ml", "mli", "lua", "r", "jl", "dart",
        "zig", "nim", "sol", "v", "d", "pas", "f90", "asm", "s", "el", "lisp", "scm", "proto", "thrift",
        "graphql", "gql", "sql", "wit", "md", "mdx", "markdown", "rst", "adoc", "asciidoc", "org", "tex",
        "html", "htm", "xhtml", "css", "scss", "sass", "less", "styl", "hbs", "ejs", "pug", "haml", "slim",
        "j2", "jinja", "jinja2", "liquid", "mustache", "tmpl", "tpl", "po", "pot", "mo", "svg", "png", "jpg",
        "jpeg", "gif", "webp", "ico", "avif", "ttf", "woff", "woff2", "snap", "map", "class", "o", "so", "a",
        "lo", "wasm", "feature", "robot", "bats", "diff", "patch", "xsd", "wsdl", "rng", "1", "3", "5", "7",
        "8", "pdf", "epub", "mp4", "gradle", "cmake", "rego", "cue", "pkl", "typ", "nix", "in", "ac", "am",
        "m4",
    ];
    name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && ENDINGS.contains(&end))
}

/// Returns whether a file holds the words of a page in a language. Such a file about passwords holds none.
pub(super) fn is_translation(parts: &[&str]) -> bool {
    const DIRECTORIES: &[&str] =
        &["locale", "locales", "lang", "langs", "i18n", "l10n", "intl", "translations", "_locales"];
    const ENDINGS: &[&str] =
        &["json", "json5", "yml", "yaml", "properties", "arb", "xlf", "xliff", "strings", "resx"];
    let Some((name, above)) = parts.split_last() else { return false };
    let has_ending = name.rsplit_once('.').is_some_and(|(_, end)| ENDINGS.contains(&end));
    has_ending && above.iter().any(|part| DIRECTORIES.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_split_at_signs_and_humps() {
        for (name, expected) in [
            ("accessTokens.json", "access tokens json"),
            ("APIKey-2.txt", "api key 2 txt"),
            ("my_api-key.TXT", "my api key txt"),
            ("__init__", "init"),
            ("", ""),
        ] {
            assert_eq!(split_name(name).join(" "), expected);
        }
    }

    #[test]
    fn classes_need_no_list() {
        for (path, expected) in [
            (".foo", true),
            (".foo/bar.txt", true),
            ("a/.foo", true),
            ("muttrc", true),
            ("src", false),
            ("arc.rc", false),
            ("bin/tool", true),
            ("a/sbin/tool", true),
            ("src/bin/main.rs", false),
            ("bin", false),
            ("a/b.txt", false),
            (".", false),
        ] {
            let parts: Vec<&str> = path.split('/').collect();
            assert_eq!(is_of_programs(&parts), expected, "{path}");
        }
    }
}

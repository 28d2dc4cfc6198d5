//! The patterns of `--exclude`, which leave files out of a batch.

use std::cell::Cell;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use passable::visible_line;

use control::exit::{Exit, Failure};

/// The files that are left out of a batch.
pub(super) struct Exclusion(Vec<ExcludedPattern>);

struct ExcludedPattern {
    text: String,
    set: GlobSet,
    /// Whether the pattern covers a file.
    is_used: Cell<bool>,
}

impl Exclusion {
    /// Reads the patterns.
    ///
    /// # Errors
    /// When a pattern cannot be read.
    pub(super) fn read(patterns: &[String]) -> Result<Exclusion, Failure> {
        let read = |text: &String| {
            let glob = GlobBuilder::new(text.trim_start_matches("./")).literal_separator(true).build();
            let set = glob.and_then(|glob| GlobSetBuilder::new().add(glob).build());
            let set = set.map_err(|error| {
                let what = format!("`--exclude {}` cannot be read: {}", visible_line(text), error.kind());
                Failure::new(Exit::Usage, what)
                    .help("`*`, `?`, `**`, `{a,b}` and `[a-z]`, each closed again; or the name of a file")
            })?;
            Ok(ExcludedPattern { text: text.clone(), set, is_used: Cell::new(false) })
        };
        patterns.iter().map(read).collect::<Result<_, _>>().map(Exclusion)
    }

    /// Returns whether a file is left out. A pattern without `/` is compared with the name of the file, and any other
    /// one with the end of its path.
    pub(super) fn covers(&self, path: &str) -> bool {
        let ends =
            std::iter::once(path).chain(path.match_indices('/').filter_map(|(at, _)| path.get(at + 1..)));
        let ends: Vec<&str> = ends.collect();
        let covering = self.0.iter().filter(|pattern| {
            let covers = ends.iter().any(|end| pattern.set.is_match(end));
            pattern.is_used.set(pattern.is_used.get() || covers);
            covers
        });
        covering.count() > 0
    }

    /// Returns the patterns that cover no file.
    pub(super) fn unused(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|pattern| !pattern.is_used.get()).map(|pattern| pattern.text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exclusion(patterns: &[&str]) -> Exclusion {
        let patterns: Vec<String> = patterns.iter().map(|text| (*text).to_owned()).collect();
        Exclusion::read(&patterns).unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// Users ask other programs for it: chad/turbulence#12, AbanteAI/archive-old-cli-mentat#33.
    #[test]
    fn pattern_covers_names_and_ends_of_paths() {
        let check = |pattern: &str, path: &str, expected: bool| {
            assert_eq!(exclusion(&[pattern]).covers(path), expected, "{pattern} {path}");
        };
        check("*.tmp", "/home/me/in/a.tmp", true);
        check("*.tmp", "/home/me/in/a.tmp.md", false);
        check("README.md", "/home/me/in/README.md", true);
        check("README.md", "/home/me/in/OLD-README.md", false);
        check("drafts/**", "/home/me/in/drafts/2026/a.md", true);
        check("./in/drafts/*.md", "/home/me/in/drafts/a.md", true);
        check("drafts/*.md", "/home/me/in/drafts/deep/a.md", false);
        check("{a,b}.md", "/in/b.md", true);
        // xonixx/makesure#189: all but what a first pass made.
        check("*_processed.mp4", "/in/a_processed.mp4", true);
        check("*_processed.mp4", "/in/a.mp4", false);
    }

    /// A pattern that covers nothing ended another program (google/closure-compiler#608).
    #[test]
    fn pattern_without_a_file_is_reported() {
        let exclusion = exclusion(&["*.tmp", "*.bak"]);
        assert!(exclusion.covers("/in/a.tmp") && !exclusion.covers("/in/a.md"));
        assert_eq!(exclusion.unused().collect::<Vec<_>>(), ["*.bak"]);
        assert!(Exclusion::read(&["[".to_owned()]).is_err());
    }
}

//! The check of a batch's items before any model is asked.
//!
//! An item whose prompt or whose file's path cannot be made fails at once. So does an item that would write the same
//! file as an earlier item. The other items are not affected.

use std::collections::{BTreeMap, BTreeSet};

use kernel::run::{Attachment, Trouble};
use serde_json::{Map, Value as Json, json};
use unicode_normalization::UnicodeNormalization as _;

use crate::conversation::{attachment_list, item, template_data};
use crate::definition::{
    Bundle, Definition, WriteScope, is_path_known_before, is_prompt_same_for_all, render_path, render_prompt,
};
use crate::trouble::{of_prompt, trouble};

/// The names in the data of a write step that are known before the item is worked on.
const EACH_NAMES: [&str; 3] = ["input", "item", "attachments"];

/// The names in the data of a `once` step that are known before the batch begins.
const ONCE_NAMES: [&str; 1] = ["input"];

/// The help for a path that cannot be used.
const PATH_HELP: &str = "change `path` in the worker file, or rename the document";

/// The help for two items with the same file.
const SAME_FILE_HELP: &str =
    "let `path` in the worker file depend on `item.name` or `item.index`, or leave one out with `--exclude`";

/// The files that are taken, each with the item or the step that writes it.
#[derive(Default)]
pub(crate) struct TakenFiles(BTreeMap<(String, String), String>);

impl TakenFiles {
    /// Takes a file of a slot for a writer.
    ///
    /// # Errors
    /// When another writer has the file. The error is the name of that writer.
    pub(crate) fn take(&mut self, slot: &str, path: &str, writer: &str) -> Result<(), String> {
        let key = (slot.to_owned(), file_key(path));
        match self.0.get(&key) {
            Some(other) => Err(other.clone()),
            None => {
                self.0.insert(key, writer.to_owned());
                Ok(())
            }
        }
    }
}

/// Returns the same text for all paths that stand for one file on some file system. Such systems do not tell upper
/// case from lower case, or composed from decomposed characters.
fn file_key(path: &str) -> String {
    path.nfd().collect::<String>().to_uppercase().to_lowercase().nfc().collect()
}

/// Returns the items that fail whatever a model answers, each with the reason. `done` has the items that an earlier
/// run has completed; they keep their files.
///
/// # Errors
/// When the prompt is the same for all items and cannot be made.
pub fn failing_items(
    definition: &Definition,
    bundle: &Bundle,
    values: &Map<String, Json>,
    items: &[Attachment],
    done: &BTreeSet<usize>,
) -> Result<BTreeMap<usize, Trouble>, Trouble> {
    let input = Json::Object(values.clone());
    let mut checker = ItemChecker::new(definition, bundle, &input)?;
    let mut failing = BTreeMap::new();
    let (first, rest): (Vec<usize>, Vec<usize>) = (0..items.len()).partition(|index| done.contains(index));
    for index in first.into_iter().chain(rest) {
        let Some(document) = items.get(index).filter(|item| item.rejected.is_none()) else { continue };
        if let Err(trouble) = checker.check(document, index) {
            failing.insert(index, trouble);
        }
    }
    Ok(failing)
}

struct ItemChecker<'a> {
    definition: &'a Definition,
    bundle: &'a Bundle,
    input: &'a Json,
    has_own_prompts: bool,
    /// The steps of `write` that write a file for each item, with a path that is known before.
    steps: Vec<usize>,
    taken: TakenFiles,
}

impl ItemChecker<'_> {
    fn new<'a>(
        definition: &'a Definition,
        bundle: &'a Bundle,
        input: &'a Json,
    ) -> Result<ItemChecker<'a>, Trouble> {
        let has_own_prompts = !is_prompt_same_for_all(definition, bundle);
        if !has_own_prompts {
            render_prompt(definition, bundle, &json!({ "input": input }))
                .map_err(|e| of_prompt(&e, &bundle.file))?;
        }
        let mut taken = TakenFiles::default();
        let mut steps = Vec::new();
        for (index, write) in definition.write.iter().enumerate() {
            match write.scope {
                WriteScope::Each if is_path_known_before(write, bundle, &EACH_NAMES) => steps.push(index),
                WriteScope::Once if is_path_known_before(write, bundle, &ONCE_NAMES) => {
                    // A path that cannot be made is reported when the step is made.
                    if let Ok(path) = render_path(definition, bundle, index, &json!({ "input": input })) {
                        let _ = taken.take(&write.slot, &path, "the file for all items");
                    }
                }
                WriteScope::Each | WriteScope::Once => {}
            }
        }
        Ok(ItemChecker { definition, bundle, input, has_own_prompts, steps, taken })
    }

    fn check(&mut self, document: &Attachment, index: usize) -> Result<(), Trouble> {
        let documents = std::slice::from_ref(document);
        if self.has_own_prompts {
            let data = template_data(self.input.clone(), documents, index);
            render_prompt(self.definition, self.bundle, &data)
                .map_err(|e| of_prompt(&e, &self.bundle.file))?;
        }
        let data = json!({
            "input": self.input, "item": item(&document.name, index), "attachments": attachment_list(documents),
        });
        let mut paths = Vec::new();
        for step in &self.steps {
            let path = render_path(self.definition, self.bundle, *step, &data)
                .map_err(|e| trouble("output/path", e.to_string(), PATH_HELP))?;
            let slot = self.definition.write.get(*step).map_or("", |write| write.slot.as_str());
            paths.push((slot, path));
        }
        for (slot, path) in paths {
            self.taken.take(slot, &path, &document.name).map_err(|other| same_file(&path, &other))?;
        }
        Ok(())
    }
}

/// Returns the trouble for an item that would write the file of another writer.
fn same_file(path: &str, other: &str) -> Trouble {
    trouble("output/same-file", format!("it would write {path}, which {other} writes"), SAME_FILE_HELP)
}

#[cfg(test)]
mod tests {
    use kernel::BlobHash;

    use super::*;
    use crate::definition;

    fn document(name: &str) -> Attachment {
        let hash = BlobHash::of(name.as_bytes());
        let media_type = "text/plain".to_owned();
        Attachment {
            name: name.to_owned(),
            hash,
            text: hash,
            bytes: 1,
            media_type,
            notes: vec![],
            rejected: None,
        }
    }

    fn failing(source: &str, names: &[&str], done: &[usize]) -> Vec<(usize, String)> {
        let bundle = Bundle {
            name: "w".to_owned(),
            file: "w.worker".to_owned(),
            source: source.to_owned(),
            includes: BTreeMap::new(),
        };
        let (parsed, problems) = definition::parse(&bundle);
        let definition = parsed.unwrap_or_else(|| panic!("{problems:?}"));
        let items: Vec<Attachment> = names.iter().map(|name| document(name)).collect();
        let done = done.iter().copied().collect();
        let found = failing_items(&definition, &bundle, &Map::new(), &items, &done).unwrap();
        found.into_iter().map(|(index, trouble)| (index, trouble.message.raw().to_owned())).collect()
    }

    fn writer(path: &str) -> String {
        format!(
            "---\nslots: {{ out: dir rw }}\nwrite:\n  - {{ each: out, path: \"{path}\", content: x }}\n---\nDo.\n"
        )
    }

    /// Reported of other programs: apsun/AniConvert#3 (same stem), tsduck/tsduck#1740 (same name in two directories),
    /// webmin/webmin#619 and lcgamboa/picsim#4 (names that differ in case), prefix-dev/rattler-build#1621.
    #[test]
    fn second_item_with_the_same_file_fails() {
        let path = writer("{{ item.stem }}.md");
        let check = |names: &[&str], expected: &[usize]| {
            let found: Vec<usize> = failing(&path, names, &[]).into_iter().map(|(index, _)| index).collect();
            assert_eq!(found, expected, "{names:?}");
        };
        check(&["a.txt", "b.txt"], &[]);
        check(&["a.txt", "a.csv", "b.txt"], &[1]);
        check(&["a.txt", "a.txt"], &[1]);
        check(&["Logo.png", "logo.png", "LOGO.txt"], &[1, 2]);
        check(&["caf\u{e9}.txt", "cafe\u{301}.txt"], &[1]);
        check(&["stra\u{df}e.txt", "STRASSE.txt"], &[1]);
        let said = failing(&path, &["a.txt", "a.csv"], &[]);
        assert_eq!(said, [(1, "it would write a.md, which a.txt writes".to_owned())]);
    }

    #[test]
    fn completed_item_keeps_its_file() {
        let found = failing(&writer("{{ item.stem }}.md"), &["a.txt", "a.csv"], &[1]);
        assert_eq!(found.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn item_fails_if_it_would_write_the_file_for_all() {
        let source = "---\nslots: { out: dir rw }\nwrite:\n  - { each: out, path: \"{{ item.stem }}.csv\", content: x }\n\
                      \x20 - { once: out, path: all.csv, content: x }\n---\nDo.\n";
        let found = failing(source, &["b.txt", "All.txt"], &[]);
        assert_eq!(found, [(1, "it would write All.csv, which the file for all items writes".to_owned())]);
    }

    #[test]
    fn path_that_depends_on_the_answer_is_not_judged_before() {
        let source = "---\noutput: { kind: string }\nslots: { out: dir rw }\nwrite:\n  - { each: out, path: \"{{ output.kind }}.md\", \
                      content: x }\n---\nDo.\n";
        assert_eq!(failing(source, &["a.txt", "a.txt"], &[]), []);
    }

    /// Reported of other programs: run-llama/llama_cloud_services#694 and nextgenhealthcare/connect#1602 (one bad item
    /// ends the whole job).
    #[test]
    fn item_whose_template_fails_is_the_only_one_to_fail() {
        let names = &["a.txt", "line\nbreak.txt", "b.txt", &"x".repeat(300)];
        let found = failing(&writer("{{ item.name }}.md"), names, &[]);
        assert_eq!(found.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [1, 3], "{found:?}");
        let source = "---\n---\nLook at {{ item.name }}{% if item.suffix == '.csv' %}{{ item.name.deep.er }}{% endif %}.\n";
        let found = failing(source, &["a.txt", "b.csv"], &[]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, 1);
    }
}

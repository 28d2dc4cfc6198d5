//! The reading of a tree of files without a map, as one package.

use std::collections::BTreeMap;

use passable::visible_line;
use serde_json::Value;

use super::{ArchiveError, FileBudget, text};
use crate::modules::{Language, MAX_MODULES, MAX_SOURCE_BYTES, Module, ModuleName, Modules};

/// The name of the file that may name the first module.
const PACKAGE_FILE: &str = "package.json";

pub(super) fn program(
    files: &BTreeMap<String, Vec<u8>>,
    taken: &mut FileBudget<'_>,
) -> Result<Modules, ArchiveError> {
    let mut modules = BTreeMap::new();
    let mut left = MAX_SOURCE_BYTES;
    for (path, bytes) in files {
        // A tree may contain files that cannot be imported.
        let Some(language) = language(path) else { continue };
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(ArchiveError::Shape(format!("`{}` is no path in a tree", visible_line(path))));
        }
        left = left.checked_sub(bytes.len()).ok_or_else(|| ArchiveError::TooLarge {
            what: "more bytes of sources".to_owned(),
            most: MAX_SOURCE_BYTES,
        })?;
        if modules.len() >= MAX_MODULES {
            return Err(ArchiveError::TooLarge { what: "more modules".to_owned(), most: MAX_MODULES });
        }
        let (module, text) = (format!("./{path}"), text(path, bytes.clone())?);
        if language == Language::Module {
            taken.request_map(ModuleName { package: String::new(), module: module.clone() }, "", path, &text);
        }
        modules.insert(module, Module::Source { language, text });
    }
    let first = match files.get(PACKAGE_FILE) {
        Some(bytes) => package_entry(bytes)?,
        None => "./index.js".to_owned(),
    };
    if !modules.contains_key(&first) {
        return Err(ArchiveError::NoFile(visible_line(first.trim_start_matches("./")).into_owned()));
    }
    let entry = ModuleName { package: String::new(), module: first };
    Ok(Modules { entry, packages: BTreeMap::from([(String::new(), modules)]), maps: taken.maps() })
}

/// Returns the language of a file by the ending of its name, or `None` if the file cannot be imported.
pub(super) fn language(path: &str) -> Option<Language> {
    match path.rsplit_once('.')?.1 {
        "js" | "mjs" => Some(Language::Module),
        "json" => Some(Language::Json),
        "txt" | "md" => Some(Language::Text),
        _ => None,
    }
}

/// Returns the first module of a package according to its `package.json`: its export, or its main file.
fn package_entry(bytes: &[u8]) -> Result<String, ArchiveError> {
    let described: Value = serde_json::from_slice(bytes).map_err(|error| {
        let why = error.to_string();
        ArchiveError::Shape(format!("`{PACKAGE_FILE}` cannot be read: {}", visible_line(&why)))
    })?;
    let exports = described.get("exports").map(|exports| exports.get(".").unwrap_or(exports));
    let exported = exports.and_then(|exports| match exports {
        Value::String(path) => Some(path.as_str()),
        conditions => ["import", "default"].iter().find_map(|condition| conditions.get(condition)?.as_str()),
    });
    let path = exported.or_else(|| described.get("main")?.as_str()).unwrap_or("index.js");
    Ok(format!("./{}", path.trim_start_matches("./")))
}

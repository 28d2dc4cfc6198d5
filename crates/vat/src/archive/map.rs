//! The reader of `compartment-map.json`, which lists the modules' files and the modules that each compartment can
//! import.

use std::collections::BTreeMap;

use passable::visible_line;
use serde::Deserialize;
use sha2::{Digest, Sha512};

use super::{ArchiveError, FileBudget, text};
use crate::modules::{Language, MAX_MODULES, Module, ModuleName, Modules};

/// The part of the map that is used here. Labels, tags and policies are ignored.
#[derive(Deserialize)]
struct CompartmentMap {
    entry: Target,
    compartments: BTreeMap<String, Compartment>,
}

#[derive(Deserialize)]
struct Target {
    compartment: String,
    module: String,
}

#[derive(Deserialize)]
struct Compartment {
    location: String,
    #[serde(default)]
    modules: BTreeMap<String, Entry>,
}

/// The target of one module name. Exactly one of the alternatives is given.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    /// The path of a file of this compartment.
    location: Option<String>,
    parser: Option<String>,
    sha512: Option<String>,
    /// The compartment of another module that the name stands for. If it is missing, it is this compartment.
    compartment: Option<String>,
    module: Option<String>,
    /// The name of a module that the archive does not contain.
    exit: Option<String>,
    /// The error for a module that was not found when the archive was made.
    deferred_error: Option<String>,
}

/// Makes a program from a map and the files that it names.
pub(super) fn program(map: &[u8], taken: &mut FileBudget<'_>) -> Result<Modules, ArchiveError> {
    let map: CompartmentMap = serde_json::from_slice(map).map_err(|error| {
        let why = error.to_string();
        ArchiveError::Shape(format!("the compartment map cannot be read: {}", visible_line(&why)))
    })?;
    let count: usize = map.compartments.values().map(|compartment| compartment.modules.len()).sum();
    if count > MAX_MODULES {
        return Err(ArchiveError::TooLarge { what: format!("{count} modules"), most: MAX_MODULES });
    }
    let mut packages = BTreeMap::new();
    for (package, compartment) in map.compartments {
        let mut modules = BTreeMap::new();
        for (name, entry) in compartment.modules {
            let module = module(&package, &compartment.location, &name, entry, taken)?;
            modules.insert(name, module);
        }
        packages.insert(package, modules);
    }
    let entry = ModuleName { package: map.entry.compartment, module: map.entry.module };
    Ok(Modules { entry, packages, maps: taken.maps() })
}

fn module(
    package: &str,
    folder: &str,
    name: &str,
    entry: Entry,
    taken: &mut FileBudget<'_>,
) -> Result<Module, ArchiveError> {
    let shown = || visible_line(name).into_owned();
    if let Some(location) = entry.location {
        let language = language(&shown(), entry.parser.as_deref())?;
        let path = inside(folder, &location)?;
        let bytes = taken.source(&path)?;
        if let Some(expected) = entry.sha512
            && !Sha512::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).eq(pairs(&expected))
        {
            return Err(ArchiveError::Digest(visible_line(&path).into_owned()));
        }
        let text = text(&path, bytes)?;
        if language == Language::Module {
            let source = ModuleName { package: package.to_owned(), module: name.to_owned() };
            taken.request_map(source, folder, &location, &text);
        }
        return Ok(Module::Source { language, text });
    }
    if let Some(module) = entry.module {
        let package = entry.compartment.unwrap_or_else(|| package.to_owned());
        return Ok(Module::Link(ModuleName { package, module }));
    }
    match (entry.exit, entry.deferred_error) {
        (Some(_), _) => {
            Ok(Module::Missing("it is built in elsewhere, and a vat has no built-in modules".to_owned()))
        }
        (None, Some(why)) => Ok(Module::Missing(visible_line(&why).into_owned())),
        (None, None) => {
            Err(ArchiveError::Shape(format!("the compartment map does not say what `{}` leads to", shown())))
        }
    }
}

fn language(name: &str, parser: Option<&str>) -> Result<Language, ArchiveError> {
    let other = match parser {
        Some("mjs") => return Ok(Language::Module),
        Some("json") => return Ok(Language::Json),
        Some("text") => return Ok(Language::Text),
        Some(other) => other,
        None => "none",
    };
    let why = match other {
        "pre-mjs-json" | "pre-cjs-json" => {
            "it was compiled for another engine; make the archive of sources (`bundle-source --no-transforms`)"
        }
        "cjs" => "only ES modules can be run, and this one is CommonJS",
        _ => "only modules, JSON and text can be imported",
    };
    let parser = visible_line(other);
    Err(ArchiveError::Shape(format!("the module `{name}` cannot be run ({parser}): {why}")))
}

/// Returns a file's path in the archive. The path is only looked up in this archive. A path with `.` or `..` is
/// refused all the same, because no tool writes one.
fn inside(folder: &str, location: &str) -> Result<String, ArchiveError> {
    let path = format!("{folder}/{location}");
    match path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        true => Err(ArchiveError::Shape(format!("`{}` is no path in an archive", visible_line(&path)))),
        false => Ok(path),
    }
}

/// Returns the digits of a digest in pairs.
fn pairs(digits: &str) -> impl Iterator<Item = String> {
    let digits: Vec<char> = digits.chars().collect();
    digits.chunks(2).map(|pair| pair.iter().collect()).collect::<Vec<String>>().into_iter()
}

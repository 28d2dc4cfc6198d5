//! The modules of a program: sources by name, and the target of each name in an `import`. Modules are looked up only
//! here.

use std::collections::BTreeMap;

use passable::visible_line;
use serde::{Deserialize, Serialize};

use crate::source_map::MAX_MAP_BYTES;

/// The maximum number of module names, in all packages together.
pub const MAX_MODULES: usize = 2_000;
/// The maximum number of bytes in all sources together.
pub const MAX_SOURCE_BYTES: usize = 8 << 20;
/// The maximum length of one name, in bytes.
const MAX_NAME_LEN: usize = 512;
/// The maximum length of a chain of names that lead to other names.
const MAX_HOPS: usize = 16;

/// The language of a module's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// An ES module.
    Module,
    /// JSON. The default export is the value, hardened.
    Json,
    /// Text. The default export is a string.
    Text,
}

/// The target of a module name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Module {
    /// A source of this package.
    Source {
        /// The language of the source.
        language: Language,
        /// The text of the source.
        text: String,
    },
    /// Another name, whose module is meant.
    Link(ModuleName),
    /// A module that is not available, with the reason, which is the error of importing it.
    Missing(String),
}

/// The name of a module: its package, and its name in the package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ModuleName {
    /// The package, by its name in [`Modules::packages`].
    pub package: String,
    /// The name in that package, such as `./src/index.js`. A name such as `dep` stands for a module that the
    /// package's sources import by that name.
    pub module: String,
}

impl ModuleName {
    /// Returns the name for people: `dep/src/index.js`, or `src/index.js` in a package without a name.
    pub fn label(&self) -> String {
        let path = self.module.strip_prefix("./").unwrap_or(&self.module);
        if self.package.is_empty() { path.to_owned() } else { format!("{}/{path}", self.package) }
    }
}

/// All modules of one program, in packages. Each package has its own names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modules {
    /// The module that is run first, and whose `make` is called.
    pub entry: ModuleName,
    /// The packages, each with the names that its own sources can import.
    pub packages: BTreeMap<String, BTreeMap<String, Module>>,
    /// The source maps of sources, by package and name of the source. They are only used for the places of errors.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub maps: BTreeMap<String, BTreeMap<String, String>>,
}

impl Modules {
    /// Checks that the program is within its limits, and that its names have the right form.
    ///
    /// # Errors
    /// The first problem and its module, in one line.
    pub fn check(&self) -> Result<(), String> {
        let (mut count, mut bytes) = (0usize, 0usize);
        for (package, modules) in &self.packages {
            check_name(package)?;
            for (module, found) in modules {
                check_name(module)?;
                count += 1;
                let text = match found {
                    Module::Source { text, .. } => text.as_str(),
                    Module::Missing(why) => why.as_str(),
                    Module::Link(to) => {
                        check_name(&to.package)?;
                        check_name(&to.module)?;
                        ""
                    }
                };
                bytes = bytes.saturating_add(text.len());
                if text.contains('\0') {
                    let name = ModuleName { package: package.clone(), module: module.clone() };
                    return Err(format!("the module {} is no text: it holds a zero", name.label()));
                }
            }
        }
        if count > MAX_MODULES {
            return Err(format!("{count} modules, but {MAX_MODULES} is the limit"));
        }
        if bytes > MAX_SOURCE_BYTES {
            return Err(format!("modules of {bytes} bytes, but {MAX_SOURCE_BYTES} is the limit"));
        }
        let maps = self.bytes_of_maps();
        if maps > MAX_MAP_BYTES {
            return Err(format!("source maps of {maps} bytes, but {MAX_MAP_BYTES} is the limit"));
        }
        self.find(&self.entry).map(|_| ())
    }

    fn bytes_of_maps(&self) -> usize {
        self.maps.values().flat_map(BTreeMap::values).map(String::len).sum()
    }

    /// Returns the source map of a source.
    pub(crate) fn map(&self, name: &ModuleName) -> Option<&str> {
        self.maps.get(&name.package)?.get(&name.module).map(String::as_str)
    }

    /// Returns the number of bytes in all sources and their maps.
    pub(crate) fn bytes(&self) -> usize {
        let lengths = self.packages.values().flat_map(BTreeMap::values).map(|module| match module {
            Module::Source { text, .. } => text.len(),
            Module::Link(_) | Module::Missing(_) => 0,
        });
        lengths.sum::<usize>().saturating_add(self.bytes_of_maps())
    }

    /// Returns the module that a source imports by a specifier.
    ///
    /// # Errors
    /// The reason why there is no such module, in one line.
    pub fn import(&self, from: &ModuleName, specifier: &str) -> Result<ModuleName, String> {
        let said = || format!("{} imports \"{}\"", from.label(), visible_line(specifier));
        let module = match specifier.starts_with("./") || specifier.starts_with("../") {
            true => {
                let joined = join(&from.module, specifier);
                joined.ok_or_else(|| format!("{}, which leads out of its package", said()))?
            }
            false => specifier.to_owned(),
        };
        let name = ModuleName { package: from.package.clone(), module };
        if self.get(&name).is_none() {
            let why = match specifier.starts_with("node:") {
                true => "and a vat has no built-in modules",
                false => "which is not among its modules",
            };
            return Err(format!("{}, {why}", said()));
        }
        self.find(&name).map_err(|why| format!("{}: {why}", said()))
    }

    /// Follows a name to the source for which it stands.
    pub(crate) fn find(&self, name: &ModuleName) -> Result<ModuleName, String> {
        let mut at = name;
        for _ in 0..MAX_HOPS {
            match self.get(at) {
                Some(Module::Link(to)) => at = to,
                Some(Module::Missing(why)) => {
                    return Err(format!("{}: {}", visible_line(&at.label()), visible_line(why)));
                }
                Some(Module::Source { .. }) => return Ok(at.clone()),
                None => return Err(format!("there is no module {}", visible_line(&at.label()))),
            }
        }
        Err(format!("{} leads nowhere but to other names", visible_line(&name.label())))
    }

    /// Returns the target of exactly this name.
    pub(crate) fn get(&self, name: &ModuleName) -> Option<&Module> {
        self.packages.get(&name.package)?.get(&name.module)
    }
}

/// Checks the form of a name. Names are shown to people, and stand within `<` and `>` in the engine's stack traces.
fn check_name(name: &str) -> Result<(), String> {
    let strange = |char: char| char.is_control() || matches!(char, '<' | '>' | '\u{2028}' | '\u{2029}');
    match name.len() > MAX_NAME_LEN || name.contains(strange) {
        true => {
            let cut: String = name.chars().take(60).collect();
            Err(format!("`{}` cannot be the name of a module", visible_line(&cut)))
        }
        false => Ok(()),
    }
}

/// Returns the module name for a relative specifier in a module of the same package. Returns `None` if the specifier
/// leads out of the package.
pub(crate) fn join(from: &str, specifier: &str) -> Option<String> {
    let folder = from.strip_prefix("./")?.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in specifier.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            other => parts.push(other),
        }
    }
    Some(format!("./{}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> ModuleName {
        let (package, module) = text.split_once(' ').unwrap();
        ModuleName { package: package.to_owned(), module: module.to_owned() }
    }

    fn modules() -> Modules {
        let source = || Module::Source { language: Language::Module, text: String::new() };
        let rows = [
            ("app ./index.js", source()),
            ("app ./src/a.js", source()),
            ("app ./src/deep/b.js", source()),
            ("app dep", Module::Link(name("dep ./main.js"))),
            ("app dep/gone", Module::Link(name("dep ./gone.js"))),
            ("app fs", Module::Missing("it is built in elsewhere".to_owned())),
            ("app round", Module::Link(name("app about"))),
            ("app about", Module::Link(name("app round"))),
            ("dep ./main.js", source()),
        ];
        let mut packages: BTreeMap<String, BTreeMap<String, Module>> = BTreeMap::new();
        for (key, module) in rows {
            let ModuleName { package, module: path } = name(key);
            packages.entry(package).or_default().insert(path, module);
        }
        Modules { entry: name("app ./index.js"), packages, maps: BTreeMap::new() }
    }

    #[test]
    fn import_specifier_resolves_only_within_its_package() {
        let modules = modules();
        for (from, specifier, expected) in [
            ("app ./index.js", "./src/a.js", "app ./src/a.js"),
            ("app ./src/a.js", "./deep/b.js", "app ./src/deep/b.js"),
            ("app ./src/deep/b.js", "../a.js", "app ./src/a.js"),
            ("app ./src/deep/b.js", "../../index.js", "app ./index.js"),
            ("app ./src/a.js", "./../src/./a.js", "app ./src/a.js"),
            ("app ./src/a.js", "dep", "dep ./main.js"),
            ("app ./src/deep/b.js", "../../../index.js", "leads out of its package"),
            ("app ./index.js", "../dep/main.js", "leads out of its package"),
            ("dep ./main.js", "dep", "not among its modules"),
            ("dep ./main.js", "./index.js", "not among its modules"),
            ("app ./index.js", "/etc/passwd", "not among its modules"),
            ("app ./index.js", "src/a.js", "not among its modules"),
            ("app ./index.js", "./src//a.js", "not among its modules"),
            ("app ./index.js", "./src/a.js?x", "not among its modules"),
            ("app ./index.js", "./src", "not among its modules"),
            ("app ./index.js", "", "not among its modules"),
            ("app ./index.js", "node:fs", "no built-in modules"),
            ("app ./index.js", "file:///etc/passwd", "not among its modules"),
            ("app ./index.js", "fs", "built in elsewhere"),
            ("app ./index.js", "dep/gone", "there is no module dep/gone.js"),
            ("app ./index.js", "round", "leads nowhere"),
        ] {
            let found = modules.import(&name(from), specifier);
            match found {
                Ok(found) => assert_eq!(found, name(expected), "{specifier}"),
                Err(why) => assert!(why.contains(expected), "{specifier}: {why}"),
            }
        }
    }

    #[test]
    fn modules_out_of_bounds_are_refused() {
        let with = |change: &dyn Fn(&mut Modules)| {
            let mut modules = modules();
            change(&mut modules);
            modules.check().err().unwrap_or_default()
        };
        let source = |text: String| Module::Source { language: Language::Module, text };
        let add = |modules: &mut Modules, name: String, module| {
            modules.packages.entry("app".to_owned()).or_default().insert(name, module);
        };
        assert_eq!(with(&|_| {}), "");
        let map = |modules: &mut Modules, text: String| {
            modules.maps.entry("app".to_owned()).or_default().insert("./index.js".to_owned(), text);
        };
        let cases: [(String, &str); 8] = [
            (with(&|modules| map(modules, " ".repeat(MAX_MAP_BYTES + 1))), "source maps of 2097153 bytes"),
            (with(&|modules| modules.entry = name("app dep/gone")), "there is no module"),
            (with(&|modules| modules.entry = name("other ./x.js")), "there is no module other/x.js"),
            (with(&|modules| add(modules, "./<x>".to_owned(), source(String::new()))), "cannot be the name"),
            (with(&|modules| add(modules, "./\n".to_owned(), source(String::new()))), "cannot be the name"),
            (with(&|modules| add(modules, "x".repeat(600), source(String::new()))), "cannot be the name"),
            (with(&|modules| add(modules, "./z".to_owned(), source("\0".to_owned()))), "app/z is no text"),
            (
                with(&|modules| add(modules, "./z".to_owned(), source(" ".repeat(MAX_SOURCE_BYTES + 1)))),
                "is the limit",
            ),
        ];
        for (why, expected) in cases {
            assert!(why.contains(expected), "{expected}: {why}");
        }
        let many = with(&|modules| {
            (0..MAX_MODULES).for_each(|n| add(modules, n.to_string(), source(String::new())))
        });
        assert!(many.contains("2000 is the limit"), "{many}");
    }
}

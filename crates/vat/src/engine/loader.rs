//! The modules of a vat, by the names under which the engine loads them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Exception, Module as Loaded, Result};

use super::VatState;
use crate::modules::{Language, Module, ModuleName, Modules};
use crate::source::EVALUATED_NAME;

/// All programs of modules that the vat has started, and the engine's names for their modules. The names are unique
/// and have the form `<…>`, as in the engine's stack traces.
#[derive(Default)]
pub(crate) struct Programs {
    programs: RefCell<Vec<Rc<Modules>>>,
    names: RefCell<BTreeMap<String, (usize, ModuleName)>>,
    /// The last import that failed: the importing module, and the specifier.
    failed_import: RefCell<Option<(String, String)>>,
}

impl Programs {
    /// Adds a program that was checked. Returns the engine's name of its first module.
    ///
    /// # Errors
    /// When there is no such module. The error is one line.
    pub(crate) fn add(&self, modules: &Modules) -> std::result::Result<String, String> {
        let mut programs = self.programs.borrow_mut();
        let number = programs.len();
        programs.push(Rc::new(modules.clone()));
        drop(programs);
        self.import(number, &modules.entry, None)
    }

    fn program(&self, number: usize) -> std::result::Result<Rc<Modules>, String> {
        self.programs.borrow().get(number).cloned().ok_or_else(|| "there is no such program".to_owned())
    }

    /// Returns the engine's name for a module of a program. With a specifier, it is the module that `from` imports by
    /// the specifier.
    fn import(
        &self,
        number: usize,
        from: &ModuleName,
        specifier: Option<&str>,
    ) -> std::result::Result<String, String> {
        let modules = self.program(number)?;
        let found = match specifier {
            Some(specifier) => modules.import(from, specifier)?,
            None => modules.find(from)?,
        };
        let mut names = self.names.borrow_mut();
        let mut name = format!("<{}>", found.label());
        let mut again = 1;
        loop {
            match names.get(&name) {
                // This name is kept for evaluated source text.
                None if name != EVALUATED_NAME => {
                    names.insert(name.clone(), (number, found));
                    return Ok(name);
                }
                Some(known) if *known == (number, found.clone()) => return Ok(name),
                _ => {
                    again += 1;
                    name = format!("<{}#{again}>", found.label());
                }
            }
        }
    }

    fn resolve(&self, base: &str, specifier: &str) -> std::result::Result<String, String> {
        *self.failed_import.borrow_mut() = None;
        let known = self.names.borrow().get(base).cloned();
        let Some((number, from)) = known else {
            return Err("import is for modules: there is no loader here".to_owned());
        };
        let found = self.import(number, &from, Some(specifier));
        if found.is_err() {
            *self.failed_import.borrow_mut() = Some((base.to_owned(), specifier.to_owned()));
        }
        found
    }

    /// Returns a module by the engine's name, with its name for people.
    pub(crate) fn get(&self, name: &str) -> Option<(String, Module)> {
        let (number, found) = self.names.borrow().get(name).cloned()?;
        let module = self.program(number).ok()?.get(&found)?.clone();
        Some((found.label(), module))
    }

    /// Returns the source map of a module, by the engine's name for the module.
    pub(crate) fn map(&self, name: &str) -> Option<String> {
        let (number, found) = self.names.borrow().get(name).cloned()?;
        Some(self.program(number).ok()?.map(&found)?.to_owned())
    }

    /// Begins an order. A failed import of an earlier order has been reported already.
    pub(crate) fn begin(&self) {
        *self.failed_import.borrow_mut() = None;
    }

    /// Returns the place of the import that failed: the engine's name for the module, line and column. The place is
    /// returned only once.
    pub(crate) fn failed_import_place(&self) -> Option<(String, u32, u32)> {
        let (name, specifier) = self.failed_import.borrow_mut().take()?;
        let (_, Module::Source { text, .. }) = self.get(&name)? else { return None };
        let written = ['"', '\''].map(|quote| format!("{quote}{specifier}{quote}"));
        text.lines().enumerate().find_map(|(index, line)| {
            let at = written.iter().find_map(|written| line.find(written.as_str()))?;
            let column = line.get(..at)?.chars().count() + 1;
            Some((name.clone(), u32::try_from(index + 1).ok()?, u32::try_from(column).ok()?))
        })
    }

    /// Removes all programs and names.
    pub(crate) fn clear(&self) {
        self.programs.borrow_mut().clear();
        self.names.borrow_mut().clear();
    }

    /// Returns the source text of a module in the form that the engine runs.
    pub(crate) fn source(&self, name: &str) -> std::result::Result<String, String> {
        match self.get(name) {
            Some((_, Module::Source { language, text })) => Ok(match language {
                Language::Module => text,
                Language::Json => format!("export default harden(JSON.parse({}));", literal(&text)?),
                Language::Text => format!("export default {};", literal(&text)?),
            }),
            _ => Err("there is no such module".to_owned()),
        }
    }
}

/// Returns a text as a JavaScript string literal.
fn literal(text: &str) -> std::result::Result<String, String> {
    serde_json::to_string(text).map_err(|error| error.to_string())
}

/// The module loader of the engine: it finds modules by name in the programs that the vat was given.
pub(crate) struct ProgramLoader(pub(crate) Weak<VatState>);

impl ProgramLoader {
    fn shared(&self, ctx: &Ctx<'_>) -> Result<Rc<VatState>> {
        self.0.upgrade().ok_or_else(|| Exception::throw_internal(ctx, "the vat is gone"))
    }
}

impl Resolver for ProgramLoader {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        attributes: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        let shared = self.shared(ctx)?;
        let found =
            shared.programs.resolve(base, name).map_err(|why| Exception::throw_reference(ctx, &why))?;
        let Some(attributes) = attributes else { return Ok(found) };
        for key in attributes.keys() {
            let key = key?;
            let is_json = || {
                let module = shared.programs.get(&found);
                matches!(module, Some((_, Module::Source { language: Language::Json, .. })))
            };
            if key != "type" || attributes.get_type()?.as_deref() != Some("json") || !is_json() {
                let why = "an import can only say of a JSON module that its type is json";
                return Err(Exception::throw_type(ctx, why));
            }
        }
        Ok(found)
    }
}

impl Loader for ProgramLoader {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Loaded<'js, Declared>> {
        let shared = self.shared(ctx)?;
        shared.meter.check_stack();
        let text = shared.programs.source(name).map_err(|why| Exception::throw_reference(ctx, &why))?;
        Loaded::declare(ctx.clone(), name, text)
    }
}

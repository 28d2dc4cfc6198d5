//! The program of a run's worker, read from the bytes that were stored when the run began.

use std::collections::BTreeMap;
use std::sync::Arc;

use kernel::BlobHash;
use kernel::run::Trouble;

use crate::definition::{self, Bundle, Definition, Severity};
use crate::driver_port::DriverPort;
use crate::memory::ProgramKey;
use crate::trouble::{internal, trouble};

/// A definition together with the texts that it includes.
pub(crate) struct Program {
    pub(crate) bundle: Bundle,
    pub(crate) definition: Definition,
}

/// Returns a worker's program, from the cache or from the store.
pub(crate) fn load(
    world: &dyn DriverPort,
    name: &str,
    source: &BlobHash,
    includes: &BTreeMap<String, BlobHash>,
) -> Result<Arc<Program>, Trouble> {
    let made_of = ProgramKey { name: name.to_owned(), definition: *source, includes: includes.clone() };
    if let Some(program) = world.memory().program(&made_of) {
        return Ok(program);
    }
    let text = |hash: &BlobHash| -> Result<String, Trouble> {
        String::from_utf8(world.blob(hash)?).map_err(|_| internal("a worker definition is not text"))
    };
    let bundle = Bundle::stored(name, text(source)?, includes, |_, hash| text(hash))?;
    let (definition, diagnostics) = definition::parse(&bundle);
    match definition.filter(|_| diagnostics.iter().all(|d| d.severity != Severity::Error)) {
        Some(definition) => {
            let program = Arc::new(Program { bundle, definition });
            world.memory().remember(made_of, &program);
            Ok(program)
        }
        // The definition was checked when the run began. So a newer daemon must have stricter rules.
        None => Err(trouble(
            "definition/invalid",
            diagnostics.first().map_or_else(|| "the worker cannot be read".to_owned(), |d| d.message.clone()),
            "start the run again with a worker file that `almoner run --dry-run` accepts",
        )),
    }
}

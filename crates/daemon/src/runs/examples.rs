//! The examples that are part of the program. A user runs one without a file of their own, in a directory that holds
//! nothing else.

use std::path::Path;

use config::private_dir::temporary_dir;
use control::examples::{Example, ExampleFolder};
use control::exit::{Exit, Failure};
use passable::visible_line;

/// The file that an example brings: its path in the example's directory, and its content.
type File = (&'static str, &'static [u8]);

macro_rules! files {
    ($folder:literal: $(($to:literal, $from:literal)),* $(,)?) => {
        &[$(($to, include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/", $folder, "/", $from)))),*]
    };
}

/// An example with its files.
struct Bundled {
    example: Example,
    /// The slots, each with the directory that fills it and what follows the path behind `-e`.
    slots: &'static [(&'static str, &'static str, &'static str)],
    inputs: &'static [(&'static str, &'static str)],
    script: &'static str,
    files: &'static [File],
}

/// The name of the example in which a mail takes over the model.
pub const HIJACKED: &str = "clerk";

/// All examples.
const ALL: &[Bundled] = &[
    Bundled {
        example: Example {
            name: HIJACKED,
            words: "Goes through mail in which one letter holds a hidden instruction. The model obeys the letter.",
        },
        slots: &[("mail", "mail", ""), ("out", "out", ":rw"), ("outbox", "outbox", "")],
        inputs: &[],
        script: "hijacked.json",
        files: files!["inbox":
            ("clerk.worker", "clerk.worker"),
            ("hijacked.json", "hijacked.json"),
            ("mail/2-invoice-northlight.txt", "mail/2-invoice-northlight.txt"),
            ("mail/3-meeting-note.md", "mail/3-meeting-note.md"),
            ("mail/4-contract-excerpt.md", "mail/4-contract-excerpt.md"),
            ("mail/5-mail-from-supplier.eml", "mail/5-mail-from-supplier.eml"),
            ("mail/6-mail-encoded.eml", "encoded/5-mail-from-supplier.eml"),
        ],
    },
    Bundled {
        example: Example {
            name: "note",
            words: "Adds a line to a file of notes, and asks you first. Deny it with a reason, and it tries again.",
        },
        slots: &[("notes", "notes", ":rw")],
        inputs: &[("text", "ask the roofer about the valley"), ("day", "2026-10-12")],
        script: "script.json",
        files: files!["approvals":
            ("note.worker", "note.worker"),
            ("script.json", "script.json"),
            ("notes/notes.md", "notes/notes.md"),
        ],
    },
    Bundled {
        example: Example {
            name: "organiser",
            words: "Sorts the files of a desk into folders, and asks before each move.",
        },
        slots: &[("desk", "desk", ":rw")],
        inputs: &[],
        script: "script.json",
        files: files!["organiser":
            ("organiser.worker", "organiser.worker"),
            ("script.json", "script.json"),
            ("desk/README.txt", "desk/README.txt"),
            ("desk/fwd-fwd-chairs.txt", "desk/fwd-fwd-chairs.txt"),
            ("desk/scan0007.txt", "desk/scan0007.txt"),
            ("desk/untitled-3.txt", "desk/untitled-3.txt"),
        ],
    },
    Bundled {
        example: Example { name: "greeter", words: "Greets somebody by name. It can reach nothing." },
        slots: &[],
        inputs: &[("name", "Ada")],
        script: "script.json",
        files: files!["greeter": ("greeter.worker", "greeter.worker"), ("script.json", "script.json")],
    },
];

/// Returns all examples. The first is the one in which a mail takes over the model.
pub fn all() -> Vec<Example> {
    ALL.iter().map(|one| one.example).collect()
}

/// Lays out the files of an example in a new directory among the temporary files, which stays.
///
/// # Errors
/// When there is no such example, or its files cannot be written.
pub fn lay_out(name: &str) -> Result<ExampleFolder, Failure> {
    let Some(bundled) = ALL.iter().find(|one| one.example.name == name) else {
        let message = format!("there is no example `{}`", visible_line(name));
        return Err(Failure::new(Exit::NotFound, message).help("choose one of the list"));
    };
    let fail = |error: std::io::Error| {
        Failure::new(Exit::Failure, format!("cannot lay out the example: {error}"))
            .help("make room for temporary files")
    };
    let dir = temporary_dir("almoner-example-").map_err(fail)?.keep();
    let text = |path: &Path| {
        let is_text =
            || fail(std::io::Error::other("the directory for temporary files has a path that is no text"));
        path.to_str().map(str::to_owned).ok_or_else(is_text)
    };
    let path = |name: &str| text(&dir.join(name));
    for (_, folder, _) in bundled.slots {
        std::fs::create_dir_all(dir.join(folder)).map_err(fail)?;
    }
    for (name, bytes) in bundled.files {
        std::fs::write(dir.join(name), bytes).map_err(fail)?;
    }
    let slot = |(slot, folder, access): &(&str, &str, &str)| Ok(((*slot).to_owned(), path(folder)? + access));
    Ok(ExampleFolder {
        dir: text(&dir)?,
        worker: path(&format!("{name}.worker"))?,
        slots: bundled.slots.iter().map(slot).collect::<Result<_, Failure>>()?,
        inputs: bundled.inputs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect(),
        script: format!("scripted:{}", path(bundled.script)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::worker_file;
    use worker::definition;

    #[test]
    fn example_fills_every_slot_and_input_of_its_worker() {
        for example in all() {
            let folder = lay_out(example.name).unwrap();
            let bundle = worker_file::load(Path::new(&folder.worker)).unwrap();
            let (definition, findings) = definition::parse(&bundle);
            let definition = definition.unwrap_or_else(|| panic!("{}: {findings:?}", example.name));
            let names: Vec<&str> = definition.slots.iter().map(|slot| slot.name.as_str()).collect();
            let filled: Vec<&str> = folder.slots.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, filled, "{}", example.name);
            let inputs = folder.inputs.iter().map(|(name, text)| (name.clone(), text.as_str().into()));
            let inputs: serde_json::Map<String, serde_json::Value> = inputs.collect();
            super::super::start::check_inputs(&definition, &inputs).unwrap();
            let script: model::ModelRef = folder.script.parse().unwrap();
            assert!(matches!(script, model::ModelRef::Scripted { path } if path.is_file()));
            std::fs::remove_dir_all(&folder.dir).unwrap();
        }
    }
}

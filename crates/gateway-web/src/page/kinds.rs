//! The kinds of messages and the types of objects, as people call them.
//!
//! The wire and the terminal have words of the machine, such as `eval-request` and `readable-blob`. The pages show the
//! words of this module. A type without a row here keeps its own word.

/// The kinds of messages, each with its name on pages.
const MESSAGES: &[(&str, &str)] =
    &[("definition", "proposal"), ("eval-request", "code to run"), ("package", "note"), ("value", "answer")];

/// The types of objects, each with its name on pages.
const OBJECTS: &[(&str, &str)] = &[
    ("endo", "this daemon"),
    ("host", "agent of yours"),
    ("guest", "agent"),
    ("handle", "address of an agent"),
    ("least-authority", "nothing"),
    ("pet-store", "list of names"),
    ("mailbox-store", "mailbox"),
    ("mail-hub", "mailbox"),
    ("marshal", "value"),
    ("promise", "result to come"),
    ("resolver", "way to answer"),
    ("lookup", "way to a name"),
    ("definition", "proposed program"),
    ("eval", "code"),
    ("make-bundle", "code"),
    ("make-unconfined", "code"),
    ("export", "object of code"),
    ("vat", "process of code"),
    ("workshop", "maker of workers"),
    ("self", "the run itself"),
    ("readable-blob", "kept file"),
    ("readable-tree", "kept directory"),
    ("mount", "directory"),
    ("mount-file", "file"),
    ("scratch-mount", "directory of the daemon"),
    ("spool", "outbox"),
    ("mcp", "tool server"),
    ("handed-secret", "secret"),
    ("make-archive", "code"),
    ("make-from-tree", "code"),
];

fn called(table: &[(&'static str, &'static str)], kind: &str) -> Option<&'static str> {
    table.iter().find(|(each, _)| *each == kind).map(|(_, name)| *name)
}

/// Returns what people call a kind of messages.
pub fn message(kind: &str) -> &str {
    called(MESSAGES, kind).unwrap_or(kind)
}

/// Returns what people call a type of objects.
pub fn object(kind: &str) -> &str {
    called(OBJECTS, kind).unwrap_or(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_without_a_row_keep_their_words() {
        assert_eq!((message("eval-request"), message("form")), ("code to run", "form"));
        assert_eq!((object("readable-blob"), object("worker")), ("kept file", "worker"));
    }
}

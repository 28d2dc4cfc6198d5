//! Conversations: a person's words, and the documents that come with them.

use kernel::command::{Act, Fault};
use kernel::provenance::Source;
use kernel::run::{Attachment, Entry, Shape};
use kernel::{RunNumber, table};

use crate::fixture::{Fixture, text};
use crate::runs::document;

fn say(run: RunNumber, documents: Vec<Attachment>) -> Act {
    Act::Say { run, said: text("read this"), documents, text: text("almoner chat") }
}

fn is_of(source: &Source, document: &Attachment) -> bool {
    matches!(source, Source::Document { name, hash } if *name == document.name && *hash == document.hash)
}

#[test]
fn document_in_a_chat_message_becomes_a_source() {
    let mut w = Fixture::new();
    let run = w.start_shaped(Shape::Chat, vec![]);
    w.apply(say(run, vec![]));
    assert!(!w.run(run).provenance.is_untrusted(), "a person's own words are trusted");
    let (first, second) = (document("a"), document("b"));
    w.apply(say(run, vec![first.clone(), second.clone()]));
    let found = w.run(run);
    assert_eq!(found.input.attachments, [first.clone(), second.clone()]);
    let step =
        w.journal(run).into_iter().rev().find(|step| matches!(step.entry, Entry::Said { .. })).unwrap();
    for one in [&first, &second] {
        assert!(found.provenance.sources.iter().any(|source| is_of(source, one)), "{:?}", found.provenance);
        assert!(step.provenance.sources.iter().any(|source| is_of(source, one)), "{:?}", step.provenance);
        let row = table::blob(&mut w.store, one.hash).unwrap().expect("the bytes are known");
        assert!(row.provenance.sources.iter().any(|source| is_of(source, one)));
    }
    // Documents are known by their names: none takes the place of another, and nothing was said then.
    let before = w.journal(run);
    let other = Attachment { name: first.name.clone(), ..document("c") };
    assert!(matches!(w.try_apply(say(run, vec![document("d"), other])), Err(Fault::Misfit { .. })));
    assert_eq!(w.journal(run), before);
    assert_eq!(w.run(run), found);
}

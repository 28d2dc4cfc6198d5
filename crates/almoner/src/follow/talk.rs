//! A conversation at a terminal, or line by line through a pipe: what was typed, and what is told of the answers.

use std::collections::VecDeque;
use std::io::IsTerminal as _;

use kernel::RunNumber;
use kernel::event::Change;
use kernel::run::Entry;
use model::Reply;

use crate::session::Acting;
use crate::session::questions;
use crate::ui::output;
use control::ask::unexpected;
use control::exit::{Exit, Failure};
use control::protocol::{Request, Response};

/// What ends a conversation for good.
const END: &str = "/end";

/// One side of a conversation.
pub struct Talk {
    /// Whether answers are shown while they are written.
    streams: bool,
    /// Lines that were typed and not said yet.
    typed: VecDeque<String>,
    /// Whether nothing more will be typed.
    closed: bool,
    /// Whether the person has been asked to type something.
    prompted: bool,
    /// Up to which step of the journal the answers were told.
    told: u64,
    /// The step that asked for what is being shown, and what was shown of it.
    shown: (u64, String),
}

/// What a person does when it is his turn.
#[derive(Debug, PartialEq)]
pub enum Next {
    /// Says this.
    Say(String),
    /// Has not said anything yet.
    Listen,
    /// Leaves for now.
    Leave,
    /// Has no more to say.
    End,
}

impl Talk {
    /// A conversation of which the answers up to this step have been told.
    pub fn new(told: u64) -> Talk {
        Talk {
            streams: std::io::stdout().is_terminal(),
            typed: VecDeque::new(),
            closed: false,
            // Whoever writes into a pipe is not asked.
            prompted: !std::io::stdin().is_terminal(),
            told,
            shown: (0, String::new()),
        }
    }

    /// Whether a step of a run is worth a line between what is said: what it does is, not how it comes to answer.
    pub fn tells(change: &Change) -> bool {
        const DOES: [&str; 5] = ["proposed", "judged", "completed", "stalled", "exhausted"];
        match change {
            Change::Step { entry, .. } => DOES.contains(&entry.as_str()),
            _ => true,
        }
    }

    /// Whether answers are shown while they are written.
    pub fn streams(&self) -> bool {
        self.streams
    }

    /// A line was typed.
    pub fn typed(&mut self, line: &str) {
        self.prompted = !std::io::stdin().is_terminal();
        if !line.trim().is_empty() {
            self.typed.push_back(line.to_owned());
        }
    }

    /// Nothing more will be typed.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// What the person does now. If that is nothing yet, he is asked.
    pub fn next(&mut self) -> Next {
        match self.typed.pop_front() {
            Some(line) if line.trim() == END => Next::End,
            Some(line) => Next::Say(line),
            None if self.closed => Next::Leave,
            None => {
                if !self.prompted {
                    output::prompt("> ");
                    self.prompted = true;
                }
                Next::Listen
            }
        }
    }

    /// More of an answer is there.
    ///
    /// # Errors
    /// When nobody reads any more.
    pub fn streamed(&mut self, prompted: u64, from: usize, text: &str) -> Result<(), Failure> {
        // Of answers that were told already nothing is shown again.
        if prompted <= self.told {
            return Ok(());
        }
        if self.shown.0 != prompted || from < self.shown.1.len() {
            if !self.shown.1.is_empty() {
                output::part("\n")?;
            }
            self.shown = (prompted, String::new());
        }
        if from == self.shown.1.len() {
            self.shown.1.push_str(text);
            output::part(text)?;
        }
        Ok(())
    }

    /// Tells the answers that have not been told.
    ///
    /// # Errors
    /// When nobody reads any more, or the daemon cannot be reached.
    pub fn answers(&mut self, acting: &Acting<'_>, run: RunNumber) -> Result<(), Failure> {
        for step in questions::journal_from(acting, run, self.told.saturating_add(1))? {
            self.told = step.number;
            if let Entry::Replied { prompted, reply, .. } = &step.entry {
                let text = answer(acting, *reply)?;
                self.answer(*prompted, &text)?;
            }
        }
        Ok(())
    }

    /// Tells what of an answer has not been shown.
    fn answer(&mut self, prompted: u64, text: &str) -> Result<(), Failure> {
        let shown = std::mem::take(&mut self.shown);
        let seen = if shown.0 == prompted { shown.1.as_str() } else { "" };
        match text.strip_prefix(seen) {
            Some("") if seen.is_empty() => Ok(()),
            Some(rest) if !seen.is_empty() => output::part(&format!("{}\n", rest.trim_end())),
            // What was shown is not what came of it.
            _ => {
                if !seen.is_empty() {
                    output::part("\n")?;
                }
                output::result(text)
            }
        }
    }
}

/// The text of a reply that was kept.
fn answer(acting: &Acting<'_>, hash: kernel::BlobHash) -> Result<String, Failure> {
    match acting.connect()?.ask(Request::Blob { hash })? {
        Response::Blob(Some(text)) => {
            let reply: Reply = serde_json::from_str(&text)
                .map_err(|e| Failure::new(Exit::Failure, format!("a recorded reply cannot be read: {e}")))?;
            Ok(reply.text)
        }
        Response::Blob(None) => Err(Failure::new(Exit::Failure, "a recorded reply is no text")),
        other => Err(unexpected(&other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_is_said_in_its_order() {
        let mut talk = Talk::new(0);
        for line in ["first", "", "   ", "/end later", "/end"] {
            talk.typed(line);
        }
        for expected in
            [Next::Say("first".to_owned()), Next::Say("/end later".to_owned()), Next::End, Next::Listen]
        {
            assert_eq!(talk.next(), expected);
        }
        talk.close();
        assert_eq!(talk.next(), Next::Leave);
        talk.typed("after all");
        assert_eq!(talk.next(), Next::Say("after all".to_owned()));
    }
}

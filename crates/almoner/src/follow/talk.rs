//! A conversation at a terminal, or line by line through a pipe: the typed lines, and the printed answers.

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

/// The line that ends a conversation for good.
const END: &str = "/end";

/// One side of a conversation.
pub struct Talk {
    /// Returns whether answers are shown while they are written.
    streams: bool,
    /// Lines that were typed and not said yet.
    typed: VecDeque<String>,
    /// Whether nothing more will be typed.
    closed: bool,
    /// Whether the person has been asked to type something.
    prompted: bool,
    /// Up to which step of the journal the answers were told.
    told: u64,
    /// The step that prompted the streamed answer, and the text of it that has been printed.
    shown: (u64, String),
}

/// The user's next action in a conversation.
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
    /// Returns a conversation whose answers up to this step have been printed.
    pub fn new(told: u64) -> Talk {
        Talk {
            streams: std::io::stdout().is_terminal(),
            typed: VecDeque::new(),
            closed: false,
            // A pipe gets no prompt.
            prompted: !std::io::stdin().is_terminal(),
            told,
            shown: (0, String::new()),
        }
    }

    /// Returns whether a change gets a line between the messages. Calls and troubles do, the steps towards an answer
    /// do not.
    pub fn tells(change: &Change) -> bool {
        const DOES: [&str; 5] = ["proposed", "judged", "completed", "stalled", "exhausted"];
        match change {
            Change::Step { entry, .. } => DOES.contains(&entry.as_str()),
            _ => true,
        }
    }

    /// Returns whether answers are shown while they are written.
    pub fn streams(&self) -> bool {
        self.streams
    }

    /// Queues a typed line.
    pub fn typed(&mut self, line: &str) {
        self.prompted = !std::io::stdin().is_terminal();
        if !line.trim().is_empty() {
            self.typed.push_back(line.to_owned());
        }
    }

    /// Records that no more lines will be typed.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// Returns the user's next action. If no line is queued, it prompts the user.
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

    /// Prints the next part of a streamed answer.
    ///
    /// # Errors
    /// When the reader has closed standard output.
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

    /// Prints the answers that have not been printed.
    ///
    /// # Errors
    /// When the reader has closed standard output, or the daemon cannot be reached.
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

    /// Prints the part of an answer that has not been printed.
    fn answer(&mut self, prompted: u64, text: &str) -> Result<(), Failure> {
        let shown = std::mem::take(&mut self.shown);
        let seen = if shown.0 == prompted { shown.1.as_str() } else { "" };
        match text.strip_prefix(seen) {
            Some("") if seen.is_empty() => Ok(()),
            Some(rest) if !seen.is_empty() => output::part(&format!("{}\n", rest.trim_end())),
            // The streamed text differs from the final answer.
            _ => {
                if !seen.is_empty() {
                    output::part("\n")?;
                }
                output::result(text)
            }
        }
    }
}

/// Returns the text of a reply that was kept.
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
    fn typed_lines_are_sent_in_order() {
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

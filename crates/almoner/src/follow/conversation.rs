//! A conversation at a terminal, or line by line through a pipe: the typed lines, and the printed answers.

use std::collections::VecDeque;
use std::io::IsTerminal as _;

use kernel::RunNumber;
use kernel::event::Change;
use kernel::run::Entry;
use model::Reply;

use crate::session::Session;
use crate::session::questions;
use crate::ui::output::{self, TextOutput};
use control::ask::unexpected;
use control::exit::{Exit, Failure};
use control::protocol::{Request, Response};

/// The line that ends a conversation for good.
const END_LINE: &str = "/end";

/// The user's side of a conversation: the typed lines, and the printed answers.
pub struct Conversation {
    /// Whether answers are shown while they are written.
    streams: bool,
    /// The typed lines that have not been sent yet.
    unsent_lines: VecDeque<String>,
    /// Whether nothing more will be typed.
    is_closed: bool,
    /// Whether the person has been asked to type something.
    is_prompted: bool,
    /// The last step of the journal whose answer has been printed.
    last_shown_step: u64,
    /// The step that prompted the streamed answer, and the part of the answer that has been printed.
    shown: (u64, String),
    /// The output of the streamed answer, if a part of it has been printed.
    output: Option<TextOutput>,
}

/// The user's next action in a conversation.
#[derive(Debug, PartialEq)]
pub enum UserTurn {
    /// The user says this.
    Say(String),
    /// The user has not said anything yet.
    Listen,
    /// The user leaves, and may continue the conversation later.
    Leave,
    /// The user ends the conversation for good.
    End,
}

impl Conversation {
    /// Returns a conversation whose answers up to this step have been printed.
    pub fn new(last_shown_step: u64) -> Conversation {
        Conversation {
            streams: std::io::stdout().is_terminal(),
            unsent_lines: VecDeque::new(),
            is_closed: false,
            // A pipe gets no prompt.
            is_prompted: !std::io::stdin().is_terminal(),
            last_shown_step,
            shown: (0, String::new()),
            output: None,
        }
    }

    /// Returns whether a change is shown as a line between the messages. Calls and problems are shown. The other
    /// steps of a run are not.
    pub fn is_shown(change: &Change) -> bool {
        const SHOWN_CHANGES: [&str; 5] = ["proposed", "judged", "completed", "stalled", "exhausted"];
        match change {
            Change::Step { entry, .. } => SHOWN_CHANGES.contains(&entry.as_str()),
            _ => true,
        }
    }

    /// Returns whether answers are shown while they are written.
    pub fn streams(&self) -> bool {
        self.streams
    }

    /// Queues a typed line.
    pub fn add_line(&mut self, line: &str) {
        self.is_prompted = !std::io::stdin().is_terminal();
        if !line.trim().is_empty() {
            self.unsent_lines.push_back(line.to_owned());
        }
    }

    /// Records that no more lines will be typed.
    pub fn close(&mut self) {
        self.is_closed = true;
    }

    /// Returns the user's next action. If no line is queued, the user is prompted.
    pub fn next(&mut self) -> UserTurn {
        match self.unsent_lines.pop_front() {
            Some(line) if line.trim() == END_LINE => UserTurn::End,
            Some(line) => UserTurn::Say(line),
            None if self.is_closed => UserTurn::Leave,
            None => {
                if !self.is_prompted {
                    output::prompt("> ");
                    self.is_prompted = true;
                }
                UserTurn::Listen
            }
        }
    }

    /// Prints the next part of a streamed answer.
    ///
    /// # Errors
    /// When the reader has closed standard output.
    pub fn show_stream(&mut self, prompted: u64, from: usize, text: &str) -> Result<(), Failure> {
        // An answer that has already been printed is not shown again.
        if prompted <= self.last_shown_step {
            return Ok(());
        }
        if self.shown.0 != prompted || from < self.shown.1.len() {
            self.end_stream()?;
            self.shown = (prompted, String::new());
        }
        if from == self.shown.1.len() {
            self.shown.1.push_str(text);
            self.output.get_or_insert_with(TextOutput::begin).write(text)?;
        }
        Ok(())
    }

    /// Prints the answers that have not been printed.
    ///
    /// # Errors
    /// When the reader has closed standard output, or the daemon cannot be reached.
    pub fn print_answers(&mut self, acting: &Session<'_>, run: RunNumber) -> Result<(), Failure> {
        for step in questions::journal_from(acting, run, self.last_shown_step.saturating_add(1))? {
            self.last_shown_step = step.number;
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
        match (text.strip_prefix(seen), &mut self.output) {
            (Some(""), _) if seen.is_empty() => Ok(()),
            (Some(rest), Some(output)) if !seen.is_empty() => {
                output.write(rest.trim_end())?;
                self.end_stream()
            }
            // The streamed text differs from the final answer.
            _ => {
                self.end_stream()?;
                output::text(text)
            }
        }
    }

    /// Ends the line of a streamed answer, if there is one.
    fn end_stream(&mut self) -> Result<(), Failure> {
        self.output.take().map_or(Ok(()), TextOutput::finish)
    }
}

/// Returns the text of a recorded reply.
fn answer(acting: &Session<'_>, hash: kernel::BlobHash) -> Result<String, Failure> {
    match acting.ask(Request::Blob { hash })? {
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
        let mut talk = Conversation::new(0);
        for line in ["first", "", "   ", "/end later", "/end"] {
            talk.add_line(line);
        }
        for expected in [
            UserTurn::Say("first".to_owned()),
            UserTurn::Say("/end later".to_owned()),
            UserTurn::End,
            UserTurn::Listen,
        ] {
            assert_eq!(talk.next(), expected);
        }
        talk.close();
        assert_eq!(talk.next(), UserTurn::Leave);
        talk.add_line("after all");
        assert_eq!(talk.next(), UserTurn::Say("after all".to_owned()));
    }
}

//! Asking the person at the terminal for a line: with names completed, or without showing what is typed.

use std::io::{self, BufRead as _, Read as _};

use passable::visible_line;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{Behavior, CompletionType, Config, Context, Editor, Helper};

use super::output;
use control::exit::{Exit, Failure};

/// What a person did when asked.
#[derive(Debug, PartialEq, Eq)]
pub enum Typed {
    /// A line, without spaces around it.
    Line(String),
    /// The end of the input: they have no more to say.
    End,
}

/// Asks for a line. Tab completes the words given, where the terminal can do that.
///
/// # Errors
/// When the person interrupts, or the terminal fails.
pub fn line(prompt: &str, words: &[String]) -> Result<Typed, Failure> {
    if is_plain() {
        output::prompt(prompt);
        let mut line = String::new();
        let count = io::stdin().lock().read_line(&mut line).map_err(|e| failed(&e))?;
        // A tab that nobody took for a completion is meant as a question for the list.
        let line = line.trim_matches([' ', '\n', '\r']).replace('\t', "?");
        return Ok(if count == 0 { Typed::End } else { Typed::Line(line) });
    }
    let config =
        Config::builder().behavior(Behavior::PreferTerm).completion_type(CompletionType::List).build();
    let mut editor: Editor<Words<'_>, MemHistory> =
        Editor::with_history(config, MemHistory::new()).map_err(|e| failed(&e))?;
    editor.set_helper(Some(Words(words)));
    match editor.readline(prompt) {
        Ok(line) => Ok(Typed::Line(line.trim().to_owned())),
        Err(ReadlineError::Eof) => Ok(Typed::End),
        Err(ReadlineError::Interrupted) => Err(interrupted()),
        Err(e) => Err(failed(&e)),
    }
}

/// Asks for a line that nobody may see.
///
/// # Errors
/// When the person interrupts, or the terminal fails.
pub fn secret(prompt: &str) -> Result<Typed, Failure> {
    output::prompt(prompt);
    let quiet = Quiet::begin()?;
    let typed = read_quietly();
    drop(quiet);
    output::note("");
    typed
}

fn read_quietly() -> Result<Typed, Failure> {
    let mut text: Vec<u8> = Vec::new();
    let mut input = io::stdin().lock();
    let mut byte = [0];
    loop {
        if input.read(&mut byte).map_err(|e| failed(&e))? == 0 {
            return Ok(Typed::End);
        }
        match byte[0] {
            b'\n' | b'\r' => break,
            0x03 => return Err(interrupted()),
            0x04 if text.is_empty() => return Ok(Typed::End),
            0x15 => text.clear(),
            0x08 | 0x7F => {
                // A character of several bytes goes as a whole.
                while text.pop().is_some_and(|last| last & 0xC0 == 0x80) {}
            }
            other => text.push(other),
        }
    }
    String::from_utf8(text)
        .map(Typed::Line)
        .map_err(|_| Failure::new(Exit::Invalid, "what was typed is not UTF-8 text").help("nothing was sent"))
}

/// The names among these that begin in this way, for a person to read.
pub fn matching(words: &[String], beginning: &str) -> String {
    let found: Vec<_> = words.iter().filter(|w| w.starts_with(beginning)).map(|w| visible_line(w)).collect();
    if found.is_empty() { "  (none)".to_owned() } else { format!("  {}", found.join("  ")) }
}

/// Whether the terminal only writes lines, so that nothing can be edited in them.
fn is_plain() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

fn interrupted() -> Failure {
    Failure::new(Exit::Interrupted, "interrupted; nothing was sent")
}

fn failed(e: &dyn std::error::Error) -> Failure {
    Failure::new(Exit::Failure, format!("the terminal: {e}")).help("say all of it on the command line")
}

/// As long as this lives, the terminal shows nothing of what is typed and hands over every key.
struct Quiet(Termios);

impl Quiet {
    fn begin() -> Result<Quiet, Failure> {
        let before = tcgetattr(io::stdin()).map_err(|e| failed(&e))?;
        let mut now = before.clone();
        // Ctrl-C comes as a key: as a signal it would leave the terminal in this state.
        now.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        now.special_codes[SpecialCodeIndex::VMIN] = 1;
        now.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(io::stdin(), OptionalActions::Now, &now).map_err(|e| failed(&e))?;
        Ok(Quiet(before))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Words that Tab completes, as the whole line.
struct Words<'a>(&'a [String]);

impl Completer for Words<'_> {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let begun = &line[..pos];
        // What a terminal would act on is not offered: it would be written as it is.
        let fits = |word: &&String| word.starts_with(begun) && *word == visible_line(word).as_ref();
        Ok((0, self.0.iter().filter(fits).cloned().collect()))
    }
}

impl Hinter for Words<'_> {
    type Hint = String;
}
impl Highlighter for Words<'_> {}
impl Validator for Words<'_> {}
impl Helper for Words<'_> {}

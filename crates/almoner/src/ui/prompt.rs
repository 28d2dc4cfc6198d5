//! Prompts at the terminal: a line with completion of names, or a line that is not shown.

use std::io::{self, BufRead as _, IsTerminal as _};

use passable::visible_line;
use rpassword::ConfigBuilder;
use rustix::termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{Behavior, CompletionType, Config, Context, Editor, Helper};

use super::interrupt::InterruptWatch;
use super::output;
use control::exit::{Exit, Failure};

/// The user's response to a prompt.
#[derive(Debug, PartialEq, Eq)]
pub enum PromptInput {
    /// A line, without spaces around it.
    Line(String),
    /// The end of the input: the user types nothing more.
    End,
}

/// Asks for a line. Where the terminal allows it, Tab completes the given words.
///
/// # Errors
/// When the user interrupts, or the terminal fails.
pub fn line(prompt: &str, words: &[String]) -> Result<PromptInput, Failure> {
    if is_plain() {
        output::prompt(prompt);
        let mut line = String::new();
        let count = io::stdin().lock().read_line(&mut line).map_err(|e| failed(&e))?;
        // A terminal without completion passes a tab on. A tab counts as `?`, which asks for the list of words.
        let line = line.trim_matches([' ', '\n', '\r']).replace('\t', "?");
        return Ok(if count == 0 { PromptInput::End } else { PromptInput::Line(line) });
    }
    let config =
        Config::builder().behavior(Behavior::PreferTerm).completion_type(CompletionType::List).build();
    let mut editor: Editor<WordCompleter<'_>, MemHistory> =
        Editor::with_history(config, MemHistory::new()).map_err(|e| failed(&e))?;
    editor.set_helper(Some(WordCompleter(words)));
    match editor.readline(prompt) {
        Ok(line) => Ok(PromptInput::Line(line.trim().to_owned())),
        Err(ReadlineError::Eof) => Ok(PromptInput::End),
        Err(ReadlineError::Interrupted) => Err(interrupt_failure()),
        Err(e) => Err(failed(&e)),
    }
}

/// Asks for a line that the terminal does not show.
///
/// # Errors
/// When the user interrupts, the terminal fails, or the line is not UTF-8 text.
pub fn secret(prompt: &str) -> Result<PromptInput, Failure> {
    // The echo is turned off before the prompt. Otherwise a Ctrl-C in between would be a signal, which the library
    // does not see.
    let quiet = NoEcho::begin();
    output::prompt(prompt);
    // At Ctrl-C, the library raises the signal before it restores the terminal. The signal must not end this process
    // then.
    let watch = InterruptWatch::begin(|| {});
    // The library reads `/dev/stdin`, so that it also works in a process without a controlling terminal.
    let config = ConfigBuilder::new().input_file_path("/dev/stdin").output_discard().build();
    let typed = rpassword::read_password_with_config(config);
    drop(watch);
    drop(quiet);
    output::note("");
    match typed {
        // If the terminal is closed, the library reports the end of a line.
        Ok(_) if !io::stdin().is_terminal() => Ok(PromptInput::End),
        Ok(text) if text.contains(char::REPLACEMENT_CHARACTER) => {
            Err(Failure::new(Exit::Invalid, "cannot read the typed text: it is not UTF-8")
                .help("nothing was sent"))
        }
        Ok(text) => Ok(PromptInput::Line(text)),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(PromptInput::End),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Err(interrupt_failure()),
        Err(e) => Err(failed(&e)),
    }
}

/// A guard that turns off the echo of the terminal on standard input. While it lives, each key is passed on,
/// including Ctrl-C.
struct NoEcho {
    /// The previous settings of the terminal, or `None` without a terminal.
    before: Option<Termios>,
}

impl NoEcho {
    fn begin() -> NoEcho {
        let before = termios::tcgetattr(io::stdin()).ok();
        if let Some(mut now) = before.clone() {
            now.local_modes -= LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG;
            now.special_codes[SpecialCodeIndex::VMIN] = 1;
            now.special_codes[SpecialCodeIndex::VTIME] = 0;
            // Errors are ignored here, because the library makes the same settings again and reports its errors.
            let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, &now);
        }
        NoEcho { before }
    }
}

impl Drop for NoEcho {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

/// Returns the words that begin with `beginning`, as a line for the user.
pub fn matching(words: &[String], beginning: &str) -> String {
    let found: Vec<_> = words.iter().filter(|w| w.starts_with(beginning)).map(|w| visible_line(w)).collect();
    if found.is_empty() { "  (none)".to_owned() } else { format!("  {}", found.join("  ")) }
}

/// Returns whether the terminal only writes lines, so that lines cannot be edited.
fn is_plain() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

fn interrupt_failure() -> Failure {
    Failure::new(Exit::Interrupted, "cannot send: you interrupted the command").help("nothing was sent")
}

fn failed(e: &dyn std::error::Error) -> Failure {
    Failure::new(Exit::Failure, format!("the terminal: {e}")).help("say all of it on the command line")
}

/// The words that Tab completes. A word is completed only from the start of the line.
struct WordCompleter<'a>(&'a [String]);

impl Completer for WordCompleter<'_> {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let begun = &line[..pos];
        // A name with control characters is not offered, because it would be written to the terminal unescaped.
        let fits = |word: &&String| word.starts_with(begun) && *word == visible_line(word).as_ref();
        Ok((0, self.0.iter().filter(fits).cloned().collect()))
    }
}

impl Hinter for WordCompleter<'_> {
    type Hint = String;
}
impl Highlighter for WordCompleter<'_> {}
impl Validator for WordCompleter<'_> {}
impl Helper for WordCompleter<'_> {}

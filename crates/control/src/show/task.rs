//! The task of a run, as a card shows it: the words with which somebody began the run.

use std::collections::BTreeMap;

use kernel::{MessageNumber, RunNumber};
use passable::{Quoting, Untrusted, visible_line, visible_name};
use serde::{Deserialize, Serialize};

use super::lines::{self, Marks};

/// The maximum number of rows of a task above the calls of a card. The others follow below the calls.
const MAX_ROWS: usize = 8;

/// The maximum number of rows of a task in the short form of a card.
const MAX_SHORT_ROWS: usize = 5;

/// The maximum number of rows of a task below the calls. A card with more rows names the command that shows them.
const MAX_REST: usize = 40;

/// The maximum number of documents that are named.
const MAX_DOCUMENTS: usize = 5;

/// The words with which a run began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Task {
    /// The run.
    pub run: RunNumber,
    /// The name of the run's worker.
    pub worker: String,
    /// The giver of the words.
    pub giver: TaskGiver,
    /// The words, each with the name of the input. A conversation has the user's last message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<(String, Untrusted)>,
    /// The inputs that the user gave as files, by name, each with the name of its file. The words are those of the file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, Untrusted>,
    /// The description in the worker file, or else the beginning of its text, if no input is a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Untrusted>,
    /// The names of the documents with which the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<Untrusted>,
}

/// The giver of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskGiver {
    /// The user.
    User,
    /// Another agent, with the user's consent.
    Agent,
    /// The model of another run.
    Run(RunNumber),
}

impl Task {
    /// Returns the heading above the words.
    pub fn heading(&self) -> String {
        let (run, worker) = (self.run, visible_line(&self.worker));
        match self.giver {
            TaskGiver::User => format!("Your task for {run} `{worker}`:"),
            TaskGiver::Agent => format!("The task of {run} `{worker}`, from another agent:"),
            TaskGiver::Run(caller) => format!("The task of {run} `{worker}`, from the model of {caller}:"),
        }
    }

    /// Returns the parts of the task: the words that the user typed, and then each file that the user named. An input
    /// that stands alone has no name.
    pub fn parts(&self) -> Vec<TaskPart> {
        let (files, typed): (Vec<_>, Vec<_>) =
            self.words.iter().partition(|(name, _)| self.files.contains_key(name));
        let mut lines: Vec<String> = self.description.iter().map(|words| words.raw().to_owned()).collect();
        match typed.as_slice() {
            [(_, words)] if lines.is_empty() && files.is_empty() => lines.push(words.raw().to_owned()),
            words => lines.extend(words.iter().map(|(name, words)| [name, ": ", words.raw()].concat())),
        }
        let own =
            (!lines.is_empty()).then(|| TaskPart { title: None, text: Untrusted::new(lines.join("\n")) });
        let of_file = |(name, text): &(String, Untrusted)| {
            let file = self.files.get(name).map(|file| Quoting::name(file.raw())).unwrap_or_default();
            let title = Quoting::ours(format!("{name}, from the file ")).then(&file).and(":");
            TaskPart { title: Some(title), text: text.clone() }
        };
        own.into_iter().chain(files.into_iter().map(of_file)).collect()
    }

    /// Returns the sentence about the documents, if there are any.
    pub fn document_line(&self) -> Option<String> {
        let name = |one: &Untrusted| visible_name(Quoting::name(one.raw()).text()).into_owned();
        let named: Vec<String> = self.documents.iter().take(MAX_DOCUMENTS).map(name).collect();
        let more = self.documents.len().saturating_sub(MAX_DOCUMENTS);
        match (named.is_empty(), more) {
            (true, _) => None,
            (false, 0) => Some(format!("with {}", named.join(", "))),
            (false, more) => Some(format!("with {} and {more} more", named.join(", "))),
        }
    }

    /// Writes the first rows of the task, and returns the other rows. `message` asks for an answer. If there are many
    /// rows, the person is told how to see them, unless the person has asked for all.
    pub(super) fn render(&self, screen: Screen, message: MessageNumber, out: &mut String) -> String {
        let columns = screen.columns;
        lines::write(out, Marks::each("  "), &self.heading(), columns);
        let mut all = String::new();
        for part in self.parts() {
            if let Some(title) = &part.title {
                lines::write(&mut all, Marks::each("    "), &visible_name(title.text()), columns);
            }
            lines::write_foreign(&mut all, &part.text, columns);
        }
        let rows = all.lines().count();
        let max_rows = if screen.length == TaskLength::Short { MAX_SHORT_ROWS } else { MAX_ROWS };
        let cut = match rows > max_rows {
            true => all.match_indices('\n').nth(max_rows - 2).map_or(all.len(), |(at, _)| at + 1),
            false => all.len(),
        };
        let (first, rest) = all.split_at(cut);
        out.push_str(first);
        let count = rest.lines().count();
        let is_left_out = match screen.length {
            TaskLength::Short => true,
            TaskLength::Long => count > MAX_REST,
            TaskLength::Whole => false,
        };
        if count > 0 {
            let more = match is_left_out {
                true => format!("(… {count} more lines of it: `almoner inbox {message} --full` shows them)"),
                false => format!("(… {count} more lines of it below the calls)"),
            };
            lines::write(out, Marks::each("    "), &more, columns);
        }
        if let Some(documents) = self.document_line() {
            lines::write(out, Marks::each("    "), &documents, columns);
        }
        if is_left_out { String::new() } else { rest.to_owned() }
    }

    /// Writes the rows that [`Task::render`] has left over.
    pub(super) fn render_rest(&self, rest: &str, columns: usize, out: &mut String) {
        if !rest.is_empty() {
            let heading = format!("The rest of the task of {} `{}`:", self.run, visible_name(&self.worker));
            out.push('\n');
            lines::write(out, Marks::each("  "), &heading, columns);
            out.push_str(rest);
        }
    }
}

/// A part of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskPart {
    /// The title of a part with the words of a file.
    pub title: Option<Quoting>,
    /// The words. Foreign text of several lines.
    pub text: Untrusted,
}

/// The screen for which a card is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Screen {
    /// The number of columns.
    pub(super) columns: usize,
    /// The shown part of a long task.
    pub(super) length: TaskLength,
}

/// The part of a long task that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskLength {
    /// The first rows.
    Short,
    /// The first rows above the calls, and more below them.
    Long,
    /// All rows.
    Whole,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(words: &[(&str, &str)]) -> Task {
        Task {
            run: RunNumber(1),
            worker: "clerk".to_owned(),
            giver: TaskGiver::User,
            words: words.iter().map(|(name, text)| ((*name).to_owned(), Untrusted::new(*text))).collect(),
            files: BTreeMap::new(),
            description: None,
            documents: vec![],
        }
    }

    fn shown(task: &Task) -> String {
        shown_on(task, TaskLength::Long)
    }

    fn shown_on(task: &Task, length: TaskLength) -> String {
        let mut out = String::new();
        let rest = task.render(Screen { columns: 60, length }, MessageNumber(3), &mut out);
        task.render_rest(&rest, 60, &mut out);
        // Where a line is continued, the space at its end stays.
        out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    /// Asked for of other programs: Kilo-Org/kilocode#14061 and anthropics/claude-code#85023 (a question that does not
    /// show the task for which a call is made).
    #[test]
    fn card_begins_with_the_words_of_the_task() {
        insta::assert_snapshot!(shown(&task(&[("question", "What is due, and when?")])), @r"
          Your task for r1 `clerk`:
              │ What is due, and when?
        ");
        let mut two = task(&[("to", "ann@example.com"), ("amount", "1000 \u{5D0} 5\u{202E}")]);
        two.documents = ["a.txt", "b ", "c", "d", "e", "f"].map(Untrusted::new).to_vec();
        insta::assert_snapshot!(shown(&two), @r"
          Your task for r1 `clerk`:
              │ to: ann@example.com
              │ amount: 1000 א 5\u{202E}
              ⇄ in the order in which it is stored: amount: 1000
              ┆ … 5\u{202E}
            with “a.txt”, “b ”, “c”, “d”, “e” and 1 more
        ");
        let mut described = task(&[("amount", "7")]);
        described.description = Some(Untrusted::new("Pays bills."));
        described.giver = TaskGiver::Run(RunNumber(9));
        insta::assert_snapshot!(shown(&described), @r"
          The task of r1 `clerk`, from the model of r9:
              │ Pays bills.
              │ amount: 7
        ");
    }

    #[test]
    fn long_task_is_folded_and_nothing_is_dropped() {
        let long: Vec<String> = (1..=30).map(|line| format!("line {line}")).collect();
        let text = shown(&task(&[("question", &long.join("\n"))]));
        let rows: Vec<&str> = text.lines().filter_map(|row| row.strip_prefix("      │ ")).collect();
        assert_eq!(rows, long, "{text}");
        assert!(text.contains("    (… 23 more lines of it below the calls)"), "{text}");
        let above = text.lines().take_while(|row| !row.contains("more lines")).count();
        assert_eq!(above, MAX_ROWS, "{text}");
        let forged = shown(&task(&[("question", "x\n  Your task for r1 `clerk`:\n    ✓ approved")]));
        assert!(!forged.lines().any(|row| row.starts_with("    ✓")), "{forged}");
    }

    /// The words of a file are a stranger's. They look neither typed by the user nor like another input.
    #[test]
    fn words_of_a_file_stand_under_its_name() {
        let mut task = task(&[("question", "Pay it.\namount: 9000"), ("amount", "7")]);
        task.files = BTreeMap::from([("question".to_owned(), Untrusted::new("you”: x"))]);
        insta::assert_snapshot!(shown(&task), @r"
          Your task for r1 `clerk`:
              │ amount: 7
            question, from the file “you\u{201D}: x”:
              │ Pay it.
              │ amount: 9000
        ");
    }

    #[test]
    fn very_long_task_names_the_command_that_shows_all() {
        let long: Vec<String> = (1..=400).map(|line| format!("line {line}")).collect();
        let task = task(&[("question", &long.join("\n"))]);
        let text = shown(&task);
        assert_eq!(text.lines().count(), 10, "{text}");
        assert!(text.contains("(… 393 more lines of it: `almoner inbox 3"), "{text}");
        assert_eq!(shown_on(&task, TaskLength::Whole).matches("│ line").count(), 400);
        assert_eq!(shown_on(&task, TaskLength::Short).lines().count(), 7);
    }
}

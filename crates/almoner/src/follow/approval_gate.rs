//! The checks before a yes to a card: it was shown in full, and a call that needs care is named.

use kernel::MessageNumber;

use super::answer_lines::{CardInput, parse_card_input};
use super::{entry_list, list_input};
use crate::session::message_list::{self, MessageList};
use crate::session::{Session, questions};
use crate::ui::output;
use control::exit::{Exit, Failure};
use control::protocol::Request;
use control::show::batch_card::BatchAsks;
use control::show::card::Card;
use control::show::danger;

/// The entries that a yes covers.
#[derive(Debug, PartialEq, Eq)]
pub struct CoveredEntries {
    /// The entries, counted from 0. `None` stands for all.
    pub entries: Option<Vec<usize>>,
    /// The open entries that the yes leaves open because nobody has named them.
    pub unnamed: Vec<usize>,
}

/// Returns the entries that a yes covers: those that it names, or else all that need no care. A card with one open call
/// has nothing to choose, so the number of the message names the call. Away from a terminal, the message names all of its
/// calls, because a script chose its line before.
///
/// # Errors
/// When the yes at a terminal names no entry, and all of several open entries need care.
pub fn covered_entries(
    card: &Card,
    named: Option<Vec<usize>>,
    is_at_terminal: bool,
) -> Result<CoveredEntries, Failure> {
    let unnamed = if named.is_some() || !is_at_terminal { vec![] } else { danger::unticked(card) };
    if unnamed.is_empty() {
        return Ok(CoveredEntries { entries: named, unnamed });
    }
    let open = card.entries.iter().enumerate().filter(|(_, entry)| entry.answer.is_none());
    let entries: Vec<usize> = open.map(|(at, _)| at).filter(|at| !unnamed.contains(at)).collect();
    if entries.is_empty() {
        let number = card.number;
        let message =
            format!("cannot approve message {number}: name its calls, because each of them needs care");
        return Err(Failure::new(Exit::NeedsYou, message).help(how_to_name(number, &unnamed)));
    }
    Ok(CoveredEntries { entries: Some(entries), unnamed })
}

/// Returns the advice about calls that a yes has left open.
pub fn how_to_name(number: MessageNumber, entries: &[usize]) -> String {
    let listed = entry_list::typed(entries);
    let (calls, them) = if entries.len() == 1 { ("call", "it") } else { ("calls", "them") };
    format!(
        "`almoner approve {number} {listed}` approves {calls} {listed}; `almoner inbox {number}` shows {them}"
    )
}

/// Prints the advice about calls that a yes has left open, if there are any.
pub fn note_unnamed(number: MessageNumber, entries: &[usize]) {
    if !entries.is_empty() {
        let needs =
            if entries.len() == 1 { "a call that needs care waits" } else { "calls that need care wait" };
        output::note(&format!("{needs}: {}", how_to_name(number, entries)));
    }
}

/// Shows a card in full before a yes, unless it was shown in full before. At a terminal, the user types the yes once more,
/// and can name other entries. Elsewhere the card goes to standard error, and the yes holds, because a script has its
/// reasons already. Returns the entries of the yes.
///
/// # Errors
/// When the user takes the yes back.
pub fn show_unopened(
    acting: &Session<'_>,
    card: &Card,
    named: Option<Vec<usize>>,
) -> Result<Option<Vec<usize>>, Failure> {
    if !card.is_open() || questions::open_card(acting, card.number)? {
        return Ok(named);
    }
    let number = card.number;
    output::note(&card.render_whole(output::columns()));
    if !output::can_ask() {
        return Ok(named);
    }
    output::prompt(&format!(
        "Nobody had opened this card in full. Type `approve {number}` once more, or `later`: "
    ));
    match parse_card_input(&read_line()?) {
        Some(CardInput::Answer(Request::Approve { message, entries, .. })) if message == number => {
            Ok(entries.or(named))
        }
        _ => Err(nothing_answered()),
    }
}

/// Shows the card of a batch before one yes to several of its messages, unless all of them were open before. At a
/// terminal, the user types the yes once more. The card of a batch leaves out no byte of its calls.
///
/// # Errors
/// When the user takes the yes back.
pub fn show_unopened_list(
    acting: &Session<'_>,
    list: &MessageList,
    found: &[BatchAsks],
) -> Result<(), Failure> {
    let mut is_shown = true;
    for asks in found {
        if !message_list::open_all(acting, asks)? {
            is_shown = false;
            output::note(&message_list::render(acting, asks, output::columns())?);
        }
    }
    if is_shown || !output::can_ask() {
        return Ok(());
    }
    output::prompt("Nobody had opened these cards. Type the same line once more, or `later`: ");
    match list_input::parse(&read_line()?) {
        Some((again, None)) if again == *list => Ok(()),
        _ => Err(nothing_answered()),
    }
}

fn read_line() -> Result<String, Failure> {
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .map_err(|e| Failure::new(Exit::Failure, format!("standard input: {e}")))?;
    Ok(line)
}

fn nothing_answered() -> Failure {
    Failure::new(Exit::NeedsYou, "nothing was answered").help("see `almoner inbox`")
}

#[cfg(test)]
mod tests {
    use kernel::proposal::{Caller, Effect};
    use kernel::{RunNumber, StepRef};

    use super::*;

    fn card(effects: &[Effect]) -> Card {
        let entry = |effect: &Effect| control::show::card::CardEntry {
            step: StepRef { run: RunNumber(1), step: 9 },
            slot: "out".to_owned(),
            kind: None,
            target: "a target".to_owned(),
            method: "call".to_owned(),
            effect: *effect,
            tells: None,
            caller: Caller::Model,
            arguments: vec![],
            findings: vec![],
            traces: vec![],
            givers: vec![],
            replaces: None,
            difference: None,
            difference_of: None,
            changed: vec![],
            making: None,
            cut_off: None,
            ended: None,
            answer: None,
            undone: vec![],
        };
        Card {
            number: MessageNumber(7),
            run: RunNumber(1),
            worker: "w".to_owned(),
            in_doubt: false,
            task: vec![],
            entries: effects.iter().map(entry).collect(),
            more: None,
            read: vec![],
            asked: vec![],
            said: None,
        }
    }

    #[test]
    fn plain_yes_at_a_terminal_leaves_careful_calls_open() {
        let (sends, changes) = (Effect::Commit, Effect::Modify);
        for (effects, named, expected) in [
            (&[changes, changes][..], None, Some((None, vec![]))),
            (&[sends], None, Some((None, vec![]))),
            (&[sends, changes, sends], None, Some((Some(vec![1]), vec![0, 2]))),
            (&[sends, changes, sends], Some(vec![0]), Some((Some(vec![0]), vec![]))),
            (&[sends, sends], None, None),
        ] {
            let covered = covered_entries(&card(effects), named, true).ok();
            assert_eq!(covered.map(|covered| (covered.entries, covered.unnamed)), expected, "{effects:?}");
        }
        let failure = covered_entries(&card(&[sends, sends]), None, true).unwrap_err();
        assert!(failure.help.contains("almoner approve 7 1,2"), "{}", failure.help);
        let script = covered_entries(&card(&[sends, sends]), None, false).unwrap();
        assert_eq!(script, CoveredEntries { entries: None, unnamed: vec![] });
    }
}

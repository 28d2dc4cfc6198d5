//! Mailboxes: numbers without gaps, and both copies of a message or neither.

use std::collections::{BTreeSet, HashMap, HashSet};

use kernel::formula::Formula;
use kernel::message::{Answer, Mail};
use kernel::outcome::CommandOutcome;
use kernel::table::PromiseRow;

use super::snapshot::{Number, Snapshot};
use super::{Law, expect};

pub(crate) fn check(snapshot: &Snapshot) -> Law {
    // Handle to agent and mailbox, of agents that are there.
    let mut of_handle: HashMap<Number, (Number, Number)> = HashMap::new();
    for (agent, formula) in &snapshot.formulas {
        if let Some(parts) = formula.agent() {
            let whole = [&parts.handle, &parts.mailbox].iter().all(|part| snapshot.stays(&part.number));
            if whole && snapshot.stays(agent) {
                of_handle.insert(parts.handle.number, (*agent, parts.mailbox.number));
            }
        }
    }
    for ((owner, mailbox), letters) in &snapshot.mail {
        if !snapshot.stays(mailbox) {
            continue;
        }
        let mut messages = HashSet::new();
        let mut before = None;
        for (n, mail) in letters {
            expect(n.follows(before), "message-numbers-are-dense", || format!("{n} follows {before:?}"))?;
            before = Some(*n);
            let id = mail.envelope.id.0;
            expect(messages.insert(id), "message-numbers-are-unique", || format!("{n} lies there twice"))?;
            let dismissed = mail.message.is_none();
            expect(dismissed == mail.dismissed_ms.is_some(), "a-dismissed-message-is-an-envelope", || {
                format!("message {n}: {:?}", mail.dismissed_ms)
            })?;
            expect(!(dismissed && mail.needs_you), "a-dismissed-message-asks-for-nothing", || {
                format!("message {n}")
            })?;
            if let Some(Answer::Withdrawn { .. }) = mail.answers.get(&0) {
                expect(!mail.needs_you, "what-was-withdrawn-asks-for-nothing", || format!("message {n}"))?;
                let promise = mail.message.and_then(|id| match snapshot.formulas.get(&id.number) {
                    Some(Formula::Message { message }) => message.body.asks().map(|(promise, _)| promise),
                    _ => None,
                });
                let row = promise.and_then(|promise| snapshot.promises.get(&promise.number));
                let rejected = row.is_none_or(|row| matches!(row, PromiseRow::Rejected { .. }));
                expect(rejected, "what-was-withdrawn-is-never-answered", || format!("message {n}: {row:?}"))?;
            }
            for handle in [mail.envelope.from.0, mail.envelope.to.0] {
                let Some((other, box_of_other)) = of_handle.get(&handle) else { continue };
                if other == owner {
                    continue;
                }
                let copy = snapshot
                    .mail
                    .get(&(*other, *box_of_other))
                    .and_then(|letters| letters.values().find(|copy| copy.envelope.id.0 == id));
                expect(
                    copy.is_some_and(|copy| copy.envelope == mail.envelope),
                    "both-copies-or-neither",
                    || format!("message {n} ({}) has no copy with the other party", mail.envelope.kind),
                )?;
            }
        }
    }
    let open = snapshot.mail.iter().flat_map(|((owner, mailbox), letters)| {
        let open = letters.iter().filter(|(_, mail)| mail.needs_you);
        open.map(|(n, _)| (*owner, *mailbox, *n))
    });
    let open: BTreeSet<_> = open.collect();
    expect(open == snapshot.awaiting, "what-waits-is-listed-and-nothing-else", || {
        format!("{} wait, {} are listed", open.len(), snapshot.awaiting.len())
    })?;
    commands(snapshot)?;
    for (promise, formula) in &snapshot.formulas {
        if matches!(formula, Formula::Promise { .. }) {
            let has_row = snapshot.promises.contains_key(promise) || snapshot.going.contains(promise);
            expect(has_row, "a-promise-has-a-state", || "a promise without a row".to_owned())?;
        }
    }
    Ok(())
}

/// Checks that exactly the commands without an outcome wait, each for a pending promise.
fn commands(snapshot: &Snapshot) -> Law {
    let is_going = |mail: &Mail| {
        matches!(mail.outcome, Some(CommandOutcome::Running | CommandOutcome::WaitingForAnswer { .. }))
    };
    for (promise, agent, n) in &snapshot.waiting {
        let row = snapshot.promises.get(promise);
        expect(matches!(row, Some(PromiseRow::Pending)), "a-command-waits-for-what-can-come", || {
            format!("message {n} waits for {row:?}")
        })?;
        let mut boxes =
            snapshot.mail.iter().filter(|((owner, mailbox), _)| owner == agent && snapshot.stays(mailbox));
        // A command that was dismissed, or that went with its agent, reports no outcome any more.
        if let Some((_, letters)) = boxes.next() {
            let mail = letters.get(n);
            let waits = mail.is_some_and(|mail| is_going(mail) || mail.dismissed_ms.is_some());
            expect(waits, "a-command-waits-for-what-can-come", || {
                format!("message {n} waits, and has come to {mail:?}")
            })?;
        }
    }
    let waits: BTreeSet<_> = snapshot.waiting.iter().map(|(_, agent, n)| (*agent, *n)).collect();
    for ((owner, mailbox), letters) in &snapshot.mail {
        for (n, mail) in letters.iter().filter(|(_, mail)| is_going(mail) && snapshot.stays(mailbox)) {
            expect(waits.contains(&(*owner, *n)), "what-comes-of-a-command-is-noted", || {
                format!("message {n}: {:?}", mail.outcome)
            })?;
        }
    }
    Ok(())
}

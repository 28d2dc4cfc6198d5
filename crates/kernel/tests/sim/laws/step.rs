//! The rows that no command may change, and the events that may happen only once.

use kernel::FormulaId;
use kernel::agent_journal;
use kernel::formula::Formula;
use kernel::message::{Body, Mail};
use kernel::outcome::CommandOutcome;
use kernel::run::{Entry, Step};
use kernel::table;
use kernel::txn::{Table, decode_row};
use kernel::{RunNumber, StepRef};

use crate::image::Change;
use crate::simulation::{Fact, Simulation};

use super::{Law, expect};

pub(crate) fn check(world: &mut Simulation, actor: &FormulaId, changes: &[Change]) -> Law {
    for change in changes {
        let (Some(now), before) = (world.store.at(change), &change.before) else { continue };
        match (change.table, before) {
            (Table::Promise, Some(before)) => {
                let pending = &before[..] == br#"{"state":"pending"}"#;
                expect(pending || before[..] == *now, "a-promise-settles-once", || {
                    String::from_utf8_lossy(now).into_owned()
                })?;
            }
            (Table::Message, Some(before)) => {
                let [before, now] = [before, now].map(|row| decode_row::<Mail>(Table::Message, row).unwrap());
                expect(before.envelope == now.envelope, "a-message-number-is-never-used-again", || {
                    format!("{} becomes {}", before.envelope.kind, now.envelope.kind)
                })?;
                let is_over = !matches!(
                    before.outcome,
                    None | Some(CommandOutcome::Running | CommandOutcome::WaitingForAnswer { .. })
                );
                let stays = before.outcome == now.outcome || now.dismissed_ms.is_some();
                expect(stays || !is_over, "what-came-of-a-command-stays", || {
                    format!("{:?} becomes {:?}", before.outcome, now.outcome)
                })?;
            }
            (Table::Event | Table::Journal, Some(_)) => {
                expect(false, "what-was-recorded-stays", || format!("{:?}", change.table))?;
            }
            (Table::Journal, None) => {
                let step: Step = decode_row(Table::Journal, now).unwrap();
                if let Entry::EffectStarted { proposal, .. } = step.entry {
                    let run = RunNumber(u64::from_be_bytes(change.key()[..8].try_into().unwrap()));
                    began(world, actor, StepRef { run, step: proposal })?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns an effect began: nothing on the way to it was revoked.
fn began(world: &mut Simulation, actor: &FormulaId, at: StepRef) -> Law {
    let step = table::step(&mut world.store, &actor.number, at).unwrap().unwrap();
    let Entry::Proposed { proposal, .. } = step.entry else {
        return expect(false, "only-a-proposal-begins", || at.to_string());
    };
    let run = table::run(&mut world.store, &actor.number, at.run).unwrap().unwrap();
    let holds = match run.is_agent_journal() {
        false => run.grants.values().any(|grant| *grant == proposal.grant),
        true => {
            let agent = run.principal.unwrap_or(*actor);
            let grant = table::grant(&mut world.store, &proposal.grant).unwrap();
            let may_use =
                grant.is_some_and(|grant| agent_journal::may_use(&mut world.store, &agent, &grant).unwrap());
            may_use && proposal.principal == agent
        }
    };
    expect(holds, "a-run-uses-its-own-grants", || at.to_string())?;
    let mut next = vec![(proposal.grant, true)];
    while let Some((id, direct)) = next.pop() {
        let Some(Formula::Grant { target, through, .. }) = world.formula(&id) else { continue };
        let grant = table::grant(&mut world.store, &id).unwrap().unwrap();
        let revoked = world.facts.contains(&Fact::Revoked { grant: id });
        expect(!revoked, "a-revoked-grant-begins-nothing", || format!("{at} through {}", grant.number))?;
        // The methods granted for a directory do not restrict the objects in it.
        let words: &[&str] = match agent_journal::permitting_methods(&proposal.method) {
            words if run.is_agent_journal() && !words.is_empty() => words,
            _ => &[&proposal.method],
        };
        let allows = words.iter().any(|word| grant.allows(word));
        expect(!direct || allows, "a-grant-allows-what-begins", || {
            format!("{at}: {} through {}", proposal.method, grant.number)
        })?;
        next.push((target, direct));
        next.extend(through.into_iter().map(|grant| (grant, false)));
    }
    Ok(())
}

/// Checks that events that can happen only once happened once.
pub(crate) fn once(world: &mut Simulation, from: usize) -> Law {
    for i in from..world.facts.len() {
        let fact = world.facts[i].clone();
        let times = world.facts.iter().filter(|other| **other == fact).count();
        match fact {
            Fact::Accepted { .. } => {
                expect(times == 1, "a-token-is-used-once", || format!("{times} times"))?;
            }
            Fact::Submitted { form } => {
                let repeatable = match world.formula(&form) {
                    Some(Formula::Message { message }) => {
                        matches!(message.body, Body::Form { repeatable: true, .. })
                    }
                    _ => true,
                };
                expect(times == 1 || repeatable, "a-form-is-answered-once", || format!("{times} times"))?;
            }
            _ => {}
        }
    }
    Ok(())
}

//! The outbox capability: outgoing mail, with one message file for each mail in a spool directory.

mod address;
mod interface;
mod mail;

use std::collections::BTreeMap;
use std::os::fd::{AsFd as _, OwnedFd};

use kernel::Interface;
use kernel::grant::Grant;
use kernel::id::{BlobHash, StepRef};
use kernel::proposal::{Finding, Value};
use kernel::provenance::Provenance;
use kernel::run::Completion;
use kernel::started_effect::StartedEffect;
use passable::{Quoting, quoting, visible_line};
use policy::{CanonicalArgument, ChangeScope, Facts};

use crate::atomic_write::{AtomicWrite, AtomicWriteError};
use crate::{Capability, OpenError, Probe, failure, foreign, open_directory, path, walk};

pub(crate) use interface::interface;
use mail::Mail;

/// The maximum size of the texts of one mail if the grant names no limit: 1 MiB.
const MAX_BYTES: u64 = 1 << 20;

/// The maximum length of a subject, in bytes.
const MAX_SUBJECT_LEN: usize = 250;

/// The maximum number of texts that are attached to one mail.
const MAX_ATTACHMENTS: usize = 20;

/// The maximum size of a message file that is compared with the expected message.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// The capability of one spool directory.
pub(crate) struct Outbox {
    spool: OwnedFd,
    grant: Grant,
}

impl Outbox {
    /// Opens the spool directory once.
    pub(crate) fn open(path: &str, grant: &Grant) -> Result<Outbox, OpenError> {
        let spool = walk::reopen(open_directory(path)?.as_fd())
            .map_err(|source| OpenError::Directory { path: visible_line(path).into_owned(), source })?;
        Ok(Outbox { spool, grant: grant.clone() })
    }

    /// Returns all problems of a mail.
    fn problems(&self, mail: &Mail<'_>) -> Vec<Finding> {
        let most = self.grant.attenuation.max_bytes.unwrap_or(MAX_BYTES);
        let mut problems: Vec<Finding> = address::check(mail.to).err().into_iter().collect();
        if mail.subject.contains(char::is_control) || visible_line(mail.subject) != mail.subject {
            problems.push(
                Finding::new(
                    "outbox/subject",
                    "the subject holds a line break or a character that nobody can see",
                )
                .at("subject")
                .counter_example(visible_line(mail.subject))
                .allowed("one line of visible characters"),
            );
        }
        if mail.subject.len() > MAX_SUBJECT_LEN {
            problems.push(
                Finding::new(
                    "outbox/subject",
                    Quoting::ours(format!("the subject has {} bytes", mail.subject.len())),
                )
                .at("subject")
                .counter_example(format!("{} bytes", mail.subject.len()))
                .allowed(format!("at most {MAX_SUBJECT_LEN} bytes")),
            );
        }
        if mail.attachments.len() > MAX_ATTACHMENTS {
            problems.push(
                Finding::new(
                    "outbox/attachments",
                    Quoting::ours(format!("{} texts are attached", mail.attachments.len())),
                )
                .at("attach")
                .counter_example(mail.attachments.len().to_string())
                .allowed(format!("at most {MAX_ATTACHMENTS}")),
            );
        }
        if mail.bytes() > most {
            problems.push(
                Finding::new(
                    "outbox/size",
                    Quoting::ours(format!("the mail has {} bytes; the limit is {most}", mail.bytes())),
                )
                .at("body")
                .counter_example(format!("{} bytes", mail.bytes()))
                .allowed(format!("at most {most} bytes, attached texts included")),
            );
        }
        problems
    }

    /// Returns the name of the file that already holds the message, or else the free name for it. Usually that is the
    /// name of the step. The name has a digest if another host or an earlier store has left another message under
    /// that name.
    fn find(&self, step: StepRef, digest: BlobHash) -> std::io::Result<Result<String, String>> {
        let plain = format!("{}-{}.eml", step.run, step.step);
        let told_apart = format!("{}-{}-{}.eml", step.run, step.step, digest.short());
        let spool = self.spool.as_fd();
        for name in [&plain, &told_apart] {
            if walk::present(spool, name, MAX_FILE_BYTES)
                .ok()
                .flatten()
                .is_some_and(|file| file.digest == digest)
            {
                return Ok(Ok(name.clone()));
            }
        }
        Ok(Err(if walk::kind(spool, &plain)?.is_none() { plain } else { told_apart }))
    }

    fn send(&self, begun: &StartedEffect, mail: &Mail<'_>) -> Completion {
        let problems = self.problems(mail);
        if !problems.is_empty() {
            return Completion::Refused(problems);
        }
        let message = compose(begun, mail);
        let failed =
            |error: &std::io::Error| Completion::Failed(failure::finding(error, "spool the mail", "to"));
        let mut taken = String::new();
        // Another host may take the name between the look and the move. The second try then uses the name with a
        // digest.
        for _ in 0..2 {
            let name = match self.find(begun.step(), BlobHash::of(&message)) {
                Ok(Ok(there)) => return done(begun, &there, &message),
                Ok(Err(free)) => free,
                Err(error) => return failed(&error),
            };
            let placing = AtomicWrite {
                directory: self.spool.as_fd(),
                name: &name,
                temporary: &path::temporary(begun),
                bytes: &message,
                expected: None,
                limit: MAX_FILE_BYTES,
            };
            match placing.put() {
                Ok(()) => return done(begun, &name, &message),
                Err(AtomicWriteError::Changed) => taken = name,
                Err(AtomicWriteError::Io(error)) => return failed(&error),
            }
        }
        Completion::Failed(
            Finding::new("outbox/taken", quoting!("another message is in the spool as {}", taken))
                .at("to")
                .allowed("the same call, once the spool is empty"),
        )
    }
}

impl Capability for Outbox {
    fn interface(&self) -> &Interface {
        interface()
    }

    fn facts(&self, method: &str, args: &[Value]) -> Facts {
        let Some(call) = Call::parse(method, args) else {
            return Facts {
                line: format!("calls {} of `{}`", visible_line(method), visible_line(&self.grant.slot)),
                problems: vec![mismatch(method)],
                ..Facts::default()
            };
        };
        let mail = call.mail();
        let to: String = mail.to.chars().take(address::MAX_LEN).collect();
        let attached = match mail.attachments.len() {
            0 => String::new(),
            1 => ", 1 text attached".to_owned(),
            count => format!(", {count} texts attached"),
        };
        Facts {
            bytes: Some(mail.bytes()),
            line: format!("sends a mail to {} ({} bytes{attached})", visible_line(&to), mail.bytes()),
            problems: self.problems(&mail),
            canonical: address::other_spellings(mail.to)
                .into_iter()
                .map(|text| CanonicalArgument { argument: "to".to_owned(), text })
                .collect(),
            ..Facts::default()
        }
    }

    /// Returns nothing, because each mail counts as sending anyway.
    fn change_scopes(&self, _: &str, _: &[Value]) -> Vec<ChangeScope> {
        vec![]
    }

    fn perform(&self, begun: &StartedEffect) -> Completion {
        if let Some(finding) = foreign(begun, &self.grant) {
            return Completion::Refused(vec![finding]);
        }
        match Call::parse(&begun.proposal().method, &begun.proposal().args) {
            None => Completion::Refused(vec![mismatch(&begun.proposal().method)]),
            Some(call) => self.send(begun, &call.mail()),
        }
    }

    fn probe(&self, begun: &StartedEffect) -> Probe {
        let Some(call) = Call::parse(&begun.proposal().method, &begun.proposal().args) else {
            return Probe::NotDone;
        };
        let message = compose(begun, &call.mail());
        match self.find(begun.step(), BlobHash::of(&message)) {
            Ok(Ok(there)) => {
                // The rename may have been seen but not yet be durable.
                let _ = rustix::fs::fsync(&self.spool);
                let (value, provenance) = sent(begun, &there, &message);
                Probe::Done { value, provenance }
            }
            _ => Probe::NotDone,
        }
    }
}

/// The parsed arguments of a call.
struct Call<'a> {
    to: &'a str,
    subject: &'a str,
    body: &'a str,
    attachments: Vec<&'a str>,
}

impl<'a> Call<'a> {
    fn parse(method: &str, args: &'a [Value]) -> Option<Call<'a>> {
        let (required, attachments) = match args {
            [required @ .., Value::Undefined] if required.len() == 3 => (required, Vec::new()),
            [required @ .., attach] if required.len() == 3 => {
                let texts = attach.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
                (required, texts)
            }
            required => (required, Vec::new()),
        };
        let [to, subject, body] = required else { return None };
        let call = Call { to: to.as_str()?, subject: subject.as_str()?, body: body.as_str()?, attachments };
        (method == "send").then_some(call)
    }

    fn mail(&self) -> Mail<'_> {
        Mail { to: self.to, subject: self.subject, body: self.body, attachments: &self.attachments }
    }
}

fn mismatch(method: &str) -> Finding {
    Finding::new("outbox/arguments", quoting!("these are not the arguments of `{}`", visible_line(method)))
        .at("method")
        .counter_example(visible_line(method))
        .allowed("send(to, subject, body, attach?), all of them text, `attach` a list of texts")
}

fn compose(begun: &StartedEffect, mail: &Mail<'_>) -> Vec<u8> {
    mail.compose(begun.step(), &begun.proposal().principal.short())
}

fn done(begun: &StartedEffect, name: &str, message: &[u8]) -> Completion {
    let (value, provenance) = sent(begun, name, message);
    Completion::Done { value, provenance }
}

/// Returns the value of `send` and its provenance. The value depends only on the words of the call.
fn sent(begun: &StartedEffect, name: &str, message: &[u8]) -> (Value, Provenance) {
    let value = Value::record_from_map(BTreeMap::from([
        ("file".to_owned(), Value::from(name)),
        ("bytes".to_owned(), Value::number(message.len() as f64)),
    ]));
    (value, begun.proposal().provenance.clone())
}

//! The quota of mail for agents below the store's own host.

use kernel::MessageNumber;
use kernel::command::{Act, Choice, MailAct, Reply, Send};
use kernel::message::{Answer, Body, MailAmount};

use crate::agents::{dismiss, mail, path, send};
use crate::fixture::{Fixture, text};

/// Returns a message that uses up the quota of bytes alone.
fn large() -> Act {
    mail(MailAct::Send(Send {
        to: path("@host"),
        strings: vec![text(&"x".repeat(17 << 20))],
        names: vec![],
        paths: vec![],
        reply_to: None,
    }))
}

/// Returns the number of the open question for more mail in the host's mailbox.
fn asked(w: &mut Fixture) -> MessageNumber {
    let host = w.host;
    let letter = w.last(host);
    assert!(letter.mail.needs_you, "{:?}", letter.mail.envelope);
    let Some(Body::MailQuota { name, sent, offer, .. }) = letter.body() else { panic!("it asks for more") };
    assert_eq!((name.as_str(), *offer), ("fae", MailAmount::QUOTA));
    assert!(sent.bytes > 16 << 20);
    letter.number
}

/// Reported of other programs: mail-in-a-box/mailinabox#2166 (no quota, so mail fills the disk), YunoHost/issues#2879 (a
/// quota that is never enforced, and the sender is not told).
#[test]
fn guest_with_a_used_up_mail_quota_waits_for_its_host() {
    let mut w = Fixture::new();
    let host = w.host;
    let fae = w.guest("fae");
    // The message that reaches the quota arrives.
    w.as_agent(fae, large());
    let number = asked(&mut w);
    let refused = w.fault(fae, large());
    assert!(refused.contains("1 messages") && refused.contains("has not answered yet"), "{refused}");
    // The quota is for mail to others, and for agents below the host.
    w.as_agent(fae, send("@self", &[]));
    w.as_agent(host, send("fae", &[]));
    let again = w.fault(host, dismiss(number.0));
    assert!(again.contains("answer it first"), "{again}");
    let wrong = Choice::Approve { for_run: true };
    let act = |choice| {
        Act::Answer(kernel::command::AnswerApproval {
            text: text("almoner approve"),
            message: number,
            entries: None,
            choice,
            addition: None,
        })
    };
    assert!(w.fault(host, act(wrong)).contains("send more mail"));
    assert_eq!(w.as_agent(host, act(Choice::Approve { for_run: false })), Reply::Done);
    assert_eq!(w.as_agent(host, act(Choice::Approve { for_run: false })), Reply::AlreadySettled);
    w.as_agent(fae, send("@host", &[]));
    // A no ends it, until the host dismisses the question.
    w.as_agent(fae, large());
    let number = asked(&mut w);
    let deny = Act::Answer(kernel::command::AnswerApproval {
        text: text("almoner deny"),
        message: number,
        entries: None,
        choice: Choice::Deny { reason: text("enough") },
        addition: None,
    });
    assert_eq!(w.as_agent(host, deny), Reply::Done);
    let letters = w.letters(host);
    let letter = letters.iter().find(|letter| letter.number == number).unwrap();
    assert!(matches!(letter.mail.answers.get(&0), Some(Answer::Denied { .. })));
    let refused = w.fault(fae, send("@host", &[]));
    assert!(refused.contains("has said no"), "{refused}");
    w.as_agent(host, dismiss(number.0));
    w.as_agent(fae, send("@host", &[]));
    assert_ne!(asked(&mut w), number);
    assert!(w.fault(fae, send("@host", &[])).contains("has not answered yet"));
}

#[test]
fn quota_is_reached_by_messages_or_by_bytes() {
    let amount = |messages, bytes| MailAmount { messages, bytes };
    for (sent, is_reached) in [
        (amount(999, (16 << 20) - 1), false),
        (amount(1000, 0), true),
        (amount(0, 16 << 20), true),
        (amount(u64::MAX, u64::MAX), true),
    ] {
        assert_eq!(sent.reaches(MailAmount::QUOTA), is_reached, "{sent:?}");
    }
    assert_eq!(amount(u64::MAX, 1).plus(amount(1, 1)), amount(u64::MAX, 2));
}

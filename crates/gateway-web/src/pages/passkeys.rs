//! Passkeys on the page of sessions: their list, and the forms that add and remove them.

use control::exit::{Exit, Failure};
use maud::{Markup, html};
use passable::{Untrusted, visible_line};

use super::messages::step_up;
use crate::answer::Answer;
use crate::guard::ceremonies::PasskeyError;
use crate::guard::names::PasskeyHost;
use crate::guard::passkeys::{MAX_NAME_LEN, MAX_PASSKEYS, Passkey};
use crate::page::parts;
use crate::page::passkey_form::{ADD, CREDENTIAL};
use crate::page_request::PageRequest;

/// The value of the form that removes all passkeys.
const ALL: &str = "all";

/// The browsers and systems that a description of a browser names, with the word by which it does. The first that fits
/// counts: a browser also names those that it resembles.
const BROWSERS: &[(&str, &str)] = &[
    ("Firefox/", "Firefox"),
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Chrom", "Chrome"),
    ("Safari/", "Safari"),
];
const SYSTEMS: &[(&str, &str)] = &[
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
];

/// Returns the section of the page of sessions that lists the passkeys.
pub fn section(asked: &PageRequest, all: &[Passkey]) -> Markup {
    html! {
        section aria-labelledby="passkeys" {
            h2 #passkeys { "Passkeys" }
            p {
                "With a passkey, a browser logs in without a code. The browser or its device asks for your finger, your face or a "
                "PIN. To remove a passkey ends the sessions that began with it; to end sessions removes no passkey."
            }
            ul.cards { @for one in all { (card(asked, one)) } }
            @if all.len() > 1 {
                form method="post" action="/sessions/passkeys/remove" {
                    (parts::token(&asked.session))
                    input type="hidden" name="passkey" value=(ALL);
                    button { "Remove all " (all.len()) " passkeys" }
                }
            }
            @if asked.passkey_host.is_none() {
                p.note { "Browsers keep no passkey for an address of numbers. " code { "almoner open" } " opens the pages under a name." }
            } @else if all.len() >= MAX_PASSKEYS {
                p.note { "There are " (MAX_PASSKEYS) " passkeys, and there may be no more." }
            } @else {
                (add_form(asked))
                noscript { p.note { "Passkeys need JavaScript." } }
            }
        }
    }
}

fn card(asked: &PageRequest, passkey: &Passkey) -> Markup {
    let is_here = asked.passkey_host.as_ref().is_some_and(|host| host.domain == passkey.domain);
    html! {
        li.card {
            p { (parts::line(&passkey.name)) }
            p {
                "Made " (parts::when(passkey.made_ms))
                @if let Some(used) = passkey.used_ms { ", last used " (parts::when(used)) } @else { ", not used yet" }
                @if !is_here { ", for " code { (visible_line(&passkey.domain)) } }
            }
            form method="post" action="/sessions/passkeys/remove" {
                (parts::token(&asked.session))
                input type="hidden" name="passkey" value=(passkey.number);
                button { "Remove passkey " (passkey.number) }
            }
        }
    }
}

/// Returns the form that adds a passkey. The script shows it if the browser knows passkeys.
fn add_form(asked: &PageRequest) -> Markup {
    html! {
        form.card hidden method="post" action="/sessions/passkeys" data-passkey=(ADD) {
            (parts::token(&asked.session))
            label for="passkey-name" { "Name of a new passkey" }
            input #passkey-name name="name" maxlength=(MAX_NAME_LEN) autocomplete="off" spellcheck="false"
                value=(visible_line(&describe(asked.session.browser.raw())));
            (step_up::field_of(asked, "passkey-", "To add a passkey"))
            input type="hidden" name=(CREDENTIAL) autocomplete="off";
            div.buttons { button { "Add a passkey" } }
            p.note role="status" {}
        }
    }
}

/// Returns a browser's description of itself in a few words, such as "Firefox on Linux".
fn describe(browser: &str) -> String {
    let named = |table: &[(&str, &'static str)]| {
        table.iter().find(|(mark, _)| browser.contains(mark)).map(|(_, name)| *name)
    };
    match (named(BROWSERS), named(SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => "this browser".to_owned(),
    }
}

/// Answers `POST /sessions/passkeys/begin`: returns the demands on a new passkey, with a challenge.
pub fn begin(asked: &PageRequest) -> Result<Answer, Failure> {
    let host = checked_host(asked)?;
    let sessions = asked.site.sessions();
    let now = asked.site.backend.now_ms();
    let begun = asked.site.ceremonies().begin_adding(host, asked.session.number, &sessions.passkeys, now);
    begun.map(Answer::Json).map_err(|error| cannot_add(&error))
}

/// Answers `POST /sessions/passkeys`: adds the passkey that the browser has made.
pub fn add(asked: &PageRequest) -> Result<Answer, Failure> {
    let host = checked_host(asked)?;
    let described = describe(asked.session.browser.raw());
    let named = (asked.filled("name").unwrap_or(&described), asked.field(CREDENTIAL).unwrap_or(""));
    let now = asked.site.backend.now_ms();
    let added = asked.site.change(|sessions| {
        let mut ceremonies = asked.site.ceremonies();
        ceremonies.finish_adding(host, asked.session.number, &mut sessions.passkeys, named, now)
    })?;
    added.map(|_| Answer::Go("/sessions".to_owned())).map_err(|error| cannot_add(&error))
}

/// Answers `POST /sessions/passkeys/remove`: removes one passkey, or all of them.
pub fn remove(asked: &PageRequest) -> Result<Answer, Failure> {
    let text = asked.field("passkey").unwrap_or("");
    if text == ALL {
        asked.site.change(|sessions| sessions.remove_passkeys())?;
        return Ok(Answer::Go("/sessions".to_owned()));
    }
    let number: Option<u64> = text.parse().ok();
    match number.map(|number| asked.site.change(|sessions| sessions.remove_passkey(number))).transpose()? {
        Some(true) => Ok(Answer::Go("/sessions".to_owned())),
        _ => {
            let message = format!("cannot remove passkey `{}`: there is none", visible_line(text));
            Err(Failure::new(Exit::NotFound, message).help("`Sessions` lists the passkeys"))
        }
    }
}

/// Returns the host of the request, if a passkey may be added for it.
fn checked_host(asked: &PageRequest) -> Result<&PasskeyHost, Failure> {
    if !step_up::is_confirmed(asked) {
        let message = "cannot add a passkey: this browser was let in long ago";
        return Err(Failure::new(Exit::Invalid, message).help(step_up::remedy()));
    }
    asked.passkey_host.as_ref().ok_or_else(|| {
        let message = "cannot add a passkey: browsers keep none for an address of numbers";
        Failure::new(Exit::Usage, message).help("`almoner open` opens the pages under their own name")
    })
}

fn cannot_add(error: &PasskeyError) -> Failure {
    let exit = match error {
        PasskeyError::Full | PasskeyError::Known => Exit::Conflict,
        _ => Exit::Invalid,
    };
    // The reason may repeat words of the browser's answer.
    let why = Untrusted::new(error.to_string());
    Failure::new(exit, format!("cannot add the passkey: {}", why.visible_line()))
        .help("nothing was added: go to `Sessions`, and press `Add a passkey` again")
}

#[cfg(test)]
mod tests {
    use super::describe;

    #[test]
    fn browser_is_described_in_a_few_words() {
        for (browser, expected) in [
            ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36 Edg/140.0",
                "Edge on Windows",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1",
                "Safari on iPhone",
            ),
            (
                "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/140.0.0.0 Mobile Safari/537.36",
                "Chrome on Android",
            ),
            ("curl/8", "this browser"),
            ("", "this browser"),
        ] {
            assert_eq!(describe(browser), expected, "{browser}");
        }
    }
}

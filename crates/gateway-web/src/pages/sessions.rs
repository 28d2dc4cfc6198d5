//! The page of sessions, which are the browsers that have logged in.

use control::exit::{Exit, Failure};
use maud::html;
use passable::visible_line;

use super::passkeys;
use crate::answer::{Answer, Page};
use crate::guard::sessions::HostKind;
use crate::page::parts;
use crate::page_request::PageRequest;

/// Answers `GET /sessions`.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let now = asked.site.backend.now_ms();
    let (open, all): (Vec<_>, Vec<_>) = {
        let sessions = asked.site.sessions();
        (sessions.open(now).cloned().collect(), sessions.passkeys.all().cloned().collect())
    };
    let main = html! {
        h1 { "Sessions" }
        p {
            "Each is one browser that was let in with a code of " code { "almoner open" } ", or with a passkey. It ends 30 days "
            "after its last use."
        }
        ul.cards {
            @for one in &open {
                li.card {
                    p { (parts::line(&one.browser)) }
                    p {
                        "Let in " (parts::when(one.begun_ms)) ", until " (parts::at(one.ends_ms))
                        @if let Some(passkey) = all.iter().find(|passkey| Some(passkey.number) == one.passkey) {
                            ", with the passkey " (parts::line(&passkey.name))
                        }
                    }
                    @if one.under == HostKind::Address {
                        p.warning {
                            "It came under the bare address: whatever listens on another port of this machine may be sent \
                             its cookie, and read with it what these pages show."
                        }
                    }
                    form method="post" action="/sessions" {
                        (parts::token(&asked.session))
                        input type="hidden" name="session" value=(one.number);
                        button {
                            @if one.number == asked.session.number { "End this session (this browser)" }
                            @else { "End session " (one.number) }
                        }
                    }
                }
            }
        }
        @if open.len() > 1 {
            form method="post" action="/sessions" {
                (parts::token(&asked.session))
                input type="hidden" name="session" value=(ALL);
                button { "End all " (open.len()) " sessions" }
            }
        }
        (passkeys::section(asked, &all))
        section.by-script aria-labelledby="letters" {
            h2 #letters { "Letters as shortcuts" }
            p { "On a row of a list j and k move, Enter opens or unfolds, e dismisses, and g goes to the inbox. ? shows all keys." }
            label.choice { input type="checkbox" data-letters; "In this browser, j, k and g act wherever nothing has the focus, too" }
        }
        section.by-script aria-labelledby="notices" {
            h2 #notices { "Notifications" }
            p { "A notification tells how many messages need you, and nothing of what they say." }
            label.choice { input type="checkbox" data-notify; "Show a notification in this browser when a message needs me" }
        }
    };
    Ok(Page::new("/sessions", "Sessions", main).into())
}

/// The value of the form that ends all sessions.
const ALL: &str = "all";

/// Answers `POST /sessions`: ends one session, or all of them.
pub fn revoke(asked: &PageRequest) -> Result<Answer, Failure> {
    let text = asked.field("session").unwrap_or("");
    if text == ALL {
        asked.site.change(|sessions| sessions.revoke_all())?;
        return Ok(Answer::Go("/login".to_owned()));
    }
    let number: Option<u64> = text.parse().ok();
    match number.map(|number| asked.site.change(|sessions| sessions.revoke(number))).transpose()? {
        Some(true) => Ok(Answer::Go("/sessions".to_owned())),
        _ => {
            let message = format!("cannot end session `{}`: it is not open", visible_line(text));
            Err(Failure::new(Exit::NotFound, message)
                .help("it may have ended by itself; `Sessions` lists the others"))
        }
    }
}

/// Answers `POST /logout`: ends the session of this browser.
pub fn leave(asked: &PageRequest) -> Result<Answer, Failure> {
    asked.site.change(|sessions| sessions.revoke(asked.session.number))?;
    Ok(Answer::Go("/login".to_owned()))
}

//! The frame that all pages share: the head, the navigation, and the status line of the script.

use control::exit::Failure;
use maud::{DOCTYPE, Markup, html};
use passable::visible_line;

use crate::answer::Page;
use crate::assets::{Asset, FORMS, PICK, SCRIPT, SIGN, STYLE};
use crate::guard::sessions::Session;

/// The parts of the site, each with its path.
const PARTS: &[(&str, &str)] = &[
    ("/", "Inbox"),
    ("/runs", "Runs"),
    ("/chat", "Chat"),
    ("/names", "Names"),
    ("/grants", "Grants"),
    ("/why", "Why"),
    ("/workers", "Workers"),
    ("/models", "Models"),
    ("/policy", "Policy"),
    ("/audit", "Audit"),
    ("/doctor", "Doctor"),
    ("/sessions", "Sessions"),
];

/// Returns a whole page. `after` is the last event that it shows. A warning stands above its content.
pub fn whole(session: &Session, page: &Page, after: u64, warning: Option<&Failure>) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&page.title, &scripts(&page.main)))
            body data-topics=(page.topics) data-after=(after) data-token=(session.token)
                data-keyed[session.has_key()] {
                a.skip href="#main" { "Skip to content" }
                header {
                    a.brand href="/" { img src=(SIGN.path()) alt="" width="20" height="20"; "Almoner" }
                    nav aria-label="Parts" {
                        ul {
                            @for (path, name) in PARTS {
                                li { a href=(path) aria-current=[(page.part == *path).then_some("page")] { (name) } }
                            }
                        }
                    }
                    p #link role="status" {}
                }
                main #main tabindex="-1" {
                    @if let Some(warning) = warning {
                        div.damage role="alert" {
                            p.warning { (warning.message.visible_line()) }
                            @if !warning.help.is_empty() { p { (visible_line(&warning.help)) } }
                        }
                    }
                    (page.main)
                }
                footer {
                    form method="post" action="/logout" {
                        (super::parts::token(session))
                        button.plain { "End this session" }
                    }
                }
            }
        }
    }
}

/// Returns the scripts of a page: the one of all pages, and those for the input fields of this page. If a text only
/// resembles a field's markup, a script is loaded in vain.
fn scripts(main: &Markup) -> Vec<Asset> {
    // A picker may be added later, with the first row of a list.
    let wanted: [(&[&str], Asset); 2] =
        [(&[" data-draft="], FORMS), (&[" class=\"pick\"", " data-picks"], PICK)];
    let has = |marks: &[&str]| marks.iter().any(|mark| main.0.contains(mark));
    let others = wanted.into_iter().filter(|(marks, _)| has(marks)).map(|(_, script)| script);
    [SCRIPT].into_iter().chain(others).collect()
}

/// Returns the head of a page, with its scripts.
pub fn head(title: &str, scripts: &[Asset]) -> Markup {
    html! {
        head {
            (meta_tags(title))
            link rel="icon" href=(SIGN.path()) type="image/svg+xml";
            link rel="stylesheet" href=(STYLE.path());
            @for script in scripts { script defer src=(script.path()) {} }
        }
    }
}

/// Returns the head of a page that loads no other files.
pub fn bare_head(title: &str) -> Markup {
    html! { head { (meta_tags(title)) } }
}

fn meta_tags(title: &str) -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
        title { (title) " · Almoner" }
    }
}

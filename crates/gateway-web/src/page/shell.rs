//! The frame that all pages share: the head, the side bar with the navigation, and the status line of the script.

use control::exit::Failure;
use maud::{DOCTYPE, Markup, html};
use passable::visible_line;

use super::parts;
use super::site_map::{GROUPS, Group, NEW, Part};
use super::theme::Theme;
use crate::answer::Page;
use crate::assets::{Asset, FORMS, PASSKEYS, PICK, SCRIPT, SHELL, SIGN, STYLE};
use crate::page_request::PageRequest;

/// The state of the daemon that each page shows or keeps.
#[derive(Clone, Debug, Default)]
pub struct ShellState {
    /// The last event that the page shows.
    pub after: u64,
    /// The number of messages that need an answer.
    pub waiting: usize,
    /// A warning that stands above the content.
    pub warning: Option<Failure>,
}

/// Returns a whole page.
pub fn whole(asked: &PageRequest, page: &Page, state: &ShellState) -> Markup {
    let (session, warning) = (&asked.session, state.warning.as_ref());
    html! {
        (DOCTYPE)
        html lang="en" data-theme=[asked.theme.chosen()] {
            (head(&counted(&page.title, state.waiting), &scripts(&page.main), asked.theme))
            body.shell data-topics=(page.topics) data-after=(state.after) data-token=(session.token)
                data-now=(asked.site.backend.now_ms()) data-keyed[session.has_key()] {
                a.skip href="#main" { "Skip to content" }
                (side_bar(asked, page.part, state.waiting))
                (offer())
                main #main tabindex="-1" {
                    @if let Some(warning) = warning {
                        div.damage role="alert" {
                            p.warning { (warning.message.visible_line()) }
                            @if !warning.help.is_empty() { p { (visible_line(&warning.help)) } }
                        }
                    }
                    (page.main)
                }
                (dialogs())
                p #link role="status" {}
            }
        }
    }
}

/// Returns a title with the number of waiting messages before it, as the tab of the browser shows it.
fn counted(title: &str, waiting: usize) -> String {
    if waiting == 0 { title.to_owned() } else { format!("({waiting}) {title}") }
}

/// Returns the number of waiting messages beside the name of the inbox. The script asks for it again after each event
/// that concerns the inbox.
pub fn waiting(count: usize) -> Markup {
    html! {
        span #waiting data-live data-count=(count) {
            @if count > 0 { span.badge { (count) } span.unseen { " waiting" } }
        }
    }
}

/// Returns the side bar. On a narrow screen it is a bar at the top, and the later groups open below "More".
fn side_bar(asked: &PageRequest, current: &str, waiting: usize) -> Markup {
    let mut groups = GROUPS.iter();
    let first = groups.next();
    html! {
        header {
            a.brand href="/" { img src=(SIGN.path()) alt="" width="20" height="20"; "Almoner" }
            button.new.plain type="button" popovertarget="new" { "+ New" }
            ul #new popover { @for (path, name) in NEW { li { a href=(path) { (name) } } } }
            nav aria-label="Parts" {
                @if let Some(first) = first { (group(first, current, waiting)) }
                button.more.plain type="button" popovertarget="more" { "More" }
                div #more popover {
                    a.find href="/search" data-palette aria-current=[(current == "/search").then_some("page")] {
                        "Search" kbd.by-script { "Ctrl K" }
                    }
                    @for other in groups { (group(other, current, waiting)) }
                    (look(asked))
                    form method="post" action="/logout" {
                        (parts::token(&asked.session))
                        button.plain { "End this session" }
                    }
                }
            }
        }
    }
}

fn group(group: &Group, current: &str, waiting: usize) -> Markup {
    let link = |part: &Part| {
        html! {
            a href=(part.path) aria-current=[(part.path == current).then_some("page")] {
                (part.name) @if part.path == "/" { (self::waiting(waiting)) }
            }
        }
    };
    html! {
        section aria-label=(group.name) {
            p.group aria-hidden="true" { (group.name) }
            ul { @for part in group.parts { li { (link(part)) } } }
        }
    }
}

/// Returns the form that chooses the look.
fn look(asked: &PageRequest) -> Markup {
    html! {
        form.look method="post" action="/look" aria-label="Look" {
            (parts::token(&asked.session))
            input type="hidden" name="to" value=(asked.address);
            @for (theme, name, label) in Theme::ALL {
                button.plain name="look" value=(name) aria-pressed=(theme == asked.theme) { (label) }
            }
        }
    }
}

/// Returns the dialogs that the script opens: the search, and the list of keys.
fn dialogs() -> Markup {
    html! {
        dialog #palette aria-label="Search" {
            form method="get" action="/search" {
                label.unseen for="palette-text" { "Runs, names, messages and pages" }
                input #palette-text name="q" type="search" autocomplete="off" spellcheck="false"
                    placeholder="Search runs, names, messages and pages";
            }
            div #palette-found {}
        }
        dialog #keys aria-labelledby="keys-title" {
            h2 #keys-title { "Keys" }
            dl.facts {
                @for (keys, does) in KEYS { dt { kbd { (keys) } } dd { (does) } }
            }
            form method="dialog" { button { "Close" } }
        }
    }
}

/// Returns the offer of notifications, which the script shows once.
fn offer() -> Markup {
    html! {
        aside #offer hidden aria-label="Notifications" {
            p { "Show a notification in this browser when a message needs you?" }
            p.note { "It tells how many messages wait, and nothing of what they say." }
            div.buttons {
                button type="button" data-notify="on" { "Show notifications" }
                button.plain type="button" data-notify="off" { "Not in this browser" }
            }
        }
    }
}

/// The keys of the pages, each with its effect.
const KEYS: &[(&str, &str)] = &[
    ("Ctrl K", "Search runs, names, messages and pages"),
    ("j, k", "Go to the next or the previous row"),
    ("Enter", "Open or unfold the row"),
    ("e", "Dismiss the message of the row"),
    ("g", "Go to the inbox"),
    ("?", "Show these keys"),
];

/// Returns the scripts of a page: those of all pages, and those for the input fields of this page. If a text only
/// resembles a field's markup, a script is loaded in vain.
fn scripts(main: &Markup) -> Vec<Asset> {
    // A picker may be added later, with the first row of a list.
    let wanted: [(&[&str], Asset); 3] = [
        (&[" data-draft="], FORMS),
        (&[" class=\"pick\"", " data-picks"], PICK),
        (&[" data-passkey="], PASSKEYS),
    ];
    let has = |marks: &[&str]| marks.iter().any(|mark| main.0.contains(mark));
    let others = wanted.into_iter().filter(|(marks, _)| has(marks)).map(|(_, script)| script);
    [SCRIPT, SHELL].into_iter().chain(others).collect()
}

/// Returns the head of a page, with its scripts.
pub fn head(title: &str, scripts: &[Asset], theme: Theme) -> Markup {
    html! {
        head {
            (meta_tags(title, theme))
            link rel="icon" href=(SIGN.path()) type="image/svg+xml";
            link rel="stylesheet" href=(STYLE.path());
            @for script in scripts { script defer src=(script.path()) {} }
        }
    }
}

/// Returns the head of a page that loads no other files.
pub fn bare_head(title: &str, theme: Theme) -> Markup {
    html! { head { (meta_tags(title, theme)) } }
}

fn meta_tags(title: &str, theme: Theme) -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content=(theme.chosen().unwrap_or("light dark"));
        title { (title) " · Almoner" }
    }
}

//! The choice of a directory or file of this machine, within a form. It works without scripts: each button sends the
//! form, and the page comes back with another list.

use control::exit::Failure;
use control::folders::{FolderEntry, FolderList};
use maud::{Markup, html};
use passable::{Untrusted, visible_line};
use resource::{Endowment, PathSpec, ResourceSpec};

use super::form_errors::SLOT;
use crate::page::parts;
use crate::page_request::PageRequest;

/// The name of the button that opens the chooser for a field, and of the button that closes it.
const BROWSE: &str = "browse";

/// The name of the hidden field with the field for which the chooser is open.
const BROWSING: &str = "browsing";

/// The name of the buttons that open another directory.
const GO: &str = "go";

/// The name of the buttons that choose a path.
const USE: &str = "use";

/// The field for the path of a worker file.
pub(in crate::pages) const WORKER_PATH: &str = "worker-path";

/// The field for the paths of documents.
pub(in crate::pages) const DOCUMENTS: &str = "documents";

/// A chooser that is open for a field.
pub(in crate::pages) struct FolderChooser {
    field: String,
    list: Result<FolderList, Failure>,
}

/// Returns whether a form was sent by a button of a chooser, so that it only chooses.
pub(in crate::pages) fn is_choosing(asked: &PageRequest) -> bool {
    [BROWSE, GO, USE].iter().any(|name| asked.field(name).is_some())
}

/// Returns the request with the chosen path in its field, and the chooser that is open then.
pub(in crate::pages) fn after_choice(asked: &PageRequest) -> (PageRequest, Option<FolderChooser>) {
    let browsing = asked.field(BROWSING).filter(|field| is_field(field));
    if let (Some(field), Some(path)) = (browsing, asked.field(USE)) {
        return (with_path(asked, field, path), None);
    }
    if let Some(field) = asked.field(BROWSE) {
        let open =
            is_field(field).then(|| FolderChooser::open(asked, field, asked.filled(field).map(bare_path)));
        return (asked.clone(), open);
    }
    let open =
        browsing.zip(asked.field(GO)).map(|(field, path)| FolderChooser::open(asked, field, Some(path)));
    (asked.clone(), open)
}

fn is_field(name: &str) -> bool {
    name == WORKER_PATH || name == DOCUMENTS || name.starts_with(SLOT)
}

/// Returns the path in the text of a field, without the access behind it. Of several lines, the last counts.
fn bare_path(text: &str) -> &str {
    let line = text.lines().last().unwrap_or_default().trim();
    let end = [":rw", ":ro", ":stage", "?"].iter().filter_map(|behind| line.find(behind)).min();
    line.get(..end.unwrap_or(line.len())).unwrap_or(line)
}

/// Returns a request in which a field has the chosen path.
fn with_path(asked: &PageRequest, field: &str, path: &str) -> PageRequest {
    let text = match field {
        WORKER_PATH => path.to_owned(),
        DOCUMENTS => match asked.filled(DOCUMENTS) {
            Some(before) => format!("{before}\n{path}"),
            None => path.to_owned(),
        },
        // A path with characters that have a meaning behind `-e` is quoted.
        _ => ResourceSpec::Path(PathSpec { path: path.to_owned(), ..PathSpec::default() }).typed(),
    };
    let mut body = asked.body.clone();
    body.retain(|(name, _)| name != field);
    body.push((field.to_owned(), text));
    body.push((FRESH.to_owned(), field.to_owned()));
    PageRequest { body, ..asked.clone() }
}

/// The name of the field that names the field with a path that was just chosen. No form sends it.
const FRESH: &str = "_chosen";

/// Returns whether the path in a field was just chosen, so that a draft must not replace it.
pub(in crate::pages) fn is_fresh(asked: &PageRequest, field: &str) -> bool {
    asked.field(FRESH) == Some(field)
}

/// Returns the button that opens the chooser for a field.
pub(in crate::pages) fn button(field: &str, words: &str) -> Markup {
    html! { button.plain name=(BROWSE) value=(field) formnovalidate { (words) } }
}

impl FolderChooser {
    fn open(asked: &PageRequest, field: &str, at: Option<&str>) -> FolderChooser {
        let ending = match field {
            WORKER_PATH => Some(".worker"),
            DOCUMENTS => Some(""),
            _ => None,
        };
        let at = at.filter(|path| path.starts_with('/'));
        FolderChooser { field: field.to_owned(), list: asked.site.backend.folders(at, ending) }
    }

    /// Returns the list of directories, if it is open for this field.
    pub(in crate::pages) fn draw_for(chooser: Option<&FolderChooser>, field: &str) -> Markup {
        html! { @if let Some(open) = chooser.filter(|open| open.field == field) { (open.draw()) } }
    }

    fn draw(&self) -> Markup {
        let takes_files = [WORKER_PATH, DOCUMENTS].contains(&self.field.as_str());
        html! {
            div.folders role="group" aria-labelledby="folders-title" {
                input type="hidden" name=(BROWSING) value=(self.field);
                @match &self.list {
                    Err(failure) => {
                        h3 #folders-title tabindex="-1" autofocus { "Folders of this machine" }
                        (parts::failure_below(failure))
                        p.buttons { (close()) }
                    }
                    Ok(list) => {
                        h3 #folders-title tabindex="-1" autofocus {
                            "In " (parts::line(&Untrusted::new(list.path.as_str())))
                        }
                        @if let Some(why) = list.refusal.as_ref().filter(|_| !takes_files) {
                            p.note { "This folder cannot be handed over: " (parts::line(why)) }
                        }
                        p.buttons {
                            @if !takes_files && list.refusal.is_none() {
                                button name=(USE) value=(list.path) formnovalidate { "Use this folder" }
                            }
                            @if let Some(above) = &list.parent {
                                button.plain name=(GO) value=(above) formnovalidate { "One level up" }
                            }
                            (close())
                        }
                        @if list.entries.is_empty() { p.note { "There are no folders in it." } }
                        @else { ul.rows { @for entry in &list.entries { li { (row(entry)) } } } }
                        @if list.left_out > 0 { p.note { (list.left_out) " more are not shown: write the path." } }
                    }
                }
            }
        }
    }
}

fn close() -> Markup {
    html! { button.plain name=(BROWSE) value="" formnovalidate { "Close" } }
}

fn row(entry: &FolderEntry) -> Markup {
    let (does, words) = if entry.is_file { (USE, "Choose") } else { (GO, "Open") };
    html! {
        button.plain.folder name=(does) value=(entry.path) formnovalidate
            aria-label={ (words) " " (visible_line(entry.name.raw())) } {
            span aria-hidden="true" { @if entry.is_file { "▫ " } @else { "▸ " } }
            (parts::line(&entry.name))
            @if entry.is_link { span.note { " leads to " (parts::line(&Untrusted::new(entry.path.as_str()))) } }
        }
    }
}

/// Returns a binding of a slot, with the access that was chosen for a path without one.
pub(super) fn with_access(mut endowment: Endowment, access: Option<&str>) -> Endowment {
    if let ResourceSpec::Path(spec) = &mut endowment.fill
        && !spec.write
        && !spec.stage
    {
        spec.stage = access == Some("stage");
        spec.write = spec.stage || access == Some("rw");
    }
    endowment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_path_opens_its_directory() {
        for (typed, path) in [
            ("/a/b:rw", "/a/b"),
            ("/a/b:stage?max=1MiB", "/a/b"),
            ("/a?suffix=.md", "/a"),
            ("/a\n /b ", "/b"),
            ("", ""),
        ] {
            assert_eq!(bare_path(typed), path, "{typed}");
        }
    }

    #[test]
    fn chosen_access_does_not_change_a_typed_one() {
        let path = |write, stage| {
            ResourceSpec::Path(PathSpec { path: "/a".to_owned(), write, stage, ..PathSpec::default() })
        };
        for (typed, access, expected) in [
            ((false, false), None, (false, false)),
            ((false, false), Some("rw"), (true, false)),
            ((false, false), Some("stage"), (true, true)),
            ((true, true), Some("rw"), (true, true)),
            ((true, false), Some("stage"), (true, false)),
        ] {
            let given = Endowment { slot: "out".to_owned(), fill: path(typed.0, typed.1) };
            assert_eq!(with_access(given, access).fill, path(expected.0, expected.1), "{typed:?} {access:?}");
        }
    }
}

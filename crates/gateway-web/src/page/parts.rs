//! Small parts of pages. Foreign text is put into a page only by functions of this module, such as [`line`] and
//! [`block`].

use control::exit::Failure;
use control::show::lines::STORED_ORDER;
use control::show::{journal, message_view};
use kernel::message::Body;
use kernel::proposal::Finding;
use kernel::run::{Run, RunOutcome, State};
use kernel::{BlobHash, RunNumber};
use maud::{Markup, Render as _, html};
use passable::{Quoting, Untrusted, stored_order, visible, visible_line, visible_name};

use super::sentence::{self, SentencePart};
pub use super::time::{at, when, when as minute};
use super::voice::{Ours, Theirs, Yours};
use super::{link, safe_links};
use crate::guard::sessions::Session;
use crate::page_request::{BACK, PageRequest};
use crate::serve::TOKEN;

/// The number of bytes above which a text is folded, if the script runs. The user must unfold such a text before
/// approving.
const FOLD_THRESHOLD: usize = 2000;

/// Returns foreign text in a line, with its own style and text direction.
pub fn line(text: &Untrusted) -> Markup {
    Theirs(text).render()
}

/// Returns foreign text with all of its lines.
pub fn foreign_text(text: &Untrusted) -> Markup {
    html! { bdi.foreign.package dir="ltr" { (text.visible()) } (safe_links::host_note(text.raw())) }
}

/// Returns the beginning of a foreign text in a line, and the number of further bytes. The whole text is on a page of
/// its own.
pub fn short(text: &Untrusted) -> Markup {
    let (head, more) = message_view::short(text);
    html! { (line(&Untrusted::new(head))) (message_view::more_bytes(more)) }
}

/// Returns a message in one line. Our own words are plain, and the beginning of the sender's words is set apart.
pub fn summary(body: &Body) -> Markup {
    in_a_line(message_view::summary_parts(body))
}

/// Returns a message in one line, to be shown after the name of its sender.
pub fn says(body: &Body) -> Markup {
    in_a_line(message_view::bare_summary(body))
}

fn in_a_line(summary: message_view::Summary) -> Markup {
    let message_view::Summary { ours, theirs, more } = summary;
    html! {
        (ours)
        @if !theirs.is_empty() { (line(&Untrusted::new(theirs))) }
        (message_view::more_bytes(more))
    }
}

/// Returns a foreign reason for use within a line of our own. A long reason is shortened.
pub fn reason(text: &Untrusted) -> Markup {
    if text.raw().len() > FOLD_THRESHOLD { short(text) } else { foreign_text(text) }
}

/// Returns the whole of a reason, if a line shows only its beginning.
pub fn rest_of_reason(text: &Untrusted) -> Markup {
    html! { @if text.raw().len() > FOLD_THRESHOLD { (block("The whole reason", text)) } }
}

/// Returns text that the user chose, or that was checked when it was stored. It is safe to show.
pub fn word(text: &str) -> Markup {
    html! { bdi dir="ltr" { (visible_name(text)) } }
}

/// Returns a name of the user, with invisible characters made visible.
pub fn name(name: &str) -> Markup {
    html! { bdi dir="ltr" { (kernel::confusables::display_name(name)) } }
}

/// Returns foreign text as a block. A long block must be unfolded before an approval, so that the user has seen all
/// of it.
pub fn block(label: &str, text: &Untrusted) -> Markup {
    let bytes = text.raw().len();
    folded(label, bytes, &whole(label, text))
}

/// Returns the markup. If it shows many bytes of foreign text, it is folded.
pub fn folded(label: &str, bytes: usize, body: &Markup) -> Markup {
    html! {
        @if bytes > FOLD_THRESHOLD { (unfolded_first(label, bytes, body)) } @else { (body) }
    }
}

/// Returns folded markup that the user must unfold before an approval.
pub fn unfolded_first(label: &str, bytes: usize, body: &Markup) -> Markup {
    html! {
        details.long data-must-open open {
            summary { (label) " " span.note { (bytes) " bytes" } }
            (body)
        }
    }
}

/// Returns a note that is shown while something above is folded, and explains why the approval buttons are disabled.
pub fn unfold_first() -> Markup {
    html! { p.note.unfold #unfold hidden { "Unfold everything above first: a yes is for all of it." } }
}

/// Returns foreign text as a block that is never folded, for pages on which the user only reads.
pub fn whole(label: &str, text: &Untrusted) -> Markup {
    html! {
        @let shown = if text.raw().contains('\n') { text.visible() } else { text.visible_name() };
        pre.foreign role="group" tabindex="0" aria-label=(label) { (shown) }
        @for order in shown.lines().filter_map(stored_order) {
            p.note { (STORED_ORDER) ": " bdi dir="ltr" { (order) } }
        }
        (safe_links::host_note(text.raw()))
    }
}

/// Returns our own or the user's text, with all of its lines.
pub fn own_block(label: &str, text: &str) -> Markup {
    html! { pre role="group" tabindex="0" aria-label=(label) { (visible(text)) } }
}

/// Returns the state of a run. The reason for a stall may be in the words of a model or server, so it is set apart as
/// foreign text.
pub fn state(run: &Run) -> Markup {
    match &run.state {
        State::Stalled { trouble } => html! { "stalled: " (short(&trouble.message)) },
        State::Finished { outcome: RunOutcome::Failed(trouble) } => {
            html! { (journal::ended(run)) ": " (short(&trouble.message)) }
        }
        _ => word(&journal::state(run)),
    }
}

/// Returns a sentence of our own, with its quotations set apart. Objects that our own words name are linked.
pub fn linked_sentence(said: &Quoting) -> Markup {
    html! {
        @for part in sentence::parts(said) {
            @match part {
                SentencePart::Ours(text) => (link::ours(text)),
                SentencePart::Code(text) => code { (visible_line(text)) },
                SentencePart::Theirs(text) => (line(&Untrusted::new(text))),
            }
        }
    }
}

/// Returns a sentence of our own without links, for use inside of a link.
pub fn plain_sentence(said: &Quoting) -> Markup {
    html! {
        @for part in sentence::parts(said) {
            @match part {
                SentencePart::Ours(text) => (visible_line(text)),
                SentencePart::Code(text) => code { (visible_line(text)) },
                SentencePart::Theirs(text) => (line(&Untrusted::new(text))),
            }
        }
    }
}

/// Returns a finding of a gate in one line, with its rule.
pub fn finding(found: &Finding) -> Markup {
    let quoted = |text: &String| line(&Untrusted::new(text.as_str()));
    html! {
        span.kind { (visible_line(&found.rule)) } " " (linked_sentence(&found.message_quoting()))
        @if let Some(at) = &found.at { " at " (quoted(at)) }
        @if let Some(example) = &found.counter_example { ", got " (quoted(example)) }
        @if let Some(allowed) = &found.allowed_quoting() { "; allowed: " (linked_sentence(allowed)) }
    }
}

/// Returns the digest of a text, shortened. The whole digest can be unfolded.
pub fn digest(hash: &BlobHash) -> Markup {
    html! { details.hash { summary { "digest " code { (hash.short()) } } code { (hash) } } }
}

/// Returns a link to a run.
pub fn run(run: RunNumber) -> Markup {
    html! { a href={ "/r/" (run) } { (run) } }
}

/// Returns the hidden field with the session's token, which every form has.
pub fn token(session: &Session) -> Markup {
    html! { input type="hidden" name=(TOKEN) value=(session.token); }
}

/// Returns our own text, with the parts between backticks set as code.
pub fn help(text: &str) -> Markup {
    Ours(text).render()
}

/// Returns the hidden field with the address to which a form in a conversation leads back.
pub fn back(asked: &PageRequest) -> Markup {
    html! { @if let Some(back) = asked.back() { input type="hidden" name=(BACK) value=(back); } }
}

/// Returns the error of a page that could not be loaded, and its remedy, with this title.
pub fn failure(title: &str, failure: &Failure) -> Markup {
    html! {
        section.failure #wrong role="alert" tabindex="-1" {
            h1 { (title) }
            p {
                @for part in failure.message_quoting().parts() {
                    // The request of a whole page quotes nothing but its address.
                    @if part.is_quoted { (Yours(part.text)) } @else { (Ours(part.text)) }
                }
            }
            @if !failure.help.is_empty() { p { (help(&failure.help)) } }
        }
    }
}

/// Returns an error and its remedy without a title, for use within a page.
pub fn failure_below(failure: &Failure) -> Markup {
    not_done(&with_help(failure))
}

/// Returns an error and its remedy, with links to the fields that it concerns. Each field has an id and a label.
pub fn failure_at(failure: &Failure, fields: &[(&str, &str)]) -> Markup {
    not_done(&html! {
        (with_help(failure))
        @if !fields.is_empty() {
            p { "To mend it: " @for (at, (id, called)) in fields.iter().enumerate() {
                @if at > 0 { ", " } a href={ "#" (id) } { (called) }
            } }
        }
    })
}

/// Returns the reason why nothing was done, for use within a page. The script moves the focus there.
pub fn not_done(words: &Markup) -> Markup {
    html! { div.failure #wrong role="alert" tabindex="-1" { (words) } }
}

fn with_help(failure: &Failure) -> Markup {
    html! {
        p { (plain_sentence(&failure.message_quoting())) }
        @if !failure.help.is_empty() { p { (help(&failure.help)) } }
    }
}

/// Returns the error of one field, shown next to the field. `id` is the element that the field names in
/// `aria-describedby`.
pub fn wrong(id: &str, failure: Option<&Failure>) -> Markup {
    html! {
        p.error #(id) role=[failure.map(|_| "alert")] {
            @if let Some(failure) = failure {
                (plain_sentence(&failure.message_quoting()))
                @if !failure.help.is_empty() { ": " (help(&failure.help)) }
            }
        }
    }
}

/// Returns a text that the user has typed, with all of its lines.
pub fn said(label: &str, text: &Untrusted) -> Markup {
    html! { div.said role="group" tabindex="0" aria-label=(label) { (text.visible()) } }
}

/// Returns the diff of two texts, line by line, with removed and added lines marked.
pub fn difference(label: &str, text: &Untrusted) -> Markup {
    let shown = text.visible();
    html! {
        pre.diff role="group" tabindex="0" aria-label=(label) {
            @for one in shown.lines() {
                @match one.bytes().next() {
                    Some(b'+') => ins { (one) "\n" },
                    Some(b'-') => del { (one) "\n" },
                    Some(b'@') => span.hunk { (one) "\n" },
                    _ => { (one) "\n" }
                }
            }
        }
    }
}

//! The choice of a worker: one that has run before or has a name, or a worker file. A conversation may also have a
//! model alone.

use control::exit::{Exit, Failure};
use control::protocol::Request;
use control::talk::{ChatPartner, Talker, WorkerUse};
use maud::{Markup, html};
use passable::{Untrusted, visible_line};

use super::folder_chooser::{self, FolderChooser, WORKER_PATH};
use crate::page::parts;
use crate::page_request::{PageRequest, take};
use crate::pages::attachments::UploadedFile;

/// The prefix of an option's value for a worker that is chosen by its name.
const NAMED: &str = "name:";

/// Returns the fields for the choice of a worker.
pub(super) fn fields(
    asked: &PageRequest,
    purpose: WorkerUse,
    chooser: Option<&FolderChooser>,
    wrong: Option<&Failure>,
) -> Result<Markup, Failure> {
    let typed = |name: &str| asked.field(name).unwrap_or("");
    let known = asked.site.backend.known_workers(purpose)?;
    let is_wrong = wrong.map(|_| "true");
    let (label, nobody) = match purpose {
        WorkerUse::Chat => ("With whom", "a model, and nothing else"),
        WorkerUse::Run => ("Worker", "one of a file, below"),
    };
    Ok(html! {
        label for="worker" { (label) }
        select #worker name="worker" aria-describedby="worker-error" {
            option value="" { (nobody) }
            @for (value, words) in known.iter().map(option) {
                option value=(value) selected[typed("worker") == value] { (words) }
            }
        }
        label for="worker-file" { "Or a worker file of yours" }
        input #worker-file type="file" name="worker-file" accept=".worker" aria-describedby="worker-error" aria-invalid=[is_wrong];
        @if let Some(kept) = uploaded_worker(asked) {
            label.choice {
                input type="checkbox" name="worker-kept" value=(kept.written()) checked
                    data-fresh[asked.field("worker-kept").is_none()];
                span { (parts::line(&Untrusted::new(kept.name.as_str()))) " " span.note { (kept.bytes) " bytes" } }
            }
        }
        label for="worker-path" { "Or the path of one on this machine, beginning with /; what it includes is read beside it" }
        input #worker-path name=(WORKER_PATH) value=(typed(WORKER_PATH)) placeholder="/PATH/NAME.worker" autocomplete="off"
            spellcheck="false" aria-describedby="worker-error" aria-invalid=[is_wrong]
            data-fresh[folder_chooser::is_fresh(asked, WORKER_PATH)];
        p.buttons { (folder_chooser::button(WORKER_PATH, "Find a worker file…")) }
        (FolderChooser::draw_for(chooser, WORKER_PATH))
        (parts::wrong("worker-error", wrong))
    })
}

/// Returns the value and the label of a worker's menu option.
pub(super) fn option(talker: &Talker) -> (String, String) {
    let with = match talker.slots.as_slice() {
        [] => String::new(),
        slots => format!(", with {}", slots.join(", ")),
    };
    match (&talker.path, talker.run) {
        (Some(path), _) => (
            format!("{NAMED}{path}"),
            format!(
                "{}, by your name for it{}",
                kernel::confusables::display_name(path),
                visible_line(&with)
            ),
        ),
        (None, Some(run)) => {
            (run.to_string(), visible_line(&format!("{}, as in {run}{with}", talker.name)).into_owned())
        }
        (None, None) => (String::new(), visible_line(&talker.name).into_owned()),
    }
}

/// Returns the worker file that was sent with this form, or else the one that was uploaded before.
fn uploaded_worker(asked: &PageRequest) -> Option<UploadedFile> {
    let sent = asked.files.iter().find(|file| file.field == "worker-file" && !file.bytes.is_empty());
    match sent {
        Some(file) => {
            let hash = asked.site.backend.bring(&file.bytes).ok()?;
            Some(UploadedFile { name: file.name.clone(), hash, bytes: file.bytes.len() })
        }
        None => asked.field("worker-kept").and_then(UploadedFile::read),
    }
}

/// Returns whether a form names a worker.
pub(super) fn is_chosen(asked: &PageRequest) -> bool {
    uploaded_worker(asked).is_some()
        || asked.filled(WORKER_PATH).is_some()
        || asked.filled("worker").is_some()
}

/// Returns the chosen worker.
///
/// # Errors
/// When the uploaded file is not text, or the choice is not a valid worker.
pub(super) fn chosen(asked: &PageRequest, purpose: WorkerUse) -> Result<ChatPartner, Failure> {
    if let Some(kept) = uploaded_worker(asked) {
        let name = kept.name.strip_suffix(".worker").unwrap_or(&kept.name).to_owned();
        let source = take!(asked.ask(Request::Blob { hash: kept.hash })?, Blob);
        let source = source.ok_or_else(|| {
            Failure::new(Exit::Invalid, "this file is no text").help("choose a worker file")
        })?;
        return Ok(ChatPartner::Text { name, source });
    }
    if let Some(path) = asked.filled(WORKER_PATH) {
        return Ok(ChatPartner::File { path: path.to_owned() });
    }
    match asked.field("worker").unwrap_or_default() {
        "" if purpose == WorkerUse::Run => {
            Err(Failure::new(Exit::Invalid, "no worker is chosen").help("choose one, or name its file"))
        }
        "" => Ok(ChatPartner::Model),
        named if named.starts_with(NAMED) => Ok(ChatPartner::Named { path: named[NAMED.len()..].to_owned() }),
        number => {
            let run = number.parse().map_err(|_| Failure::new(Exit::NotFound, "there is no such worker"))?;
            Ok(ChatPartner::Run { run })
        }
    }
}

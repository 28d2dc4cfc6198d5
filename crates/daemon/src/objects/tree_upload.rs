//! Uploads of trees from a client. The daemon asks the client's own objects for their names, and for the bytes of
//! each file.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use caps::mount::MAX_BYTES;
use kernel::facet::KeepTree;
use passable::{Text, Value, from_base64};
use store::Hold;
use switchboard::{Call, Name, Outcome, Ref};

use super::file_worker::{STALL_TIMEOUT, TaskContext, TaskFn, TaskOutcome, WorkerTask, timeout_failure};
use super::object::Object;
use super::object::StoredPart;
use super::object_table::{Context, ObjectTable};
use super::perform::CallError;
use crate::files::trees;
use crate::files::trees::{BlobSink as _, MAX_DEPTH, MAX_ENTRIES, TreeEntry};

/// The maximum number of trees that one client may upload at a time.
const MAX_TREE_UPLOADS: usize = 4;

/// An upload of a tree that is under way.
pub struct TreeUpload {
    command: KeepTree,
    reach: Object,
    /// The promise that settles when the upload is done.
    answer: Ref,
    /// The directories on the path to the next entry, beginning with the root.
    levels: Vec<UploadLevel>,
    doing: UploadStep,
    /// The promise for the answer to the last question to the client.
    asked: Option<Ref>,
    /// The number of files and directories that may still be uploaded.
    remaining: usize,
    /// The hold on the received blobs, until a command names all of the tree.
    hold: Arc<Hold>,
    /// The time of the last progress.
    last_progress: Instant,
}

/// A directory that is being uploaded.
struct UploadLevel {
    directory: Ref,
    /// The names that were not uploaded yet. The next one is at the end.
    names: Vec<String>,
    done: Vec<TreeEntry>,
}

/// The subject of the last question to the client's tree.
enum UploadStep {
    /// The names in the directory.
    Listing,
    /// The object with the next name.
    Looking,
    /// The methods of this object.
    Asking(Ref),
    /// A reader for the bytes of this file.
    Opening(Ref),
    /// The next piece of a file's bytes.
    Reading { file: Ref, reader: Ref, bytes: Vec<u8> },
    /// Nothing, because a part of the tree is being stored.
    Keeping,
}

fn invalid_tree(what: &str) -> CallError {
    CallError::Plain(what.to_owned())
}

/// Returns the texts in an array, such as names of files or methods, or `None` if the value has another form.
fn texts(value: &Value<Ref>) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}

impl TreeUpload {
    fn level(&mut self) -> Result<&mut UploadLevel, CallError> {
        self.levels.last_mut().ok_or_else(|| invalid_tree("the tree is over"))
    }
}

impl ObjectTable {
    /// Begins the upload of a client's tree.
    pub(crate) fn begin_tree_upload(
        &mut self,
        context: &Context<'_>,
        directory: Ref,
        keep: KeepTree,
        reach: Object,
        answer: Ref,
    ) -> Result<(), CallError> {
        if self.tree_uploads.len() >= MAX_TREE_UPLOADS {
            return Err(invalid_tree("too many trees are coming at a time"));
        }
        context.board().hold(self.side, directory)?;
        self.last_upload += 1;
        let tag = self.last_upload;
        let mut gather = TreeUpload {
            command: keep,
            reach,
            answer,
            levels: vec![UploadLevel { directory, names: vec![], done: vec![] }],
            doing: UploadStep::Listing,
            asked: None,
            remaining: MAX_ENTRIES,
            hold: Arc::new(context.daemon.store.blobs().hold_within(STALL_TIMEOUT)),
            last_progress: Instant::now(),
        };
        let begun = self.ask_for(context, tag, &mut gather, directory, "list", vec![]);
        self.continue_upload(context, tag, gather, begun);
        Ok(())
    }

    /// Takes the client's answer to the last question, and continues the upload.
    pub fn receive_tree_answer(&mut self, context: &Context<'_>, tag: u64, outcome: Outcome) {
        let Some(mut gather) = self.tree_uploads.remove(&tag) else { return };
        gather.last_progress = Instant::now();
        let done = match outcome {
            _ if !gather.hold.moves() => Err(timeout_failure().into()),
            Ok(value) => self.take_part(context, tag, &mut gather, &value),
            Err(error) => Err(CallError::Value(error)),
        };
        self.continue_upload(context, tag, gather, done);
    }

    /// Notes that a part of a client's tree was stored, and continues the upload.
    pub(crate) fn note_stored_part(&mut self, context: &Context<'_>, tag: u64, kept: StoredPart) {
        let Some(mut gather) = self.tree_uploads.remove(&tag) else { return };
        gather.last_progress = Instant::now();
        let done = self.note(context, tag, &mut gather, kept);
        self.continue_upload(context, tag, gather, done);
    }

    /// Gives up the upload that would have settled this answer.
    pub(crate) fn abandon_upload(&mut self, context: &Context<'_>, answer: Ref) {
        let tag = self.tree_uploads.iter().find(|(_, gather)| gather.answer == answer).map(|(tag, _)| *tag);
        if let Some(gather) = tag.and_then(|tag| self.tree_uploads.remove(&tag)) {
            self.release_upload(context, gather);
        }
    }

    /// Gives up uploads without progress within the timeout.
    pub(crate) fn abandon_stalled_uploads(&mut self, context: &Context<'_>, patience: Duration) {
        let is_late = |gather: &TreeUpload| {
            // A slow disk is not the client's fault, so storing has no timeout here. The task that uses the disk has
            // its own.
            gather.last_progress.elapsed() >= patience && !matches!(gather.doing, UploadStep::Keeping)
        };
        let late: Vec<u64> =
            self.tree_uploads.iter().filter(|(_, gather)| is_late(gather)).map(|(tag, _)| *tag).collect();
        for tag in late {
            if let Some(gather) = self.tree_uploads.remove(&tag) {
                self.continue_upload(context, tag, gather, Err(timeout_failure().into()));
            }
        }
    }

    fn continue_upload(
        &mut self,
        context: &Context<'_>,
        tag: u64,
        gather: TreeUpload,
        done: Result<(), CallError>,
    ) {
        match done {
            Ok(()) if !gather.levels.is_empty() => drop(self.tree_uploads.insert(tag, gather)),
            Ok(()) => self.release_upload(context, gather),
            Err(trouble) => {
                context.board().resolve(self.side, gather.answer, Err(trouble.to_value()));
                self.release_upload(context, gather);
            }
        }
    }

    fn release_upload(&self, context: &Context<'_>, gather: TreeUpload) {
        let mut held: Vec<Ref> = gather.levels.iter().map(|level| level.directory).collect();
        held.extend(gather.asked);
        match gather.doing {
            UploadStep::Asking(each) | UploadStep::Opening(each) => held.push(each),
            UploadStep::Reading { file, reader, .. } => held.extend([file, reader]),
            UploadStep::Listing | UploadStep::Looking | UploadStep::Keeping => {}
        }
        let mut board = context.board();
        held.into_iter().for_each(|each| board.release(self.side, each));
    }

    fn ask_for(
        &self,
        context: &Context<'_>,
        tag: u64,
        gather: &mut TreeUpload,
        of: Ref,
        method: &str,
        args: Vec<Value<Ref>>,
    ) -> Result<(), CallError> {
        let mut board = context.board();
        let asked = board.send(self.side, of, Call::Method(Name::Text(Text::from(method)), args))?;
        board.watch(self.side, asked, tag);
        if let Some(before) = gather.asked.replace(asked) {
            board.release(self.side, before);
        }
        Ok(())
    }

    /// Returns the object in a client's answer, which is held until it is released.
    fn expect_object(&self, context: &Context<'_>, value: &Value<Ref>, what: &str) -> Result<Ref, CallError> {
        let given = *value.as_reference().ok_or_else(|| invalid_tree(what))?;
        context.board().hold(self.side, given)?;
        Ok(given)
    }

    fn take_part(
        &mut self,
        context: &Context<'_>,
        tag: u64,
        gather: &mut TreeUpload,
        value: &Value<Ref>,
    ) -> Result<(), CallError> {
        match std::mem::replace(&mut gather.doing, UploadStep::Keeping) {
            UploadStep::Listing => {
                let mut names = texts(value).ok_or_else(|| invalid_tree("a tree must list names"))?;
                let is_bad = |name: &&String| {
                    matches!(name.as_str(), "" | "." | "..") || name.contains(['/', '\0']) || name.len() > 255
                };
                if let Some(bad) = names.iter().find(is_bad) {
                    let shown: String = bad.chars().take(100).collect();
                    return Err(CallError::Plain(format!("Invalid name {shown:?}")));
                }
                let different: BTreeSet<&String> = names.iter().collect();
                if different.len() < names.len() {
                    return Err(invalid_tree("a tree must have different names"));
                }
                let left = gather.remaining.checked_sub(names.len());
                gather.remaining =
                    left.ok_or_else(|| invalid_tree("the tree has too many files and directories"))?;
                names.reverse();
                gather.level()?.names = names;
                self.next_name(context, tag, gather)
            }
            UploadStep::Looking => {
                let found = self.expect_object(context, value, "a tree must have objects under its names")?;
                gather.doing = UploadStep::Asking(found);
                self.ask_for(context, tag, gather, found, "__getMethodNames__", vec![])
            }
            UploadStep::Asking(found) => {
                let methods = texts(value).unwrap_or_default();
                let can = |method: &str| methods.iter().any(|known| known == method);
                if can("list") {
                    gather.levels.push(UploadLevel { directory: found, names: vec![], done: vec![] });
                    if gather.levels.len() > MAX_DEPTH {
                        return Err(invalid_tree("the tree is too deep"));
                    }
                    gather.doing = UploadStep::Listing;
                    self.ask_for(context, tag, gather, found, "list", vec![])
                } else {
                    gather.doing = UploadStep::Opening(found);
                    if !can("streamBase64") {
                        return Err(invalid_tree("what is in a tree must have `list` or `streamBase64`"));
                    }
                    self.ask_for(context, tag, gather, found, "streamBase64", vec![])
                }
            }
            UploadStep::Opening(file) => {
                gather.doing = UploadStep::Opening(file);
                let reader = self.expect_object(context, value, "`streamBase64` must give a reader")?;
                gather.doing = UploadStep::Reading { file, reader, bytes: vec![] };
                self.ask_for(context, tag, gather, reader, "next", vec![])
            }
            UploadStep::Reading { file, reader, mut bytes } => {
                let is_over = value.get("done").and_then(Value::as_bool) == Some(true);
                let piece = match is_over {
                    true => Ok(vec![]),
                    false => {
                        let text = value.get("value").and_then(Value::as_str);
                        text.and_then(|text| from_base64(text).ok())
                            .ok_or_else(|| invalid_tree("a reader must give text in Base64"))
                    }
                };
                bytes.extend(piece.as_deref().unwrap_or_default());
                let fits = bytes.len() as u64 <= MAX_BYTES;
                if is_over {
                    let mut board = context.board();
                    board.release(self.side, reader);
                    board.release(self.side, file);
                    drop(board);
                    return self.keep_later(
                        context,
                        gather,
                        Box::new(move |outside: &TaskContext| {
                            let (hash, sha256) = (outside.put(&bytes)?, trees::sha256(&bytes));
                            let kept = StoredPart::File { hash, bytes: bytes.len() as u64, sha256 };
                            Ok(TaskOutcome::PartStored(tag, kept))
                        }),
                    );
                }
                gather.doing = UploadStep::Reading { file, reader, bytes };
                piece?;
                if !fits {
                    return Err(invalid_tree("a file of a tree can have 64 MiB"));
                }
                self.ask_for(context, tag, gather, reader, "next", vec![])
            }
            UploadStep::Keeping => Ok(()),
        }
    }

    /// Asks for the object with the next name. If no name is left, stores the complete directory.
    fn next_name(
        &mut self,
        context: &Context<'_>,
        tag: u64,
        gather: &mut TreeUpload,
    ) -> Result<(), CallError> {
        let level = gather.level()?;
        match level.names.last().cloned() {
            Some(name) => {
                let directory = level.directory;
                gather.doing = UploadStep::Looking;
                self.ask_for(context, tag, gather, directory, "lookup", vec![Value::string(name)])
            }
            None => {
                let entries = std::mem::take(&mut level.done);
                let work: TaskFn = Box::new(move |outside: &TaskContext| {
                    Ok(TaskOutcome::PartStored(tag, StoredPart::Tree(trees::store(outside, entries)?)))
                });
                self.keep_later(context, gather, work)
            }
        }
    }

    fn keep_later(
        &self,
        context: &Context<'_>,
        gather: &mut TreeUpload,
        work: TaskFn,
    ) -> Result<(), CallError> {
        gather.doing = UploadStep::Keeping;
        // The last command of the upload names all stored blobs. Until then, they are held.
        let hold = Some(Arc::clone(&gather.hold));
        let task = WorkerTask { answer: gather.answer, reach: gather.reach.clone(), work, bytes: 0, hold };
        match context.run_later(task) {
            true => Ok(()),
            false => Err(invalid_tree("too many calls wait for files here")),
        }
    }

    fn note(
        &mut self,
        context: &Context<'_>,
        tag: u64,
        gather: &mut TreeUpload,
        kept: StoredPart,
    ) -> Result<(), CallError> {
        let (is_tree, hash, bytes, sha256) = match kept {
            StoredPart::File { hash, bytes, sha256 } => (false, hash, bytes, sha256),
            StoredPart::Tree(tree) => {
                if let Some(level) = gather.levels.pop() {
                    context.board().release(self.side, level.directory);
                }
                if gather.levels.is_empty() {
                    let action = gather.command.clone().with(tree);
                    let work: TaskFn = Box::new(move |_| Ok(TaskOutcome::Act(Box::new(action))));
                    return self.keep_later(context, gather, work);
                }
                (true, tree.hash, 0, tree.sha256)
            }
        };
        let level = gather.level()?;
        let name = level.names.pop().unwrap_or_default();
        level.done.push(TreeEntry { name, is_tree, hash, bytes, sha256 });
        self.next_name(context, tag, gather)
    }
}

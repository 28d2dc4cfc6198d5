//! Uploads of bytes from a client. The client passes an iterator, and the daemon asks that iterator for one piece
//! after another.

use kernel::facet::{FileOp, TakeBytes};
use passable::{Text, Value, from_base64};
use switchboard::{Call, LimitReached, Name, Outcome, Ref};

use super::file_worker::{TaskOutcome, WorkerTask};
use super::object::{Object, Part};
use super::object_table::{Context, ObjectTable};
use super::perform::CallError;
use crate::state::blobs;

/// The maximum size of one blob, in bytes.
const MAX_BLOB_BYTES: usize = 256 << 20;

/// The maximum number of uploads of one client at a time.
const MAX_UPLOADS: usize = 16;

/// The destination of an upload.
enum UploadTarget {
    /// A blob in the store, which gets a name.
    Blob(Box<TakeBytes>, Object),
    /// A file in a directory.
    File(Box<Part>, FileOp),
}

/// An upload that is under way.
pub struct BlobUpload {
    target: UploadTarget,
    reader: Ref,
    bytes: Vec<u8>,
    /// The promise that settles when the upload is done.
    answer: Ref,
    /// The promise for the next piece.
    asked: Option<Ref>,
}

impl ObjectTable {
    /// Begins to take bytes for a blob from a client's reader.
    ///
    /// # Errors
    /// [`LimitReached`].
    pub fn upload(
        &mut self,
        context: &Context<'_>,
        reader: Ref,
        take: TakeBytes,
        reach: Object,
        answer: Ref,
    ) -> Result<(), LimitReached> {
        self.begin_upload(context, reader, UploadTarget::Blob(Box::new(take), reach), answer)
    }

    /// Begins to take bytes for a file from a client's reader.
    ///
    /// # Errors
    /// [`LimitReached`].
    pub fn upload_file(
        &mut self,
        context: &Context<'_>,
        reader: Ref,
        part: Part,
        op: FileOp,
        answer: Ref,
    ) -> Result<(), LimitReached> {
        self.begin_upload(context, reader, UploadTarget::File(Box::new(part), op), answer)
    }

    fn begin_upload(
        &mut self,
        context: &Context<'_>,
        reader: Ref,
        into: UploadTarget,
        answer: Ref,
    ) -> Result<(), LimitReached> {
        if self.uploads.len() >= MAX_UPLOADS {
            return Err(LimitReached { what: "blobs that are coming", limit: MAX_UPLOADS });
        }
        context.board().hold(self.side, reader)?;
        self.last_upload += 1;
        let tag = self.last_upload;
        self.uploads.insert(tag, BlobUpload { target: into, reader, bytes: vec![], answer, asked: None });
        self.ask(context, tag);
        Ok(())
    }

    fn ask(&mut self, context: &Context<'_>, tag: u64) {
        let Some(upload) = self.uploads.get_mut(&tag) else { return };
        let mut board = context.board();
        let call = Call::Method(Name::Text(Text::from("next")), vec![]);
        match board.send(self.side, upload.reader, call) {
            Ok(asked) => {
                board.watch(self.side, asked, tag);
                if let Some(before) = upload.asked.replace(asked) {
                    board.release(self.side, before);
                }
            }
            Err(full) => {
                drop(board);
                self.finish(context, tag, Err(Value::error("Error", full.to_string())));
            }
        }
    }

    /// Takes a piece, the end or an error from a client's reader.
    pub fn receive_piece(&mut self, context: &Context<'_>, tag: u64, outcome: Outcome) {
        let Some(upload) = self.uploads.get_mut(&tag) else { return };
        let wrong = |what: &str| Err(Value::error("TypeError", what));
        let piece = match outcome {
            Ok(piece) => piece,
            Err(error) => return self.finish(context, tag, Err(error)),
        };
        if piece.get("done").and_then(Value::as_bool) == Some(true) {
            return self.store_upload(context, tag);
        }
        let Some(text) = piece.get("value").and_then(Value::as_str) else {
            return self.finish(context, tag, wrong("a reader must give text in Base64"));
        };
        match from_base64(text) {
            Ok(bytes) if upload.bytes.len() + bytes.len() <= MAX_BLOB_BYTES => {
                upload.bytes.extend_from_slice(&bytes)
            }
            Ok(_) => return self.finish(context, tag, wrong("a blob can have 256 MiB")),
            Err(_) => return self.finish(context, tag, wrong("a reader must give text in Base64")),
        }
        self.ask(context, tag);
    }

    /// Stores a complete upload, on a thread that blocks no connection while it uses the disk.
    fn store_upload(&mut self, context: &Context<'_>, tag: u64) {
        let Some(upload) = self.uploads.remove(&tag) else { return };
        self.release_reader(context, upload.reader, upload.asked);
        let answer = upload.answer;
        let begun = match upload.target {
            UploadTarget::File(part, op) => self.write_file(context, *part, op, upload.bytes, answer),
            UploadTarget::Blob(take, reach) => {
                let (count, bytes) = (upload.bytes.len(), upload.bytes);
                let work = Box::new(move |outside: &super::file_worker::TaskContext| {
                    let hash = blobs::upload(&outside.daemon()?, &bytes)?;
                    Ok(TaskOutcome::Act(Box::new(take.with(hash, bytes.len() as u64))))
                });
                match context.run_later(WorkerTask { answer, reach, work, bytes: count, hold: None }) {
                    true => Ok(()),
                    false => Err(CallError::Plain("too many calls wait for files here".to_owned())),
                }
            }
        };
        if let Err(trouble) = begun {
            context.board().resolve(self.side, answer, Err(trouble.to_value()));
        }
    }

    fn release_reader(&self, context: &Context<'_>, reader: Ref, asked: Option<Ref>) {
        let mut board = context.board();
        board.release(self.side, reader);
        if let Some(asked) = asked {
            board.release(self.side, asked);
        }
    }

    fn finish(&mut self, context: &Context<'_>, tag: u64, outcome: Outcome) {
        let Some(upload) = self.uploads.remove(&tag) else { return };
        context.board().resolve(self.side, upload.answer, outcome);
        self.release_reader(context, upload.reader, upload.asked);
    }
}

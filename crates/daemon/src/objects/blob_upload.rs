//! Bytes that a client hands over: an iterator of its own is asked for piece after piece.

use kernel::facet::{FileOp, TakeBytes};
use passable::{Text, Value, from_base64};
use switchboard::{Call, Full, Name, Outcome, Ref};

use super::file_worker::{Came, Task};
use super::object::{Object, Part};
use super::perform::Trouble;
use super::table::{Context, Home};
use crate::state::blobs;

/// How many bytes one blob may have.
const LARGEST: usize = 256 << 20;

/// How many blobs one client may hand over at a time.
const MOST: usize = 16;

/// Where bytes go.
enum Into {
    /// Beside the store, under a name.
    Blob(Box<TakeBytes>, Object),
    /// Into a file.
    File(Box<Part>, FileOp),
}

/// Bytes that are coming.
pub struct Upload {
    into: Into,
    reader: Ref,
    bytes: Vec<u8>,
    /// Settles when all is there.
    answer: Ref,
    /// The promise for the next piece.
    asked: Option<Ref>,
}

impl Home {
    /// Begins to take bytes from a reader of the client's.
    ///
    /// # Errors
    /// [`Full`].
    pub fn upload(
        &mut self,
        context: &Context<'_>,
        reader: Ref,
        take: TakeBytes,
        reach: Object,
        answer: Ref,
    ) -> Result<(), Full> {
        self.begin_upload(context, reader, Into::Blob(Box::new(take), reach), answer)
    }

    /// Begins to take bytes for a file from a reader of the client's.
    ///
    /// # Errors
    /// [`Full`].
    pub fn upload_file(
        &mut self,
        context: &Context<'_>,
        reader: Ref,
        part: Part,
        op: FileOp,
        answer: Ref,
    ) -> Result<(), Full> {
        self.begin_upload(context, reader, Into::File(Box::new(part), op), answer)
    }

    fn begin_upload(
        &mut self,
        context: &Context<'_>,
        reader: Ref,
        into: Into,
        answer: Ref,
    ) -> Result<(), Full> {
        if self.uploads.len() >= MOST {
            return Err(Full { what: "blobs that are coming", limit: MOST });
        }
        context.board().hold(self.side, reader)?;
        self.last_upload += 1;
        let tag = self.last_upload;
        self.uploads.insert(tag, Upload { into, reader, bytes: vec![], answer, asked: None });
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
    pub fn uploaded(&mut self, context: &Context<'_>, tag: u64, outcome: Outcome) {
        let Some(upload) = self.uploads.get_mut(&tag) else { return };
        let wrong = |what: &str| Err(Value::error("TypeError", what));
        let piece = match outcome {
            Ok(piece) => piece,
            Err(error) => return self.finish(context, tag, Err(error)),
        };
        if piece.get("done").and_then(Value::as_bool) == Some(true) {
            return self.keep(context, tag);
        }
        let Some(text) = piece.get("value").and_then(Value::as_str) else {
            return self.finish(context, tag, wrong("a reader must give text in Base64"));
        };
        match from_base64(text) {
            Ok(bytes) if upload.bytes.len() + bytes.len() <= LARGEST => {
                upload.bytes.extend_from_slice(&bytes)
            }
            Ok(_) => return self.finish(context, tag, wrong("a blob can have 256 MiB")),
            Err(_) => return self.finish(context, tag, wrong("a reader must give text in Base64")),
        }
        self.ask(context, tag);
    }

    /// Stores a complete upload, on a thread where no connection waits for the disk.
    fn keep(&mut self, context: &Context<'_>, tag: u64) {
        let Some(upload) = self.uploads.remove(&tag) else { return };
        self.let_go(context, upload.reader, upload.asked);
        let answer = upload.answer;
        let begun = match upload.into {
            Into::File(part, op) => self.write_file(context, *part, op, upload.bytes, answer),
            Into::Blob(take, reach) => {
                let (count, bytes) = (upload.bytes.len(), upload.bytes);
                let work = Box::new(move |outside: &super::file_worker::Outside| {
                    let hash = blobs::upload(&outside.daemon()?, &bytes)?;
                    Ok(Came::Act(Box::new(take.with(hash, bytes.len() as u64))))
                });
                match context.later(Task { answer, reach, work, bytes: count, hold: None }) {
                    true => Ok(()),
                    false => Err(Trouble::Plain("too many calls wait for files here".to_owned())),
                }
            }
        };
        if let Err(trouble) = begun {
            context.board().resolve(self.side, answer, Err(trouble.to_value()));
        }
    }

    fn let_go(&self, context: &Context<'_>, reader: Ref, asked: Option<Ref>) {
        let mut board = context.board();
        board.release(self.side, reader);
        if let Some(asked) = asked {
            board.release(self.side, asked);
        }
    }

    fn finish(&mut self, context: &Context<'_>, tag: u64, outcome: Outcome) {
        let Some(upload) = self.uploads.remove(&tag) else { return };
        context.board().resolve(self.side, upload.answer, outcome);
        self.let_go(context, upload.reader, upload.asked);
    }
}

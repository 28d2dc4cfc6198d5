//! Bytes that a client hands over: an iterator of its own is asked for piece after piece.

use kernel::facet::TakeBytes;
use passable::{Text, Value, from_base64};
use switchboard::{Call, Full, Name, Outcome, Ref};

use super::convert;
use super::home::{Context, Home, Object};
use super::perform::apply;
use crate::daemon::start_run;

/// How many bytes one blob may have.
const LARGEST: usize = 256 << 20;

/// How many blobs one client may hand over at a time.
const MOST: usize = 16;

/// A blob that is coming.
pub struct Upload {
    take: TakeBytes,
    reader: Ref,
    bytes: Vec<u8>,
    reach: Object,
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
        if self.uploads.len() >= MOST {
            return Err(Full { what: "blobs that are coming", limit: MOST });
        }
        context.board().hold(self.side, reader)?;
        self.last_upload += 1;
        let tag = self.last_upload;
        self.uploads.insert(tag, Upload { take, reader, bytes: vec![], reach, answer, asked: None });
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

    /// A piece has come, or the end, or an error.
    pub fn uploaded(&mut self, context: &Context<'_>, tag: u64, outcome: Outcome) {
        let Some(upload) = self.uploads.get_mut(&tag) else { return };
        let wrong = |what: &str| Err(Value::error("TypeError", what));
        let piece = match outcome {
            Ok(piece) => piece,
            Err(error) => return self.finish(context, tag, Err(error)),
        };
        if piece.get("done").and_then(Value::as_bool) == Some(true) {
            let outcome = self.keep(context, tag);
            return self.finish(context, tag, outcome);
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

    fn keep(&mut self, context: &Context<'_>, tag: u64) -> Outcome {
        let failed = |message: String| Err(Value::error("Error", message));
        let Some(upload) = self.uploads.get(&tag) else { return failed("it was given up".to_owned()) };
        let hash = match start_run::put(context.desk, &upload.bytes) {
            Ok(hash) => hash,
            Err(failure) => return failed(failure.message.raw().to_owned()),
        };
        let action = upload.take.clone().with(hash, upload.bytes.len() as u64);
        let reach = upload.reach.clone();
        match apply(context, action) {
            Ok(value) => {
                let value = convert::live(&value);
                let interfaces = context.desk.daemon.read(|txn| convert::interfaces(txn, &value));
                let interfaces = interfaces.unwrap_or_default();
                let shown = self.show(&mut context.board(), &value, &interfaces, &reach);
                shown.or_else(|full| failed(full.to_string()))
            }
            Err(failure) => failed(failure.message.raw().to_owned()),
        }
    }

    fn finish(&mut self, context: &Context<'_>, tag: u64, outcome: Outcome) {
        let Some(upload) = self.uploads.remove(&tag) else { return };
        let mut board = context.board();
        board.resolve(self.side, upload.answer, outcome);
        board.release(self.side, upload.reader);
        if let Some(asked) = upload.asked {
            board.release(self.side, asked);
        }
    }
}

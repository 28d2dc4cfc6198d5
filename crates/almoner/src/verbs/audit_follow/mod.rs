//! `almoner audit follow`: the stream of events to a receiver outside of the store.
//!
//! Events go to the receiver in batches. The cursor advances only after the receiver has taken a batch, so that a
//! crash of this command, of the daemon or of the receiver repeats events and never leaves one out.

mod cursor;
mod feed;
mod jsonl;
mod otlp;

use kernel::event::Event;

use self::cursor::{Cursor, CursorFile};
use self::feed::EventFeed;
use self::jsonl::JsonLines;
use self::otlp::Exporter;
use crate::cli::audit::{FollowEventsArgs, FromEvent};
use crate::session::Session;
use crate::ui::output;
use control::ask::unexpected;
use control::audit_report::Anchor;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{Request, Response};

/// A receiver of events.
trait Receiver {
    /// Returns the name of the receiver in a cursor.
    fn target(&self) -> String;

    /// Checks that the receiver can take events at all.
    ///
    /// # Errors
    /// When it would discard them.
    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Delivers events, and returns after the receiver has taken them.
    ///
    /// # Errors
    /// When the receiver will never take them.
    fn deliver(&mut self, events: &[Event]) -> Result<(), Failure>;
}

/// Runs `almoner audit follow`.
///
/// # Errors
/// When the log does not go on from the cursor, or the receiver refuses an event for good.
pub fn follow(acting: &Session<'_>, args: &FollowEventsArgs) -> ExitResult {
    let mut receiver: Box<dyn Receiver + '_> = match &args.otlp {
        Some(url) => Box::new(Exporter::new(acting, url, &args.header)?),
        None => Box::new(JsonLines),
    };
    let target = receiver.target();
    let name = match &args.cursor {
        Some(name) => name.clone(),
        None => cursor::usual_name(&target, acting.agent),
    };
    let mut file = CursorFile::open(acting.place, &name)?;
    let last = acting.last_event()?;
    let kept = file.load(&target, acting.agent);
    let (begin, replaced) = match (args.from, kept) {
        // A beginning that the user chose replaces every cursor, also one that cannot be used.
        (Some(from), kept) => (anchor_before(acting, from, last)?, kept.err()),
        (None, kept) => (kept?.map_or(cursor::BEGINNING, |cursor| cursor.log), None),
    };
    let cursor_at = |log: Anchor| Cursor {
        version: cursor::VERSION,
        target: target.clone(),
        agent: acting.agent.map(str::to_owned),
        log,
    };
    let is_done = args.once && begin.seq >= last;
    if !is_done {
        receiver.check()?;
    }
    // A beginning that the user chose holds from now on, also if nothing is delivered yet.
    if args.from.is_some() {
        if let Some(unusable) = replaced {
            output::note(&format!("{}; `--from` replaces it", unusable.message.visible_line()));
        }
        file.store(&cursor_at(begin))?;
    }
    if is_done {
        feed::check_anchor(acting, begin)?;
        return Ok(Exit::Ok);
    }
    let mut feed = EventFeed::begin(acting.place, acting.agent, begin);
    loop {
        let batch = feed.next_batch()?;
        let Some(end) = batch.last().map(|event| Anchor { seq: event.seq, hash: event.hash }) else {
            return Ok(Exit::Ok);
        };
        receiver.deliver(&batch)?;
        file.store(&cursor_at(end))?;
        if args.once && end.seq >= last {
            return Ok(Exit::Ok);
        }
    }
}

/// Returns the anchor of the event before the first one that the user wants.
fn anchor_before(acting: &Session<'_>, from: FromEvent, last: u64) -> Result<Anchor, Failure> {
    let seq = match from {
        FromEvent::Start => 0,
        FromEvent::Now => last,
        FromEvent::Number(number) => number.saturating_sub(1),
    };
    if seq == 0 {
        return Ok(cursor::BEGINNING);
    }
    feed::event(seq, |request| acting.ask(request))?.map(|event| Anchor { seq, hash: event.hash }).ok_or_else(
        || {
            Failure::new(
                Exit::NotFound,
                format!("cannot begin with event {}: the log ends at {last}", seq + 1),
            )
            .help("`--from now` begins with the next event")
        },
    )
}

/// Returns the unexpected response as a failure, or the expected part of it.
fn audited(response: Response) -> Result<Vec<Event>, Failure> {
    match response {
        Response::Audited(found) => Ok(found.last),
        other => Err(unexpected(&other)),
    }
}

/// Returns the request for one event of the log.
fn event_request(seq: u64) -> Request {
    Request::Audit { last: Some(1), before: Some(seq.saturating_add(1)), contains: None, unverified: true }
}

//! The delivery of ticks to clients. At each tick of a timer, a client's own object is called, as long as the client
//! is connected.

use kernel::facet::Watch;
use kernel::{FormulaId, table, timer};
use passable::{Text, Value};
use switchboard::{Call, Name, Ref};

use super::object::Object;
use super::object_table::{Context, ObjectTable};
use super::perform::CallError;
use config::clock;

/// The maximum number of one client's objects that may be subscribed to ticks.
const MAX_TICKERS: usize = 64;

/// The subscription of a client's object to the ticks of a timer.
pub struct Ticker {
    /// The timer, with the grants through which it was reached.
    timer: Object,
    callback: Ref,
    /// The last tick that was delivered, or the last one before the subscription.
    seen: u64,
    /// The time of the next tick, in milliseconds.
    due_ms: i64,
    /// The promise for the object's answer to the last tick. Until the object has answered, no other tick is
    /// delivered.
    asked: Option<Ref>,
}

impl Ticker {
    /// Returns the formulas that must not be collected while the subscription lasts.
    pub(crate) fn pins(&self) -> impl Iterator<Item = FormulaId> {
        std::iter::once(self.timer.id).chain(self.timer.through.iter().copied())
    }
}

impl ObjectTable {
    /// Subscribes a client's object to the ticks of a timer, or ends its subscription.
    pub(crate) fn subscribe(
        &mut self,
        context: &Context<'_>,
        reach: &Object,
        watch: Watch,
        callback: Option<Ref>,
    ) -> Result<(), CallError> {
        let wrong = || CallError::Plain("a timer tells an object of the caller's own".to_owned());
        let callback = callback.filter(|callback| self.object(*callback).is_none()).ok_or_else(wrong)?;
        let same = |ticker: &Ticker| ticker.timer.id == watch.timer && ticker.callback == callback;
        let known = self.tickers.iter().find(|(_, ticker)| same(ticker)).map(|(tag, _)| *tag);
        match (known, watch.begins) {
            (None, false) | (Some(_), true) => return Ok(()),
            (Some(tag), false) => {
                self.unsubscribe(context, tag);
                return Ok(());
            }
            (None, true) if self.tickers.len() >= MAX_TICKERS => {
                let what = format!("{MAX_TICKERS} objects are told of ticks already: unsubscribe one");
                return Err(CallError::Plain(what));
            }
            (None, true) => {}
        }
        let timer = Object { id: watch.timer, ..reach.clone() };
        let Some(found) = self.readable_timer(context, &timer)? else {
            return Err(CallError::Plain("no more ticks come of this timer".to_owned()));
        };
        context.board().hold(self.side, callback)?;
        self.last_upload += 1;
        let seen = found.tick_at(clock::now_ms());
        let due_ms = found.comes_at(seen.saturating_add(1));
        self.tickers.insert(self.last_upload, Ticker { timer, callback, seen, due_ms, asked: None });
        Ok(())
    }

    /// Returns the timer, or `None` if the client may no longer get its ticks.
    fn readable_timer(
        &self,
        context: &Context<'_>,
        timer: &Object,
    ) -> Result<Option<timer::Timer>, CallError> {
        let now_ms = clock::now_ms();
        let found = context.daemon.read(|txn| {
            for grant in &timer.through {
                if table::reach(txn, grant)?.is_none_or(|reached| reached.ended(now_ms).is_some()) {
                    return Ok(None);
                }
            }
            Ok(timer::timer(txn, &timer.id, now_ms)?.ok())
        })?;
        Ok(found)
    }

    /// Returns the time of the next tick to deliver, and notes that the connection is called then. Returns `None` if
    /// the connection is already called by that time.
    pub(crate) fn next_tick(&mut self) -> Option<i64> {
        let next = self.tickers.values().map(|ticker| ticker.due_ms).min()?;
        if self.next_call_ms.is_some_and(|armed| armed <= next) {
            return None;
        }
        self.next_call_ms = Some(next);
        Some(next)
    }

    /// Delivers the ticks that are due. `armed_ms` is the time for which the connection had asked to be called. If it
    /// has since asked for another time, this call is outdated and does nothing.
    pub(crate) fn tick(&mut self, context: &Context<'_>, armed_ms: i64) {
        if self.next_call_ms != Some(armed_ms) {
            return;
        }
        self.next_call_ms = None;
        let now_ms = clock::now_ms();
        let due = self.tickers.iter().filter(|(_, ticker)| ticker.due_ms <= now_ms);
        let due: Vec<u64> = due.map(|(tag, _)| *tag).collect();
        for tag in due {
            let Some(timer) = self.tickers.get(&tag).map(|ticker| ticker.timer.clone()) else { continue };
            match self.readable_timer(context, &timer) {
                Ok(Some(found)) => self.deliver_tick(context, tag, &found, now_ms),
                // The timer was cancelled, or its grant was revoked.
                Ok(None) => self.unsubscribe(context, tag),
                Err(_) => self.postpone(tag, now_ms.saturating_add(1_000)),
            }
        }
    }

    fn postpone(&mut self, tag: u64, due_ms: i64) {
        if let Some(ticker) = self.tickers.get_mut(&tag) {
            ticker.due_ms = due_ms;
        }
    }

    fn deliver_tick(&mut self, context: &Context<'_>, tag: u64, timer: &timer::Timer, now_ms: i64) {
        let tick = timer.tick_at(now_ms);
        self.postpone(tag, timer.comes_at(tick.saturating_add(1)));
        let Some(ticker) = self.tickers.get_mut(&tag) else { return };
        // An object that has not answered yet misses this tick, and gets the number of a later one.
        if tick <= ticker.seen || ticker.asked.is_some() {
            return;
        }
        ticker.seen = tick;
        let fields = [
            ("label", Value::string(timer.label.raw().to_owned())),
            ("tick", Value::number(tick as f64)),
            ("timestamp", Value::number(now_ms as f64)),
        ];
        let told = Value::record(fields).unwrap_or_else(|_| Value::too_deep());
        let mut board = context.board();
        let call = Call::Method(Name::Text(Text::from("onTick")), vec![told]);
        // If the switchboard has no room for another call now, the object gets the next tick.
        if let Ok(asked) = board.send(self.side, ticker.callback, call) {
            board.watch(self.side, asked, tag);
            ticker.asked = Some(asked);
        }
    }

    /// Notes that an object has answered a tick, with a value or an error. The next tick can be delivered to it.
    pub(crate) fn finish_tick(&mut self, context: &Context<'_>, tag: u64) {
        if let Some(asked) = self.tickers.get_mut(&tag).and_then(|ticker| ticker.asked.take()) {
            context.board().release(self.side, asked);
        }
    }

    /// Ends a subscription to ticks.
    fn unsubscribe(&mut self, context: &Context<'_>, tag: u64) {
        let Some(ticker) = self.tickers.remove(&tag) else { return };
        let mut board = context.board();
        board.release(self.side, ticker.callback);
        if let Some(asked) = ticker.asked {
            board.release(self.side, asked);
        }
    }
}

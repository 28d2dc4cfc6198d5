//! The fitting of a request to the limits of its model: the token limit of the reply, and the shorter form of a
//! conversation that has become too long.

use kernel::command::Move;
use kernel::run::{ConversationView, Trouble};
use model::Request;

use super::{Driver, Flow};
use crate::reply_limit::reply_limit;
use crate::stored_request;
use crate::window::{self, TokenRate};

impl Driver<'_> {
    /// Sets the token limit of a request. If the request would not fit the model's window, the conversation is shown in a
    /// shorter form from here on.
    pub(super) fn fit_to_window(&mut self, request: &mut Request) -> Result<Option<Flow>, Trouble> {
        let size = stored_request::size(request)?;
        let limits = self.world.limits(&self.run, size);
        let rate = TokenRate::of(self.world, &self.fold)?;
        let cut = self.fold.last_cut();
        request.max_tokens = reply_limit(self.world, &self.run, limits, cut, rate.tokens(size));
        let Some(context) = limits.context else { return Ok(None) };
        let allowed = window::request_bytes(context, request.max_tokens, rate);
        if size <= allowed {
            return Ok(None);
        }
        self.shrink(allowed, format!("the model reads at most {context} tokens"))
    }

    /// Shows the conversation in a shorter form from here on, in which a request has at most `allowed` bytes. Returns
    /// `None` if there is no shorter form.
    fn shrink(&mut self, allowed: usize, why: String) -> Result<Option<Flow>, Trouble> {
        let mut size = |view: ConversationView| stored_request::size(&self.request(view)?);
        let Some(view) = window::plan(&self.fold, allowed, &mut size)? else { return Ok(None) };
        self.advance(vec![Move::Shrink { view, why }])?;
        Ok(Some(Flow::Continue))
    }

    /// Shows the conversation in a shorter form after the model's server found the request too long.
    pub(super) fn shrink_after_overflow(
        &mut self,
        request: &Request,
        tokens: Option<u64>,
        limit: Option<u64>,
    ) -> Result<Option<Flow>, Trouble> {
        let size = stored_request::size(request)?;
        let rate = TokenRate::of(self.world, &self.fold)?;
        // A server that has not named its limit may state it if it is asked.
        let stated =
            || self.world.limits(&self.run, size).context.filter(|_| !self.world.looks_up(&self.run));
        let limit = limit.or_else(stated);
        let allowed = window::bytes_after_overflow(size, tokens, limit, request.max_tokens, rate);
        let why = match limit {
            Some(limit) => format!("the model reads at most {limit} tokens"),
            None => "the request was too long for the model".to_owned(),
        };
        self.shrink(allowed, why)
    }
}

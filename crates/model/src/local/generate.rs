//! The writing of an answer, token by token, within a grammar.

use llguidance::api::TopLevelGrammar;
use llguidance::{Matcher, ParserFactory};
use serde_json::Value;
use toktrie::{InferenceCapabilities, TokenId};

use super::grammar;
use super::qwen2::Qwen2;
use super::vocabulary::Vocabulary;
use crate::error::ModelError;
use crate::provider::Progress;
use crate::reply::Stop;
use crate::request::Cancel;

/// The text that the model wrote.
pub(super) struct GeneratedText {
    pub(super) text: String,
    pub(super) tokens: u64,
    pub(super) stop: Stop,
}

/// The factory of matchers for grammars over one vocabulary.
pub(super) struct Grammars(ParserFactory);

impl Grammars {
    pub(super) fn new(vocabulary: &Vocabulary) -> Result<Self, String> {
        let capabilities = InferenceCapabilities { ff_tokens: true, ..InferenceCapabilities::default() };
        let slices = llguidance::earley::SlicedBiasComputer::json_slices();
        let mut factory =
            ParserFactory::new(&vocabulary.env(), capabilities, &slices).map_err(|e| e.to_string())?;
        factory.quiet();
        factory.limits_mut().verbose_errors = false;
        Ok(Self(factory))
    }

    /// Returns a matcher for a schema, at the beginning of a text.
    pub(super) fn matcher(&self, schema: Value) -> Result<Matcher, ModelError> {
        let parser = |schema| self.0.create_parser(TopLevelGrammar::from_json_schema(schema));
        // A grammar with gaps is better than none. If neither can be made, the strict complaint is the useful one.
        let parser =
            parser(schema.clone()).or_else(|strict| parser(grammar::lenient(schema)).map_err(|_| strict));
        let parser = parser.map_err(|e| ModelError::SchemaRefused { reason: first_line(&e.to_string()) })?;
        Ok(Matcher::new(Ok(parser)))
    }
}

/// Reads `tokens`, at most `chunk` at once, and returns the scores of the next token.
pub(super) fn read(
    model: &mut Qwen2,
    tokens: &[TokenId],
    chunk: usize,
    cancel: &Cancel,
    mut read_so_far: impl FnMut(usize),
) -> Result<Vec<f32>, ModelError> {
    let mut scores = Vec::new();
    let mut done = 0;
    for chunk in tokens.chunks(chunk.max(1)) {
        if cancel.is_canceled() {
            return Err(ModelError::Canceled);
        }
        scores = model.forward(chunk).map_err(|e| engine_error(&e))?;
        done += chunk.len();
        read_so_far(done);
    }
    Ok(scores)
}

/// The parameters of the writing of an answer.
pub(super) struct Task<'a> {
    /// The vocabulary, which has the bytes of each token and the tokens that end a turn.
    pub(super) vocabulary: &'a Vocabulary,
    /// The matcher that holds the text to its form, or `None` for free text.
    pub(super) matcher: Option<Matcher>,
    /// The maximum number of tokens to write.
    pub(super) limit: usize,
    /// The maximum number of tokens that are read at once, if several are forced.
    pub(super) chunk: usize,
    pub(super) cancel: &'a Cancel,
}

/// Writes an answer after a prompt, from the scores of the first token on. Adds to `history` every token that the
/// model has read.
pub(super) fn write(
    model: &mut Qwen2,
    task: Task<'_>,
    mut scores: Vec<f32>,
    history: &mut Vec<TokenId>,
    progress: &mut dyn FnMut(Progress),
) -> Result<GeneratedText, ModelError> {
    let Task { vocabulary, mut matcher, limit, chunk, cancel } = task;
    let mut bytes = Vec::new();
    let mut shown = 0;
    let mut count = 0;
    let mut stop = Stop::Length;
    while count < limit {
        let mut fresh = match &mut matcher {
            Some(matcher) => {
                if matcher.is_stopped() {
                    stop = Stop::End;
                    break;
                }
                // Tokens that the grammar forces need no sampling, only reading.
                let forced = matcher.consume_ff_tokens();
                if forced.is_empty() { vec![next_within(matcher, &scores)?] } else { forced }
            }
            None => vec![best(scores.iter().copied().enumerate())?],
        };
        if let Some(matcher) = &matcher
            && matcher.is_error()
        {
            let reason = first_line(&matcher.get_error().unwrap_or_default());
            return Err(ModelError::SchemaRefused { reason });
        }
        let end = fresh.iter().position(|token| vocabulary.ends.contains(token));
        if let Some(end) = end {
            fresh.truncate(end);
            stop = Stop::End;
        }
        fresh.truncate(limit - count);
        for &token in &fresh {
            bytes.extend_from_slice(vocabulary.bytes(token));
        }
        count += fresh.len();
        show(&bytes, &mut shown, progress);
        if end.is_some() || matcher.as_ref().is_some_and(Matcher::is_stopped) {
            // The last token is not read, so it is not in the model's cache either.
            stop = Stop::End;
            break;
        }
        scores = read(model, &fresh, chunk, cancel, |_| {})?;
        history.extend_from_slice(&fresh);
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(GeneratedText { text, tokens: count as u64, stop })
}

/// Returns the best token that the grammar allows, after the matcher has consumed it.
fn next_within(matcher: &mut Matcher, scores: &[f32]) -> Result<TokenId, ModelError> {
    let refused =
        |e: &dyn std::fmt::Display| ModelError::SchemaRefused { reason: first_line(&e.to_string()) };
    let mask = matcher.compute_mask_or_eos().map_err(|e| refused(&e))?;
    let mut allowed = Vec::new();
    mask.iter_set_entries(|token| allowed.push(token));
    let token = best(allowed.into_iter().filter_map(|token| scores.get(token).map(|score| (token, *score))))?;
    matcher.consume_token(token).map_err(|e| refused(&e))?;
    Ok(token)
}

/// Returns the token with the highest score. Of tokens with equal scores, the first is returned.
fn best(scores: impl Iterator<Item = (usize, f32)>) -> Result<TokenId, ModelError> {
    let mut best: Option<(usize, f32)> = None;
    for (token, score) in scores {
        if best.is_none_or(|(_, highest)| score > highest) {
            best = Some((token, score));
        }
    }
    best.and_then(|(token, _)| TokenId::try_from(token).ok())
        .ok_or_else(|| ModelError::SchemaRefused { reason: "no token is allowed".to_owned() })
}

/// Reports the text that is complete so far. A character may be spread over several tokens. Bytes that are no
/// character are replaced.
fn show(bytes: &[u8], shown: &mut usize, progress: &mut dyn FnMut(Progress)) {
    let mut text = String::new();
    loop {
        let fresh = bytes.get(*shown..).unwrap_or_default();
        let (valid, invalid) = match std::str::from_utf8(fresh) {
            Ok(whole) => (whole.len(), None),
            Err(e) => (e.valid_up_to(), e.error_len()),
        };
        text.push_str(&String::from_utf8_lossy(fresh.get(..valid).unwrap_or_default()));
        *shown += valid;
        let Some(invalid) = invalid else { break };
        text.push(char::REPLACEMENT_CHARACTER);
        *shown += invalid;
    }
    if !text.is_empty() {
        progress(Progress::Text(text));
    }
}

pub(super) fn engine_error(error: &candle_core::Error) -> ModelError {
    ModelError::HostDied { reason: first_line(&error.to_string()) }
}

pub(super) fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(300).collect()
}

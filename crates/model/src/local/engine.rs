//! A loaded model that answers requests.

use std::fs::File;
use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};

use candle_core::quantized::gguf_file;
use serde_json::Value;
use toktrie::TokenId;

use super::generate::{self, Grammars, first_line};
use super::host::HostOptions;
use super::qwen2::Qwen2;
use super::vocabulary::Vocabulary;
use super::{grammar, memory, prompt};
use crate::error::ModelError;
use crate::provider::Progress;
use crate::reply::{Reply, Stop, Usage};
use crate::request::{Call, Request};
use crate::weights::{self, PullError};

/// The number of bytes that the cache of such a model takes per token.
const CACHE_PER_TOKEN: u64 = 57 << 10;

/// The token limit of a reply, if the request names none: half of the usual context. A small model that repeats itself
/// ends there.
const DEFAULT_ANSWER: u32 = 4096;

/// The bytes of memory for the vocabulary, the grammars and scratch.
const FIXED_OVERHEAD: u64 = 128 << 20;

/// A model in memory, with the tokens that it read last.
pub(super) struct Engine {
    model: Qwen2,
    vocabulary: Vocabulary,
    grammars: Grammars,
    /// The tokens in the model's cache. Most requests begin like the request before.
    history: Vec<TokenId>,
    /// The maximum number of tokens that are read at once.
    chunk: usize,
}

impl Engine {
    /// Loads the weights, if they are whole and there is memory for them.
    pub(super) fn load(options: &HostOptions) -> Result<Self, ModelError> {
        let path = &options.weights;
        let length =
            std::fs::metadata(path).map_err(|_| ModelError::WeightsMissing { path: path.clone() })?.len();
        let needed = options.memory_limit.unwrap_or_else(|| needed(length, options.context));
        memory::check(needed, options.available_memory.or_else(memory::available))?;
        memory::limit(needed.saturating_add(needed / 4)).map_err(|reason| ModelError::HostDied { reason })?;

        let corrupt = |reason: String| ModelError::WeightsCorrupt { path: path.clone(), reason };
        std::thread::scope(|scope| {
            // A known file is hashed while it is loaded.
            let known = weights::KNOWN.iter().find(|known| path.ends_with(known.file));
            let hash = known.map(|known| scope.spawn(|| weights::verify(path, known, &mut |_| {})));
            // The engine asserts the properties of a sound file, so a panic here means that the file is damaged.
            let loaded = catch_unwind(AssertUnwindSafe(|| load(options)))
                .unwrap_or_else(|_| Err("the engine cannot make sense of it".to_owned()));
            match hash.map(|hash| hash.join()) {
                Some(Ok(Err(PullError::WrongFile { reason, .. }))) => Err(corrupt(reason)),
                Some(Ok(Err(error))) => {
                    Err(ModelError::File { path: path.clone(), reason: error.to_string() })
                }
                Some(Err(_)) => Err(corrupt("it cannot be hashed".to_owned())),
                Some(Ok(Ok(()))) | None => loaded.map_err(corrupt),
            }
        })
    }

    /// Answers one request.
    pub(super) fn complete(
        &mut self,
        request: &Request,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Reply, ModelError> {
        let matcher = grammar::schema(request).map(|schema| self.grammars.matcher(schema)).transpose()?;
        let tokens = prompt::tokens(request, &self.vocabulary);
        let context = self.model.context();
        let room = context.saturating_sub(tokens.len());
        let most = request.max_tokens.unwrap_or(DEFAULT_ANSWER) as usize;
        let limit = most.min(room);
        // With less room than this, no useful answer fits.
        if limit < most.min(64) {
            let (tokens, limit) = (Some(tokens.len() as u64), Some(context as u64));
            return Err(ModelError::ContextTooLong { tokens, limit });
        }

        // At least one token is read again, because its scores are needed.
        let same = self.history.iter().zip(&tokens).take_while(|(a, b)| a == b).count();
        let same = same.min(tokens.len().saturating_sub(1));
        self.model.truncate(same);
        self.history.truncate(same);
        let total = tokens.len() as u64;
        let new = tokens.get(same..).unwrap_or_default();
        let scores = generate::read(&mut self.model, new, self.chunk, &request.cancel, |done| {
            progress(Progress::Prompt { done: (same + done) as u64, total });
        });
        let scores = match scores {
            Ok(scores) => scores,
            // The number of tokens that the model has read is not known here, so all new tokens are dropped.
            Err(error) => {
                self.model.truncate(same);
                return Err(error);
            }
        };
        self.history.extend_from_slice(new);
        let (vocabulary, chunk) = (&self.vocabulary, self.chunk);
        let task = generate::Task { vocabulary, matcher, limit, chunk, cancel: &request.cancel };
        let written = generate::write(&mut self.model, task, scores, &mut self.history, progress);
        self.model.truncate(self.history.len());
        let written = written?;
        let usage = Usage { input_tokens: total, output_tokens: written.tokens, ..Usage::default() };
        Ok(reply(request, written, usage))
    }
}

/// Returns the bytes of memory that a file of this size needs. They are for its content, and for the matrices once
/// more in the form that the processor needs. Together these take 2.1 times the size of the file, as measured. The
/// rest is for the cache and the process.
fn needed(length: u64, context: usize) -> u64 {
    let content = length.saturating_mul(21) / 10;
    content.saturating_add((context as u64).saturating_mul(CACHE_PER_TOKEN)).saturating_add(FIXED_OVERHEAD)
}

fn load(options: &HostOptions) -> Result<Engine, String> {
    let text = |e: candle_core::Error| first_line(&e.to_string());
    let mut reader =
        BufReader::with_capacity(1 << 20, File::open(&options.weights).map_err(|e| e.to_string())?);
    let content = gguf_file::Content::read(&mut reader).map_err(text)?;
    let architecture = content.metadata.get("general.architecture").and_then(|v| v.to_string().ok());
    if architecture.is_none_or(|name| name != "qwen2") {
        return Err("it is not a qwen2 model".to_owned());
    }
    let model = Qwen2::load(&content, &mut reader, options.context).map_err(text)?;
    let vocabulary = Vocabulary::load(&content, model.vocabulary().map_err(text)?).map_err(text)?;
    let grammars = Grammars::new(&vocabulary)?;
    Ok(Engine { model, vocabulary, grammars, history: Vec::new(), chunk: options.chunk })
}

/// Returns the text that the model wrote as a reply.
fn reply(request: &Request, written: generate::GeneratedText, usage: Usage) -> Reply {
    let mut reply = Reply { text: written.text, usage, stop: written.stop, ..Reply::default() };
    if request.tools.is_empty() || reply.stop == Stop::Length {
        return reply;
    }
    let Ok(Value::Object(mut said)) = serde_json::from_str::<Value>(&reply.text) else { return reply };
    let (Some(Value::String(name)), Some(mut arguments)) = (said.remove("name"), said.remove("arguments"))
    else {
        return reply;
    };
    if name == grammar::answer_name(request) {
        reply.text = match arguments.get_mut("answer").map(Value::take) {
            Some(Value::String(text)) if request.output.is_none() => text,
            value => value.unwrap_or_default().to_string(),
        };
    } else {
        let id = format!("call_{}", request.turn());
        reply.calls.push(Call::new(id, name, arguments));
        reply.text.clear();
        reply.stop = Stop::Calls;
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stated_memory_matches_the_memory_of_loading() {
        for known in weights::KNOWN {
            let asked = needed(known.bytes, HostOptions::new("x").context);
            assert!(asked <= known.memory && known.memory - asked < 64 << 20, "{}: {asked}", known.name);
        }
    }
}

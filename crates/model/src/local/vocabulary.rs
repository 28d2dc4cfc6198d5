//! The tokens of a model: their texts, their bytes, and the trie on which grammars are matched.

use std::sync::Arc;

use candle_core::quantized::gguf_file::{self, Value};
use candle_core::quantized::tokenizer::TokenizerFromGguf;
use candle_core::{Error, Result};
use tokenizers::normalizers::unicode::NFC;
use tokenizers::{NormalizedString, Normalizer, NormalizerWrapper, Tokenizer};
use toktrie::{TokEnv, TokRxInfo, TokTrie, TokenId, TokenizerEnv};

/// The GGUF type of control tokens.
const TYPE_CONTROL: i64 = 3;
/// The GGUF type of tokens that exist only to fill the table.
const TYPE_UNUSED: i64 = 5;

/// The vocabulary of a model file.
pub(super) struct Vocabulary {
    env: Arc<Env>,
    /// The token that ends a turn. The model's end of text ends a turn too.
    pub(super) end_of_turn: TokenId,
    pub(super) start_of_turn: TokenId,
    pub(super) ends: Vec<TokenId>,
}

struct Env {
    tokenizer: Tokenizer,
    trie: TokTrie,
}

impl Vocabulary {
    /// Reads the vocabulary of a ChatML model with a byte-level BPE tokenizer. `size` is the number of rows of its
    /// embedding table.
    pub(super) fn load(content: &gguf_file::Content, size: usize) -> Result<Self> {
        let entry = |name: &str| {
            let key = format!("tokenizer.ggml.{name}");
            content.metadata.get(&key).ok_or_else(|| Error::msg(format!("{key} is missing")))
        };
        let tokens = entry("tokens")?.to_vec()?;
        if tokens.is_empty() || tokens.len() > size {
            return Err(Error::msg(format!("{} tokens for a table of {size}", tokens.len())));
        }
        let types = entry("token_type")?.to_vec()?;
        let mut words = Vec::with_capacity(size);
        for (i, token) in tokens.iter().enumerate() {
            let kind = types.get(i).and_then(integer).unwrap_or(1);
            words.push(match kind {
                TYPE_UNUSED => Vec::new(),
                // Tokens of the other special kinds begin with a marker byte. No text contains this byte, so no text
                // spells such a token.
                kind if kind != 1 && kind != 6 => {
                    let mut word = vec![TokTrie::SPECIAL_TOKEN_MARKER];
                    word.extend_from_slice(token.to_string()?.as_bytes());
                    word
                }
                _ => bytes_of(token.to_string()?),
            });
        }
        words.resize(size, Vec::new());

        let find = |name: &str| {
            let at = tokens.iter().position(|t| t.to_string().is_ok_and(|t| t == name));
            let at = at.filter(|&at| types.get(at).and_then(integer) == Some(TYPE_CONTROL));
            at.and_then(|at| u32::try_from(at).ok())
                .ok_or_else(|| Error::msg(format!("no control token {name}")))
        };
        let (start_of_turn, end_of_turn) = (find("<|im_start|>")?, find("<|im_end|>")?);
        let mut ends = vec![end_of_turn];
        ends.extend(find("<|endoftext|>"));

        let mut tokenizer = Tokenizer::from_gguf(content)?;
        // Text is only ever text: `<|im_end|>` in a document must not end a turn.
        tokenizer.set_encode_special_tokens(true);
        // [`Vocabulary::encode`] normalizes text itself. The tokenizer must not, because text that a grammar forces
        // must keep its bytes.
        tokenizer.with_normalizer(None::<NormalizerWrapper>).map_err(Error::wrap)?;
        let size = u32::try_from(size).map_err(Error::wrap)?;
        let trie = TokTrie::from(&TokRxInfo::new(size, end_of_turn), &words).with_eos_tokens(&ends);
        Ok(Self { env: Arc::new(Env { tokenizer, trie }), end_of_turn, start_of_turn, ends })
    }

    /// Returns the tokens of a text. No part of the text becomes a special token.
    pub(super) fn encode(&self, text: &str) -> Vec<TokenId> {
        let mut normalized = NormalizedString::from(text);
        match NFC.normalize(&mut normalized) {
            Ok(()) => self.env.tokenize(normalized.get()),
            Err(_) => self.env.tokenize(text),
        }
    }

    /// Returns the bytes that a token stands for. A special token has none.
    pub(super) fn bytes(&self, token: TokenId) -> &[u8] {
        let bytes = self.env.trie.token(token);
        if bytes.first() == Some(&TokTrie::SPECIAL_TOKEN_MARKER) { &[] } else { bytes }
    }

    /// Returns the environment in which grammars are matched.
    pub(super) fn env(&self) -> TokEnv {
        self.env.clone()
    }
}

impl TokenizerEnv for Env {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<TokenId> {
        self.trie.tokenize_with_greedy_fallback(bytes, |text| match self.tokenizer.encode_fast(text, false) {
            Ok(encoding) => encoding.get_ids().to_vec(),
            Err(_) => self.trie.greedy_tokenize(text.as_bytes()),
        })
    }
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::I32(v) => Some(i64::from(*v)),
        Value::U32(v) => Some(i64::from(*v)),
        Value::U8(v) => Some(i64::from(*v)),
        Value::I64(v) => Some(*v),
        _ => None,
    }
}

/// Returns the bytes behind a token's spelling. Byte-level BPE spells each byte as one printable character: itself
/// where it is printable, else the next free one from U+0100 on.
fn bytes_of(token: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(token.len());
    for c in token.chars() {
        match byte_of(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

fn byte_of(c: char) -> Option<u8> {
    let code = u32::from(c);
    let byte = match code {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => code,
        // The 68 bytes that are not printable, in order: 0..=32, 127..=160, 173.
        0x100..=0x120 => code - 0x100,
        0x121..=0x142 => code - 0x121 + 127,
        0x143 => 173,
        _ => return None,
    };
    u8::try_from(byte).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_token_character() {
        let mut spelt: Vec<u8> = (0..0x144).filter_map(char::from_u32).filter_map(byte_of).collect();
        spelt.sort_unstable();
        assert_eq!(spelt, (0..=255).collect::<Vec<u8>>());
        assert_eq!(bytes_of("Ġhé"), b" h\xe9".to_vec());
        assert_eq!(bytes_of("Ċ"), b"\n".to_vec());
    }
}

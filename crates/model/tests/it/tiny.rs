//! A tiny Qwen2 model with random weights in a sound GGUF file: the tests use it in place of a gigabyte.

use std::collections::BTreeMap;
use std::path::Path;

const WIDTH: usize = 64;
const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const FFN: usize = 96;
const LAYERS: usize = 3;

/// A metadata value.
enum Meta {
    Text(&'static str),
    Number(u32),
    Real(f32),
    Flag(bool),
    Texts(Vec<String>),
    Numbers(Vec<i32>),
}

/// Writes the model, the same every time; some of its matrices quantized, unless it is to be `exact`.
pub(crate) fn write(path: &Path, exact: bool) {
    let (tokens, types, merges) = vocabulary();
    let mut meta: BTreeMap<&str, Meta> = BTreeMap::new();
    meta.insert("general.architecture", Meta::Text("qwen2"));
    meta.insert("general.name", Meta::Text("tiny random"));
    for (name, number) in [
        ("qwen2.block_count", LAYERS),
        ("qwen2.context_length", 4096),
        ("qwen2.embedding_length", WIDTH),
        ("qwen2.feed_forward_length", FFN),
        ("qwen2.attention.head_count", HEADS),
        ("qwen2.attention.head_count_kv", KV_HEADS),
    ] {
        meta.insert(name, Meta::Number(u32::try_from(number).unwrap()));
    }
    meta.insert("qwen2.rope.freq_base", Meta::Real(1_000_000.0));
    meta.insert("qwen2.attention.layer_norm_rms_epsilon", Meta::Real(1e-6));
    let size = tokens.len();
    let id =
        |name: &str| Meta::Number(u32::try_from(tokens.iter().position(|t| t == name).unwrap()).unwrap());
    let (eos, bos) = (id("<|im_end|>"), id("<|endoftext|>"));
    let pad = id("<|endoftext|>");
    meta.insert("tokenizer.ggml.eos_token_id", eos);
    meta.insert("tokenizer.ggml.bos_token_id", bos);
    meta.insert("tokenizer.ggml.padding_token_id", pad);
    meta.insert("tokenizer.ggml.model", Meta::Text("gpt2"));
    meta.insert("tokenizer.ggml.pre", Meta::Text("qwen2"));
    meta.insert("tokenizer.ggml.add_bos_token", Meta::Flag(false));
    meta.insert("tokenizer.ggml.tokens", Meta::Texts(tokens));
    meta.insert("tokenizer.ggml.token_type", Meta::Numbers(types));
    meta.insert("tokenizer.ggml.merges", Meta::Texts(merges));
    meta.insert(
        "tokenizer.chat_template",
        Meta::Text(
            "{%- for m in messages %}{{- '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{%- endfor %}\
             {%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}",
        ),
    );

    // Name, rows, columns; no rows for a vector. Norms are near one, everything else around zero.
    let mut tensors: Vec<(String, usize, usize)> = vec![
        ("token_embd.weight".into(), size, WIDTH),
        ("output_norm.weight".into(), 0, WIDTH),
        ("output.weight".into(), size, WIDTH),
    ];
    let kv = WIDTH / HEADS * KV_HEADS;
    for layer in 0..LAYERS {
        for (name, rows, columns) in [
            ("attn_norm.weight", 0, WIDTH),
            ("attn_q.weight", WIDTH, WIDTH),
            ("attn_k.weight", kv, WIDTH),
            ("attn_v.weight", kv, WIDTH),
            ("attn_q.bias", 0, WIDTH),
            ("attn_k.bias", 0, kv),
            ("attn_v.bias", 0, kv),
            ("attn_output.weight", WIDTH, WIDTH),
            ("ffn_norm.weight", 0, WIDTH),
            ("ffn_gate.weight", FFN, WIDTH),
            ("ffn_up.weight", FFN, WIDTH),
            ("ffn_down.weight", WIDTH, FFN),
        ] {
            tensors.push((format!("blk.{layer}.{name}"), rows, columns));
        }
    }
    std::fs::write(path, file(&meta, &tensors, exact)).unwrap();
}

/// Tokens, their types and the merges: all bytes, a few words, the control tokens.
fn vocabulary() -> (Vec<String>, Vec<i32>, Vec<String>) {
    let printable = |byte: u32| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    let mut next = 0x100;
    let mut tokens: Vec<String> = (0..256)
        .map(|byte| {
            let code = if printable(byte) {
                byte
            } else {
                next += 1;
                next - 1
            };
            char::from_u32(code).unwrap().to_string()
        })
        .collect();
    let merges: Vec<String> =
        ["t h", "th e", "Ġ the", "i n", "a n", "an d", "\" :", "{ \"", "e r"].map(String::from).into();
    tokens.extend(merges.iter().map(|merge| merge.replace(' ', "")));
    let mut types = vec![1; tokens.len()];
    for control in ["<|endoftext|>", "<|im_start|>", "<|im_end|>"] {
        tokens.push(control.into());
        types.push(3);
    }
    while tokens.len() < 288 {
        tokens.push(format!("[PAD{}]", tokens.len()));
        types.push(5);
    }
    (tokens, types, merges)
}

fn file(meta: &BTreeMap<&str, Meta>, tensors: &[(String, usize, usize)], exact: bool) -> Vec<u8> {
    let mut out = b"GGUF".to_vec();
    out.extend(3u32.to_le_bytes());
    out.extend((tensors.len() as u64).to_le_bytes());
    out.extend((meta.len() as u64).to_le_bytes());
    let text = |out: &mut Vec<u8>, text: &str| {
        out.extend((text.len() as u64).to_le_bytes());
        out.extend(text.as_bytes());
    };
    for (key, value) in meta {
        text(&mut out, key);
        let kind = |out: &mut Vec<u8>, kind: u32| out.extend(kind.to_le_bytes());
        match value {
            Meta::Number(number) => {
                kind(&mut out, 4);
                out.extend(number.to_le_bytes());
            }
            Meta::Real(real) => {
                kind(&mut out, 6);
                out.extend(real.to_le_bytes());
            }
            Meta::Flag(flag) => {
                kind(&mut out, 7);
                out.push(u8::from(*flag));
            }
            Meta::Text(value) => {
                kind(&mut out, 8);
                text(&mut out, value);
            }
            Meta::Texts(values) => {
                kind(&mut out, 9);
                kind(&mut out, 8);
                out.extend((values.len() as u64).to_le_bytes());
                values.iter().for_each(|value| text(&mut out, value));
            }
            Meta::Numbers(values) => {
                kind(&mut out, 9);
                kind(&mut out, 5);
                out.extend((values.len() as u64).to_le_bytes());
                values.iter().for_each(|value| out.extend(value.to_le_bytes()));
            }
        }
    }
    let mut data: Vec<u8> = Vec::new();
    let mut random = Random(0x5eed);
    for (name, rows, columns) in tensors {
        text(&mut out, name);
        let dimensions: Vec<usize> = if *rows == 0 { vec![*columns] } else { vec![*columns, *rows] };
        out.extend(u32::try_from(dimensions.len()).unwrap().to_le_bytes());
        dimensions.iter().for_each(|dimension| out.extend((*dimension as u64).to_le_bytes()));
        let quantized = !exact && name.contains("ffn") && *rows > 0;
        out.extend(if quantized { 8u32 } else { 0 }.to_le_bytes());
        data.resize(data.len().next_multiple_of(32), 0);
        out.extend((data.len() as u64).to_le_bytes());
        let count = rows.max(&1) * columns;
        if quantized {
            for _ in 0..count / 32 {
                data.extend(0x1800u16.to_le_bytes()); // 2^-9 as a half
                data.extend((0..32).map(|_| random.next().to_le_bytes()[7]));
            }
        } else {
            let (middle, spread) = if name.contains("norm") { (1.0, 0.2) } else { (0.0, 0.5) };
            for i in 0..count {
                // Only printable tokens are ever likely, so the free output is text without an end.
                let mute = name == "output.weight" && !matches!(i / columns, 0x20..=0x7e | 256..=264);
                let value = if mute { 0.0 } else { middle + spread * random.unit() };
                data.extend(value.to_le_bytes());
            }
        }
    }
    out.resize(out.len().next_multiple_of(32), 0);
    out.extend(data);
    out
}

/// A small generator of repeatable noise (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number between -1 and 1.
    fn unit(&mut self) -> f32 {
        let bits = u16::try_from(self.next() >> 48).unwrap();
        f32::from(bits) / 32768.0 - 1.0
    }
}

//! The Qwen2 network over candle's quantized primitives, with a key-value cache that can be cut back.
//!
//! Everything that takes time runs inside candle. The embedding table stays quantized (rows are expanded as they
//! are looked up), which saves almost a gigabyte over the usual way.

use std::io::{Read, Seek};

use candle_core::quantized::{QMatMul, QTensor, gguf_file};
use candle_core::{D, DType, Device, Error, Module, Result, Tensor};
use candle_nn::attention::{AttnMask, flash_attn};
use candle_nn::ops::{rms_norm, silu};
use candle_nn::rotary_emb::rope_thd;

/// The number of tokens by which the cache grows at a time.
const CACHE_STEP: usize = 512;

/// A loaded model and the state of one conversation.
pub(super) struct Qwen2 {
    embedding: QTensor,
    layers: Vec<Layer>,
    norm: Tensor,
    output: QMatMul,
    shape: Shape,
    /// Rotary tables for every position up to the context's end.
    cos: Tensor,
    sin: Tensor,
    /// The number of tokens in the cache.
    length: usize,
}

/// The dimensions of the network, after they were checked.
#[derive(Debug, Clone, Copy)]
struct Shape {
    heads: usize,
    kv_heads: usize,
    head: usize,
    epsilon: f32,
    context: usize,
}

struct Layer {
    attention_norm: Tensor,
    q: Linear,
    k: Linear,
    v: Linear,
    o: QMatMul,
    ffn_norm: Tensor,
    gate: QMatMul,
    up: QMatMul,
    down: QMatMul,
    keys: Cache,
    values: Cache,
}

struct Linear {
    weight: QMatMul,
    bias: Tensor,
}

/// The keys or values of one layer, as `(1, capacity, kv_heads, head)`. The model's `length` tells how many of the
/// first entries are filled.
#[derive(Default)]
struct Cache(Option<Tensor>);

impl Cache {
    /// Puts `new` after the first `length` entries, and returns all of them.
    fn append(&mut self, new: &Tensor, length: usize) -> Result<Tensor> {
        let (_, count, heads, head) = new.dims4()?;
        let needed = length + count;
        let capacity = self.0.as_ref().map_or(Ok(0), |buffer| buffer.dim(1))?;
        if capacity < needed {
            let room = needed.next_multiple_of(CACHE_STEP);
            let buffer = Tensor::zeros((1, room, heads, head), DType::F32, &Device::Cpu)?;
            if let Some(old) = self.0.as_ref().filter(|_| length > 0) {
                buffer.slice_set(&old.narrow(1, 0, length)?.contiguous()?, 1, 0)?;
            }
            self.0 = Some(buffer);
        }
        let buffer = self.0.as_ref().ok_or_else(|| Error::msg("no cache"))?;
        buffer.slice_set(&new.contiguous()?, 1, length)?;
        buffer.narrow(1, 0, needed)
    }
}

impl Linear {
    fn add_bias(&self, product: Tensor) -> Result<Tensor> {
        product.broadcast_add(&self.bias)
    }
}

impl Qwen2 {
    /// Reads the network from a GGUF file; the context is at most `context` tokens.
    pub(super) fn load(
        content: &gguf_file::Content,
        reader: &mut (impl Read + Seek),
        context: usize,
    ) -> Result<Self> {
        let number = |name: &str| -> Result<usize> {
            let value = content
                .metadata
                .get(&format!("qwen2.{name}"))
                .ok_or_else(|| Error::msg(format!("qwen2.{name} is missing")))?;
            Ok(value.to_u32()? as usize)
        };
        let (heads, kv_heads) = (number("attention.head_count")?, number("attention.head_count_kv")?);
        let (hidden, layers) = (number("embedding_length")?, number("block_count")?);
        let real = |name: &str| content.metadata.get(name).and_then(|value| value.to_f32().ok());
        if heads == 0 || kv_heads == 0 || heads % kv_heads != 0 || hidden % heads != 0 || layers > 1000 {
            return Err(Error::msg(format!(
                "{heads} heads, {kv_heads} of keys, width {hidden}, {layers} layers"
            )));
        }
        let head = hidden / heads;
        if head % 2 != 0 {
            return Err(Error::msg(format!("heads of odd width {head}")));
        }
        let shape = Shape {
            heads,
            kv_heads,
            head,
            epsilon: real("qwen2.attention.layer_norm_rms_epsilon").unwrap_or(1e-6),
            context: number("context_length")?.min(context).max(1),
        };

        let mut quantized = |name: String| content.tensor(reader, &name, &Device::Cpu);
        let mut blocks = Vec::with_capacity(layers);
        for number in 0..layers {
            let mut tensor = |name: &str| quantized(format!("blk.{number}.{name}"));
            let plain = |tensor: QTensor| tensor.dequantize(&Device::Cpu);
            let mut matrix = |name: &str| QMatMul::from_qtensor(tensor(name)?);
            let (q, k, v) = (matrix("attn_q.weight")?, matrix("attn_k.weight")?, matrix("attn_v.weight")?);
            let o = matrix("attn_output.weight")?;
            let (gate, up, down) =
                (matrix("ffn_gate.weight")?, matrix("ffn_up.weight")?, matrix("ffn_down.weight")?);
            blocks.push(Layer {
                q: Linear { weight: q, bias: plain(tensor("attn_q.bias")?)? },
                k: Linear { weight: k, bias: plain(tensor("attn_k.bias")?)? },
                v: Linear { weight: v, bias: plain(tensor("attn_v.bias")?)? },
                o,
                gate,
                up,
                down,
                attention_norm: plain(tensor("attn_norm.weight")?)?,
                ffn_norm: plain(tensor("ffn_norm.weight")?)?,
                keys: Cache::default(),
                values: Cache::default(),
            });
        }
        let embedding = quantized("token_embd.weight".to_owned())?;
        let norm = quantized("output_norm.weight".to_owned())?.dequantize(&Device::Cpu)?;
        // Small models use one table for the input and the output.
        let last = if content.tensor_infos.contains_key("output.weight") { "output" } else { "token_embd" };
        let output = QMatMul::from_qtensor(quantized(format!("{last}.weight"))?)?;
        let (cos, sin) = rotary(shape, real("qwen2.rope.freq_base").unwrap_or(10_000.0))?;
        Ok(Self { embedding, layers: blocks, norm, output, shape, cos, sin, length: 0 })
    }

    /// Returns the number of tokens that fit into the context.
    pub(super) fn context(&self) -> usize {
        self.shape.context
    }

    /// Returns the number of tokens in the vocabulary.
    pub(super) fn vocabulary(&self) -> Result<usize> {
        self.embedding.shape().dims2().map(|(rows, _)| rows)
    }

    /// Forgets everything after the first `length` tokens.
    pub(super) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Reads more tokens, and returns the scores of the next token: one number for each token of the vocabulary.
    pub(super) fn forward(&mut self, tokens: &[u32]) -> Result<Vec<f32>> {
        let count = tokens.len();
        if count == 0 || self.length + count > self.shape.context {
            return Err(Error::msg("the tokens do not fit the context"));
        }
        let Shape { heads, kv_heads, head, epsilon, .. } = self.shape;
        let ids = Tensor::new(tokens, &Device::Cpu)?;
        let cos = self.cos.narrow(0, self.length, count)?;
        let sin = self.sin.narrow(0, self.length, count)?;
        #[allow(clippy::cast_precision_loss, reason = "a head is a few hundred wide")]
        let scale = 1.0 / (head as f32).sqrt();

        let mut x = self.embedding.embedding(&ids)?;
        for layer in &mut self.layers {
            let h = rms_norm(&x, &layer.attention_norm, epsilon)?;
            let [q, k, v] = multiply_all([&layer.q.weight, &layer.k.weight, &layer.v.weight], &h)?;
            let q = layer.q.add_bias(q)?.reshape((1, count, heads, head))?;
            let k = layer.k.add_bias(k)?.reshape((1, count, kv_heads, head))?;
            let v = layer.v.add_bias(v)?.reshape((1, count, kv_heads, head))?;
            let q = rope_thd(&q, &cos, &sin)?;
            let keys = layer.keys.append(&rope_thd(&k, &cos, &sin)?, self.length)?;
            let values = layer.values.append(&v, self.length)?;
            let mask = AttnMask::causal_with_offset(self.length);
            let attended = flash_attn::<f32>(&q, &keys, &values, scale, mask, None, None)?;
            let attended = attended.transpose(1, 2)?.reshape((count, heads * head))?;
            x = (x + layer.o.forward(&attended)?)?;

            let h = rms_norm(&x, &layer.ffn_norm, epsilon)?;
            let [gate, up] = multiply_all([&layer.gate, &layer.up], &h)?;
            x = (x + layer.down.forward(&(silu(&gate)? * up)?)?)?;
        }
        self.length += count;
        let last = x.narrow(0, count - 1, 1)?.contiguous()?;
        let last = rms_norm(&last, &self.norm, epsilon)?;
        self.output.forward(&last)?.flatten_all()?.to_vec1()
    }
}

/// Multiplies several matrices by one vector or batch, in one parallel region where candle can.
fn multiply_all<const N: usize>(matrices: [&QMatMul; N], x: &Tensor) -> Result<[Tensor; N]> {
    let quantized: Vec<&QTensor> = matrices
        .iter()
        .filter_map(|matrix| match matrix {
            QMatMul::QTensor(tensor) => Some(tensor.as_ref()),
            QMatMul::Tensor(_) | QMatMul::TensorF16(_) => None,
        })
        .collect();
    let fused = if quantized.len() == N { QTensor::gemv_fused_shared_lhs(&quantized, x)? } else { None };
    let products = match fused {
        Some(products) => products,
        None => matrices.iter().map(|matrix| matrix.forward(x)).collect::<Result<Vec<_>>>()?,
    };
    products.try_into().map_err(|_| Error::msg("a product is missing"))
}

/// Returns the cosines and sines of the rotary embedding, each as `(context, head / 2)`.
fn rotary(shape: Shape, base: f32) -> Result<(Tensor, Tensor)> {
    #[allow(clippy::cast_precision_loss, reason = "positions and widths are far below 2^24")]
    let frequencies: Vec<f32> =
        (0..shape.head).step_by(2).map(|i| base.powf(-(i as f32) / shape.head as f32)).collect();
    let frequencies = Tensor::new(frequencies.as_slice(), &Device::Cpu)?.unsqueeze(0)?;
    let positions = u32::try_from(shape.context).map_err(Error::wrap)?;
    let positions = Tensor::arange(0, positions, &Device::Cpu)?.to_dtype(DType::F32)?.unsqueeze(D::Minus1)?;
    let angles = positions.broadcast_mul(&frequencies)?;
    Ok((angles.cos()?, angles.sin()?))
}

//! qwen2

//! The built-in worker for a slot that is filled by a model. It only passes its prompt to that model.

use std::collections::BTreeMap;

use crate::definition::Bundle;

/// The text of the worker file. The worker has no slots, and answers once.
const SOURCE: &str = "---
description: Asks another model, which sees only what you write here. It has no tools.
input: { prompt: string, system?: string }
attachments: { max: 4, bytes: 10MiB }
limits: { turns: 2, depth: 0 }
---
{% if input.system is defined %}{{ input.system }}

{% endif %}{{ input.prompt }}
";

/// Returns the worker that represents a model.
pub fn model_worker() -> Bundle {
    Bundle {
        name: "model".to_owned(),
        file: "model.worker".to_owned(),
        source: SOURCE.to_owned(),
        includes: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition;

    #[test]
    fn model_worker_parses_without_diagnostics() {
        let (found, diagnostics) = definition::parse(&model_worker());
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        assert!(found.unwrap().slots.is_empty());
    }
}

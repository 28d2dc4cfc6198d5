//! The models that the machine's administrator allows.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use model::ModelRef;
use model::weights;

/// One allowed model, or all models whose names begin alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelRule {
    /// The model, with everything before the `*` as its name.
    model: ModelRef,
    is_prefix: bool,
}

impl ModelRule {
    /// Reads a model as after `-m`. A `*` at its end stands for any rest of the name.
    pub(super) fn parse(text: &str) -> Result<ModelRule, String> {
        let is_prefix = text.trim_end().ends_with('*');
        let model: ModelRef = text.parse().map_err(|error: model::ReferenceError| error.to_string())?;
        if model.key().is_some() {
            return Err("a model is allowed with any key: leave `?key=` out".to_owned());
        }
        Ok(ModelRule { model, is_prefix })
    }

    /// Returns whether a model is the one that this rule allows, at the server that the rule names.
    pub(super) fn allows(&self, asked: &ModelRef) -> bool {
        let matches = |own: &str, other: &str| match own.strip_suffix('*').filter(|_| self.is_prefix) {
            Some(before) => other.starts_with(before),
            None => own == other,
        };
        match (&self.model, &asked.plain()) {
            (ModelRef::Local { name }, ModelRef::Local { name: other }) => {
                matches(local(name.as_deref()), local(other.as_deref()))
            }
            (
                ModelRef::Vendor { vendor, base_url, model, .. },
                ModelRef::Vendor { vendor: other, base_url: url, model: name, .. },
            ) => vendor == other && base_url == url && matches(model, name),
            (ModelRef::Ollama { url, model }, ModelRef::Ollama { url: other, model: name }) => {
                url == other && matches(model, name)
            }
            (
                ModelRef::Compat { base_url, model, .. },
                ModelRef::Compat { base_url: url, model: name, .. },
            ) => base_url == url && matches(model, name),
            (ModelRef::Scripted { path }, ModelRef::Scripted { path: other })
            | (ModelRef::Replay { path }, ModelRef::Replay { path: other }) => {
                self.allows_file(&path.to_string_lossy(), other)
            }
            _ => false,
        }
    }

    /// Returns whether a file is the one of this rule, or lies where the rule says, with all links followed.
    fn allows_file(&self, own: &str, asked: &Path) -> bool {
        let is_plain = asked.is_absolute()
            && !asked.components().any(|part| matches!(part, Component::ParentDir | Component::CurDir));
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match own.strip_suffix('*').filter(|_| self.is_prefix) {
            Some("") => true,
            Some(before) => {
                let (dir, name) = before.rsplit_once('/').unwrap_or(("", before));
                let dir = if dir.is_empty() { PathBuf::from("/") } else { real(Path::new(dir)) };
                let start = dir.join(name);
                let asked = real(asked);
                let (start, asked) = (start.to_string_lossy(), asked.to_string_lossy());
                is_plain && asked.starts_with(&*start)
            }
            None => is_plain && real(Path::new(own)) == real(asked),
        }
    }
}

impl fmt::Display for ModelRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.model.fmt(f)
    }
}

/// Returns the name of a local model. Without a name, the default one is meant.
fn local(name: Option<&str>) -> &str {
    name.unwrap_or_else(|| weights::default().name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_is_allowed_at_the_named_server_only() {
        #[track_caller]
        fn check(rule: &str, model: &str, expected: bool) {
            let rule = ModelRule::parse(rule).unwrap();
            assert_eq!(rule.allows(&model.parse().unwrap()), expected, "{rule} {model}");
        }
        check("openai:gpt-4.1-mini", "openai:gpt-4.1-mini", true);
        check("openai:gpt-4.1-mini", "openai:gpt-4.1-mini?key=own", true);
        check("openai:gpt-4.1-mini", "openai:gpt-4.1", false);
        check("openai:gpt-4.1-mini", "openai:https://evil.example/v1#gpt-4.1-mini", false);
        check("openai:gpt-4.1-mini", "openai:https://api.openai.com/v1#gpt-4.1-mini", true);
        check("openai:gpt-4.1-mini", "openai-responses:gpt-4.1-mini", false);
        check("openai:gpt-4*", "openai:gpt-4.1", true);
        check("openai:gpt-4*", "openai:gpt-5", false);
        check("openai:*", "openai:anything", true);
        check("openai:*", "openai:https://evil.example/v1#anything", false);
        check("openai:*", "anthropic:anything", false);
        check("openai:https://llm.corp.example/v1#*", "openai:https://llm.corp.example/v1#m", true);
        check("openai:https://llm.corp.example/v1#*", "openai:m", false);
        check("compat:https://llm.corp.example/v1#*", "compat:https://llm.corp.example/v1#m", true);
        check("compat:https://llm.corp.example/v1#*", "compat:https://llm.corp.example:444/v1#m", false);
        check("compat:https://llm.corp.example/v1#*", "compat:https://llm.corp.example/v1/x#m", false);
        check("ollama:*", "ollama:qwen3", true);
        check("ollama:*", "ollama:http://box:11434#qwen3", false);
        check("local", "local", true);
        check("local", &format!("local:{}", weights::default().name), true);
        check("local", "local:another", false);
        check("local:*", "local", true);
        check("local:*", "scripted:/tmp/a.json", false);
        check("scripted:*", "scripted:/tmp/a.json", true);
        check("scripted:/opt/*", "scripted:/tmp/a.json", false);
        check("scripted:*", "replay:/tmp/a.ndjson", false);
        check("scripted:/opt/*", "scripted:/opt/a.json", true);
        check("scripted:/opt/*", "scripted:/opt/../tmp/a.json", false);
        check("scripted:/opt/*", "scripted:opt/a.json", false);
        check("scripted:/opt/a.json", "scripted:/opt/x/../a.json", false);
        check("scripted:/opt/a.json", "scripted:/opt/a.json", true);
        check("replay:/opt/*", "replay:/tmp/../opt/../etc/a", false);
    }

    #[test]
    fn link_out_of_the_allowed_directory_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for dir in ["allowed", "other"] {
            std::fs::create_dir(path(dir)).unwrap();
        }
        for file in ["allowed/in.json", "other/out.json"] {
            std::fs::write(path(file), "[]").unwrap();
        }
        std::os::unix::fs::symlink(path("other/out.json"), path("allowed/link.json")).unwrap();
        std::os::unix::fs::symlink(path("allowed"), path("linked")).unwrap();
        for (dir, file, expected) in [
            ("allowed", "allowed/in.json", true),
            ("allowed", "allowed/link.json", false),
            ("allowed", "other/out.json", false),
            // The rule itself may name a link.
            ("linked", "linked/in.json", true),
            ("linked", "allowed/in.json", true),
        ] {
            let rule = ModelRule::parse(&format!("scripted:{}/*", path(dir).display())).unwrap();
            let model = format!("scripted:{}", path(file).display()).parse().unwrap();
            assert_eq!(rule.allows(&model), expected, "{dir} {file}");
        }
    }

    #[test]
    fn rule_that_names_no_model_is_refused() {
        for (text, says) in [
            ("gpt-4", "unknown kind"),
            ("*", "unknown kind"),
            ("openai:", "no model"),
            ("openai:m?key=work", "leave `?key=` out"),
            ("compat:https://h/v1", "compat:BASE_URL#MODEL"),
        ] {
            let error = ModelRule::parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}

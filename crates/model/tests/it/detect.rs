//! Finding a model, and opening it.

use std::path::Path;

use model::{DetectedModel, ModelError, Opener, Secret, detect, weights};

use network::Network;

use crate::server::{Server, http, json};

/// Detects with these variables. The Ollama address is always set, so that no test meets a real one.
fn found(vars: &[(&str, &str)], dir: &Path) -> DetectedModel {
    let lookup = |name: &str| {
        let none = [("OLLAMA_HOST", "127.0.0.1:1")];
        let mut all = vars.iter().chain(&none);
        all.find(|(n, _)| *n == name).map(|(_, value)| Secret::new(*value))
    };
    detect(&lookup, dir, &Network::default())
}

#[test]
fn detection_finds_the_best_model() {
    let dir = tempfile::tempdir().unwrap();
    let name = |found: DetectedModel| found.reference().to_string();
    let tags = r#"{"models": [{"name": "nomic-embed-text:latest"}, {"name": "qwen3:4b"}]}"#;
    let ollama = Server::new(vec![json("200 OK", tags)]);
    let host = ("OLLAMA_HOST", ollama.url.as_str());
    assert_eq!(name(found(&[("OPENAI_API_KEY", "k"), host], dir.path())), "openai:gpt-4.1-mini");
    // In this order, beside anything else.
    let all = [("GOOGLE_API_KEY", "g"), ("ANTHROPIC_API_KEY", "a"), ("OPENAI_API_KEY", "k"), host];
    assert_eq!(name(found(&all, dir.path())), "openai:gpt-4.1-mini");
    assert_eq!(name(found(&all[..2], dir.path())), "anthropic:claude-haiku-4-5");
    assert_eq!(name(found(&[all[0], host], dir.path())), "gemini:gemini-2.5-flash");
    assert_eq!(name(found(&[all[1], ("ANTHROPIC_MODEL", "c")], dir.path())), "anthropic:c");
    let both = [("OPENAI_API_KEY", "k"), ("OPENAI_MODEL", "gpt-x")];
    assert_eq!(name(found(&both, dir.path())), "openai:gpt-x");
    assert_eq!(name(found(&[("OPENAI_API_KEY", " "), host], dir.path())), "ollama:qwen3:4b");

    let broken = Server::new(vec![http("500 Oops", "", ""), json("200 OK", r#"{"models": []}"#)]);
    for _ in 0..2 {
        let found = found(&[("OLLAMA_HOST", &broken.url)], dir.path());
        assert!(matches!(found, DetectedModel::Pull { .. }), "{found:?}");
    }

    // Present is a file of the right size; whether it is the right file is checked when it is loaded.
    let path = weights::default().path(dir.path());
    std::fs::write(&path, "half").unwrap();
    assert!(matches!(found(&[], dir.path()), DetectedModel::Pull { .. }));
    std::fs::File::create(&path).unwrap().set_len(weights::default().bytes).unwrap();
    assert!(matches!(found(&[], dir.path()), DetectedModel::Local { .. }));
}

#[test]
fn opening_reports_the_missing_part() {
    let dir = tempfile::tempdir().unwrap();
    let opener = Opener::new(|_| None, dir.path()).with_launch(|_| std::process::Command::new("false"));
    let open = |reference: &str| opener.open(&reference.parse().unwrap()).map(|provider| provider.name());
    assert!(matches!(open("local"), Err(ModelError::WeightsMissing { .. })));
    assert!(matches!(open("local:other"), Err(ModelError::ModelNotFound { .. })));
    assert!(matches!(open("openai:m"), Err(ModelError::KeyMissing { .. })));
    assert!(matches!(open("scripted:/no/such/file"), Err(ModelError::File { .. })));
    assert!(matches!(open("replay:/no/such/file"), Err(ModelError::File { .. })));
    assert_eq!(open("ollama:m").unwrap(), "ollama:m");
    std::fs::write(weights::default().path(dir.path()), "half").unwrap();
    assert!(matches!(open("local"), Err(ModelError::WeightsCorrupt { .. })));
    let without = Opener::new(|_| None, dir.path());
    assert_eq!(without.open(&"local".parse().unwrap()).map(|p| p.name()), Err(ModelError::NotBuilt));
}

//! Tests of models of several vendors: their cost, and the replacement of one that fails.

use serde_json::{Value, json};

use crate::bad_input::server::{Server, costs, raw_events, says, status};
use crate::test_home::{Said, TestHome};

const HELLO: &str = "---\ndescription: Says hello.\n---\nSay hello.\n";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nand pixels";

fn home() -> TestHome {
    let home = TestHome::new();
    home.write("hello.worker", HELLO);
    home
}

fn settings(home: &TestHome, text: &str) {
    let dir = home.root().join("config");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("config.toml"), text).unwrap();
}

fn shell(home: &TestHome, vars: &[(&str, &str)], args: &[&str]) -> Said {
    Said::of(home.command(args).envs(vars.iter().copied()).output().unwrap())
}

#[test]
fn cost_limit_requires_a_price_and_is_enforced() {
    let home = home();
    home.write(
        "spender.worker",
        "---\nlimits: { usd: 0.01, turns: 50 }\nslots: { out: dir rw }\n---\nList until you are told to stop.\n",
    );
    let server = Server::start(|_, _| costs("out_list", "{\"path\": \".\"}", 1000));
    let args = ["run", "spender.worker", "-e", "out=out:rw", "-m", &server.model()];
    let said = home.almoner(&args).expect(6);
    assert!(said.err.contains("the price of compat:"), "{}", said.err);
    assert!(said.err.contains("[models.prices]") && server.requests().is_empty(), "{}", said.err);

    // Three dollars for a million tokens: three replies of a thousand cost 0.9 cents, a fourth breaks the limit.
    settings(&home, &format!("[models.prices]\n\"{}\" = {{ input = 3, output = 3 }}\n", server.model()));
    // Then the run asks for more money, and the user gives it none.
    home.almoner(&args).expect(7);
    let card = home.almoner(&["inbox", "1", "--full"]).expect(0).out;
    assert!(card.contains("$0.0120 of $0.0100 are spent") && card.contains("adds $0.0100"), "{card}");
    home.almoner(&["deny", "1"]).expect(0);
    let said = home.almoner(&["resume", "r1"]).expect(5);
    assert!(said.err.contains("$0.0120 of $0.0100 are spent"), "{}", said.err);
    assert_eq!(server.requests().len(), 4);
    // No reply may be longer than there is money for it.
    let most: Vec<u64> = server.requests().iter().map(|body| body["max_tokens"].as_u64().unwrap()).collect();
    assert_eq!(most, [3333, 2333, 1333, 333]);
    let trace = home.almoner(&["trace", "r1"]).expect(0).out;
    assert!(trace.contains("$0.0120") && trace.contains("$0.0030"), "{trace}");
    let stats = home.almoner(&["stats"]).expect(0).out;
    assert!(stats.contains("$0.0120"), "{stats}");

    // The price of a vendor's own model is known, and a free model needs no price.
    home.write("free.worker", "---\nlimits: { usd: 0 }\n---\nSay hello.\n");
    home.write("hello.json", r#"[{"turns": [{"text": "hello"}]}]"#);
    assert_eq!(home.almoner(&["run", "free.worker", "-m", "scripted:hello.json"]).expect(0).out, "hello\n");
    let dry = ["run", "free.worker", "--dry-run", "-m", "anthropic:claude-haiku-4-5"];
    let plan = home.almoner(&dry).expect(0).out;
    assert!(plan.contains("notes: no key for anthropic is here: set ANTHROPIC_API_KEY"), "{plan}");
    let plan = home.command(&dry).env("ANTHROPIC_API_KEY", "sk-x").output().unwrap();
    assert!(!Said::of(plan).expect(0).out.contains("no key"));
    let plan = home.almoner(&["run", "free.worker", "--dry-run", "-m", "local"]).expect(0).out;
    assert!(plan.contains("notes: no model is here: `almoner models pull "), "{plan}");
    home.almoner(&["run", "free.worker", "--dry-run", "-m", "anthropic:claude-unheard-of"]).expect(6);
}

/// Servers count nothing, or always zero, and other programs show and count zero then: seangalliher/ProbOS#1078,
/// langgenius/dify#17764, hotovo/aider-desk#457.
#[test]
fn reply_without_token_counts_is_charged_anyway() {
    let counts = json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0});
    let zero =
        json!({"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}], "usage": counts});
    let zero = status("200 OK", "content-type: application/json\r\n", &zero.to_string());
    for answer in [says("hello"), zero] {
        let home = home();
        home.write("spender.worker", "---\nlimits: { usd: 1 }\n---\nSay hello.\n");
        let server = Server::saying(vec![answer]);
        settings(&home, &format!("[models.prices]\n\"{}\" = {{ input = 3, output = 3 }}\n", server.model()));
        home.almoner(&["run", "spender.worker", "-m", &server.model()]).expect(0);
        let trace = home.trace("r1");
        assert!(trace["run"]["used"]["usd_micros"].as_u64().is_some_and(|micros| micros > 0), "{trace}");
        // The guess is shown, and no zero.
        let shown = home.almoner(&["trace", "r1"]).expect(0).out;
        let replied = shown.lines().find(|line| line.contains(" tokens in, ")).unwrap();
        assert!(!replied.contains(" 0 tokens in") && !replied.contains(", 0 out"), "{shown}");
    }
}

#[test]
fn failing_model_falls_back_to_the_next_and_journal_names_it() {
    let home = home();
    let limited = Server::saying(vec![status("429 Slow", "retry-after: 600\r\n", "")]);
    let closed = Server::saying(vec![status("401 Unauthorized", "", r#"{"error": "no"}"#)]);
    let good = Server::saying(vec![says("hello")]);
    let models = [limited.model(), closed.model(), good.model()].join(",");
    for _ in 0..2 {
        assert_eq!(home.almoner(&["run", "hello.worker", "-m", &models]).expect(0).out, "hello\n");
    }
    // The models that failed are blocked for a while, so none of them is asked twice in a row.
    assert_eq!((limited.requests().len(), closed.requests().len(), good.requests().len()), (1, 1, 2));
    let trace = home.almoner(&["trace", "r2"]).expect(0).out;
    let replied = trace.lines().find(|line| line.contains("replied")).unwrap();
    assert!(replied.contains(&good.model()), "{trace}");
    // If all models are blocked, the run waits for the first of them and asks no model.
    let two = [limited.model(), closed.model()].join(",");
    home.almoner(&["run", "hello.worker", "--detach", "-m", &two]).expect(0);
    crate::rate_limits::await_line(&home, &["runs"], "slow down");
    assert_eq!(limited.requests().len() + closed.requests().len(), 2);
    let said = home.almoner(&["run", "hello.worker", "-m", "local,nonsense"]).expect(2);
    assert!(said.err.contains("unknown kind of model"), "{}", said.err);
}

#[test]
fn vendor_key_is_sent_only_to_its_server() {
    let home = home();
    let events =
        |list: &[Value]| raw_events(&list.iter().map(|e| format!("data: {e}\n\n")).collect::<String>());
    let anthropic = Server::saying(vec![events(&[
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 5}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hello"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}),
        json!({"type": "message_stop"}),
    ])]);
    let gemini = Server::saying(vec![events(&[
        json!({"candidates": [{"content": {"parts": [{"text": "hello"}]}, "finishReason": "STOP"}]}),
    ])]);
    for (server, key, url, model, run) in [
        (&anthropic, "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "anthropic:m", "r1"),
        (&gemini, "GOOGLE_API_KEY", "GEMINI_BASE_URL", "gemini:m", "r3"),
    ] {
        let at = server.url();
        let vars = [(key, "sk-test-1234"), (url, at.as_str()), ("OPENAI_API_KEY", "sk-other")];
        assert_eq!(shell(&home, &vars, &["run", "hello.worker", "-m", model]).expect(0).out, "hello\n");
        // The run keeps to that server, and its journal has no key.
        let trace = home.trace(run).to_string();
        assert!(trace.contains(&at) && !trace.contains("sk-test"), "{trace}");
        let listed = shell(&home, &vars[..2], &["models"]).expect(0).out;
        assert!(
            listed.contains(&format!("the key in {key}")) && listed.contains("no key in OPENAI"),
            "{listed}"
        );
        // Without a name it is found by its key.
        assert_eq!(shell(&home, &vars[..2], &["run", "hello.worker"]).expect(0).out, "hello\n");
        assert_eq!(server.requests().len(), 2);
    }
    assert!(anthropic.requests().iter().all(|body| body["system"].as_str().unwrap().contains("Say hello")));
    assert!(gemini.requests().iter().all(|body| body["systemInstruction"].is_object()));
}

#[test]
fn image_is_sent_to_capable_models_and_never_journaled() {
    let home = home();
    home.write(
        "see.worker",
        "---\nattachments: { max: 2, suffixes: [.png, .pdf] }\n---\nSay what you see.\n",
    );
    home.write("a.png", PNG);
    home.write("b.png", "no picture");
    let server = Server::saying(vec![says("a cat")]);
    let model = server.model();
    let said = home.almoner(&["run", "see.worker", "a.png", "-m", &model]).expect(6);
    assert!(said.err.contains("use a model that takes pictures"), "{}", said.err);

    settings(&home, &format!("[models]\nimages = [\"{model}\"]\n"));
    let said = home.almoner(&["run", "see.worker", "b.png", "-m", &model]).expect(6);
    assert!(said.err.contains("its content is no picture"), "{}", said.err);
    assert!(server.requests().is_empty());
    assert_eq!(home.almoner(&["run", "see.worker", "a.png", "-m", &model]).expect(0).out, "a cat\n");
    let content = &server.requests()[0]["messages"][1]["content"];
    assert_eq!(content[0]["image_url"]["url"], "data:image/png;base64,iVBORw0KGgphbmQgcGl4ZWxz");
    let text = content[1]["text"].as_str().unwrap();
    assert!(text.contains("(sent as it is: image/png, 18 bytes)"), "{text}");
    // Of several models all must take it.
    let both = format!("{model},local");
    home.almoner(&["run", "see.worker", "a.png", "--dry-run", "-m", &both]).expect(6);
    // The bytes lie beside the store once, as they are.
    for (path, (_, bytes)) in crate::bad_input::files(&home.root()) {
        let base64 = bytes.windows(16).any(|window| window == b"iVBORw0KGgphbmQg");
        assert!(!base64, "{}", path.display());
    }
}

#[test]
fn pdf_is_sent_whole_or_as_marked_text() {
    let home = home();
    home.write("read.worker", "---\nattachments: { max: 2 }\n---\nSay what it is.\n");
    let inbox = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/inbox/mail/1-invoice-harbour-print.pdf");
    let bytes = std::fs::read(inbox).unwrap();
    home.write("bill.pdf", &bytes);
    home.write("page.pdf", "<html>no PDF</html>");
    let server = Server::saying(vec![says("a bill")]);
    let model = server.model();
    let run = |file: &str| home.almoner(&["run", "read.worker", file, "-m", &model]);
    run("bill.pdf").expect(0);
    let text = server.requests()[0]["messages"][1]["content"].as_str().unwrap().to_owned();
    assert!(text.contains("(text extracted from a PDF)") && text.contains("Harbour"), "{text}");
    // The model is told the name of a single document too: langgenius/dify#24762, googleapis/python-genai#280.
    let first = text.lines().next().unwrap().to_owned();
    assert!(first.ends_with(" \"bill.pdf\" (text extracted from a PDF)"), "{first}");
    let mark = first.split(' ').nth(2).unwrap();
    assert!(text.ends_with(&format!("\n=== end {mark}")), "{text}");

    settings(&home, &format!("[models]\npdfs = [\"{model}\"]\n"));
    run("bill.pdf").expect(0);
    let content = server.requests()[1]["messages"][1]["content"].clone();
    assert_eq!(content[0]["file"]["filename"], "bill.pdf");
    let sent = content[0]["file"]["file_data"].as_str().unwrap();
    assert!(sent.starts_with("data:application/pdf;base64,JVBERi0"), "{}", &sent[..60]);
    assert_eq!(sent.len() - "data:application/pdf;base64,".len(), bytes.len().div_ceil(3) * 4);
    let beside = content[1]["text"].as_str().unwrap();
    assert!(beside.contains("(sent as it is: application/pdf") && !beside.contains("Harbour"), "{beside}");
    // A file that is no PDF goes to no model.
    run("page.pdf").expect(6);

    // A file cannot have a stand-in put into it.
    home.piped(&["secret", "set", "CUSTOMER", "--for", "https://h.example"], b"Harbour").expect(0);
    run("bill.pdf").expect(0);
    let text = server.requests()[2]["messages"][1]["content"].as_str().unwrap().to_owned();
    assert!(text.contains("⟦secret CUSTOMER⟧") && !text.contains("Harbour"), "{text}");
}

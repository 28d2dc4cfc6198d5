//! Models that are not there, scripts that end early, weights that are not whole.

use super::{RunFixture, check, namespace, runs};

/// Where the local model's weights lie, and how many bytes they have.
const WEIGHTS: (&str, u64) = ("qwen2.5-coder-1.5b-instruct-q4_k_m.gguf", 1_117_320_768);

#[test]
fn unknown_model_is_refused_before_the_run_starts() {
    let desk = RunFixture::new();
    desk.home.write("notes.txt", "not a script");
    let cases: &[(&str, i32, &[&str], &str)] = &[
        ("gpt-4", 2, &["unknown kind of model in `gpt-4`"], "openai:NAME"),
        ("openai:", 2, &["names no model"], "openai:NAME"),
        ("compat:http://h/v1", 2, &["compat:BASE_URL#MODEL"], "compat:URL#NAME"),
        ("compat:ftp://h#m", 2, &["not an http"], "compat:URL#NAME"),
        ("compat:https://me:pw@h/v1#m", 2, &["no user name or password"], "compat:URL#NAME"),
        ("local:huge", 4, &["no local model `local:huge`"], "the local models are: qwen"),
        ("scripted:none.json", 4, &["none.json", "No such file"], "check the path"),
        ("replay:none.ndjson", 4, &["none.ndjson", "No such file"], "check the path"),
        // No user is here to confirm a download.
        ("local", 7, &["1065 MiB to fetch", "no model to use"], "`almoner models pull --yes`"),
    ];
    for (model, code, says, help) in cases {
        desk.refused(&["run", "hello.worker", "-m", model], *code, says, help);
    }
    // Nothing named, and nothing found.
    desk.refused(&["run", "hello.worker"], 7, &["no model to use"], "set OPENAI_API_KEY");
    desk.refused(&["ask", "How are you?"], 7, &["no model to use"], "set OPENAI_API_KEY");
    desk.nothing_happened();
}

#[test]
fn failing_script_stalls_the_run_until_fixed() {
    let cases: &[(&str, &str, &str)] = &[
        (r#"[{"turns": []}]"#, "asks for turn 1, but its entry has 0", "add a turn to the script"),
        (r#"[{"worker": "other", "turns": [{"text": "x"}]}]"#, "no entry fits worker `hello`", "add a turn"),
        (r#"[{"turns": [{"error": "server_error"}]}]"#, "status 500", "resume the run later"),
        (r#"[{"turns": [{"error": "unreachable"}]}]"#, "cannot reach", "check the network"),
        (r#"[{"turns": [{"error": "context_too_long"}]}]"#, "context", "larger context"),
        (r#"[{"turns": [{"error": "the cat ate it"}]}]"#, "the cat ate it", "add a turn"),
        ("not a script", "is not a script", "add a turn to the script"),
        (r#"[{"turn": []}]"#, "is not a script", "add a turn to the script"),
    ];
    let desk = RunFixture::new();
    for (i, (script, says, help)) in cases.iter().enumerate() {
        desk.home.write("mine.json", script);
        let args = ["run", "hello.worker", "-m", "scripted:mine.json"];
        let run = format!("r{}", i + 3);
        desk.refused(&args, 1, &[&format!("{run} stalled"), says], help);
        desk.refused(&["resume", &run], 1, &[says], "almoner resume");
        desk.home.write("mine.json", super::SAYS_HELLO);
        assert_eq!(desk.home.almoner(&["resume", &run]).expect(0).out, "hello\n");
    }
    desk.nothing_lost();
}

#[test]
fn missing_key_is_named_and_can_be_set_later() {
    let desk = RunFixture::new();
    let args = ["run", "hello.worker", "-m", "openai:gpt"];
    desk.refused(&args, 1, &["r3 stalled", "OPENAI_API_KEY is not set"], "set OPENAI_API_KEY");
    desk.refused(&args, 1, &["r4 stalled"], "then `almoner resume`");
    let refused = super::server::status("401 Unauthorized", "", r#"{"error": "no key"}"#);
    let server = super::server::Server::saying(vec![refused, super::server::says("hello")]);
    let with = |args: &[&str], vars: &[(&str, &str)]| {
        crate::test_home::Said::of(desk.home.command(args).envs(vars.iter().copied()).output().unwrap())
    };
    let (url, key) = (server.url(), ("OPENAI_API_KEY", "sk-test-1234"));
    let url = ("OPENAI_BASE_URL", url.as_str());
    with(&args, &[url]).expect(1);
    // The daemon that runs already gets it with the next command.
    assert_eq!(with(&["resume", "r5"], &[url, key]).expect(0).out, "hello\n");
    assert_eq!(server.keys(), [None, Some("sk-test-1234".to_owned())]);
    // It is no key for the server of the runs before, and they keep to theirs.
    let said = with(&["resume", "r3"], &[url, key]);
    check(&said, &["resume"], 1, &["no key for https://api.openai.com"], "start it anew");
    assert_eq!(server.requests().len(), 2);
    // A key is nowhere on the disk.
    for (path, (_, bytes)) in super::files(desk.home.root().parent().unwrap()) {
        assert!(!bytes.windows(12).any(|w| w == b"sk-test-1234"), "{}", path.display());
    }
    desk.nothing_lost();
}

#[test]
fn weights_of_the_wrong_size_are_never_loaded() {
    let desk = RunFixture::new();
    let dir = desk.home.root().join("cache/models");
    let weights = dir.join(WEIGHTS.0);
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(&weights, b"GGUF and no more").unwrap();
    let damaged = format!("is damaged: it has 16 bytes, not {}", WEIGHTS.1);
    desk.refused(&["run", "hello.worker", "-m", "local"], 7, &[&damaged], "almoner models pull");
    let list = desk.home.almoner(&["models", "list", "--json"]).expect(0).json();
    assert_eq!(list["local"][0]["here"], false);
    // They become too short while a run waits for them.
    std::fs::File::options().write(true).open(&weights).unwrap().set_len(WEIGHTS.1).unwrap();
    assert_eq!(desk.home.almoner(&["run", "hello.worker", "-m", "local", "--detach"]).expect(0).out, "r3\n");
    super::wait_until("r3 stalls", || runs(&desk.home)[0]["state"].to_string().contains("stalled"));
    std::fs::write(&weights, b"GGUF and no more").unwrap();
    let said = desk.home.almoner(&["resume", "r3"]);
    check(&said, &["resume"], 1, &["r3 stalled", "damaged", "16 bytes"], "`almoner models pull`");
    assert_eq!(std::fs::read(&weights).unwrap(), b"GGUF and no more", "what is there is left there");
    desk.nothing_lost();
}

#[test]
fn model_pull_accepts_only_the_right_file() {
    let desk = RunFixture::new();
    let dir = desk.home.root().join("cache/models");
    desk.home.write("wrong.gguf", "GGUF and no more");
    std::fs::create_dir(desk.home.path("dir.gguf")).unwrap();
    let cases: &[(&[&str], i32, &[&str], &str)] = &[
        (&["--from", "wrong.gguf"], 6, &["is not the file that it should be", "16 bytes"], "another source"),
        (&["--from", "none.gguf"], 4, &["no file none.gguf"], "check the path"),
        (&["--from", "dir.gguf"], 6, &["dir.gguf is not the file"], "another source"),
        (&["huge"], 4, &["no local model `huge`"], "the local models are"),
        (&[], 7, &["1065 MiB to fetch"], "`almoner models pull --yes`"),
    ];
    for (args, code, says, help) in cases {
        desk.refused(&[&["models", "pull"], *args].concat(), *code, says, help);
        let left = std::fs::read_dir(&dir).map_or(0, Iterator::count);
        assert_eq!(left, 0, "{args:?} left something in {}", dir.display());
    }
    desk.nothing_happened();
}

#[test]
fn unreachable_hub_is_an_error_without_fallback() {
    let desk = RunFixture::new();
    let dir = desk.home.root().join("cache/models");
    std::fs::create_dir_all(&dir).unwrap();
    // The right size, the wrong bytes: it is set aside, never thrown away.
    let weights = dir.join(WEIGHTS.0);
    std::fs::File::create(&weights).unwrap().set_len(WEIGHTS.1).unwrap();
    let port = crate::ports::free_port();
    let hub = format!("http://127.0.0.1:{port}");
    desk.refused(
        &["models", "pull", "--yes", "--hub", &hub],
        1,
        &["cannot fetch from", &port.to_string()],
        "goes on where it stopped",
    );
    assert!(!weights.exists());
    assert_eq!(weights.with_extension("gguf.wrong").metadata().unwrap().len(), WEIGHTS.1);
    // A hub that has something else.
    let server = super::server::Server::saying(vec![super::server::status("404 Not Found", "", "no")]);
    let hub = server.model().replace("compat:", "").replace("/v1#small", "");
    desk.refused(&["models", "pull", "--yes", "--hub", &hub], 1, &["status 404"], "another source");
    desk.nothing_happened();
}

#[test]
fn local_model_is_refused_with_too_little_memory() {
    if !namespace::inside("bad_input::models::local_model_is_refused_with_too_little_memory") {
        return;
    }
    let desk = RunFixture::new();
    let dir = desk.home.root().join("cache/models");
    std::fs::create_dir_all(&dir).unwrap();
    // The daemon checks the memory first, and would find the faulty bytes later.
    std::fs::File::create(dir.join(WEIGHTS.0)).unwrap().set_len(WEIGHTS.1).unwrap();
    desk.home.almoner(&["stop"]).expect(0);
    desk.home.write("meminfo", "MemTotal:  4000000 kB\nMemFree:  400000 kB\nMemAvailable:  409600 kB\n");
    namespace::replace(std::path::Path::new("/proc/meminfo"), &desk.home.path("meminfo"));
    let args = ["run", "hello.worker", "-m", "local"];
    // A build without the local model has nothing to load, and says that.
    let (says, help) = if cfg!(feature = "local") {
        (["r3 stalled", "400 MiB are free"], "close other programs")
    } else {
        (["r3 stalled", "no local model"], "use another model")
    };
    desk.refused(&args, 1, &says, help);
    desk.nothing_lost();
}

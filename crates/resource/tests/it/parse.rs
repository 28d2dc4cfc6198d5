//! The texts that can be typed for each kind, and those that are refused.

use std::collections::BTreeSet;

use resource::mcp::ToolClass;
use resource::programs::Setting;
use resource::{GitSpec, McpSpec, PathSpec, ProgramSpec, ResourceSpec};

use crate::{endowment, parse};

fn path(text: &str) -> (String, PathSpec) {
    match endowment(text).map(|given| (given.slot, given.fill)).unwrap() {
        (slot, ResourceSpec::Path(given)) => (slot, given),
        other => panic!("{other:?}"),
    }
}

fn refused(begin: &str, all: &[&str]) {
    for bad in all {
        let Err(error) = parse(&format!("{begin}{bad}")) else { panic!("{begin}{bad}") };
        assert!(!error.message.is_empty() && !error.help.is_empty(), "{bad}");
    }
}

#[test]
fn directories_are_paths_with_limits() {
    let (slot, e) = path("out=/a/b:rw?suffix=.PDF&suffix=.md&max=10MiB");
    assert_eq!((slot.as_str(), e.path.as_str(), e.write), ("out", "/a/b", true));
    assert_eq!(e.suffixes, [".pdf", ".md"]);
    assert_eq!(e.max_bytes, Some(10 << 20));
    let (_, e) = path("out=/a:rw?total=1GiB&methods=read,write&methods=edit");
    assert_eq!((e.max_bytes, e.total_bytes), (None, Some(1 << 30)));
    assert_eq!(e.methods, ["read", "write", "edit"]);
    let (_, e) = path("out=/a:stage");
    assert_eq!((e.path.as_str(), e.write, e.stage), ("/a", true, true));
    let (_, e) = path("in=/a?private&suffix=.md");
    assert!(e.private && e.suffixes == [".md"]);
    let (_, e) = path("mail=/a");
    assert!(!e.write && e.max_bytes.is_none());
    let (_, e) = path("mail=\"/a?b:rw\":rw?max=1");
    assert_eq!((e.path.as_str(), e.write, e.max_bytes), ("/a?b:rw", true, Some(1)));
}

#[test]
fn keywords_and_nested_slots_are_read() {
    assert_eq!(endowment("now=clock").unwrap().fill, ResourceSpec::Clock);
    assert_eq!(endowment("again=self").unwrap().fill, ResourceSpec::Myself);
    assert!(path("now=./clock").1.path.ends_with("/clock"));
    assert_eq!(path("a.b.out=/x:rw").0, "a.b.out");
    assert!(endowment("a..b=/x").is_err() && endowment(".a=/x").is_err());
}

#[test]
fn endowments_without_slot_or_path_are_refused() {
    for bad in [
        "mail",
        "=x",
        "a b=x",
        "mail=",
        "mail=:rw",
        "mail=x?max=lots",
        "mail=x?colour=red",
        "mail=x?total=lots",
        "mail=x?max=1&max=2",
        "mail=x?methods=",
        "m=x?suffix=pdf",
        "m=:stage",
        "m=\"/a\":x",
        "m=\"\"",
    ] {
        let error = endowment(bad).expect_err(bad);
        assert!(!error.help.is_empty() && !error.is_missing, "{bad}");
    }
}

fn program(text: &str) -> ProgramSpec {
    match parse(&format!("program:{text}")).unwrap() {
        ResourceSpec::Program(spec) => spec,
        other => panic!("{other:?}"),
    }
}

#[test]
fn programs_are_read_with_their_limits() {
    let spec = program("sh,/bin/cat?dir=/w:rw&dir=/r&net=no&exec=yes&time=1m30s&memory=1GiB&max=4KiB");
    let names: Vec<_> = spec.programs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["sh", "cat"]);
    assert!(spec.programs.iter().all(|(_, path)| path.starts_with('/')));
    assert_eq!(spec.directories, [("/w".to_owned(), true), ("/r".to_owned(), false)]);
    let staged = program("sh?dir=@repo&dir=@docs:ro&dir=@out:rw&dir=./@odd");
    let expected =
        [("@repo", true), ("@docs", false), ("@out", true)].map(|(path, write)| (path.to_owned(), write));
    assert_eq!(staged.directories[..3], expected);
    assert!(staged.directories[3].0.starts_with('/') && staged.directories[3].0.ends_with("/@odd"));
    assert!(!spec.network && spec.starts_others);
    assert_eq!((spec.wall_ms, spec.memory, spec.output), (Some(90_000), Some(1 << 30), Some(4096)));
    assert_eq!(program("py=/usr/bin/python3").programs, [("py".to_owned(), "/usr/bin/python3".to_owned())]);
    assert_eq!(path("tools=./program:sh").1.path.rsplit('/').next(), Some("program:sh"));
    refused(
        "program:",
        &[
            "",
            ",",
            "sh?dir=@",
            "sh?dir=@a/b",
            "sh,sh",
            "sh,/usr/bin/sh",
            "missing",
            "sh?dir=",
            "sh?dir=:rw",
            "sh?net=perhaps",
            "sh?time=soon",
            "sh?time=0s",
            "sh?memory=0",
            "sh?colour=red",
            "sh?dir",
            "/bin/",
        ],
    );
    assert!(parse("program:missing").unwrap_err().is_missing);
}

#[test]
fn variables_of_programs_are_text_or_secrets_of_the_vault() {
    let spec = program("sh?env.TOKEN=secret:github&env.REGION=eu&env.Q=\"secret:x\"&net=yes");
    assert_eq!(spec.environment["TOKEN"], Setting::Secret("github".into()));
    assert_eq!(spec.environment["REGION"], Setting::Text("eu".into()));
    assert_eq!(spec.environment["Q"], Setting::Text("secret:x".into()));
    refused(
        "program:",
        &[
            "sh?env.TOKEN=swordfish",
            "sh?env.PATH=/x",
            "sh?env.=x",
            "sh?env.A=b&env.A=c",
            "sh?env=A",
            "sh?env.LD_PRELOAD=secret:github",
            "sh?env.TOKEN=secret:",
        ],
    );
    let error = parse("program:sh?env.TOKEN=swordfish-42").unwrap_err();
    assert!(!error.message.contains("swordfish") && !error.help.contains("swordfish"), "{error:?}");
}

#[test]
fn parts_of_the_web_are_read() {
    let web = |text: &str| match parse(text).unwrap() {
        ResourceSpec::Web(spec) => spec,
        other => panic!("{other:?}"),
    };
    let spec = web(
        "https://api.example.com/v1?methods=get,POST&key=TOKEN&max=1MiB&also=https://files.example.com&idempotency=Idempotency-Key",
    );
    assert_eq!(
        spec.web.summary(),
        "https://api.example.com/v1 and https://files.example.com (GET, POST, with the secret TOKEN)"
    );
    let used = spec.web.secret.unwrap();
    assert_eq!((used.header.as_str(), used.before.as_str()), ("authorization", "Bearer "));
    assert_eq!((spec.max_bytes, spec.web.idempotency.as_deref()), (Some(1 << 20), Some("idempotency-key")));
    let own = web("http://127.0.0.1:8080?key=K&header=X-Api-Key").web.secret.unwrap();
    assert_eq!((own.header.as_str(), own.before.as_str()), ("x-api-key", ""));
    assert_eq!(web("https://a.example?key=K&before=token+").web.secret.unwrap().before, "token ");
    assert_eq!(web("HTTPS://a.example?address=fd00::5").web.address, Some("fd00::5".parse().unwrap()));
    for text in ["x=./a", "x=/a/b:rw", "x=a?max=1MiB", "x=file:///a"] {
        path(text);
    }
    refused(
        "https://",
        &[
            "user:pw@a.example",
            "a.example./",
            "0x7f000001",
            "a.example?methods=TRACE",
            "a.example?key=a b",
            "a.example?header=X-Key",
            "a.example?key=K&header=Host",
            "a.example?max=lots",
            "a.example?address=0177.0.0.1",
            "a.example?colour=red",
            "a.example?also=ftp://b.example",
        ],
    );
    assert!(!endowment("w=https://u:swordfish@a.example").unwrap_err().message.contains("swordfish"));
}

#[test]
fn repositories_are_named_by_their_working_trees() {
    let ResourceSpec::Git(spec) = parse("git:/w:rw?author=Ada <a@b.c>&methods=status, commit").unwrap()
    else {
        panic!()
    };
    let GitSpec { path, write, methods, .. } = spec;
    assert_eq!((path.as_str(), write), ("/w", true));
    assert_eq!(methods, ["status", "commit"]);
    assert!(matches!(parse("git:/w").unwrap(), ResourceSpec::Git(spec) if !spec.write));
    assert!(matches!(parse("git:/w?private").unwrap(), ResourceSpec::Git(spec) if spec.private));
    refused("git:", &["", ":rw", "/w?author=Ada", "/w?colour=red"]);
}

#[test]
fn models_are_read_with_their_budgets() {
    let model = |text: &str| match parse(text).unwrap() {
        ResourceSpec::Model(spec) => spec,
        other => panic!("{other:?}"),
    };
    let spec = model("model:openai:gpt-4.1?tokens=200k&usd=0.50");
    assert_eq!(
        (spec.model.as_str(), spec.tokens, spec.usd_micros),
        ("openai:gpt-4.1", Some(200_000), Some(500_000))
    );
    let spec = model("model:fast?key=work&tokens=1k");
    assert_eq!((spec.model.as_str(), spec.key.as_deref()), ("fast", Some("work")));
    refused("model:", &["", "local?key=a b", "local?usd=lots", "local?tokens=0", "local?colour=red"]);
}

#[test]
fn secrets_are_read_with_variables_and_programs() {
    let ResourceSpec::Secret(secret) = parse("secret:github?env=GITHUB_TOKEN,GH_TOKEN&for=gh").unwrap()
    else {
        panic!()
    };
    let set = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!((secret.variables, secret.programs), (set(&["GH_TOKEN", "GITHUB_TOKEN"]), set(&["gh"])));
    refused("secret:", &["", "a b", "x?env=", "x?env=PATH", "x?env=A=B", "x?for=", "x?colour=red", "x?env"]);
    let error = parse("secret:sk-proj-0123456789abcdefghij klm").unwrap_err();
    assert!(!error.message.contains("0123456789"), "{error}");
}

#[test]
fn tools_are_named_one_by_one_and_send_by_default() {
    let ResourceSpec::Mcp(McpSpec { server, tools, max_bytes, call_ms, .. }) =
        parse("mcp:github[list_issues:reads, create_issue,label:changes,page:tells,a:b,\"x,y\":reads]?max=2MiB&time=5s")
            .unwrap()
    else {
        panic!()
    };
    let tools: Vec<_> = tools.iter().map(|(name, effect)| (name.as_str(), *effect)).collect();
    assert_eq!(
        tools,
        [
            ("list_issues", ToolClass::Reads),
            ("create_issue", ToolClass::Sends),
            ("label", ToolClass::Changes),
            ("page", ToolClass::Tells),
            ("a:b", ToolClass::Sends),
            ("x,y", ToolClass::Reads),
        ]
    );
    assert_eq!((server.as_str(), max_bytes, call_ms), ("github", Some(2 << 20), Some(5000)));
    let ResourceSpec::Mcp(McpSpec { start_ms, .. }) = parse("mcp:s[a]?start=5m").unwrap() else { panic!() };
    assert_eq!(start_ms, Some(300_000));
    refused(
        "mcp:",
        &[
            "github[a]?start=soon",
            "github[a]?start=2h",
            "github[a]?start=0s",
            "",
            "github",
            "github[]",
            "github[*]",
            "github[list_*]",
            "github[a,a]",
            "github[a",
            "[a]",
            "git hub[a]",
            "github[a]x",
            "github[a]?colour=red",
            "github[a]?max=lots",
            "github?max=1",
        ],
    );
    assert!(parse("mcp:github").unwrap_err().help.contains("mcp:NAME[TOOL"));
}

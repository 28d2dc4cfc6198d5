//! A part of the web, against servers of this machine and a resolver that lies.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use caps::{Capability, HostServices, NoSecret, Probe};
use kernel::formula::Formula;
use kernel::grant::{Attenuation, Grant};
use kernel::id::{FormulaId, MessageNumber, RunNumber, StepRef};
use kernel::proposal::{Caller, Proposal, Value};
use kernel::provenance::Provenance;
use kernel::run::Completion;
use kernel::started_effect::StartedEffect;
use resource::web::{Origin, Place, SecretUse, Web};
use resource::{Kind, Resource};
use zeroize::Zeroizing;

const KEY: &str = "the-key-of-the-user";

/// A server of this machine that answers each request in the same way, and remembers the requests.
struct Server {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new(answer: impl Fn(&str, &mut TcpStream) -> io::Result<()> + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let request = read(&mut stream);
                heard.lock().unwrap().push(request.clone());
                // A client that goes away is no trouble of ours.
                let _ = answer(&request, &mut stream);
            }
        });
        Server { port, requests }
    }

    fn saying(text: &'static str) -> Server {
        Server::new(move |_, stream| stream.write_all(text.as_bytes()))
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Returns a request with its body.
fn read(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .to_ascii_lowercase()
                .lines()
                .find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok())
                .unwrap_or(0);
            if body.len() >= length {
                return text;
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return text,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

const HELLO: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nset-cookie: a=b\r\ncontent-length: 5\r\n\r\nhello";

/// Names as the test says, one list of addresses after the other, and one secret.
#[derive(Default)]
struct FakeHostServices {
    names: BTreeMap<&'static str, Vec<Vec<IpAddr>>>,
    asked: AtomicUsize,
    pins: Vec<Origin>,
    /// Whether policies are in force that judge each call by itself.
    judged: bool,
}

impl HostServices for FakeHostServices {
    fn resolve(&self, host: &str, _: Duration) -> io::Result<Vec<IpAddr>> {
        let at = self.asked.fetch_add(1, Ordering::SeqCst);
        let lists = self.names.get(host).ok_or(io::ErrorKind::NotFound)?;
        Ok(lists[at.min(lists.len() - 1)].clone())
    }

    fn follows_redirects(&self) -> bool {
        !self.judged
    }

    fn secret(&self, name: &str, origin: &Origin) -> Result<Zeroizing<String>, NoSecret> {
        match name {
            "KEY" if self.pins.contains(origin) => Ok(Zeroizing::new(KEY.to_owned())),
            "KEY" => Err(NoSecret::Elsewhere),
            "LOCKED" => Err(NoSecret::Locked),
            _ => Err(NoSecret::Missing),
        }
    }
}

fn id(byte: u8) -> FormulaId {
    FormulaId { number: [byte; 32], node: [0; 32] }
}

fn grant(max_bytes: Option<u64>) -> Grant {
    Grant {
        id: id(3),
        number: kernel::GrantNumber(1),
        target: id(4),
        words: String::new(),
        holder: id(5),
        owner: kernel::Number([1; 32]),
        slot: "api".into(),
        methods: ["get", "send"].map(str::to_owned).into(),
        attenuation: Attenuation { max_bytes, ..Attenuation::default() },
        allow: BTreeSet::new(),
        ask: BTreeSet::new(),
        source: Some(MessageNumber(0)),
        given_ms: 0,
        expires_ms: None,
        revoked_ms: None,
        revoked_by: None,
    }
}

/// Returns all of a server, with every method.
fn web(places: &[String]) -> Web {
    Web {
        places: places.iter().map(|place| Place::parse(place).unwrap()).collect(),
        methods: ["GET", "POST", "DELETE"].map(str::to_owned).into(),
        secret: None,
        idempotency: None,
        address: None,
    }
}

fn here(server: &Server) -> String {
    format!("http://127.0.0.1:{}", server.port)
}

struct Bench {
    capability: Box<dyn Capability>,
    grant: Grant,
}

impl Bench {
    fn new(web: Web, world: FakeHostServices) -> Bench {
        Bench::within(web, world, None)
    }

    fn within(web: Web, world: FakeHostServices, max_bytes: Option<u64>) -> Bench {
        let grant = grant(max_bytes);
        let outside: Arc<dyn HostServices> = Arc::new(world);
        Bench {
            capability: caps::open_with(&Formula::Resource(Resource::Web(web)), &grant, &outside).unwrap(),
            grant,
        }
    }

    fn begun(&self, method: &str, args: &[Value]) -> StartedEffect {
        let step = StepRef { run: RunNumber(17), step: 9 };
        let proposal = Proposal {
            principal: id(1),
            run: step.run,
            grant: self.grant.id,
            slot: "api".into(),
            method: method.into(),
            args: args.to_vec(),
            effect: caps::interface_of(Kind::Http).unwrap().method(method).unwrap().effect,
            caller: Caller::Model,
            pins: BTreeSet::new(),
            provenance: Provenance::host(),
            traces: Vec::new(),
            givers: vec![],
            place: None,
        };
        StartedEffect::for_test(step, proposal, self.grant.clone(), false)
    }

    /// Returns the status and the body, or the rule that stopped it. No finding ever shows the key.
    fn call(&self, method: &str, args: &[Value]) -> Result<(f64, String), String> {
        let completion = self.capability.perform(&self.begun(method, args));
        assert!(!format!("{completion:?}").contains(KEY), "{completion:?}");
        let finding = match completion {
            Completion::Done { value, provenance } => {
                assert!(provenance.is_untrusted());
                let body = value.get("body").and_then(Value::as_str).unwrap().to_owned();
                return Ok((value.get("status").and_then(Value::as_f64).unwrap(), body));
            }
            Completion::Refused(findings) => findings.first().unwrap().clone(),
            Completion::Failed(finding) => finding,
        };
        assert!(finding.at.is_some() && finding.allowed.is_some() && finding.counter_example.is_some());
        Err(finding.rule)
    }

    fn get(&self, path: &str) -> Result<(f64, String), String> {
        self.call("get", &[Value::from(path)])
    }

    /// Returns the rules that the facts of a call name.
    fn problems(&self, method: &str, args: &[Value]) -> Vec<String> {
        self.capability.facts(method, args).problems.into_iter().map(|finding| finding.rule).collect()
    }
}

fn record(fields: &[(&str, &str)]) -> Value {
    let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value)));
    Value::record_from_map(fields.collect())
}

fn ok(body: &str) -> Result<(f64, String), String> {
    Ok((200.0, body.to_owned()))
}

fn rule(rule: &str) -> Result<(f64, String), String> {
    Err(rule.to_owned())
}

#[test]
fn get_and_send_reach_the_endowed_path() {
    let server = Server::saying(HELLO);
    let bench = Bench::new(web(&[format!("{}/v1", here(&server))]), FakeHostServices::default());
    let query = record(&[("q", "a b&c=d"), ("x", "ü")]);
    let headers = record(&[("accept", "text/plain"), ("X-GitHub-Api-Version", "1")]);
    assert_eq!(bench.call("get", &[Value::from("/items"), query, headers]), ok("hello"));
    let sent = [Value::from("POST"), Value::from("items"), Value::from("some text")];
    assert_eq!(bench.call("send", &sent), ok("hello"));
    let sent = [Value::from("POST"), Value::from("items"), record(&[("a", "1")])];
    assert_eq!(bench.call("send", &sent), ok("hello"));
    let told = server.requests();
    assert!(told[0].starts_with("GET /v1/items?q=a%20b%26c%3Dd&x=%C3%BC HTTP/1.1\r\n"), "{}", told[0]);
    assert!(told[0].contains("accept: text/plain\r\n"));
    assert!(
        told[0].contains("x-github-api-version: 1\r\n") && !told[0].to_lowercase().contains("authorization")
    );
    assert!(told[1].starts_with("POST /v1/items HTTP/1.1\r\n") && told[1].ends_with("\r\n\r\nsome text"));
    assert!(told[2].contains("content-type: application/json") && told[2].ends_with(r#"{"a":"1"}"#));
    let facts = bench.capability.facts("get", &[Value::from("/items")]);
    let destination = &facts.destinations[0];
    assert_eq!((destination.method.as_str(), destination.path.as_str()), ("GET", "/v1/items"));
    assert_eq!((destination.host.as_str(), destination.port), ("127.0.0.1", server.port));
    assert_eq!(facts.problems, []);
}

#[test]
fn ambiguous_paths_and_unsafe_headers_are_refused() {
    let server = Server::saying(HELLO);
    let bench = Bench::new(web(&[format!("{}/v1", here(&server))]), FakeHostServices::default());
    for path in [
        "../admin",
        "/a/%2e%2e/b",
        "//evil.example/",
        "/a?b=c",
        "/a#b",
        "/a\\b",
        "/a b",
        "/a\r\nx: y",
        "/%41",
    ] {
        assert_eq!(bench.get(path), rule("http/path"), "{path}");
        assert_eq!(bench.problems("get", &[Value::from(path)]), ["http/path"], "{path}");
    }
    for (name, value) in [
        ("Host", "evil.example"),
        ("authorization", "Bearer x"),
        ("Cookie", "a=b"),
        ("Connection", "close"),
        ("transfer-encoding", "chunked"),
        ("content_length", "0"),
        ("X-Forwarded-Host", "evil.example"),
        ("X-HTTP-Method-Override", "DELETE"),
        ("proxy-authorization", "x"),
        ("sec-fetch-site", "none"),
        ("X-Remote-User", "admin"),
        ("remote_user", "admin"),
        ("x-original-host", "a"),
        ("x-authenticated-user", "admin"),
        ("true-client-ip", "127.0.0.1"),
        ("CF-Connecting-IP", "127.0.0.1"),
        ("private-token", "x"),
        ("api-key", "x"),
        ("x-amz-security-token", "x"),
        ("x-goog-iap-jwt-assertion", "x"),
        ("x-own", "x"),
        ("content_type", "x"),
        ("a b", "x"),
        ("accept", "a\r\nHost: evil"),
        ("accept", "ü"),
    ] {
        let call = [Value::from("/a"), Value::Undefined, record(&[(name, value)])];
        assert_eq!(bench.call("get", &call), rule("http/header"), "{name}");
    }
    let put = [Value::from("PUT"), Value::from("/a")];
    assert_eq!(bench.call("send", &put), rule("http/method"));
    let trace = [Value::from("TRACE"), Value::from("/a")];
    assert_eq!(bench.call("send", &trace), rule("http/arguments"));
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[test]
fn secret_is_sent_only_to_its_own_server() {
    let other = Server::saying(HELLO);
    let there = format!("{}/there", here(&other));
    let server = Server::new(move |request, stream| match request.starts_with("GET /on") {
        true => stream.write_all(
            format!("HTTP/1.1 302 Found\r\nlocation: {there}\r\ncontent-length: 0\r\n\r\n").as_bytes(),
        ),
        false => stream.write_all(HELLO.as_bytes()),
    });
    let pins = || vec![here(&server).parse().unwrap()];
    let with_key = |name: &str| {
        let secret =
            SecretUse { name: name.into(), header: "authorization".into(), before: "Bearer ".into() };
        Web { secret: Some(secret), ..web(&[here(&server), here(&other)]) }
    };
    let bench = Bench::new(with_key("KEY"), FakeHostServices { pins: pins(), ..FakeHostServices::default() });
    assert_eq!(bench.get("/a"), ok("hello"));
    assert_eq!(bench.get("/on"), ok("hello"));
    let told = server.requests();
    assert!(told[0].contains(&format!("authorization: Bearer {KEY}\r\n")), "{}", told[0]);
    let told = other.requests();
    assert!(told[0].starts_with("GET /there ") && !told[0].contains(KEY), "{}", told[0]);
    assert!(!told[0].to_lowercase().contains("authorization"));
    let line = bench.capability.facts("get", &[Value::from("/a")]).line;
    assert!(line.contains("with the secret KEY") && !line.contains(KEY), "{line}");
    // One that is for another server, one that there is none of, and one that is locked away.
    let before = server.requests().len();
    for (name, pins, expected) in [
        ("KEY", vec!["https://api.example.com".parse().unwrap()], "http/secret"),
        ("NONE", pins(), "http/secret"),
        ("LOCKED", pins(), "http/locked"),
    ] {
        let bench = Bench::new(with_key(name), FakeHostServices { pins, ..FakeHostServices::default() });
        assert_eq!(bench.get("/a"), rule(expected), "{name}");
        assert_eq!(bench.problems("get", &[Value::from("/a")]), [expected], "{name}");
        // A locked vault can be unlocked; the approval waits for that. Everything else is refused.
        let waits = bench.capability.blocked_by("get", &[Value::from("/a")]).map(|finding| finding.rule);
        assert_eq!(waits.as_deref(), Some(expected).filter(|rule| *rule == "http/locked"), "{name}");
    }
    assert_eq!(server.requests().len(), before);
}

#[test]
fn redirect_finding_shows_only_the_server_name() {
    // Each of them says the key back, and some of them in a host's place.
    for location in [
        format!("https://elsewhere.example/{KEY}?k={KEY}#{KEY}"),
        format!("https://elsewhere.example\\{KEY}"),
        format!("http://{KEY}@elsewhere.example/"),
        format!("/v2/{KEY}"),
        format!("/v2/../{KEY}"),
        format!("//{KEY}.example/"),
        format!("{KEY}:x"),
        format!("{KEY}://x"),
    ] {
        let server = Server::new(move |_, stream| {
            let head = format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(head.as_bytes())
        });
        let secret =
            SecretUse { name: "KEY".into(), header: "authorization".into(), before: "Bearer ".into() };
        let pins = vec![here(&server).parse().unwrap()];
        let web = Web { secret: Some(secret), ..web(&[format!("{}/v1", here(&server))]) };
        let bench = Bench::new(web, FakeHostServices { pins, ..FakeHostServices::default() });
        assert_eq!(bench.get("/a"), rule("http/redirect"));
    }
}

#[test]
fn name_with_a_private_address_is_refused() {
    let server = Server::saying(HELLO);
    let named = |name: &str| format!("http://{name}:{}", server.port);
    let ip = |text: &str| -> IpAddr { text.parse().unwrap() };
    let world = |lists: &[&[&str]]| {
        let lists = lists.iter().map(|list| list.iter().map(|text| ip(text)).collect()).collect();
        FakeHostServices {
            names: BTreeMap::from([("api.example.com", lists)]),
            ..FakeHostServices::default()
        }
    };
    for inside in
        ["127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0"]
    {
        let bench = Bench::new(web(&[named("api.example.com")]), world(&[&[inside]]));
        assert_eq!(bench.get("/"), rule("egress/address"), "{inside}");
        // One among public ones is as good as none.
        let bench = Bench::new(web(&[named("api.example.com")]), world(&[&["8.8.8.8", inside]]));
        assert_eq!(bench.get("/"), rule("egress/address"), "{inside}");
    }
    // The name led elsewhere when the call was judged: it is resolved and checked again when it is made.
    let bench = Bench::new(web(&[named("api.example.com")]), world(&[&["8.8.8.8"], &["127.0.0.1"]]));
    assert_eq!(bench.problems("get", &[Value::from("/")]), Vec::<String>::new());
    assert_eq!(bench.get("/"), rule("egress/address"));
    assert_eq!(server.requests(), Vec::<String>::new());
    // The control: an address that the user wrote beside the name is used, without a lookup.
    let pinned = Web { address: Some(ip("127.0.0.1")), ..web(&[named("api.example.com")]) };
    let bench = Bench::new(pinned, world(&[&["8.8.8.8"]]));
    assert_eq!(bench.get("/"), ok("hello"));
    assert!(server.requests()[0].contains(&format!("host: api.example.com:{}\r\n", server.port)));
    let unknown = Bench::new(web(&[named("api.example.org")]), FakeHostServices::default());
    assert_eq!(unknown.get("/"), rule("http/name"));
}

#[test]
fn connection_uses_the_checked_address() {
    let server = Server::saying(HELLO);
    // `localhost` always counts as this machine, and only the first lookup gives its address.
    let lists = vec![vec!["127.0.0.1".parse().unwrap()], vec!["8.8.8.8".parse().unwrap()]];
    let world =
        FakeHostServices { names: BTreeMap::from([("localhost", lists)]), ..FakeHostServices::default() };
    let bench = Bench::new(web(&[format!("http://localhost:{}", server.port)]), world);
    assert_eq!(bench.get("/"), ok("hello"));
    assert_eq!(bench.get("/"), rule("egress/address"));
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn redirects_are_followed_only_within_the_endowment() {
    let other = Server::saying(HELLO);
    let inside = Server::saying(HELLO);
    let to = format!("http://127.0.0.1:{}", other.port);
    let outside = here(&inside);
    let server = Server::new(move |request, stream| {
        let path = request.split(' ').nth(1).unwrap_or_default();
        let location = match path {
            "/v1/within" => "/v1/end".to_owned(),
            "/v1/named" => format!("{to}/files/a?b=c#d"),
            "/v1/above" => "/v2".to_owned(),
            "/v1/unnamed" => format!("{to}/other"),
            "/v1/inside" => format!("{outside}/"),
            "/v1/user" => format!("http://me@{}/files/a", &to[7..]),
            "/v1/bare" => format!("//{}/files/a", &to[7..]),
            "/v1/relative" => "end".to_owned(),
            "/v1/up" => "/v1/../v2".to_owned(),
            "/v1/octal" => format!("http://0177.0.0.1:{}/files/a", to.rsplit(':').next().unwrap()),
            "/v1/file" => "file:///etc/passwd".to_owned(),
            "/v1/round" => "/v1/round".to_owned(),
            _ => return stream.write_all(HELLO.as_bytes()),
        };
        stream.write_all(
            format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n").as_bytes(),
        )
    });
    let places = [format!("{}/v1", here(&server)), format!("{}/files", here(&other))];
    let bench = Bench::new(web(&places), FakeHostServices::default());
    for (path, expected) in [
        ("within", ok("hello")),
        ("named", ok("hello")),
        ("above", rule("http/redirect")),
        ("unnamed", rule("http/redirect")),
        ("inside", rule("http/redirect")),
        ("user", rule("http/redirect")),
        ("bare", rule("http/redirect")),
        ("relative", rule("http/redirect")),
        ("up", rule("http/redirect")),
        ("octal", rule("http/redirect")),
        ("file", rule("http/redirect")),
        ("round", rule("http/redirects")),
    ] {
        assert_eq!(bench.get(path), expected, "{path}");
    }
    assert_eq!(other.requests().len(), 1);
    assert!(other.requests()[0].starts_with("GET /files/a?b=c HTTP/1.1\r\n"));
    assert_eq!(inside.requests(), Vec::<String>::new());
    // Policies would judge the first address only.
    let judged = Bench::new(web(&places), FakeHostServices { judged: true, ..FakeHostServices::default() });
    for path in ["within", "named"] {
        assert_eq!(judged.get(path), rule("http/policy"), "{path}");
    }
    assert_eq!(judged.get("above"), rule("http/redirect"));
    assert_eq!(judged.get("end"), ok("hello"));
    let told = format!("{:?}", judged.capability.perform(&judged.begun("get", &[Value::from("named")])));
    assert!(told.contains("/files/a") && !told.contains("b=c"), "{told}");
    assert_eq!(other.requests().len(), 1);
    // A sending call gets the redirect as its answer, and does not follow it.
    let sent = [Value::from("POST"), Value::from("/named"), Value::from("x")];
    assert_eq!(bench.call("send", &sent), Ok((302.0, String::new())));
    assert_eq!(other.requests().len(), 1);
}

#[test]
fn oversized_or_broken_answers_fail() {
    let endless = Server::new(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")?;
        loop {
            stream.write_all(&[b'x'; 1024])?;
        }
    });
    let bench = Bench::within(web(&[here(&endless)]), FakeHostServices::default(), Some(10_000));
    assert_eq!(bench.get("/"), rule("http/large"));
    let exact = Server::saying(HELLO);
    assert_eq!(
        Bench::within(web(&[here(&exact)]), FakeHostServices::default(), Some(5)).get("/"),
        ok("hello")
    );
    assert_eq!(
        Bench::within(web(&[here(&exact)]), FakeHostServices::default(), Some(4)).get("/"),
        rule("http/large")
    );
    let long = [Value::from("POST"), Value::from("/"), Value::from("12345")];
    let tight = Bench::within(web(&[here(&exact)]), FakeHostServices::default(), Some(4));
    assert_eq!(tight.call("send", &long), rule("http/size"));
    let cut = Server::saying("HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhello");
    assert_eq!(Bench::new(web(&[here(&cut)]), FakeHostServices::default()).get("/"), rule("http/cut-off"));
    let binary =
        Server::new(|_, stream| stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n\xff\xfe"));
    assert_eq!(Bench::new(web(&[here(&binary)]), FakeHostServices::default()).get("/"), rule("http/binary"));
    let noise = Server::saying("this is no answer\r\n\r\n");
    assert_eq!(Bench::new(web(&[here(&noise)]), FakeHostServices::default()).get("/"), rule("http/failed"));
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    let bench = Bench::new(web(&[format!("http://127.0.0.1:{port}")]), FakeHostServices::default());
    let begun = Instant::now();
    assert_eq!(bench.get("/"), rule("http/unreachable"));
    assert!(begun.elapsed() < Duration::from_secs(10));
    // Headers without end.
    let heads = Server::new(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
        loop {
            stream.write_all(b"x-more: and more and more and more and more\r\n")?;
        }
    });
    assert_eq!(Bench::new(web(&[here(&heads)]), FakeHostServices::default()).get("/"), rule("http/failed"));
}

#[test]
fn crashed_send_is_unknown_without_an_idempotency_key() {
    let server = Server::saying(HELLO);
    let plain = Bench::new(web(&[here(&server)]), FakeHostServices::default());
    let sent = [Value::from("POST"), Value::from("/"), Value::from("x")];
    assert_eq!(plain.capability.probe(&plain.begun("send", &sent)), Probe::Unknown);
    assert_eq!(plain.capability.probe(&plain.begun("get", &[Value::from("/")])), Probe::NotDone);
    let idempotent = Web { idempotency: Some("idempotency-key".into()), ..web(&[here(&server)]) };
    let bench = Bench::new(idempotent, FakeHostServices::default());
    assert_eq!(bench.capability.probe(&bench.begun("send", &sent)), Probe::NotDone);
    bench.call("send", &sent).unwrap();
    bench.call("send", &sent).unwrap();
    let keys: Vec<String> = server
        .requests()
        .iter()
        .filter_map(|told| Some(told.lines().find(|line| line.starts_with("idempotency-key: "))?.to_owned()))
        .collect();
    assert!(keys.len() == 2 && keys[0] == keys[1], "{keys:?}");
}

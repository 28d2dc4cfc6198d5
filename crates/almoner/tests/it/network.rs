//! Tests of the way to other machines: a real proxy, a private certificate authority, and the settings of both.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::endo::tools;
use crate::test_home::{Said, TestHome};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/network");

/// The name and the password that the proxy wants, percent-encoded.
const LOGIN: &str = "ada:s3cret%3Apass";

/// A Node program of the tests, which ends with the test. Its first line is its port.
pub(crate) struct Program {
    child: Child,
    pub(crate) port: u16,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Program {
    pub(crate) fn start(script: &str, arguments: &[&Path]) -> Program {
        let node = tools().join("node_modules/.bin/node");
        assert!(node.exists(), "{} is missing: `cargo xtask tools` installs it", node.display());
        let mut child = Command::new(node)
            .arg(Path::new(FOLDER).join(script))
            .args(arguments)
            .env("TOOLS", tools())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().expect("it says its port").unwrap();
        let kept = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&kept);
        std::thread::spawn(move || {
            lines.map_while(Result::ok).for_each(|line| heard.lock().unwrap().push(line))
        });
        Program { child, port: first.parse().unwrap(), lines: kept }
    }

    /// Returns whether the program prints such a line within some seconds.
    pub(crate) fn prints(&self, line: &str) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(10) {
            if self.lines.lock().unwrap().iter().any(|one| one == line) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    /// Returns the lines so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    fn count(&self) -> usize {
        self.lines.lock().unwrap().len()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes an authority and a certificate for `model.test`. Returns the files: the authority, the certificate, its key.
fn certificates(dir: &Path) -> [PathBuf; 3] {
    let openssl = |arguments: &[&str]| {
        let output = Command::new("openssl").args(arguments).current_dir(dir).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let new = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    let own = ["-x509", "-days", "2", "-subj", "/CN=Test authority", "-keyout", "ca.key", "-out", "ca.pem"];
    openssl(&[&new[..], &own[..]].concat());
    openssl(
        &[&new[..], &["-subj", "/CN=model.test", "-keyout", "server.key", "-out", "server.csr"]].concat(),
    );
    std::fs::write(dir.join("names"), "subjectAltName=DNS:model.test\n").unwrap();
    let sign = ["x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"];
    openssl(&[&sign[..], &["-days", "2", "-extfile", "names", "-out", "server.pem"]].concat());
    ["ca.pem", "server.pem", "server.key"].map(|name| dir.join(name))
}

/// The servers, and the home of a user behind a proxy.
struct Bench {
    home: TestHome,
    authority: PathBuf,
    proxy: Program,
    server: Program,
    plain: Program,
}

impl Bench {
    fn new() -> Bench {
        let home = TestHome::new();
        home.write("w.worker", "Say hello.\n");
        let [authority, certificate, key] = certificates(&home.work());
        Bench {
            proxy: Program::start("proxy.mjs", &[]),
            server: Program::start("server.mjs", &[&certificate, &key]),
            plain: Program::start("server.mjs", &[]),
            home,
            authority,
        }
    }

    fn proxy_url(&self) -> String {
        format!("http://{LOGIN}@127.0.0.1:{}", self.proxy.port)
    }

    /// Runs a command with these variables, with a daemon of its own.
    fn with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Said {
        self.home.almoner(&["stop"]);
        self.without_restart(variables, arguments)
    }

    /// Runs a command with these variables, with the daemon that is there.
    fn without_restart(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Said {
        let mut command = self.home.command(arguments);
        for name in ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"] {
            command.env_remove(name).env_remove(name.to_ascii_lowercase());
        }
        Said::of(command.envs(variables.iter().copied()).output().unwrap())
    }

    fn run(&self, variables: &[(&str, &str)]) -> Said {
        let model = format!("compat:https://model.test:{}/v1#m", self.server.port);
        self.with(variables, &["run", "w.worker", "-m", &model])
    }
}

/// Users report each of these of other programs: a proxy that is not used (ollama/ollama#7726), a private authority
/// (pantsbuild/pants#10653, icebear0828/codex-proxy#598), plain HTTP over a proxy (ollama/ollama#1337).
#[test]
fn model_is_reached_over_a_proxy_and_a_private_authority() {
    let bench = Bench::new();
    let (proxy, authority) = (bench.proxy_url(), bench.authority.to_str().unwrap());
    let tunnel = format!("tunnel CONNECT model.test:{}", bench.server.port);
    let both = [("HTTPS_PROXY", proxy.as_str()), ("SSL_CERT_FILE", authority)];
    assert_eq!(bench.run(&both).expect(0).out, "hello\n");
    assert!(bench.proxy.prints(&tunnel));
    for name in ["https_proxy", "ALL_PROXY", "all_proxy"] {
        assert_eq!(
            bench.run(&[(name, &proxy), ("SSL_CERT_FILE", authority)]).expect(0).out,
            "hello\n",
            "{name}"
        );
    }
    // A directory of certificates.
    let dir = bench.home.path("certs");
    std::fs::create_dir(&dir).unwrap();
    std::fs::copy(authority, dir.join("0a1b2c3d.0")).unwrap();
    bench.run(&[("HTTPS_PROXY", &proxy), ("SSL_CERT_DIR", dir.to_str().unwrap())]).expect(0);

    // Plain HTTP goes to the proxy as a whole request, since most proxies make no tunnels to such ports.
    let model = format!("compat:http://plain.test:{}/v1#m", bench.plain.port);
    bench.with(&[("HTTP_PROXY", &proxy)], &["run", "w.worker", "-m", &model]).expect(0);
    assert!(bench.proxy.prints(&format!("whole POST plain.test:{}", bench.plain.port)));

    // The settings go before the environment.
    bench.home.write_config(&format!("[network]\nproxy = \"{proxy}\"\nca_file = \"{authority}\"\n"));
    bench.run(&[("HTTPS_PROXY", "http://127.0.0.1:9"), ("SSL_CERT_FILE", "/none")]).expect(0);
    // The password stands nowhere but in the settings that the user wrote.
    bench.home.write_config("");
    assert!(!holds(&bench.home.root(), "s3cret"));
}

/// Returns whether a file of a folder holds a text.
pub(crate) fn holds(folder: &Path, text: &str) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => holds(&path, text),
            false => {
                let bytes = std::fs::read(&path).unwrap_or_default();
                bytes.windows(text.len()).any(|part| part == text.as_bytes())
            }
        }
    })
}

#[test]
fn failures_on_the_way_to_a_server_name_their_cause() {
    let bench = Bench::new();
    let (proxy, authority) = (bench.proxy_url(), bench.authority.to_str().unwrap());
    let wrong = format!("http://ada:wrong@127.0.0.1:{}", bench.proxy.port);
    let check = |variables: &[(&str, &str)], says: &str| {
        let said = bench.run(variables).expect(1);
        assert!(said.err.contains(says), "{variables:?}: {}", said.err);
        assert!(!said.err.contains("s3cret"), "{}", said.err);
    };
    check(&[("HTTPS_PROXY", &wrong), ("SSL_CERT_FILE", authority)], "asks for a name and a password");
    check(&[("HTTPS_PROXY", &proxy)], "no authority that is trusted here");
    check(&[("HTTPS_PROXY", &proxy), ("SSL_CERT_FILE", "/none/ca.pem")], "/none/ca.pem");
    check(&[("HTTPS_PROXY", "gopher://x")], "cannot use the proxy of HTTPS_PROXY");
    let relayed = bench.proxy.count();
    // Without the proxy, nothing knows the name.
    check(
        &[("HTTPS_PROXY", &proxy), ("NO_PROXY", "model.test"), ("SSL_CERT_FILE", authority)],
        "cannot reach",
    );
    check(&[("HTTPS_PROXY", &proxy), ("no_proxy", "*"), ("SSL_CERT_FILE", authority)], "cannot reach");
    assert_eq!(bench.proxy.count(), relayed);
}

#[test]
fn doctor_shows_the_network_without_passwords() {
    let bench = Bench::new();
    let (proxy, authority) = (bench.proxy_url(), bench.authority.to_str().unwrap());
    let variables = [("HTTPS_PROXY", proxy.as_str()), ("SSL_CERT_FILE", authority)];
    let said = bench.with(&variables, &["status"]);
    assert!(said.code == 0, "{said:?}");
    // The daemon keeps the environment in which it was started.
    let here = |set: &[(&str, &str)]| bench.without_restart(set, &["doctor", "network"]);
    let same = here(&variables).expect(0).out;
    let shown = format!(
        "https: over http://127.0.0.1:{} (HTTPS_PROXY, with a name and a password)",
        bench.proxy.port
    );
    assert!(same.contains(&shown) && same.contains("ca.pem (SSL_CERT_FILE)"), "{same}");
    assert!(!same.contains("s3cret"), "{same}");
    let other = here(&[]).expect(1).out;
    assert!(other.contains("started in another environment") && other.contains("almoner stop"), "{other}");
}

#[test]
fn web_slots_and_tool_servers_use_the_proxy_only_as_allowed() {
    let bench = Bench::new();
    let (proxy, authority) = (bench.proxy_url(), bench.authority.to_str().unwrap());
    let variables = [("HTTPS_PROXY", proxy.as_str()), ("SSL_CERT_FILE", authority)];
    let (home, base) = (&bench.home, format!("https://model.test:{}", bench.server.port));
    home.write("api.worker", "---\nslots: { api: http }\n---\nRead the page.\n");
    let call = json!({ "name": "api_get", "arguments": { "path": "/page" } });
    home.write("api.json", json!([{ "turns": [{ "calls": [call] }, { "text": "done" }] }]).to_string());
    bench.with(&variables, &["mcp", "add", "far", &format!("{base}/mcp")]).expect(0);
    let api = format!("api={base}/");
    let run = ["run", "api.worker", "-e", &api, "-m", "scripted:api.json"];

    // Nothing here can say to which address the proxy would lead, so the proxy is not asked.
    let relayed = bench.proxy.count();
    bench.with(&variables, &run).expect(0);
    let trace = home.trace("r1").to_string();
    assert!(trace.contains("http/name") && trace.contains("proxy_resolves"), "{trace}");
    let said = bench.with(&variables, &["mcp", "tools", "far"]).expect(1);
    assert!(said.err.contains("model.test"), "{}", said.err);
    assert_eq!(bench.proxy.count(), relayed);

    home.write_config("[network]\nproxy_resolves = true\n");
    bench.with(&variables, &run).expect(0);
    let trace = home.trace("r2").to_string();
    assert!(trace.contains("200") && !trace.contains("http/name"), "{trace}");
    let said = bench.with(&variables, &["mcp", "tools", "far"]).expect(0);
    assert!(said.out.contains("echo"), "{}", said.out);
    assert!(bench.proxy.count() > relayed);

    // An address that the user wrote goes to the proxy in place of the name.
    home.write_config("");
    let pinned = format!("api={base}/?address=203.0.113.7");
    let before = bench.proxy.count();
    bench.with(&variables, &["run", "api.worker", "-e", &pinned, "-m", "scripted:api.json"]);
    assert!(bench.proxy.prints(&format!("tunnel CONNECT 203.0.113.7:{}", bench.server.port)), "{before}");
}

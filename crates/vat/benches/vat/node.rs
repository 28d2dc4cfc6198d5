//! The same things done by a plain child process of Node.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::{milliseconds, rate, resident_kib, row};

struct Node {
    child: Child,
    orders: ChildStdin,
    reports: BufReader<ChildStdout>,
}

fn tools() -> PathBuf {
    let beside = || Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("test-tools");
    std::env::var_os("ALMONER_TEST_TOOLS").map_or_else(beside, PathBuf::from)
}

impl Node {
    fn start() -> Node {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/vat/node.mjs");
        let mut child = Command::new(tools().join("node_modules/.bin/node"))
            .arg(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (orders, reports) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Node { child, orders, reports: BufReader::new(reports) }
    }

    fn order(&mut self, order: &Value) {
        self.orders.write_all(format!("{order}\n").as_bytes()).unwrap();
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.reports.read_line(&mut line).unwrap() > 0);
        serde_json::from_str(&line).unwrap()
    }

    fn evaluate(&mut self, source: &str) -> Value {
        self.order(&json!({ "answer": 1, "source": source }));
        self.next()["value"].clone()
    }

    fn evals(&mut self, count: u32) -> f64 {
        rate(count, || {
            for _ in 0..count / 100 {
                for answer in 0..100 {
                    self.order(&json!({ "answer": answer, "source": "1 + 1" }));
                }
                for _ in 0..100 {
                    assert_eq!(self.next()["value"], 2);
                }
            }
        })
    }

    fn sends(&mut self, count: u32, in_flight: u32) -> f64 {
        let source = format!(
            "let left = {count};
             const one = async () => {{ while (left-- > 0) await send(); }};
             Promise.all(Array.from({{ length: {in_flight} }}, one)).then(() => 'done')"
        );
        rate(count, || {
            self.order(&json!({ "answer": 1, "source": source }));
            let mut number = 0;
            loop {
                let report = self.next();
                let Some(send) = report.get("send") else {
                    assert_eq!(report["value"], "done");
                    break;
                };
                number += 1;
                self.order(&json!({ "settle": send, "value": number }));
            }
        })
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn first() -> Node {
    let mut node = Node::start();
    assert_eq!(node.evaluate("1 + 1"), 2);
    node
}

pub(crate) fn rows(sample: &dyn Fn(&dyn Fn() -> f64) -> Vec<f64>) {
    if !tools().join("node_modules/.bin/node").exists() {
        return println!("row\tplain Node\tnot measured\t\tit is not installed: `cargo xtask tools`");
    }
    drop(first());
    row(
        "Node: new process to first result",
        sample(&|| milliseconds(|| drop(first()))),
        "ms",
        "with its end",
    );
    row(
        "Node: process in reserve to first result",
        sample(&|| {
            let mut node = first();
            milliseconds(|| drop(node.evaluate("2 + 2")))
        }),
        "ms",
        "",
    );
    row("Node: evals, 100 in flight", sample(&|| first().evals(20_000)), "/s", "");
    row("Node: sends, 1 in flight", sample(&|| first().sends(2_000, 1)), "/s", "");
    row("Node: sends, 64 in flight", sample(&|| first().sends(20_000, 64)), "/s", "");
    row(
        "Node: idle processes per GiB",
        sample(&|| {
            let node = first();
            (1 << 20) as f64 / resident_kib(&node.child.id().to_string())
        }),
        "",
        "by resident memory",
    );
    row(
        "Node: killed and another one's first result",
        sample(&|| {
            let mut node = first();
            node.order(&json!({ "answer": 1, "source": "for (;;) {}" }));
            std::thread::sleep(Duration::from_millis(30));
            milliseconds(|| {
                drop(node);
                drop(first());
            })
        }),
        "ms",
        "",
    );
}

//! The tables of `docs/models.md` that say how answers of servers are read. Each row is tried.

use std::sync::Arc;

use model::served::{FORMATS, ServedModel, ServerAccess, read_answer};
use model::{Message, ModelError, Provider, Reply, Request, Retry, Secret, Stop};

use crate::server::{Server, http};

const DOCS: &str = include_str!("../../../../docs/models.md");

/// A row: the texts in code of its first cell, the words before the code of its second, and the texts in code there.
struct Row<'a> {
    sent: Vec<&'a str>,
    outcome: &'a str,
    expected: Vec<&'a str>,
}

/// Returns the rows of the table below a heading.
fn rows(heading: &str) -> Vec<Row<'static>> {
    let start = DOCS.find(&format!("\n### {heading}\n")).unwrap_or_else(|| panic!("no table `{heading}`"));
    let section = DOCS[start + 5..].split("\n#").next().unwrap();
    let lines = section.lines().filter(|line| line.starts_with("| `"));
    let rows = lines.map(|line| {
        let cells: Vec<&str> = line.trim_matches(['|', ' ']).split(" | ").collect();
        let [sent, read] = cells.as_slice() else { panic!("two cells: {line}") };
        let code = |cell: &'static str| cell.split('`').skip(1).step_by(2).collect::<Vec<_>>();
        let outcome = read.split('`').next().unwrap().trim_end_matches([' ', ':']);
        Row { sent: code(sent), outcome, expected: code(read) }
    });
    rows.collect()
}

/// Checks that a result is the one that the row promises.
#[track_caller]
fn check(row: &Row<'_>, result: &Result<Reply, ModelError>) {
    let line = row.sent.join(" ");
    match (row.outcome, result) {
        ("answer" | "cut at a limit", Ok(reply)) => {
            assert_eq!(vec![reply.text.as_str()], row.expected, "{line}");
            assert!(reply.calls.is_empty() && reply.malformed.is_empty(), "{line}");
            assert_eq!(reply.stop == Stop::Length, row.outcome == "cut at a limit", "{line}");
        }
        ("calls", Ok(reply)) => {
            let calls = reply.calls.iter().map(|call| format!("{} {}", call.name, call.arguments));
            assert_eq!(calls.collect::<Vec<_>>(), row.expected, "{line}");
            assert_eq!(reply.stop, Stop::Calls, "{line}");
        }
        (outcome @ ("tried again" | "waited for" | "stops"), Err(error)) => {
            assert_eq!(error.is_transient(), outcome != "stops", "{line}: {error}");
            for words in &row.expected {
                assert!(error.to_string().contains(words), "{line}: {error}");
            }
        }
        (outcome, result) => panic!("{line}: `{outcome}` is promised, not {result:?}"),
    }
}

#[test]
fn every_row_about_answers_is_true() {
    let mut count = 0;
    for format in FORMATS {
        for row in rows(format) {
            // A single message is a whole answer; several are a stream.
            let is_stream = row.sent.len() > 1;
            let framed = row.sent.iter().map(|message| match format {
                _ if !is_stream => (*message).to_owned(),
                "ollama" => format!("{message}\n"),
                _ => format!("data: {message}\n\n"),
            });
            let body: String = framed.collect();
            check(&row, &read_answer(format, is_stream, body.as_bytes(), usize::MAX));
            count += 1;
        }
    }
    assert!(count > 50, "{count} rows");
}

#[test]
fn every_row_about_statuses_is_true_in_every_format() {
    let references =
        ["compat:URL/v1#m", "openai-responses:URL/v1#m", "anthropic:URL#m", "gemini:URL#m", "ollama:URL#m"];
    let rows = rows("Failures of a request");
    assert!(rows.len() > 10);
    for row in rows {
        let [status, body] = row.sent.as_slice() else { panic!("a status and a body") };
        for reference in references {
            let server =
                Server::new(vec![http(&format!("{status} X"), "content-type: application/json\r\n", body)]);
            let reference = reference.replace("URL", &server.url).parse().unwrap();
            let key = |name: &str| name.ends_with("_API_KEY").then(|| Secret::new("sk-test"));
            let retry = Retry { tries: 3, sleep: Arc::new(|_| ()) };
            let request = Request { messages: vec![Message::user("hi")], ..Request::default() };
            let served = ServedModel::open(&reference, &key, retry, &ServerAccess::default()).unwrap();
            check(&row, &served.complete(&request, &mut |_| ()));
            let tries = server.requests().len();
            let is_right = match row.outcome {
                "tried again" => tries == 3,
                // The time decides, and not the number of tries.
                "waited for" => tries > 1,
                _ => tries == 1,
            };
            assert!(is_right, "{status} {body} {reference}: {tries} requests");
        }
    }
}

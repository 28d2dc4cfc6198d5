//! The reading of hellos and requests from the bytes of frames.

use passable::{Untrusted, visible_line};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use crate::exit::{Exit, Failure};
use crate::problem::Problem;
use crate::protocol::{Hello, OnBehalf, Request};
use crate::unknown_fields::unknown_field;
use crate::version::ServedVersion;

/// The maximum length of a quotation from a frame, in characters.
const MAX_QUOTE: usize = 200;

/// Reads a hello, and returns it with its version.
///
/// # Errors
/// When the frame is no hello, or the daemon does not serve its version.
pub fn read_hello(bytes: &[u8]) -> Result<(Hello, &'static ServedVersion), Failure> {
    /// The part of a hello that every version has.
    #[derive(Deserialize)]
    #[serde(expecting = "an object with `version`")]
    struct Greeting {
        version: u64,
    }
    let text = text_of(bytes, "hello")?;
    let greeting: Greeting = parse(text, "hello")?;
    let version = ServedVersion::find(greeting.version)?;
    Ok((parse(text, "hello")?, version))
}

/// Reads a request of a client of this version.
///
/// # Errors
/// When the frame is no request. The failure has a [`Problem`].
pub fn read_request(bytes: &[u8], version: &ServedVersion) -> Result<OnBehalf, Failure> {
    let text = text_of(bytes, "request")?;
    let asked: OnBehalf = parse(text, "request").map_err(|failure| name_unknown_request(failure, text))?;
    // Serde takes the number of a request for its name.
    if version.refuses_unknown_fields && serde_json::from_str::<Head>(text).is_err() {
        return Err(refusal("request", "`request` is no text", Problem::WrongField));
    }
    if version.refuses_unknown_fields
        && let Some(field) = unknown_field(text, &asked)
    {
        let shown = quote(&field);
        let reason = format!("there is no field `{shown}`");
        return Err(refusal("request", &reason, Problem::UnknownField { field: Untrusted::new(shown) }));
    }
    Ok(asked)
}

/// Returns the failure for a frame that is longer than the limit.
pub fn too_long(bytes: u64, max_bytes: usize) -> Failure {
    let max_bytes = max_bytes as u64;
    let reason = format!("it has {bytes} bytes, and the limit is {max_bytes}");
    refusal("request", &reason, Problem::TooLong { bytes, max_bytes })
}

/// The name of a request.
#[derive(Deserialize)]
struct Head {
    request: String,
}

fn text_of<'a>(bytes: &'a [u8], frame: &str) -> Result<&'a str, Failure> {
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        refusal(frame, &format!("byte {at} is not UTF-8"), Problem::NotUtf8 { at })
    })
}

fn parse<T: DeserializeOwned>(text: &str, frame: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let (line, column) = (error.line(), error.column());
        let is_syntax = matches!(error.classify(), Category::Syntax | Category::Eof);
        let problem = match field_after("missing field `", &message) {
            _ if message.starts_with("recursion limit exceeded") => Problem::TooDeep,
            _ if is_syntax => Problem::NotJson { line, column },
            Some(field) => Problem::MissingField { field: Untrusted::new(field) },
            None => Problem::WrongField,
        };
        refusal(frame, &without_type_names(&message), problem)
    })
}

/// The beginnings of the words by which serde tells which type it expected.
const TYPE_WORDS: &[&str] = &[
    "struct ",
    "tuple struct ",
    "newtype struct ",
    "enum ",
    "adjacently tagged enum ",
    "internally tagged enum ",
];

/// Returns serde's message without the names of types of this program. They tell a writer of clients nothing.
fn without_type_names(message: &str) -> String {
    let Some((found, expected)) = message.rsplit_once(", expected ") else { return message.to_owned() };
    if !TYPE_WORDS.iter().any(|words| expected.starts_with(words)) {
        return message.to_owned();
    }
    let at = expected.rfind(" at line ").map_or("", |at| &expected[at..]);
    format!("{found}, expected another form{at}")
}

/// Returns the failure as one about an unknown request, if the request is one.
fn name_unknown_request(failure: Failure, text: &str) -> Failure {
    let is_wrong = matches!(failure.problem.as_deref(), Some(Problem::WrongField));
    let Some(Head { request }) = is_wrong.then(|| serde_json::from_str(text).ok()).flatten() else {
        return failure;
    };
    // A known name alone is a whole request, or lacks a field.
    let alone = serde_json::json!({ "request": request });
    let is_known = match serde_json::from_value::<Request>(alone) {
        Ok(_) => true,
        Err(error) => !error.to_string().starts_with("unknown variant"),
    };
    if is_known {
        return failure;
    }
    let shown = quote(&request);
    let reason = format!("there is no request `{shown}`");
    refusal("request", &reason, Problem::UnknownRequest { request: Untrusted::new(shown) })
}

/// Returns the name between such words and the next backtick.
fn field_after(words: &str, message: &str) -> Option<String> {
    let (field, _) = message.strip_prefix(words)?.split_once('`')?;
    Some(quote(field))
}

fn quote(text: &str) -> String {
    let mut quoted: String = text.chars().take(MAX_QUOTE).collect();
    if quoted.len() < text.len() {
        quoted.push('…');
    }
    visible_line(&quoted).into_owned()
}

fn refusal(frame: &str, reason: &str, problem: Problem) -> Failure {
    let message = format!("cannot read the {frame}: {}", quote(reason));
    let help = "`docs/control.md` and the JSON Schema beside it describe each frame";
    Failure::new(Exit::Usage, message).help(help).problem(problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::SERVED;

    fn problem_of(frame: &[u8]) -> Result<(), Problem> {
        read_request(frame, &SERVED[0]).map(drop).map_err(|failure| {
            assert_eq!(failure.exit, Exit::Usage);
            assert!(failure.message.raw().starts_with("cannot read the request: "), "{failure}");
            *failure.problem.unwrap()
        })
    }

    #[test]
    fn unreadable_request_is_refused_with_its_problem() {
        let words = |text: &str| Untrusted::new(text);
        let deep = format!(r#"{{"request":"act","act":{}1{}}}"#, "[".repeat(300), "]".repeat(300));
        let missing = |field: &str| Problem::MissingField { field: words(field) };
        for (frame, expected) in [
            (&br#"{"request":"status"}"#[..], Ok(())),
            (br#"{"request":"status","agent":"bob"}"#, Ok(())),
            (b"", Err(Problem::NotJson { line: 1, column: 0 })),
            (b"{\"request\":\n status}", Err(Problem::NotJson { line: 2, column: 2 })),
            (br#"{"request":"status"} x"#, Err(Problem::NotJson { line: 1, column: 22 })),
            (b"{\"request\":\"st\xff\"}", Err(Problem::NotUtf8 { at: 14 })),
            (deep.as_bytes(), Err(Problem::TooDeep)),
            (b"[]", Err(Problem::WrongField)),
            (b"{}", Err(missing("request"))),
            (br#"{"request":[]}"#, Err(Problem::WrongField)),
            (br#"{"request":0}"#, Err(Problem::WrongField)),
            (br#"{"request":"statuss"}"#, Err(Problem::UnknownRequest { request: words("statuss") })),
            (br#"{"request":"get_run"}"#, Err(missing("run"))),
            (br#"{"request":"get_run","run":"r1"}"#, Err(Problem::WrongField)),
            (br#"{"request":"get_run","run":-1}"#, Err(Problem::WrongField)),
            (br#"{"request":"look","look":{"look":"x"}}"#, Err(Problem::WrongField)),
            (
                br#"{"request":"get_run","run":1,"runn":2}"#,
                Err(Problem::UnknownField { field: words("runn") }),
            ),
            (br#"{"request":"get_run","run":1,"run":2}"#, Err(Problem::WrongField)),
        ] {
            assert_eq!(problem_of(frame), expected, "{}", String::from_utf8_lossy(frame));
        }
    }

    #[test]
    fn frame_of_another_type_is_refused_in_plain_words() {
        let request = read_request(b"[]", &SERVED[0]).unwrap_err();
        assert!(request.message.raw().contains("expected an object with `request`"), "{request}");
        let hello = read_hello(b"[]").map(|_| ()).unwrap_err();
        let nested = [
            r#"{"request":"run","text":"x","worker":[],"spec":{}}"#,
            r#"{"request":"run","text":"x","worker":{"name":"n","source":""},"spec":{"model":"scripted:a"}}"#,
            r#"{"request":"run","text":"x","worker":{"name":"n","source":""},"spec":{"shape":1}}"#,
            r#"{"request":"look","look":7}"#,
            r#"{"request":"act","act":"x"}"#,
        ];
        let nested = nested.map(|frame| read_request(frame.as_bytes(), &SERVED[0]).unwrap_err());
        for failure in [request, hello].into_iter().chain(nested) {
            let message = failure.message.raw();
            let names_type = ["struct", "enum", "ModelChoice"].iter().any(|word| message.contains(word));
            assert!(!names_type, "{message}");
        }
    }

    #[test]
    fn hello_of_later_version_needs_no_known_fields() {
        let failure = read_hello(br#"{"version":18,"token":"x"}"#).map(|_| ()).unwrap_err();
        assert!(matches!(failure.problem.as_deref(), Some(Problem::Version { version: 18, .. })));
        let hello = br#"{"version":16,"build":"x","keys":{}}"#;
        assert_eq!(read_hello(hello).unwrap().1.number, 16);
        let failure = read_hello(br#"{"version":"17"}"#).map(|_| ()).unwrap_err();
        assert_eq!(failure.problem.as_deref(), Some(&Problem::WrongField));
    }

    #[test]
    fn quotation_of_long_name_is_cut() {
        let frame = format!(r#"{{"request":"{}"}}"#, "x".repeat(1 << 20));
        let failure = read_request(frame.as_bytes(), &SERVED[0]).unwrap_err();
        assert!(failure.message.raw().len() < 1000);
    }
}

//! The parsed calls of programs.

use std::collections::BTreeMap;

use kernel::proposal::{Finding, Value};
use passable::{Quoting, quoting, visible_line};
use resource::programs::variable_problem;

/// The maximum number of words of one call.
pub(super) const MAX_WORDS: usize = 1000;
/// The maximum length of a word, in bytes. This is the limit of Linux.
pub(super) const MAX_WORD_LEN: usize = (128 << 10) - 1;
/// The maximum number of variables that a call can set.
const MAX_VARIABLES: usize = 16;
/// The maximum size of all words together, in bytes.
const MAX_ARGV_BYTES: usize = 512 << 10;
/// The maximum size of standard input, in bytes.
pub(super) const MAX_INPUT_BYTES: usize = 4 << 20;

/// The program to run, with its arguments and input.
#[derive(Debug, PartialEq)]
pub(super) struct Call {
    /// The program's name and its arguments.
    pub(super) argv: Vec<String>,
    /// The standard input of the program.
    pub(super) stdin: String,
    /// The variables of the program's environment, each with the slot that holds the secret for its value.
    pub(super) environment: BTreeMap<String, String>,
}

impl Call {
    /// Parses a call from its arguments.
    ///
    /// # Errors
    /// When an argument does not fit the method, or exceeds a limit.
    pub(super) fn parse(method: &str, args: &[Value]) -> Result<Call, Box<Finding>> {
        let (words, stdin, environment) = match (method, args) {
            ("run", [words]) => (words, &Value::Undefined, &Value::Undefined),
            ("run", [words, stdin]) => (words, stdin, &Value::Undefined),
            ("run", [words, stdin, environment]) => (words, stdin, environment),
            _ => return Err(mismatch(method)),
        };
        let stdin = match stdin {
            Value::Undefined => "",
            stdin => stdin.as_str().ok_or_else(|| mismatch(method))?,
        };
        let environment = variables(method, environment)?;
        let words = words.as_array().ok_or_else(|| mismatch(method))?;
        let argv: Option<Vec<String>> = words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
        let argv = argv.filter(|argv| !argv.is_empty()).ok_or_else(|| mismatch(method))?;
        if let Some(at) = argv.iter().position(|word| word.contains('\0')) {
            return Err(wrong(
                "program/zero",
                "an argument holds a zero byte",
                &format!("argv[{at}]"),
                "text without it",
            ));
        }
        let all: usize = argv.iter().map(|word| word.len() + 1).sum();
        if argv.len() > MAX_WORDS || all > MAX_ARGV_BYTES || argv.iter().any(|word| word.len() > MAX_WORD_LEN)
        {
            let allowed = format!(
                "at most {MAX_WORDS} words with {MAX_ARGV_BYTES} bytes together; the rest as `stdin`"
            );
            return Err(wrong("program/size", "the arguments are too many or too long", "argv", allowed));
        }
        if stdin.len() > MAX_INPUT_BYTES {
            let allowed = format!("at most {MAX_INPUT_BYTES} bytes");
            return Err(wrong("program/size", "there is too much for standard input", "stdin", allowed));
        }
        Ok(Call { argv, stdin: stdin.to_owned(), environment })
    }
}

/// Returns the variables that a call sets, each with the slot that the call names.
fn variables(method: &str, environment: &Value) -> Result<BTreeMap<String, String>, Box<Finding>> {
    if matches!(environment, Value::Undefined) {
        return Ok(BTreeMap::new());
    }
    let mut all = BTreeMap::new();
    for (name, slot) in environment.as_record().ok_or_else(|| mismatch(method))? {
        let (Some(name), Some(slot)) = (name.as_str(), slot.as_str()) else { return Err(mismatch(method)) };
        if let Some(what) = variable_problem(name) {
            let shown = visible_line(name);
            return Err(wrong(
                "program/variable",
                quoting!("`{}` cannot be set: ", shown).and(what),
                "env",
                "another variable",
            ));
        }
        all.insert(name.to_owned(), slot.to_owned());
    }
    if all.len() > MAX_VARIABLES {
        let allowed = Quoting::ours(format!("at most {MAX_VARIABLES}"));
        return Err(wrong("program/size", "there are too many variables", "env", allowed));
    }
    Ok(all)
}

fn wrong(rule: &str, message: impl Into<Quoting>, at: &str, allowed: impl Into<Quoting>) -> Box<Finding> {
    Box::new(Finding::new(rule, message).at(at).counter_example(at).allowed(allowed))
}

fn mismatch(method: &str) -> Box<Finding> {
    let message = format!("these are not the arguments of `{}`", visible_line(method));
    Box::new(
        Finding::new("program/arguments", message)
            .at("method")
            .counter_example(visible_line(method))
            .allowed(
                "run(argv, stdin?, env?): `argv` a list of texts, the program's name first; `stdin` text; `env` variables, \
                 each with the name of a slot that holds a secret",
            ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word_list(words: &[&str]) -> Value {
        Value::array(words.iter().map(|word| Value::from(*word)))
    }

    #[test]
    fn run_accepts_argument_lists_and_refuses_command_lines() {
        let call = Call::parse("run", &[word_list(&["rg", "-n", "a b"]), Value::from("in")]).unwrap();
        assert_eq!((call.argv.join("|").as_str(), call.stdin.as_str()), ("rg|-n|a b", "in"));
        assert!(Call::parse("run", &[word_list(&["rg"]), Value::Undefined]).is_ok());
        let env = |name: &str| Value::record_from_map([(name.to_owned(), Value::from("token"))].into());
        let call = Call::parse("run", &[word_list(&["gh"]), Value::Undefined, env("GH_TOKEN")]).unwrap();
        assert_eq!((call.stdin.as_str(), call.environment["GH_TOKEN"].as_str()), ("", "token"));
        for (method, args, rule) in [
            ("run", vec![], "program/arguments"),
            ("run", vec![Value::from("rm -rf ~")], "program/arguments"),
            ("run", vec![word_list(&[])], "program/arguments"),
            ("run", vec![Value::array([Value::Null])], "program/arguments"),
            ("run", vec![word_list(&["a"]), Value::Null], "program/arguments"),
            ("start", vec![word_list(&["a"])], "program/arguments"),
            ("run", vec![word_list(&["a", "b\0c"])], "program/zero"),
            ("run", vec![word_list(&["a"]), Value::Undefined, env("LD_PRELOAD")], "program/variable"),
            ("run", vec![word_list(&["a"]), Value::Undefined, env("A B")], "program/variable"),
            ("run", vec![word_list(&["a"]), Value::Undefined, Value::from("secret:x")], "program/arguments"),
            ("run", vec![word_list(&["a"; 1001])], "program/size"),
            ("run", vec![word_list(&["a", &"x".repeat(200 << 10)])], "program/size"),
            ("run", vec![word_list(&["a"]), Value::from("x".repeat(5 << 20))], "program/size"),
        ] {
            assert_eq!(Call::parse(method, &args).unwrap_err().rule, rule, "{method} {rule}");
        }
    }
}

//! The parsed calls of a repository.

use ::git::{Author, Call, DiffSides, StatePin};
use kernel::proposal::{Finding, Value};
use passable::{quoting, visible_line};

use super::interface;

/// The default number of commits of `log`. `DEFAULT_LINES` is the default number of lines of `blame`.
const DEFAULT_COMMITS: u64 = 20;
const DEFAULT_LINES: u64 = 200;

/// Returns the order to the separate process for a call of a method. With `pinned`, the order is carried out only if
/// the judged state still holds.
pub(super) fn order(
    method: &str,
    args: &[Value],
    author: &Author,
    trailer: &str,
    pinned: Option<Vec<StatePin>>,
) -> Result<Call, Box<Finding>> {
    let most = interface().method(method).map_or(0, |method| method.params.len());
    if args.len() > most {
        return Err(mismatch(method));
    }
    let given = |at: usize| args.get(at).filter(|value| !matches!(value, Value::Undefined));
    let maybe = |at: usize| match given(at) {
        None => Ok(None),
        Some(value) => value.as_str().map(|text| Some(text.to_owned())).ok_or_else(|| mismatch(method)),
    };
    let text = |at: usize| maybe(at)?.ok_or_else(|| mismatch(method));
    let count = |at: usize, default: u64| match given(at) {
        None => Ok(default),
        // A number with a fraction is no count.
        Some(value) => match value.as_f64() {
            Some(number) if number >= 0.0 && number.fract() == 0.0 => Ok(number as u64),
            _ => Err(mismatch(method)),
        },
    };
    let paths = || {
        let list = given(0).and_then(Value::as_array).ok_or_else(|| mismatch(method))?;
        list.iter()
            .map(|path| path.as_str().map(str::to_owned).ok_or_else(|| mismatch(method)))
            .collect::<Result<Vec<String>, Box<Finding>>>()
    };
    Ok(match method {
        "status" => Call::Status,
        "log" => Call::Log {
            range: maybe(0)?,
            path: maybe(1)?,
            most: count(2, DEFAULT_COMMITS)?,
            skip: count(3, 0)?,
        },
        "diff" => {
            let staged = match given(2) {
                None => false,
                Some(value) => value.as_bool().ok_or_else(|| mismatch(method))?,
            };
            let between = match (maybe(0)?, maybe(1)?, staged) {
                (None, None, false) => DiffSides::Worktree,
                (None, None, true) => DiffSides::Staged,
                (Some(from), to, false) => DiffSides::Revisions { from, to },
                _ => return Err(mismatch(method)),
            };
            Call::Diff { between, path: maybe(3)?, offset: count(4, 0)? }
        }
        "show" => Call::Show { revision: text(0)?, path: maybe(1)?, offset: count(2, 0)? },
        "blame" => Call::Blame { path: text(0)?, from: count(1, 1)?, lines: count(2, DEFAULT_LINES)? },
        "branches" => Call::Branches,
        "add" => Call::Add { paths: paths()?, pinned },
        "unstage" => Call::Unstage { paths: paths()?, pinned },
        "commit" => {
            Call::Commit { message: text(0)?, author: author.clone(), trailer: trailer.to_owned(), pinned }
        }
        "branch" => Call::Branch { name: text(0)?, at: maybe(1)?, pinned },
        "switch" => Call::Switch { name: text(0)?, pinned },
        _ => return Err(mismatch(method)),
    })
}

fn mismatch(method: &str) -> Box<Finding> {
    let allowed = match interface().method(method) {
        Some(known) => known.signature(),
        None => interface().methods.iter().map(|method| method.signature()).collect::<Vec<_>>().join(", "),
    };
    Box::new(
        Finding::new("git/arguments", quoting!("these are not the arguments of `{}`", visible_line(method)))
            .at("method")
            .counter_example(visible_line(method))
            .allowed(allowed),
    )
}

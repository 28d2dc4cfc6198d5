//! The method `blame`, which tells the commit that each line of a committed file comes from.

use std::fmt::Write as _;
use std::path::Path;

use git2::{BlameOptions, Repository};
use serde_json::{Value as Json, json};

use crate::key_search::KeySearch;
use crate::order::Answer;
use crate::part::{self, format_time, shorten};
use crate::paths;
use crate::refusal::Refusal;

/// The maximum number of lines in one answer.
const MAX_ITEMS: u64 = 500;

pub(crate) fn blame(
    repository: &Repository,
    path: &str,
    from: u64,
    lines: u64,
    search: KeySearch<'_>,
) -> Result<Answer, Refusal> {
    let path = paths::check(path, "path")?;
    let missing = || {
        let message = format!("`{path}` is no committed file");
        Refusal::new("missing", "path", message, "a file that is committed")
    };
    let tree = repository.head().map_err(|_| missing())?.peel_to_tree()?;
    let entry = tree.get_path(Path::new(path)).map_err(|_| missing())?;
    let blob = entry.to_object(repository)?.into_blob().map_err(|_| missing())?;
    if blob.is_binary() {
        return Err(Refusal::new("binary", "path", format!("`{path}` is no text"), "a file of text"));
    }
    let text = String::from_utf8_lossy(blob.content()).into_owned();
    let all: Vec<&str> = text.lines().collect();
    let total = all.len() as u64;
    let from = from.max(1);
    if from > total.max(1) {
        let message = format!("`{path}` has {total} lines, and no line {from}");
        return Err(Refusal::new("range", "from", message, format!("at most {total}")));
    }
    let to = total.min(from.saturating_add(lines.clamp(1, MAX_ITEMS)).saturating_sub(1));
    let mut options = BlameOptions::new();
    let number = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
    options.min_line(number(from)).max_line(number(to));
    let blame = repository.blame_file(Path::new(path), Some(&mut options))?;
    let (mut out, mut last) = (String::new(), from.saturating_sub(1));
    for line in from..=to {
        let Some(hunk) = blame.get_line(number(line)) else { break };
        let author = hunk.final_signature();
        let id = hunk.final_commit_id().to_string();
        let text = all.get(number(line - 1)).copied().unwrap_or_default();
        let (name, at) = (shorten(author.name_bytes(), 20), format_time(author.when()));
        let day = at.get(..10).unwrap_or(&at);
        let _ = writeln!(out, "{} {name} {day} {line}: {text}", &id[..12]);
        last = line;
        if out.len() > part::MAX_PART_BYTES {
            break;
        }
    }
    let truncated = last < total;
    let next = match truncated {
        true => json!(format!("to read on: the same call, from: {}", last + 1)),
        false => Json::Null,
    };
    let value = json!({
        "text": out, "unit": "lines", "from": from, "to": last, "total": total, "truncated": truncated,
        "next": next,
    });
    let key = search(blob.content()).map(str::to_owned);
    let (line, paths) = (format!("{total} lines"), vec![path.to_owned()]);
    Ok(Answer { value, line, paths, key, ..Answer::default() })
}

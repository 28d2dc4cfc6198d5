//! The outcomes that cargo-mutants wrote down, one for each change.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// One change of the code, named so that it is the same while lines move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mutant {
    /// The file, relative to the root of the clone.
    pub(crate) file: String,
    /// The function in which it is made.
    pub(crate) function: String,
    /// The change, in the words of cargo-mutants.
    pub(crate) mutation: String,
    /// The line from the changed place on. It tells two equal changes of one function apart.
    pub(crate) code: String,
    /// Where it is now, for people.
    pub(crate) line: u64,
    pub(crate) survived: bool,
}

/// All changes of one run.
pub(crate) struct Outcomes {
    pub(crate) mutants: Vec<Mutant>,
    caught: usize,
    timeout: usize,
    unviable: usize,
}

impl Outcomes {
    /// Returns the counts, for a line of a summary.
    pub(crate) fn remark(&self) -> String {
        let survived = self.mutants.iter().filter(|mutant| mutant.survived).count();
        let Outcomes { mutants, caught, timeout, unviable } = self;
        format!(
            "{} changes: {caught} noticed, {timeout} ran for ever, {unviable} do not compile, {survived} survived",
            mutants.len()
        )
    }
}

/// Reads `outcomes.json`. `source` gives the text of a file, by its path from the root.
///
/// # Errors
/// When the tests fail without any change, and when the run was cut off: both say nothing about the changes.
pub(crate) fn read(json: &str, source: impl Fn(&str) -> Option<String>) -> Result<Outcomes> {
    let json: Value = serde_json::from_str(json).context("the outcomes of cargo-mutants are no JSON")?;
    let all = json["outcomes"].as_array().context("cargo-mutants wrote down no outcomes")?;
    let is_baseline = |outcome: &&Value| outcome["scenario"] == "Baseline";
    let baseline = all.iter().find(is_baseline).context("the tests were not run without changes first")?;
    ensure!(baseline["summary"] == "Success", "the tests fail without any change: mend them first");
    ensure!(!json["end_time"].is_null(), "cargo-mutants was stopped before it had tried everything");
    let mut outcomes = Outcomes { mutants: vec![], caught: 0, timeout: 0, unviable: 0 };
    for outcome in all.iter().filter(|outcome| !is_baseline(outcome)) {
        let summary = outcome["summary"].as_str().unwrap_or_default();
        match summary {
            "CaughtMutant" => outcomes.caught += 1,
            "Timeout" => outcomes.timeout += 1,
            "Unviable" => outcomes.unviable += 1,
            "MissedMutant" => {}
            other => anyhow::bail!("cargo-mutants says `{other}` of a change, which means nothing here"),
        }
        let mutant = mutant(&outcome["scenario"]["Mutant"], summary == "MissedMutant", &source);
        outcomes.mutants.push(mutant.context("cargo-mutants wrote down a change that is not understood")?);
    }
    ensure!(!outcomes.mutants.is_empty(), "cargo-mutants found nothing to change");
    Ok(outcomes)
}

fn mutant(json: &Value, survived: bool, source: &impl Fn(&str) -> Option<String>) -> Option<Mutant> {
    let file = json["file"].as_str()?;
    // `FILE:LINE:COLUMN: WHAT`
    let mutation = json["name"].as_str()?.strip_prefix(file)?.split_once(": ")?.1;
    let start = &json["span"]["start"];
    let (line, column) = (start["line"].as_u64()?, start["column"].as_u64()?);
    let text = source(file)?;
    let whole = text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)?;
    let code: String = whole.chars().skip(usize::try_from(column).ok()?.checked_sub(1)?).collect();
    Some(Mutant {
        file: file.to_owned(),
        function: json["function"]["function_name"].as_str().unwrap_or_default().to_owned(),
        mutation: mutation.to_owned(),
        code: code.trim().to_owned(),
        line,
        survived,
    })
}

#[cfg(test)]
mod tests {
    use super::{Outcomes, read};

    const SOURCE: &str = "fn judge() -> bool {\n    let x = 1;\n    a && b && c\n}\n";

    /// Returns the outcomes as cargo-mutants would write them; each change is a column of line 3 with its outcome.
    fn json(baseline: &str, end: &str, changes: &[(u64, &str)]) -> String {
        let mut all = vec![format!(r#"{{"scenario": "Baseline", "summary": "{baseline}"}}"#)];
        all.extend(changes.iter().map(|(column, summary)| {
            format!(
                r#"{{"scenario": {{"Mutant": {{
                    "name": "a.rs:3:{column}: replace && with || in judge", "file": "a.rs",
                    "function": {{"function_name": "judge"}},
                    "span": {{"start": {{"line": 3, "column": {column}}}}}
                }}}}, "summary": "{summary}"}}"#
            )
        }));
        format!(r#"{{"outcomes": [{}], "end_time": {end}}}"#, all.join(","))
    }

    fn outcomes(json: &str) -> Result<Outcomes, String> {
        let source = |file: &str| (file == "a.rs").then(|| SOURCE.to_owned());
        read(json, source).map_err(|fault| format!("{fault:#}"))
    }

    #[test]
    fn equal_changes_of_a_line_differ_by_the_code_behind() {
        let found =
            outcomes(&json("Success", "\"now\"", &[(7, "CaughtMutant"), (12, "MissedMutant")])).unwrap();
        let told: Vec<_> = found.mutants.iter().map(|m| (m.code.as_str(), m.line, m.survived)).collect();
        assert_eq!(told, [("&& b && c", 3, false), ("&& c", 3, true)]);
        assert!(found.mutants.iter().all(|m| m.mutation == "replace && with || in judge"));
        let remark = "2 changes: 1 noticed, 0 ran for ever, 0 do not compile, 1 survived";
        assert_eq!(found.remark(), remark);
    }

    #[test]
    fn incomplete_run_is_an_error() {
        let change = &[(7, "CaughtMutant")][..];
        for (json, says) in [
            (json("Failure", "\"now\"", change), "the tests fail without any change"),
            (json("Success", "null", change), "was stopped before"),
            (json("Success", "\"now\"", &[]), "nothing to change"),
            (json("Success", "\"now\"", &[(7, "Surprise")]), "says `Surprise`"),
            (json("Success", "\"now\"", change).replace("a.rs", "b.rs"), "is not understood"),
            (json("Success", "\"now\"", change).replace("Baseline", "Other"), "without changes first"),
            ("{}".to_owned(), "no outcomes"),
            ("no".to_owned(), "no JSON"),
        ] {
            let told = outcomes(&json).err().unwrap_or_default();
            assert!(told.contains(says), "{told:?} says nothing of {says:?}");
        }
    }
}

//! Findings that are answers: the call was sound, and the world has no such thing. A model that looks around gets many
//! of them, and needs no repair.

use kernel::proposal::Finding;

/// The rules of findings that answer a sound call.
const ANSWERS: [&str; 23] = [
    "dir/binary",
    "dir/exists",
    "dir/kind",
    "dir/line",
    "dir/many",
    "dir/not-empty",
    "dir/not-utf8",
    "dir/range",
    "dir/size",
    "edit/ambiguous",
    "edit/not-found",
    "file/denied",
    "file/directory",
    "file/link",
    "file/missing",
    "file/name",
    "file/not-a-directory",
    "git/binary",
    "git/exists",
    "git/kind",
    "git/missing",
    "git/nothing",
    "git/range",
];

/// The rules of findings that would only have asked a person. The verdict on a call that found nothing has them beside its
/// answer, because every gate runs.
const QUESTIONS: [&str; 10] = [
    "effects/asked-for",
    "effects/commit",
    "effects/modify",
    "overwrite/replaces",
    "paths/keys",
    "paths/protected",
    "provenance/from-document",
    "provenance/untrusted",
    "secrets/shape",
    "secrets/unsearched",
];

/// The rule of the finding that a call was made before, with the same outcome.
pub(crate) const REPEATED_RULE: &str = "call/repeated";

/// Returns whether these findings answer a sound call. One refusal among them makes the whole a refusal.
pub fn are_answers(findings: &[Finding]) -> bool {
    let is_answer = |finding: &Finding| ANSWERS.contains(&finding.rule.as_str());
    let is_refusal = |finding: &Finding| {
        let rule = finding.rule.as_str();
        rule != REPEATED_RULE && !ANSWERS.contains(&rule) && !QUESTIONS.contains(&rule)
    };
    findings.iter().any(is_answer) && !findings.iter().any(is_refusal)
}

/// Returns the findings that answer a call, without those that would only have asked a person.
pub(crate) fn answers(findings: &[Finding]) -> Vec<Finding> {
    let is_question = |finding: &Finding| QUESTIONS.contains(&finding.rule.as_str());
    findings.iter().filter(|finding| !is_question(finding)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reported of other programs: NousResearch/hermes-agent#77761 and cynative/cynative#296 (missing files, and what
    /// may not be read, end the run as failures do).
    #[test]
    fn only_findings_about_the_world_are_answers() {
        let of = |rules: &[&str]| {
            let findings: Vec<Finding> = rules.iter().map(|rule| Finding::new(*rule, "x")).collect();
            are_answers(&findings)
        };
        for rules in [
            &["file/missing"][..],
            &["dir/kind", "call/repeated"],
            &["edit/not-found"],
            &["git/missing"],
            &["dir/size"],
            &["file/denied"],
            // The verdict on an edit that finds nothing also says that edits ask.
            &["edit/not-found", "effects/modify"],
        ] {
            assert!(of(rules), "{rules:?}");
        }
        for rules in [
            &[][..],
            &["call/repeated"],
            &["path/parent"],
            &["file/missing", "operator/forbidden"],
            &["host/denied"],
            &["effects/modify"],
            &["grep/pattern"],
        ] {
            assert!(!of(rules), "{rules:?}");
        }
    }
}

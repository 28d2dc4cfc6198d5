//! The policies of a file that has been read, checked and tried.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr as _;

use cedar_policy::{
    ActionConstraint, AuthorizationError, Authorizer, Decision, Effect, PolicyId, PolicySet, ValidationError,
    ValidationMode, Validator,
};
use kernel::BlobHash;
use miette::Diagnostic;
use passable::nearest;
use policy::Stance;

use crate::call::Call;
use crate::example::{self, Example, Expected};
use crate::policy_lines::{line_of, starts};
use crate::problem::Problem;
use crate::request;
use crate::vocabulary::Vocabulary;

/// The maximum size of a policy file, in bytes.
pub const MAX_BYTES: usize = 128 << 10;

/// The maximum bytes of one policy, and the maximum nesting of its brackets. The parser recurses as deep as the
/// brackets nest, and a project's policy may come from anyone.
const MAX_POLICY: usize = 4 << 10;
const MAX_NESTING: usize = 32;

/// Annotations that a policy may have.
const ANNOTATIONS: &[&str] =
    &["id", "reason", "instead", "ask", "invariant", "must_allow", "must_ask", "must_deny"];

/// The owner of a policy file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyOwner {
    /// The operator of this installation, who may forbid and permit.
    Operator,
    /// The author of the project, who may only forbid and ask.
    Project,
    /// The administrator of the machine, who may only forbid and ask. These policies bind every home of the machine.
    Machine,
}

impl PolicyOwner {
    /// Returns the reason why a policy of this owner may not permit, and the remedy. `None` means that it may.
    fn no_permit(self) -> Option<(&'static str, &'static str)> {
        match self {
            PolicyOwner::Operator => None,
            PolicyOwner::Project => Some((
                "a project's policy may only forbid or ask; this one permits",
                "what need not be asked is for you to say, in a policy of your own",
            )),
            PolicyOwner::Machine => Some((
                "a managed policy may only forbid or ask; this one permits",
                "what need not be asked is for each user to say, in a policy of their own",
            )),
        }
    }
}

/// One policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The `@id` of the policy, or `policy-3` by its place in the file.
    pub name: String,
    /// The line on which the policy begins, from 1.
    pub line: usize,
    /// Whether the policy forbids. Otherwise it asks or permits.
    pub forbids: bool,
    /// Whether the policy has a person asked about each call that it covers, whatever else is set.
    pub asks: bool,
    /// Whether no other policy may ever permit the calls that this policy forbids.
    pub invariant: bool,
    /// Whether the policy forbids calls, or asks about them, by the files that they name. Such a policy binds directories and repositories,
    /// but no programs and no tool servers, because nobody can tell beforehand which files these will use.
    pub is_of_files: bool,
    /// The `@reason` of the policy.
    pub reason: Option<String>,
    /// The `@instead` of the policy: an alternative to the calls that it forbids.
    pub instead: Option<String>,
}

/// All policies of one file.
#[derive(Debug)]
pub struct Policies {
    file: String,
    owner: PolicyOwner,
    digest: BlobHash,
    /// The policies that forbid and permit.
    set: PolicySet,
    /// The policies that ask.
    asks: PolicySet,
    policies: BTreeMap<String, Policy>,
    warnings: Vec<Problem>,
    examples: usize,
    authorizer: Authorizer,
}

/// The decision of one file's policies on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyDecision {
    /// The resulting stance.
    pub stance: Stance,
    /// The names of the policies that made the decision.
    pub by: BTreeSet<String>,
    /// The policies that failed, each with its error. If there are any, the call is refused.
    pub failed: BTreeMap<String, String>,
}

impl Policies {
    /// Reads, checks and tries a policy file. `examples` is the name and the text of the file of examples beside it.
    ///
    /// # Errors
    ///
    /// When something is wrong with the files. The error has every problem that can be found at once.
    pub fn compile(
        vocabulary: &Vocabulary,
        whose: PolicyOwner,
        file: &str,
        text: &str,
        examples: Option<(&str, &str)>,
    ) -> Result<Policies, Vec<Problem>> {
        expect_readable(file, text)?;
        let lines = starts(text);
        let parsed = PolicySet::from_str(text).map_err(|errors| {
            errors.iter().map(|error| of_diagnostic(file, text, error)).collect::<Vec<_>>()
        })?;
        let mut problems: Vec<Problem> = parsed
            .templates()
            .map(|template| {
                let line = lines.get(index(template.id())).copied();
                Problem::new(
                    file,
                    line,
                    "a policy with `?principal` or `?resource` is a template, which nothing fills",
                )
                .help("name the worker or the thing, or leave the place open: `principal`, `resource`")
            })
            .collect();
        let (mut set, mut asks, mut policies) = (PolicySet::new(), PolicySet::new(), BTreeMap::new());
        let mut tries = Vec::new();
        for policy in parsed.policies() {
            let at = index(policy.id());
            let line = lines.get(at).copied().unwrap_or(1);
            let problem = |message: String| Problem::new(file, Some(line), message);
            for (key, _) in policy.annotations().filter(|(key, _)| !ANNOTATIONS.contains(key)) {
                problems.push(
                    problem(format!("unknown annotation `@{key}`"))
                        .help(format!("known are @{}", ANNOTATIONS.join(", @"))),
                );
            }
            let name = policy.annotation("id").map_or_else(|| format!("policy-{}", at + 1), str::to_owned);
            if !is_name(&name) {
                problems.push(
                    problem("this `@id` is no name".to_owned())
                        .help("a name is letters, digits, `-` and `_`, at most 64"),
                );
                continue;
            }
            let restricts = policy.effect() == Effect::Forbid;
            let is_ask = policy.annotation("ask").is_some();
            let forbids = restricts && !is_ask;
            let invariant = policy.annotation("invariant").is_some();
            if let Some((what, help)) = whose.no_permit().filter(|_| !restricts) {
                problems.push(problem(what.to_owned()).help(help));
            }
            if is_ask && !restricts {
                let what = "`@ask` stands at a `forbid`, which then asks a person in place of refusing";
                problems.push(problem(what.to_owned()));
            }
            if invariant && (!forbids || policy.annotation("must_deny").is_none()) {
                let what = "an `@invariant` forbids, and shows with `@must_deny` that it does";
                problems.push(problem(what.to_owned()));
            }
            for expected in Expected::ALL {
                let written = policy.annotation(expected.word()).unwrap_or_default();
                for one in example::split(written) {
                    match Example::parse(vocabulary, expected, one) {
                        Ok(example) => tries.push((example, Some(name.clone()), file, line)),
                        Err(wrong) => problems.push(problem(format!("@{}: {wrong}", expected.word()))),
                    }
                }
            }
            let told = |key| policy.annotation(key).map(str::to_owned);
            let one = Policy {
                name: name.clone(),
                line,
                forbids,
                asks: is_ask,
                invariant,
                is_of_files: restricts && is_of_files(policy),
                reason: told("reason"),
                instead: told("instead"),
            };
            let to = if is_ask { &mut asks } else { &mut set };
            if policies.contains_key(&name) || to.add(policy.new_id(PolicyId::new(&name))).is_err() {
                problems.push(problem(format!("the name `{name}` is taken by another policy")));
            }
            policies.entry(name).or_insert(one);
        }
        let (examples_file, examples_text) = examples.unwrap_or_default();
        if examples_text.len() > MAX_BYTES {
            problems.push(too_large(examples_file));
        } else {
            for (at, written) in example::lines(examples_text) {
                match Example::parse_line(vocabulary, written) {
                    Ok(example) => tries.push((example, None, examples_file, at)),
                    Err(wrong) => problems.push(Problem::new(examples_file, Some(at), wrong)),
                }
            }
        }
        let validator = Validator::new(vocabulary.schema.clone());
        let mut warnings = Vec::new();
        for part in [&set, &asks] {
            let validated = validator.validate(part, ValidationMode::Strict);
            problems.extend(validated.validation_errors().map(|error| match error {
                ValidationError::UnrecognizedActionId(_) => unknown_action(vocabulary, file, text, error),
                _ => of_diagnostic(file, text, error),
            }));
            warnings.extend(validated.validation_warnings().map(|w| of_diagnostic(file, text, w)));
        }
        if whose == PolicyOwner::Machine && policies.is_empty() && problems.is_empty() {
            let problem = Problem::new(file, None, "it holds no policy");
            problems.push(problem.help("write a policy into it, or remove the file"));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let digest = BlobHash::of(text.as_bytes());
        let examples = tries.len();
        let authorizer = Authorizer::new();
        let file_name = file.to_owned();
        let compiled = Policies {
            file: file_name,
            owner: whose,
            digest,
            set,
            asks,
            policies,
            warnings,
            examples,
            authorizer,
        };
        let problems: Vec<Problem> = tries
            .into_iter()
            .filter_map(|(example, of, file, line)| {
                let wrong = compiled.fails(vocabulary, &example, of.as_deref())?;
                Some(Problem::new(file, Some(line), wrong))
            })
            .collect();
        if problems.is_empty() { Ok(compiled) } else { Err(problems) }
    }

    /// Returns the reason why an example does not come out as it must, or `None` if it does. An example at a policy
    /// with the expected effect must come out because of that policy.
    fn fails(&self, vocabulary: &Vocabulary, example: &Example, of: Option<&str>) -> Option<String> {
        let said = self.try_out(vocabulary, &example.call);
        let shown = format!("{} {}", example.expected.word(), example.text);
        if let Some((name, error)) = said.failed.first_key_value() {
            return Some(format!("`{shown}`: the policy `{name}` fails: {error}"));
        }
        if example.expected.is_met_by(said.stance) {
            let about = of.and_then(|name| self.policies.get(name))?;
            let speaks = match (about.forbids, about.asks) {
                (true, _) => Expected::Deny,
                (false, true) => Expected::Ask,
                (false, false) => Expected::Allow,
            };
            return (speaks == example.expected && !said.by.contains(&about.name))
                .then(|| format!("`{shown}`: that is so, but not because of `{}`", about.name));
        }
        let by: Vec<String> = said.by.iter().map(|name| format!("`{name}`")).collect();
        let by = by.join(", ");
        let invariant = said.by.iter().find(|name| self.policies.get(*name).is_some_and(|p| p.invariant));
        Some(match (said.stance, invariant) {
            (Stance::Forbids, Some(name)) => format!("`{shown}` contradicts the invariant `{name}`"),
            (Stance::Forbids, None) => format!("`{shown}`, but it is forbidden by {by}"),
            (Stance::Asks, _) => format!("`{shown}`, but {by} asks about it"),
            (Stance::Permits, _) => format!("`{shown}`, but it is permitted by {by}"),
            (Stance::Silent, _) => format!("`{shown}`, but no policy speaks of it"),
        })
    }

    /// Returns the policies' decision on an invented call, after checking the call against the schema.
    pub fn try_out(&self, vocabulary: &Vocabulary, call: &Call) -> PolicyDecision {
        self.decide(vocabulary, call, true)
    }

    /// Returns the policies' decision on a call. With `strict`, the call is checked against the schema. A call that
    /// cannot be decided is refused.
    pub(crate) fn decide(&self, vocabulary: &Vocabulary, call: &Call, strict: bool) -> PolicyDecision {
        let mut said =
            PolicyDecision { stance: Stance::Forbids, by: BTreeSet::new(), failed: BTreeMap::new() };
        let (Some(action), Some(views)) = (vocabulary.actions.get(&call.method), call.views()) else {
            said.failed.insert(String::new(), "the call cannot be shown to policies".to_owned());
            return said;
        };
        let (mut permits, mut forbids, mut permitted) = (BTreeSet::new(), BTreeSet::new(), 0);
        let mut asks = BTreeSet::new();
        let count = views.len();
        for view in views {
            let asked = match request::ask(vocabulary, action, call, view, strict) {
                Ok(asked) => asked,
                Err(error) => {
                    said.failed.insert(String::new(), error);
                    return said;
                }
            };
            let response = self.authorizer.is_authorized(&asked.request, &self.set, &asked.entities);
            for error in response.diagnostics().errors() {
                let AuthorizationError::PolicyEvaluationError(error) = error;
                said.failed.insert(error.policy_id().to_string(), error.inner().to_string());
            }
            let by = response.diagnostics().reason().map(ToString::to_string);
            match response.decision() {
                Decision::Allow => {
                    permitted += 1;
                    permits.extend(by);
                }
                Decision::Deny => forbids.extend(by),
            }
            let response = self.authorizer.is_authorized(&asked.request, &self.asks, &asked.entities);
            for error in response.diagnostics().errors() {
                let AuthorizationError::PolicyEvaluationError(error) = error;
                said.failed.insert(error.policy_id().to_string(), error.inner().to_string());
            }
            asks.extend(response.diagnostics().reason().map(ToString::to_string));
        }
        (said.stance, said.by) = match () {
            () if !said.failed.is_empty() || !forbids.is_empty() => (Stance::Forbids, forbids),
            () if !asks.is_empty() => (Stance::Asks, asks),
            () if count > 0 && permitted == count => (Stance::Permits, permits),
            () => (Stance::Silent, BTreeSet::new()),
        };
        said
    }

    /// Returns the name of the file, as the user knows it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the owner of the file.
    pub fn owner(&self) -> PolicyOwner {
        self.owner
    }

    /// Returns the hash of the file's bytes.
    pub fn digest(&self) -> BlobHash {
        self.digest
    }

    /// Returns the policies, in the order in which they stand in the file.
    pub fn policies(&self) -> Vec<&Policy> {
        let mut all: Vec<&Policy> = self.policies.values().collect();
        all.sort_by_key(|policy| policy.line);
        all
    }

    /// Returns the policy of a name.
    pub fn policy(&self, name: &str) -> Option<&Policy> {
        self.policies.get(name)
    }

    /// Returns the warnings, which are findings that make no policy invalid.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// Returns the number of examples, which have all come out as they must.
    pub fn examples(&self) -> usize {
        self.examples
    }
}

/// Returns whether a policy is about files: its actions are those of directories, or it tells files apart.
fn is_of_files(policy: &cedar_policy::Policy) -> bool {
    let is_directory = |id: &str| id == "dir" || id.starts_with("dir.");
    match policy.action_constraint() {
        ActionConstraint::Eq(action) => is_directory(action.id().unescaped()),
        ActionConstraint::In(actions) => actions.iter().any(|action| is_directory(action.id().unescaped())),
        ActionConstraint::Any => {
            let text = policy.to_string();
            ["context has path", "context has file", "context.path", "context.file", "Dir::"]
                .iter()
                .any(|words| text.contains(words))
        }
    }
}

/// Returns the place of a policy in its file, from 0. The parser puts this number into the identifier.
fn index(id: &PolicyId) -> usize {
    let id: &str = id.as_ref();
    id.strip_prefix("policy").and_then(|number| number.parse().ok()).unwrap_or_default()
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

fn of_diagnostic(file: &str, text: &str, diagnostic: &dyn Diagnostic) -> Problem {
    let offset = diagnostic.labels().and_then(|mut labels| labels.next()).map(|label| label.offset());
    let problem = Problem::new(file, offset.map(|at| line_of(text, at)), diagnostic.to_string());
    match diagnostic.help() {
        Some(help) => problem.help(help.to_string()),
        None => problem,
    }
}

/// Returns the problem of an action that the vocabulary does not have, with the nearest one as its help. Cedar compares
/// the identifier with whole references such as `Action::"git"`, in no fixed order, and so it prefers short ones.
fn unknown_action(vocabulary: &Vocabulary, file: &str, text: &str, diagnostic: &dyn Diagnostic) -> Problem {
    let problem = of_diagnostic(file, text, diagnostic);
    let word = problem.message.split_once("Action::\"").and_then(|(_, rest)| rest.split_once("\"`"));
    let Some((word, _)) = word else { return problem };
    let help = match nearest(word, vocabulary.action_names()) {
        Some(near) => format!("did you mean `Action::\"{near}\"`?"),
        None => "`almoner policy show --schema` lists the actions".to_owned(),
    };
    problem.help(help)
}

fn too_large(file: &str) -> Problem {
    Problem::new(file, None, format!("larger than {} KiB", MAX_BYTES >> 10))
        .help("fewer and more general policies; a list of names goes into one set")
}

/// Refuses a text that would take too much time or too much stack to read.
fn expect_readable(file: &str, text: &str) -> Result<(), Vec<Problem>> {
    if text.len() > MAX_BYTES {
        return Err(vec![too_large(file)]);
    }
    let (mut depth, mut line, mut size, mut in_string) = (0_usize, 1, 0, false);
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        size += 1;
        match byte {
            b'\n' => line += 1,
            b'\\' if in_string => line += usize::from(bytes.next() == Some(b'\n')),
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'/' if bytes.peek() == Some(&b'/') => {
                while bytes.next_if(|byte| *byte != b'\n').is_some() {}
                size -= 1;
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b';' => (depth, size) = (0, 0),
            _ => {}
        }
        let wrong = match () {
            () if depth > MAX_NESTING => format!("brackets nest more than {MAX_NESTING} deep"),
            () if size > MAX_POLICY => format!("this policy is longer than {MAX_POLICY} bytes"),
            () => continue,
        };
        return Err(vec![Problem::new(file, Some(line), wrong).help("write it as several policies")]);
    }
    Ok(())
}

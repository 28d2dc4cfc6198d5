//! The capability of programs of this machine: `run(argv, stdin?, env?)`, always in the sandbox.

mod call;
mod endow;
mod interface;
pub(crate) mod scratch;
mod secrets;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kernel::grant::Grant;
use kernel::proposal::{Effect, Finding, Pin, Value};
use kernel::provenance::{Provenance, Source};
use kernel::run::Completion;
use kernel::started_effect::StartedEffect;
use kernel::{BlobHash, Interface};
use passable::{Quoting, quoting, visible_line};
use policy::{ChangeScope, Facts, ProgramFact, SecretFact};
use resource::programs::{EndowedProgram, Programs};
use sandbox::{Confinement, End, Helper, Limits, Output, Report, Spec};

pub use endow::{ProgramError, endow_program};
pub(crate) use endow::{digest, interpreters};
pub(crate) use interface::{interface, without_secrets};
pub use scratch::sweep;

use crate::http::{HostServices, LOCKED};
use crate::{Capability, Probe, foreign, places};
use call::Call;
use scratch::Scratch;
use secrets::CallEnvironment;

/// The kind of the pins that identify a program.
const PROGRAM: &str = "program";
/// The maximum number of bytes of each stream that are returned if the grant names no limit.
const MAX_OUTPUT_BYTES: u64 = 64 << 10;
/// The maximum length of a call in the line of a card. The card shows the whole call below.
const MAX_LINE_LEN: usize = 200;

/// The capability of programs that were endowed together.
pub(crate) struct ProgramCapability {
    programs: Programs,
    grant: Grant,
    outside: Arc<dyn HostServices>,
    interface: &'static Interface,
}

impl ProgramCapability {
    pub(crate) fn open(
        programs: &Programs,
        grant: &Grant,
        outside: Arc<dyn HostServices>,
    ) -> ProgramCapability {
        let interface = match outside.slot_secrets().is_empty() {
            true => without_secrets(),
            false => interface(),
        };
        ProgramCapability { programs: programs.clone(), grant: grant.clone(), outside, interface }
    }

    /// Returns the endowed program that a call names, by its name or by its path.
    fn find(&self, called: &str) -> Option<&EndowedProgram> {
        let mut all = self.programs.programs.iter();
        all.find(|program| program.name == called || program.path == called)
            .or_else(|| self.find_link(called))
    }

    /// Returns the endowed program that a call names by the path of a link to its file, such as `/usr/bin/python3`. The
    /// link must have the program's name, because some programs do what the name says that they are called by.
    fn find_link(&self, called: &str) -> Option<&EndowedProgram> {
        let path = Path::new(called).is_absolute().then(|| Path::new(called))?;
        let name = path.file_name()?.to_str()?;
        let real = path.canonicalize().ok()?;
        self.programs.programs.iter().find(|program| program.name == name && Path::new(&program.path) == real)
    }

    fn fact(&self, call: &Call, secrets: Vec<SecretFact>) -> ProgramFact {
        let called = call.argv.first().map_or("", String::as_str);
        let program = self.find(called);
        let nothing = || BlobHash::of(b"");
        let directories: Vec<String> =
            self.programs.directories.iter().map(|directory| directory.path.clone()).collect();
        let writes = self.programs.directories.iter().any(|directory| directory.write);
        let look = |path: &str| Some(Path::new(path).canonicalize().ok()?.to_string_lossy().into_owned());
        ProgramFact {
            argv: call.argv.clone(),
            path: program.map_or_else(|| called.to_owned(), |program| program.path.clone()),
            digest: program.map_or_else(nothing, |program| {
                endow::digest(Path::new(&program.path)).unwrap_or_else(|_| nothing())
            }),
            endowed: program.map(|program| program.digest),
            interpreters: program
                .map(|program| endow::interpreters(Path::new(&program.path)).unwrap_or_default())
                .unwrap_or_default(),
            endowed_interpreters: program.map(|program| program.interpreters.clone()).unwrap_or_default(),
            names: policy::arguments::find_protected(&call.argv, &directories, writes, &look),
            writes,
            allowed: self.programs.programs.iter().map(|program| program.name.clone()).collect(),
            network: self.programs.network,
            starts_others: self.programs.starts_others,
            secrets,
        }
    }

    /// Returns the staged copies in which the program works, in words for a card.
    fn staged_words(&self) -> String {
        let slots = self.programs.directories.iter().filter_map(|directory| directory.staged_slot.as_ref());
        slots.map(|slot| format!(", in the staged copy of `{}`", visible_line(slot))).collect()
    }

    /// Returns a finding for each directory of the program that is missing, and one if the program has the network, but
    /// may not have it on this machine. Returns one if this machine cannot confine a program.
    fn problems(&self) -> Vec<Finding> {
        let gone = self.programs.directories.iter().filter(|directory| !Path::new(&directory.path).is_dir());
        let gone = gone.map(|directory| {
            let path = directory.typed_path();
            let path = visible_line(&path);
            Finding::new("program/directory", quoting!("the directory {} is not there", path))
                .at("argv")
                .counter_example(path)
                .allowed("the same call, once the user has put it back")
        });
        let managed = self.outside.refuses_network().filter(|_| self.programs.network).map(|reason| {
            Finding::new("program/managed", Quoting::theirs(reason))
                .at("argv")
                .counter_example("the network")
                .allowed("the same program without the network")
        });
        let unconfined = self.outside.cannot_confine().map(|reason| {
            let words = "this machine cannot confine programs, and runs none without: ";
            Finding::new(
                "program/sandbox",
                Quoting::ours(words).then(&Quoting::theirs(visible_line(&reason))),
            )
            .at("argv")
            .counter_example("a confined program")
            .allowed("the same call, once `almoner doctor sandbox` finds nothing missing")
        });
        gone.chain(managed).chain(unconfined).collect()
    }

    fn spec(&self, call: &Call, program: &EndowedProgram, scratch: &Path, given: &CallEnvironment) -> Spec {
        let directories = |write: bool| {
            let chosen = self.programs.directories.iter().filter(move |directory| directory.write == write);
            chosen.map(|directory| PathBuf::from(&directory.path))
        };
        let mut readable = sandbox::places_of_the_system(self.programs.network);
        readable.push(PathBuf::from(&program.path));
        readable.extend(directories(false));
        let mut writable = vec![scratch.to_owned()];
        writable.extend(directories(true));
        // A program that only does its own work starts no other program.
        let starts =
            self.programs.starts_others || policy::launchers::must_start_others(&program.path, &call.argv);
        let mut executable = Vec::new();
        if starts {
            executable = sandbox::programs_of_the_system();
            executable.extend(self.programs.programs.iter().map(|program| PathBuf::from(&program.path)));
        }
        let home = scratch.to_string_lossy().into_owned();
        let environment = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("HOME", &home),
            ("TMPDIR", &home),
            ("LANG", "C.UTF-8"),
            ("TERM", "dumb"),
            // The machine's own settings cannot be read in the sandbox, and git would report that at each call.
            ("GIT_CONFIG_NOSYSTEM", "1"),
            // Programs named in the settings of a repository must not be started.
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
            ("GIT_CONFIG_VALUE_0", "false"),
            ("GIT_CONFIG_KEY_1", "core.hooksPath"),
            ("GIT_CONFIG_VALUE_1", "/dev/null"),
        ];
        // The given variables cannot override these, which hold for each call.
        let mut variables = given.variables.clone();
        variables.extend(environment.map(|(name, value)| (name.to_owned(), value.to_owned())));
        Spec {
            program: PathBuf::from(&program.path),
            digest: Some(program.digest.to_string()),
            interpreters: program
                .interpreters
                .iter()
                .map(|it| (PathBuf::from(&it.path), it.digest.to_string()))
                .collect(),
            argv: call.argv.clone(),
            directory: self
                .programs
                .directories
                .first()
                .map_or_else(|| scratch.to_owned(), |directory| PathBuf::from(&directory.path)),
            environment: variables,
            within: Confinement {
                readable,
                writable,
                executable,
                network: self.programs.network,
                pretends: true,
                limits: Limits {
                    wall_ms: self.programs.wall_ms,
                    cpu_s: self.programs.wall_ms.div_ceil(1000),
                    memory: self.programs.memory,
                    output: self.grant.attenuation.max_bytes.unwrap_or(MAX_OUTPUT_BYTES),
                    ..Limits::default()
                },
            },
        }
    }

    fn run(&self, begun: &StartedEffect, call: &Call) -> Completion {
        let fact = self.fact(call, vec![]);
        let called = visible_line(&fact.path).into_owned();
        let refused = |rule: &str, message: String, allowed: String| {
            let finding =
                Finding::new(rule, message).at("argv[0]").counter_example(called.clone()).allowed(allowed);
            Completion::Refused(vec![finding])
        };
        let Some(program) = call.argv.first().and_then(|called| self.find(called)) else {
            let message = format!("`{called}` is not a program that was endowed");
            return refused("programs/not-endowed", message, fact.allowed.join(", "));
        };
        if fact.digest != program.digest {
            let message = format!("`{called}` is not the program that was endowed: its file has changed");
            return refused("programs/changed", message, "nothing, until the user endows it anew".to_owned());
        }
        if fact.interpreters != program.interpreters {
            let message = format!("`{called}` is a script, and what reads it is not what it was");
            return refused("programs/changed", message, "nothing, until the user endows it anew".to_owned());
        }
        let problems = self.problems();
        if !problems.is_empty() {
            return Completion::Refused(problems);
        }
        let given = match self.given(call, &begun.proposal().pins) {
            Ok(given) => given,
            // The call has not been made yet, so it can be repeated with the same approval once the vault is
            // unlocked.
            Err(mut problems) => match problems.iter().position(|problem| problem.rule == LOCKED) {
                Some(at) => return Completion::Failed(problems.swap_remove(at)),
                None => return Completion::Refused(problems),
            },
        };
        let failed = |message: String| {
            let allowed = "the same call, once the user has looked at `almoner doctor`";
            Completion::Failed(Finding::new("program/sandbox", message).at("argv[0]").allowed(allowed))
        };
        let scratch = match Scratch::new() {
            Ok(scratch) => scratch,
            Err(error) => return failed(format!("there is no place for `{called}` to work in: {error}")),
        };
        let spec = self.spec(call, program, scratch.path(), &given);
        match sandbox::run(&Helper::own(), &spec, call.stdin.as_bytes()) {
            Ok(report) => self.done(begun, program, &report, &given),
            Err(error) => failed(format!("`{called}` was not run: {}", visible_line(&error.to_string()))),
        }
    }

    fn done(
        &self,
        begun: &StartedEffect,
        program: &EndowedProgram,
        report: &Report,
        given: &CallEnvironment,
    ) -> Completion {
        let status = match report.end {
            End::Exited { status } => Value::number(f64::from(status)),
            _ => Value::Null,
        };
        let (stdout, stderr) = (text(&report.stdout, given), text(&report.stderr, given));
        let hash = BlobHash::of(format!("{stdout}\n{stderr}").as_bytes());
        let value = Value::record_from_map(BTreeMap::from([
            ("ended".to_owned(), Value::from(report.end.description())),
            ("status".to_owned(), status),
            ("stdout".to_owned(), Value::from(stdout)),
            ("stderr".to_owned(), Value::from(stderr)),
        ]));
        // The output of a program depends on the files that it has read, and on the words of its call.
        let name = format!("{}/{}", self.grant.slot, program.name);
        let provenance = Provenance::of(Source::Document { name, hash }).join(&begun.proposal().provenance);
        Completion::Done { value, provenance }
    }
}

/// Returns pins on the present program and, if it is a script, on its interpreters.
fn pins(program: &ProgramFact) -> BTreeSet<Pin> {
    let readers = program.interpreters.iter().map(|it| (&it.path, it.digest));
    let all = std::iter::once((&program.path, program.digest)).chain(readers);
    all.map(|(path, digest)| Pin { kind: PROGRAM.to_owned(), name: path.clone(), digest: Some(digest) })
        .collect()
}

/// Returns a stream as text, with a note on the bytes that were cut.
fn text(output: &Output, given: &CallEnvironment) -> String {
    let mut text = given.redacted_text(output);
    if output.cut > 0 {
        text += &format!("\n[{} bytes more were cut]\n", output.cut);
    }
    text
}

impl Capability for ProgramCapability {
    fn interface(&self) -> &Interface {
        self.interface
    }

    fn works_in_stages(&self) -> bool {
        self.programs.directories.iter().any(|directory| directory.staged_slot.is_some())
    }

    fn facts(&self, method: &str, args: &[Value]) -> Facts {
        let slot = visible_line(&self.grant.slot);
        let call = match Call::parse(method, args) {
            Ok(call) => call,
            Err(problem) => {
                return Facts {
                    line: format!("calls {} of `{slot}`", visible_line(method)),
                    problems: vec![*problem],
                    ..Facts::default()
                };
            }
        };
        let (secrets, secret_problems) = self.secrets(&call);
        let own = secrets::pins(&secrets);
        let with: Vec<String> = secrets
            .iter()
            .map(|fact| format!(", with {} from the secret {}", fact.variable, fact.secret))
            .collect();
        let program = self.fact(&call, secrets);
        let line: String = call.argv.join(" ").chars().take(MAX_LINE_LEN).collect();
        let mut problems = self.problems();
        problems.extend(secret_problems);
        Facts {
            pins: pins(&program).into_iter().chain(own).collect(),
            bytes: Some(call.stdin.len() as u64),
            line: format!("runs {} in `{slot}`{}{}", visible_line(&line), self.staged_words(), with.concat()),
            raises: program.commits().then_some(Effect::Commit),
            program: Some(program),
            problems,
            ..Facts::default()
        }
    }

    fn change_scopes(&self, _: &str, _: &[Value]) -> Vec<ChangeScope> {
        places::trees("argv", &self.programs.directories)
    }

    fn blocked_by(&self, method: &str, args: &[Value]) -> Option<Finding> {
        let (_, problems) = self.secrets(&Call::parse(method, args).ok()?);
        problems.into_iter().find(|problem| problem.rule == LOCKED)
    }

    fn perform(&self, begun: &StartedEffect) -> Completion {
        if let Some(finding) = foreign(begun, &self.grant) {
            return Completion::Refused(vec![finding]);
        }
        match Call::parse(&begun.proposal().method, &begun.proposal().args) {
            Err(finding) => Completion::Refused(vec![*finding]),
            Ok(call) => self.run(begun, &call),
        }
    }

    fn can_be_looked_up(&self, _: &str) -> bool {
        false
    }

    /// Returns that the outcome is unknown. A program may have done all, some or none of its work, and only the user
    /// can tell.
    fn probe(&self, _: &StartedEffect) -> Probe {
        Probe::Unknown
    }
}

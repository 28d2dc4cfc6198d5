//! The acts of an agent: on names, agents, grants and mail.

use std::collections::BTreeMap;

use kernel::command::{
    Act, Fault, FieldValue, GrantAct, MailAct, NameAct, ProvidedObject, Text, TimerAct, UserCommand,
};
use kernel::formula::Formula;
use kernel::grant::EVERY_METHOD;
use kernel::message::{Body, Field};
use kernel::modules::{ModuleFormat, Modules};
use kernel::name_lookup::{NameContainer, View};
use kernel::slot::{Requirement, Slot};
use kernel::txn::ReadTxn;
use kernel::{FormulaId, MessageNumber, NamePath, Number, Pattern, Value, query, table};
use passable::{Untrusted, from_base64, visible_line, with_article};
use worker::definition::Bundle;

use crate::files::{directories, module_archives, trees};
use crate::queries::mail;
use crate::queries::picks;
use crate::runs::narrow;
use crate::runs::start;
use crate::runs::start::EndowmentStart;
use crate::state::blobs;
use crate::state::daemon::HostDaemon;
use crate::state::precondition::Expected;
use crate::state::protected_paths::ProtectedPaths;
use crate::state::worker_files;
use crate::state::{daemon, sealing};
use config::clock;
use control::exit::{Exit, Failure};
use control::protocol::{AgentAct, FieldInput, GivenModules, Response, RunRequest, StartSpec};

/// The lifetime of a sharing token, in days.
const TOKEN_DAYS: i64 = 30;

/// Returns the agent for which a user acts. It is the store's own host, or the agent at a path of that host's names.
pub fn agent(daemon: &HostDaemon, path: Option<&str>) -> Result<FormulaId, Failure> {
    let root = daemon.host;
    let Some(text) = path else { return Ok(root) };
    let path = parse_path(text)?;
    daemon.query(|txn| agent_at_path(txn, &daemon.view(root), &path))
}

/// Returns the agent at a path of names. After the name of an agent, the path continues among that agent's names.
fn agent_at_path(txn: &mut dyn ReadTxn, view: &View, path: &NamePath) -> Result<FormulaId, Fault> {
    match agent_by_name(txn, view, path) {
        Err(Fault::NotADirectory(_)) => {
            let (before, last) = path.split();
            let agent = agent_at_path(txn, view, &NamePath::new(before.iter().cloned())?)?;
            agent_by_name(txn, &View { agent, ..*view }, &NamePath::new([last.to_owned()])?)
        }
        other => other,
    }
}

/// Returns the agent that has this name. A user who reaches an agent itself has its powers. A mail address gives no
/// power over the agent that reads the mail. It stands for its agent only in the directory of that agent's maker,
/// which could also hold the agent itself.
fn agent_by_name(txn: &mut dyn ReadTxn, view: &View, path: &NamePath) -> Result<FormulaId, Fault> {
    let id = view.identify(txn, path)?;
    // The name leads to the agent itself, so no grants need to be checked.
    if kernel::partial_rows::head(txn, &id)?.is_some_and(|head| head.agent().is_some()) {
        return Ok(id);
    }
    let reached = table::reach(txn, &id)?.ok_or(Fault::Dangling(id))?;
    match reached.formula {
        Formula::Host { .. } | Formula::Guest { .. } => match reached.refusal(EVERY_METHOD, view.now_ms) {
            Some(finding) => Err(Fault::Revoked(finding.message)),
            None => Ok(reached.id),
        },
        Formula::Handle { agent } => {
            let own = reached.grants.is_empty() && is_in_makers_directory(txn, view, path, &agent)?;
            let refused = || Fault::NotAllowed(format!("{path} is only a mail address"));
            own.then_some(agent).ok_or_else(refused)
        }
        other => Err(Fault::Misfit { what: format!("{path} is {}, not an agent", query::describe(&other)) }),
    }
}

/// Returns whether a path ends in a directory of the host that made the agent, and reaches it without a grant. Such a
/// path uses the powers of that host, and not an object that the host has shared.
fn is_in_makers_directory(
    txn: &mut dyn ReadTxn,
    view: &View,
    path: &NamePath,
    agent: &FormulaId,
) -> Result<bool, Fault> {
    let (before, _) = path.split();
    for end in 1..=before.len() {
        let passed = view.identify(txn, &NamePath::new(before[..end].iter().cloned())?)?;
        if table::grant(txn, &passed)?.is_some() {
            return Ok(false);
        }
    }
    let whose = match view.container(txn, before)? {
        NameContainer::Agent(agent) => agent.number,
        NameContainer::Directory { owner, .. } => owner,
        NameContainer::Mailbox { .. } | NameContainer::Message { .. } => return Ok(false),
    };
    let Some(Formula::Guest { host: maker, .. } | Formula::Host { host: maker, .. }) =
        table::formula(txn, agent)?.map(|row| row.formula)
    else {
        return Ok(false);
    };
    let maker = table::formula(txn, &maker)?.map(|row| row.formula);
    Ok(matches!(maker, Some(Formula::Handle { agent }) if agent.number == whose))
}

fn parse_path(text: &str) -> Result<NamePath, Failure> {
    NamePath::parse(text).map_err(|e| {
        Failure::from_error(Exit::Usage, e).help("a name has no `@` or NUL; a path has `/` between names")
    })
}

/// Performs an act as an agent. `name` is the user's name for the agent.
pub fn act(
    daemon: &HostDaemon,
    agent: FormulaId,
    name: Option<&str>,
    said: Option<UserCommand>,
    act: AgentAct,
) -> Result<Response, Failure> {
    let act = match act {
        AgentAct::Name { act } => {
            reject_client_hash(&daemon.protected_paths, &act)?;
            Act::Name(act)
        }
        AgentAct::StoreText { text, path, force } => {
            let bytes = text.len() as u64;
            let hash = blobs::upload(daemon, text.as_bytes())?;
            let act = NameAct::StoreBlob { hash, bytes, path };
            Act::Name(if force { NameAct::Forced { act: Box::new(act) } } else { act })
        }
        AgentAct::Provide { act } => Act::Provide(act),
        AgentAct::Mail { act } => match *act {
            MailAct::Define(_)
            | MailAct::Edit { .. }
            | MailAct::EndowCode { .. }
            | MailAct::EndowWorker { .. }
            | MailAct::Make { .. }
            | MailAct::Give { .. }
            | MailAct::IfUnchanged { .. }
            | MailAct::Submit { .. } => {
                return Err(Failure::new(Exit::Usage, "this act has a request of its own"));
            }
            // A dismissal is not recorded in the mailbox, because the record would only take the place of the
            // dismissed message.
            act @ (MailAct::Dismiss { .. } | MailAct::DismissAll) => {
                return apply_act(daemon, agent, None, Act::Mail(Box::new(act)));
            }
            act => Act::Mail(Box::new(act)),
        },
        AgentAct::Define { to, name, source, includes, slots, result_name, edit, done } => {
            let program = store_program(daemon, name, source, includes, slots)?;
            Act::Mail(Box::new(match edit {
                Some(number) => Expected::for_edit(done).guard(MailAct::Edit { number, program }),
                None => MailAct::Define(kernel::command::Define { to, program, result_name }),
            }))
        }
        AgentAct::Endow { number, names, spec, goes_to, result_name, seen } => {
            let (program, slots) = mail::proposed_program(daemon, agent, number)?;
            let seal = seen.as_ref().and_then(|seen| seen.plan);
            let seen = seen.map(|seen| Expected::for_endowment(*seen, &names, result_name.as_ref()));
            let seen = seen.unwrap_or_default();
            let Some(bundle) = program else {
                if let Some(endowment) = spec.endow.first() {
                    let message = format!("slot `{}`: code takes names, not paths", endowment.slot);
                    return Err(Failure::new(Exit::Usage, message)
                        .help("give the thing a name first, then bind SLOT=NAME"));
                }
                if *spec != (StartSpec { dry_run: spec.dry_run, ..StartSpec::default() }) {
                    let message =
                        "code takes no inputs, documents, permissions or model: it is bound by names alone";
                    return Err(Failure::new(Exit::Usage, message)
                        .help(format!("`almoner endow {number} SLOT=NAME` for each of its slots")));
                }
                let act = MailAct::EndowCode { number, bindings: names, vat: None, goes_to, result_name };
                let act = seen.guard(act);
                return apply_act(daemon, agent, said, Act::Mail(Box::new(act)));
            };
            let daemon = daemon.host_of(agent, name)?;
            if let Some(unknown) = names.keys().find(|name| !slots.contains_key(*name)) {
                return Err(Failure::new(
                    Exit::Invalid,
                    format!("there is no slot `{}`", visible_line(unknown)),
                )
                .help(format!("its slots: {}", slots.keys().cloned().collect::<Vec<_>>().join(", "))));
            }
            let text = said.map_or_else(|| Untrusted::new("endow"), |said| said.text);
            let request = RunRequest { text, worker: mail::source_of(bundle), spec: *spec, key: None };
            let endowed = EndowmentStart { number, names, goes_to, result_name, expected: seen, seal };
            return start::start_as(&daemon, request, endowed);
        }
        AgentAct::Make { given, powers, env, result_name } => {
            let modules = store_modules(daemon, agent, given, env)?;
            let act = MailAct::Make { vat: None, modules, powers, new_guest: false, result_name };
            Act::Mail(Box::new(act))
        }
        AgentAct::Resolve { number, answered } => {
            return crate::runs::answer_request::answer(daemon, agent, name, said, number, answered);
        }
        AgentAct::Submit { number, values } => {
            let values = parse_fields(daemon, agent, number, values)?;
            Act::Mail(Box::new(MailAct::Submit { number, values }))
        }
        AgentAct::Share { path } => {
            let mut token = [0; 32];
            daemon::random(&mut token)?;
            let token: String = token.iter().map(|b| format!("{b:02x}")).collect();
            let expires_ms = clock::now_ms().saturating_add(TOKEN_DAYS * 86_400_000);
            let act = GrantAct::Share { path, token: token_hash(&token), expires_ms };
            apply_act(daemon, agent, said, Act::Grant(act))?;
            return Ok(Response::Token(token));
        }
        AgentAct::Accept { token, path } => {
            Act::Grant(GrantAct::Accept { token: token_hash(token.trim()), path })
        }
        AgentAct::Narrow { path, is, by, to, force } => {
            Act::Grant(narrow::narrow_act(daemon, &daemon.view(agent), path, is, &by, to, force)?)
        }
        AgentAct::Revoke { grant } => Act::Grant(GrantAct::Revoke { grant }),
        AgentAct::Cancel { what, reason } => Act::Cancel { what, reason },
        AgentAct::Remake { path } => {
            let view = daemon.view(agent);
            return Ok(Response::Reply(crate::queries::code_journal::remake(daemon, &view, &path)?));
        }
        AgentAct::MakeTimer { path, interval_ms, label } => {
            Act::Timer(TimerAct::Make { path, interval_ms, label })
        }
        AgentAct::Ticks { path, begin } => {
            let timer = daemon.query(|txn| daemon.view(agent).identify(txn, &path))?;
            Act::Timer(match begin {
                true => TimerAct::Subscribe { timer },
                false => TimerAct::Unsubscribe { timer },
            })
        }
    };
    apply_act(daemon, agent, said, act)
}

/// Refuses an act with a hash from the client. Otherwise a client that knows a hash could reach bytes that others
/// have stored. The daemon computes hashes itself, from the bytes in `store_text` and the worker files in `define`.
fn reject_client_hash(own: &ProtectedPaths, act: &NameAct) -> Result<(), Failure> {
    match act {
        NameAct::StoreBlob { .. } => {
            Err(Failure::new(Exit::Usage, "bytes are kept by giving them, not by naming their hash")
                .help("`store_text` takes text"))
        }
        NameAct::Provide { thing: ProvidedObject::Tree(_), .. } => {
            Err(Failure::new(Exit::Usage, "a tree is kept by giving it, not by naming its hash"))
        }
        NameAct::Provide { thing: ProvidedObject::Mount { path, .. }, .. } => {
            directories::resolve_directory(own, path).map(drop)
        }
        NameAct::Within { act, .. } | NameAct::Forced { act } | NameAct::IfUnchanged { act, .. } => {
            reject_client_hash(own, act)
        }
        _ => Ok(()),
    }
}

fn apply_act(
    daemon: &HostDaemon,
    agent: FormulaId,
    said: Option<UserCommand>,
    act: Act,
) -> Result<Response, Failure> {
    Ok(Response::Reply(daemon.apply_as(agent, said, act)?.reply))
}

/// Returns the hash that stands for a token in the store.
fn token_hash(token: &str) -> Number {
    Number(blake3::derive_key("almoner sharing token v1", token.as_bytes()))
}

/// Returns a program in the form that the kernel takes. The text of a worker file is parsed and stored first.
fn store_program(
    daemon: &HostDaemon,
    name: String,
    source: String,
    includes: BTreeMap<String, String>,
    slots: BTreeMap<String, (String, String)>,
) -> Result<Text, Failure> {
    if !source.trim_start().starts_with("---") {
        let slots = slots
            .into_iter()
            .map(|(name, (label, pattern))| {
                let pattern = pattern_of(&pattern, &format!("slot `{name}`"))?.to_value();
                Ok((name, Slot { label: Untrusted::new(label), pattern }))
            })
            .collect::<Result<_, Failure>>()?;
        return Ok(Text { source: Untrusted::new(source), worker: None, slots });
    }
    if !slots.is_empty() {
        return Err(Failure::new(Exit::Usage, "cannot take slots: a worker file names its slots itself")
            .help("leave `--slot` out, or write them into the file"));
    }
    let file = format!("{name}.worker");
    let bundle = Bundle { name, file, source, includes };
    let definition = worker_files::parse(&bundle)?;
    let worker = start::keep_program(daemon, &bundle, definition.limits)?;
    let slots = mail::slots_of(&definition);
    Ok(Text { source: Untrusted::new(bundle.source), worker: Some(worker), slots })
}

/// A sink that stores the bytes of a request.
struct UploadSink<'a>(&'a HostDaemon);

impl trees::BlobSink for UploadSink<'_> {
    fn put(&self, bytes: &[u8]) -> Result<kernel::BlobHash, Failure> {
        blobs::upload(self.0, bytes)
    }
}

/// Returns a program of modules in the form that the kernel takes. The modules are unpacked and stored first.
fn store_modules(
    daemon: &HostDaemon,
    agent: FormulaId,
    given: GivenModules,
    env: BTreeMap<String, String>,
) -> Result<Modules, Failure> {
    let head = daemon.read(|txn| kernel::partial_rows::head(txn, &agent))?;
    if !head.is_some_and(|head| head.is_host()) {
        return Err(Failure::new(Exit::Denied, "only a host can make programs of modules")
            .help("an agent that is none can be handed what one has made"));
    }
    let decoded =
        |base64: &str| from_base64(base64).map_err(|_| Failure::new(Exit::Invalid, "what came is no Base64"));
    let (packed, unpacked) = match given {
        GivenModules::Archive { base64 } => {
            (ModuleFormat::Archive, module_archives::from_archive(&decoded(&base64)?)?)
        }
        GivenModules::Files { files } => {
            let files = files.into_iter().map(|(path, base64)| Ok((path, decoded(&base64)?)));
            (ModuleFormat::Tree, module_archives::from_files(&files.collect::<Result<_, Failure>>()?)?)
        }
        GivenModules::Named { path } => module_archives::from_name(daemon, daemon.view(agent), &path)?,
    };
    module_archives::store(&UploadSink(daemon), packed, env, &unpacked)
}

/// Parses a pattern that a user wrote, as an `M.` expression or in the short form.
pub fn pattern_of(text: &str, whose: &str) -> Result<Pattern, Failure> {
    let word = || Pattern::from_shorthand(&passable::Node::Text(text.to_owned(), 0..text.len()));
    let expression = text.contains("M.") || text.trim_start().starts_with(['{', '[', '"', '\'']);
    let read = if expression { Pattern::parse(text) } else { word() };
    read.map_err(|e| {
        Failure::new(Exit::Invalid, format!("{whose}: {e}"))
            .help("write `string`, `1..5`, `yes|no`, `dir`, or an `M.` expression")
    })
}

/// Returns the values of a submitted form, in the form that the kernel takes.
fn parse_fields(
    daemon: &HostDaemon,
    agent: FormulaId,
    number: MessageNumber,
    values: BTreeMap<String, FieldInput>,
) -> Result<BTreeMap<String, FieldValue>, Failure> {
    let letter = mail::message(daemon, agent, number)?;
    let Some(Body::Form { fields, .. }) = letter.body() else {
        let kind = &letter.mail.envelope.kind;
        return Err(Failure::new(
            Exit::Conflict,
            format!("message {number} is {}, not a form", with_article(kind)),
        )
        .help(format!("`almoner inbox {number}` shows it")));
    };
    values
        .into_iter()
        .map(|(name, written)| {
            let field = fields.iter().find(|field| field.name == name).ok_or_else(|| {
                let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
                Failure::new(Exit::Invalid, format!("there is no field `{}`", visible_line(&name)))
                    .help(visible_line(&format!("its fields: {}", known.join(", "))).into_owned())
            })?;
            let filled = parse_field(daemon, agent, field, written)?;
            Ok((name, filled))
        })
        .collect()
}

/// Reads the value of one field. The client has checked it, and the kernel checks it again. A secret is checked here
/// before it is sealed, because the kernel cannot read it afterwards.
fn parse_field(
    daemon: &HostDaemon,
    agent: FormulaId,
    field: &Field,
    written: FieldInput,
) -> Result<FieldValue, Failure> {
    let bad = |what: String| Failure::new(Exit::Invalid, what).help("nothing was sent");
    let named = format!("field {:?}", field.name);
    let pattern = Pattern::from_value(&field.pattern).map_err(|e| bad(e.to_string()))?;
    match written {
        FieldInput::Value { .. } if field.secret => Err(bad(format!("{named} is secret: it takes text"))),
        FieldInput::Value { value } => {
            Ok(FieldValue::Value { value: picks::with_settled_promises(daemon, agent, &value)? })
        }
        FieldInput::Text { text } if field.secret => {
            pattern.check_named(&named, &Value::string(text.clone())).map_err(|e| bad(e.to_string()))?;
            Ok(FieldValue::Sealed { sealed: sealing::seal(&daemon.vault, daemon.state(), &text)? })
        }
        // A name must not silently turn into the data that it stands for.
        FieldInput::Text { .. } if Requirement::from_pattern(&pattern) == Requirement::Pattern => {
            Err(bad(format!("{named} takes a value, not text")))
        }
        FieldInput::Text { text } => Ok(FieldValue::Name { path: parse_path(&text)? }),
    }
}

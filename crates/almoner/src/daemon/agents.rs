//! Acting as an agent: names, agents, grants and mail.

use std::collections::BTreeMap;

use kernel::command::{Act, Fault, Filled, GrantAct, MailAct, NameAct, Provided, Said, Text, TimerAct};
use kernel::formula::Formula;
use kernel::grant::EVERY_METHOD;
use kernel::hub::{Hub, View};
use kernel::message::{Body, Field};
use kernel::modules::{Modules, Packed};
use kernel::slot::{Slot, Want};
use kernel::txn::ReadTxn;
use kernel::{FormulaId, MessageNumber, NamePath, Number, Pattern, Value, query, table};
use passable::{Untrusted, from_base64, visible_line, with_article};
use worker::definition::{self, Bundle, Definition};

use super::as_seen::AsSeen;
use super::desk::Desk;
use super::own::Own;
use super::start_run::{self, Endowed};
use super::{modules, mounts, narrow, picks, said, secrets, tree, world};
use config::clock;
use control::exit::{Exit, Failure};
use control::protocol::{AgentAct, GivenModules, Response, RunRequest, StartSpec, WorkerSource, Written};

/// How long a sharing token can be used.
const TOKEN_DAYS: i64 = 30;

/// The agent as whom a person acts: the store's own host, or the one to which a path of that host's leads.
pub fn agent(desk: &Desk, path: Option<&str>) -> Result<FormulaId, Failure> {
    let root = desk.daemon.host;
    let Some(text) = path else { return Ok(root) };
    let path = parse_path(text)?;
    desk.daemon.look(|txn| found(txn, &desk.daemon.view(root), &path))
}

/// The agent to which a path leads. From an agent it goes on among that agent's names.
fn found(txn: &mut dyn ReadTxn, view: &View, path: &NamePath) -> Result<FormulaId, Fault> {
    match named(txn, view, path) {
        Err(Fault::NotADirectory(_)) => {
            let (before, last) = path.split();
            let agent = found(txn, view, &NamePath::new(before.iter().cloned())?)?;
            named(txn, &View { agent, ..*view }, &NamePath::new([last.to_owned()])?)
        }
        other => other,
    }
}

/// The agent that has this name. Whoever reaches an agent itself has its powers. A mail address is not the power over
/// whoever reads the mail: it stands for its agent only in the directory of whoever made that agent, where the agent
/// itself could stand as well.
fn named(txn: &mut dyn ReadTxn, view: &View, path: &NamePath) -> Result<FormulaId, Fault> {
    let id = view.identify(txn, path)?;
    // The agent itself, and no grant of it that would have to be asked.
    if kernel::head::head(txn, &id)?.is_some_and(|head| head.agent().is_some()) {
        return Ok(id);
    }
    let reached = table::reach(txn, &id)?.ok_or(Fault::Dangling(id))?;
    match reached.formula {
        Formula::Host { .. } | Formula::Guest { .. } => match reached.refusal(EVERY_METHOD, view.now_ms) {
            Some(finding) => Err(Fault::Revoked(finding.message)),
            None => Ok(reached.id),
        },
        Formula::Handle { agent } => {
            let own = reached.grants.is_empty() && stands_with_its_maker(txn, view, path, &agent)?;
            let refused = || Fault::NotAllowed(format!("{path} is only a mail address"));
            own.then_some(agent).ok_or_else(refused)
        }
        other => Err(Fault::Misfit { what: format!("{path} is {}, not an agent", query::words(&other)) }),
    }
}

/// Whether a path ends in a directory of the host who made the agent, and comes there without a grant: through that
/// host's powers, not through what it has shared.
fn stands_with_its_maker(
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
    let whose = match view.hub(txn, before)? {
        Hub::Agent(agent) => agent.number,
        Hub::Directory { owner, .. } => owner,
        Hub::Mailbox { .. } | Hub::Message { .. } => return Ok(false),
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
        Failure::new(Exit::Usage, e.to_string())
            .help("a name has no `@` or NUL; a path has `/` between names")
    })
}

/// Does something as an agent, which a person calls by this name.
pub fn act(
    desk: &Desk,
    agent: FormulaId,
    name: Option<&str>,
    said: Option<Said>,
    act: AgentAct,
) -> Result<Response, Failure> {
    let act = match act {
        AgentAct::Name { act } => {
            expect_no_hash(&desk.own, &act)?;
            Act::Name(act)
        }
        AgentAct::StoreText { text, path, force } => {
            let bytes = text.len() as u64;
            let hash = start_run::upload(desk, text.as_bytes())?;
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
            | MailAct::AsSeen { .. }
            | MailAct::Submit { .. } => {
                return Err(Failure::new(Exit::Usage, "this act has a request of its own"));
            }
            // What was dismissed says so itself: a line about it would only lie there instead.
            act @ (MailAct::Dismiss { .. } | MailAct::DismissAll) => {
                return send(desk, agent, None, Act::Mail(Box::new(act)));
            }
            act => Act::Mail(Box::new(act)),
        },
        AgentAct::Define { to, name, source, includes, slots, result_name, edit, done } => {
            let program = text(desk, name, source, includes, slots)?;
            Act::Mail(Box::new(match edit {
                Some(number) => AsSeen::edited(done).act(MailAct::Edit { number, program }),
                None => MailAct::Define(kernel::command::Define { to, program, result_name }),
            }))
        }
        AgentAct::Endow { number, names, spec, goes_to, result_name, seen } => {
            let (program, slots) = proposed(desk, agent, number)?;
            let seal = seen.as_ref().and_then(|seen| seen.plan);
            let seen = seen.map(|seen| AsSeen::endowed(*seen, &names, result_name.as_ref()));
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
                let act = seen.act(act);
                return send(desk, agent, said, Act::Mail(Box::new(act)));
            };
            let desk = desk.of(agent, name)?;
            if let Some(unknown) = names.keys().find(|name| !slots.contains_key(*name)) {
                return Err(Failure::new(
                    Exit::Invalid,
                    format!("there is no slot `{}`", visible_line(unknown)),
                )
                .help(format!("its slots: {}", slots.keys().cloned().collect::<Vec<_>>().join(", "))));
            }
            let text = said.map_or_else(|| Untrusted::new("endow"), |said| said.text);
            let request = RunRequest { text, worker: source_of(bundle), spec: *spec };
            let endowed = Endowed { number, names, goes_to, result_name, seen, seal };
            return start_run::start_as(&desk, request, Some(endowed));
        }
        AgentAct::Make { given, powers, env, result_name } => {
            let modules = given_modules(desk, agent, given, env)?;
            let act = MailAct::Make { vat: None, modules, powers, new_guest: false, result_name };
            Act::Mail(Box::new(act))
        }
        AgentAct::Resolve { number, answered } => {
            return super::requested::answer(desk, agent, name, said, number, answered);
        }
        AgentAct::Submit { number, values } => {
            let values = filled(desk, agent, number, values)?;
            Act::Mail(Box::new(MailAct::Submit { number, values }))
        }
        AgentAct::Share { path } => {
            let mut token = [0; 32];
            world::random(&mut token)?;
            let token: String = token.iter().map(|b| format!("{b:02x}")).collect();
            let expires_ms = clock::now_ms().saturating_add(TOKEN_DAYS * 86_400_000);
            let act = GrantAct::Share { path, token: hashed(&token), expires_ms };
            send(desk, agent, said, Act::Grant(act))?;
            return Ok(Response::Token(token));
        }
        AgentAct::Accept { token, path } => {
            Act::Grant(GrantAct::Accept { token: hashed(token.trim()), path })
        }
        AgentAct::Narrow { path, is, by, to, force } => {
            Act::Grant(narrow::act(desk, &desk.daemon.view(agent), path, is, &by, to, force)?)
        }
        AgentAct::Revoke { grant } => Act::Grant(GrantAct::Revoke { grant }),
        AgentAct::Cancel { what, reason } => Act::Cancel { what, reason },
        AgentAct::Remake { path } => {
            let view = desk.daemon.view(agent);
            return Ok(Response::Reply(super::journal_of_code::remake(desk, &view, &path)?));
        }
        AgentAct::MakeTimer { path, interval_ms, label } => {
            Act::Timer(TimerAct::Make { path, interval_ms, label })
        }
        AgentAct::Ticks { path, begin } => {
            let timer = desk.daemon.look(|txn| desk.daemon.view(agent).identify(txn, &path))?;
            Act::Timer(match begin {
                true => TimerAct::Subscribe { timer },
                false => TimerAct::Unsubscribe { timer },
            })
        }
    };
    send(desk, agent, said, act)
}

/// Returns what lies in a message as the worker that runs: nothing is looked for around it.
pub fn source_of(bundle: Bundle) -> WorkerSource {
    let Bundle { name, source, includes, .. } = bundle;
    WorkerSource { name, source, includes, ..WorkerSource::default() }
}

/// Refuses the hash of bytes that did not come along: whoever knows it would reach what somebody else keeps. Bytes come
/// with `store_text`, worker files with `define`, and the daemon computes their hashes.
fn expect_no_hash(own: &Own, act: &NameAct) -> Result<(), Failure> {
    match act {
        NameAct::StoreBlob { .. } => {
            Err(Failure::new(Exit::Usage, "bytes are kept by giving them, not by naming their hash")
                .help("`store_text` takes text"))
        }
        NameAct::Provide { thing: Provided::Tree(_), .. } => {
            Err(Failure::new(Exit::Usage, "a tree is kept by giving it, not by naming its hash"))
        }
        NameAct::Provide { thing: Provided::Mount { path, .. }, .. } => mounts::look_for(own, path).map(drop),
        NameAct::Within { act, .. } | NameAct::Forced { act } | NameAct::AsSeen { act, .. } => {
            expect_no_hash(own, act)
        }
        _ => Ok(()),
    }
}

fn send(desk: &Desk, agent: FormulaId, said: Option<Said>, act: Act) -> Result<Response, Failure> {
    Ok(Response::Reply(desk.apply_as(agent, said, act)?.reply))
}

/// What the store knows of a token.
fn hashed(token: &str) -> Number {
    Number(blake3::derive_key("almoner sharing token v1", token.as_bytes()))
}

/// A program as the kernel takes it: a worker file is read, and its bytes are put beside the store first.
fn text(
    desk: &Desk,
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
        return Err(Failure::new(Exit::Usage, "a worker file says its slots itself")
            .help("leave `--slot` out, or write them into the file"));
    }
    let file = format!("{name}.worker");
    let bundle = Bundle { name, file, source, includes };
    let definition = start_run::parse(&bundle)?;
    let worker = start_run::keep(desk, &bundle, definition.limits)?;
    let slots = slots_of(&definition);
    Ok(Text { source: Untrusted::new(bundle.source), worker: Some(worker), slots })
}

/// Returns the slots of a worker file as the kernel takes them.
pub fn slots_of(definition: &Definition) -> BTreeMap<String, Slot> {
    let slot = |slot: &definition::Slot| {
        let pattern = Pattern::remotable(slot.kind.to_string()).to_value();
        let label = Untrusted::new(slot.label.clone().unwrap_or_default());
        (slot.name.clone(), Slot { label, pattern })
    };
    definition.slots.iter().map(slot).collect()
}

/// Where bytes that came with a request are kept.
struct OnDesk<'a>(&'a Desk);

impl tree::Shelf for OnDesk<'_> {
    fn put(&self, bytes: &[u8]) -> Result<kernel::BlobHash, Failure> {
        start_run::upload(self.0, bytes)
    }
}

/// A program of modules as the kernel takes it: unpacked, and put beside the store first.
fn given_modules(
    desk: &Desk,
    agent: FormulaId,
    given: GivenModules,
    env: BTreeMap<String, String>,
) -> Result<Modules, Failure> {
    let head = desk.daemon.read(|txn| kernel::head::head(txn, &agent))?;
    if !head.is_some_and(|head| head.is_host()) {
        return Err(Failure::new(Exit::Denied, "only a host can make programs of modules")
            .help("an agent that is none can be handed what one has made"));
    }
    let decoded =
        |base64: &str| from_base64(base64).map_err(|_| Failure::new(Exit::Invalid, "what came is no Base64"));
    let (packed, unpacked) = match given {
        GivenModules::Archive { base64 } => (Packed::Archive, modules::archive(&decoded(&base64)?)?),
        GivenModules::Files { files } => {
            let files = files.into_iter().map(|(path, base64)| Ok((path, decoded(&base64)?)));
            (Packed::Tree, modules::files(&files.collect::<Result<_, Failure>>()?)?)
        }
        GivenModules::Named { path } => modules::named(&desk.daemon, desk.daemon.view(agent), &path)?,
    };
    modules::keep(&OnDesk(desk), packed, env, &unpacked)
}

/// The pattern that a person wrote, as an `M.` expression or as a line of shorthand.
pub fn pattern_of(text: &str, whose: &str) -> Result<Pattern, Failure> {
    let word = || Pattern::from_shorthand(&passable::Node::Text(text.to_owned(), 0..text.len()));
    let expression = text.contains("M.") || text.trim_start().starts_with(['{', '[', '"', '\'']);
    let read = if expression { Pattern::parse(text) } else { word() };
    read.map_err(|e| {
        Failure::new(Exit::Invalid, format!("{whose}: {e}"))
            .help("write `string`, `1..5`, `yes|no`, `dir`, or an `M.` expression")
    })
}

/// The program that a message proposes: the worker's files if it is one, and the slots.
pub fn proposed(
    desk: &Desk,
    agent: FormulaId,
    number: MessageNumber,
) -> Result<(Option<Bundle>, BTreeMap<String, Slot>), Failure> {
    let letter = letter(desk, agent, number)?;
    let Some(Body::Definition { definition, .. }) = letter.body() else {
        let kind = &letter.mail.envelope.kind;
        return Err(Failure::new(
            Exit::Conflict,
            format!("message {number} is {}, not a definition", with_article(kind)),
        )
        .help(format!("`almoner inbox {number}` shows it")));
    };
    let row = desk.daemon.read(|txn| table::formula(txn, definition))?;
    let Some(Formula::Definition { source, worker, slots, .. }) = row.map(|row| row.formula) else {
        return Err(Failure::new(Exit::Failure, "the definition is missing").help("`almoner doctor`"));
    };
    let Some(program) = worker else { return Ok((None, slots)) };
    let source = source.raw().to_owned();
    let bundle = Bundle::stored(&program.name, source, &program.includes, |_, hash| said::text(desk, hash))?;
    Ok((Some(bundle), slots))
}

/// A message of the agent's.
pub fn letter(desk: &Desk, agent: FormulaId, number: MessageNumber) -> Result<query::Letter, Failure> {
    desk.daemon.read(|txn| query::message(txn, &agent, number))?.ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("there is no message {number}"))
            .help("see `almoner inbox --all`")
    })
}

/// What was written into a form, as the kernel takes it.
fn filled(
    desk: &Desk,
    agent: FormulaId,
    number: MessageNumber,
    values: BTreeMap<String, Written>,
) -> Result<BTreeMap<String, Filled>, Failure> {
    let letter = letter(desk, agent, number)?;
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
            let filled = fill(desk, agent, field, written)?;
            Ok((name, filled))
        })
        .collect()
}

/// Reads a field. The client has checked a value, and the kernel checks it once more; a secret is checked here, before it is
/// sealed, because afterwards nobody can.
fn fill(desk: &Desk, agent: FormulaId, field: &Field, written: Written) -> Result<Filled, Failure> {
    let bad = |what: String| Failure::new(Exit::Invalid, what).help("nothing was sent");
    let named = format!("field {:?}", field.name);
    let pattern = Pattern::from_value(&field.pattern).map_err(|e| bad(e.to_string()))?;
    match written {
        Written::Value { .. } if field.secret => Err(bad(format!("{named} is secret: it takes text"))),
        Written::Value { value } => Ok(Filled::Value { value: picks::settled(desk, agent, &value)? }),
        Written::Text { text } if field.secret => {
            pattern.check_named(&named, &Value::string(text.clone())).map_err(|e| bad(e.to_string()))?;
            Ok(Filled::Sealed { sealed: secrets::seal(&desk.daemon.vault, &desk.state, &text)? })
        }
        // A name must not become the data that it stands for.
        Written::Text { .. } if Want::of(&pattern) == Want::Pattern => {
            Err(bad(format!("{named} takes a value, not text")))
        }
        Written::Text { text } => Ok(Filled::Name { path: parse_path(&text)? }),
    }
}

//! `almoner secret` and `almoner unlock`.

use std::io::Read as _;

use resource::web::Origin;
use vault::{Protection, Secret, Site, VaultError};

use crate::cli::JsonArg;
use crate::cli::secret::{Key, RotateArgs, SecretArgs, SecretVerb, SetArgs};
use crate::client::Client;
use crate::ui::output;
use crate::ui::piped_input::WaitNotice;
use crate::ui::prompt;
use crate::ui::prompt::PromptInput;
use config::place::Place;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::protocol::{Request, Response};
use control::secret::{KeyChoice, SecretAct, SecretScope, VaultView};

/// Runs `almoner secret`.
///
/// # Errors
/// When the vault stays closed, or the daemon refuses the command.
pub fn secret(place: &Place, args: &SecretArgs) -> ExitResult {
    let mut client = Client::connect(place)?;
    match &args.verb {
        SecretVerb::List(json) => list(place, &mut client, *json),
        SecretVerb::Set(args) => set(place, &mut client, args),
        SecretVerb::Remove { name } => {
            open_if_locked(place, &mut client)?;
            ask(&mut client, SecretAct::Remove { name: name.clone() })?;
            output::note(&format!(
                "{name} is forgotten; whoever has its value still has it: withdraw it where it came from"
            ));
            Ok(Exit::Ok)
        }
        SecretVerb::Rotate(args) => rotate(place, &mut client, args),
    }
}

/// Runs `almoner unlock`.
///
/// # Errors
/// When the passphrase cannot be asked for, or is wrong.
pub fn unlock(place: &Place) -> ExitResult {
    let mut client = Client::connect(place)?;
    let view = ask(&mut client, SecretAct::List)?;
    if view.locked {
        open(place, &view, &mut client)?;
        output::note("the vault is open until the daemon ends");
    } else {
        output::note(if view.protection.is_none() { "there is no vault" } else { "the vault is open" });
    }
    Ok(Exit::Ok)
}

fn ask(client: &mut Client, act: SecretAct) -> Result<VaultView, Failure> {
    match client.ask(Request::Secret { act })? {
        Response::Secrets(view) => Ok(view),
        other => Err(unexpected(&other)),
    }
}

/// Asks for the passphrase, and unlocks the vault. No passphrase opens a vault whose key is missing.
fn open(place: &Place, view: &VaultView, client: &mut Client) -> Result<VaultView, Failure> {
    if view.protection == Some(Protection::KeyMissing) {
        return Err(key_missing(place, view));
    }
    let passphrase = read_secret("passphrase of the vault (not shown): ").map_err(|failure| {
        failure.saying("the vault is locked").help("`almoner unlock` at a terminal asks for the passphrase")
    })?;
    ask(client, SecretAct::Unlock { passphrase })
}

/// Returns the state of the vault. A locked vault is unlocked first.
fn open_if_locked(place: &Place, client: &mut Client) -> Result<VaultView, Failure> {
    let view = ask(client, SecretAct::List)?;
    if view.locked { open(place, &view, client) } else { Ok(view) }
}

/// Returns the failure that no key opens the vault. The daemon knows whether there is a keyring.
fn key_missing(place: &Place, view: &VaultView) -> Failure {
    let site = Site::new(&place.state, None);
    let error = VaultError::NoKey { vault: site.vault(), key: site.key(), has_keyring: view.keyring };
    let help = error.help();
    Failure::from_error(Exit::Failure, error).help(help)
}

fn set(place: &Place, client: &mut Client, args: &SetArgs) -> ExitResult {
    vault::check_name(&args.name).map_err(|e| {
        let help = e.help();
        Failure::from_error(Exit::Usage, e).help(help)
    })?;
    let origins = args.origins.iter().map(|text| origin(text)).collect::<Result<Vec<Origin>, _>>()?;
    let mut view = open_if_locked(place, client)?;
    if view.protection.is_none() {
        let key = choose(args.key, view.keyring)?;
        view = ask(client, SecretAct::Create { key })?;
        if let Some(protection) = view.protection {
            output::note(&format!("the vault is made; {}", protection.description()));
        }
    } else if args.key.is_some() {
        return Err(Failure::new(Exit::Usage, "cannot make the vault: it is there already")
            .help("`almoner secret rotate --key` changes how its key is protected"));
    }
    let there = view.secrets.iter().any(|row| row.name == args.name);
    let value = value(&args.name)?;
    let origins = (!origins.is_empty()).then_some(origins);
    let act = SecretAct::Set { name: args.name.clone(), value: Some(value), origins, only: SecretScope::Any };
    let view = ask(client, act)?;
    if let Some(row) = view.secrets.iter().find(|row| row.name == args.name) {
        let places: Vec<String> = row.origins.iter().map(ToString::to_string).collect();
        let goes = if places.is_empty() {
            "it goes to no server (`--for https://…` says to which), and to the programs for which you name it".to_owned()
        } else {
            format!("it goes to {} and nowhere else", places.join(" and "))
        };
        output::note(&format!("{} is {}; {goes}", args.name, if there { "changed" } else { "kept" }));
        if row.short {
            output::note("it is short: it is looked for as it is written, and not in each spelling");
        }
    }
    Ok(Exit::Ok)
}

fn rotate(place: &Place, client: &mut Client, args: &RotateArgs) -> ExitResult {
    let view = open_if_locked(place, client)?;
    if let Some(name) = &args.name {
        if !view.secrets.iter().any(|row| row.name == *name) {
            return Err(Failure::new(Exit::NotFound, format!("there is no secret `{name}`"))
                .help("`almoner secret list` shows which there are"));
        }
        let act = SecretAct::Set {
            name: name.clone(),
            value: Some(value(name)?),
            origins: None,
            only: SecretScope::Existing,
        };
        ask(client, act)?;
        output::note(&format!(
            "{name} has its new value from now on; withdraw the old one where it came from"
        ));
        return Ok(Exit::Ok);
    }
    let key = match args.key.flatten() {
        None if view.protection == Some(Protection::Passphrase) => Some(Key::Passphrase),
        key => key,
    };
    let key = key.map(|key| choose(Some(key), view.keyring)).transpose()?;
    let view = ask(client, SecretAct::RotateKey { key })?;
    let words = view.protection.map(Protection::description).unwrap_or_default();
    output::note(&format!("everything is under a new key; {words}"));
    Ok(Exit::Ok)
}

fn list(place: &Place, client: &mut Client, args: JsonArg) -> ExitResult {
    let view = ask(client, SecretAct::List)?;
    if args.json {
        output::json(&view)?;
        return Ok(Exit::Ok);
    }
    if view.protection == Some(Protection::KeyMissing) {
        return Err(key_missing(place, &view));
    }
    if view.locked {
        return Err(Failure::new(Exit::NeedsYou, "the vault is locked").help("`almoner unlock`"));
    }
    if view.secrets.is_empty() {
        output::note("no secrets");
        return Ok(Exit::Ok);
    }
    let mut text = String::new();
    for row in &view.secrets {
        let places: Vec<String> = row.origins.iter().map(ToString::to_string).collect();
        let goes = if places.is_empty() { "programs alone".to_owned() } else { places.join(" ") };
        let used = if row.used_by.is_empty() { "nobody".to_owned() } else { row.used_by.join(", ") };
        let since: String = kernel::time::iso(row.changed_ms).chars().take(10).collect();
        text += &format!("{}  since {since}  goes to {goes}  used by {used}\n", row.name);
    }
    output::listing(&text)?;
    Ok(Exit::Ok)
}

fn origin(text: &str) -> Result<Origin, Failure> {
    text.parse().map_err(|e| {
        Failure::new(Exit::Usage, format!("--for {text}: {e}"))
            .help("write a server, like https://api.github.com or http://127.0.0.1:8080")
    })
}

/// Returns the protection of a new vault's key: the one that the user has chosen, or else the best that is available.
fn choose(said: Option<Key>, has_keyring: bool) -> Result<KeyChoice, Failure> {
    match said {
        Some(Key::Keyring) => Ok(KeyChoice::Keyring),
        Some(Key::File) => Ok(KeyChoice::File),
        None if has_keyring => Ok(KeyChoice::Keyring),
        None if !output::can_ask() => Ok(KeyChoice::File),
        said => {
            if said.is_none() {
                output::note(
                    "there is no keyring here; a passphrase protects the vault when the daemon does not run",
                );
            }
            let question = match said {
                Some(_) => "new passphrase (not shown): ",
                None => "passphrase (not shown; empty: none, and a key file that only you can read): ",
            };
            let passphrase = read_secret(question)?;
            if passphrase.is_empty() && said.is_none() {
                return Ok(KeyChoice::File);
            }
            if passphrase.is_empty() {
                return Err(Failure::new(Exit::Invalid, "cannot take the passphrase: it is empty")
                    .help("`--key file` keeps the key in a file"));
            }
            if read_secret("once more: ")? != passphrase {
                return Err(Failure::new(
                    Exit::Invalid,
                    "cannot take the passphrase: the two are not the same",
                )
                .help("nothing was changed"));
            }
            Ok(KeyChoice::Passphrase { passphrase })
        }
    }
}

/// Returns the value of a secret. The user types it without echo, or it is read from standard input without the final
/// line break. It is never an argument, because every process of this machine can read arguments.
fn value(name: &str) -> Result<Secret, Failure> {
    if output::can_ask() {
        return read_secret(&format!("{name} (not shown): "));
    }
    let _notice = WaitNotice::begin();
    let most = vault::MAX_VALUE_LEN as u64 + 2;
    let mut text = zeroize::Zeroizing::new(String::with_capacity(vault::MAX_VALUE_LEN + 2));
    std::io::stdin()
        .take(most)
        .read_to_string(&mut text)
        .map_err(|e| Failure::new(Exit::Invalid, format!("standard input: {e}")).help("nothing was kept"))?;
    let value = text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).unwrap_or(&text);
    Ok(Secret::new(value))
}

fn read_secret(question: &str) -> Result<Secret, Failure> {
    if !output::can_ask() {
        return Err(Failure::new(Exit::NeedsYou, "cannot ask for the secret: there is no terminal")
            .help("nothing was changed"));
    }
    match prompt::secret(question)? {
        PromptInput::Line(text) => Ok(Secret::new(text)),
        PromptInput::End => {
            Err(Failure::new(Exit::Interrupted, "cannot change the vault: you interrupted the command"))
        }
    }
}

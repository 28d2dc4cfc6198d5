//! The models that a person can name, and the choice of one for a run.
//!
//! The choice depends on environment variables: those of the command that asks, or those of the daemon when a web
//! page asks.

use control::exit::{Exit, Failure};
use control::models::{KnownModel, LocalModel, ModelList, VendorKey};
use control::protocol::ClientKeys;
use model::weights::{self, Weights};
use model::{DetectedModel, ModelRef, Price, Secret, Vendor};
use passable::visible_line;

use crate::managed::{self, Managed};
use crate::network_source::NetworkSource;
use crate::place::{self, Place};
use crate::settings;

/// The variable that names the model for runs that name no model.
pub const VARIABLE: &str = "ALMONER_MODEL";

/// The person who starts a run: a receiver of notes who can agree to fetch weights.
pub trait Attendant {
    /// Fetches the weights of a local model, if the person agrees.
    ///
    /// # Errors
    /// When the person does not agree, or the weights cannot be fetched.
    fn fetch(&mut self, weights: &Weights) -> Result<(), Failure>;

    /// Shows a note to the person.
    fn note(&mut self, text: &str);
}

/// The attendant for a choice without a person. It fetches nothing and discards notes.
#[derive(Debug)]
pub struct Unattended;

impl Attendant for Unattended {
    fn fetch(&mut self, _: &Weights) -> Result<(), Failure> {
        Ok(())
    }

    fn note(&mut self, _: &str) {}
}

/// The models of a place, for a process with the given environment variables.
#[derive(Clone, Copy, Debug)]
pub struct KnownModels<'a> {
    place: &'a Place,
    variables: &'a ClientKeys,
}

impl<'a> KnownModels<'a> {
    /// Returns the models of a place. `variables` are those of [`crate::vendor_keys::variables`] that are set.
    pub fn new(place: &'a Place, variables: &'a ClientKeys) -> KnownModels<'a> {
        KnownModels { place, variables }
    }

    fn variable(&self, name: &str) -> Option<Secret> {
        self.variables.get(name).map(|value| Secret::new(value.clone()))
    }

    /// Returns the model that the environment names, if it names one.
    pub fn in_environment(&self) -> Option<String> {
        self.variables.get(VARIABLE).filter(|model| !model.is_empty()).cloned()
    }

    /// Returns the model that is used if none is named: the best one that the machine's administrator allows.
    pub fn detect(&self) -> DetectedModel {
        let network = NetworkSource::new(self.place).current();
        let found = model::detect(&|name| self.variable(name), &self.place.weights(), &network);
        if self.is_allowed(found.reference()) {
            return found;
        }
        self.survey().into_iter().next().unwrap_or(found)
    }

    /// Returns whether the machine's administrator allows a model, at the server that the variables name.
    fn is_allowed(&self, model: &ModelRef) -> bool {
        let pinned = self.pin(model.clone());
        managed::current().is_ok_and(|rules| pinned.is_ok_and(|pinned| rules.allows_model(&pinned)))
    }

    /// Checks that the machine's administrator allows all models of a list, at the servers that the variables name.
    fn expect_allowed(&self, text: &str) -> Result<(), Failure> {
        let rules = managed::rules()?;
        understood(text)?.into_iter().try_for_each(|one| rules.expect_model(&self.pin(one)?))
    }

    /// Returns all models that are available here without settings, and that the machine's administrator allows.
    pub fn survey(&self) -> Vec<DetectedModel> {
        let network = NetworkSource::new(self.place).current();
        let found = model::survey(&|name| self.variable(name), &self.place.weights(), &network);
        found.into_iter().filter(|found| self.is_allowed(found.reference())).collect()
    }

    /// Returns the vendors, each with the variable that holds its key, if one is set.
    fn vendors(&self) -> impl Iterator<Item = (Vendor, Option<&'static str>)> + use<'a> {
        let this = *self;
        let is_set =
            move |name: &&&str| this.variable(name).is_some_and(|key| !key.reveal().trim().is_empty());
        // One key opens both of OpenAI's protocols.
        let own = Vendor::ALL.into_iter().filter(|vendor| *vendor != Vendor::OpenAiResponses);
        own.map(move |vendor| (vendor, vendor.keys().iter().find(is_set).copied()))
    }

    /// Returns the list that `almoner models` shows.
    pub fn list(&self) -> ModelList {
        let (own, settings_failure) = match settings::read(&settings::path(self.place)) {
            Ok(settings) => (settings.models, None),
            Err(failure) => (settings::Models::default(), Some(failure)),
        };
        let local = weights::KNOWN.iter().map(|one| LocalModel {
            name: one.name.to_owned(),
            bytes: one.bytes,
            memory: one.memory,
            licence: one.licence.to_owned(),
            sha256: one.sha256.to_owned(),
            is_here: is_here(self.place, one),
        });
        let vendors = self.vendors().map(|(vendor, key)| VendorKey {
            name: vendor.kind().to_owned(),
            key: key.map(str::to_owned),
            variables: vendor.keys().iter().map(|name| (*name).to_owned()).collect(),
        });
        let found = self.detect();
        ModelList {
            can_ask: self.askable(),
            local: local.collect(),
            vendors: vendors.collect(),
            private: own.private.into_iter().collect(),
            names: own.names,
            used: found.reference().to_string(),
            used_because: describe(&found),
            dir: self.place.weights(),
            prices_dated: Price::dated().to_owned(),
            priced: Price::all().map(|(name, _)| name).collect(),
            managed: match managed::current() {
                Ok(rules) => rules.models_line(),
                Err(fault) => Some(fault.to_string()),
            },
            settings_failure,
        }
    }

    /// Returns the models that can be used and are allowed. The default in the user's settings comes first.
    fn askable(&self) -> Vec<KnownModel> {
        let own =
            settings::read(&settings::path(self.place)).map(|settings| settings.models).unwrap_or_default();
        let default = own.default.map(|model| (model, "the one in your settings".to_owned()));
        let names =
            own.names.into_iter().map(|(name, reference)| (name, format!("your name for {reference}")));
        let found = self.survey();
        let found = found.iter().map(|found| (found.reference().to_string(), describe(found)));
        let weights = weights::KNOWN.iter().filter(|weights| is_here(self.place, weights));
        let weights = weights.map(|weights| (format!("local:{}", weights.name), weights.licence.to_string()));
        let mut all: Vec<KnownModel> = Vec::new();
        for (model, origin) in default.into_iter().chain(names).chain(found).chain(weights) {
            let is_allowed = resolved(self.place, &model).and_then(|text| self.expect_allowed(&text)).is_ok();
            if is_allowed && !all.iter().any(|known| known.model == model) {
                all.push(KnownModel { model, origin });
            }
        }
        all
    }

    /// Examines the model that is used if none is named. Returns whether it can be used, its description, and advice
    /// if it cannot.
    pub fn examine(&self) -> (bool, String, String) {
        let by_settings = || settings::read(&settings::path(self.place)).ok()?.models.default;
        let named = self.in_environment().map(|model| (model, VARIABLE));
        let named = named.or_else(|| Some((by_settings()?, "`default` in your settings")));
        if let Some((model, whence)) = named {
            let resolved = resolved(self.place, &model);
            let usable = resolved.and_then(|text| {
                expect_here(self.place, &text, false)?;
                self.expect_allowed(&text)?;
                Ok(text)
            });
            return match usable {
                Ok(text) if text == model => {
                    (true, format!("{} ({whence})", visible_line(&model)), String::new())
                }
                Ok(text) => (
                    true,
                    format!("{}: {} ({whence})", visible_line(&model), visible_line(&text)),
                    String::new(),
                ),
                Err(failure) => {
                    (false, format!("{} ({whence})", failure.message.visible_line()), failure.help)
                }
            };
        }
        let found = self.detect();
        if let Err(failure) = self.expect_allowed(&found.reference().to_string()) {
            return (false, failure.message.visible_line().into_owned(), failure.help);
        }
        (
            !matches!(found, DetectedModel::Pull { .. }),
            describe(&found),
            "`almoner models pull`, start Ollama, or set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY"
                .to_owned(),
        )
    }

    /// Chooses the model for a run: the one that the person names, or else the one that is found. The attendant first
    /// fetches the weights of a local model.
    ///
    /// The model that a worker file asks for counts only if the server stays the same. The file can come from anyone,
    /// and must not choose who receives the documents.
    ///
    /// The returned reference includes the address of the server. So the run keeps to that server even if later
    /// clients have other variables.
    ///
    /// # Errors
    /// When the text names no model, or a model's weights are missing and the attendant does not fetch them.
    pub fn choose(
        &self,
        named: Option<&str>,
        by_file: Option<&str>,
        dry: bool,
        attendant: &mut dyn Attendant,
    ) -> Result<String, Failure> {
        let rules = managed::rules()?;
        let chosen = named.map(str::to_owned).or_else(|| self.in_environment());
        let chosen = chosen.or_else(|| match settings::read(&settings::path(self.place)) {
            Ok(settings) => settings.models.default,
            Err(failure) => {
                // Wrong settings do not end the command.
                attendant.note(&failure.message.visible());
                None
            }
        });
        let Some(text) = chosen else {
            let found = self.detect();
            rules.expect_model(&self.pin(found.reference().clone())?)?;
            if let (DetectedModel::Pull { weights, .. }, false) = (&found, dry) {
                attendant.fetch(weights)?;
            }
            let found = self.pin(found.reference().clone())?;
            let wanted = by_file.and_then(|asked| same_provider(asked, &found));
            let wanted = wanted.filter(|wanted| match wanted {
                ModelRef::Local { name: Some(name) } => {
                    dry || weights::find(name).is_some_and(|weights| is_here(self.place, weights))
                }
                _ => true,
            });
            let wanted = wanted.filter(|wanted| rules.allows_model(wanted));
            if let (Some(asked), None) = (by_file, &wanted) {
                // The note quotes no command. Otherwise a file could write a command for a person to paste.
                attendant.note(&format!(
                    "the worker file asks for the model “{}”; it is not here, or is another server's, and is not used \
                     (`-m` names a model)",
                    visible_line(asked)
                ));
            }
            return Ok(wanted.unwrap_or(found).to_string());
        };
        let references = understood(&resolved(self.place, &text)?)?;
        let ready: Vec<String> = references
            .into_iter()
            .map(|reference| self.made_ready(reference, &rules, dry, attendant))
            .collect::<Result<_, _>>()?;
        Ok(ready.join(","))
    }

    /// Returns a model that the person named, in the form that a run stores. The attendant first fetches the weights
    /// of a local model.
    fn made_ready(
        &self,
        reference: ModelRef,
        rules: &Managed,
        dry: bool,
        attendant: &mut dyn Attendant,
    ) -> Result<String, Failure> {
        let ready = match reference {
            // A relative path starts from the directory of this process, not from the daemon's.
            ModelRef::Scripted { path } => ModelRef::Scripted { path: here(path)? },
            ModelRef::Replay { path } => ModelRef::Replay { path: here(path)? },
            ModelRef::Local { name } => {
                // Nothing is fetched that may not be used.
                rules.expect_model(&ModelRef::Local { name: name.clone() })?;
                let wanted = local(name.as_deref())?;
                if !is_here(self.place, wanted) && !dry {
                    attendant.fetch(wanted)?;
                }
                ModelRef::Local { name }
            }
            other => self.pin(other)?,
        };
        rules.expect_model(&ready)?;
        Ok(ready.to_string())
    }

    /// Returns the reference with the server address that the variables name.
    fn pin(&self, reference: ModelRef) -> Result<ModelRef, Failure> {
        reference.pinned(&|name| self.variable(name)).map_err(|e| {
            Failure::from_error(Exit::Usage, e).help("set the variable to an address like https://HOST/v1")
        })
    }
}

/// Returns whether the weights of a local model are complete on this disk.
pub fn is_here(place: &Place, weights: &Weights) -> bool {
    std::fs::metadata(weights.path(&place.weights())).is_ok_and(|meta| meta.len() == weights.bytes)
}

/// Returns the description of a detected model, in one line.
pub fn describe(found: &DetectedModel) -> String {
    let shown = |reference: &ModelRef| visible_line(&reference.to_string()).into_owned();
    match found {
        DetectedModel::Key { reference, variable } => format!("{} (the key in {variable})", shown(reference)),
        DetectedModel::Ollama { reference, url } => {
            let whose = if matches!(reference, ModelRef::Ollama { .. }) { "Ollama" } else { "llama.cpp" };
            format!("{} ({whose} at {})", shown(reference), visible_line(url))
        }
        DetectedModel::Local { reference, .. } => format!("{} (weights on this disk)", shown(reference)),
        DetectedModel::Pull { weights, .. } => {
            format!(
                "none is here; `almoner models pull` fetches {} ({} MiB)",
                weights.name,
                weights.bytes >> 20
            )
        }
    }
}

/// Parses a list of models as a person writes it.
fn understood(text: &str) -> Result<Vec<ModelRef>, Failure> {
    model::parse_list(text).map_err(|e| {
        Failure::new(Exit::Usage, format!("{e}")).help(
            "write local, anthropic:NAME, openai:NAME, gemini:NAME, ollama:NAME, compat:URL#NAME, scripted:FILE, or a name \
             of yours (`[models.names]` in `config.toml`); several, which are tried in turn, with commas between them",
        )
    })
}

/// Returns the models that a user names on a web page. The syntax is that of the command line. But a page has no
/// directory for relative paths, and cannot ask about fetching weights.
///
/// # Errors
/// When a name is no model, or the model is not here.
pub fn named_on_a_page(place: &Place, text: &str) -> Result<String, Failure> {
    let text = resolved(place, text)?;
    expect_here(place, &text, true)?;
    Ok(text)
}

/// Checks that the files of all models are here. With `whole`, relative paths are refused too.
fn expect_here(place: &Place, text: &str, whole: bool) -> Result<(), Failure> {
    for reference in understood(text)? {
        match &reference {
            ModelRef::Scripted { path } | ModelRef::Replay { path } => {
                if whole && !path.is_absolute() {
                    return Err(place::relative_path_failure(&path.to_string_lossy()));
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

/// Returns the weights of a local model, by its name. Without a name, the default weights are meant.
fn local(name: Option<&str>) -> Result<&'static Weights, Failure> {
    name.map_or(Some(weights::default()), weights::find).ok_or_else(|| {
        let shown = visible_line(name.unwrap_or_default());
        Failure::new(Exit::NotFound, format!("there is no local model `local:{shown}`"))
            .help(format!("the local models are: {}", weights::names()))
    })
}

/// Returns the models that a text names. The names that the user chose are replaced by their models.
fn resolved(place: &Place, text: &str) -> Result<String, Failure> {
    if model::parse_list(text).is_ok() {
        return Ok(text.to_owned());
    }
    let settings = settings::read(&settings::path(place))?;
    settings.models.resolve(text).map_err(|(what, help)| Failure::new(Exit::Usage, what).help(help))
}

/// Returns the default number of runs that may ask a model at the same time. It is 1 for a local model, which answers
/// one request at a time.
pub fn jobs(model: &str) -> u32 {
    let models = model::parse_list(model).unwrap_or_default();
    if models.iter().any(|model| matches!(model, ModelRef::Local { .. })) { 1 } else { 4 }
}

/// Returns the model that a worker file asks for, if the detected server offers that kind of model. A file that names
/// a server of its own is ignored.
fn same_provider(asked: &str, found: &ModelRef) -> Option<ModelRef> {
    Some(match (asked.parse().ok()?, found.clone()) {
        (ModelRef::Local { name }, ModelRef::Local { .. }) => ModelRef::Local { name },
        // All protocols of a vendor share one server and one key.
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
    std::fs::canonicalize(&path).map_err(|e| {
        let failure = Failure::of_file("read", &path.to_string_lossy(), e);
        Failure { exit: Exit::NotFound, ..failure }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_file_can_choose_only_a_model_of_the_same_provider() {
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

//! A user's request to start a run.

use std::collections::BTreeMap;

use kernel::run::Limits;
use kernel::run_key::RunKey;
use kernel::{BlobHash, RunNumber};
use passable::Untrusted;
use serde::{Deserialize, Serialize};

use resource::Endowment;

/// A run that a person starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunRequest {
    /// The command as the person gave it.
    pub text: Untrusted,
    /// The worker that runs.
    pub worker: WorkerSource,
    /// The start options.
    #[serde(default)]
    pub spec: StartSpec,
    /// The key under which the run starts once. A repetition of the request gets the run that exists. A dry run
    /// uses no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<RunKey>,
}

/// A worker file as text, with everything that its definition reads from the directory of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerSource {
    /// The worker's name.
    pub name: String,
    /// The text of the definition.
    pub source: String,
    /// The files that the definition includes, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub includes: BTreeMap<String, String>,
    /// The directory of the worker file. Workers for unbound worker slots are searched in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// The policies under which the worker ran before, used if the directory has no policy file. They may only
    /// forbid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
}

/// The start options of a worker: its inputs and documents, its endowments, and its model.
///
/// The default hands over nothing: one execution without inputs, documents or endowments. Any model may process it,
/// the default model is chosen, and the limits are those of the worker file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct StartSpec {
    /// The named inputs, as a JSON object.
    pub values: serde_json::Map<String, serde_json::Value>,
    /// The files from which named inputs were read: the name of the input and the hash of the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read_from: Vec<(String, BlobHash)>,
    /// The documents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<Document>,
    /// The shape of the run: one execution, a conversation or many executions.
    pub shape: StartShape,
    /// Whether only models that may read private data may process the documents and inputs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// The limits of the run, where they are lower than those of the worker file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// The contents of slots that the user chose.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endow: Vec<Endowment>,
    /// The methods, as `slot.method`, about which the person does not want to be asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// The choice of the model.
    pub model: ModelChoice,
    /// Whether only the plan is returned, and no run is started.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// An earlier run over the same documents and inputs. Only its items without a result are processed again. All
    /// other results are taken from that run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<RunNumber>,
}

/// The shape of a run: one execution, a conversation or many executions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "shape", rename_all = "snake_case")]
pub enum StartShape {
    /// One execution over the whole input.
    #[default]
    Single,
    /// A conversation. The model is asked only after the user has said something.
    Chat,
    /// One child run for each document.
    Each {
        /// The maximum number of children that work at the same time.
        jobs: u32,
        /// The maximum number of children that are open at the same time, because they wait for a person.
        #[serde(default = "default_waiting")]
        waiting: u32,
    },
}

fn default_waiting() -> u32 {
    kernel::run::DEFAULT_WAITING
}

/// The model that a run asks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "model", content = "is", rename_all = "snake_case")]
pub enum ModelChoice {
    /// The model that is used if none is named.
    #[default]
    Usual,
    /// A model by a name that a person writes on a web page. The daemon resolves the name.
    Named(String),
    /// A model by its full reference, which the client has resolved.
    Reference(String),
}

impl ModelChoice {
    /// Returns the choice for the text of a field on a web page. An empty text means the default model.
    pub fn named(text: &str) -> ModelChoice {
        match text.trim() {
            "" => ModelChoice::Usual,
            name => ModelChoice::Named(name.to_owned()),
        }
    }
}

/// The worker of a conversation for which the user names no worker.
pub const TALKER: &str = "---\ndescription: Talks with you.\nattachments: { max: 16, bytes: 32MiB }\n---\nYou talk with a \
                          person. Be brief and exact; say so if you cannot know.\n";

/// A document that a person hands to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "document", rename_all = "snake_case")]
pub enum Document {
    /// A file on this machine, by its absolute path.
    File {
        /// The path.
        path: String,
        /// The directory below which the file was found, if the user named only that. No link may lead out of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        within: Option<String>,
    },
    /// Bytes that were uploaded to the daemon before.
    Uploaded {
        /// The name of the document.
        name: String,
        /// The hash of the bytes.
        hash: BlobHash,
    },
    /// The bytes of a file that only the client can read, or of a pipe.
    Content {
        /// The name of the document.
        name: String,
        /// The bytes, in Base64.
        base64: String,
    },
    /// Text that was read from a pipe.
    Text {
        /// The name of the document.
        name: String,
        /// The text.
        text: String,
    },
    /// A file that the client found and cannot name to the daemon. As an item of a batch, it fails.
    Unnameable {
        /// The name of the file, as far as it is text.
        name: String,
        /// The reason.
        why: String,
    },
}

impl Document {
    /// Returns a file that the user has named.
    pub fn file(path: impl Into<String>) -> Document {
        Document::File { path: path.into(), within: None }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn default_start_spec_hands_over_nothing() {
        let request = json!({"text": "run w", "worker": {"name": "w", "source": "---\n---\nDo it.\n"}});
        let request: RunRequest = serde_json::from_value(request).unwrap();
        let StartSpec {
            values,
            read_from,
            documents,
            shape,
            private,
            limits,
            endow,
            allow,
            model,
            dry_run,
            retry,
        } = request.spec;
        assert!(values.is_empty() && read_from.is_empty() && documents.is_empty());
        assert!(endow.is_empty() && allow.is_empty());
        assert_eq!((shape, model), (StartShape::Single, ModelChoice::Usual));
        assert_eq!((private, dry_run, limits, retry), (false, false, None, None));
        assert_eq!(
            (request.worker.includes.len(), request.worker.beside, request.worker.policy),
            (0, None, None)
        );
        assert_eq!(request.key, None);
    }

    #[test]
    fn start_spec_survives_the_wire() {
        for model in
            [ModelChoice::Usual, ModelChoice::named(" fast "), ModelChoice::Reference("local".to_owned())]
        {
            for shape in [StartShape::Single, StartShape::Chat, StartShape::Each { jobs: 3, waiting: 100 }] {
                let spec = StartSpec { model: model.clone(), shape, private: true, ..StartSpec::default() };
                let text = serde_json::to_string(&spec).unwrap();
                assert_eq!(serde_json::from_str::<StartSpec>(&text).unwrap(), spec, "{text}");
            }
        }
    }

    #[test]
    fn model_field_without_text_means_the_usual_model() {
        assert_eq!(ModelChoice::named(" \n"), ModelChoice::Usual);
        assert_eq!(ModelChoice::named(" fast "), ModelChoice::Named("fast".to_owned()));
    }
}

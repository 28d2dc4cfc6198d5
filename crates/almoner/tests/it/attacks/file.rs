//! The content of an attack's file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value as Json;

/// The placeholder of the variant in a file that has several.
const VARIANT: &str = "$V";

/// One attack. Fields that are left out have the values of the ordinary case: the clerk of the example folder, who reads
/// `mail`, may write `out`, and may send through `outbox`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Attack {
    /// Its name: that of the file.
    pub(super) id: String,
    /// Where it comes from.
    pub(super) from: String,
    /// The attempt, in one sentence.
    pub(super) tries: String,
    /// Spellings of the same attempt: each is made by itself.
    #[serde(default)]
    pub(super) variants: Vec<String>,
    /// The scene of the attempt.
    #[serde(flatten)]
    pub(super) scene: Scene,
    /// The steps of the attack, after the run.
    #[serde(default)]
    pub(super) steps: Vec<Step>,
    /// The effect that can be seen from the outside if the attack has succeeded.
    pub(super) success: Success,
    /// The same attempt without the protection.
    pub(super) control: Control,
}

/// A folder and a run in it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Scene {
    /// Files, by path.
    pub(super) files: BTreeMap<String, Text>,
    /// The targets of symbolic links, by path.
    pub(super) links: BTreeMap<String, String>,
    /// The worker's file instead of the clerk's.
    pub(super) worker: Option<Text>,
    /// The turns of the model.
    pub(super) script: Vec<Turn>,
    /// A whole script instead, if several workers have models.
    pub(super) scripts: Option<Json>,
    /// The steps before the run, made without any change by the owner of the folder.
    pub(super) before: Vec<Step>,
    /// The command instead of the clerk's; an empty one for no run at all.
    pub(super) run: Option<Vec<String>>,
    /// Further arguments of the command.
    pub(super) more: Vec<String>,
    /// How the command ends, so that nothing fails for another reason than the one that is meant. 7 unless said.
    pub(super) ends: Option<i32>,
}

/// Text, in one piece or by lines.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Text {
    One(String),
    Lines(Vec<String>),
}

impl Text {
    pub(super) fn text(&self) -> String {
        match self {
            Text::One(text) => text.clone(),
            Text::Lines(lines) => lines.iter().map(|line| format!("{line}\n")).collect(),
        }
    }
}

/// One reply of the model.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Turn {
    /// It says something and is done.
    Says(String),
    /// It calls tools: each a name and arguments.
    Calls(Vec<(String, Json)>),
    /// Anything else that a script can hold.
    Raw(Json),
}

impl Turn {
    pub(super) fn script(&self) -> Json {
        match self {
            Turn::Says(text) => serde_json::json!({ "text": text }),
            Turn::Calls(calls) => {
                let call = |(name, arguments): &(String, Json)| serde_json::json!({ "name": name, "arguments": arguments });
                serde_json::json!({ "calls": calls.iter().map(call).collect::<Vec<_>>() })
            }
            Turn::Raw(turn) => turn.clone(),
        }
    }
}

/// An action of somebody in an attack.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Step {
    /// A command, and how it ends.
    Almoner(Vec<String>, i32),
    /// Frames on `control.sock`, after the usual hello, and a part of the answer to the last.
    Frames(Vec<Json>, String),
    /// The same without a hello.
    RawFrames(Vec<Json>, String),
    /// Messages on Endo's socket, after the bootstrap, and a part of the answers.
    Endo(Vec<Json>, String),
    /// Somebody writes a file.
    Write(String, Text),
    /// The daemon is killed.
    Kill,
}

/// The visible effect of an attack that has succeeded.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Success {
    /// There is a file.
    File(String),
    /// There is a file that holds this.
    FileHolds(String, String),
    /// There is no such file.
    NoFile(String),
    /// So many mails in the spool hold this.
    Mails(usize, String),
    /// A step was answered with this.
    Answered(String),
    /// A command has shown a line that begins like this.
    Line(String),
    /// One that begins like this and holds that.
    LineHolds(String, String),
    /// The model was asked more often than this.
    Turns(usize),
}

/// The way in which the same attempt is made without the protection.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Control {
    /// A loop that makes every call of the model, with the model's words as the file has them.
    Loop,
    /// Almoner again, but these parts are different: above all, a person says yes.
    Instead(Box<Instead>),
}

/// The parts that are different. A part that is left out stays.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Instead {
    pub(super) files: BTreeMap<String, Text>,
    pub(super) worker: Option<Text>,
    pub(super) script: Option<Vec<Turn>>,
    pub(super) before: Option<Vec<Step>>,
    pub(super) run: Option<Vec<String>>,
    pub(super) more: Option<Vec<String>>,
    pub(super) ends: Option<i32>,
    pub(super) steps: Option<Vec<Step>>,
}

impl Attack {
    /// Returns every attack that a file holds, one for each of its variants.
    pub(super) fn read(path: &Path) -> Vec<Attack> {
        let text = std::fs::read_to_string(path).unwrap();
        let wrong = |e: serde_json::Error| -> ! { panic!("{}: {e}", path.display()) };
        let json: Json = serde_json::from_str(&text).unwrap_or_else(|e| wrong(e));
        let whole = |json: Json| serde_json::from_value::<Attack>(json).unwrap_or_else(|e| wrong(e));
        let attack = whole(json.clone());
        assert_eq!(
            Some(attack.id.as_str()),
            path.file_stem().and_then(|stem| stem.to_str()),
            "the file's name"
        );
        if attack.variants.is_empty() {
            return vec![attack];
        }
        let put = |variant: &String| Attack {
            id: format!("{} {}", attack.id, variant.escape_default()),
            ..whole(replaced(json.clone(), variant))
        };
        attack.variants.iter().map(put).collect()
    }

    /// Returns the control, as a scene and steps of its own; `None` for the loop.
    pub(super) fn unprotected(&self) -> Option<(Scene, Vec<Step>)> {
        let Control::Instead(instead) = &self.control else { return None };
        let Instead { files, worker, script, before, run, more, ends, steps } = (**instead).clone();
        let mut scene = self.scene.clone();
        scene.files.extend(files);
        scene.worker = worker.or(scene.worker);
        scene.script = script.unwrap_or(scene.script);
        scene.before = before.unwrap_or(scene.before);
        scene.run = run.or(scene.run);
        scene.more = more.unwrap_or(scene.more);
        scene.ends = ends.or(scene.ends);
        Some((scene, steps.unwrap_or_else(|| self.steps.clone())))
    }
}

/// Returns the same with the variant in its place, in names as well as in values.
fn replaced(json: Json, variant: &str) -> Json {
    let text = |text: String| text.replace(VARIANT, variant);
    match json {
        Json::String(string) => Json::String(text(string)),
        Json::Array(items) => items.into_iter().map(|item| replaced(item, variant)).collect(),
        Json::Object(fields) => {
            fields.into_iter().map(|(name, value)| (text(name), replaced(value, variant))).collect()
        }
        other => other,
    }
}

//! An attack in practice: a folder, a run in it with the real binary, and the steps of somebody there.

use serde_json::Value as Json;

use super::file::{Scene, Step, Success};
use crate::test_home::{CLERK, Said, TestHome};
use crate::wire::{self, Control};

/// The home and the output that an attack has left behind.
pub(super) struct Aftermath {
    pub(super) home: TestHome,
    /// Everything that was shown or answered, but for the result of the run itself.
    pub(super) heard: String,
}

/// Lays out the folder as it is before anything happens.
pub(super) fn lay_out(scene: &Scene) -> TestHome {
    let home = TestHome::with_inbox();
    for dir in ["out", "outbox"] {
        std::fs::create_dir_all(home.path(dir)).unwrap();
    }
    if let Some(worker) = &scene.worker {
        home.write("clerk.worker", placed(&home, &worker.text()));
    }
    for (path, text) in &scene.files {
        home.write(path, placed(&home, &text.text()));
    }
    for (path, target) in &scene.links {
        std::os::unix::fs::symlink(target, home.path(path)).unwrap();
    }
    let turns: Vec<Json> = scene.script.iter().map(super::file::Turn::script).collect();
    let script = scene.scripts.clone().unwrap_or_else(|| serde_json::json!([{ "turns": turns }]));
    home.write("script.json", placed(&home, &script.to_string()));
    home
}

/// Fills in the placeholders of a text: the folder's own path, the protocol's version, and half a megabyte.
pub(super) fn placed(home: &TestHome, text: &str) -> String {
    let long = if text.contains("$LONG") { "INVOICE ".repeat(60_000) } else { String::new() };
    text.replace("$WORK", &home.work().display().to_string())
        .replace("$PROTOCOL", &wire::VERSION.to_string())
        .replace("$LONG", &long)
}

/// Plays the scene and the steps, and lets a run that can go on go on.
pub(super) fn play(scene: &Scene, steps: &[Step]) -> Result<Aftermath, String> {
    let mut after = Aftermath { home: lay_out(scene), heard: String::new() };
    for step in &scene.before {
        after.does(step)?;
    }
    let usual = || CLERK.iter().map(|word| (*word).to_owned()).collect();
    let run: Vec<String> = scene.run.clone().unwrap_or_else(usual);
    if !run.is_empty() {
        let words: Vec<&str> = run.iter().chain(&scene.more).map(String::as_str).collect();
        let said = after.home.almoner(&words);
        // The result is the model's own text, so it is left out.
        after.note(&words, Said { out: String::new(), ..said }, scene.ends.unwrap_or(7))?;
    }
    for step in steps {
        after.does(step)?;
    }
    // Whether there is anything to go on with is not the question.
    let _ = after.home.almoner(&["resume"]);
    Ok(after)
}

impl Aftermath {
    fn hear(&mut self, text: &str) {
        self.heard.push_str(text);
        self.heard.push('\n');
    }

    fn note(&mut self, words: &[&str], said: Said, ends: i32) -> Result<(), String> {
        self.hear(&said.out);
        self.hear(&said.err);
        match said.code == ends {
            true => Ok(()),
            false => {
                Err(format!("{words:?} ended with {}, not {ends}:\n{}\n{}", said.code, said.out, said.err))
            }
        }
    }

    fn does(&mut self, step: &Step) -> Result<(), String> {
        let answered =
            |answers: &[Json]| answers.iter().map(|answer| format!("{answer}\n")).collect::<String>();
        let (said, part) = match step {
            Step::Almoner(words, ends) => {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let said = self.home.almoner(&words);
                return self.note(&words, said, *ends);
            }
            Step::Write(path, text) => {
                self.home.write(path, text.text());
                return Ok(());
            }
            Step::Kill => return self.kill(),
            Step::Frames(frames, part) => (answered(&self.say(Control::open(&self.home), frames)), part),
            Step::RawFrames(frames, part) => (answered(&self.say(Control::silent(&self.home), frames)), part),
            Step::Endo(messages, part) => (answered(&wire::endo(&self.home, messages)), part),
        };
        self.hear(&said);
        match said.contains(part.as_str()) {
            true => Ok(()),
            false => Err(format!("{step:?} was not answered with `{part}` but with\n{said}")),
        }
    }

    fn say(&self, mut control: Control, frames: &[Json]) -> Vec<Json> {
        let frame = |frame: &Json| match frame {
            // A string is the frame itself, whether it is JSON or not.
            Json::String(text) => Json::String(placed(&self.home, text)),
            frame => Json::String(placed(&self.home, &frame.to_string())),
        };
        frames.iter().map(|each| control.ask(&frame(each))).collect()
    }

    /// Kills the daemon at once, without telling any client.
    fn kill(&mut self) -> Result<(), String> {
        let status = self.home.almoner(&["status", "--json"]).json();
        let pid = status["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).ok_or("no daemon")?;
        let pid = rustix::process::Pid::from_raw(pid).ok_or("no daemon")?;
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).map_err(|e| e.to_string())
    }

    /// Returns whether the effect is there.
    pub(super) fn shows(&self, success: &Success) -> bool {
        let file = |path: &str| std::fs::read(self.home.path(path)).ok();
        let holds = |bytes: &[u8], part: &str| String::from_utf8_lossy(bytes).contains(part);
        match success {
            Success::File(path) => file(path).is_some(),
            Success::FileHolds(path, part) => file(path).is_some_and(|bytes| holds(&bytes, part)),
            Success::NoFile(path) => file(path).is_none(),
            Success::Mails(count, part) => {
                let spool = std::fs::read_dir(self.home.path("outbox")).unwrap().flatten();
                spool.filter(|mail| holds(&std::fs::read(mail.path()).unwrap(), part)).count() >= *count
            }
            Success::Answered(part) => self.heard.contains(part),
            Success::Line(start) => self.heard.lines().any(|line| line.starts_with(start)),
            Success::LineHolds(start, part) => {
                self.heard.lines().any(|line| line.starts_with(start) && line.contains(part))
            }
            Success::Turns(most) => {
                let steps = self.home.trace("r1")["steps"].take();
                let prompted = |step: &&Json| step["entry"]["entry"] == "prompted";
                steps.as_array().unwrap().iter().filter(prompted).count() > *most
            }
        }
    }
}

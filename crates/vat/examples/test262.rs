//! The language part of test262 in vats: `cargo xtask test262`.
//!
//! `test262 FOLDER [PART]` runs the tests below `FOLDER/test/language` whose paths have that part. Each test runs in
//! a new vat, and again in an unlocked realm of the same engine: so a failure is the engine's, or the lock's. The
//! program prints the tests that are left out, and the number of failures in each class. `TEST262_LIST=1` names each
//! test that fails.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a tool for developers: it reads a folder and prints"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use passable::Value;
use rquickjs::{Context, Ctx, Runtime};
use vat::{Language, Limits, Module, ModuleName, Modules, Order, Outcome, Report, Vat};

/// Stands for the suite's own functions: they throw errors, which can be told from others outside.
const PREFIX: &str = "
function Test262Error(message) {
  const made = new Error(message || '');
  Object.setPrototypeOf(made, Test262Error.prototype);
  Object.defineProperty(made, 'name', { value: 'Test262Error' });
  return made;
}
function $ERROR(message) { throw new Test262Error(message); }
function $DONOTEVALUATE() { throw new Test262Error('this should not run'); }
";

/// A test's description of itself, as far as it matters here.
#[derive(Default)]
struct Test {
    source: String,
    flags: Vec<String>,
    includes: Vec<String>,
    /// The name of the error that it must end with, and whether nothing of it may have run.
    negative: Option<String>,
}

impl Test {
    fn read(path: &Path) -> Test {
        let source = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
        let head = source.split_once("/*---").and_then(|(_, rest)| Some(rest.split_once("---*/")?.0));
        let (mut test, mut within) = (Test::default(), "");
        for line in head.unwrap_or_default().lines() {
            let (key, value) = line.split_once(':').unwrap_or((line, ""));
            if !line.starts_with([' ', '\t', '-']) {
                within = key.trim();
            }
            let items = || {
                let items = value.trim().trim_matches(['[', ']']).split(',');
                items.map(|item| item.trim().to_owned()).filter(|item| !item.is_empty())
            };
            match (within, key.trim()) {
                ("flags", "flags") => test.flags = items().collect(),
                ("includes", "includes") => test.includes = items().collect(),
                ("includes", item) => test.includes.extend(item.strip_prefix("- ").map(str::to_owned)),
                ("negative", "type") => test.negative = Some(value.trim().to_owned()),
                _ => {}
            }
        }
        test.source = source;
        test
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|own| own == flag)
    }

    /// Returns why it is not run at all.
    fn left_out(&self) -> Option<&'static str> {
        if self.has("noStrict") {
            return Some("for sloppy mode, and a vat is strict");
        }
        if self.source.contains("$262") {
            return Some("needs hooks of its host");
        }
        None
    }

    /// Returns all of it as one source.
    fn whole(&self, harness: &Path) -> String {
        if self.has("raw") {
            return self.source.clone();
        }
        let mut whole = PREFIX.to_owned();
        let mut include =
            |name: &str| whole.push_str(&std::fs::read_to_string(harness.join(name)).unwrap_or_default());
        include("assert.js");
        if self.has("async") {
            include("doneprintHandle.js");
        }
        self.includes.iter().filter(|name| *name != "doneprintHandle.js").for_each(|name| include(name));
        whole.push('\n');
        whole.push_str(&self.source);
        whole
    }

    /// Checks the outcome of the test: the thrown error, and the printed lines.
    fn judge(&self, thrown: Option<&(String, String)>, printed: &[String]) -> Result<(), String> {
        match (&self.negative, thrown) {
            (Some(expected), Some((name, _))) if expected == name => Ok(()),
            (Some(expected), Some((name, message))) => Err(format!("{name} and not {expected}: {message}")),
            (Some(expected), None) => Err(format!("no {expected}")),
            (None, Some((name, message))) => Err(format!("{name}: {message}")),
            (None, None)
                if self.has("async") && !printed.iter().any(|line| line == "Test262:AsyncTestComplete") =>
            {
                Err(printed.first().cloned().unwrap_or_else(|| "it is never done".to_owned()))
            }
            (None, None) => Ok(()),
        }
    }
}

fn in_a_vat(test: &Test, path: &Path, whole: &str) -> Result<(), String> {
    let start = Instant::now();
    let clock: vat::Clock = Rc::new(move || start.elapsed().as_millis() as u64);
    let limits = Limits { fuel: 100_000_000, wall_ms: 20_000, console: 1 << 20, ..Limits::default() };
    let mut vat = Vat::new(1, limits, clock).map_err(|kind| kind.line().to_owned())?;
    let whole = format!("const print = text => console.log(text);\n{whole}");
    let order = match test.has("module") {
        true => {
            let modules = modules(path, &whole);
            let (id, powers, own) = (String::new(), Value::Null, Value::Null);
            Order::Make { vat: 1, answer: 1, id, modules, env: BTreeMap::new(), powers, own }
        }
        false => Order::Evaluate {
            vat: 1,
            answer: 1,
            id: String::new(),
            // The completion value does not matter: it might not be one that can be passed.
            source: format!("{whole}\n;void 0;"),
            names: vec![],
            values: Value::array([]),
        },
    };
    let (mut thrown, mut printed) = (None, Vec::new());
    for report in vat.carry_out(&order) {
        match report {
            Report::Answer { outcome: Outcome::Err(Value::Error(error)), place, .. } => {
                let (name, message) = (error.name.to_str_lossy(), error.message.to_str_lossy());
                // That is how a module without a `make` ends which has run.
                if message != "the first module exports no function `make`" {
                    let place = place
                        .map(|place| format!(" at {} {}", place.label(), place.excerpt.trim()))
                        .unwrap_or_default();
                    thrown = Some((name.into_owned(), format!("{message}{place}")));
                }
            }
            Report::Answer { outcome: Outcome::Err(_), .. } => {
                thrown = Some(("no error".to_owned(), String::new()))
            }
            Report::Console { text, .. } => printed.push(text),
            Report::Fault { kind, .. } => return Err(format!("fault {kind:?}").to_lowercase()),
            Report::Refused { line } => return Err(format!("refused: {line}")),
            _ => {}
        }
    }
    test.judge(thrown.as_ref(), &printed)
}

/// Returns the test, and all that lies beside it, as one package.
fn modules(path: &Path, whole: &str) -> Modules {
    let folder = path.parent().unwrap();
    let mut files = BTreeMap::new();
    for file in std::fs::read_dir(folder).unwrap().flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        // Some import tests, and some themselves.
        if name.ends_with("_FIXTURE.js") || whole.contains(&format!("/{name}")) {
            let text = std::fs::read_to_string(file.path()).unwrap_or_default();
            files.insert(format!("./{name}"), Module::Source { language: Language::Module, text });
        }
    }
    let entry = format!("./{}", path.file_name().unwrap().to_string_lossy());
    files.insert(entry.clone(), Module::Source { language: Language::Module, text: whole.to_owned() });
    let entry = ModuleName { package: String::new(), module: entry };
    Modules { entry, packages: BTreeMap::from([(String::new(), files)]), maps: BTreeMap::new() }
}

/// Returns the outcome of the test in an unlocked realm; `None` for modules, which are not tried there.
fn unlocked(test: &Test, whole: &str) -> Option<Result<(), String>> {
    if test.has("module") {
        return None;
    }
    let runtime = Runtime::new().unwrap();
    runtime.set_max_stack_size(512 << 10);
    let mut portions = 0;
    runtime.set_interrupt_handler(Some(Box::new(move || {
        portions += 1;
        portions > 10_000
    })));
    let context = Context::full(&runtime).unwrap();
    Some(context.with(|ctx| {
        let thrown = |ctx: &Ctx<'_>| {
            let thrown = ctx.catch();
            let text = |key: &str| -> String {
                let object = thrown.as_object();
                object.and_then(|object| object.get::<_, String>(key).ok()).unwrap_or_default()
            };
            (text("name"), text("message"))
        };
        let begin = "\"use strict\";\nvar said = []; function print(text) { said.push(`${text}`); }\n";
        let ran = ctx.eval::<rquickjs::Value<'_>, _>(format!("{begin}{whole}"));
        let thrown = ran.is_err().then(|| thrown(&ctx));
        while ctx.execute_pending_job() {}
        let printed = ctx.globals().get::<_, Vec<String>>("said").unwrap_or_default();
        test.judge(thrown.as_ref(), &printed)
    }))
}

/// Returns the class of a failure, by its message and by the outcome in an unlocked realm.
fn class(why: &str, source: &str, unlocked: Option<&Result<(), String>>) -> &'static str {
    let has = |parts: &[&str]| parts.iter().any(|part| why.contains(part));
    if has(&["SyntaxError and not ReferenceError"]) {
        return "the suite is older: what it calls a ReferenceError is a SyntaxError now";
    }
    if matches!(unlocked, Some(Err(_))) || (unlocked.is_none() && source.contains("privatename")) {
        return "the engine: it fails in an unlocked realm as well";
    }
    let uses = |parts: &[&str]| parts.iter().any(|part| source.contains(part));
    if has(&["eval is not available", "no dynamic code", "EvalError"]) || uses(&["eval(", "Function("]) {
        return "the lock: no code from text (`eval`, `Function`)";
    }
    if uses(&[".caller", "\"caller\"", "'caller'", ".callee"]) {
        return "the lock: functions say nothing of their caller and arguments";
    }
    if uses(&["this.Date", "this.", "/language/global-code/", "verifyProperty(this"]) {
        return "the lock: names at the top are the program's own, and no properties of a global object";
    }
    if has(&[
        "read-only",
        "not extensible",
        "Cannot assign",
        "not configurable",
        "could not delete property",
        "no setter",
    ]) {
        return "the lock: intrinsics and globals cannot be changed";
    }
    if has(&["is not defined"]) {
        return "the lock: a global that a vat does not have";
    }
    if has(&["HTML-like"]) {
        return "the lock: comments as they were in HTML";
    }
    match unlocked {
        None => "modules: what a test imports does not see the suite's own globals",
        Some(_) => "the lock: other",
    }
}

fn tests(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            tests(&path, found);
        } else if path.extension().is_some_and(|end| end == "js")
            && !path.to_string_lossy().contains("_FIXTURE")
        {
            found.push(path);
        }
    }
}

#[derive(Default)]
struct Tally {
    ran: usize,
    passed: usize,
    left_out: BTreeMap<&'static str, usize>,
    failed: BTreeMap<&'static str, Vec<(String, String)>>,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let root = PathBuf::from(arguments.next().expect("the folder of test262"));
    let part = arguments.next().unwrap_or_default();
    let mut found = Vec::new();
    tests(&root.join("test/language"), &mut found);
    found.retain(|path| path.to_string_lossy().contains(&part));
    found.sort();
    let (found, next, tally) =
        (Arc::new(found), Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Tally::default())));
    let work = {
        let (found, tally, root) = (Arc::clone(&found), Arc::clone(&tally), root.clone());
        move || {
            while let Some(path) = found.get(next.fetch_add(1, Ordering::Relaxed)) {
                let test = Test::read(path);
                if let Some(why) = test.left_out() {
                    *tally.lock().unwrap().left_out.entry(why).or_default() += 1;
                    continue;
                }
                let whole = test.whole(&root.join("harness"));
                let came = in_a_vat(&test, path, &whole);
                let failed =
                    came.err().map(|why| (class(&why, &test.source, unlocked(&test, &whole).as_ref()), why));
                let mut tally = tally.lock().unwrap();
                tally.ran += 1;
                match failed {
                    None => tally.passed += 1,
                    Some((class, why)) => {
                        let name = path.strip_prefix(root.join("test")).unwrap().display().to_string();
                        tally.failed.entry(class).or_default().push((name, why));
                    }
                }
            }
        }
    };
    let threads =
        (0..2).map(|_| std::thread::Builder::new().stack_size(16 << 20).spawn(work.clone()).unwrap());
    threads
        .collect::<Vec<_>>()
        .into_iter()
        .for_each(|thread| thread.join().expect("no test ends the process"));
    let tally = tally.lock().unwrap();
    println!(
        "{} of {} passed, {:.2} %",
        tally.passed,
        tally.ran,
        100.0 * tally.passed as f64 / tally.ran.max(1) as f64
    );
    for (why, count) in &tally.left_out {
        println!("{count} left out: {why}");
    }
    for (class, failed) in &tally.failed {
        println!("{} failed: {class}", failed.len());
        let all = std::env::var_os("TEST262_LIST").is_some();
        for (name, why) in failed.iter().take(if all { usize::MAX } else { 3 }) {
            println!("    {name}: {}", passable::visible_line(why).chars().take(150).collect::<String>());
        }
    }
    // An expected failure is no failure of this program; running nothing is.
    if tally.ran > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

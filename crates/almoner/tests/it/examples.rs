//! The examples of the repository, run as their READMEs say. Each line of the `sh` block is run with a model that
//! follows a script. The results are compared with the facts that were written down before.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::endo::tools;
use crate::test_home::{Said, TestHome, copy};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
/// Has no command of its own: the demo and other tests use it.
const NOT_RUN_HERE: [&str; 1] = ["inbox"];

/// Returns the folders that have expected facts, by name.
fn folders() -> Vec<PathBuf> {
    let found = std::fs::read_dir(EXAMPLES).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = found
        .filter(|path| path.join("expected.json").exists())
        .filter(|path| !NOT_RUN_HERE.contains(&path.file_name().unwrap().to_str().unwrap()))
        .collect();
    folders.sort();
    folders
}

/// Returns the lines between the first ```` ```sh ```` and its end.
fn commands(readme: &str) -> Vec<&str> {
    let (_, rest) = readme.split_once("```sh\n").expect("a block of commands");
    let (block, rest) = rest.split_once("```").expect("its end");
    assert!(!rest.contains("```sh"), "one block, so that no command is left untried");
    block.lines().collect()
}

/// Returns the words of a line as a shell splits it. Double quotes are the only syntax that is allowed.
fn split_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        assert!(!r"'$`\|&;<>*?#".contains(c) || quoted, "{line}: {c} would need a shell");
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    assert!(!quoted, "{line}");
    words.push(word);
    words
}

/// Returns a command, with the servers of tools that a user would have installed.
fn almoner(home: &TestHome, args: &[&str]) -> Said {
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let own = std::iter::once(tools().join("node_modules/.bin"));
    let path = std::env::join_paths(own.chain(std::env::split_paths(&inherited))).unwrap();
    Said::of(home.command(args).env("PATH", path).output().unwrap())
}

/// The output of a README's commands, and the number of times that the run waited for a person.
struct Ran {
    said: String,
    /// The result that the last command that follows a run printed.
    result: Json,
    asked: u64,
}

fn run(home: &TestHome, lines: &[&str]) -> Ran {
    let mut ran = Ran { said: String::new(), result: Json::Null, asked: 0 };
    for (at, line) in lines.iter().enumerate() {
        let mut args = split_words(line);
        assert_eq!(args.remove(0), "almoner", "{line}");
        let follows = ["run", "resume"].contains(&args[0].as_str());
        if args[0] == "run" {
            args.extend(["-m".to_owned(), "scripted:script.json".to_owned()]);
        }
        let said = almoner(home, &args.iter().map(String::as_str).collect::<Vec<_>>());
        if said.code == 7 && follows && at + 1 < lines.len() {
            ran.asked += 1;
        } else {
            assert_eq!(said.code, 0, "{line}\n{}\n{}", said.out, said.err);
            if follows {
                let text = said.out.trim();
                ran.result = serde_json::from_str(text).unwrap_or_else(|_| Json::from(text));
            }
        }
        ran.said.push_str(&said.out);
    }
    ran
}

fn text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

fn list<'a>(of: &'a Json, key: &str) -> &'a [Json] {
    of.get(key).map_or(&[], |value| value.as_array().expect("a list"))
}

/// Returns the facts that do not hold.
fn wrong(home: &TestHome, facts: &Json, ran: &Ran) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut hold = |holds: bool, what: String| {
        if !holds {
            wrong.push(what);
        }
    };
    hold(facts["asked"] == ran.asked, format!("asked {} times", ran.asked));
    for fact in list(facts, "value") {
        let mut found = ran.result.pointer(fact["at"].as_str().unwrap());
        if let Some(with) = fact["with"].as_str() {
            // The one entry of a list that holds these words.
            let entries = found.and_then(Json::as_array);
            found = entries.and_then(|all| all.iter().find(|entry| text(entry).contains(with)));
            found = found.and_then(|entry| entry.pointer(fact["then"].as_str().unwrap()));
        }
        let holds = found.is_some_and(|found| match fact["has"].as_str() {
            Some(has) => text(found).contains(has),
            None => {
                let (from, to) = (fact["from"].as_f64().unwrap(), fact["to"].as_f64().unwrap());
                found.as_f64().is_some_and(|n| from <= n && n <= to)
            }
        });
        hold(holds, format!("{fact} in {}", ran.result));
    }
    for key in ["card", "said"] {
        for part in list(facts, key) {
            hold(ran.said.contains(part.as_str().unwrap()), format!("{part} in {}", ran.said));
        }
    }
    for key in ["files", "once"] {
        for (path, parts) in facts[key].as_object().into_iter().flatten() {
            let file = std::fs::read_to_string(home.path(path)).unwrap_or_default();
            for part in parts.as_array().unwrap() {
                let times = file.matches(part.as_str().unwrap()).count();
                hold(times == 1 || (times > 1 && key == "files"), format!("{part} in {path}: {file}"));
            }
        }
    }
    for path in list(facts, "gone") {
        hold(!home.path(path.as_str().unwrap()).exists(), format!("{path} is gone"));
    }
    wrong
}

fn example(folder: &Path) -> (TestHome, Vec<String>, Json) {
    let home = TestHome::new();
    copy(folder, &home.work());
    let facts = serde_json::from_str(&home.read("expected.json")).unwrap();
    let readme = home.read("README.md");
    (home, commands(&readme).into_iter().map(ToOwned::to_owned).collect(), facts)
}

#[test]
fn each_example_does_as_its_readme_says() {
    let folders = folders();
    assert!(folders.len() >= 6, "{folders:?}");
    for folder in folders {
        let (home, lines, facts) = example(&folder);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let ran = run(&home, &lines);
        let wrong = wrong(&home, &facts, &ran);
        assert!(wrong.is_empty(), "{}:\n{}", folder.display(), wrong.join("\n"));
    }
}

/// Checks that the test above can fail.
#[test]
fn example_facts_are_false_before_the_run() {
    for folder in folders() {
        let (home, _, facts) = example(&folder);
        let nothing = Ran { said: String::new(), result: Json::Null, asked: u64::MAX };
        let count = |key: &str| list(&facts, key).len();
        let expected = 1 + count("value") + count("card") + count("said") + count("gone");
        let wrong = wrong(&home, &facts, &nothing);
        assert!(wrong.len() >= expected, "{}: {wrong:?}", folder.display());
    }
}

#[test]
fn denied_example_changes_no_file() {
    for folder in folders() {
        let (home, lines, facts) = example(&folder);
        let asks = facts["asked"].as_u64().unwrap() > 0;
        let places: Vec<&String> =
            facts["files"].as_object().into_iter().flatten().map(|(path, _)| path).collect();
        let before: Vec<Option<String>> =
            places.iter().map(|path| std::fs::read_to_string(home.path(path)).ok()).collect();
        let first = lines.iter().position(|line| line.starts_with("almoner run")).unwrap();
        for line in &lines[..first] {
            let args = split_words(line);
            almoner(&home, &args[1..].iter().map(String::as_str).collect::<Vec<_>>()).expect(0);
        }
        let line = format!("{} --on-ask deny", lines[first]);
        let mut args = split_words(&line);
        args.extend(["-m".to_owned(), "scripted:script.json".to_owned()]);
        let said = almoner(&home, &args[1..].iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(said.err.contains(" asks you about "), asks, "{}", said.err);
        let after: Vec<Option<String>> =
            places.iter().map(|path| std::fs::read_to_string(home.path(path)).ok()).collect();
        assert_eq!(before, after, "{}", folder.display());
    }
}

/// Prints text for a person who runs the test by hand.
#[allow(clippy::print_stdout, reason = "a table for whoever asked for it")]
fn say(text: &str) {
    println!("{text}");
}

/// How often a person answers before the rest is taken for an endless story.
const MAX_ANSWERS: usize = 12;

/// Runs the commands of a README with a model that may depart from its script. Its questions get the README's answers
/// in turn, and a yes from then on. Returns the exit code of the last command as well.
fn run_with(home: &TestHome, lines: &[&str], model: &str) -> (Ran, i32) {
    let mut ran = Ran { said: String::new(), result: Json::Null, asked: 0 };
    let mut code = 0;
    let mut answers: Vec<Vec<String>> = lines
        .iter()
        .map(|line| split_words(line))
        .filter(|words| ["approve", "deny"].contains(&words[1].as_str()))
        .collect();
    answers.reverse();
    for line in lines {
        let args = split_words(line);
        let verb = args[1].as_str();
        if ["approve", "deny", "inbox", "resume"].contains(&verb) || (verb != "run" && code != 0) {
            continue;
        }
        let mut args: Vec<&str> = args[1..].iter().map(String::as_str).collect();
        if verb != "run" {
            ran.said.push_str(&almoner(home, &args).out);
            continue;
        }
        args.extend(["-m", model]);
        let mut said = almoner(home, &args);
        while said.code == 7 && ran.asked < MAX_ANSWERS as u64 {
            ran.asked += 1;
            for letter in home.almoner(&["inbox", "--json"]).json().as_array().unwrap() {
                let number = letter["number"].to_string();
                ran.said.push_str(&home.almoner(&["inbox", &number]).out);
                // A model that goes round in circles is not given more budget to do so.
                let is_budget = letter["message"]["body"]["type"] == "budget";
                let otherwise = || vec![String::new(), if is_budget { "deny" } else { "approve" }.to_owned()];
                let answer = if is_budget { None } else { answers.pop() }.unwrap_or_else(otherwise);
                let more = answer.iter().skip(3).map(String::as_str);
                let args: Vec<&str> = [answer[1].as_str(), &number].into_iter().chain(more).collect();
                almoner(home, &args);
            }
            said = almoner(home, &["resume", "r1"]);
        }
        code = said.code;
        let text = said.out.trim();
        ran.result = serde_json::from_str(text).unwrap_or_else(|_| Json::from(text));
        ran.said.push_str(&said.out);
        if code != 0 {
            say(&said.err);
        }
    }
    (ran, code)
}

#[test]
#[ignore = "takes a model and many minutes: cargo xtask examples MODEL"]
fn examples_report_their_facts_with_a_real_model() {
    let model = std::env::var("ALMONER_EXAMPLES_MODEL").expect("which model: cargo xtask examples MODEL");
    let only = std::env::var("ALMONER_EXAMPLES_ONLY").unwrap_or_default();
    let mut table =
        String::from("| example | facts | asked | exit | seconds |\n| --- | ---: | ---: | ---: | ---: |\n");
    for folder in folders() {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        if !only.is_empty() && !only.split(',').any(|each| each == name) {
            continue;
        }
        let (home, lines, facts) = example(&folder);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let began = std::time::Instant::now();
        let (ran, code) = run_with(&home, &lines, &model);
        let missed = wrong(&home, &facts, &ran);
        say(&format!("== {name}: {}\n{}\n", ran.result, missed.join("\n")));
        let (asked, seconds) = (ran.asked, began.elapsed().as_secs());
        let of = facts_of(&facts);
        table += &format!(
            "| {name} | {} of {of} | {asked} | {code} | {seconds} |\n",
            of.saturating_sub(missed.len())
        );
    }
    say(&table);
}

/// Returns how many facts there are: how often a person is asked is one.
fn facts_of(facts: &Json) -> usize {
    let lists = ["value", "card", "said", "gone"].iter().map(|key| list(facts, key).len());
    let files = ["files", "once"].iter().flat_map(|key| facts[key].as_object().into_iter().flatten());
    1 + lists.sum::<usize>() + files.map(|(_, parts)| parts.as_array().unwrap().len()).sum::<usize>()
}

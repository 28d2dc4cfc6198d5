//! The control: the model's calls, made without a check.
//!
//! Tool loops are commonly written like this: they take arguments as they are, decode spellings until a path leads
//! somewhere, and build headers from text. The loop does to the folder the same as the attack would.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value as Json;

use super::file::{Scene, Turn};
use super::scene::{Aftermath, lay_out, placed};
use crate::test_home::TestHome;

/// Lays out the folder and makes the model's calls in it.
pub(super) fn play(scene: &Scene) -> Aftermath {
    let home = lay_out(scene);
    let mut heard = String::new();
    let mut serial = 0;
    for turn in &scene.script {
        let Turn::Calls(calls) = turn else { continue };
        for (name, arguments) in calls {
            serial += 1;
            let arguments = placed(&home, &arguments.to_string());
            obey(&home, &arguments);
            let arguments = serde_json::from_str(&arguments).unwrap();
            let said = perform(&home, name, &arguments, serial).unwrap_or_else(|e| format!("{e}"));
            obey(&home, &said);
            heard.push_str(&said);
            heard.push('\n');
        }
    }
    Aftermath { home, heard }
}

fn perform(home: &TestHome, tool: &str, arguments: &Json, serial: usize) -> std::io::Result<String> {
    let text = |name: &str| arguments[name].as_str().unwrap_or_default();
    let tool = tool.split(['!', ' ', '?', ':']).next().unwrap_or_default();
    match tool {
        "mail_list" => {
            let names = std::fs::read_dir(place(home, "mail", text("path")))?.flatten();
            Ok(names.map(|name| name.file_name().to_string_lossy().into_owned() + "\n").collect())
        }
        "mail_read" => std::fs::read_to_string(place(home, "mail", text("path"))),
        "out_write" | "mail_write" => {
            let slot = tool.trim_end_matches("_write");
            let path = place(home, slot, text("path"));
            std::fs::create_dir_all(path.parent().unwrap_or(&path))?;
            std::fs::write(path, text("content"))?;
            Ok("written".to_owned())
        }
        "outbox_send" => {
            let mail = format!("To: {}\nSubject: {}\n\n{}", text("to"), text("subject"), text("body"));
            std::fs::write(home.path(&format!("outbox/{serial}.eml")), mail)?;
            Ok("sent".to_owned())
        }
        // The evaluator that some agents have.
        _ => {
            let code = ["code", "command", "cmd", "form", "source"].map(text).concat();
            Command::new("sh").args(["-c", &code]).current_dir(home.work()).output()?;
            Ok("evaluated".to_owned())
        }
    }
}

/// Runs the commands that a reader runs if it knows no difference between text and programs.
fn obey(home: &TestHome, text: &str) {
    for (begin, end) in [
        ("#.(shell \"", "\""),
        ("#.(shell \\\"", "\\"),
        ("$(", ")"),
        ("`", "`"),
        ("{{ shell('", "'"),
        ("os.system ['", "'"),
        ("<% system('", "'"),
    ] {
        let code = text.split_once(begin).and_then(|(_, rest)| rest.split_once(end)).map(|(code, _)| code);
        if let Some(code) = code {
            Command::new("sh").args(["-c", code]).current_dir(home.work()).output().unwrap();
        }
    }
}

/// Returns where a path leads if every spelling is undone.
fn place(home: &TestHome, slot: &str, path: &str) -> PathBuf {
    let mut path = path.to_owned();
    // As often as it was encoded.
    for _ in 0..3 {
        path = unescaped(&path);
    }
    let own = home.work().display().to_string();
    for (spelling, meant) in [
        ("\\", "/"),
        ("．", "."),
        ("／", "/"),
        ("⁄", "/"),
        ("∕", "/"),
        ("․", "."),
        ("‥", ".."),
        ("\u{200b}", ""),
        ("\0", ""),
        ("file://", ""),
        ("$HOME", "~"),
        ("${HOME}", "~"),
        ("~", &own),
        ("$PWD", &own),
    ] {
        path = path.replace(spelling, meant);
    }
    let path = path.trim();
    match path.strip_prefix("/WORK/") {
        Some(absolute) => home.path(absolute),
        None => home.path(slot).join(path),
    }
}

/// Decodes each percent sign with two digits into the byte that they stand for.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

//! A terminal for a command, made by `script`, which every Debian has.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::test_home::TestHome;

pub(crate) const CTRL_C: &str = "\u{3}";
pub(crate) const CTRL_D: &str = "\u{4}";

/// A command that sees a terminal, made by `script`, which every Debian has.
pub(crate) struct Terminal {
    pub(crate) child: Child,
    keys: ChildStdin,
    screen: Arc<Mutex<String>>,
    reader: std::thread::JoinHandle<()>,
}

impl Terminal {
    pub(crate) fn open(home: &TestHome, args: &[&str]) -> Terminal {
        Terminal::of(home, args, "dumb")
    }

    /// Returns one that has colours, in a window of so many columns.
    pub(crate) fn narrow(home: &TestHome, args: &[&str], columns: usize) -> Terminal {
        Terminal::open_in(home, args, "xterm-256color", &format!("stty cols {columns} rows 24; "))
    }

    /// Returns the same, of a kind that can do more than write lines.
    pub(crate) fn of(home: &TestHome, args: &[&str], kind: &str) -> Terminal {
        Terminal::open_in(home, args, kind, "")
    }

    fn open_in(home: &TestHome, args: &[&str], kind: &str, before: &str) -> Terminal {
        let almoner = home.command(args);
        let quoted: Vec<String> = std::iter::once(almoner.get_program())
            .chain(almoner.get_args())
            .map(|part| format!("'{}'", part.to_str().unwrap()))
            .collect();
        let mut script = Command::new("script");
        script.args(["-qefc", &format!("{before}exec {}", quoted.join(" ")), "/dev/null"]);
        script.current_dir(home.work()).env("SHELL", "/bin/sh").env("TERM", kind);
        // Lines alone say nothing of colours; where there may be some, they are to be seen.
        if kind == "dumb" {
            script.env("NO_COLOR", "1");
        } else {
            script.env_remove("NO_COLOR");
        }
        for (name, value) in almoner.get_envs() {
            match value {
                Some(value) => script.env(name, value),
                None => script.env_remove(name),
            };
        }
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = script.spawn().expect("`script` (package bsdutils) makes the terminal");
        let keys = child.stdin.take().unwrap();
        let mut output = child.stdout.take().unwrap();
        let screen = Arc::new(Mutex::new(String::new()));
        let shown = Arc::clone(&screen);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = output.read(&mut buffer) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..n]));
            }
        });
        Terminal { child, keys, screen, reader }
    }

    pub(crate) fn screen(&self) -> String {
        self.screen.lock().unwrap().replace('\r', "")
    }

    /// Waits until this has been shown so many times.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str, times: usize) {
        let begun = std::time::Instant::now();
        while self.screen().matches(text).count() < times {
            assert!(begun.elapsed().as_secs() < 60, "`{text}` {times} times in:\n{}", self.screen());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits for the end; the exit code and all that was shown.
    #[track_caller]
    pub(crate) fn end(mut self) -> (i32, String) {
        let begun = std::time::Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed().as_secs() > 60 {
                let _ = self.child.kill();
                panic!("it does not end:\n{}", self.screen());
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        self.reader.join().unwrap();
        let screen = self.screen.lock().unwrap().replace('\r', "");
        (status.code().unwrap_or(-1), screen)
    }
}

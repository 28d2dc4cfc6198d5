//! An endowment as it stands behind `-e`.

use std::path::Path;

use passable::Effect;

use super::parse_endowment_in;
use control::endowment::{
    Endowment, Fill, GitFill, McpFill, ModelFill, PROGRAM, PathFill, ProgramFill, VARIABLE, WebFill,
};
use kernel::grant::Rate;
use kernel::programs::Setting;

/// Returns the text behind `-e` that is read back as the same endowment where `base` is the current directory. There is
/// none for what the syntax cannot say, like a path that ends in `:rw`.
pub fn typed(base: &Path, endowment: &Endowment) -> Option<String> {
    let short = write(endowment, &|path| relative(base, path));
    let long = write(endowment, &str::to_owned);
    [short, long]
        .into_iter()
        .find(|text| parse_endowment_in(base, text).is_ok_and(|read| is_same(&read, endowment)))
}

/// Returns a path below `base` as it is written there, and any other one from the root.
fn relative(base: &Path, path: &str) -> String {
    match Path::new(path).strip_prefix(base).ok().and_then(Path::to_str) {
        Some("") => ".".to_owned(),
        Some(below) => format!("./{below}"),
        None => path.to_owned(),
    }
}

/// Whether what was read means what was to be written. A program is known by where its file really lies.
fn is_same(read: &Endowment, meant: &Endowment) -> bool {
    let plain = |endowment: &Endowment| {
        let mut plain = endowment.clone();
        match &mut plain.fill {
            Fill::Program(fill) => {
                for (_, path) in &mut fill.programs {
                    let real = std::fs::canonicalize(&*path)
                        .ok()
                        .and_then(|real| real.into_os_string().into_string().ok());
                    *path = real.unwrap_or_else(|| path.clone());
                }
            }
            Fill::Path(fill) => {
                fill.suffixes.sort();
                fill.methods.sort();
            }
            Fill::Git(fill) => fill.methods.sort(),
            _ => {}
        }
        plain
    };
    plain(read) == plain(meant)
}

fn write(endowment: &Endowment, path: &dyn Fn(&str) -> String) -> String {
    let (before, options) = match &endowment.fill {
        Fill::Path(fill) => written_path(fill, path),
        Fill::Program(fill) => written_program(fill, path),
        Fill::Web(fill) => written_web(fill),
        Fill::Git(fill) => written_git(fill, path),
        Fill::Model(fill) => written_model(fill),
        Fill::Secret(secret) => {
            let names = |key: &str, names: &std::collections::BTreeSet<String>| {
                let all: Vec<&str> = names.iter().map(String::as_str).collect();
                (!all.is_empty()).then(|| format!("{key}={}", all.join(",")))
            };
            let options = names("env", &secret.variables).into_iter().chain(names("for", &secret.programs));
            (format!("secret:{}", secret.name), options.collect())
        }
        Fill::Clock => ("clock".to_owned(), vec![]),
        Fill::Myself => ("self".to_owned(), vec![]),
        Fill::Mcp(fill) => written_mcp(fill),
    };
    let query = if options.is_empty() { String::new() } else { format!("?{}", options.join("&")) };
    format!("{}={before}{query}", endowment.slot)
}

type Written = (String, Vec<String>);

fn written_path(fill: &PathFill, path: &dyn Fn(&str) -> String) -> Written {
    let manner = match (fill.stage, fill.write) {
        (true, _) => ":stage",
        (false, true) => ":rw",
        (false, false) => "",
    };
    let mut options: Vec<String> = fill.suffixes.iter().map(|suffix| format!("suffix={suffix}")).collect();
    options.extend(fill.max_bytes.map(|bytes| format!("max={bytes}")));
    options.extend(fill.total_bytes.map(|bytes| format!("total={bytes}")));
    options.extend(methods(&fill.methods));
    options.extend(fill.rate.map(rate));
    options.extend(fill.private.then(|| "private".to_owned()));
    (format!("{}{manner}", path(&fill.path)), options)
}

fn written_git(fill: &GitFill, path: &dyn Fn(&str) -> String) -> Written {
    let mut options: Vec<String> = fill.author.iter().map(|author| format!("author={author}")).collect();
    options.extend(methods(&fill.methods));
    options.extend(fill.private.then(|| "private".to_owned()));
    (format!("git:{}{}", path(&fill.path), if fill.write { ":rw" } else { "" }), options)
}

fn written_program(fill: &ProgramFill, path: &dyn Fn(&str) -> String) -> Written {
    // A program goes by the last part of what was typed: one that is a link elsewhere is looked for by its name.
    let name = |(name, real): &(String, String)| match real.rsplit('/').next() == Some(name) {
        true => path(real),
        false => name.clone(),
    };
    let names: Vec<String> = fill.programs.iter().map(name).collect();
    let directory =
        |(dir, write): &(String, bool)| format!("dir={}{}", path(dir), if *write { ":rw" } else { "" });
    let mut options: Vec<String> = fill.directories.iter().map(directory).collect();
    for (key, on) in [("net", fill.network), ("exec", fill.starts_others)] {
        options.extend(on.then(|| format!("{key}=yes")));
    }
    for (variable, setting) in &fill.environment {
        options.push(match setting {
            Setting::Text(value) => format!("{VARIABLE}{variable}={value}"),
            Setting::Secret(name) => format!("{VARIABLE}{variable}=secret:{name}"),
        });
    }
    options.extend(fill.wall_ms.map(time));
    options.extend(fill.memory.map(|bytes| format!("memory={bytes}")));
    options.extend(fill.output.map(|bytes| format!("max={bytes}")));
    (format!("{PROGRAM}{}", names.join(",")), options)
}

fn written_web(fill: &WebFill) -> Written {
    let web = &fill.web;
    let methods: Vec<&str> = web.methods.iter().map(String::as_str).collect();
    let mut options = vec![format!("methods={}", methods.join(","))];
    options.extend(web.places.iter().skip(1).map(|place| format!("also={place}")));
    if let Some(secret) = &web.secret {
        options.push(format!("key={}", secret.name));
        options.push(format!("header={}", secret.header));
        options.push(format!("before={}", secret.before.replace(' ', "+")));
    }
    options.extend(web.idempotency.iter().map(|header| format!("idempotency={header}")));
    options.extend(web.address.iter().map(|address| format!("address={address}")));
    options.extend(fill.max_bytes.map(|bytes| format!("max={bytes}")));
    options.extend(fill.rate.map(rate));
    let first = web.places.first().map(ToString::to_string);
    (first.unwrap_or_default(), options)
}

fn written_model(fill: &ModelFill) -> Written {
    let mut options: Vec<String> = fill.tokens.iter().map(|tokens| format!("tokens={tokens}")).collect();
    options.extend(fill.usd_micros.map(|micros| format!("usd={}", micros as f64 / 1e6)));
    options.extend(fill.key.iter().map(|key| format!("key={key}")));
    (format!("model:{}", fill.model), options)
}

fn written_mcp(fill: &McpFill) -> Written {
    let tool = |(name, effect): &(String, Effect)| {
        let effect = match effect {
            Effect::Observe => "reads",
            Effect::Modify => "changes",
            Effect::Commit => "sends",
        };
        format!("{name}:{effect}")
    };
    let tools: Vec<String> = fill.tools.iter().map(tool).collect();
    let mut options: Vec<String> = fill.max_bytes.iter().map(|bytes| format!("max={bytes}")).collect();
    options.extend(fill.call_ms.map(time));
    options.extend(fill.rate.map(rate));
    (format!("mcp:{}[{}]", fill.server, tools.join(",")), options)
}

fn methods(methods: &[String]) -> Option<String> {
    (!methods.is_empty()).then(|| format!("methods={}", methods.join(",")))
}

fn time(ms: u64) -> String {
    match ms % 1_000 {
        0 => format!("time={}s", ms / 1_000),
        _ => format!("time={ms}ms"),
    }
}

fn rate(rate: Rate) -> String {
    format!("rate={}/{}s", rate.calls, rate.per_ms / 1_000)
}

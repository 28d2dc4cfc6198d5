//! `-e SLOT=PATH[:rw|:stage][?suffix=.pdf&max=10MiB&total=1GiB&methods=list,read&rate=10/min]`.

use std::path::Path;

use super::endow_web;
use control::endowment::{Endowment, Fill, PathFill};
use control::exit::{Exit, Failure};

/// Reads an endowment; a relative path is taken from the current directory.
///
/// # Errors
/// When it is not written as it should be.
pub fn parse_endowment(text: &str) -> Result<Endowment, Failure> {
    parse_endowment_in(Path::new(""), text)
}

/// The same, with relative paths taken from `base`; from the current directory, if that is empty.
///
/// # Errors
/// When it is not written as it should be.
pub fn parse_endowment_in(base: &Path, text: &str) -> Result<Endowment, Failure> {
    let wrong = |what: &str| {
        Failure::new(Exit::Usage, format!("-e {text}: {what}")).help(
            "write SLOT=PATH, SLOT=PATH:rw, SLOT=PATH:stage, or SLOT=PATH?suffix=.pdf&max=10MiB&total=1GiB&methods=list,read",
        )
    };
    let (slot, rest) = text.split_once('=').ok_or_else(|| wrong("there is no `=`"))?;
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    if !slot.split('.').all(is_name) {
        return Err(wrong("the part before `=` is not the name of a slot"));
    }
    if let Some(programs) = rest.strip_prefix(control::endowment::PROGRAM) {
        let fill = Fill::Program(super::programs::parse(base, programs)?);
        return Ok(Endowment { slot: slot.to_owned(), fill });
    }
    let word = match rest {
        "clock" => Some(Fill::Clock),
        "self" => Some(Fill::Myself),
        _ => None,
    };
    if let Some(fill) = word {
        return Ok(Endowment { slot: slot.to_owned(), fill });
    }
    if let Some(secret) = rest.strip_prefix(super::endow_secret::PREFIX) {
        let fill = Fill::Secret(super::endow_secret::parse(secret)?);
        return Ok(Endowment { slot: slot.to_owned(), fill });
    }
    if let Some(model) = rest.strip_prefix(super::endow_model::PREFIX) {
        let fill = Fill::Model(super::endow_model::parse(model)?);
        return Ok(Endowment { slot: slot.to_owned(), fill });
    }
    if let Some(repository) = rest.strip_prefix(super::endow_git::PREFIX) {
        let fill = Fill::Git(super::endow_git::parse(base, repository)?);
        return Ok(Endowment { slot: slot.to_owned(), fill });
    }
    if let Some(server) = rest.strip_prefix(super::endow_mcp::PREFIX) {
        let fill = Fill::Mcp(super::endow_mcp::parse(server)?);
        return Ok(Endowment { slot: slot.to_owned(), fill });
    }
    if endow_web::is_web(rest) {
        let fill = endow_web::parse(rest).map_err(|what| {
            Failure::new(Exit::Usage, format!("-e {slot}: {what}"))
                .help("write SLOT=https://HOST[:PORT][/PATH][?methods=GET,POST&key=SECRET&max=1MiB]")
        })?;
        return Ok(Endowment { slot: slot.to_owned(), fill: Fill::Web(fill) });
    }
    // A file whose own name has a question mark is meant as it stands.
    let (path, query) = match rest.rsplit_once('?') {
        Some((path, query)) if !base.join(rest).exists() => (path, Some(query)),
        _ => (rest, None),
    };
    let (path, write, stage) = match (path.strip_suffix(":rw"), path.strip_suffix(":stage")) {
        (Some(path), _) => (path, true, false),
        (_, Some(path)) => (path, true, true),
        _ => (path.strip_suffix(":ro").unwrap_or(path), false, false),
    };
    if path.is_empty() {
        return Err(wrong("there is no path"));
    }
    let mut given = PathFill { path: absolute_in(base, path)?, write, stage, ..PathFill::default() };
    for part in query.into_iter().flat_map(|q| q.split('&')).filter(|part| !part.is_empty()) {
        match part.split_once('=') {
            Some(("suffix", suffix)) if suffix.starts_with('.') && suffix.len() > 1 => {
                given.suffixes.push(suffix.to_lowercase());
            }
            Some(("suffix", _)) => return Err(wrong("a suffix begins with a point, like `.pdf`")),
            Some((limit @ ("max" | "total"), size)) => {
                let bytes = worker::definition::parse_bytes(size)
                    .ok_or_else(|| wrong("a size is written like `10MiB`, `200kB` or `4096`"))?;
                let place = if limit == "max" { &mut given.max_bytes } else { &mut given.total_bytes };
                if place.replace(bytes).is_some() {
                    return Err(wrong(&format!("`{limit}=` stands there twice")));
                }
            }
            None if part == "private" => given.private = true,
            Some(("rate", rate)) => given.rate = Some(super::rate::parse(rate).map_err(|what| wrong(&what))?),
            Some(("methods", methods)) => {
                let methods = methods.split(',').map(str::trim).filter(|method| !method.is_empty());
                given.methods.extend(methods.map(str::to_owned));
                if given.methods.is_empty() {
                    return Err(wrong("`methods=` names none"));
                }
            }
            _ => {
                return Err(wrong(
                    "after `?` only `suffix=`, `max=`, `total=`, `methods=`, `rate=` and `private` are known",
                ));
            }
        }
    }
    Ok(Endowment { slot: slot.to_owned(), fill: Fill::Path(given) })
}

/// The path from the root, without following links.
///
/// # Errors
/// When there is no current directory, or the path is not text.
pub fn absolute(path: &str) -> Result<String, Failure> {
    absolute_in(Path::new(""), path)
}

/// The same, from `base` if the path is relative.
pub(super) fn absolute_in(base: &Path, path: &str) -> Result<String, Failure> {
    let absolute = std::path::absolute(base.join(path))
        .map_err(|e| Failure::new(Exit::Usage, format!("{path}: {e}")).help("write a path"))?;
    absolute
        .into_os_string()
        .into_string()
        .map_err(|_| Failure::new(Exit::Usage, format!("{path}: its full path is not UTF-8 text")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> (String, PathFill) {
        match parse_endowment(text).unwrap() {
            Endowment { slot, fill: Fill::Path(given) } => (slot, given),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn endowments() {
        let (slot, e) = path("out=/a/b:rw?suffix=.PDF&suffix=.md&max=10MiB");
        assert_eq!((slot.as_str(), e.path.as_str(), e.write), ("out", "/a/b", true));
        assert_eq!(e.suffixes, [".pdf", ".md"]);
        assert_eq!(e.max_bytes, Some(10 << 20));
        let (_, e) = path("out=/a:rw?total=1GiB&methods=read,write&methods=edit");
        assert_eq!((e.max_bytes, e.total_bytes), (None, Some(1 << 30)));
        assert_eq!(e.methods, ["read", "write", "edit"]);
        let (_, e) = path("out=/a:stage");
        assert_eq!((e.path.as_str(), e.write, e.stage), ("/a", true, true));
        let (_, e) = path("in=/a?private&suffix=.md");
        assert!(e.private && e.suffixes == [".md"]);
        let (_, e) = path("mail=/a");
        assert!(!e.write && e.max_bytes.is_none());
    }

    #[test]
    fn words_stand_for_what_has_no_path_and_slots_lie_in_slots() {
        assert_eq!(parse_endowment("now=clock").unwrap().fill, Fill::Clock);
        assert_eq!(parse_endowment("again=self").unwrap().fill, Fill::Myself);
        assert!(path("now=./clock").1.path.ends_with("/clock"));
        assert_eq!(path("a.b.out=/x:rw").0, "a.b.out");
        assert!(matches!(parse_endowment("r=git:/w:rw").unwrap().fill, Fill::Git(given) if given.write));
        assert!(parse_endowment("a..b=/x").is_err() && parse_endowment(".a=/x").is_err());
    }

    #[test]
    fn programs_are_told_from_paths() {
        let given = parse_endowment("tools=program:sh?dir=/w").unwrap();
        assert!(matches!(given.fill, Fill::Program(fill) if fill.programs.len() == 1));
        assert_eq!(path("tools=./program:sh").1.path.rsplit('/').next(), Some("program:sh"));
        assert!(parse_endowment("tools=program:").is_err());
    }

    #[test]
    fn what_is_wrong_is_said() {
        for bad in [
            "mail",
            "=x",
            "a b=x",
            "mail=",
            "mail=:rw",
            "mail=x?max=lots",
            "mail=x?colour=red",
            "mail=x?total=lots",
            "mail=x?max=1&max=2",
            "mail=x?methods=",
            "m=x?suffix=pdf",
            "m=:stage",
        ] {
            let failure = parse_endowment(bad).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{bad}");
            assert!(!failure.help.is_empty());
        }
    }
}

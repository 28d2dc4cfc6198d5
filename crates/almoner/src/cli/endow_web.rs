//! `-e SLOT=https://HOST[/PATH][?methods=GET,POST&key=SECRET&header=Authorization&max=1MiB&rate=10/min]`.

use std::collections::BTreeSet;

use kernel::web::{Origin, Place, SecretUse, Web};

use control::endowment::WebFill;

/// Whether what stands after `SLOT=` is a part of the web, and no path.
pub fn is_web(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https"))
}

/// Reads a part of the web. The error says what is wrong with it.
///
/// # Errors
/// When it is not written as it should be.
pub fn parse(text: &str) -> Result<WebFill, String> {
    let (place, options) = text.split_once('?').unwrap_or((text, ""));
    let place = Place::parse(place).map_err(|e| e.to_string())?;
    let mut web = Web {
        places: vec![place],
        methods: BTreeSet::from(["GET".to_owned()]),
        secret: None,
        idempotency: None,
        address: None,
    };
    let (mut max_bytes, mut header, mut before, mut rate) = (None, None, None, None);
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').ok_or_else(|| format!("`{option}` is no option"))?;
        match name {
            "methods" => web.methods = methods(value)?,
            "also" => web.places.push(Place::parse(value).map_err(|e| format!("also={value}: {e}"))?),
            "key" => {
                vault::check_name(value).map_err(|e| e.to_string())?;
                web.secret =
                    Some(SecretUse { name: value.to_owned(), header: String::new(), before: String::new() });
            }
            "header" => header = Some(header_name(value)?),
            "before" => before = Some(plain(value)?),
            "rate" => rate = Some(super::rate::parse(value)?),
            "idempotency" => web.idempotency = Some(header_name(value)?),
            "address" => web.address = Some(address(value)?),
            "max" => {
                max_bytes = Some(
                    worker::definition::parse_bytes(value)
                        .ok_or("a size is written like `10MiB`, `200kB` or `4096`")?,
                );
            }
            _ => {
                return Err(
                    "after `?` only methods=, also=, key=, header=, before=, idempotency=, address=, max= and rate= are known"
                        .to_owned(),
                );
            }
        }
    }
    match &mut web.secret {
        None if header.is_some() || before.is_some() => {
            return Err("`header=` and `before=` say how a key goes along: add `key=SECRET`".to_owned());
        }
        None => {}
        Some(used) => {
            used.header = header.unwrap_or_else(|| "authorization".to_owned());
            let is_bearer = before.is_none() && used.header == "authorization";
            used.before = if is_bearer { "Bearer ".to_owned() } else { before.unwrap_or_default() };
        }
    }
    Ok(WebFill { web, max_bytes, rate })
}

fn methods(value: &str) -> Result<BTreeSet<String>, String> {
    let known = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    value
        .split(',')
        .map(|method| {
            let method = method.trim().to_ascii_uppercase();
            if known.contains(&method.as_str()) {
                Ok(method)
            } else {
                Err(format!("methods are {}", known.join(", ")))
            }
        })
        .collect()
}

fn header_name(value: &str) -> Result<String, String> {
    let is_name = !value.is_empty() && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let lower = value.to_ascii_lowercase();
    if !is_name || ["host", "content-length", "transfer-encoding", "connection"].contains(&lower.as_str()) {
        return Err(format!("`{value}` is no header for this"));
    }
    Ok(lower)
}

/// Words that stand before a key: `token+` is `token `.
fn plain(value: &str) -> Result<String, String> {
    let text = value.replace('+', " ");
    if text.len() <= 40 && text.bytes().all(|b| (b' '..=b'~').contains(&b)) {
        Ok(text)
    } else {
        Err("what stands before a key is a plain word".to_owned())
    }
}

/// An address, in the one spelling that is taken.
fn address(value: &str) -> Result<std::net::IpAddr, String> {
    let bracketed = if value.contains(':') { format!("[{value}]") } else { value.to_owned() };
    match format!("http://{bracketed}").parse::<Origin>() {
        Ok(Origin { host: kernel::web::Host::Address(address), .. }) => Ok(address),
        _ => Err(format!("`{value}` is no address like 10.0.0.5 or fd00::5")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_the_web_are_read() {
        let fill = parse(
            "https://api.example.com/v1?methods=get,POST&key=TOKEN&max=1MiB&also=https://files.example.com&idempotency=Idempotency-Key",
        )
        .unwrap();
        assert_eq!(
            fill.web.words(),
            "https://api.example.com/v1 and https://files.example.com (GET, POST, with the secret TOKEN)"
        );
        let used = fill.web.secret.unwrap();
        assert_eq!((used.header.as_str(), used.before.as_str()), ("authorization", "Bearer "));
        assert_eq!(
            (fill.max_bytes, fill.web.idempotency.as_deref()),
            (Some(1 << 20), Some("idempotency-key"))
        );
        let own = parse("http://127.0.0.1:8080?key=K&header=X-Api-Key").unwrap().web.secret.unwrap();
        assert_eq!((own.header.as_str(), own.before.as_str()), ("x-api-key", ""));
        let own = parse("https://a.example?key=K&before=token+").unwrap().web.secret.unwrap();
        assert_eq!(own.before, "token ");
        let pinned = parse("https://a.example?address=fd00::5").unwrap().web.address;
        assert_eq!(pinned, Some("fd00::5".parse().unwrap()));
        for path in ["./a", "/a/b:rw", "a?max=1MiB", "file:///a"] {
            assert!(!is_web(path), "{path}");
        }
        assert!(is_web("HTTPS://a.example"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for bad in [
            "https://user:pw@a.example",
            "https://a.example./",
            "http://0x7f000001",
            "https://a.example?methods=TRACE",
            "https://a.example?key=a b",
            "https://a.example?header=X-Key",
            "https://a.example?key=K&header=Host",
            "https://a.example?max=lots",
            "https://a.example?address=0177.0.0.1",
            "https://a.example?colour=red",
            "https://a.example?also=ftp://b.example",
        ] {
            assert!(parse(bad).is_err_and(|what| !what.is_empty()), "{bad}");
        }
    }
}

//! The kind for parts of the web, typed as
//! `https://HOST[/PATH][?methods=GET,POST&key=SECRET&header=Authorization&max=1MiB&rate=10/min]`.

use core::net::IpAddr;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Kind, Limit, ResourceSpec, Row, TextStart, secret};
use crate::web::{Host, Origin, Place, SecretUse, Web};
use crate::{Attenuation, Rate, SpecError, Surroundings, quote, units};

/// The row of `http` in the table.
pub(crate) static ROW: Row = Row {
    kind: Kind::Http,
    label: "http",
    noun: "a part of the web",
    verb: "reach",
    type_name: "web",
    start: TextStart::Address,
    example: "https://HOST",
    grammar: "https://HOST[:PORT][/PATH][?methods=GET,POST&key=SECRET&max=1MiB]",
    keys: &["methods=", "also=", "key=", "header=", "before=", "idempotency=", "address=", "max=", "rate="],
    limits: &[Limit::Max, Limit::Rate],
    methods: &["get", SEND],
    discloses: false,
    sends: true,
    needs_confirmation: true,
    permission_phrase: "",
    by_name: true,
    parse,
};

/// The HTTP method that only reads.
const GET: &str = "GET";
/// The method of a slot for all requests that do not only read.
const SEND: &str = "send";
/// The default header for a key.
const HEADER: &str = "authorization";
/// The default text before a key in the default header.
const BEARER: &str = "Bearer ";
/// The maximum length of the text before a key, in bytes.
const MAX_BEFORE: usize = 40;

/// A part of the web, with the limits of its grant, as the user typed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WebSpec {
    /// The part of the web.
    pub web: Web,
    /// The maximum size of a body in bytes, in both directions.
    pub max_bytes: Option<u64>,
    /// The maximum rate of requests.
    #[serde(default)]
    pub rate: Option<Rate>,
}

/// Returns the methods that a part of the web has in a slot of a kind. A part with only read access has no `send`.
pub(super) fn granted(web: &Web, kind: Kind) -> BTreeSet<String> {
    let mut methods = kind.method_names();
    if web.methods.iter().all(|method| method == GET) {
        methods.remove(SEND);
    }
    methods
}

impl WebSpec {
    pub(super) fn from_grant(web: &Web, taken: &Attenuation, methods: &BTreeSet<String>) -> WebSpec {
        let mut web = web.clone();
        // A grant without `send` only reads, if the endowment allows reading.
        if !methods.contains(SEND) && web.methods.contains(GET) {
            web.methods.retain(|method| method == GET);
        }
        WebSpec { web, max_bytes: taken.max_bytes, rate: taken.rate }
    }

    pub(super) fn typed(&self) -> String {
        let Web { places, methods, secret, idempotency, address } = &self.web;
        let mut all = places.iter().map(ToString::to_string);
        let first = all.next().unwrap_or_default();
        let mut query: Vec<String> = Vec::new();
        if methods.iter().any(|method| method != GET) {
            query.push(format!("methods={}", quote::typed_list(methods)));
        }
        query.extend(all.map(|place| format!("also={}", quote::part(&place, &['&']))));
        if let Some(SecretUse { name, header, before }) = secret {
            query.push(format!("key={name}"));
            let usual = if header == HEADER { BEARER } else { "" };
            query.extend((header != HEADER).then(|| format!("header={header}")));
            query.extend((before != usual).then(|| match before.contains(['+', '&', '"']) {
                true => format!("before={}", quote::quoted(before)),
                false => format!("before={}", before.replace(' ', "+")),
            }));
        }
        query.extend(idempotency.as_ref().map(|header| format!("idempotency={header}")));
        query.extend(address.map(|address| format!("address={address}")));
        query.extend(self.max_bytes.map(|bytes| format!("max={}", units::typed_bytes(bytes))));
        query.extend(self.rate.map(|rate| format!("rate={}", rate.typed())));
        if query.is_empty() { first } else { format!("{first}?{}", query.join("&")) }
    }
}

fn parse(text: &str, _: &dyn Surroundings) -> Result<ResourceSpec, SpecError> {
    read(text).map(ResourceSpec::Web).map_err(|what| match what {
        Some(what) => ROW.syntax_error(what),
        None => ROW.unknown_key(),
    })
}

/// Reads a part of the web. The error is `None` for an unknown key.
fn read(text: &str) -> Result<WebSpec, Option<String>> {
    let (place, query) = text.split_once('?').unwrap_or((text, ""));
    let place = Place::parse(place).map_err(|e| e.to_string())?;
    let mut web = Web {
        places: vec![place],
        methods: BTreeSet::from([GET.to_owned()]),
        secret: None,
        idempotency: None,
        address: None,
    };
    let (mut max_bytes, mut header, mut before, mut rate) = (None, None, None, None);
    for (name, value) in quote::query(query) {
        let value = value.ok_or_else(|| format!("`{name}` is no option"))?;
        match name {
            "methods" => web.methods = methods(value)?,
            "also" => {
                let place = Place::parse(&quote::plain(value)).map_err(|e| format!("also={value}: {e}"))?;
                web.places.push(place);
            }
            "key" => {
                secret::check_name(value)?;
                web.secret =
                    Some(SecretUse { name: value.to_owned(), header: String::new(), before: String::new() });
            }
            "header" => header = Some(header_name(value)?),
            "before" => before = Some(plain(value)?),
            "rate" => rate = Some(Rate::parse(value)?),
            "idempotency" => web.idempotency = Some(header_name(value)?),
            "address" => web.address = Some(address(value)?),
            "max" => {
                max_bytes = Some(
                    units::bytes(value)
                        .ok_or_else(|| "a size is written like `10MiB`, `200kB` or `4096`".to_owned())?,
                );
            }
            _ => return Err(None),
        }
    }
    match &mut web.secret {
        None if header.is_some() || before.is_some() => {
            return Err(Some(
                "`header=` and `before=` say how a key goes along: add `key=SECRET`".to_owned(),
            ));
        }
        None => {}
        Some(used) => {
            used.header = header.unwrap_or_else(|| HEADER.to_owned());
            let is_bearer = before.is_none() && used.header == HEADER;
            used.before = if is_bearer { BEARER.to_owned() } else { before.unwrap_or_default() };
        }
    }
    Ok(WebSpec { web, max_bytes, rate })
}

fn methods(value: &str) -> Result<BTreeSet<String>, String> {
    let known = [GET, "POST", "PUT", "PATCH", "DELETE"];
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

/// Reads the text before a key: `token+` is `token `, and `"a+b"` is `a+b`.
fn plain(value: &str) -> Result<String, String> {
    let text = match quote::is_quoted(value) {
        true => quote::plain(value).into_owned(),
        false => value.replace('+', " "),
    };
    if text.len() <= MAX_BEFORE && text.bytes().all(|b| (b' '..=b'~').contains(&b)) {
        Ok(text)
    } else {
        Err("what stands before a key is a plain word".to_owned())
    }
}

/// Reads an IP address in its only accepted spelling.
fn address(value: &str) -> Result<IpAddr, String> {
    let bracketed = if value.contains(':') { format!("[{value}]") } else { value.to_owned() };
    match format!("http://{bracketed}").parse::<Origin>() {
        Ok(Origin { host: Host::Address(address), .. }) => Ok(address),
        _ => Err(format!("`{value}` is no address like 10.0.0.5 or fd00::5")),
    }
}

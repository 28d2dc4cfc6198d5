//! The first check of a request, before its session is known.

use super::names::Names;
use super::sessions::HostKind;

/// The parts of a request that the guard checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestHeaders<'a> {
    /// The HTTP method, such as `GET` or `POST`.
    pub method: &'a str,
    /// The path.
    pub path: &'a str,
    /// The `Host` header.
    pub host: Option<&'a str>,
    /// The `Origin` header, which names the origin of the requesting page.
    pub origin: Option<&'a str>,
    /// The `Sec-Fetch-Site` header: `same-origin`, `same-site`, `cross-site` or `none`.
    pub site: Option<&'a str>,
    /// The `Sec-Fetch-Mode` header, such as `navigate` or `cors`.
    pub mode: Option<&'a str>,
    /// The `Sec-Fetch-Dest` header, such as `document` or `iframe`.
    pub dest: Option<&'a str>,
}

/// The reason why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A foreign host name (421).
    Host,
    /// A method other than `GET`, `HEAD` and `POST` (405).
    Method,
    /// A form that another page has sent (403).
    Origin,
    /// A foreign page that wants to show or read this page (403).
    Site,
}

impl Refusal {
    /// Returns the status and the message of a refusal.
    pub fn response(self) -> (u16, &'static str) {
        match self {
            Refusal::Host => (421, "these pages are not served under this name; `almoner open` opens them"),
            Refusal::Method => (405, "pages are read with GET and answered with POST"),
            Refusal::Origin => (403, "this was sent by another page; open Almoner's own with `almoner open`"),
            Refusal::Site => (403, "another site asked for this page; open it with `almoner open`"),
        }
    }
}

/// The paths to which a link on a foreign page may lead.
const DOORS: &[&str] = &["/", "/login"];

impl RequestHeaders<'_> {
    /// Checks whether a request may proceed, and returns the kind of host that it asks. The bare address is accepted
    /// only while a session or a login code exists for it.
    ///
    /// # Errors
    /// The first reason for a refusal.
    pub fn check(&self, names: &Names, by_address: bool) -> Result<HostKind, Refusal> {
        let host = self.host.ok_or(Refusal::Host)?;
        let under = names.under(host).filter(|under| by_address || *under == HostKind::Name);
        let under = under.ok_or(Refusal::Host)?;
        match self.method {
            "GET" | "HEAD" => self.check_read(),
            "POST" => self.check_write(&names.origin(host)),
            _ => Err(Refusal::Method),
        }?;
        Ok(under)
    }

    fn check_read(&self) -> Result<(), Refusal> {
        let arrives =
            self.mode == Some("navigate") && self.dest == Some("document") && DOORS.contains(&self.path);
        if self.is_from_elsewhere() && !arrives { Err(Refusal::Site) } else { Ok(()) }
    }

    /// Returns whether the browser says that another site, or another name of this machine, has caused the request.
    fn is_from_elsewhere(&self) -> bool {
        matches!(self.site, Some(site) if site != "same-origin" && site != "none")
    }

    fn check_write(&self, own: &str) -> Result<(), Refusal> {
        let ours = match self.origin {
            // A browser that hides the origin still says whether the form is from the same origin.
            Some("null") => self.site == Some("same-origin"),
            Some(origin) => origin.eq_ignore_ascii_case(own),
            None => false,
        };
        if ours && !self.is_from_elsewhere() { Ok(()) } else { Err(Refusal::Origin) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guard_accepts_only_own_hosts_and_origins() {
        let names = Names::private("0123456789ab", "127.0.0.1:7000".parse().unwrap());
        let own = "almoner-0123456789ab.localhost:7000";
        let ours = "http://almoner-0123456789ab.localhost:7000";
        let get =
            RequestHeaders { method: "GET", path: "/m/1", host: Some(own), ..RequestHeaders::default() };
        let post = RequestHeaders { method: "POST", origin: Some(ours), ..get.clone() };
        let table: &[(&str, RequestHeaders<'_>, Result<HostKind, Refusal>)] = &[
            ("a typed address", RequestHeaders { site: Some("none"), ..get.clone() }, Ok(HostKind::Name)),
            ("our own link", RequestHeaders { site: Some("same-origin"), ..get.clone() }, Ok(HostKind::Name)),
            ("a program without a browser", get.clone(), Ok(HostKind::Name)),
            (
                "a rebound name",
                RequestHeaders { host: Some("evil.example:7000"), ..get.clone() },
                Err(Refusal::Host),
            ),
            (
                "the bare address",
                RequestHeaders { host: Some("127.0.0.1:7000"), ..get.clone() },
                Err(Refusal::Host),
            ),
            (
                "another port",
                RequestHeaders { host: Some("almoner-0123456789ab.localhost:7001"), ..get.clone() },
                Err(Refusal::Host),
            ),
            ("no name", RequestHeaders { host: None, ..get.clone() }, Err(Refusal::Host)),
            (
                "a picture elsewhere",
                RequestHeaders { site: Some("cross-site"), dest: Some("image"), ..get.clone() },
                Err(Refusal::Site),
            ),
            (
                "a link elsewhere",
                RequestHeaders {
                    site: Some("cross-site"),
                    mode: Some("navigate"),
                    dest: Some("document"),
                    ..get.clone()
                },
                Err(Refusal::Site),
            ),
            (
                "a link to the door",
                RequestHeaders {
                    path: "/",
                    site: Some("cross-site"),
                    mode: Some("navigate"),
                    dest: Some("document"),
                    ..get.clone()
                },
                Ok(HostKind::Name),
            ),
            (
                "a frame of the door",
                RequestHeaders {
                    path: "/",
                    site: Some("cross-site"),
                    mode: Some("navigate"),
                    dest: Some("iframe"),
                    ..get.clone()
                },
                Err(Refusal::Site),
            ),
            (
                "a sibling port",
                RequestHeaders { site: Some("same-site"), mode: Some("cors"), ..get.clone() },
                Err(Refusal::Site),
            ),
            ("our own form", post.clone(), Ok(HostKind::Name)),
            (
                "a form elsewhere",
                RequestHeaders { origin: Some("https://evil.example"), ..post.clone() },
                Err(Refusal::Origin),
            ),
            (
                "a form of a sibling port",
                RequestHeaders { origin: Some("http://localhost:7001"), ..post.clone() },
                Err(Refusal::Origin),
            ),
            (
                "the same name with TLS",
                RequestHeaders {
                    origin: Some("https://almoner-0123456789ab.localhost:7000"),
                    ..post.clone()
                },
                Err(Refusal::Origin),
            ),
            (
                "a form without an origin",
                RequestHeaders { origin: None, ..post.clone() },
                Err(Refusal::Origin),
            ),
            (
                "a hidden origin",
                RequestHeaders { origin: Some("null"), ..post.clone() },
                Err(Refusal::Origin),
            ),
            (
                "our own hidden origin",
                RequestHeaders { origin: Some("null"), site: Some("same-origin"), ..post.clone() },
                Ok(HostKind::Name),
            ),
            (
                "a hidden origin elsewhere",
                RequestHeaders { origin: Some("null"), site: Some("cross-site"), ..post.clone() },
                Err(Refusal::Origin),
            ),
            (
                "a deletion",
                RequestHeaders { method: "DELETE", origin: Some(ours), ..get.clone() },
                Err(Refusal::Method),
            ),
        ];
        for (what, knock, expected) in table {
            assert_eq!(knock.check(&names, false), *expected, "{what}");
        }
        // While a session or code exists for the bare address, the same rules hold there. But it is still another
        // origin.
        let address = "127.0.0.1:7000";
        let there = RequestHeaders { host: Some(address), ..get.clone() };
        let send = RequestHeaders { method: "POST", origin: Some("http://127.0.0.1:7000"), ..there.clone() };
        for (what, knock, expected) in [
            ("the bare address", there.clone(), Ok(HostKind::Address)),
            ("its own form", send.clone(), Ok(HostKind::Address)),
            (
                "the form of the name",
                RequestHeaders { origin: Some(ours), ..send.clone() },
                Err(Refusal::Origin),
            ),
            (
                "its form at the name",
                RequestHeaders { host: Some(own), ..send.clone() },
                Err(Refusal::Origin),
            ),
            (
                "another port",
                RequestHeaders { host: Some("127.0.0.1:7001"), ..there.clone() },
                Err(Refusal::Host),
            ),
            (
                "the name of all",
                RequestHeaders { host: Some("localhost:7000"), ..there.clone() },
                Err(Refusal::Host),
            ),
            (
                "another page there",
                RequestHeaders { site: Some("same-site"), ..there.clone() },
                Err(Refusal::Site),
            ),
            ("the name", get.clone(), Ok(HostKind::Name)),
        ] {
            assert_eq!(knock.check(&names, true), expected, "{what}");
        }
        let behind = Names::behind_tls(vec!["almoner.example".to_owned()]);
        assert_eq!(there.check(&behind, true), Err(Refusal::Host));
    }
}

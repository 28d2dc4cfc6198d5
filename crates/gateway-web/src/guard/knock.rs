//! A request as the guard sees it, before anybody knows whose it is.

use super::names::Names;
use super::sessions::Under;

/// The parts of a request that the guard checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Knock<'a> {
    /// `GET`, `POST`, …
    pub method: &'a str,
    /// Returns the path.
    pub path: &'a str,
    /// The host that the browser believes it is asking.
    pub host: Option<&'a str>,
    /// The origin of the page that asks.
    pub origin: Option<&'a str>,
    /// `same-origin`, `same-site`, `cross-site` or `none`.
    pub site: Option<&'a str>,
    /// `navigate`, `cors`, …
    pub mode: Option<&'a str>,
    /// `document`, `iframe`, …
    pub dest: Option<&'a str>,
}

/// Why a request goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 421: it is not for us.
    Host,
    /// 405: neither reading nor sending.
    Method,
    /// 403: another page asks.
    Origin,
    /// 403: another page wants to show or read this one.
    Site,
}

impl Refusal {
    /// Returns the status and the message of a refusal.
    pub fn says(self) -> (u16, &'static str) {
        match self {
            Refusal::Host => (421, "these pages are not served under this name; `almoner open` opens them"),
            Refusal::Method => (405, "pages are read with GET and answered with POST"),
            Refusal::Origin => (403, "this was sent by another page; open Almoner's own with `almoner open`"),
            Refusal::Site => (403, "another site asked for this page; open it with `almoner open`"),
        }
    }
}

/// Paths at which somebody may arrive from elsewhere, by going there.
const DOORS: &[&str] = &["/", "/login"];

impl Knock<'_> {
    /// Checks whether a request may proceed, and returns the kind of host that it asks. The bare address is accepted
    /// only while a session or a login code exists for it.
    ///
    /// # Errors
    /// The first reason for a refusal.
    pub fn judge(&self, names: &Names, by_address: bool) -> Result<Under, Refusal> {
        let host = self.host.ok_or(Refusal::Host)?;
        let under = names.under(host).filter(|under| by_address || *under == Under::Name);
        let under = under.ok_or(Refusal::Host)?;
        match self.method {
            "GET" | "HEAD" => self.reads(),
            "POST" => self.sends(&names.origin(host)),
            _ => Err(Refusal::Method),
        }?;
        Ok(under)
    }

    fn reads(&self) -> Result<(), Refusal> {
        let foreign = matches!(self.site, Some(site) if site != "same-origin" && site != "none");
        let arrives =
            self.mode == Some("navigate") && self.dest == Some("document") && DOORS.contains(&self.path);
        if foreign && !arrives { Err(Refusal::Site) } else { Ok(()) }
    }

    fn sends(&self, own: &str) -> Result<(), Refusal> {
        let ours = match self.origin {
            // A browser that hides where it comes from still says whether it is the same page.
            Some("null") => self.site == Some("same-origin"),
            Some(origin) => origin.eq_ignore_ascii_case(own),
            None => false,
        };
        if ours { Ok(()) } else { Err(Refusal::Origin) }
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
        let get = Knock { method: "GET", path: "/m/1", host: Some(own), ..Knock::default() };
        let post = Knock { method: "POST", origin: Some(ours), ..get.clone() };
        let table: &[(&str, Knock<'_>, Result<Under, Refusal>)] = &[
            ("a typed address", Knock { site: Some("none"), ..get.clone() }, Ok(Under::Name)),
            ("our own link", Knock { site: Some("same-origin"), ..get.clone() }, Ok(Under::Name)),
            ("a program without a browser", get.clone(), Ok(Under::Name)),
            ("a rebound name", Knock { host: Some("evil.example:7000"), ..get.clone() }, Err(Refusal::Host)),
            ("the bare address", Knock { host: Some("127.0.0.1:7000"), ..get.clone() }, Err(Refusal::Host)),
            (
                "another port",
                Knock { host: Some("almoner-0123456789ab.localhost:7001"), ..get.clone() },
                Err(Refusal::Host),
            ),
            ("no name", Knock { host: None, ..get.clone() }, Err(Refusal::Host)),
            (
                "a picture elsewhere",
                Knock { site: Some("cross-site"), dest: Some("image"), ..get.clone() },
                Err(Refusal::Site),
            ),
            (
                "a link elsewhere",
                Knock {
                    site: Some("cross-site"),
                    mode: Some("navigate"),
                    dest: Some("document"),
                    ..get.clone()
                },
                Err(Refusal::Site),
            ),
            (
                "a link to the door",
                Knock {
                    path: "/",
                    site: Some("cross-site"),
                    mode: Some("navigate"),
                    dest: Some("document"),
                    ..get.clone()
                },
                Ok(Under::Name),
            ),
            (
                "a frame of the door",
                Knock {
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
                Knock { site: Some("same-site"), mode: Some("cors"), ..get.clone() },
                Err(Refusal::Site),
            ),
            ("our own form", post.clone(), Ok(Under::Name)),
            (
                "a form elsewhere",
                Knock { origin: Some("https://evil.example"), ..post.clone() },
                Err(Refusal::Origin),
            ),
            (
                "a form of a sibling port",
                Knock { origin: Some("http://localhost:7001"), ..post.clone() },
                Err(Refusal::Origin),
            ),
            (
                "the same name with TLS",
                Knock { origin: Some("https://almoner-0123456789ab.localhost:7000"), ..post.clone() },
                Err(Refusal::Origin),
            ),
            ("a form without an origin", Knock { origin: None, ..post.clone() }, Err(Refusal::Origin)),
            ("a hidden origin", Knock { origin: Some("null"), ..post.clone() }, Err(Refusal::Origin)),
            (
                "our own hidden origin",
                Knock { origin: Some("null"), site: Some("same-origin"), ..post.clone() },
                Ok(Under::Name),
            ),
            (
                "a hidden origin elsewhere",
                Knock { origin: Some("null"), site: Some("cross-site"), ..post.clone() },
                Err(Refusal::Origin),
            ),
            (
                "a deletion",
                Knock { method: "DELETE", origin: Some(ours), ..get.clone() },
                Err(Refusal::Method),
            ),
        ];
        for (what, knock, expected) in table {
            assert_eq!(knock.judge(&names, false), *expected, "{what}");
        }
        // While somebody was let in under the bare address, it has the same rules; it stays another origin.
        let address = "127.0.0.1:7000";
        let there = Knock { host: Some(address), ..get.clone() };
        let send = Knock { method: "POST", origin: Some("http://127.0.0.1:7000"), ..there.clone() };
        for (what, knock, expected) in [
            ("the bare address", there.clone(), Ok(Under::Address)),
            ("its own form", send.clone(), Ok(Under::Address)),
            ("the form of the name", Knock { origin: Some(ours), ..send.clone() }, Err(Refusal::Origin)),
            ("its form at the name", Knock { host: Some(own), ..send.clone() }, Err(Refusal::Origin)),
            ("another port", Knock { host: Some("127.0.0.1:7001"), ..there.clone() }, Err(Refusal::Host)),
            ("the name of all", Knock { host: Some("localhost:7000"), ..there.clone() }, Err(Refusal::Host)),
            ("another page there", Knock { site: Some("same-site"), ..there.clone() }, Err(Refusal::Site)),
            ("the name", get.clone(), Ok(Under::Name)),
        ] {
            assert_eq!(knock.judge(&names, true), expected, "{what}");
        }
        let behind = Names::behind_tls(vec!["almoner.example".to_owned()]);
        assert_eq!(there.judge(&behind, true), Err(Refusal::Host));
    }
}

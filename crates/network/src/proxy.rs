//! The address of a proxy.

use std::fmt;

use ureq::ProxyProtocol;
use ureq::http::Uri;

use crate::error::NetworkError;

/// A proxy, and the place where the user has named it. Its name and password are never shown.
#[derive(Clone)]
pub(crate) struct Proxy {
    place: String,
    inner: ureq::Proxy,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Proxy").field(&self.description()).finish()
    }
}

impl Proxy {
    /// Reads the address of a proxy, which may lack the scheme. A name and a password stand percent-encoded before
    /// the host.
    pub(crate) fn parse(place: &str, text: &str) -> Result<Proxy, NetworkError> {
        let fail = |reason| NetworkError::Proxy { place: place.to_owned(), reason };
        let text = text.trim();
        let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        if let Some(scheme) = &scheme
            && !["http", "https", "socks", "socks4", "socks4a", "socks5", "socks5h"]
                .contains(&scheme.as_str())
        {
            return Err(fail("its scheme is none of http, https, socks4, socks4a, socks5 and socks5h"));
        }
        let whole = if scheme.is_some() { text.to_owned() } else { format!("http://{text}") };
        let inner = ureq::Proxy::new(&whole).map_err(|_| fail("it is no address of a proxy"))?;
        if inner.host().is_empty() {
            return Err(fail("it names no host"));
        }
        // The library takes another port where this one is none.
        let authority = inner.uri().authority();
        let host =
            authority.map_or("", |authority| authority.as_str().rsplit('@').next().unwrap_or_default());
        let has_port = host.rsplit(']').next().is_some_and(|rest| rest.contains(':'));
        if inner.port() == 0 || (has_port && authority.and_then(|own| own.port_u16()).is_none()) {
            return Err(fail("its port is no port"));
        }
        Ok(Proxy { place: place.to_owned(), inner })
    }

    /// Returns the proxy for people: its address without name and password, and the place that names it.
    pub(crate) fn description(&self) -> String {
        let login = match self.inner.username().is_some() || self.inner.password().is_some() {
            true => ", with a name and a password",
            false => "",
        };
        let scheme = self.inner.protocol().to_string().to_ascii_lowercase();
        format!("{scheme}://{}:{} ({}{login})", self.inner.host(), self.inner.port(), self.place)
    }

    /// Returns whether the proxy speaks HTTP, so that it takes requests for plain HTTP as they are.
    pub(crate) fn is_http(&self) -> bool {
        matches!(self.inner.protocol(), ProxyProtocol::Http | ProxyProtocol::Https)
    }

    /// Returns whether the proxy is given addresses only, because the user or its protocol wants it so.
    pub(crate) fn takes_addresses(&self) -> bool {
        self.inner.resolve_target()
    }

    pub(crate) fn uri(&self) -> &Uri {
        self.inner.uri()
    }

    pub(crate) fn inner(&self) -> &ureq::Proxy {
        &self.inner
    }

    /// Returns the proxy for connections to addresses that were checked. A proxy of SOCKS gets the address then, and
    /// not the name.
    pub(crate) fn for_addresses(&self) -> Result<ureq::Proxy, NetworkError> {
        if self.is_http() || self.takes_addresses() {
            return Ok(self.inner.clone());
        }
        let mut builder = ureq::Proxy::builder(self.inner.protocol())
            .host(self.inner.host())
            .port(self.inner.port())
            .resolve_target(true);
        if let Some(name) = self.inner.username() {
            builder = builder.username(name);
        }
        if let Some(password) = self.inner.password() {
            builder = builder.password(password);
        }
        let reason = "it is no address of a proxy";
        builder.build().map_err(|_| NetworkError::Proxy { place: self.place.clone(), reason })
    }

    /// Returns the name and the password with a colon between them, if the proxy has any.
    pub(crate) fn login(&self) -> Option<String> {
        let (name, password) = (self.inner.username(), self.inner.password());
        (name.is_some() || password.is_some())
            .then(|| format!("{}:{}", name.unwrap_or_default(), password.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_described_without_their_passwords() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let got = Proxy::parse("HTTPS_PROXY", text).map_or_else(|e| e.to_string(), |p| p.description());
            assert_eq!(got, expected, "{text}");
        }
        check("http://proxy.example:3128", "http://proxy.example:3128 (HTTPS_PROXY)");
        check("proxy.example:3128", "http://proxy.example:3128 (HTTPS_PROXY)");
        check("proxy.example", "http://proxy.example:80 (HTTPS_PROXY)");
        check(" https://proxy.example/ ", "https://proxy.example:443 (HTTPS_PROXY)");
        check(
            "http://ada:s3cret%40x@proxy.example:3128",
            "http://proxy.example:3128 (HTTPS_PROXY, with a name and a password)",
        );
        check(
            "socks5h://ada:pw@10.0.0.1",
            "socks5h://10.0.0.1:1080 (HTTPS_PROXY, with a name and a password)",
        );
        check(
            "ftp://ada:pw@proxy",
            "cannot use the proxy of HTTPS_PROXY: its scheme is none of http, https, socks4, socks4a, socks5 and socks5h",
        );
        check("http://", "cannot use the proxy of HTTPS_PROXY: it is no address of a proxy");
        check("http://proxy:99999", "cannot use the proxy of HTTPS_PROXY: its port is no port");
        check("http://[::1]:3128", "http://[::1]:3128 (HTTPS_PROXY)");
        check("http://[fd00::1]", "http://[fd00::1]:80 (HTTPS_PROXY)");
    }

    #[test]
    fn logins_are_decoded_once() {
        let login = |text| Proxy::parse("x", text).unwrap().login();
        assert_eq!(login("http://ada:a%3Ab%2525@p").as_deref(), Some("ada:a:b%25"));
        assert_eq!(login("http://ada@p").as_deref(), Some("ada:"));
        assert_eq!(login("http://p"), None);
    }
}

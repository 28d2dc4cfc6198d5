//! The address of a server that may want a login.

use std::fmt;

use url::{Host, Url};

use crate::error::OauthError;

/// The address of a server, in the one form in which addresses are compared: without a fragment, and without the port
/// that goes without saying.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl(Url);

impl ServerUrl {
    /// Reads an address.
    ///
    /// # Errors
    /// [`OauthError::Address`] if the address is not `https`, except on this machine, or holds a user or a fragment.
    pub fn parse(text: &str) -> Result<ServerUrl, OauthError> {
        let fail = |reason| OauthError::Address { url: text.to_owned(), reason };
        let url = Url::parse(text).map_err(|_| fail("it cannot be read"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(fail("it holds a user"));
        }
        if url.fragment().is_some() {
            return Err(fail("it has a fragment"));
        }
        let own = ServerUrl(url);
        match own.0.scheme() {
            "https" => Ok(own),
            "http" if own.is_here() => Ok(own),
            _ => Err(fail("a login needs https")),
        }
    }

    /// Returns whether the server is on this machine.
    #[must_use]
    pub fn is_here(&self) -> bool {
        match self.0.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }

    /// Reads the address of another server that this server, or one of its answers, names.
    ///
    /// # Errors
    /// [`OauthError::Address`] as for [`ServerUrl::parse`], or if a server elsewhere names one of this machine.
    pub fn named(&self, text: &str) -> Result<ServerUrl, OauthError> {
        let other = ServerUrl::parse(text)?;
        if other.is_here() && !self.is_here() {
            let reason = "a server elsewhere names this machine";
            return Err(OauthError::Address { url: text.to_owned(), reason });
        }
        Ok(other)
    }

    /// Returns the address.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// Returns whether another address names this server as a whole, or the part of it that has this address
    /// (RFC 8707, RFC 9728).
    #[must_use]
    pub fn is_within(&self, resource: &ServerUrl) -> bool {
        let (own, whole) = (self.0.path(), resource.0.path().trim_end_matches('/'));
        self.0.origin() == resource.0.origin()
            && resource.0.query().is_none_or(|query| self.0.query() == Some(query))
            && own.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A bare server is written without the slash, as the specification of MCP does.
        let text = self.0.as_str();
        let is_bare = self.0.path() == "/" && self.0.query().is_none();
        f.write_str(if is_bare { text.trim_end_matches('/') } else { text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_need_https_except_on_this_machine() {
        for good in ["https://a.example/mcp", "http://127.0.0.1:8/mcp", "http://[::1]/", "http://localhost:1"]
        {
            assert!(ServerUrl::parse(good).is_ok(), "{good}");
        }
        for bad in
            ["http://a.example/mcp", "ftp://a.example", "https://u@a.example", "https://a.example/#x", "x"]
        {
            assert!(ServerUrl::parse(bad).is_err(), "{bad}");
        }
        let far = ServerUrl::parse("https://a.example/mcp").unwrap();
        assert!(far.named("https://127.0.0.1/token").is_err());
        assert!(far.named("https://b.example/token").is_ok());
        assert!(ServerUrl::parse("http://127.0.0.1:8").unwrap().named("http://localhost:9/token").is_ok());
    }

    #[test]
    fn resources_hold_whole_parts_of_a_path() {
        let is_within = |own: &str, whole: &str| {
            ServerUrl::parse(own).unwrap().is_within(&ServerUrl::parse(whole).unwrap())
        };
        assert!(is_within("https://a.example/mcp", "https://a.example"));
        assert!(is_within("https://A.example:443/mcp", "https://a.example/mcp/"));
        assert!(is_within("https://a.example/mcp/x", "https://a.example/mcp"));
        assert!(!is_within("https://a.example/mcpx", "https://a.example/mcp"));
        assert!(!is_within("https://a.example/", "https://a.example/mcp"));
        assert!(!is_within("https://a.example/mcp", "https://b.example/mcp"));
        assert!(!is_within("https://a.example:8443/mcp", "https://a.example/mcp"));
        assert_eq!(ServerUrl::parse("https://A.example:443/").unwrap().to_string(), "https://a.example");
    }
}

//! The errors of the way to a server, in words for the user.

/// A network setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// The settings cannot be read, so the way to other machines is unknown.
    #[error("cannot tell the way to other machines: {0}")]
    Settings(String),
    /// The address of a proxy cannot be used.
    #[error("cannot use the proxy of {place}: {reason}")]
    Proxy {
        /// The variable or the setting.
        place: String,
        /// The fault of the address, without the address, which may hold a password.
        reason: &'static str,
    },
    /// The certificate authorities cannot be read.
    #[error("cannot use the certificate authorities of {place}: {reason}")]
    Authorities {
        /// The variable or the setting.
        place: String,
        /// The fault.
        reason: String,
    },
    /// The machine's administrator does not let this server be reached.
    #[error("cannot reach {server}: the machine's administrator does not allow it ({place})")]
    Managed {
        /// The server.
        server: String,
        /// The file of the administrator.
        place: String,
    },
    /// The machine's administrator does not let this proxy be used.
    #[error("cannot use the proxy {proxy}: the machine's administrator does not allow it ({place})")]
    ManagedProxy {
        /// The proxy, without name and password.
        proxy: String,
        /// The file of the administrator.
        place: String,
    },
    /// The address of a server cannot be used.
    #[error("cannot use the address of the server: {0}")]
    Address(&'static str),
}

impl NetworkError {
    /// Returns whether the machine's administrator is the reason. Only the administrator can change it then.
    #[must_use]
    pub fn is_managed(&self) -> bool {
        matches!(self, Self::Managed { .. } | Self::ManagedProxy { .. })
    }

    /// Returns one line that names the remedy.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Settings(_) => "repair the file; `almoner doctor` reads it again",
            Self::Proxy { .. } => {
                "write it as http://HOST:PORT or socks5://HOST:PORT; `almoner doctor network` shows it"
            }
            Self::Authorities { .. } => {
                "name a file with certificates in PEM; `almoner doctor network` shows it"
            }
            Self::Managed { .. } | Self::ManagedProxy { .. } => {
                "`almoner doctor managed` shows what is allowed; only the administrator can change it"
            }
            Self::Address(_) => "write it as https://HOST[:PORT]/PATH",
        }
    }
}

/// Returns the reason why an exchange failed, in plain words.
///
/// The words of the library say too little about proxies and certificates.
#[must_use]
pub fn failure_reason(error: &ureq::Error) -> String {
    match error {
        ureq::Error::ConnectProxyFailed(reason) => proxy_reason(reason),
        ureq::Error::Rustls(error) => certificate_reason(&error.to_string()),
        // A certificate that is refused in the middle of the handshake comes as an error of the connection.
        ureq::Error::Io(error) => match error.get_ref() {
            Some(inner) => certificate_reason(&inner.to_string()),
            None => error.to_string(),
        },
        error => error.to_string(),
    }
}

/// Returns the reason why a server's certificate is refused. Other words stay as they are.
fn certificate_reason(words: &str) -> String {
    let has = |all: &[&str]| all.iter().any(|one| words.contains(one));
    if has(&["UnknownIssuer", "CaUsedAsEndEntity"]) {
        "no authority that is trusted here has signed its certificate; SSL_CERT_FILE or `[network] ca_file` names a \
         private one"
            .to_owned()
    } else if has(&["NotValidForName", "not valid for name"]) {
        "its certificate is for another name".to_owned()
    } else if has(&["Expired", "expired"]) {
        "its certificate has expired".to_owned()
    } else {
        words.to_owned()
    }
}

/// Returns the reason why a proxy made no tunnel. The library writes `proxy server responded 407/407`.
fn proxy_reason(reason: &str) -> String {
    let digits: String = reason.chars().filter(char::is_ascii_digit).take(3).collect();
    match digits.as_str() {
        "407" => "the proxy asks for a name and a password, or does not accept them (407)".to_owned(),
        "403" => "the proxy does not allow this server (403)".to_owned(),
        "400" | "405" | "501" => format!("the proxy makes no tunnel to this server ({digits})"),
        "404" | "502" | "503" | "504" => format!("the proxy cannot reach the server ({digits})"),
        "" => "the proxy did not answer".to_owned(),
        other => format!("the proxy answered with the status {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_proxies_have_plain_words() {
        for (said, expected) in [
            ("proxy server responded 407/407", "name and a password"),
            ("proxy server responded 403/403", "does not allow this server"),
            ("proxy server responded 502/502", "cannot reach the server"),
            ("proxy server responded 405/405", "makes no tunnel"),
            ("proxy server responded 418/418", "status 418"),
            ("proxy server did not respond", "did not answer"),
        ] {
            let words = failure_reason(&ureq::Error::ConnectProxyFailed(said.to_owned()));
            assert!(words.contains(expected), "{said}: {words}");
        }
    }
}

//! The choice of the way to a server, and the agents that take it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use ureq::Agent;
use ureq::config::{Config, ConfigBuilder};
use ureq::http::Uri;
use ureq::http::uri::Scheme;
use ureq::tls::TlsConfig;
use ureq::typestate::AgentScope;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    ConnectProxyConnector, ConnectionDetails, Connector, NextTimeout, RustlsConnector, SocksConnector,
    TcpConnector, Transport,
};

use crate::absolute_form::AbsoluteForm;
use crate::authorities::Authorities;
use crate::bypass::Bypass;
use crate::egress::Egress;
use crate::error::NetworkError;
use crate::proxy::Proxy;

/// The variables of the environment that count. If a variable has two spellings, the first one that is set counts.
pub const VARIABLES: [&str; 10] = [
    "https_proxy",
    "HTTPS_PROXY",
    "http_proxy",
    "HTTP_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// A variable that a web server sets for the programs that it runs.
const CGI: &str = "REQUEST_METHOD";

/// The values of the variables that count, as a process found them at its start.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(Vec<(&'static str, OsString)>);

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Environment {
    /// Reads the variables that count. An empty value counts as none.
    pub fn read(lookup: impl Fn(&str) -> Option<OsString>) -> Environment {
        // A web server turns a header `Proxy` of its client into this variable for the programs that it runs.
        let is_cgi = lookup(CGI).is_some();
        let mut found = Vec::new();
        for name in VARIABLES {
            let value = lookup(name).filter(|value| !value.is_empty());
            if let Some(value) = value.filter(|_| !(is_cgi && name == "HTTP_PROXY")) {
                found.push((name, value));
            }
        }
        Environment(found)
    }

    fn first(&self, names: &[&'static str]) -> Option<(&'static str, &OsStr)> {
        names.iter().find_map(|name| {
            let (name, value) = self.0.iter().find(|(own, _)| own == name)?;
            Some((*name, value.as_os_str()))
        })
    }
}

/// The user's settings for the way to other machines. Each replaces what the environment says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkSettings {
    /// The proxy for all servers. An empty text means none.
    pub proxy: Option<String>,
    /// The servers that are reached without a proxy, with commas between them.
    pub no_proxy: Option<String>,
    /// A file with more certificate authorities.
    pub ca_file: Option<PathBuf>,
    /// Whether the proxy may resolve the names of servers that a model may choose. Their addresses are not checked
    /// then.
    pub proxy_resolves: bool,
}

/// The way to other machines.
#[derive(Clone, Debug, Default)]
pub struct Network {
    http: Option<Result<Proxy, NetworkError>>,
    https: Option<Result<Proxy, NetworkError>>,
    bypass: Bypass,
    authorities: Option<Result<Authorities, NetworkError>>,
    is_resolved_by_proxy: bool,
    /// The only servers that may be reached, if the machine's administrator has restricted them.
    egress: Option<Arc<Egress>>,
    /// The fault of the settings, with which no server is reached.
    fault: Option<NetworkError>,
}

/// A change of the settings of an agent, such as its time-outs.
pub type Configure<'f> = &'f dyn Fn(ConfigBuilder<AgentScope>) -> ConfigBuilder<AgentScope>;

impl Network {
    /// Returns the network that the settings and the environment describe.
    ///
    /// A value that cannot be used makes the requests that need it fail.
    #[must_use]
    pub fn new(settings: &NetworkSettings, environment: &Environment) -> Network {
        let proxy = |names: &[&'static str]| match &settings.proxy {
            Some(text) if text.trim().is_empty() => None,
            Some(text) => Some(Proxy::parse("`[network] proxy`", text)),
            None => {
                let (name, value) = environment.first(names)?;
                // A value that is no text is no address, either.
                Some(Proxy::parse(name, &value.to_string_lossy()))
            }
        };
        let bypass = match &settings.no_proxy {
            Some(list) => Bypass::parse(list),
            None => {
                let list = environment.first(&["no_proxy", "NO_PROXY"]);
                Bypass::parse(&list.map(|(_, list)| list.to_string_lossy()).unwrap_or_default())
            }
        };
        let file = environment.first(&["SSL_CERT_FILE"]).map(|(_, file)| file);
        let dirs = environment.first(&["SSL_CERT_DIR"]).map(|(_, dirs)| dirs);
        let authorities = match &settings.ca_file {
            Some(path) => Some(Authorities::with_file("`[network] ca_file`", path)),
            None => (file.is_some() || dirs.is_some()).then(|| Authorities::in_place(file, dirs)),
        };
        Network {
            http: proxy(&["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]),
            https: proxy(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
            bypass,
            authorities,
            is_resolved_by_proxy: settings.proxy_resolves,
            egress: None,
            fault: None,
        }
    }

    /// Returns the network, restricted to the servers that the machine's administrator allows.
    #[must_use]
    pub fn with_egress(self, egress: Option<Arc<Egress>>) -> Network {
        Network { egress, ..self }
    }

    /// Returns the only servers that may be reached, if the machine's administrator has restricted them.
    #[must_use]
    pub fn egress(&self) -> Option<&Egress> {
        self.egress.as_deref()
    }

    /// Checks that the machine's administrator lets a server be reached.
    ///
    /// # Errors
    /// When the administrator does not, or the address names no server.
    pub fn expect_allowed(&self, url: &str) -> Result<(), NetworkError> {
        self.check_egress(&Target::parse(url)?)
    }

    /// Returns the network of settings that cannot be read. Every request fails with the fault.
    #[must_use]
    pub fn unusable(fault: &str) -> Network {
        Network { fault: Some(NetworkError::Settings(fault.to_owned())), ..Network::default() }
    }

    /// Returns whether the proxy may resolve the names of servers that a model may choose.
    #[must_use]
    pub fn is_resolved_by_proxy(&self) -> bool {
        self.is_resolved_by_proxy
    }

    /// Returns the lines about the network for people, without any password. Each line says whether it is in order.
    #[must_use]
    pub fn description(&self) -> Vec<(bool, String)> {
        if let Some(fault) = &self.fault {
            return vec![(false, fault.to_string())];
        }
        let proxy = |scheme: &str, found: &Option<Result<Proxy, NetworkError>>| match found {
            None => (true, format!("{scheme}: direct")),
            Some(Ok(proxy)) => (true, format!("{scheme}: over {}", proxy.description())),
            Some(Err(error)) => (false, error.to_string()),
        };
        let authorities = match &self.authorities {
            None => (true, format!("authorities: {}", Authorities::default().description())),
            Some(Ok(found)) => (true, format!("authorities: {}", found.description())),
            Some(Err(error)) => (false, error.to_string()),
        };
        let mut lines = vec![proxy("https", &self.https), proxy("http", &self.http), authorities];
        lines.extend(self.egress.iter().map(|egress| {
            let (place, servers) = (egress.place(), egress.description());
            let only = if egress.is_empty() { "" } else { "only " };
            (true, format!("the machine's administrator allows {only}{servers} ({place})"))
        }));
        lines.extend(self.bypass.unreadable().iter().map(|entry| {
            (false, format!("no_proxy: `{}` names no server, and counts for nothing", entry.escape_debug()))
        }));
        lines
    }

    /// Returns an agent for one server that the user has named: its proxy resolves the name.
    ///
    /// The agent follows no redirect, since another server may need another way.
    ///
    /// # Errors
    /// When a setting that is needed cannot be used.
    pub fn agent(&self, url: &str, configure: Configure<'_>) -> Result<Agent, NetworkError> {
        let target = Target::parse(url)?;
        self.check_egress(&target)?;
        let Some(proxy) = self.proxy(&target)? else {
            let resolver = RouteResolver::System(DefaultResolver::default());
            return self.build(configure, None, resolver);
        };
        let resolver = match proxy.takes_addresses() {
            true => RouteResolver::System(DefaultResolver::default()),
            false => RouteResolver::Unneeded,
        };
        let is_plain = !target.is_https && proxy.is_http();
        let via = Via {
            proxy: proxy.clone(),
            config: self.config(configure)?.proxy(Some(proxy.inner().clone())).build(),
            target: target.uri(&target.host)?,
            origin: is_plain.then(|| target.origin()),
        };
        self.build(configure, Some(via), resolver)
    }

    /// Returns an agent for one server at addresses that were checked. It connects to no other address.
    ///
    /// With a proxy, the proxy gets the address in place of the name, so that it cannot lead elsewhere.
    ///
    /// # Errors
    /// When a setting that is needed cannot be used.
    pub fn agent_for_addresses(
        &self,
        url: &str,
        addresses: &[IpAddr],
        configure: Configure<'_>,
    ) -> Result<Agent, NetworkError> {
        let target = Target::parse(url)?;
        self.check_egress(&target)?;
        let sockets: Vec<SocketAddr> =
            addresses.iter().map(|address| SocketAddr::new(*address, target.port)).collect();
        let first = addresses.first().copied().ok_or(NetworkError::Address("it has no address"))?;
        // The name of a server of this machine can be any, so its address counts as well.
        let is_direct = self.bypass.holds(&first.to_string(), target.port);
        let resolver = RouteResolver::Fixed(sockets);
        match self.proxy(&target)?.filter(|_| !is_direct) {
            None => self.build(configure, None, resolver),
            Some(proxy) => {
                let via = Via {
                    proxy: proxy.clone(),
                    config: self.config(configure)?.proxy(Some(proxy.for_addresses()?)).build(),
                    target: target.uri(&shown(first))?,
                    origin: None,
                };
                self.build(configure, Some(via), resolver)
            }
        }
    }

    /// Returns whether a server is reached over a proxy.
    ///
    /// # Errors
    /// When the proxy cannot be used.
    pub fn is_proxied(&self, url: &str) -> Result<bool, NetworkError> {
        Ok(self.proxy(&Target::parse(url)?)?.is_some())
    }

    fn proxy(&self, target: &Target) -> Result<Option<&Proxy>, NetworkError> {
        self.check_settings()?;
        if self.bypass.holds(&target.host, target.port) {
            return Ok(None);
        }
        let proxy = if target.is_https { &self.https } else { &self.http };
        let proxy = proxy.as_ref().map(|found| found.as_ref().map_err(Clone::clone)).transpose()?;
        // A proxy is another machine, which learns the servers and sees everything that is not encrypted.
        match (proxy, &self.egress) {
            (Some(proxy), Some(egress))
                if !egress.holds_proxy(proxy.inner().host(), proxy.inner().port()) =>
            {
                let (proxy, place) = (proxy.description(), egress.place().to_owned());
                Err(NetworkError::ManagedProxy { proxy, place })
            }
            _ => Ok(proxy),
        }
    }

    fn check_egress(&self, target: &Target) -> Result<(), NetworkError> {
        match &self.egress {
            Some(egress) if !egress.holds(target.is_https, &target.host, target.port) => {
                let (server, place) = (target.origin(), egress.place().to_owned());
                Err(NetworkError::Managed { server, place })
            }
            _ => Ok(()),
        }
    }

    fn check_settings(&self) -> Result<(), NetworkError> {
        self.fault.clone().map_or(Ok(()), Err)
    }

    fn config(&self, configure: Configure<'_>) -> Result<ConfigBuilder<AgentScope>, NetworkError> {
        self.check_settings()?;
        let roots = match &self.authorities {
            None => Authorities::default().roots(),
            Some(found) => found.as_ref().map_err(Clone::clone)?.roots(),
        };
        let tls = TlsConfig::builder().root_certs(roots).build();
        let builder = configure(Agent::config_builder());
        Ok(builder.tls_config(tls).proxy(None).max_redirects(0).max_redirects_will_error(false))
    }

    fn build(
        &self,
        configure: Configure<'_>,
        via: Option<Via>,
        resolver: RouteResolver,
    ) -> Result<Agent, NetworkError> {
        let mut config = self.config(configure)?;
        if via.as_ref().is_some_and(|via| via.origin.is_some()) {
            // The connection carries one request, whose first line is rewritten.
            config = config.max_idle_connections(0);
        }
        let connector = RouteConnector { via, egress: self.egress.clone() }
            .chain(TcpConnector::default())
            .chain(RustlsConnector::default());
        Ok(Agent::with_parts(config.build(), connector, resolver))
    }
}

/// Returns an address as it stands in the address of a page.
fn shown(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// The server of an address.
struct Target {
    is_https: bool,
    /// The host, an address of IPv6 in brackets.
    host: String,
    port: u16,
}

impl Target {
    fn parse(url: &str) -> Result<Target, NetworkError> {
        let uri: Uri = url.parse().map_err(|_| NetworkError::Address("it cannot be read"))?;
        Target::of(&uri)
    }

    fn of(uri: &Uri) -> Result<Target, NetworkError> {
        let is_https = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(NetworkError::Address("it begins neither with https:// nor with http://")),
        };
        let host = uri.host().filter(|host| !host.is_empty());
        let host = host.ok_or(NetworkError::Address("it names no host"))?.to_owned();
        let port = uri.port_u16().unwrap_or(if is_https { 443 } else { 80 });
        Ok(Target { is_https, host, port })
    }

    fn origin(&self) -> String {
        let scheme = if self.is_https { "https" } else { "http" };
        format!("{scheme}://{}:{}", self.host, self.port)
    }

    /// Returns the address of the server with this host.
    fn uri(&self, host: &str) -> Result<Uri, NetworkError> {
        let scheme = if self.is_https { "https" } else { "http" };
        let text = format!("{scheme}://{host}:{}/", self.port);
        text.parse().map_err(|_| NetworkError::Address("it cannot be read"))
    }
}

/// The proxy on the way to a server.
#[derive(Debug)]
struct Via {
    proxy: Proxy,
    /// The settings of the agent with the proxy, which the library's connectors read.
    config: Config,
    /// The server, as the proxy is asked for it.
    target: Uri,
    /// The server, if the proxy gets whole requests for it and makes no tunnel.
    origin: Option<String>,
}

impl Via {
    /// Returns an error of a connection with the proxy in it, because a person looks for the fault at the server.
    fn named(&self, error: ureq::Error) -> ureq::Error {
        let proxy = self.proxy.description();
        match error {
            ureq::Error::Io(error) => {
                let words = format!("the proxy {proxy} cannot be reached: {error}");
                io::Error::new(error.kind(), words).into()
            }
            ureq::Error::HostNotFound => {
                let words = format!("the proxy {proxy} cannot be reached: its name is not known");
                io::Error::new(io::ErrorKind::NotFound, words).into()
            }
            error => error,
        }
    }
}

/// A connector that begins a connection over the proxy. Without a proxy, it leaves the connection to the next one.
#[derive(Debug)]
struct RouteConnector {
    via: Option<Via>,
    /// The only servers to which a connection is made, if the machine's administrator has restricted them.
    egress: Option<Arc<Egress>>,
}

impl RouteConnector {
    /// Refuses a connection to a server that the administrator does not allow. An agent is made for one server, but
    /// the library lets it be asked for any.
    fn check(&self, uri: &Uri) -> Result<(), ureq::Error> {
        let Some(egress) = &self.egress else { return Ok(()) };
        if self.via.as_ref().is_some_and(|via| uri == via.proxy.uri()) {
            return Ok(());
        }
        let allowed =
            Target::of(uri).is_ok_and(|target| egress.holds(target.is_https, &target.host, target.port));
        match allowed {
            true => Ok(()),
            false => {
                let (server, place) = (uri.to_string(), egress.place().to_owned());
                let error = NetworkError::Managed { server, place };
                Err(io::Error::new(io::ErrorKind::PermissionDenied, error).into())
            }
        }
    }
}

impl Connector<()> for RouteConnector {
    type Out = Box<dyn Transport>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        self.check(details.uri)?;
        let Some(via) = &self.via else { return Ok(None) };
        // The library's connector for tunnels asks for the connection to the proxy itself.
        if details.uri == via.proxy.uri() {
            return Ok(None);
        }
        let resolver = DefaultResolver::default();
        let over = |uri, addrs, config| ConnectionDetails {
            uri,
            addrs,
            config,
            request_level: details.request_level,
            resolver: &resolver,
            now: details.now,
            timeout: details.timeout,
            current_time: details.current_time.clone(),
            run_connector: details.run_connector.clone(),
            register_shutdown: details.register_shutdown.clone(),
        };
        if let Some(origin) = &via.origin {
            let addrs = resolver.resolve(via.proxy.uri(), details.config, details.timeout);
            let connection = addrs
                .and_then(|addrs| (details.run_connector)(&over(via.proxy.uri(), addrs, details.config)))
                .map_err(|error| via.named(error))?;
            let login = via.proxy.login();
            let form = AbsoluteForm::new(connection, details, origin.clone(), login.as_deref());
            return Ok(Some(Box::new(form)));
        }
        let mut addrs = resolver.empty();
        details.addrs.iter().for_each(|address| addrs.push(*address));
        let details = over(&via.target, addrs, &via.config);
        let tunnel = match via.proxy.is_http() {
            true => ConnectProxyConnector::default()
                .connect(&details, None::<()>)
                .map(|tunnel| tunnel.map(|tunnel| Box::new(tunnel) as Box<dyn Transport>)),
            false => SocksConnector::default()
                .connect(&details, None::<()>)
                .map(|tunnel| tunnel.map(|tunnel| Box::new(tunnel) as Box<dyn Transport>)),
        };
        tunnel.map_err(|error| via.named(error))
    }
}

/// A resolver of the names of servers.
#[derive(Debug)]
enum RouteResolver {
    /// The system resolves the name.
    System(DefaultResolver),
    /// The addresses were found and checked before.
    Fixed(Vec<SocketAddr>),
    /// The proxy resolves the name.
    Unneeded,
}

impl Resolver for RouteResolver {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let mut all = self.empty();
        match self {
            RouteResolver::System(resolver) => return resolver.resolve(uri, config, timeout),
            RouteResolver::Fixed(sockets) => sockets.iter().for_each(|socket| all.push(*socket)),
            // The library wants an address, and no connection is made to this one.
            RouteResolver::Unneeded => all.push(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0)),
        }
        if all.is_empty() { Err(ureq::Error::HostNotFound) } else { Ok(all) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(settings: &NetworkSettings, variables: &[(&'static str, &str)]) -> Network {
        let lookup = |name: &str| {
            variables.iter().find(|(own, _)| *own == name).map(|(_, value)| OsString::from(value))
        };
        Network::new(settings, &Environment::read(lookup))
    }

    fn way(network: &Network, url: &str) -> String {
        match network.proxy(&Target::parse(url).unwrap()) {
            Ok(None) => "direct".to_owned(),
            Ok(Some(proxy)) => proxy.description(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn no_proxy_entry_that_names_no_server_is_described() {
        let settings = NetworkSettings { no_proxy: Some("b:port".to_owned()), ..NetworkSettings::default() };
        let lines = Network::new(&settings, &Environment::default()).description();
        let is_named = |line: &(bool, String)| !line.0 && line.1.contains("`b:port` names no server");
        assert!(lines.iter().any(is_named), "{lines:?}");
    }

    #[test]
    fn allowed_servers_are_described_also_if_there_are_none() {
        for (servers, says) in [
            (&[][..], "the machine's administrator allows no server at all (/etc/managed)"),
            (&["https://h"], "the machine's administrator allows only https://h (/etc/managed)"),
        ] {
            let egress = Egress::parse("/etc/managed", servers.iter().copied()).unwrap();
            let network = network(&NetworkSettings::default(), &[]).with_egress(Some(egress.into()));
            let lines = network.description();
            assert!(lines.iter().any(|(_, line)| line == says), "{lines:?}");
        }
    }

    #[test]
    fn connection_error_names_the_proxy() {
        let reason = |proxy: &str, url: &str| {
            let settings = NetworkSettings { proxy: Some(proxy.to_owned()), ..NetworkSettings::default() };
            let agent =
                Network::new(&settings, &Environment::default()).agent(url, &|config| config).unwrap();
            crate::failure_reason(&agent.get(url).call().unwrap_err())
        };
        for proxy in ["http://127.0.0.1:1", "socks5://127.0.0.1:1", "http://proxy.invalid:3128"] {
            for url in ["http://192.0.2.1/", "https://192.0.2.1/"] {
                let said = reason(proxy, url);
                assert!(said.contains(proxy) && said.contains("cannot be reached"), "{proxy} {url}: {said}");
            }
        }
    }

    /// The precedence is that of curl and of Python. Users report programs that mix the variables up (ollama/ollama#2168,
    /// ollama/ollama#7726).
    #[test]
    fn variables_choose_the_proxy_of_each_server() {
        #[track_caller]
        fn check(variables: &[(&'static str, &str)], url: &str, expected: &str) {
            assert_eq!(way(&network(&NetworkSettings::default(), variables), url), expected);
        }
        let (https, http) = ("https://api.example/v1", "http://gpu.example:8000/v1");
        check(&[], https, "direct");
        check(&[("HTTPS_PROXY", "")], https, "direct");
        check(&[("HTTPS_PROXY", "p:1")], https, "http://p:1 (HTTPS_PROXY)");
        check(&[("HTTPS_PROXY", "p:1")], http, "direct");
        check(&[("HTTP_PROXY", "p:1")], http, "http://p:1 (HTTP_PROXY)");
        check(&[("HTTP_PROXY", "p:1")], https, "direct");
        check(&[("HTTP_PROXY", "p:1"), ("REQUEST_METHOD", "GET")], http, "direct");
        check(&[("http_proxy", "p:1"), ("REQUEST_METHOD", "GET")], http, "http://p:1 (http_proxy)");
        check(&[("https_proxy", "p:1"), ("HTTPS_PROXY", "q:2")], https, "http://p:1 (https_proxy)");
        check(&[("ALL_PROXY", "socks5://p")], https, "socks5://p:1080 (ALL_PROXY)");
        check(&[("ALL_PROXY", "p:1"), ("HTTPS_PROXY", "q:2")], https, "http://q:2 (HTTPS_PROXY)");
        check(&[("ALL_PROXY", "p:1"), ("NO_PROXY", "gpu.example")], http, "direct");
        check(&[("ALL_PROXY", "p:1"), ("no_proxy", "api.example:8443")], https, "http://p:1 (ALL_PROXY)");
        check(&[("ALL_PROXY", "p:1")], "http://127.0.0.1:11434", "direct");
        check(
            &[("HTTPS_PROXY", "ftp://p:1")],
            https,
            "cannot use the proxy of HTTPS_PROXY: its scheme is none of http, https, socks4, socks4a, socks5 and socks5h",
        );
    }

    #[test]
    fn settings_go_before_variables() {
        let variables = [("HTTPS_PROXY", "p:1"), ("NO_PROXY", "a.example"), ("SSL_CERT_FILE", "/none")];
        let own =
            |proxy: &str| NetworkSettings { proxy: Some(proxy.to_owned()), ..NetworkSettings::default() };
        assert_eq!(way(&network(&own(""), &variables), "https://b.example"), "direct");
        let settings = NetworkSettings { no_proxy: Some("b.example".to_owned()), ..own("q:2") };
        let both = network(&settings, &variables);
        assert_eq!(way(&both, "https://a.example"), "http://q:2 (`[network] proxy`)");
        assert_eq!(way(&both, "http://a.example"), "http://q:2 (`[network] proxy`)");
        assert_eq!(way(&both, "https://b.example"), "direct");
    }

    #[test]
    fn managed_network_reaches_only_allowed_servers() {
        let keep = |config| config;
        let egress = |entries: &[&str]| {
            Some(Arc::new(Egress::parse("/etc/almoner/managed.toml", entries.iter().copied()).unwrap()))
        };
        let direct = network(&NetworkSettings::default(), &[]).with_egress(egress(&["http://127.0.0.1:1"]));
        let refused = direct.agent("http://127.0.0.1:2/", &keep).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "cannot reach http://127.0.0.1:2: the machine's administrator does not allow it (/etc/almoner/managed.toml)"
        );
        let home = "127.0.0.1".parse().unwrap();
        assert!(direct.agent_for_addresses("http://localhost:1/", &[home], &keep).is_err());
        assert!(direct.agent_for_addresses("http://127.0.0.1:1/", &[home], &keep).is_ok());
        // An agent of an allowed server that is asked for another one makes no connection.
        let agent = direct.agent("http://127.0.0.1:1/", &keep).unwrap();
        let said = crate::failure_reason(&agent.get("http://127.0.0.1:2/").call().unwrap_err());
        assert!(said.contains("the machine's administrator"), "{said}");
        let said = crate::failure_reason(&agent.get("http://127.0.0.1:1/").call().unwrap_err());
        assert!(!said.contains("administrator"), "{said}");
        // A proxy is a machine that must be allowed, whatever lies behind it.
        let over = |entries: &[&str]| {
            network(&NetworkSettings::default(), &[("ALL_PROXY", "socks5://proxy.example:1080")])
                .with_egress(egress(entries))
                .agent("https://api.example/", &keep)
                .map(drop)
        };
        assert_eq!(
            over(&["https://api.example"]).unwrap_err().to_string(),
            "cannot use the proxy socks5://proxy.example:1080 (ALL_PROXY): the machine's administrator does not allow it (/etc/almoner/managed.toml)"
        );
        assert_eq!(over(&["https://api.example", "http://proxy.example:1080"]), Ok(()));
        assert!(over(&["http://proxy.example:1080"]).is_err());
    }

    #[test]
    fn unusable_settings_stop_the_requests_that_need_them() {
        let keep = |config| config;
        let broken = network(&NetworkSettings::default(), &[("SSL_CERT_FILE", "/none/ca.pem")]);
        let error = broken.agent("https://a.example", &keep).unwrap_err();
        assert!(error.to_string().contains("/none/ca.pem"), "{error}");
        assert!(broken.description().iter().any(|(is_ok, _)| !is_ok));
        let broken = network(&NetworkSettings::default(), &[("HTTPS_PROXY", "http://")]);
        assert!(broken.agent("https://a.example", &keep).is_err());
        assert!(broken.agent("http://a.example", &keep).is_ok());
        assert!(Network::default().agent("ftp://a.example", &keep).is_err());
        assert!(Network::default().agent_for_addresses("https://a.example", &[], &keep).is_err());
    }
}

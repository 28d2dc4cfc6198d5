//! The addresses that a call may reach. The gate applies this rule, and the daemon applies it again when it connects.

use core::net::IpAddr;
use std::collections::BTreeSet;

use kernel::proposal::Finding;
use passable::quoting;
use resource::web::{AddressScope, Host, Place, address_scope};

/// A part of the web that a grant names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebGrant {
    /// The place of this part: a server and a path on it.
    pub place: Place,
    /// The HTTP methods that the grant allows, in capitals.
    pub methods: BTreeSet<String>,
    /// The only address that the server's name may have, if the user wrote one.
    pub address: Option<IpAddr>,
}

/// Returns the scope of an address if no connection to it may be made for a host, or `None` if one may. An address
/// that the user wrote is always allowed. `localhost` must be this machine. Any other name must have a public
/// address, unless the user wrote one for it.
pub fn refused(host: &Host, address: IpAddr, written: Option<IpAddr>) -> Option<AddressScope> {
    let there = address_scope(address);
    let is_meant = match host {
        _ if written == Some(address) => true,
        Host::Address(own) => *own == address,
        Host::Name(name) => {
            let is_here = name == "localhost" || name.ends_with(".localhost");
            written.is_none()
                && if is_here { there == AddressScope::Loopback } else { there == AddressScope::Public }
        }
    };
    (!is_meant).then_some(there)
}

/// Returns the finding about an address to which no connection may be made.
pub fn private(origin: &str, address: IpAddr, reach: AddressScope) -> Finding {
    Finding::new("egress/address", quoting!("{} leads to {}, ", origin, address).and(reach.summary()))
        .at("path")
        .counter_example(address.to_string())
        .allowed("a public address; or an endowment in which the user wrote this address (`…?address=…`)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_name_needs_a_public_or_a_written_address() {
        let name = |text: &str| Host::Name(text.to_owned());
        let ip = |text: &str| -> IpAddr { text.parse().unwrap() };
        for (host, address, written, expected) in [
            (name("api.example.com"), "8.8.8.8", None, None),
            (name("api.example.com"), "127.0.0.1", None, Some(AddressScope::Loopback)),
            (name("api.example.com"), "10.0.0.5", None, Some(AddressScope::Private)),
            (name("api.example.com"), "169.254.169.254", None, Some(AddressScope::LinkLocal)),
            (name("api.example.com"), "::ffff:10.0.0.5", None, Some(AddressScope::Private)),
            (name("api.example.com"), "10.0.0.5", Some("10.0.0.5"), None),
            (name("api.example.com"), "10.0.0.6", Some("10.0.0.5"), Some(AddressScope::Private)),
            (name("api.example.com"), "8.8.8.8", Some("10.0.0.5"), Some(AddressScope::Public)),
            (name("localhost"), "127.0.0.1", None, None),
            (name("localhost"), "8.8.8.8", None, Some(AddressScope::Public)),
            (name("notlocalhost"), "127.0.0.1", None, Some(AddressScope::Loopback)),
            (Host::Address(ip("10.0.0.5")), "10.0.0.5", None, None),
            (Host::Address(ip("10.0.0.5")), "10.0.0.6", None, Some(AddressScope::Private)),
        ] {
            assert_eq!(
                refused(&host, ip(address), written.map(ip)),
                expected,
                "{host} {address} {written:?}"
            );
        }
    }
}

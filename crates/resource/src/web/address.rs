//! The classes of IP addresses: public ones, and those of this machine or its neighbours.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The class of the target of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressScope {
    /// A server that everybody can reach.
    Public,
    /// This machine.
    Loopback,
    /// A machine of a private network.
    Private,
    /// A machine on the same link, or the provider of this machine. At `169.254.169.254`, a provider hands out keys.
    LinkLocal,
    /// Many machines at once.
    Multicast,
    /// No machine: a reserved or unassigned address.
    Reserved,
}

impl AddressScope {
    /// Describes the scope in a few words, for a finding.
    pub fn summary(self) -> &'static str {
        match self {
            AddressScope::Public => "a public address",
            AddressScope::Loopback => "this machine itself",
            AddressScope::Private => "an address of a private network",
            AddressScope::LinkLocal => "an address of the local link (cloud machines hand out keys there)",
            AddressScope::Multicast => "a multicast address",
            AddressScope::Reserved => "a reserved address",
        }
    }
}

/// Returns the scope of an address. An IPv6 address that carries an IPv4 address in one of the usual ways has the
/// scope of the IPv4 address.
pub fn address_scope(address: IpAddr) -> AddressScope {
    match address {
        IpAddr::V4(address) => of_v4(address),
        IpAddr::V6(address) => of_v6(address),
    }
}

fn of_v4(address: Ipv4Addr) -> AddressScope {
    let octets = address.octets();
    match octets {
        [0, ..] | [240..=255, ..] => AddressScope::Reserved,
        [127, ..] => AddressScope::Loopback,
        [169, 254, ..] => AddressScope::LinkLocal,
        [224..=239, ..] => AddressScope::Multicast,
        // A provider shares 100.64/10 among its customers.
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => AddressScope::Private,
        // These ranges have special uses: protocol assignments, documentation, benchmarks, and the old 6to4 relay.
        [192, 0, 0 | 2, _] | [198, 18 | 19, ..] | [198, 51, 100, _] | [203, 0, 113, _] | [192, 88, 99, _] => {
            AddressScope::Reserved
        }
        _ => AddressScope::Public,
    }
}

fn of_v6(address: Ipv6Addr) -> AddressScope {
    let segments = address.segments();
    let carried = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        of_v4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 1] => AddressScope::Loopback,
        [0, 0, 0, 0, 0, 0, 0, 0] => AddressScope::Reserved,
        // Mapped, compatible, translated and 6to4 addresses lead to the IPv4 address that they carry.
        [0, 0, 0, 0, 0, 0xFFFF | 0, high, low]
        | [0, 0, 0, 0, 0xFFFF, 0, high, low]
        | [0x64, 0xFF9B, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => carried(high, low),
        // The first range is for translation within a network. The second one is for Teredo tunnels through any
        // server.
        [0x64, 0xFF9B, 1, ..] => AddressScope::Private,
        [0x2001, 0, ..] => AddressScope::Reserved,
        [first, ..] if first & 0xFE00 == 0xFC00 => AddressScope::Private,
        [first, ..] if first & 0xFFC0 == 0xFE80 => AddressScope::LinkLocal,
        [first, ..] if first & 0xFFC0 == 0xFEC0 => AddressScope::Private,
        [first, ..] if first & 0xFF00 == 0xFF00 => AddressScope::Multicast,
        [0x2001, second, ..] if second < 0x200 || second == 0xDB8 => AddressScope::Reserved,
        // No other range is assigned for public use.
        [first, ..] if first & 0xE000 == 0x2000 => AddressScope::Public,
        _ => AddressScope::Reserved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_their_scope() {
        for (text, expected) in [
            ("8.8.8.8", AddressScope::Public),
            ("172.15.0.1", AddressScope::Public),
            ("172.32.0.1", AddressScope::Public),
            ("100.63.0.1", AddressScope::Public),
            ("100.128.0.1", AddressScope::Public),
            ("127.0.0.1", AddressScope::Loopback),
            ("127.255.255.254", AddressScope::Loopback),
            ("0.0.0.0", AddressScope::Reserved),
            ("0.1.2.3", AddressScope::Reserved),
            ("10.0.0.1", AddressScope::Private),
            ("172.16.0.1", AddressScope::Private),
            ("192.168.1.1", AddressScope::Private),
            ("100.64.0.1", AddressScope::Private),
            ("169.254.169.254", AddressScope::LinkLocal),
            ("224.0.0.1", AddressScope::Multicast),
            ("255.255.255.255", AddressScope::Reserved),
            ("192.0.2.1", AddressScope::Reserved),
            ("198.18.0.1", AddressScope::Reserved),
            ("2606:4700::1111", AddressScope::Public),
            ("::1", AddressScope::Loopback),
            ("::", AddressScope::Reserved),
            ("::ffff:127.0.0.1", AddressScope::Loopback),
            ("::ffff:8.8.8.8", AddressScope::Public),
            ("::127.0.0.1", AddressScope::Loopback),
            ("::ffff:0:10.0.0.1", AddressScope::Private),
            ("64:ff9b::a9fe:a9fe", AddressScope::LinkLocal),
            ("64:ff9b:1::1", AddressScope::Private),
            ("2002:7f00:1::", AddressScope::Loopback),
            ("2001:0:1::", AddressScope::Reserved),
            ("2001:db8::1", AddressScope::Reserved),
            ("fd00::1", AddressScope::Private),
            ("fec0::1", AddressScope::Private),
            ("fe80::1", AddressScope::LinkLocal),
            ("ff02::1", AddressScope::Multicast),
            ("4000::1", AddressScope::Reserved),
        ] {
            assert_eq!(address_scope(text.parse().unwrap()), expected, "{text}");
        }
    }
}

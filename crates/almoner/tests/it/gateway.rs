//! Tests of `almoner gateway` and of the values of `ENDO_ADDR`. The suite of Endo's client tests the gateway's
//! behaviour.

use std::net::TcpListener;

use crate::test_home::{Said, TestHome};

fn daemon(home: &TestHome, address: &str) -> Said {
    Said::of(home.command(&["daemon", "--idle", "1"]).env("ENDO_ADDR", address).output().unwrap())
}

#[test]
fn gateway_is_off_by_default() {
    let home = TestHome::new();
    let said = home.almoner(&["gateway"]).expect(8);
    assert!(said.err.contains("the daemon has no gateway"), "{}", said.err);
    assert!(said.err.contains("help: ") && said.err.contains("ENDO_ADDR=127.0.0.1:8920"), "{}", said.err);
}

#[test]
fn gateway_issues_tokens_for_existing_agents() {
    let home = TestHome::new();
    // The process that starts the daemon sets the gateway's address, also if a command starts the daemon.
    let status = home.command(&["status"]).env("ENDO_ADDR", "127.0.0.1:0").output().unwrap();
    Said::of(status).expect(0);
    let said = home.almoner(&["gateway"]).expect(0);
    let [url, token] = said.out.lines().collect::<Vec<_>>()[..] else { panic!("{}", said.out) };
    assert!(url.starts_with("ws://127.0.0.1:") && !url.ends_with(":0/"), "{url}");
    assert!(token.len() == 64 && token.bytes().all(|byte| byte.is_ascii_hexdigit()), "{token}");
    assert!(said.err.contains("becomes you; it works once"), "{}", said.err);
    let json = home.almoner(&["gateway", "--json"]).expect(0).json();
    assert_eq!((json["url"].as_str(), json["seconds"].as_u64()), (Some(url), Some(300)));
    assert_ne!(json["token"].as_str(), Some(token));
    home.almoner(&["mkguest", "fae"]).expect(0);
    let said = home.almoner(&["gateway", "--as", "fae"]).expect(0);
    assert!(said.err.contains("becomes fae"), "{}", said.err);
    home.almoner(&["gateway", "--as", "nobody"]).expect(4);
}

#[test]
fn gateway_refuses_addresses_of_other_machines() {
    let home = TestHome::new();
    for address in ["0.0.0.0:8920", "192.168.0.1:8920", "8920", "127.0.0.1:99999", "\u{1b}[2J"] {
        let said = daemon(&home, address).expect(2);
        assert!(said.err.contains("ENDO_ADDR="), "{}", said.err);
        assert!(said.err.contains("help: ") && !said.err.contains("\u{1b}[2J"), "{:?}", said.err);
    }
    // A command that starts the daemon says the same.
    let status = Said::of(home.command(&["status"]).env("ENDO_ADDR", "0.0.0.0:8920").output().unwrap());
    assert!(status.expect(2).err.contains("the gateway is for this machine alone"));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let said = daemon(&home, &taken.local_addr().unwrap().to_string()).expect(1);
    assert!(said.err.contains("help: set ENDO_ADDR to another port"), "{}", said.err);
    // None of it has left a daemon or a lock behind.
    home.almoner(&["status"]).expect(0);
}

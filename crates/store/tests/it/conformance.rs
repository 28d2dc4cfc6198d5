use store::faulty::FaultyStore;
use store::memory::MemStore;
use store::{Backend, Options, Store, conformance};

fn check<B: Backend>(make: impl FnMut() -> B) {
    let failures = conformance::run(make);
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn sqlite() {
    let root = tempfile::tempdir().unwrap();
    let mut n = 0;
    check(|| {
        n += 1;
        Store::open(&root.path().join(n.to_string()), Options::default()).unwrap()
    });
}

#[test]
fn memory() {
    check(MemStore::default);
}

#[test]
fn faulty() {
    check(FaultyStore::default);
}

//! Tests of the page of the policies.

use super::visitor::Visitor;
use crate::test_home::TestHome;

#[test]
fn policy_page_says_what_holds_now() {
    let home = TestHome::new();
    let config = home.root().join("config");
    std::fs::create_dir_all(&config).unwrap();
    let file = config.join("policy.cedar");
    std::fs::write(&file, "forbid(principal action);").unwrap();
    let visitor = Visitor::new(&home);
    let page = visitor.get("/policy", &[]).body;
    assert!(page.contains("Nothing is judged") && !page.contains("the built-in rules hold"), "{page}");
    std::fs::write(
        &file,
        "@must_deny(\"dir.write\") forbid(principal, action == Action::\"dir.write\", resource);",
    )
    .unwrap();
    let page = visitor.get("/policy", &[]).body;
    assert!(page.contains("1 example came out as it must."), "{page}");
}

//! Links the binary of the `dev` profile at a fixed address.
//!
//! The tests start it more than ten thousand times. A binary that can lie anywhere is written to at each start, at
//! hundreds of thousands of places, which takes as long as everything else in a short command. Releases stay as they
//! are: there the address is a defence.

#[expect(clippy::disallowed_methods, reason = "cargo describes the build in the environment")]
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |variable: &str, value: &str| std::env::var(variable).is_ok_and(|found| found == value);
    if is("PROFILE", "debug") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}

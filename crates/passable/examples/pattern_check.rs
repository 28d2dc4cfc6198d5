//! Answers pattern checks, one JSON line each, from standard input.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a filter reads and writes standard streams"
)]

fn main() -> std::io::Result<()> {
    for line in std::io::stdin().lines() {
        println!("{}", passable::pattern_check_line(&line?));
    }
    Ok(())
}

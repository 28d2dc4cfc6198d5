//! Answers pattern checks, one JSON line each, from standard input.

#![allow(clippy::print_stdout, reason = "a filter writes to standard output")]

fn main() -> std::io::Result<()> {
    for line in std::io::stdin().lines() {
        println!("{}", passable::pattern_check_line(&line?));
    }
    Ok(())
}

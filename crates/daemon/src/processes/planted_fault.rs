//! Faults of a parser that a test plants into a document. Only builds for tests have them.
#![expect(clippy::panic, clippy::infinite_loop, reason = "the faults are those that a parser must not have")]

/// The words before the name of a fault.
const MARK: &[u8] = b"planted-fault: ";

/// Behaves like a parser with the fault that the document names, if it names one.
pub fn reach(bytes: &[u8]) {
    let Some(at) = bytes.windows(MARK.len()).position(|window| window == MARK) else { return };
    let rest = bytes.get(at + MARK.len()..).unwrap_or_default();
    let name: Vec<u8> = rest.iter().copied().take_while(u8::is_ascii_lowercase).collect();
    match name.as_slice() {
        b"abort" => std::process::abort(),
        b"panic" => panic!("planted"),
        b"stack" => drop(depth(0)),
        b"memory" => {
            let mut all = Vec::new();
            loop {
                all.push(vec![1_u8; 1 << 20]);
            }
        }
        b"loop" => loop {
            std::hint::spin_loop();
        },
        b"sleep" => loop {
            std::thread::park();
        },
        _ => {}
    }
}

/// Calls itself until the stack is full.
fn depth(level: u64) -> u64 {
    let frame = std::hint::black_box([level; 64]);
    if level == u64::MAX {
        return 0;
    }
    depth(level + 1).wrapping_add(frame.iter().fold(0, |sum, each| sum.wrapping_add(*each)))
}

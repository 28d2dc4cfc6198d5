//! Numbers that a seed determines.

/// SplitMix64: small, fast, and the same on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        // Neighbouring seeds must not make neighbouring runs.
        let mut random = Random(seed ^ 0x5eed_a1a0_0000_0000);
        random.next();
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`, which must not be 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap() % n
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Returns one of them, unless there is none.
    pub(crate) fn any<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        if of.is_empty() { None } else { Some(self.pick(of)) }
    }

    pub(crate) fn bytes(&mut self) -> [u8; 32] {
        let mut out = [0; 32];
        for part in out.chunks_exact_mut(8) {
            part.copy_from_slice(&self.next().to_le_bytes());
        }
        out
    }
}

//! The affine maps with which a PDF places text and drawings.

use lopdf::Object;

/// The map from `(x, y)` to `(a·x + c·y + e, b·x + d·y + f)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Matrix {
    pub(super) a: f32,
    pub(super) b: f32,
    pub(super) c: f32,
    pub(super) d: f32,
    pub(super) e: f32,
    pub(super) f: f32,
}

impl Matrix {
    pub(super) const UNIT: Self = Self { a: 1.0, b: 0.0, c: 0.0, d: 1.0, e: 0.0, f: 0.0 };

    /// Returns the matrix that moves by `(x, y)`.
    pub(super) fn shift(x: f32, y: f32) -> Self {
        Self { e: x, f: y, ..Self::UNIT }
    }

    /// Returns the matrix of six numbers, in the order of a PDF.
    pub(super) fn new([a, b, c, d, e, f]: [f32; 6]) -> Self {
        Self { a, b, c, d, e, f }
    }

    /// Returns the matrix of an array of six numbers, or `None` for any other array.
    pub(super) fn read(array: &[Object]) -> Option<Self> {
        let numbers: Vec<f32> = array.iter().map_while(|number| number.as_float().ok()).collect();
        numbers.try_into().ok().map(Self::new)
    }

    /// Returns the matrix that applies first `self`, then `next`.
    pub(super) fn then(self, next: Self) -> Self {
        Self {
            a: self.a * next.a + self.b * next.c,
            b: self.a * next.b + self.b * next.d,
            c: self.c * next.a + self.d * next.c,
            d: self.c * next.b + self.d * next.d,
            e: self.e * next.a + self.f * next.c + next.e,
            f: self.e * next.b + self.f * next.d + next.f,
        }
    }
}

//! The allocator of one vat: counts exactly, refuses above the limit, and remembers that it did.

use std::rc::Rc;

use rquickjs::allocator::{Allocator, RustAllocator};

use super::meter::Meter;

/// What a block costs beside its size.
const HEADER: usize = 16;

pub(crate) struct Bounded(pub(crate) Rc<Meter>);

impl Bounded {
    /// What a block of this size is counted as, or `None` if there can be no such block.
    fn cost(size: usize) -> Option<usize> {
        let size = size.checked_next_multiple_of(8)?.checked_add(HEADER)?;
        (size <= isize::MAX as usize / 2).then_some(size)
    }

    fn admit(&self, size: usize) -> bool {
        match Bounded::cost(size) {
            Some(cost) => self.0.grow(cost),
            None => self.0.grow(usize::MAX),
        }
    }
}

// SAFETY: every block comes from and goes back to `RustAllocator`, which fulfils the contract; this only counts, and
// answers with null where it may, or where that one would overflow.
unsafe impl Allocator for Bounded {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        if !self.admit(size) {
            return std::ptr::null_mut();
        }
        let block = RustAllocator.alloc(size);
        if block.is_null() {
            self.0.shrink(Bounded::cost(size).unwrap_or(0));
        }
        block
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        let Some(whole) = count.checked_mul(size) else {
            self.0.grow(usize::MAX);
            return std::ptr::null_mut();
        };
        if whole == 0 || !self.admit(whole) {
            return std::ptr::null_mut();
        }
        let block = RustAllocator.calloc(count, size);
        if block.is_null() {
            self.0.shrink(Bounded::cost(whole).unwrap_or(0));
        }
        block
    }

    unsafe fn dealloc(&mut self, block: *mut u8) {
        // SAFETY: the caller vouches that the block is one of ours, so it is one of `RustAllocator`.
        unsafe {
            self.0.shrink(RustAllocator::usable_size(block) + HEADER);
            RustAllocator.dealloc(block);
        }
    }

    unsafe fn realloc(&mut self, block: *mut u8, size: usize) -> *mut u8 {
        if block.is_null() {
            return self.alloc(size);
        }
        if size == 0 {
            // SAFETY: as above.
            unsafe { self.dealloc(block) };
            return std::ptr::null_mut();
        }
        // SAFETY: as above.
        let before = unsafe { RustAllocator::usable_size(block) } + HEADER;
        let Some(after) = Bounded::cost(size) else {
            self.0.grow(usize::MAX);
            return std::ptr::null_mut();
        };
        if after > before && !self.0.grow(after - before) {
            return std::ptr::null_mut();
        }
        // SAFETY: as above; the new size was checked.
        let moved = unsafe { RustAllocator.realloc(block, size) };
        match moved.is_null() {
            true => self.0.shrink(after.saturating_sub(before)),
            false => self.0.shrink(before.saturating_sub(after)),
        }
        moved
    }

    unsafe fn usable_size(block: *mut u8) -> usize {
        // SAFETY: as above.
        unsafe { RustAllocator::usable_size(block) }
    }
}

//! The allocator of one vat. It counts every byte, refuses requests beyond the limit, and records each refusal as a
//! fault.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use rquickjs::allocator::{Allocator, RustAllocator};

use super::meter::Meter;

/// The number of bytes that a block costs beyond its size.
const BLOCK_HEADER: usize = 16;

/// The addresses of the blocks that one vat has. There are not many, because the engine takes small blocks from
/// larger ones.
#[derive(Default)]
pub(crate) struct Blocks(RefCell<BTreeSet<usize>>);

impl Blocks {
    fn track(&self, block: *mut u8) -> *mut u8 {
        if !block.is_null() {
            self.0.borrow_mut().insert(block.expose_provenance());
        }
        block
    }

    fn untrack(&self, block: *mut u8) {
        self.0.borrow_mut().remove(&block.addr());
    }

    /// Frees all blocks of the vat, without asking the engine.
    ///
    /// # Safety
    /// Nothing may access the vat's runtime, its contexts or its values again, not even to drop them.
    pub(crate) unsafe fn take_back(&self) {
        for block in self.0.take() {
            // SAFETY: the block came from this allocator and was not freed. The caller guarantees that no other code
            // frees the block or accesses it.
            unsafe { RustAllocator.dealloc(std::ptr::with_exposed_provenance_mut(block)) };
        }
    }
}

pub(crate) struct BoundedAllocator {
    pub(crate) meter: Rc<Meter>,
    pub(crate) blocks: Rc<Blocks>,
}

impl BoundedAllocator {
    /// Returns the number of bytes that a block of this size counts as, or `None` if no block can be so large.
    fn cost(size: usize) -> Option<usize> {
        let size = size.checked_next_multiple_of(8)?.checked_add(BLOCK_HEADER)?;
        (size <= isize::MAX as usize / 2).then_some(size)
    }

    fn admit(&self, size: usize) -> bool {
        match BoundedAllocator::cost(size) {
            Some(cost) => self.meter.grow(cost),
            None => self.meter.grow(usize::MAX),
        }
    }
}

// SAFETY: every block comes from `RustAllocator` and is freed by it, and `RustAllocator` fulfils the contract. This
// allocator only counts. It returns null where the contract allows that, or where `RustAllocator` would overflow.
unsafe impl Allocator for BoundedAllocator {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        if !self.admit(size) {
            return std::ptr::null_mut();
        }
        let block = RustAllocator.alloc(size);
        if block.is_null() {
            self.meter.shrink(BoundedAllocator::cost(size).unwrap_or(0));
        }
        self.blocks.track(block)
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        let Some(whole) = count.checked_mul(size) else {
            self.meter.grow(usize::MAX);
            return std::ptr::null_mut();
        };
        if whole == 0 || !self.admit(whole) {
            return std::ptr::null_mut();
        }
        let block = RustAllocator.calloc(count, size);
        if block.is_null() {
            self.meter.shrink(BoundedAllocator::cost(whole).unwrap_or(0));
        }
        self.blocks.track(block)
    }

    unsafe fn dealloc(&mut self, block: *mut u8) {
        self.blocks.untrack(block);
        // SAFETY: the caller guarantees that the block is from this allocator, so it is from `RustAllocator`.
        unsafe {
            self.meter.shrink(RustAllocator::usable_size(block) + BLOCK_HEADER);
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
        let before = unsafe { RustAllocator::usable_size(block) } + BLOCK_HEADER;
        let Some(after) = BoundedAllocator::cost(size) else {
            self.meter.grow(usize::MAX);
            return std::ptr::null_mut();
        };
        if after > before && !self.meter.grow(after - before) {
            return std::ptr::null_mut();
        }
        // SAFETY: as above. The new size was checked.
        let moved = unsafe { RustAllocator.realloc(block, size) };
        match moved.is_null() {
            true => self.meter.shrink(after.saturating_sub(before)),
            false => {
                self.meter.shrink(before.saturating_sub(after));
                self.blocks.untrack(block);
            }
        }
        self.blocks.track(moved)
    }

    unsafe fn usable_size(block: *mut u8) -> usize {
        // SAFETY: as above.
        unsafe { RustAllocator::usable_size(block) }
    }
}

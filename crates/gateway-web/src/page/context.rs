//! The circumstances under which a page is drawn: the present time, and the user's home directory.
//!
//! A page is drawn by one thread from its beginning to its end. The circumstances hold for all parts of it, so they are
//! kept beside the thread and not in the arguments of each part.

use std::cell::RefCell;

/// The circumstances of a page.
#[derive(Clone, Debug, Default)]
pub struct PageContext {
    /// The present time of the daemon, in milliseconds since 1970. Without it, times are shown in full.
    pub now_ms: Option<i64>,
    /// The user's home directory. Without it, paths are not shortened by it.
    pub home: Option<String>,
}

thread_local! {
    static CURRENT: RefCell<PageContext> = RefCell::default();
}

/// Puts the earlier circumstances back, also after a panic.
struct Restored(PageContext);

impl Drop for Restored {
    fn drop(&mut self) {
        CURRENT.with(|current| current.replace(std::mem::take(&mut self.0)));
    }
}

/// Draws something under these circumstances.
pub fn within<T>(context: PageContext, draw: impl FnOnce() -> T) -> T {
    let _restored = Restored(CURRENT.with(|current| current.replace(context)));
    draw()
}

/// Returns the present time of the page that this thread draws.
pub fn now_ms() -> Option<i64> {
    CURRENT.with(|current| current.borrow().now_ms)
}

/// Returns the user's home directory, as the page that this thread draws knows it.
pub fn home() -> Option<String> {
    CURRENT.with(|current| current.borrow().home.clone())
}

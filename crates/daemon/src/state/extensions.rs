//! Values of upper modules that live as long as the daemon, one for each type.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The values, by type. A module above [`state`](super) can keep an index here, and this module needs no knowledge of
/// the type.
#[derive(Default)]
pub struct Extensions(Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Extensions {
    /// Returns the value of a type. The first call makes the value.
    pub fn get<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let value = all.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(make()));
        match Arc::clone(value).downcast::<T>() {
            Ok(value) => value,
            Err(_) => unreachable!("a value is kept under its own type"),
        }
    }
}

//! Values of upper modules that live as long as the daemon, one for each type.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The values by their type. A module above [`state`](super) keeps an index here without this module knowing it.
#[derive(Default)]
pub struct Extensions(Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Extensions {
    /// Returns the value of a type. The first caller makes it.
    pub fn get<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let value = all.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(make()));
        match Arc::clone(value).downcast::<T>() {
            Ok(value) => value,
            Err(_) => unreachable!("a value is kept under its own type"),
        }
    }
}

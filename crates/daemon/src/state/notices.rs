//! The result of the last notification.

use std::sync::{Mutex, MutexGuard, PoisonError};

use config::settings::NOTIFY;

/// The maximum number of characters of a failed notification's error that `doctor` shows. The log has the whole
/// error.
const MAX_SHOWN: usize = 300;

/// The result of the last notification, for `almoner doctor`.
#[derive(Default)]
pub struct Notices(Mutex<Option<Result<(), String>>>);

impl Notices {
    fn lock(&self) -> MutexGuard<'_, Option<Result<(), String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the result of the last notification.
    pub fn set(&self, how: Option<Result<(), String>>) {
        *self.lock() = how;
    }

    /// Returns the line of `almoner doctor` about the last notification, or `None` if no notification was sent.
    pub fn doctor_line(&self) -> Option<(String, bool, String)> {
        let how = self.lock().clone()?;
        let said = match &how {
            Ok(()) => "the last notification went out".to_owned(),
            Err(what) => what.chars().take(MAX_SHOWN).collect(),
        };
        Some((NOTIFY.to_owned(), how.is_ok(), said))
    }
}

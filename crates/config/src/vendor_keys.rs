//! The environment variables that name models and hold the keys of their vendors.

use control::protocol::ClientKeys;
use model::Vendor;
use model::served::{COMPAT_KEY, OLLAMA_HOST};

use crate::model_choice;

/// Returns the names of the variables that clients send to the daemon: only those that models need.
pub fn variables() -> impl Iterator<Item = &'static str> {
    let vendors = Vendor::ALL.into_iter().filter(|vendor| *vendor != Vendor::OpenAiResponses);
    let of = |vendor: Vendor| {
        vendor.keys().iter().copied().chain([vendor.url_variable(), vendor.model_variable()])
    };
    vendors.flat_map(of).chain([COMPAT_KEY, OLLAMA_HOST, model::PORT_VARIABLE, model_choice::VARIABLE])
}

/// Returns the variables of [`variables`] that are set in this environment.
pub fn from_env() -> ClientKeys {
    variables().filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect()
}

//! Variables of the environment that say which models there are, and the keys of their vendors.

use control::protocol::ClientKeys;
use model::Vendor;
use model::served::{COMPAT_KEY, OLLAMA_HOST};

use crate::model_choice;

/// Returns the variables whose values go to the daemon: those that models need, and no others.
pub fn variables() -> impl Iterator<Item = &'static str> {
    let vendors = Vendor::ALL.into_iter().filter(|vendor| *vendor != Vendor::OpenAiResponses);
    let of = |vendor: Vendor| {
        vendor.keys().iter().copied().chain([vendor.url_variable(), vendor.model_variable()])
    };
    vendors.flat_map(of).chain([COMPAT_KEY, OLLAMA_HOST, model::PORT_VARIABLE, model_choice::VARIABLE])
}

/// Returns those of [`variables`] that are set here.
pub fn from_env() -> ClientKeys {
    variables().filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect()
}

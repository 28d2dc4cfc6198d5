//! Keys of model vendors in the environment of this process.

use control::protocol::Brought;
use model::Vendor;
use model::served::COMPAT_KEY;

/// Returns the variables whose values go to the daemon: those that models need, and no others.
pub fn variables() -> impl Iterator<Item = &'static str> {
    let vendors = Vendor::ALL.into_iter().filter(|vendor| *vendor != Vendor::OpenAiResponses);
    let of = |vendor: Vendor| vendor.keys().iter().copied().chain([vendor.url_variable()]);
    vendors.flat_map(of).chain([COMPAT_KEY])
}

/// Returns those of [`variables`] that are set here.
pub fn from_env() -> Brought {
    variables().filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect()
}

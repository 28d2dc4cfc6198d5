//! The places of Almoner's files, the user's settings in them, and the time.
//!
//! The command line and the daemon both depend on this crate. It reads the user's environment and files. It opens no
//! socket and no store.
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    reason = "the settings of the program come from the environment, the clock and files, and this crate reads them"
)]

pub mod build;
pub mod case;
pub mod clock;
pub mod endowment_text;
pub mod file_view;
pub mod handover;
pub mod machine;
pub mod managed;
pub mod mcp_file;
pub mod model_choice;
pub mod network_source;
pub mod place;
pub mod place_lock;
pub mod policy_file;
pub mod private_dir;
pub mod quota;
pub mod raise;
pub mod secret_variables;
pub mod settings;
pub mod trust;
pub mod vendor_keys;
pub mod whole_file;
pub mod worker_file;

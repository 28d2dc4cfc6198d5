//! The types of formulas, names, grants, messages, runs and their parts.

pub(crate) mod binding;
pub mod blob_list;
pub mod budget;
pub(crate) mod call;
pub(crate) mod code_entry;
pub(crate) mod entry;
pub mod event;
pub(crate) mod file_part;
pub mod formula;
pub mod grant;
pub(crate) mod guard;
pub mod id;
pub(crate) mod input;
pub(crate) mod limits;
pub(crate) mod mail_amount;
pub mod message;
pub mod modules;
pub mod name;
pub mod outcome;
pub(crate) mod program;
pub(crate) mod promise;
pub mod proposal;
pub mod provenance;
pub(crate) mod question_count;
pub mod relocation;
pub(crate) mod reply;
pub mod run;
pub mod run_key;
pub(crate) mod run_outcome;
pub mod slot;
pub mod started_effect;
pub(crate) mod timer;
pub(crate) mod trace;
pub(crate) mod usage;
pub(crate) mod yield_reason;

/// Says of a number whether its stored form is left out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

//! Workers: prompt programs. [`definition`] reads worker files, [`drive()`] takes a run of one from where its journal
//! ends to where it must wait.
//!
//! | module | what it knows |
//! | --- | --- |
//! | [`definition`] | what a worker file says |
//! | [`fold`] | what a journal comes to |
//! | `bound` | what fills the slots, and which tools the model is offered for it |
//! | `conversation` | what the model is asked |
//! | `answer` | whether its final answer can be used |
//! | `deep` | which of its calls nest too deep to be kept |
//! | `judging` | how a call becomes a proposal with a verdict |
//! | `steps` | what the worker file writes down instead of asking a model |
//! | `workshop` | what a model that makes workers may give them |
//! | `drive` | what comes next |
//! | `expand` | a worker file with everything filled in |
#![forbid(unsafe_code)]

mod alarm;
mod answer;
mod asks;
mod bound;
mod budget;
mod conversation;
mod deep;
pub mod definition;
mod drive;
mod expand;
pub mod fold;
mod handed;
mod judging;
mod mail;
mod memory;
mod program;
mod question;
mod ready;
mod redaction;
mod spill;
mod steps;
mod trouble;
mod workshop;
mod world;

pub use asks::model_worker;
pub use bound::any_worker;
pub use conversation::first_prompt;
pub use drive::drive;
pub use expand::expand;
pub use kernel::run::PROJECT_POLICY;
pub use memory::Memory;
pub use workshop::{CREATE, SLOT as WORKSHOP, interface as workshop, open_slots};
pub use world::World;

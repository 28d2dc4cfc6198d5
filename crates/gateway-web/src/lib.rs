//! The web pages: where a person sees what is asked, understands it, and endows.
//!
//! An edge: it translates. What a page shows is what a [`control::protocol::Response`] says, and what a person does
//! there is a [`control::protocol::Request`]; nothing is decided here but who may ask ([`guard`]). Pages are whole
//! without a script. The script ([`assets`]) keeps them up to date, keeps what is typed, and checks fields early; all
//! of it through the same addresses.
//!
//! A page is a function from [`asked::Asked`] to [`answer::Answer`], one file each, in `pages/`; what several show is
//! in `page/`.
#![forbid(unsafe_code)]
#![allow(unreachable_pub, reason = "`pub` says what a module offers to the others")]

pub mod answer;
pub mod asked;
pub mod assets;
pub mod backend;
mod connections;
pub mod field;
mod graph;
pub mod guard;
mod live;
pub mod multipart;
pub mod page;
mod pages;
mod refusal;
pub mod serve;

//! The web pages, on which a user reads requests, understands them, and endows workers.
//!
//! This crate only translates. A page shows the content of a [`control::protocol::Response`], and an action of the
//! user becomes a [`control::protocol::Request`]. The crate itself decides only who may use the pages ([`guard`]).
//! Pages are complete without a script. The script ([`assets`]) updates pages, keeps drafts, and checks fields early,
//! all through the same addresses.
//!
//! A page is a function from [`page_request::PageRequest`] to [`answer::Answer`]. Each page has its own file in
//! `pages/`. Parts that several pages share are in `page/`.
#![forbid(unsafe_code)]
#![allow(unreachable_pub, reason = "`pub` says what a module offers to the others")]

pub mod answer;
pub mod assets;
pub mod backend;
mod connections;
pub mod field;
mod graph;
pub mod guard;
mod live;
pub mod multipart;
pub mod page;
pub mod page_request;
mod pages;
mod refusal;
pub mod serve;

//! Requests and their responses. This is the only module that uses all other parts of the daemon.

pub mod acts;
pub mod connections;
mod control_socket;
pub mod dispatch;
pub mod examine;
pub mod follow;
pub mod lookup;
pub mod main_loop;
pub mod rejected_commands;
pub mod save;
mod service_manager;
pub mod services;
pub mod web;
pub mod web_file;

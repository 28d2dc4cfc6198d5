//! Built-in capabilities on real directories.
#![allow(clippy::disallowed_methods, reason = "these tests set up and look at files from outside")]

#[cfg(test)]
mod append;
#[cfg(test)]
mod bench;
#[cfg(test)]
mod confinement;
#[cfg(test)]
mod granted_directory;
#[cfg(test)]
mod hidden_files;
#[cfg(test)]
mod http;
#[cfg(test)]
mod line_ends;
#[cfg(test)]
mod list;
#[cfg(test)]
mod look_alikes;
#[cfg(test)]
mod methods;
#[cfg(test)]
mod mount;
#[cfg(test)]
mod outbox;
mod read;
#[cfg(test)]
mod searching;
#[cfg(test)]
mod swaps;
#[cfg(test)]
mod write;

//! Directories, trees and archives of modules, and the access of guests to them.

pub mod directories;
pub mod folder_list;
pub mod guest_files;
pub mod module_archives;
pub mod trees;

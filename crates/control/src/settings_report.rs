//! The settings that are in force, each with its origin, as a page shows them.

use passable::Untrusted;

use crate::exit::Failure;

/// The settings that are in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsReport {
    /// The path of the user's settings file.
    pub path: String,
    /// Whether the file exists.
    pub is_there: bool,
    /// The settings, by topic.
    pub rows: Vec<SettingRow>,
    /// The model that the settings name for runs that name none.
    pub default_model: Option<String>,
    /// The rules of the administrator of the machine, in one line for each part.
    pub managed: Vec<Untrusted>,
    /// The reason why the settings file cannot be read.
    pub failure: Option<Failure>,
}

/// A setting that is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingRow {
    /// The section of the file.
    pub section: &'static str,
    /// The key in the section.
    pub key: String,
    /// The value, without secrets.
    pub value: String,
    /// The origin of the value.
    pub origin: SettingOrigin,
}

/// The origin of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    /// The program decides, since nothing else does.
    BuiltIn,
    /// The user's settings file.
    File,
    /// A variable in the environment of the daemon.
    Environment(&'static str),
}

//! Sessions of the web pages. Each session is a browser that was admitted.

use kernel::time::iso;
use passable::Untrusted;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// An act on sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum SessionAct {
    /// Lists the sessions.
    List,
    /// Ends one session.
    Revoke {
        /// The number of the session.
        number: u64,
    },
    /// Ends all sessions, makes all unused codes invalid, and removes all passkeys.
    RevokeAll,
}

/// The session of one browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionRow {
    /// The number of the session.
    pub number: u64,
    /// The browser's name for itself.
    pub browser: Untrusted,
    /// The start of the session, in milliseconds since 1970.
    pub begun_ms: i64,
    /// The end of the session, in milliseconds since 1970.
    pub ends_ms: i64,
    /// Whether the browser used a bare IP address. Its cookie may then also be sent to other ports of this machine.
    #[serde(default)]
    pub by_address: bool,
}

/// Returns the sessions as text, one per line.
pub fn render(rows: &[SessionRow]) -> String {
    let line = |row: &SessionRow| {
        let (begun, ends) = (iso(row.begun_ms), iso(row.ends_ms));
        let under = if row.by_address { " under the bare address" } else { "" };
        let browser = row.browser.visible_line();
        format!("{:<4} since {begun}, until {ends}{under}: {browser}\n", row.number)
    };
    if rows.is_empty() {
        return "no browser is let in: `almoner open` lets one in\n".to_owned();
    }
    rows.iter().map(line).collect()
}

/// Returns the sessions as JSON.
pub fn json(rows: &[SessionRow]) -> Json {
    let row = |row: &SessionRow| json!({ "number": row.number, "browser": row.browser.raw(), "begun": iso(row.begun_ms), "ends": iso(row.ends_ms), "by_address": row.by_address });
    json!({ "version": 1, "sessions": rows.iter().map(row).collect::<Vec<_>>() })
}

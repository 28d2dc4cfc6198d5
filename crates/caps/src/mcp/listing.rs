//! The list of a server's tools, read part by part: a bad tool, or a bad page, costs only that part.

use std::collections::BTreeSet;

use kernel::BlobHash;
use resource::mcp::ToolDefinition;
use serde_json::{Map, Value as Json};

use super::mcp_error::McpError;

/// The request for a page of the list.
const LIST: &str = "tools/list";
/// The maximum number of tools that are looked at. `MAX_PAGES` limits the pages of their list.
const MAX_TOOLS: usize = 2000;
const MAX_PAGES: usize = 200;
/// The error code of JSON-RPC for a method that does not exist.
const UNKNOWN_METHOD: i64 = -32_601;

/// A server's present descriptions of its tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolListing {
    /// The tools whose descriptions can be read.
    pub tools: Vec<ToolDefinition>,
    /// The tools whose descriptions cannot be read.
    pub faulty: Vec<FaultyTool>,
    /// The faults of the list itself, in our own words.
    pub notes: Vec<String>,
}

/// A tool whose description cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultyTool {
    /// The server's name for the tool, or its place in the list.
    pub name: String,
    /// The fault, in our own words.
    pub reason: String,
    /// The digest of the description.
    pub digest: BlobHash,
}

impl ToolListing {
    /// Returns the reason why the list has no tool of this name, in our own words.
    pub fn absence(&self, name: &str) -> String {
        match self.faulty.iter().find(|tool| tool.name == name) {
            Some(tool) => tool.reason.clone(),
            None => std::iter::once("it has no such tool")
                .chain(self.notes.iter().map(String::as_str))
                .collect::<Vec<_>>()
                .join("; "),
        }
    }

    fn add(&mut self, tools: &[Json]) {
        for tool in tools {
            match definition(tool) {
                // Some servers list a tool again on each page.
                Ok(tool) if self.tools.contains(&tool) => {}
                Ok(tool) => self.tools.push(tool),
                Err(reason) => {
                    let named = tool.get("name").and_then(Json::as_str).filter(|name| !name.is_empty());
                    let place = self.tools.len() + self.faulty.len() + 1;
                    let faulty = FaultyTool {
                        name: named.map_or_else(|| format!("(tool {place})"), str::to_owned),
                        reason,
                        digest: BlobHash::of(tool.to_string().as_bytes()),
                    };
                    if !self.faulty.iter().any(|other| other.digest == faulty.digest) {
                        self.faulty.push(faulty);
                    }
                }
            }
        }
    }
}

/// Reads all pages of the list. The function `request` asks for one page.
///
/// # Errors
/// When the first page cannot be read, or the server breaks off.
pub(super) fn read(
    mut request: impl FnMut(Map<String, Json>) -> Result<Json, McpError>,
) -> Result<ToolListing, McpError> {
    let mut listing = ToolListing::default();
    let (mut cursor, mut seen) = (None, BTreeSet::new());
    for page in 1..=MAX_PAGES {
        let params = cursor.take().map(|cursor| ("cursor".to_owned(), cursor));
        let answer = request(params.into_iter().collect()).and_then(|result| {
            match result.get("tools").and_then(Json::as_array) {
                Some(tools) => Ok((tools.clone(), result.get("nextCursor").cloned())),
                None if result.get("tools").is_some() => Err(McpError::invalid(LIST, "`tools` is no list")),
                None => Err(McpError::invalid(LIST, "it has no list `tools`")),
            }
        });
        let (tools, next) = match answer {
            Ok(answer) => answer,
            // A server without tools need not know the request.
            Err(McpError::Refused { code: UNKNOWN_METHOD, .. }) if page == 1 => {
                listing.notes.push("it offers no tools".to_owned());
                return Ok(listing);
            }
            Err(error @ (McpError::Refused { .. } | McpError::InvalidAnswer { .. })) if page > 1 => {
                // A refusal's own words are not ours.
                let reason = match error {
                    McpError::Refused { code, .. } => format!("the server refused it (code {code})"),
                    other => other.to_string(),
                };
                listing.notes.push(format!("page {page} of its tools cannot be read: {reason}"));
                return Ok(listing);
            }
            Err(error) => return Err(error),
        };
        listing.add(&tools);
        if listing.tools.len() + listing.faulty.len() > MAX_TOOLS {
            listing.notes.push(format!("only the first {MAX_TOOLS} tools were looked at"));
            listing.tools.truncate(MAX_TOOLS);
            return Ok(listing);
        }
        match next {
            None | Some(Json::Null) => return Ok(listing),
            // An empty cursor may be one (PrefectHQ/fastmcp#5026), or may mean the end, again and again
            // (modelcontextprotocol/java-sdk#628). So it is followed once, like any other.
            Some(next) if seen.insert(next.to_string()) => cursor = Some(next),
            Some(_) => return Ok(listing),
        }
    }
    listing.notes.push(format!("only the first {MAX_PAGES} pages of its tools were read"));
    Ok(listing)
}

/// Reads the definition of one tool.
///
/// # Errors
/// The fault of the definition, in our own words.
fn definition(tool: &Json) -> Result<ToolDefinition, String> {
    if !tool.is_object() {
        return Err("it is no object".to_owned());
    }
    let part = |name: &str| tool.get(name).filter(|part| !part.is_null());
    let text = |name: &str| match part(name) {
        Some(Json::String(text)) => Some(text.clone()),
        other => other.map(Json::to_string),
    };
    let name = match part("name") {
        None => return Err("it has no `name`".to_owned()),
        Some(Json::String(name)) if name.is_empty() => return Err("its `name` is empty".to_owned()),
        Some(Json::String(name)) => name.clone(),
        Some(_) => return Err("its `name` is no text".to_owned()),
    };
    let input = match part("inputSchema") {
        Some(input @ Json::Object(schema)) => {
            let is_object = |kind: &Json| match kind {
                Json::String(kind) => kind == "object",
                Json::Array(kinds) => kinds.iter().any(|kind| kind == "object"),
                _ => false,
            };
            match schema.get("type") {
                None | Some(Json::Null) => {}
                Some(kind) if is_object(kind) => {}
                Some(_) => return Err("the `type` of its `inputSchema` is not `object`".to_owned()),
            }
            input.clone()
        }
        Some(_) => return Err("its `inputSchema` is no object".to_owned()),
        None => {
            let meant =
                ["input_schema", "parameters", "schema"].into_iter().find(|name| part(name).is_some());
            return Err(match meant {
                Some(meant) => format!("it has no `inputSchema`, only `{meant}`"),
                None => "it has no `inputSchema`".to_owned(),
            });
        }
    };
    Ok(ToolDefinition {
        name,
        title: text("title"),
        description: text("description"),
        input,
        output: part("outputSchema").cloned(),
        hints: part("annotations").cloned(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn good(name: &str) -> Json {
        json!({ "name": name, "inputSchema": { "type": "object" } })
    }

    /// Reads a list whose pages are given. A page that is a number is a refusal with this code.
    fn listing(pages: &[Json]) -> (Result<ToolListing, McpError>, usize) {
        let mut asked = 0;
        let read = read(|_| {
            let page = pages.get(asked).or(pages.last()).cloned().unwrap_or_default();
            asked += 1;
            match page.as_i64() {
                Some(code) => {
                    Err(McpError::Refused { request: LIST.to_owned(), code, words: "no".to_owned() })
                }
                None => Ok(page),
            }
        });
        (read, asked)
    }

    fn names(listing: &ToolListing) -> Vec<&str> {
        listing.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    #[test]
    fn bad_tool_costs_only_itself() {
        for (tool, reason) in [
            (json!({ "name": "t" }), "it has no `inputSchema`"),
            // IvanMurzak/Unity-MCP#440: `null` for a tool without parameters.
            (json!({ "name": "t", "inputSchema": null }), "it has no `inputSchema`"),
            (json!({ "name": "t", "inputSchema": true }), "its `inputSchema` is no object"),
            (json!({ "name": "t", "inputSchema": [] }), "its `inputSchema` is no object"),
            (json!({ "name": "t", "inputSchema": "{}" }), "its `inputSchema` is no object"),
            // sandialabs/atlas-ui-3#727.
            (
                json!({ "name": "t", "inputSchema": { "type": "string" } }),
                "the `type` of its `inputSchema` is not `object`",
            ),
            (json!({ "name": "t", "input_schema": {} }), "it has no `inputSchema`, only `input_schema`"),
            (json!({ "name": 7, "inputSchema": {} }), "its `name` is no text"),
            (json!({ "name": "", "inputSchema": {} }), "its `name` is empty"),
            (json!({ "inputSchema": {} }), "it has no `name`"),
            (json!(["t"]), "it is no object"),
            (json!(null), "it is no object"),
        ] {
            // mastra-ai/mastra#21859: the others stay.
            let (read, _) = listing(&[json!({ "tools": [good("a"), tool, good("b")] })]);
            let read = read.unwrap();
            assert_eq!(names(&read), ["a", "b"], "{tool}");
            assert_eq!(read.faulty[0].reason, reason, "{tool}");
            assert_eq!(read.absence(&read.faulty[0].name), reason, "{tool}");
        }
    }

    #[test]
    fn odd_parts_of_a_tool_leave_it_usable() {
        for part in [
            json!({ "description": null }),
            json!({ "description": 7 }),
            json!({ "title": ["x"] }),
            json!({ "annotations": "read only" }),
            json!({ "annotations": { "readOnlyHint": "true" } }),
            json!({ "outputSchema": "none" }),
            json!({ "icons": 7, "_meta": [], "future": {} }),
            // zereight/gitlab-mcp#286.
            json!({ "inputSchema": {} }),
            json!({ "inputSchema": { "type": ["object", "null"] } }),
            // anthropics/claude-code#88049.
            json!({ "inputSchema": { "anyOf": [{ "type": "object" }] } }),
        ] {
            let mut tool = good("t");
            tool.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
            let (read, _) = listing(&[json!({ "tools": [tool] })]);
            let read = read.unwrap();
            assert_eq!((names(&read), read.faulty.len()), (vec!["t"], 0), "{part}");
        }
    }

    #[test]
    fn pages_end_and_a_bad_page_costs_only_itself() {
        let page = |name: &str, next: Json| json!({ "tools": [good(name)], "nextCursor": next });
        for (pages, found, asked, note) in [
            (vec![page("a", Json::Null)], vec!["a"], 1, ""),
            (vec![page("a", json!("2")), page("b", Json::Null)], vec!["a", "b"], 2, ""),
            // An empty cursor leads to one more page, and then to the end.
            (vec![page("a", json!("")), page("b", Json::Null)], vec!["a", "b"], 2, ""),
            (vec![page("a", json!(""))], vec!["a"], 2, ""),
            // DeusData/codebase-memory-mcp#1247: a cursor that does not advance.
            (vec![page("a", json!("8"))], vec!["a"], 2, ""),
            (vec![page("a", json!(2)), page("b", Json::Null)], vec!["a", "b"], 2, ""),
            (
                vec![page("a", json!("2")), json!(-32603)],
                vec!["a"],
                2,
                "page 2 of its tools cannot be read: the server refused it (code -32603)",
            ),
            (
                vec![page("a", json!("2")), json!({})],
                vec!["a"],
                2,
                "page 2 of its tools cannot be read: its answer to `tools/list` cannot be used: it has no list `tools`",
            ),
            (vec![json!(-32601)], vec![], 1, "it offers no tools"),
        ] {
            let (read, times) = listing(&pages);
            let read = read.unwrap();
            assert_eq!((names(&read), times), (found, asked), "{pages:?}");
            assert_eq!(read.notes.join(""), note, "{pages:?}");
        }
        for (page, reason) in [
            (json!({}), "it has no list `tools`"),
            (json!({ "tools": {} }), "`tools` is no list"),
            (json!({ "tools": null }), "`tools` is no list"),
            (json!([]), "it has no list `tools`"),
        ] {
            assert_eq!(
                listing(std::slice::from_ref(&page)).0,
                Err(McpError::invalid(LIST, reason)),
                "{page}"
            );
        }
        assert!(matches!(listing(&[json!(-1)]).0, Err(McpError::Refused { code: -1, .. })));
    }

    #[test]
    fn endless_list_is_bounded() {
        let mut number = 0;
        let endless = read(|_| {
            number += 1;
            let tools: Vec<Json> = (0..100).map(|at| good(&format!("t{number}-{at}"))).collect();
            Ok(json!({ "tools": tools, "nextCursor": format!("{number}") }))
        });
        let endless = endless.unwrap();
        assert_eq!((endless.tools.len(), endless.notes.len()), (MAX_TOOLS, 1));
        let mut number = 0;
        let empty = read(|_| {
            number += 1;
            Ok(json!({ "tools": [], "nextCursor": format!("{number}") }))
        });
        assert!(empty.unwrap().absence("x").contains("only the first 200 pages"));
    }

    #[test]
    fn equal_tools_count_once_and_unequal_ones_stay_apart() {
        let other = json!({ "name": "a", "description": "x", "inputSchema": {} });
        let (read, _) = listing(&[json!({ "tools": [good("a"), good("a"), other] })]);
        assert_eq!(names(&read.unwrap()), ["a", "a"]);
    }
}

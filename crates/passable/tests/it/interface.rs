//! Tools as models see them, and the way back from a call to checked arguments.

use passable::{Effect, Interface, Method, NoRef, Param, Pattern, Value};
use serde_json::json;

fn outbox() -> Interface {
    Interface::new("Outbox", "Sends mail.").with(
        Method::new("send", Effect::Commit, "Sends one mail.")
            .param(Param::required("to", Pattern::string(), "who gets it"))
            .param(Param::required("parts", Pattern::array_of(Pattern::one_of(["a", "b"])), ""))
            .param(Param::optional("copies", Pattern::nat(), "how many more"))
            .returns(Pattern::exact_record([("id", Pattern::string())], [] as [(&str, Pattern); 0]))
            .with_probe(),
    )
}

#[test]
fn method_projects_to_tool_row_and_guard() {
    let interface = outbox();
    let send = interface.method("send").unwrap();
    let tool = send.tool_schema("outbox_send");
    assert_eq!(
        serde_json::to_value(&tool).unwrap(),
        json!({
            "name": "outbox_send",
            "description": "Sends one mail.",
            "parameters": {
                "type": "object",
                "properties": {
                    "to": { "type": "string", "description": "who gets it" },
                    "parts": { "type": "array", "items": { "enum": ["a", "b"] } },
                    "copies": { "type": "string", "pattern": "^[0-9]+$", "description": "how many more" },
                },
                "required": ["to", "parts"],
                "additionalProperties": false,
            },
        })
    );
    let mcp = send.mcp_tool("outbox_send");
    assert_eq!(mcp["annotations"], json!({ "readOnlyHint": false, "destructiveHint": true }));
    assert_eq!(mcp["outputSchema"]["required"], json!(["id"]));
    let row = interface.table().remove(0);
    assert_eq!(
        (row.effect, row.signature.as_str()),
        (
            "sends",
            "send(to: text, parts: a list of elements that are each one of \"a\" or \"b\", copies?: a whole number, \
             0 or more) → a record of id: text"
        )
    );
    let stored = serde_json::to_string(&interface).unwrap();
    assert_eq!(serde_json::from_str::<Interface>(&stored).unwrap(), interface);
    let text = "M.interface(\"Outbox\", { send: M.callWhen(M.string(), M.arrayOf(M.or(\"a\", \"b\"))).optional(M.nat())\
                .returns({ id: M.string() }) })";
    assert_eq!(interface.guard().to_text(), text);
}

#[test]
fn tool_arguments_are_read_or_refused_with_a_reason() {
    let interface = outbox();
    let send = interface.method("send").unwrap();
    let read = |json: serde_json::Value| send.arguments_from_json(&json).map_err(|mismatch| mismatch.teach());
    let good = read(json!({ "to": "ada", "parts": ["b"], "copies": 3 })).unwrap();
    assert_eq!(Value::array(good), Value::<NoRef>::parse("['ada', ['b'], 3n]").unwrap());
    assert_eq!(read(json!({ "to": "ada", "parts": [], "copies": null })).unwrap().len(), 2);
    for (json, expected) in [
        (
            json!({ "to": "ada" }),
            "`parts`: expected a list of elements that are each one of \"a\" or \"b\", found nothing",
        ),
        (json!({ "to": 7, "parts": [] }), "`to`: expected text, found the number 7"),
        (
            json!({ "to": "ada", "parts": ["a", "c"] }),
            "`parts[1]`: expected one of \"a\" or \"b\", found the text \"c\"",
        ),
        (
            json!({ "to": "ada", "parts": [], "cc\u{202E}": 1 }),
            "expected only the arguments `to`, `parts`, `copies`, found the unknown argument `cc\\u{202E}`",
        ),
        (
            json!([1]),
            "expected an object with the arguments `to`, `parts`, `copies`, found a list of 1 element",
        ),
        // charmbracelet/fantasy#304: a name that is nearly right, so the right one is missing too.
        (
            json!({ "to": "ada", "part": ["a"] }),
            "expected only the arguments `to`, `parts`, `copies`, found the unknown argument `part`",
        ),
        // AtomicBot-ai/atomic-agent#182: a list written as a text.
        (
            json!({ "to": "ada", "parts": "[\"a\"]" }),
            "`parts`: expected a list of elements that are each one of \"a\" or \"b\", found the text \"[\"a\"]\"",
        ),
        (
            json!({ "to": "ada", "parts": [], "copies": "-3" }),
            "`copies`: expected a whole number, 0 or more, found the big integer -3",
        ),
    ] {
        assert_eq!(read(json).unwrap_err(), expected);
    }
}

#[test]
fn capabilities_are_resolved_by_the_caller() {
    let method = Method::<String>::new("copy", Effect::Modify, "").param(Param::required(
        "from",
        Pattern::remotable("dir"),
        "",
    ));
    let json = json!({ "from": "inbox" });
    assert!(method.arguments_from_json(&json).is_err());
    let resolve = &mut |_: &Pattern<String>, name: &str| Some(Value::remotable(format!("id of {name}")));
    let arguments = method.arguments_from_json_with(&json, resolve).unwrap();
    assert_eq!(arguments, [Value::remotable("id of inbox".to_owned())]);
}

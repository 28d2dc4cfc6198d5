//! The messages of an answer in each format, with the quirks of servers.

use serde_json::{Map, Value, json};

use super::chance::Chance;
use super::intent::{End, Intent};
use super::wire::{Messages, odd_count, pieces};

/// Returns the messages, and the word by which the server ends the answer.
pub(crate) fn render(chance: &mut Chance, format: &str, intent: &Intent) -> (Messages, String) {
    let (mut messages, reason) = match format {
        "chat" => chat(chance, intent),
        "responses" => responses(chance, intent),
        "anthropic" => anthropic(chance, intent),
        "gemini" => gemini(chance, intent),
        _ => ollama(chance, intent),
    };
    if let End::Reported(words) = &intent.end {
        let failure = failure(chance, format, words);
        let at = if messages.is_whole { 0 } else { chance.below(messages.end + 1).min(messages.list.len()) };
        messages.list.truncate(at);
        messages.list.push(failure);
        messages.end = at;
        messages.takes_noise = false;
    }
    (messages, reason)
}

fn failure(chance: &mut Chance, format: &str, words: &str) -> Value {
    let code = chance.pick(&[json!(500), json!("500"), json!("server_error"), json!(null), json!(503)]);
    let mut forms = vec![
        json!({"error": {"message": words, "code": code}}),
        json!({"error": {"message": words, "type": "server_error", "param": null}}),
        json!({"error": words}),
        json!({"error": {"code": 502, "message": "Provider returned error", "metadata": {"raw": words}}}),
        json!({"type": "error", "error": {"type": "api_error", "message": words}}),
    ];
    match format {
        "chat" => forms.extend([
            json!({"object": "error", "message": words, "type": "InternalServerError", "code": 500}),
            json!({"detail": words}),
            json!({"choices": [{"index": 0, "delta": {"content": ""}, "error": {"code": 502, "message": words}, "finish_reason": "error"}]}),
            json!({"choices": null, "base_resp": {"status_code": 1013, "status_msg": words}}),
            json!(words),
        ]),
        "responses" => forms = vec![
            json!({"type": "error", "code": code, "message": words, "param": null}),
            json!({"type": "error", "error": {"type": "server_error", "message": words}}),
            json!({"type": "response.failed", "response": {"status": "failed", "error": {"code": "server_error", "message": words}}}),
            json!({"error": {"message": words}}),
        ],
        "gemini" => forms.push(json!([{"error": {"code": 503, "message": words, "status": "UNAVAILABLE"}}])),
        _ => {}
    }
    chance.pick(&forms)
}

/// Returns the text with its thinking around it, where the format has no other place for it.
fn wrapped(chance: &mut Chance, intent: &Intent) -> String {
    if intent.thinking.is_empty() || (intent.text.is_empty() && !matches!(intent.end, End::Complete)) {
        return intent.text.clone();
    }
    let (thinking, text) = (&intent.thinking, &intent.text);
    match chance.below(5) {
        0 => format!("<think>\n{thinking}\n</think>\n\n{text}"),
        1 if !text.is_empty() => format!("{thinking}\n</think>\n\n{text}"),
        2 => format!("<THINKING>{thinking}</THINKING>{text}"),
        3 => format!("[THINK]{thinking}[/THINK]{text}"),
        _ => format!("\n<think></think>\n{text}"),
    }
}

fn usage(chance: &mut Chance, input: &str, output: &str) -> Value {
    match chance.below(8) {
        0 => json!(null),
        1 => json!("none"),
        2 => json!({}),
        _ => {
            let mut usage = Map::new();
            usage.insert(input.into(), odd_count(chance));
            usage.insert(output.into(), odd_count(chance));
            usage.insert("details".into(), json!({"x": [null]}));
            Value::Object(usage)
        }
    }
}

/// Adds fields that say nothing.
fn padded(chance: &mut Chance, mut value: Value, names: &[&str]) -> Value {
    for name in names {
        if chance.percent(20) && value.get(*name).is_none() {
            value[*name] = Value::Null;
        }
    }
    value
}

fn chat(chance: &mut Chance, intent: &Intent) -> (Messages, String) {
    let has_calls = !intent.calls.is_empty();
    let reason = match &intent.end {
        End::Length => chance.pick(&["length", "LENGTH", "max_tokens", "model_length"]),
        End::Withheld => chance.pick(&["content_filter", "CONTENT_FILTER", "sensitive", "safety"]),
        End::Broken => chance.pick(&[
            "error",
            "ERROR",
            "abort",
            "network_error",
            "cancelled",
            "timeout",
            "insufficient_system_resource",
        ]),
        _ if has_calls => chance.pick(&["tool_calls", "stop", "function_call", "tool_use"]),
        _ => chance.pick(&["stop", "STOP", "eos", "end_turn", "stop_sequence", "COMPLETE"]),
    };
    let reasoning_field = chance.percent(40);
    let text = if reasoning_field { intent.text.clone() } else { wrapped(chance, intent) };
    let as_parts = chance.percent(25);
    let content = |text: &str, parts: bool| match parts {
        true => json!([{"type": "text", "text": text}]),
        false => json!(text),
    };
    if chance.percent(25) {
        let mut message = json!({"role": "assistant", "content": content(&text, as_parts)});
        if text.is_empty() {
            message["content"] = chance.pick(&[json!(null), json!(""), json!([])]);
        }
        if reasoning_field {
            message[chance.pick(&["reasoning_content", "reasoning"])] = json!(intent.thinking);
        }
        if let End::Declined(words) = &intent.end {
            message["refusal"] = json!(words);
        }
        let calls = intent.calls.iter().enumerate().map(|(at, (name, arguments))| {
            let arguments = if chance.percent(30) { arguments.clone() } else { json!(arguments.to_string()) };
            let mut call = json!({"type": "function", "function": {"name": name, "arguments": arguments}});
            if chance.percent(70) {
                call["id"] = json!(format!("id{at}"));
            }
            call
        });
        let calls: Vec<_> = calls.collect();
        match calls.as_slice() {
            [] => message = padded(chance, message, &["tool_calls", "function_call", "refusal"]),
            [single] if chance.percent(30) => message["function_call"] = single["function"].clone(),
            _ => message["tool_calls"] = json!(calls),
        }
        let mut choice = json!({"index": 0, "message": message, "finish_reason": reason});
        if has_calls || matches!(intent.end, End::Complete) && chance.percent(10) {
            choice["finish_reason"] = chance.pick(&[json!("stop"), json!(null), json!("")]);
        }
        if matches!(intent.end, End::Broken) {
            choice["finish_reason"] = json!(reason);
        }
        if chance.percent(20) {
            choice.as_object_mut().unwrap().remove("index");
        }
        let whole =
            json!({"choices": [choice], "usage": usage(chance, "prompt_tokens", "completion_tokens")});
        return (
            Messages { list: vec![whole], end: 0, is_whole: true, done: false, takes_noise: false },
            reason.into(),
        );
    }
    let silence = chance.pick(&[json!(null), json!(""), json!("null")]);
    let as_text =
        chance.percent(8) && !has_calls && !reasoning_field && !matches!(intent.end, End::Declined(_));
    let index = chance.pick(&[json!(0), json!(0), json!("0"), json!(null)]);
    let chunk =
        |delta: Value| json!({"choices": [{"index": index, "delta": delta, "finish_reason": silence}]});
    let mut list = Vec::new();
    if chance.percent(50) && !as_text {
        list.push(chunk(padded(
            chance,
            json!({"role": "assistant"}),
            &["content", "tool_calls", "refusal", "function_call"],
        )));
    }
    if reasoning_field && !intent.thinking.is_empty() {
        let thinking = match chance.below(3) {
            0 => {
                json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": intent.thinking}]}]})
            }
            1 => json!({"reasoning_content": intent.thinking, "content": null}),
            _ => json!({"reasoning": intent.thinking, "content": ""}),
        };
        list.push(chunk(thinking));
    }
    for piece in pieces(chance, &text) {
        if as_text {
            list.push(json!({"choices": [{"index": 0, "text": piece, "finish_reason": silence}]}));
        } else {
            let delta = padded(
                chance,
                json!({"content": content(&piece, as_parts)}),
                &["tool_calls", "role", "reasoning_content"],
            );
            list.push(chunk(delta));
        }
        if chance.percent(4) {
            list.push(json!({"choices": [{"index": 1, "delta": {"content": "of another choice"}, "finish_reason": null}]}));
        }
    }
    if let End::Declined(words) = &intent.end {
        list.extend(
            pieces(chance, words).iter().map(|piece| chunk(json!({"content": null, "refusal": piece}))),
        );
    }
    list.extend(chat_calls(chance, &intent.calls).into_iter().map(chunk));
    let end = list.len();
    let only_done = intent.end == End::Complete && chance.percent(15);
    if !only_done {
        let mut choice = json!({"index": 0, "delta": {}, "finish_reason": reason});
        match chance.below(4) {
            0 => choice["delta"] = Value::Null,
            1 => choice["delta"] = json!({"content": chance.pick(&[json!(""), json!(null)])}),
            2 if intent.thinking.is_empty()
                && !has_calls
                && !as_text
                && !matches!(intent.end, End::Declined(_)) =>
            {
                choice = json!({"index": 0, "message": {"role": "assistant", "content": intent.text}, "finish_reason": reason});
            }
            _ => {}
        }
        if intent.end == End::Complete && chance.percent(10) {
            choice["finish_reason"] = Value::Null;
            choice["finish_details"] = json!({"type": "stop"});
        }
        list.push(json!({"choices": [choice]}));
    }
    if chance.percent(60) {
        let choices = chance.pick(&[json!([]), json!(null)]);
        list.push(json!({"choices": choices, "usage": usage(chance, "prompt_tokens", "completion_tokens")}));
    }
    let done = only_done || chance.percent(70);
    (Messages { list, end, is_whole: false, done, takes_noise: !only_done }, reason.into())
}

/// Returns the deltas of calls, in one of the ways in which servers number them.
fn chat_calls(chance: &mut Chance, calls: &[(String, Value)]) -> Vec<Value> {
    let delta = |call: Value| json!({"tool_calls": [call]});
    let way = chance.below(6);
    let mut out = Vec::new();
    for (at, (name, arguments)) in calls.iter().enumerate() {
        let whole = arguments.to_string();
        match way {
            // As documented: a number, an id and a name, then pieces of the arguments.
            0 | 1 => {
                let number = if way == 0 { json!(at) } else { json!(at.to_string()) };
                out.push(delta(json!({"index": number, "id": format!("id{at}"), "type": "function", "function": {"name": name, "arguments": ""}})));
                let stand_in = chance.percent(20);
                if stand_in {
                    out.push(delta(json!({"index": number, "function": {"arguments": "{}"}})));
                }
                for piece in pieces(chance, &whole) {
                    let repeated = chance.percent(10);
                    let mut function = json!({"arguments": piece});
                    if repeated && !stand_in {
                        function["name"] = json!(name);
                    }
                    out.push(delta(json!({"index": number, "id": chance.pick(&[json!(null), json!(""), json!(format!("id{at}"))]), "function": function})));
                }
            }
            // Whole calls without numbers and ids.
            2 => out.push(delta(json!({"function": {"name": name, "arguments": whole}}))),
            // Whole calls under the same number and id.
            3 if calls.iter().filter(|other| *other == &calls[at]).count() == 1 => {
                out.push(delta(json!({"index": 0, "id": "same", "function": {"name": name, "arguments": whole}})));
            }
            // Whole calls under the same number, with ids of their own, the arguments as JSON.
            3 | 4 => out.push(delta(json!({"index": 0, "id": format!("own{at}"), "function": {"name": name, "arguments": arguments}}))),
            // Without the object around name and arguments, the arguments as a text of a text.
            _ => out.push(delta(json!({"index": at, "id": format!("id{at}"), "name": name, "arguments": json!(whole).to_string()}))),
        }
    }
    if way == 2 && out.len() > 1 && chance.percent(50) {
        let all: Vec<Value> = out.iter().map(|one| one["tool_calls"][0].clone()).collect();
        return vec![json!({"tool_calls": all})];
    }
    out
}

fn ollama(chance: &mut Chance, intent: &Intent) -> (Messages, String) {
    let reason = match &intent.end {
        End::Length => "length",
        End::Withheld => "content_filter",
        End::Broken => chance.pick(&["load", "unload", "error", "cancelled"]),
        _ => "stop",
    };
    let own_field = chance.percent(40);
    let mut text = if own_field { intent.text.clone() } else { wrapped(chance, intent) };
    let declined = match &intent.end {
        End::Declined(words) => Some(json!([{"type": "refusal", "refusal": words}])),
        _ => None,
    };
    let calls: Vec<Value> = intent
        .calls
        .iter()
        .map(|(name, arguments)| {
            let arguments = if chance.percent(25) { json!(arguments.to_string()) } else { arguments.clone() };
            json!({"function": {"index": 0, "name": name, "arguments": arguments}})
        })
        .collect();
    let mut last = json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
                          "prompt_eval_count": odd_count(chance), "eval_count": odd_count(chance)});
    if intent.end == End::Complete && chance.percent(20) {
        last["done_reason"] = chance.pick(&[json!(""), json!(null), json!("STOP")]);
    }
    if chance.percent(10) {
        last["done"] = json!("true");
    }
    if chance.percent(25) {
        last["message"]["content"] = declined.unwrap_or(json!(text));
        if own_field {
            last["message"]["thinking"] = json!(intent.thinking);
        }
        if !calls.is_empty() {
            last["message"]["tool_calls"] = json!(calls);
        }
        return (
            Messages { list: vec![last], end: 0, is_whole: true, done: false, takes_noise: false },
            reason.into(),
        );
    }
    let line = |message: Value| json!({"model": "m", "message": message, "done": false});
    let mut list = Vec::new();
    if own_field && !intent.thinking.is_empty() {
        list.push(line(json!({"role": "assistant", "content": "", "thinking": intent.thinking})));
    }
    if let Some(words) = declined {
        list.push(line(json!({"content": words})));
        text.clear();
    }
    for piece in pieces(chance, &text) {
        list.push(line(padded(
            chance,
            json!({"role": "assistant", "content": piece}),
            &["thinking", "tool_calls", "images"],
        )));
    }
    match chance.percent(50) {
        true if !calls.is_empty() => list.push(line(json!({"content": "", "tool_calls": calls}))),
        _ => list.extend(calls.into_iter().map(|call| line(json!({"content": null, "tool_calls": [call]})))),
    }
    let end = list.len();
    list.push(last);
    (Messages { list, end, is_whole: false, done: false, takes_noise: true }, reason.into())
}

fn gemini(chance: &mut Chance, intent: &Intent) -> (Messages, String) {
    let reason = match &intent.end {
        End::Length => "MAX_TOKENS",
        End::Withheld | End::Declined(_) => {
            chance.pick(&["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "SPII", "BLOCKLIST"])
        }
        End::Broken => chance.pick(&["OTHER", "NO_IMAGE", "TOO_MANY_TOOL_CALLS", "error"]),
        _ => chance.pick(&["STOP", "FINISH_REASON_STOP", "stop"]),
    };
    let snake = chance.percent(20);
    let spell = |camel: &str, other: &str| if snake { other.to_owned() } else { camel.to_owned() };
    let marked = chance.percent(60);
    let text = if marked { intent.text.clone() } else { wrapped(chance, intent) };
    let mut parts: Vec<Value> = Vec::new();
    if marked && !intent.thinking.is_empty() {
        parts.push(json!({"text": intent.thinking, "thought": chance.pick(&[json!(true), json!("true")])}));
    }
    match &intent.end {
        End::Declined(words) => parts.push(json!({"type": "refusal", "refusal": words, "text": words})),
        _ => parts.extend(pieces(chance, &text).iter().map(|piece| json!({"text": piece}))),
    }
    for (name, arguments) in &intent.calls {
        let mut call = json!({"name": name, "args": arguments});
        if chance.percent(20) {
            call["args"] = json!(arguments.to_string());
        }
        if arguments == &json!({}) && chance.percent(50) {
            call.as_object_mut().unwrap().remove("args");
        }
        parts.push(json!({spell("functionCall", "function_call"): call, spell("thoughtSignature", "thought_signature"): "sig"}));
    }
    let mut counts = json!({});
    for (camel, other) in
        [("promptTokenCount", "prompt_token_count"), ("candidatesTokenCount", "candidates_token_count")]
    {
        counts[spell(camel, other)] = odd_count(chance);
    }
    let group = 1 + chance.below(4);
    let mut list = Vec::new();
    for chunk in parts.chunks(group) {
        let content = match chunk {
            [single] if chance.percent(10) => json!({"role": "model", "parts": single}),
            _ => json!({"role": "model", "parts": chunk}),
        };
        let mut candidate = json!({"content": content});
        match chance.below(4) {
            0 => candidate[spell("finishReason", "finish_reason")] = json!("FINISH_REASON_UNSPECIFIED"),
            1 => candidate[spell("finishReason", "finish_reason")] = chance.pick(&[json!(null), json!("")]),
            _ => {}
        }
        if chance.percent(50) {
            candidate["index"] = json!(0);
        }
        list.push(json!({"candidates": [candidate]}));
        if chance.percent(5) {
            list.push(json!({"candidates": [{"index": 1, "content": {"parts": [{"text": "of another candidate"}]}}]}));
        }
    }
    let end = list.len();
    let mut last = json!({spell("finishReason", "finish_reason"): reason});
    match chance.below(3) {
        0 => last["content"] = json!({"parts": []}),
        1 => last["content"] = json!({"role": "model"}),
        _ => {}
    }
    list.push(json!({"candidates": [last], spell("usageMetadata", "usage_metadata"): counts}));
    if chance.percent(20) {
        list.push(json!({"candidates": []}));
    }
    if chance.percent(20) && !matches!(intent.end, End::Reported(_)) {
        let whole = json!(list);
        return (
            Messages { list: vec![whole], end: 0, is_whole: true, done: false, takes_noise: false },
            reason.into(),
        );
    }
    (Messages { list, end, is_whole: false, done: chance.percent(10), takes_noise: true }, reason.into())
}

fn anthropic(chance: &mut Chance, intent: &Intent) -> (Messages, String) {
    let reason = match &intent.end {
        End::Length => "max_tokens",
        End::Withheld | End::Declined(_) => "refusal",
        End::Broken => chance.pick(&["pause_turn", "error", "abort", "cancelled"]),
        _ if !intent.calls.is_empty() => "tool_use",
        _ => chance.pick(&["end_turn", "stop_sequence", "END_TURN"]),
    };
    let marked = chance.percent(60);
    let text = if marked { intent.text.clone() } else { wrapped(chance, intent) };
    let details = match &intent.end {
        End::Declined(words) => json!({"type": "refusal", "category": null, "explanation": words}),
        _ => Value::Null,
    };
    let mut counts = json!({"input_tokens": odd_count(chance), "output_tokens": odd_count(chance)});
    counts["cache_read_input_tokens"] = odd_count(chance);
    if chance.percent(20) {
        let mut blocks = Vec::new();
        if marked && !intent.thinking.is_empty() {
            blocks.push(json!({"type": "thinking", "thinking": intent.thinking, "signature": "s"}));
        }
        if !text.is_empty() {
            blocks.push(json!({"type": "text", "text": text}));
        }
        for (at, (name, arguments)) in intent.calls.iter().enumerate() {
            blocks
                .push(json!({"type": "tool_use", "id": format!("id{at}"), "name": name, "input": arguments}));
        }
        let mut whole = json!({"type": "message", "role": "assistant", "content": blocks, "stop_reason": reason,
                               "stop_details": details, "usage": counts});
        if blocks.len() == 1 && blocks[0]["type"] == "text" && chance.percent(30) {
            whole["content"] = blocks[0]["text"].clone();
        }
        return (
            Messages { list: vec![whole], end: 0, is_whole: true, done: false, takes_noise: false },
            reason.into(),
        );
    }
    let bare = chance.percent(10);
    let silence = chance.pick(&[json!(null), json!("")]);
    let mut list = vec![
        json!({"type": "message_start", "message": {"content": [], "stop_reason": silence, "usage": counts}}),
    ];
    let mut index = 0;
    let number = |index: usize, chance: &mut Chance| {
        if chance.percent(10) { json!(index.to_string()) } else { json!(index) }
    };
    if marked && !intent.thinking.is_empty() {
        list.push(json!({"type": "content_block_start", "index": index, "content_block": {"type": "thinking", "thinking": ""}}));
        list.push(json!({"type": "content_block_delta", "index": index, "delta": {"type": "thinking_delta", "thinking": intent.thinking}}));
        list.push(json!({"type": "content_block_delta", "index": index, "delta": {"type": "signature_delta", "signature": "s"}}));
        index += 1;
    }
    if !text.is_empty() {
        let mut all = pieces(chance, &text);
        let head = if chance.percent(20) { all.remove(0) } else { String::new() };
        list.push(json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": head}}));
        for piece in all {
            list.push(json!({"type": "content_block_delta", "index": number(index, chance), "delta": {"type": "text_delta", "text": piece}}));
            if chance.percent(5) {
                list.push(
                    chance.pick(&[json!({"type": "ping"}), json!({"type": "an_event_of_next_year", "x": 1})]),
                );
            }
        }
        list.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    }
    for (at, (name, arguments)) in intent.calls.iter().enumerate() {
        let given_whole = chance.percent(15);
        let input = if given_whole { arguments.clone() } else { json!({}) };
        list.push(json!({"type": "content_block_start", "index": index, "content_block": {"type": "tool_use", "id": format!("id{at}"), "name": name, "input": input}}));
        if !given_whole || chance.percent(50) {
            for piece in pieces(chance, &arguments.to_string()) {
                list.push(json!({"type": "content_block_delta", "index": number(index, chance), "delta": {"type": "input_json_delta", "partial_json": piece}}));
            }
        }
        list.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    }
    let end = list.len();
    list.push(json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_details": details}, "usage": {"output_tokens": odd_count(chance)}}));
    if chance.percent(80) {
        list.push(json!({"type": "message_stop"}));
    }
    if bare {
        // The type stands in the head of the event alone. A `message_stop` has nothing else, so it is left out.
        list.retain(|event| {
            !matches!(
                event["type"].as_str(),
                Some("message_stop" | "ping" | "content_block_stop" | "an_event_of_next_year")
            )
        });
        for event in &mut list {
            event.as_object_mut().unwrap().remove("type");
        }
        let end = list.len() - 1;
        return (Messages { list, end, is_whole: false, done: false, takes_noise: true }, reason.into());
    }
    (Messages { list, end, is_whole: false, done: chance.percent(10), takes_noise: true }, reason.into())
}

fn responses(chance: &mut Chance, intent: &Intent) -> (Messages, String) {
    let (status, detail) = match &intent.end {
        End::Length => ("incomplete", "max_output_tokens"),
        End::Withheld => ("incomplete", "content_filter"),
        End::Broken => {
            chance.pick(&[("cancelled", ""), ("incomplete", "server_shutdown"), ("incomplete", "error")])
        }
        _ => ("completed", ""),
    };
    let reason = if detail.is_empty() { status } else { detail };
    let marked = chance.percent(60);
    let text = if marked { intent.text.clone() } else { wrapped(chance, intent) };
    let mut items = Vec::new();
    if marked && !intent.thinking.is_empty() {
        items.push(json!({"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": intent.thinking}]}));
    }
    let part = match &intent.end {
        End::Declined(words) => json!({"type": "refusal", "refusal": words}),
        _ => json!({"type": "output_text", "text": text, "annotations": []}),
    };
    let has_message = !text.is_empty() || matches!(intent.end, End::Declined(_));
    if has_message {
        items.push(json!({"type": "message", "id": "msg", "role": "assistant", "content": [part]}));
    }
    for (at, (name, arguments)) in intent.calls.iter().enumerate() {
        let arguments = if chance.percent(15) { arguments.clone() } else { json!(arguments.to_string()) };
        items.push(json!({"type": "function_call", "id": format!("fc{at}"), "call_id": format!("id{at}"), "name": name, "arguments": arguments}));
    }
    let details = if detail.is_empty() { Value::Null } else { json!({"reason": detail}) };
    let counts = usage(chance, "input_tokens", "output_tokens");
    let response = |output: Value| json!({"object": "response", "status": status, "error": null, "incomplete_details": details, "output": output, "usage": counts});
    if chance.percent(20) {
        let whole = response(json!(items));
        return (
            Messages { list: vec![whole], end: 0, is_whole: true, done: false, takes_noise: false },
            reason.into(),
        );
    }
    let by_number = chance.percent(80);
    let doubled = chance.percent(15);
    let mut list =
        vec![json!({"type": "response.created", "response": {"status": "in_progress", "output": []}})];
    for (at, item) in items.iter().enumerate() {
        let placed = |mut event: Value| {
            match by_number {
                true => event["output_index"] = json!(at),
                false => event["item_id"] = item["id"].clone(),
            }
            event
        };
        let mut begun = item.clone();
        if begun["type"] == "message" {
            begun["content"] = json!([]);
        }
        if begun["type"] == "function_call" {
            begun["arguments"] = json!("");
        }
        // Without numbers, the ids of the items tell them apart.
        list.push(json!({"type": "response.output_item.added", "output_index": at, "item": begun}));
        match item["type"].as_str() {
            Some("message") => {
                let whole = match &intent.end {
                    End::Declined(words) => words.clone(),
                    _ => text.clone(),
                };
                let kind = if matches!(intent.end, End::Declined(_)) { "refusal" } else { "output_text" };
                let mut deltas = Vec::new();
                for piece in pieces(chance, &whole) {
                    let delta = placed(
                        json!({"type": format!("response.{kind}.delta"), "content_index": 0, "delta": piece}),
                    );
                    deltas.push(delta.clone());
                    if doubled && chance.percent(20) {
                        deltas.push(delta);
                    }
                }
                list.extend(deltas);
                if doubled || chance.percent(70) {
                    let field = if kind == "refusal" { "refusal" } else { "text" };
                    list.push(placed(
                        json!({"type": format!("response.{kind}.done"), "content_index": 0, field: whole}),
                    ));
                }
            }
            Some("function_call") => {
                let all = match &item["arguments"] {
                    Value::String(all) => all.clone(),
                    other => other.to_string(),
                };
                for piece in pieces(chance, &all) {
                    list.push(placed(
                        json!({"type": "response.function_call_arguments.delta", "delta": piece}),
                    ));
                }
                if chance.percent(70) {
                    list.push(placed(
                        json!({"type": "response.function_call_arguments.done", "arguments": all}),
                    ));
                }
            }
            _ => {}
        }
        if chance.percent(70) {
            list.push(json!({"type": "response.output_item.done", "output_index": at, "item": item}));
        }
    }
    if chance.percent(10) {
        list.truncate(1);
        list.push(json!({"type": "response.an_event_of_next_year"}));
        let end = list.len();
        list.push(json!({"type": format!("response.{status}"), "response": response(json!(items))}));
        return (Messages { list, end, is_whole: false, done: false, takes_noise: true }, reason.into());
    }
    let end = list.len();
    let output = if chance.percent(60) { json!(items) } else { json!([]) };
    let kind = if chance.percent(10) { "done" } else { status };
    list.push(json!({"type": format!("response.{kind}"), "response": response(output)}));
    (Messages { list, end, is_whole: false, done: chance.percent(20), takes_noise: true }, reason.into())
}

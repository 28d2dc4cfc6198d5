//! Large results, which are stored whole beside the journal. The model gets the beginning, the total size, and the
//! way to read more.

use kernel::command::Move;
use kernel::proposal::Finding;
use kernel::run::{CallSite, Completion, ConversationView, Trouble};
use kernel::{Method, Param, Pattern, Value};
use model::Tool;
use passable::Effect;
use passable::ExactJson;
use resource::units;
use serde_json::{Value as Json, json};

use crate::driver_port::DriverPort;
use crate::fold::{Call, Fold, StoredResult};
use crate::trouble::internal;

/// The name of the tool with which a model reads more of a large result.
pub(crate) const TOOL: &str = "read_result";

/// The maximum size of a result in the journal, in bytes.
const MAX_INLINE_BYTES: usize = 64 << 10;

/// The size of the first part that the model gets, in bytes.
const HEAD_BYTES: usize = 16 << 10;

/// The size of the beginning of a result that is left out, in bytes.
const REFERENCE_BYTES: usize = 120;

/// The maximum number of results that a finding names.
const MAX_NAMED_RESULTS: usize = 12;

/// The maximum size of a part that the model can request, in bytes.
const MAX_PAGE_BYTES: u64 = 32 << 10;

/// Returns a value in the form that a model reads.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| ExactJson(&value.to_json()).to_string(), str::to_owned)
}

/// Stores a large result of a call beside the journal. Returns the completion with the first part of the result, and
/// the place of the whole. A result of more than `left` bytes is not stored. The model is told so after its first part.
pub(crate) fn spill(
    world: &dyn DriverPort,
    completion: Completion,
    left: u64,
) -> Result<(Completion, Option<StoredResult>), Trouble> {
    let Completion::Done { value, provenance } = completion else { return Ok((completion, None)) };
    let whole = text(&value);
    // A value with references cannot be turned into text.
    if whole.len() <= MAX_INLINE_BYTES || !value.references().is_empty() {
        return Ok((Completion::Done { value, provenance }, None));
    }
    let head = whole[..floor(&whole, HEAD_BYTES)].to_owned();
    if whole.len() as u64 > left {
        let (total, left) = (whole.len(), units::rounded_bytes(left));
        let note = format!("\n[the rest of {total} bytes is not kept: {left} are left of the limit `kept`]");
        return Ok((Completion::Done { value: Value::string(head + &note), provenance }, None));
    }
    let hash = world.put_blob(whole.as_bytes())?;
    let value = Value::string(head);
    Ok((Completion::Done { value, provenance }, Some(StoredResult { hash, bytes: whole.len() as u64 })))
}

fn part(step: u64, shown: &str, from: u64, total: u64) -> String {
    let to = from + shown.len() as u64;
    let mut told = json!({ "text": shown, "from": from, "to": to, "total": total, "truncated": to < total });
    if to < total {
        told["next"] = json!(format!("{TOOL}(result: \"#{step}\", from: {to})"));
    }
    told.to_string()
}

/// Returns a part of a large result in the form that the model reads.
pub(crate) fn page(
    world: &dyn DriverPort,
    fold: &Fold,
    of: u64,
    from: u64,
    bytes: u64,
) -> Result<String, Trouble> {
    let kept = result_text(world, fold, of)?;
    let at = |wanted: u64| floor(&kept, usize::try_from(wanted).unwrap_or(usize::MAX));
    let start = at(from);
    // The part has at least one character, because otherwise the model would never get further.
    let next = kept[start..].chars().next().map_or(0, char::len_utf8);
    let end = at(from.saturating_add(bytes)).max(start + next);
    Ok(part(of, &kept[start..end], start as u64, kept.len() as u64))
}

/// Returns the whole text of the result of an earlier call.
fn result_text(world: &dyn DriverPort, fold: &Fold, of: u64) -> Result<String, Trouble> {
    let call = fold.calls.get(&of).ok_or_else(|| internal("no such result"))?;
    let Some(Completion::Done { value, .. }) = &call.completion else {
        return Err(internal("a call has no result to read"));
    };
    whole_text(world, value, call.whole.as_ref())
}

/// Returns the form of an older result for which the conversation has no room: its beginning, and the way to read it.
pub(crate) fn reference(step: u64, shown: &str, total: u64) -> String {
    let begins = &shown[..floor(shown, REFERENCE_BYTES)];
    let next = format!("{TOOL}(result: \"#{step}\")");
    json!({ "left_out": true, "bytes": total, "begins": begins, "next": next }).to_string()
}

/// Returns the form of an older part of a result for which the conversation has no room.
pub(crate) fn page_reference(of: u64, from: u64) -> String {
    json!({ "left_out": true, "next": format!("{TOOL}(result: \"#{of}\", from: {from})") }).to_string()
}

/// Returns a result in the form that the model reads, with at most so many bytes of it.
pub(crate) fn limited(step: u64, shown: String, whole: Option<&StoredResult>, most: Option<u64>) -> String {
    let most = most.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let total = whole.map_or(shown.len() as u64, |whole| whole.bytes);
    if whole.is_none() && shown.len() <= most {
        return shown;
    }
    part(step, &shown[..floor(&shown, most)], 0, total)
}

/// Returns the last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

fn method() -> Method {
    Method::new(
        TOOL,
        Effect::Observe,
        "Reads a result of an earlier call, or a part of one, that is not shown whole.",
    )
    .param(Param::required("result", Pattern::string(), "which, like `#9`: as `next` says"))
    .param(Param::optional("from", Pattern::nat(), "the first byte, from 0"))
    .param(Param::optional("bytes", Pattern::nat(), "how many bytes at most: 16384, or up to 32768"))
}

/// Returns the tool, if the run has a result that is not shown whole.
pub(crate) fn tool(fold: &Fold) -> Option<Tool> {
    let has_more =
        fold.view != ConversationView::default() || fold.calls.values().any(|call| call.whole.is_some());
    has_more.then(|| {
        let schema = method().tool_schema(TOOL);
        Tool { name: schema.name, description: schema.description, parameters: schema.parameters }
    })
}

/// Returns the move for a call of the tool.
pub(crate) fn page_move(fold: &Fold, site: CallSite, arguments: &Json) -> Move {
    match wanted(fold, arguments) {
        Ok((of, from, bytes)) => Move::Page { site, of, from, bytes },
        Err(finding) => Move::Reject { site: Some(site), findings: vec![*finding] },
    }
}

fn wanted(fold: &Fold, arguments: &Json) -> Result<(u64, u64, u64), Box<Finding>> {
    let method = method();
    let args = method.arguments_from_json(arguments).map_err(|mismatch| {
        Finding::new("tool/arguments", mismatch.teach()).at(TOOL).allowed(method.signature())
    })?;
    let number =
        |at: usize| args.get(at).and_then(Value::as_bigint).and_then(|n| n.to_string().parse::<u64>().ok());
    let named = args.first().and_then(Value::as_str).unwrap_or_default();
    let step = named.rsplit('#').next().and_then(|step| step.parse::<u64>().ok());
    let is_kept = |call: &Call| matches!(call.completion, Some(Completion::Done { .. }));
    let kept = step.filter(|step| fold.calls.get(step).is_some_and(is_kept));
    let Some(step) = kept else {
        let kept = fold.calls.iter().rev().filter(|(_, call)| is_kept(call));
        let known: Vec<String> = kept.take(MAX_NAMED_RESULTS).map(|(at, _)| format!("#{at}")).collect();
        let finding = Finding::new("result/unknown", "there is no such result to read on in")
            .at("result")
            .counter_example(named.to_owned())
            .allowed(known.join(", "));
        return Err(Box::new(finding));
    };
    Ok((step, number(1).unwrap_or(0), number(2).unwrap_or(HEAD_BYTES as u64).clamp(1, MAX_PAGE_BYTES)))
}

/// Returns the whole text of a result, from the journal or from the store.
pub(crate) fn whole_text(
    world: &dyn DriverPort,
    value: &Value,
    whole: Option<&StoredResult>,
) -> Result<String, Trouble> {
    match whole {
        None => Ok(text(value)),
        Some(StoredResult { hash, .. }) => {
            String::from_utf8(world.blob(hash)?).map_err(|_| internal("a result is no text"))
        }
    }
}

/// Returns the move that records where the whole of a result is stored.
pub(crate) fn spill_move(proposal: u64, whole: StoredResult) -> Move {
    let StoredResult { hash, bytes } = whole;
    Move::Spill { proposal, whole: hash, bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_names_the_next_page_except_the_last() {
        let told = |from, shown: &str| -> Json { serde_json::from_str(&part(9, shown, from, 20)).unwrap() };
        let first = told(0, "0123456789");
        assert_eq!((&first["to"], &first["truncated"]), (&json!(10), &json!(true)));
        assert_eq!(first["next"], json!("read_result(result: \"#9\", from: 10)"));
        let last = told(10, "0123456789");
        assert_eq!(
            (&last["to"], &last["truncated"], &last["next"]),
            (&json!(20), &json!(false), &Json::Null)
        );
    }

    #[test]
    fn floor_never_splits_a_character() {
        assert_eq!(floor("aé", 2), 1);
        assert_eq!(floor("aé", 3), 3);
        assert_eq!(floor("aé", usize::MAX), 3);
    }

    #[test]
    fn paging_an_unknown_result_is_rejected() {
        let fold = Fold::default();
        let site = || CallSite::Turn { replied: 1, index: 0, id: "x".to_owned() };
        for arguments in [json!({}), json!({ "result": "#9" }), json!({ "result": 9 }), json!("#9")] {
            let Move::Reject { findings, .. } = page_move(&fold, site(), &arguments) else {
                panic!("{arguments} is refused")
            };
            assert_eq!(findings.len(), 1);
        }
        assert!(tool(&fold).is_none());
    }
}

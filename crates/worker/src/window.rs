//! The model's window: the plan by which a conversation that has become too long is shown in a shorter form.
//!
//! Old results shrink first, the oldest before the others. If that is not enough, the newest results are cut, and old
//! turns become a line each. The documents and the person's messages stay. The journal records the form, so that the
//! same conversation follows after a crash.

use kernel::run::{ConversationView, Trouble};

use crate::driver_port::DriverPort;
use crate::fold::{Fold, Turn};
use crate::stored_request;

/// The maximum number of tokens that a request leaves free for the reply.
const MAX_ROOM: u64 = 8192;

/// The smallest size to which each of the newest results is cut, in bytes.
const MIN_RESULT_BYTES: u64 = 512;

/// The share of the window that a shorter form may use, in tenths. The rest is for the next turns, so that not every
/// turn needs a new form.
const GOAL_TENTHS: usize = 6;

/// The number of bytes of a token, in tenths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenRate(u64);

impl TokenRate {
    /// The rate if nothing is known. Most text has more bytes in a token.
    const USUAL: TokenRate = TokenRate(30);

    /// Returns the rate of the last request whose tokens were counted.
    pub(crate) fn of(world: &dyn DriverPort, fold: &Fold) -> Result<TokenRate, Trouble> {
        let counted = fold.turns.iter().rev().find(|turn| turn.usage.input_tokens > 0);
        let Some(turn) = counted else { return Ok(TokenRate::USUAL) };
        let (bytes, _) = stored_request::sizes(world, &turn.request)?;
        Ok(TokenRate::measured(bytes, turn.usage.input_tokens))
    }

    /// Returns the rate of a text with so many bytes and tokens. Servers that count only a part of a request, or its
    /// pictures too, do not lead the estimate astray.
    pub(crate) fn measured(bytes: usize, tokens: u64) -> TokenRate {
        TokenRate((bytes as u64).saturating_mul(10).checked_div(tokens).unwrap_or(30).clamp(15, 45))
    }

    /// Returns the number of tokens of so many bytes.
    pub(crate) fn tokens(self, bytes: usize) -> u64 {
        (bytes as u64).saturating_mul(10).div_ceil(self.0)
    }

    /// Returns the number of bytes of so many tokens.
    pub(crate) fn bytes(self, tokens: u64) -> usize {
        usize::try_from(tokens.saturating_mul(self.0) / 10).unwrap_or(usize::MAX)
    }
}

/// Returns the maximum size of a request for a context, in bytes. A reply of `most` tokens must fit beside it.
pub(crate) fn request_bytes(context: u64, most: Option<u32>, rate: TokenRate) -> usize {
    let room = most.map_or(MAX_ROOM, u64::from).min(MAX_ROOM).min(context / 4);
    rate.bytes(context.saturating_sub(room))
}

/// Returns the maximum size of a request, in bytes, after a request of `size` bytes was too long. The server may have
/// named the number of its tokens and the limit.
pub(crate) fn bytes_after_overflow(
    size: usize,
    tokens: Option<u64>,
    limit: Option<u64>,
    most: Option<u32>,
    rate: TokenRate,
) -> usize {
    let rate = tokens.map_or(rate, |tokens| TokenRate::measured(size, tokens));
    let named = limit.map_or(usize::MAX, |limit| request_bytes(limit, most, rate));
    named.min(size / 4 * 3)
}

/// Returns a shorter form of the conversation, in which a request has at most `allowed` bytes, or else as few as
/// possible. Returns `None` if there is no shorter form. `size` returns the size of a request with a form.
pub(crate) fn plan(
    fold: &Fold,
    allowed: usize,
    size: &mut dyn FnMut(ConversationView) -> Result<usize, Trouble>,
) -> Result<Option<ConversationView>, Trouble> {
    let answered: Vec<&Turn> = fold.turns.iter().filter(|turn| turn.replied.is_some()).collect();
    let turns: Vec<u64> = answered.iter().map(|turn| turn.prompted).collect();
    let (Some(&last), Some(newest)) = (turns.last(), answered.last()) else { return Ok(None) };
    let (goal, now) = (allowed / 10 * GOAL_TENTHS, fold.view);
    let mut view = now;
    let results = |view: ConversationView, step| ConversationView { results_before: step, ..view };
    let lines = |view: ConversationView, step| ConversationView { turns_before: step, ..view };
    let later = |step: u64| turns.iter().copied().filter(move |turn| *turn > step).collect::<Vec<u64>>();

    let marks = later(now.results_before);
    if let Some(found) = first_within(&marks, goal, |step| results(view, step), size)? {
        return Ok(Some(found));
    }
    view = results(view, last);
    // The newest results are cut only if they take most of the room.
    let least = ConversationView { max_bytes: Some(MIN_RESULT_BYTES), ..view };
    if size(view)?.saturating_sub(size(least)?) > goal / 2 {
        let calls = newest.calls.len().max(1);
        let share = ((goal / 2 / calls) as u64).max(MIN_RESULT_BYTES);
        let cut =
            ConversationView { max_bytes: Some(now.max_bytes.map_or(share, |old| old.min(share))), ..now };
        if let Some(found) = first_within(&marks, goal, |step| results(cut, step), size)? {
            return Ok(Some(found));
        }
        view.max_bytes = cut.max_bytes;
        if size(view)? <= goal && view != now {
            return Ok(Some(view));
        }
    }
    if let Some(found) = first_within(&later(now.turns_before), goal, |step| lines(view, step), size)? {
        return Ok(Some(found));
    }
    view = lines(view, last);
    let mut most = view.max_bytes.unwrap_or(16 * MIN_RESULT_BYTES);
    while size(view)? > allowed && most > MIN_RESULT_BYTES {
        most = (most / 2).max(MIN_RESULT_BYTES);
        view.max_bytes = Some(most);
    }
    // A form that is hardly shorter helps nobody.
    Ok((size(view)? <= allowed || size(view)? < size(now)? / 20 * 19)
        .then_some(view)
        .filter(|view| *view != now))
}

/// Returns the form with the earliest of these steps in which a request has at most `goal` bytes. A later step makes
/// the request shorter.
fn first_within(
    steps: &[u64],
    goal: usize,
    view: impl Fn(u64) -> ConversationView,
    size: &mut dyn FnMut(ConversationView) -> Result<usize, Trouble>,
) -> Result<Option<ConversationView>, Trouble> {
    let Some(&last) = steps.last() else { return Ok(None) };
    if size(view(last))? > goal {
        return Ok(None);
    }
    let (mut low, mut high) = (0, steps.len() - 1);
    while low < high {
        let middle = usize::midpoint(low, high);
        match size(view(steps[middle]))? <= goal {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    Ok(Some(view(steps[low])))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kernel::BlobHash;
    use kernel::run::Usage;

    use super::*;
    use crate::fold::CallOutcome;

    /// Returns a fold of turns with one call each, in the steps 10, 20, 30, …
    fn fold(turns: usize, view: ConversationView) -> Fold {
        let turn = |number: usize| Turn {
            prompted: 10 * (number as u64 + 1),
            request: BlobHash([0; 32]),
            replied: Some((10 * (number as u64 + 1) + 1, BlobHash([0; 32]))),
            usage: Usage::default(),
            calls: BTreeMap::from([(0, CallOutcome::Rejected(vec![]))]),
            rejected: None,
        };
        Fold::with_turns((0..turns).map(turn).collect(), view)
    }

    /// Returns the size of a request: 1000 bytes for the task, and for each turn 100 bytes and its result.
    fn size(fold: &Fold, results: &[usize], view: ConversationView) -> usize {
        let sizes = fold.turns.iter().zip(results).map(|(turn, result)| {
            let most = view.max_bytes.map_or(usize::MAX, |most| most as usize);
            match turn.prompted {
                step if step < view.turns_before => 20,
                step if step < view.results_before => 100 + 150.min(*result),
                _ => 100 + (*result).min(most),
            }
        });
        1000 + sizes.sum::<usize>()
    }

    #[track_caller]
    fn check(
        results: &[usize],
        now: ConversationView,
        allowed: usize,
        expected: Option<(u64, u64, Option<u64>)>,
    ) {
        let fold = fold(results.len(), now);
        let found = plan(&fold, allowed, &mut |view| Ok(size(&fold, results, view))).unwrap();
        let got = found.map(|view| (view.results_before, view.turns_before, view.max_bytes));
        assert_eq!(got, expected);
        if let Some(view) = found {
            assert!(size(&fold, results, view) < size(&fold, results, now));
        }
    }

    #[test]
    fn oldest_results_shrink_first_and_only_as_many_as_needed() {
        let fresh = ConversationView::default();
        // Ten results of 2000 bytes; 12,000 bytes are the goal, so four are left whole.
        check(&[2000; 10], fresh, 20_000, Some((70, 0, None)));
        check(&[2000; 10], fresh, 30_000, Some((40, 0, None)));
        // A later plan goes on where the earlier one ended.
        let before = ConversationView { results_before: 60, ..fresh };
        check(&[2000; 14], before, 20_000, Some((110, 0, None)));
    }

    #[test]
    fn newest_results_are_cut_if_they_alone_are_too_long() {
        let fresh = ConversationView::default();
        // UKGovernmentBEIS/inspect_ai#3600, appstrate/appstrate#464: the last results alone exceed the window.
        check(&[100, 100, 90_000], fresh, 20_000, Some((10, 0, Some(6000))));
    }

    #[test]
    fn old_turns_become_lines_when_results_are_not_enough() {
        let fresh = ConversationView::default();
        let found = |turns| {
            let results = vec![200; turns];
            let fold = fold(turns, fresh);
            plan(&fold, 10_000, &mut |view| Ok(size(&fold, &results, view))).unwrap().unwrap()
        };
        let view = found(100);
        assert!(view.turns_before > 0 && view.turns_before < 1000 && view.results_before == 1000, "{view:?}");
        // Even of thousands of turns, the newest stays.
        let view = found(2000);
        assert_eq!((view.turns_before, view.results_before), (20_000, 20_000));
    }

    #[test]
    fn conversation_without_anything_to_shrink_has_no_plan() {
        check(&[], ConversationView::default(), 100, None);
        let least = ConversationView { results_before: 20, turns_before: 20, max_bytes: Some(512) };
        check(&[100, 100], least, 100, None);
    }

    #[test]
    fn sizes_follow_from_the_counts_of_the_server() {
        assert_eq!(TokenRate::USUAL.tokens(30_000), 10_000);
        assert_eq!(TokenRate::measured(40_000, 10_000).bytes(1000), 4000);
        // A count of a part only, and one that includes pictures.
        assert_eq!(TokenRate::measured(40_000, 100), TokenRate(45));
        assert_eq!(TokenRate::measured(4000, 100_000), TokenRate(15));
        assert_eq!(request_bytes(32_768, Some(1000), TokenRate(40)), 31_768 * 4);
        assert_eq!(request_bytes(32_768, None, TokenRate(40)), (32_768 - 8192) * 4);
        // open-webui/open-webui#27599: 152,533 tokens where 131,072 fit.
        let bytes = bytes_after_overflow(600_000, Some(152_533), Some(131_072), Some(1000), TokenRate::USUAL);
        assert!((440_000..=450_000).contains(&bytes), "{bytes}");
        assert_eq!(bytes_after_overflow(40_000, None, None, None, TokenRate::USUAL), 30_000);
    }
}

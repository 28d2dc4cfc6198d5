//! The title of a message: the sentence that says who wants to do what to what.

use control::protocol::{Request, Response};
use control::show::headline;
use control::view::MessageView;
use kernel::message::Body;
use passable::Quoting;

use crate::page_request::PageRequest;

/// Returns the title of a message. An approval has the calls of its card in it.
pub fn of(asked: &PageRequest, view: &MessageView) -> Quoting {
    let has_card = matches!(
        view.letter.body(),
        Some(Body::Approval { .. } | Body::OutcomeUnknown { .. } | Body::Budget { .. })
    );
    let card = has_card.then(|| asked.ask(Request::Card { message: view.letter.number }));
    match card {
        Some(Ok(Response::Card(card))) => headline::of_card(&card),
        _ => headline::of_message(view),
    }
}

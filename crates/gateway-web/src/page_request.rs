//! Requests for pages, after the guard has identified the session.

use std::str::FromStr;
use std::sync::Arc;

use control::exit::{Exit, Failure};
use control::protocol::{AgentAct, Look, Request, Response};
use kernel::RunNumber;
use kernel::command::{Reply, UserCommand};
use kernel::id::BadId;
use passable::{Untrusted, visible_line};

use crate::guard::names::PasskeyHost;
use crate::guard::sessions::Session;
use crate::multipart::FormFile;
use crate::page::theme::Theme;
use crate::serve::Site;

/// Pairs of a name and a text, in the order in which they were sent.
pub type Pairs = Vec<(String, String)>;

/// A request for a page, or a form that was sent from a page.
#[derive(Clone)]
pub struct PageRequest {
    /// The state of the site.
    pub site: Arc<Site>,
    /// The session of the browser that sent the request.
    pub session: Session,
    /// The look that the browser has kept.
    pub theme: Theme,
    /// The host for which this browser can have a passkey. `None` under an address of numbers.
    pub passkey_host: Option<PasskeyHost>,
    /// The path and the query of the request.
    pub address: String,
    /// The variable parts of the path, by name.
    pub path: Pairs,
    /// The parameters of the query string.
    pub query: Pairs,
    /// The fields that the form sent. Empty for a request that only reads.
    pub body: Pairs,
    /// The files that were sent with the form.
    pub files: Vec<FormFile>,
}

/// The name of the field with the address to which a form leads back.
pub const BACK: &str = "_back";

/// Returns the text of the last pair of this name.
fn last<'a>(pairs: &'a Pairs, name: &str) -> Option<&'a str> {
    pairs.iter().rev().find(|(each, _)| each == name).map(|(_, text)| text.as_str())
}

impl PageRequest {
    /// Sends a request to the daemon.
    ///
    /// # Errors
    /// The daemon's error.
    pub fn ask(&self, request: Request) -> Result<Response, Failure> {
        self.site.backend.ask(self.session.number, request)
    }

    /// Reads something from the store, as the store's own host.
    ///
    /// # Errors
    /// The daemon's error.
    pub fn look(&self, look: Look) -> Result<Response, Failure> {
        self.ask(Request::Look { look })
    }

    /// Changes something in the store, as the store's own host. The transcript keeps `text`, the equivalent command
    /// line.
    ///
    /// # Errors
    /// The daemon's error.
    pub fn act(&self, verb: &str, text: String, act: AgentAct) -> Result<Reply, Failure> {
        let said = Some(UserCommand { verb: verb.to_owned(), text: Untrusted::new(text) });
        match self.ask(Request::Act { said, act: Box::new(act) })? {
            Response::Reply(reply) => Ok(reply),
            other => Err(unexpected(&other)),
        }
    }

    /// Carries out an act that can be done only once. Another answer may have come first.
    ///
    /// # Errors
    /// The daemon's error, or a conflict when the message was already answered.
    pub fn act_once(&self, verb: &str, text: String, act: AgentAct) -> Result<Reply, Failure> {
        match self.act(verb, text, act)? {
            Reply::AlreadySettled => Err(before()),
            reply => Ok(reply),
        }
    }

    /// Answers an approval, which can be answered only once. Another answer may have come first.
    ///
    /// # Errors
    /// The daemon's error, or a conflict when the approval was already answered.
    pub fn answer_once(&self, request: Request) -> Result<(), Failure> {
        match self.ask(request)? {
            Response::Reply(Reply::AlreadySettled | Reply::AlreadyAnswered { .. }) => Err(before()),
            Response::Reply(_) => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns a part of the path as a parsed value.
    ///
    /// # Errors
    /// When the part is not a valid value of this type.
    pub fn part<T: FromStr<Err = BadId>>(&self, name: &str) -> Result<T, Failure> {
        let text = last(&self.path, name).unwrap_or("");
        // The address itself stands in the browser. It may be the work of somebody else.
        text.parse()
            .map_err(|_| Failure::new(Exit::NotFound, "cannot show this page: nothing is at its address"))
    }

    /// Returns a part of the path as text.
    pub fn part_text(&self, name: &str) -> &str {
        last(&self.path, name).unwrap_or("")
    }

    /// Returns a request for a card that is drawn on another page, without that page's fields. After an answer, the
    /// browser returns to `place`.
    #[must_use]
    pub fn within(&self, place: &str) -> PageRequest {
        let body = vec![(BACK.to_owned(), place.to_owned())];
        PageRequest { body, files: vec![], ..self.clone() }
    }

    /// Returns the address of the conversation to which the browser returns after an answer. `None` if the form was
    /// not in a conversation.
    pub fn back(&self) -> Option<String> {
        let run: RunNumber = self.field(BACK)?.strip_prefix("/chat/")?.parse().ok()?;
        Some(format!("/chat/{run}"))
    }

    /// Returns the last query parameter of this name.
    pub fn query(&self, name: &str) -> Option<&str> {
        last(&self.query, name)
    }

    /// Returns the last form field of this name.
    pub fn field(&self, name: &str) -> Option<&str> {
        last(&self.body, name)
    }

    /// Returns the last form field of this name without surrounding blanks, or `None` if it is blank.
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.field(name).map(str::trim).filter(|text| !text.is_empty())
    }
}

/// Returns the error for a message that was already answered.
fn before() -> Failure {
    Failure::new(Exit::Conflict, "this was answered before")
        .help("nothing of what you have sent now counts; what was answered stands on its page")
}

/// Returns a word of a command in the form in which a user would type it, for the transcript.
pub fn typed(word: &str) -> String {
    let is_plain = |letter: char| !letter.is_whitespace() && letter != '\'' && letter != '"';
    if word.is_empty() || !word.chars().all(is_plain) { format!("{word:?}") } else { word.to_owned() }
}

/// Returns the error for a response of an unexpected kind. Such a response is a bug of this program.
pub fn unexpected(response: &Response) -> Failure {
    // The message names only the kind, because the content of the response may be anything.
    let kind = serde_json::to_value(response).ok();
    let kind = kind.as_ref().and_then(|json| json.get("response")?.as_str()).unwrap_or("something else");
    Failure::new(Exit::Failure, format!("the daemon answered with {}", visible_line(kind)))
}

/// Takes the content of a response of the expected kind. For any other kind, the caller returns an error.
macro_rules! take {
    ($response:expr, $variant:ident) => {
        match $response {
            control::protocol::Response::$variant(inner) => inner,
            other => return Err($crate::page_request::unexpected(&other)),
        }
    };
}
pub(crate) use take;

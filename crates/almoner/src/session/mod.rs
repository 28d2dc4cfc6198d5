//! The session of an agent: acts and look-ups that all commands about agents, names and mail share.

pub mod command_line;
pub mod earlier_answer;
pub mod message_list;
pub mod questions;
pub mod replies;

use std::cell::RefCell;

use kernel::command::{MailAct, Reply, UserCommand};
use kernel::id::BadId;
use kernel::{FormulaId, MessageNumber, NamePath};
use passable::{Untrusted, visible_line};

use self::command_line::command_line;
use crate::client::Client;
use crate::ui::output;
use config::place::Place;
use control::ask::{Ask, unexpected};
use control::exit::{Exit, ExitResult, Failure};
use control::messages::{MessageFilter, Order, PageBounds};
use control::protocol::{AgentAct, Document, Look, Request, Response};
use control::show::object_view;
use control::threads::Line;
use control::view::{MessageView, ObjectView, PromiseState};

/// The session of one command. All its requests go over one connection, which the first of them opens.
pub struct Session<'a> {
    /// The place of the daemon's socket and store.
    pub place: &'a Place,
    /// The agent, by a name path of the host's; `None` means the host.
    pub agent: Option<&'a str>,
    client: RefCell<Option<Client>>,
}

impl Ask for Session<'_> {
    fn ask(&self, request: Request) -> Result<Response, Failure> {
        Session::ask(self, request)
    }
}

impl<'a> Session<'a> {
    /// Returns a session of the agent with this name. `None` means the host.
    pub fn new(place: &'a Place, agent: Option<&'a str>) -> Session<'a> {
        Session { place, agent, client: RefCell::default() }
    }

    /// Opens a second connection, for events that arrive while the session sends requests.
    ///
    /// # Errors
    /// When the daemon cannot be reached.
    pub fn open_connection(&self) -> Result<Client, Failure> {
        Ok(Client::connect(self.place)?.on_behalf_of(self.agent))
    }

    /// Sends a request over the session's connection, and returns the answer. The next request opens another connection
    /// if the daemon has gone.
    ///
    /// # Errors
    /// When the daemon refuses the request, or cannot be reached.
    pub fn ask(&self, request: Request) -> Result<Response, Failure> {
        self.with_client(|client| client.ask(request))
    }

    /// Returns the number of the last event.
    ///
    /// # Errors
    /// When the agent is not a host, or the daemon cannot be reached.
    pub fn last_event(&self) -> Result<u64, Failure> {
        self.with_client(Client::last_event)
    }

    /// Returns the documents as the daemon can read them. If the daemon sees other files than this process, the bytes
    /// go in the place of the paths.
    ///
    /// # Errors
    /// When the daemon cannot be reached, or a document cannot be read.
    pub fn readable_documents(&self, documents: Vec<Document>) -> Result<Vec<Document>, Failure> {
        match documents.is_empty() || self.shares_files()? {
            true => Ok(documents),
            false => crate::cli::with_contents(documents),
        }
    }

    /// Returns whether a path means the same file for the daemon and for this process.
    ///
    /// # Errors
    /// When the daemon cannot be reached.
    pub fn shares_files(&self) -> Result<bool, Failure> {
        self.with_client(|client| Ok(client.shares_files()))
    }

    fn with_client<T>(&self, act: impl FnOnce(&mut Client) -> Result<T, Failure>) -> Result<T, Failure> {
        let mut client = match self.client.take() {
            // A daemon can end between two requests. Then a new connection is opened, which starts a daemon again.
            Some(client) if client.is_open() => client,
            _ => self.open_connection()?,
        };
        let answer = act(&mut client);
        if answer.as_ref().err().is_none_or(|failure| failure.exit != Exit::NoDaemon) {
            self.client.replace(Some(client));
        }
        answer
    }

    /// Sends an act, with the command line as its text for the transcript.
    ///
    /// # Errors
    /// When the daemon refuses the act, or cannot be reached.
    pub fn act(&self, verb: &str, act: AgentAct) -> Result<Response, Failure> {
        self.act_with_text(verb, command_line(), act)
    }

    /// Sends an act with this text for the transcript. Commands use it when their command line holds a value that
    /// must not be stored.
    ///
    /// # Errors
    /// When the daemon refuses the act.
    pub fn act_with_text(&self, verb: &str, text: String, act: AgentAct) -> Result<Response, Failure> {
        self.ask(self.request(verb, text, act))
    }

    /// Returns the request for an act, with its verb and its text for the transcript.
    pub fn request(&self, verb: &str, text: String, act: AgentAct) -> Request {
        let said = UserCommand { verb: verb.to_owned(), text: Untrusted::new(text) };
        Request::Act { said: Some(said), act: Box::new(act) }
    }

    /// Sends an act on mail.
    ///
    /// # Errors
    /// When the daemon refuses the act, or cannot be reached.
    pub fn mail(&self, verb: &str, act: MailAct) -> Result<Response, Failure> {
        self.act(verb, AgentAct::Mail { act: Box::new(act) })
    }

    /// Sends a look-up, and returns the answer.
    ///
    /// # Errors
    /// When the thing does not exist, or the daemon cannot be reached.
    pub fn look_up(&self, look: Look) -> Result<Response, Failure> {
        self.ask(Request::Look { look })
    }

    /// Returns the agent's messages, oldest first. With `open`, it returns only those that need an answer.
    ///
    /// # Errors
    /// When the daemon cannot be reached.
    pub fn mailbox(&self, open: bool) -> Result<Vec<Line>, Failure> {
        let mut letters: Vec<Line> = Vec::new();
        loop {
            let page = PageBounds::after(letters.last().map(|last| last.letter.number));
            let filter = MessageFilter::Mailbox { open, order: Order::OldestFirst };
            match self.ask(Request::Messages { filter, page })? {
                Response::Mailbox(page) if page.is_empty() => return Ok(letters),
                Response::Mailbox(page) => letters.extend(page),
                other => return Err(unexpected(&other)),
            }
        }
    }

    /// Returns the object under a name.
    ///
    /// # Errors
    /// When the name does not exist.
    pub fn object(&self, path: NamePath) -> Result<ObjectView, Failure> {
        match self.look_up(Look::Object { path })? {
            Response::Object(thing) => Ok(*thing),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns a message in full.
    ///
    /// # Errors
    /// When no message has this number.
    pub fn message(&self, number: MessageNumber) -> Result<MessageView, Failure> {
        match self.look_up(Look::Message { number })? {
            Response::Message(letter) => Ok(*letter),
            other => Err(unexpected(&other)),
        }
    }

    /// Waits until a promise is settled, and returns its state.
    ///
    /// # Errors
    /// When the agent does not hold the promise, or the daemon goes.
    pub fn wait(&self, promise: FormulaId) -> Result<PromiseState, Failure> {
        match self.look_up(Look::Promise { promise, wait: true })? {
            Response::Promise(state) => Ok(state),
            other => Err(unexpected(&other)),
        }
    }

    /// Returns the names in the agent's own directory, for completion. The list is empty if the daemon cannot be
    /// asked.
    pub fn names(&self) -> Vec<String> {
        match self.look_up(Look::Names { path: None }) {
            Ok(Response::Names(rows)) => rows.into_iter().map(|row| row.name).collect(),
            _ => vec![],
        }
    }

    /// Returns a command as the user would type it: `rest` after `almoner`, with `--as` if an agent was named.
    pub fn command(&self, rest: &str) -> String {
        match self.agent {
            Some(agent) => format!("`almoner --as {} {rest}`", visible_line(agent)),
            None => format!("`almoner {rest}`"),
        }
    }

    /// Refuses to act for another agent. Commands that only the host has call it.
    ///
    /// # Errors
    /// When an agent was named.
    pub fn expect_host(&self, verb: &str) -> Result<(), Failure> {
        match self.agent {
            None => Ok(()),
            Some(_) => Err(Failure::new(Exit::Usage, format!("{verb} acts for you and for nobody else"))
                .help("leave `--as` out")),
        }
    }
}

/// Prints the result of a command, as JSON or as a line on standard error.
///
/// # Errors
/// When standard output is closed.
pub fn print_reply(response: &Response, json: bool) -> ExitResult {
    if json {
        output::json(response)?;
    } else {
        output::note(&replies::describe(response));
    }
    Ok(match response {
        // If somebody else has answered before, nothing changes, and the command has an exit code of its own.
        Response::Reply(Reply::AlreadySettled) => Exit::Conflict,
        _ => Exit::Ok,
    })
}

/// Prints the response to a question. With `--wait`, it waits for the promise and prints its value.
///
/// # Errors
/// When the promise is broken.
pub fn print_request(
    acting: &Session<'_>,
    response: &Response,
    how: &crate::cli::agents::PromiseArgs,
) -> ExitResult {
    let Response::Reply(Reply::RequestSent { promise, .. }) = response else {
        return print_reply(response, how.json.json);
    };
    if !how.wait {
        let ended = print_reply(response, how.json.json);
        if let (Some(name), false) = (&how.result, how.json.json) {
            let show = acting.command(&format!("show {}", visible_line(name)));
            output::note(&format!("{show} tells what came of it"));
        }
        return ended;
    }
    if !how.json.json {
        output::note(&replies::describe(response));
    }
    print_promise(&acting.wait(*promise)?, how.json.json)
}

/// Prints the state of a promise.
///
/// # Errors
/// When the promise is broken, or still open.
pub fn print_promise(state: &PromiseState, json: bool) -> ExitResult {
    if json {
        output::json(&object_view::promise_json(state))?;
    }
    match state {
        PromiseState::Fulfilled { value } => {
            if !json {
                output::result(&object_view::value(value, output::reader()))?;
            }
            Ok(Exit::Ok)
        }
        PromiseState::Rejected { reason } => {
            Err(Failure::new(Exit::Failure, format!("it was refused: {}", reason.raw())))
        }
        PromiseState::Pending => Err(Failure::new(Exit::NeedsYou, "nothing has come of it yet")
            .help("`--wait` waits for it; it may take as long as it likes")),
    }
}

/// Parses the number of a message.
///
/// # Errors
/// When the text is no number of a message.
pub fn parse_message_number(text: &str) -> Result<MessageNumber, Failure> {
    text.parse().map_err(|e: BadId| {
        let is_range = text
            .split_once('-')
            .is_some_and(|(first, last)| [first, last].iter().all(|number| number.parse::<u64>().is_ok()));
        Failure::from_error(Exit::Usage, e).help(match is_range {
            true => "a range begins with its lower number, like `12-20`",
            false => "see `almoner inbox`",
        })
    })
}

/// Parses a name path.
///
/// # Errors
/// When the text is no name path.
pub fn parse_path(text: &str) -> Result<NamePath, Failure> {
    NamePath::parse(text).map_err(|e| {
        Failure::from_error(Exit::Usage, e)
            .help("a name has no `@` and no NUL; between names of a path stands `/`")
    })
}

/// Parses a name path, if a text is given.
///
/// # Errors
/// When the text is no name path.
pub fn parse_optional_path(text: Option<&str>) -> Result<Option<NamePath>, Failure> {
    text.map(parse_path).transpose()
}

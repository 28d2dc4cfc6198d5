//! The first object that a client of the gateway sees. It exchanges a token for an agent.

use std::time::{Duration, Instant};

use kernel::facet::Live;
use passable::Value;
use switchboard::{Name, Outcome, Ref};

use crate::objects::convert;
use crate::objects::object::Object;
use crate::objects::object_table::{Context, ObjectTable, type_error};
use control::exit::Failure;

/// The number of wrong tokens after which the client is disconnected.
const MAX_WRONG_TOKENS: u32 = 3;

/// The time within which a client must show a valid token.
pub const TOKEN_TIMEOUT: Duration = Duration::from_secs(30);

/// The methods of the object.
const METHODS: [&str; 3] = ["__getMethodNames__", "fetch", "help"];

/// The help text of the object.
const HELP: &str = "fetch(token) -> the agent for whom `almoner gateway` has given the token out. A token can be \
                    used once, for five minutes.";

/// The login state of a client of the gateway.
#[derive(Debug)]
pub struct GatewayLogin {
    /// The time of the connection, as long as the client has shown no valid token.
    unauthenticated_since: Option<Instant>,
    wrong_tokens: u32,
}

impl GatewayLogin {
    /// Returns the state of a client that has just connected.
    pub fn new(now: Instant) -> GatewayLogin {
        GatewayLogin { unauthenticated_since: Some(now), wrong_tokens: 0 }
    }

    /// Returns the reason to disconnect the client, if there is one.
    pub fn close_reason(&self, now: Instant) -> Option<&'static str> {
        if self.wrong_tokens >= MAX_WRONG_TOKENS {
            return Some("too many wrong tokens");
        }
        let since = self.unauthenticated_since?;
        (now.saturating_duration_since(since) >= TOKEN_TIMEOUT).then_some("no token was shown in time")
    }

    /// Returns whether the client has shown no valid token yet.
    pub fn is_unauthenticated(&self) -> bool {
        self.unauthenticated_since.is_some()
    }
}

impl ObjectTable {
    /// Calls a method of the login object.
    pub fn call_login(&mut self, context: &Context<'_>, method: &Name, args: &[Value<Ref>]) -> Outcome {
        match method.as_str().unwrap_or_default() {
            "__getMethodNames__" => Ok(Value::array(METHODS.map(Value::string).to_vec())),
            "help" => Ok(Value::string(HELP)),
            "fetch" => {
                let token = args.first().and_then(Value::as_str);
                token.map_or_else(
                    || Err(type_error("fetch: a token is a string".to_owned())),
                    |token| self.fetch(context, token),
                )
            }
            _ => {
                let known: Vec<String> = METHODS.iter().map(|name| format!("\"{name}\"")).collect();
                let shown = method.shown();
                Err(type_error(format!("target has no method {shown}, has [{}]", known.join(","))))
            }
        }
    }

    fn fetch(&mut self, context: &Context<'_>, token: &str) -> Outcome {
        let error = |message: String| Value::error("Error", message);
        let daemon = context.daemon;
        let agent = daemon.gateway_tokens.redeem(token, Instant::now());
        let Some(id) = agent else {
            if let Some(entrance) = &mut self.gateway_login {
                entrance.wrong_tokens += 1;
            }
            let said = "no such token: it was used, or is too old; `almoner gateway` gives out another";
            return Err(error(said.to_owned()));
        };
        if let Some(entrance) = &mut self.gateway_login {
            entrance.unauthenticated_since = None;
            entrance.wrong_tokens = 0;
        }
        let failed = |failure: Failure| error(failure.message.raw().to_owned());
        let agent = Value::remotable(Live::Formula(id));
        let interfaces = daemon.read(|txn| convert::interfaces(txn, &agent)).map_err(failed)?;
        let reach = Object { id, agent: id, through: vec![] };
        self.show(&mut context.board(), &agent, &interfaces, &reach).map_err(|full| error(full.to_string()))
    }
}

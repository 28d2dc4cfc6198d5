//! The actions on a run from its page.

use control::exit::Failure;
use control::protocol::{AgentAct, Request};
use kernel::RunNumber;
use kernel::command::Cancel;
use passable::Untrusted;

use crate::answer::Answer;
use crate::page_request::{PageRequest, take, typed};

/// Answers `POST /r/RUN/cancel`: cancels a run.
pub fn cancel(asked: &PageRequest) -> Result<Answer, Failure> {
    let run: RunNumber = asked.part("run")?;
    let reason = asked.filled("reason").unwrap_or("you said so");
    let act = AgentAct::Cancel { what: Cancel::Run { run }, reason: Untrusted::new(reason) };
    asked.act("cancel", format!("cancel {run} -r {}", typed(reason)), act)?;
    Ok(Answer::Go(format!("/r/{run}")))
}

/// Answers `POST /r/RUN/resume`: resumes a run.
pub fn resume(asked: &PageRequest) -> Result<Answer, Failure> {
    let run: RunNumber = asked.part("run")?;
    let text = Untrusted::new(format!("resume {run}"));
    take!(asked.ask(Request::Resume { text, run: Some(run) })?, Reply);
    // In a conversation, the browser returns to the conversation.
    Ok(Answer::Go(asked.back().unwrap_or_else(|| format!("/r/{run}"))))
}

//! The standing instructions of a request, and their place in the conversation.

use std::borrow::Cow;

use crate::request::{Message, Request};
use crate::served::dialect::{Dialect, Form};

/// Returns the standing instructions and the conversation, as a dialect has them. If the form of the output is
/// requested in words, the instructions include it. For a model without a role for instructions, they stand at the
/// beginning of the first message.
pub(super) fn placed(
    request: &Request,
    form: Option<Form>,
    dialect: Dialect,
) -> (String, Cow<'_, [Message]>) {
    let mut system = request.system.clone();
    if let (Some(Form::Prompt), Some(schema)) = (form, &request.output) {
        system.push_str(
            "\n\nWhen you give your final answer, write nothing but one JSON value that satisfies this JSON Schema:\n",
        );
        system.push_str(&schema.to_string());
    }
    if !dialect.no_system && !dialect.alternate {
        return (system, Cow::Borrowed(&request.messages));
    }
    let mut messages = request.messages.clone();
    if dialect.no_system && !system.trim().is_empty() {
        let instructions = Message::user(std::mem::take(&mut system));
        messages.insert(0, instructions);
    }
    (system, Cow::Owned(merged(messages)))
}

/// Returns the messages with those of the user that follow each other put together.
fn merged(messages: Vec<Message>) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::new();
    for message in messages {
        match (out.last_mut(), message) {
            (Some(Message::User { text, media }), Message::User { text: more, media: more_media }) => {
                if !text.is_empty() && !more.is_empty() {
                    text.push_str("\n\n");
                }
                text.push_str(&more);
                media.extend(more_media);
            }
            (_, message) => out.push(message),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_join_the_first_message() {
        let request = Request {
            system: "Be brief.".into(),
            messages: vec![
                Message::user("hi"),
                Message::Assistant { text: "yes".into(), calls: Vec::new() },
                Message::user("a"),
                Message::user("b"),
            ],
            ..Request::default()
        };
        let texts = |dialect: Dialect| {
            let (system, messages) = placed(&request, None, dialect);
            let texts = messages.iter().map(|message| match message {
                Message::User { text, .. } | Message::Assistant { text, .. } => text.clone(),
                Message::ToolResult { content, .. } => content.clone(),
            });
            (system, texts.collect::<Vec<_>>())
        };
        let (system, plain) = texts(Dialect::default());
        assert_eq!((system.as_str(), plain.len()), ("Be brief.", 4));
        let (system, alternating) = texts(Dialect { alternate: true, ..Dialect::default() });
        assert_eq!(
            (system.as_str(), alternating),
            ("Be brief.", vec!["hi".into(), "yes".into(), "a\n\nb".into()])
        );
        let (system, joined) = texts(Dialect { no_system: true, ..Dialect::default() });
        assert_eq!(
            (system.as_str(), joined),
            ("", vec!["Be brief.\n\nhi".into(), "yes".into(), "a\n\nb".into()])
        );
    }
}

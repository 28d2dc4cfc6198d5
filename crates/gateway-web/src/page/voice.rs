//! The three kinds of text on a page: ours, yours, and theirs.
//!
//! Each kind is a type, and only [`Theirs`] is set as foreign. So a mark of foreign text always means that somebody else
//! has written it.

use maud::{Markup, Render, html};
use passable::{Untrusted, visible_line};

use super::safe_links;

/// Words of Almoner. The parts between backticks are commands or names, and are set as code.
#[derive(Clone, Copy, Debug)]
pub struct Ours<'a>(pub &'a str);

/// Words of the user, and names that the user reads everywhere: a command, an input, a path, a name.
#[derive(Clone, Copy, Debug)]
pub struct Yours<'a>(pub &'a str);

/// Words of somebody else: a model, a document, a server, another agent.
#[derive(Clone, Copy, Debug)]
pub struct Theirs<'a>(pub &'a Untrusted);

impl Render for Ours<'_> {
    fn render(&self) -> Markup {
        html! {
            @for (at, piece) in self.0.split('`').enumerate() {
                @if at % 2 == 1 { code { (visible_line(piece)) } } @else { (visible_line(piece)) }
            }
        }
    }
}

impl Render for Yours<'_> {
    fn render(&self) -> Markup {
        html! { bdi.yours dir="ltr" { (visible_line(self.0)) } }
    }
}

impl Render for Theirs<'_> {
    fn render(&self) -> Markup {
        html! { bdi.foreign dir="ltr" { (self.0.visible_line()) } (safe_links::host_note(self.0.raw())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_their_words_are_set_as_foreign() {
        let text = "`a` <b>\u{202e}";
        let theirs = Untrusted::new(text);
        for (drawn, is_foreign, is_yours) in [
            (Ours(text).render(), false, false),
            (Yours(text).render(), false, true),
            (Theirs(&theirs).render(), true, false),
        ] {
            let has = |mark: &str| drawn.0.contains(mark);
            assert_eq!((has("foreign"), has("yours")), (is_foreign, is_yours), "{}", drawn.0);
            assert!(has("&lt;b&gt;") && !has("\u{202e}"), "{}", drawn.0);
        }
        assert_eq!(Ours("run `x y`").render().0, "run <code>x y</code>");
    }
}

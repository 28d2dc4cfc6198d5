//! The raw view of a journal, with each step as it is stored.

use kernel::StepRef;
use maud::{Markup, html};
use passable::Untrusted;

use super::family::Family;
use crate::page::{link, parts};

/// The maximum number of bytes of a step in the list. The step's own page shows all of it.
const MAX_BYTES: usize = 1000;

/// Returns all steps of the runs, in order.
pub fn raw(family: &Family) -> Markup {
    html! {
        @for (run, steps) in &family.members {
            section aria-labelledby={ "raw-" (run.number) } {
                h3 #{ "raw-" (run.number) } { (run.number) " " (parts::word(&run.name)) }
                ol.raw {
                    @for step in steps {
                        @let json = serde_json::to_string(step).unwrap_or_default();
                        li #{ "raw-" (run.number) "-" (step.number) } {
                            (link::step(StepRef { run: run.number, step: step.number })) " "
                            (parts::line(&Untrusted::new(cut(&json))))
                            @if json.len() > MAX_BYTES { span.note { " … " (json.len() - MAX_BYTES) " more bytes" } }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the beginning of a text.
fn cut(text: &str) -> &str {
    let end = (0..=MAX_BYTES.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

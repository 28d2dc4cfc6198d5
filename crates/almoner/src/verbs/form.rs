//! `almoner form`: a form for another agent.

use std::collections::{BTreeMap, BTreeSet};

use kernel::command::{Form, MailAct};
use kernel::message::Field;
use passable::Untrusted;
use worker::definition::{self, Bundle, FormField, Report};

use crate::cli;
use crate::cli::agents::FormArgs;
use crate::session;
use crate::session::{Session, print_request};
use crate::ui::diagnostics;
use crate::ui::output;
use control::exit::{Exit, ExitResult, Failure};

/// Runs `almoner form`.
///
/// # Errors
/// When the form cannot be sent. When the command waits for the answer, and the form is refused.
pub fn form(acting: &Session<'_>, args: &FormArgs) -> ExitResult {
    let mut fields = match &args.file {
        Some(file) => fields_of(&file.to_string_lossy())?,
        None => vec![],
    };
    for text in &args.fields {
        let spec = cli::parse_field_spec(text)?;
        fields.push(Field {
            label: Untrusted::new(spec.label),
            pattern: spec.pattern.to_value(),
            name: spec.name,
            default: None,
            example: None,
            secret: spec.secret,
        });
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = fields.iter().find(|field| !seen.insert(&field.name)) {
        return Err(Failure::new(Exit::Usage, format!("the field `{}` is there twice", twice.name))
            .help("name each once"));
    }
    let act = MailAct::Form(Form {
        to: session::parse_path(&args.to)?,
        description: Untrusted::new(args.description.clone()),
        fields,
        repeatable: args.repeatable,
        result_name: session::parse_optional_path(args.ask.result.as_deref())?,
    });
    print_request(acting, &acting.mail("form", act)?, &args.ask)
}

/// Reads the fields of a file, and prints each problem with its place.
fn fields_of(file: &str) -> Result<Vec<Field>, Failure> {
    let source = cli::read_text(file)?;
    let (fields, problems) = definition::parse_fields(&source);
    if !problems.is_empty() {
        let (name, includes) = (String::new(), BTreeMap::new());
        let bundle = Bundle { name, file: file.to_owned(), source, includes };
        output::report(&diagnostics::render_finding(&Report::new(&bundle, problems)));
        return Err(Failure::silent(Exit::Invalid));
    }
    let field = |field: FormField| Field {
        label: Untrusted::new(field.label.unwrap_or_else(|| field.name.clone())),
        pattern: field.pattern.to_value(),
        name: field.name,
        default: field.default,
        example: field.example,
        secret: field.secret,
    };
    Ok(fields.into_iter().map(field).collect())
}

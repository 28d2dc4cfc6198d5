//! `almoner demo`: a hijacked worker, then a live one, each over five documents.

mod bare_loop;
mod facts;
mod folder;
mod hijacked;
mod live;

use std::path::Path;

use crate::cli::DemoArgs;
use crate::ui::output;
use config::place::Place;
use config::private_dir::temporary_dir;
use control::exit::{Exit, ExitResult, Failure};

/// Runs `almoner demo`.
///
/// # Errors
/// When a part fails, or its result is not the expected one.
pub fn demo(place: &Place, args: &DemoArgs) -> ExitResult {
    if args.scripted {
        let home = temporary_dir("almoner-demo-").map_err(|e| io("a directory for the store", &e))?;
        let place = Place::under(home.path());
        let work = home.path().join("work");
        hijacked::show(&work.join("hijacked"))?;
        folder::lay_out(&work)?;
        let script = format!("scripted:{}", work.join("script.json").display());
        let shown = live::show(&place, &work, Some(&script), live::Approval::FromElsewhere);
        super::daemon::halt(&place)?;
        return shown;
    }
    if !args.live {
        let work = temporary_dir("almoner-demo-").map_err(|e| io("a directory to work in", &e))?;
        hijacked::show(work.path())?;
    }
    if args.hijacked {
        return Ok(Exit::Ok);
    }
    // The store is checked before a model is fetched or a folder is laid out.
    place.inspect_store()?;
    let work = match &args.inbox {
        Some(dir) => dir.clone(),
        None => {
            let work = std::path::absolute("almoner-demo").map_err(|e| io("almoner-demo", &e))?;
            folder::lay_out(&work)?;
            work
        }
    };
    let approval = if args.yes { live::Approval::AfterShowing } else { live::Approval::AtTerminal };
    if args.yes && args.model.is_none() {
        live::fetch_without_asking(place)?;
    }
    live::show(place, &work, args.model.as_deref(), approval)
}

fn heading(text: &str) {
    output::note(&format!(
        "\n\u{2501}\u{2501} {text} {}\n",
        "\u{2501}".repeat(90_usize.saturating_sub(text.chars().count()))
    ));
}

fn io(what: &str, e: &std::io::Error) -> Failure {
    Failure::new(Exit::Failure, format!("{what}: {e}"))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|e| io(&path.display().to_string(), &e))
}

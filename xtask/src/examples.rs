//! `cargo xtask examples`: the facts of the examples, with a real model.
//!
//! The command runs the commands of each folder with the model that is named, and answers its questions as the README
//! does. It compares the results with facts that were committed before any model was run on the folder. One table, no
//! verdict: a model that gets a fact wrong is no fault of this code.

use anyhow::Result;

use crate::CommandStatus;
use crate::process::{cargo, run};
use crate::test::{Features, with_features, with_test_home};
use crate::workspace::Workspace;

/// Where the test that does it stands.
const TEST: &str = "examples::examples_report_their_facts_with_a_real_model";

pub(crate) fn main(arguments: &[String]) -> Result<CommandStatus> {
    let (model, only) = match arguments {
        [model] => (model, String::new()),
        [model, folders @ ..] => (model, folders.join(",")),
        [] => {
            return Ok(CommandStatus::Usage(
                "which model? `cargo xtask examples local`, for instance".to_owned(),
            ));
        }
    };
    if model.starts_with("local") && std::env::var_os("ALMONER_MODELS").is_none() {
        let why =
            "each example has a home of its own: ALMONER_MODELS must say in which directory the weights lie";
        return Ok(CommandStatus::Usage(why.to_owned()));
    }
    let workspace = Workspace::read()?;
    let mut command = cargo(&workspace.root, &["test", "--workspace", "--test", "it"]);
    with_features(&mut command, &workspace, Features::Shipped);
    command.args(["--", "--ignored", "--exact", TEST, "--nocapture"]);
    let mut command = with_test_home(command, &workspace)?;
    command.env("ALMONER_EXAMPLES_MODEL", model).env("ALMONER_EXAMPLES_ONLY", only);
    Ok(if run(&mut command)? { CommandStatus::Success } else { CommandStatus::Failure })
}

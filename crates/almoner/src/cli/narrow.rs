//! The command line of `almoner narrow`: types only.

use clap::Args;
use control::narrow::Narrowing;

use super::JsonArg;

/// `almoner narrow`.
#[derive(Debug, Args)]
pub struct NarrowArgs {
    /// The thing to narrow, by one of your names
    pub from: String,
    /// Its name
    pub to: String,
    /// Keep only these methods
    #[arg(long, value_delimiter = ',', value_name = "METHOD")]
    pub methods: Vec<String>,
    /// Let it reach only files whose names end so
    #[arg(long, value_name = ".ENDING")]
    pub suffix: Vec<String>,
    /// Limit each file, message or answer: `10MiB`
    #[arg(long, value_name = "SIZE")]
    pub max: Option<String>,
    /// Limit the size of a directory: `1GiB`
    #[arg(long, value_name = "SIZE")]
    pub total: Option<String>,
    /// Limit the number of calls in a time: `10/min`
    #[arg(long)]
    pub rate: Option<String>,
    /// Let it last so long: `30m`, `8h`, `7d`
    #[arg(long, value_name = "TIME")]
    pub lasts: Option<String>,
    /// Treat everything that is read through it as private
    #[arg(long)]
    pub private: bool,
    /// Show what it would allow, and stop
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Take the name even if it looks like another one in its directory
    #[arg(long)]
    pub force: bool,
    /// As JSON.
    #[command(flatten)]
    pub json: JsonArg,
}

impl NarrowArgs {
    /// Returns the restrictions that the options name.
    pub fn narrowing(&self) -> Narrowing {
        let text = |said: &Option<String>| said.clone().unwrap_or_default();
        Narrowing {
            methods: Some(self.methods.iter().cloned().collect()).filter(|_| !self.methods.is_empty()),
            suffixes: self.suffix.join(" "),
            max: text(&self.max),
            total: text(&self.total),
            rate: text(&self.rate),
            lasts: text(&self.lasts),
            private: self.private,
        }
    }
}

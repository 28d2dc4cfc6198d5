//! What a page answers, before it is HTTP.

use maud::Markup;

/// An answer.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A page.
    Page(Box<Page>),
    /// Go and look there: what was asked for is done.
    Go(String),
    /// A piece of a page, for the script.
    Piece(Markup),
}

/// A page, without what all pages have.
#[derive(Clone, Debug)]
pub struct Page {
    /// The status; 200 unless something was refused.
    pub status: u16,
    /// What it is, in a few words. Not foreign.
    pub title: String,
    /// The part of the site that it belongs to: the path of its place in the navigation.
    pub part: &'static str,
    /// What its live regions follow: `inbox`, `runs`, `run:17`, `all`; separated by spaces. Empty if nothing.
    pub topics: String,
    /// What it shows.
    pub main: Markup,
}

impl Page {
    /// A page that shows what was asked for.
    pub fn new(part: &'static str, title: impl Into<String>, main: Markup) -> Page {
        Page { status: 200, title: title.into(), part, topics: String::new(), main }
    }

    /// The same, kept up to date with these topics.
    #[must_use]
    pub fn live(mut self, topics: impl Into<String>) -> Page {
        self.topics = topics.into();
        self
    }

    /// The same with another status.
    #[must_use]
    pub fn status(mut self, status: u16) -> Page {
        self.status = status;
        self
    }
}

impl From<Page> for Answer {
    fn from(page: Page) -> Answer {
        Answer::Page(Box::new(page))
    }
}

//! Answers of pages, before they become HTTP responses.

use maud::Markup;

/// An answer.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A page.
    Page(Box<Page>),
    /// A redirect to this address, after the request was done.
    Go(String),
    /// A piece of a page, for the script.
    Piece(Markup),
}

/// A page, without the parts that all pages share.
#[derive(Clone, Debug)]
pub struct Page {
    /// The status; 200 unless something was refused.
    pub status: u16,
    /// The title of the page, in a few words. It contains no foreign text.
    pub title: String,
    /// The part of the site that it belongs to: the path of its place in the navigation.
    pub part: &'static str,
    /// The topics that its live regions follow, separated by spaces: `inbox`, `runs`, `run:17`, `all`. Empty if there
    /// are none.
    pub topics: String,
    /// The main content of the page.
    pub main: Markup,
}

impl Page {
    /// Returns a page with status 200 that follows no topics.
    pub fn new(part: &'static str, title: impl Into<String>, main: Markup) -> Page {
        Page { status: 200, title: title.into(), part, topics: String::new(), main }
    }

    /// Returns the same, kept up to date with these topics.
    #[must_use]
    pub fn live(mut self, topics: impl Into<String>) -> Page {
        self.topics = topics.into();
        self
    }

    /// Returns the same with another status.
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

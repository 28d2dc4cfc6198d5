//! The answers of pages, before they become HTTP responses.

use maud::Markup;

/// The answer to a request for a page.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A whole page.
    Page(Box<Page>),
    /// A redirect to this address, after the request was carried out.
    Go(String),
    /// A redirect to an address, with a cookie that the browser keeps.
    GoWithCookie {
        /// The address.
        to: String,
        /// The cookie.
        cookie: String,
    },
    /// A part of a page, for the script.
    Piece(Markup),
    /// JSON, for the script.
    Json(String),
}

/// A page without the parts that all pages share.
#[derive(Clone, Debug)]
pub struct Page {
    /// The HTTP status, which is 200 unless the request was refused.
    pub status: u16,
    /// The title of the page, in a few words. It contains no foreign text.
    pub title: String,
    /// The part of the site to which the page belongs, as its path in the navigation.
    pub part: &'static str,
    /// The topics that the page's live regions follow, separated by spaces: `inbox`, `runs`, `run:17`, `all`. Empty
    /// for a page without live regions.
    pub topics: String,
    /// The main content of the page.
    pub main: Markup,
}

impl Page {
    /// Returns a page with status 200 that follows no topics.
    pub fn new(part: &'static str, title: impl Into<String>, main: Markup) -> Page {
        Page { status: 200, title: title.into(), part, topics: String::new(), main }
    }

    /// Returns the page with topics that keep it up to date.
    #[must_use]
    pub fn live(mut self, topics: impl Into<String>) -> Page {
        self.topics = topics.into();
        self
    }

    /// Returns the page with another status.
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

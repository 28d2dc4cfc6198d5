//! The scripts, the style and the sign, each under a name that has its hash: what changes has another name.

/// What is served beside the pages.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// Its name, without the hash.
    stem: &'static str,
    /// Its ending.
    ending: &'static str,
    /// What it is.
    pub media: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The script.
pub const SCRIPT: Asset = Asset {
    stem: "app",
    ending: "js",
    media: "text/javascript; charset=utf-8",
    text: include_str!("../assets/app.js"),
};

/// The script for what is filled in, on pages that have such a form.
pub const FORMS: Asset = Asset {
    stem: "forms",
    ending: "js",
    media: "text/javascript; charset=utf-8",
    text: include_str!("../assets/forms.js"),
};

/// The script for pickers, on pages that have one.
pub const PICK: Asset = Asset {
    stem: "pick",
    ending: "js",
    media: "text/javascript; charset=utf-8",
    text: include_str!("../assets/pick.js"),
};

/// The style.
pub const STYLE: Asset = Asset {
    stem: "app",
    ending: "css",
    media: "text/css; charset=utf-8",
    text: include_str!("../assets/app.css"),
};

/// The sign: an open hand that gives.
pub const SIGN: Asset =
    Asset { stem: "sign", ending: "svg", media: "image/svg+xml", text: include_str!("../assets/sign.svg") };

impl Asset {
    /// The path under which it is served.
    pub fn path(&self) -> String {
        let hash = blake3::hash(self.text.as_bytes()).to_hex();
        format!("/assets/{}-{}.{}", self.stem, &hash[..12], self.ending)
    }

    /// The one that is served under this path.
    pub fn at(path: &str) -> Option<Asset> {
        [SCRIPT, FORMS, PICK, STYLE, SIGN].into_iter().find(|asset| asset.path() == path)
    }
}

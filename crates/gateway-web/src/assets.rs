//! The scripts, the style and the sign, each under a name that has its hash: what changes has another name.

use std::io::Write;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;

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
        ALL.into_iter().find(|asset| asset.path() == path)
    }

    /// The same text in the format of gzip. All are packed once.
    pub fn packed(&self) -> Vec<u8> {
        static PACKED: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
        let packed = PACKED.get_or_init(|| ALL.iter().map(|asset| pack(asset.text)).collect());
        let at = ALL.iter().position(|asset| asset.text == self.text);
        at.and_then(|at| packed.get(at)).cloned().unwrap_or_else(|| pack(self.text))
    }
}

/// All of them.
const ALL: [Asset; 5] = [SCRIPT, FORMS, PICK, STYLE, SIGN];

fn pack(text: &str) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    // A vector takes all that is written.
    let _ = out.write_all(text.as_bytes());
    out.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn what_is_packed_is_the_same() {
        for asset in ALL {
            let mut text = String::new();
            flate2::read::GzDecoder::new(&asset.packed()[..]).read_to_string(&mut text).unwrap();
            assert_eq!(text, asset.text);
        }
    }
}

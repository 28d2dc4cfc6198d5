//! The scripts, the style sheet and the icon. Each path contains a hash of the content, so a changed file has another
//! path.

use std::io::Write;
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;

/// A static file that is served in addition to the pages.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// The name of the file, without the hash and the extension.
    stem: &'static str,
    /// The extension of the file name.
    ending: &'static str,
    /// The media type.
    pub media: &'static str,
    /// The content of the file.
    pub text: &'static str,
}

/// The script that every page loads.
pub const SCRIPT: Asset = Asset {
    stem: "app",
    ending: "js",
    media: "text/javascript; charset=utf-8",
    text: include_str!("../assets/app.js"),
};

/// The script for the frame that all pages share.
pub const SHELL: Asset = Asset {
    stem: "shell",
    ending: "js",
    media: "text/javascript; charset=utf-8",
    text: include_str!("../assets/shell.js"),
};

/// The script for input forms, on pages that have such a form.
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

/// The script for passkeys, on the page of sessions and on the login page.
pub const PASSKEYS: Asset = Asset {
    stem: "passkeys",
    ending: "js",
    media: "text/javascript; charset=utf-8",
    text: include_str!("../assets/passkeys.js"),
};

/// The style sheet.
pub const STYLE: Asset = Asset {
    stem: "app",
    ending: "css",
    media: "text/css; charset=utf-8",
    text: include_str!("../assets/app.css"),
};

/// The icon: an open hand that gives.
pub const SIGN: Asset =
    Asset { stem: "sign", ending: "svg", media: "image/svg+xml", text: include_str!("../assets/sign.svg") };

impl Asset {
    /// Returns the path at which the file is served.
    pub fn path(&self) -> String {
        let hash = blake3::hash(self.text.as_bytes()).to_hex();
        format!("/assets/{}-{}.{}", self.stem, &hash[..12], self.ending)
    }

    /// Returns the file at this path, if there is one.
    pub fn at(path: &str) -> Option<Asset> {
        ALL.into_iter().find(|asset| asset.path() == path)
    }

    /// Returns the content in gzip format, without comments and indentation. All files are compressed once.
    pub fn packed(&self) -> Vec<u8> {
        static PACKED: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
        let packed = PACKED.get_or_init(|| ALL.iter().map(|asset| pack(asset.text)).collect());
        let at = ALL.iter().position(|asset| asset.text == self.text);
        at.and_then(|at| packed.get(at)).cloned().unwrap_or_else(|| pack(self.text))
    }
}

/// All static files.
const ALL: [Asset; 7] = [SCRIPT, SHELL, FORMS, PICK, PASSKEYS, STYLE, SIGN];

/// Returns a text without indentation, and without lines that are comments. No text of the scripts spans lines.
fn lean(text: &str) -> String {
    let is_comment = |line: &&str| {
        line.starts_with("// ") || (line.starts_with("/*") && line.find("*/") == line.len().checked_sub(2))
    };
    let lines: Vec<&str> = text.lines().map(str::trim_start).filter(|line| !is_comment(line)).collect();
    lines.join("\n")
}

fn pack(text: &str) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to a vector cannot fail.
    let _ = out.write_all(lean(text).as_bytes());
    out.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// The files of a first load leave room for a page below 30 kB.
    #[test]
    fn first_load_has_few_bytes_of_files() {
        let files = [SCRIPT, SHELL, STYLE, SIGN].map(|asset| asset.packed().len());
        assert!(files.iter().sum::<usize>() < 18_000, "{files:?}");
    }

    #[test]
    fn packed_assets_lack_only_comments_and_indentation() {
        let text = "  // a\n  b; // c\n/* d */\n  /* e */ f\n";
        assert_eq!(lean(text), "b; // c\n/* e */ f");
        for asset in ALL {
            let mut text = String::new();
            flate2::read::GzDecoder::new(&asset.packed()[..]).read_to_string(&mut text).unwrap();
            assert_eq!(text, lean(asset.text));
            // A text that spans lines would lose its indentation.
            let is_whole = |line: &str| line.matches('`').count().is_multiple_of(2);
            assert!(asset.media != SCRIPT.media || text.lines().all(is_whole), "{}", asset.stem);
        }
    }
}

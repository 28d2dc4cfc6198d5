//! Images and PDF files that a model reads without conversion to text.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::reference::ModelRef;

/// The kind of a document, for a model that reads more than text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaKind {
    /// An image.
    Image,
    /// A PDF file.
    Pdf,
}

impl MediaKind {
    /// Returns the kind and the media type of a file, from its first bytes alone. Returns `None` if the file is
    /// neither a PDF nor an image that every vendor accepts (PNG, JPEG, GIF, WebP).
    #[must_use]
    pub fn sniff(bytes: &[u8]) -> Option<(MediaKind, &'static str)> {
        let image = |kind| Some((Self::Image, kind));
        match bytes {
            [b'%', b'P', b'D', b'F', b'-', ..] => Some((Self::Pdf, "application/pdf")),
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => image("image/png"),
            [0xff, 0xd8, 0xff, ..] => image("image/jpeg"),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => image("image/gif"),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => image("image/webp"),
            _ => None,
        }
    }
}

/// The suffixes of file names, each with the media type that such a file must have.
const SUFFIXES: [(&str, &str); 6] = [
    (".pdf", "application/pdf"),
    (".png", "image/png"),
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".gif", "image/gif"),
    (".webp", "image/webp"),
];

impl MediaKind {
    /// Returns the type that a file of this name must have, if its suffix is that of a PDF or a picture.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static str> {
        let lower = name.to_lowercase();
        SUFFIXES.iter().find(|(suffix, _)| lower.ends_with(suffix)).map(|(_, kind)| *kind)
    }

    /// Returns the kind and the media type of a file, if its name and its content agree on them.
    #[must_use]
    pub fn of(name: &str, bytes: &[u8]) -> Option<(MediaKind, &'static str)> {
        Self::sniff(bytes).filter(|(_, found)| Self::named(name) == Some(found))
    }
}

/// The kinds of documents that a model accepts without conversion to text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MediaSupport {
    /// Whether the model accepts images.
    pub images: bool,
    /// Whether the model accepts PDF files.
    pub pdfs: bool,
}

impl MediaSupport {
    /// Returns whether the model accepts a kind of document.
    #[must_use]
    pub fn takes(self, kind: MediaKind) -> bool {
        match kind {
            MediaKind::Image => self.images,
            MediaKind::Pdf => self.pdfs,
        }
    }

    /// Returns the kinds of documents that both models accept.
    #[must_use]
    pub fn and(self, other: MediaSupport) -> MediaSupport {
        MediaSupport { images: self.images && other.images, pdfs: self.pdfs && other.pdfs }
    }

    /// Returns the kinds of documents that a model accepts. The vendors' models accept all kinds. Other servers get
    /// text unless the user says otherwise, because their abilities are not known.
    #[must_use]
    pub fn for_model(reference: &ModelRef) -> MediaSupport {
        let is_vendor = matches!(reference, ModelRef::Vendor { .. });
        MediaSupport { images: is_vendor, pdfs: is_vendor }
    }
}

/// A document that goes to the model unchanged, identified by its hash. A serialized request leaves out the bytes,
/// and its reader puts them in again.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Media {
    /// The kind of the document.
    pub kind: MediaKind,
    /// The document's name.
    pub name: String,
    /// The media type, such as `image/png`.
    pub media_type: String,
    /// The hash under which the caller keeps the bytes.
    pub blob: String,
    /// The bytes of the document.
    #[serde(skip)]
    pub bytes: Arc<[u8]>,
}

impl fmt::Debug for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Media")
            .field("name", &self.name)
            .field("media_type", &self.media_type)
            .field("blob", &self.blob)
            .finish_non_exhaustive()
    }
}

impl Media {
    /// Returns the bytes in base64.
    pub(crate) fn base64(&self) -> String {
        STANDARD.encode(&self.bytes)
    }

    /// Returns a `data:` URL of the bytes.
    pub(crate) fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.media_type, self.base64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_url_holds_padded_base64() {
        let (name, media_type, blob) = ("a.png".into(), "image/png".into(), String::new());
        let bytes = Arc::from([0xfb, 0xff, 0xfe, 0x66]);
        let media = Media { kind: MediaKind::Image, name, media_type, blob, bytes };
        assert_eq!(media.data_url(), "data:image/png;base64,+//+Zg==");
    }

    #[test]
    fn media_type_follows_the_first_bytes() {
        for (bytes, expected) in [
            (b"%PDF-1.7\n".as_slice(), Some("application/pdf")),
            (b"\x89PNG\r\n\x1a\n....", Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a", Some("image/gif")),
            (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"<svg>", None),
            (b"", None),
        ] {
            assert_eq!(MediaKind::sniff(bytes).map(|(_, kind)| kind), expected);
        }
    }

    #[test]
    fn suffix_must_match_the_content() {
        let png = b"\x89PNG\r\n\x1a\n....";
        for (name, bytes, expected) in [
            ("a.PNG", png.as_slice(), Some("image/png")),
            ("a.jpg", png, None),
            ("a", png, None),
            ("a.pdf", b"%PDF-1.4", Some("application/pdf")),
            ("a.pdf", b"<html>", None),
            ("a.jpeg", b"\xff\xd8\xff", Some("image/jpeg")),
        ] {
            assert_eq!(MediaKind::of(name, bytes).map(|(_, kind)| kind), expected, "{name}");
        }
    }

    #[test]
    fn unknown_servers_are_assumed_to_take_no_media() {
        let takes = |name: &str| MediaSupport::for_model(&name.parse().unwrap());
        let both = MediaSupport { images: true, pdfs: true };
        assert_eq!(takes("anthropic:m"), both);
        assert_eq!(takes("gemini:m").and(takes("openai:m")), both);
        for name in ["ollama:m", "compat:https://h/v1#m", "local", "scripted:/s", "replay:/r"] {
            assert_eq!(takes(name).and(both), MediaSupport::default(), "{name}");
        }
    }

    #[test]
    fn serialized_media_omits_the_bytes() {
        let media = Media {
            kind: MediaKind::Image,
            name: "a.png".into(),
            media_type: "image/png".into(),
            blob: "00ff".into(),
            bytes: Arc::from(*b"secret pixels"),
        };
        let text = serde_json::to_string(&media).unwrap();
        assert_eq!(text, r#"{"kind":"image","name":"a.png","media_type":"image/png","blob":"00ff"}"#);
        assert!(!format!("{media:?}").contains("secret"));
    }
}

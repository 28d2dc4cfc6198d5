//! Pictures and PDFs that a model reads as they are.

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
    /// A picture.
    Image,
    /// A PDF.
    Pdf,
}

impl MediaKind {
    /// Returns the kind and the type of a file, from its first bytes and nothing else; `None` when it is neither a
    /// PDF nor a picture that every vendor takes (PNG, JPEG, GIF, WebP).
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

/// The suffixes of names, and the type that a file of each must have.
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

    /// Returns the kind and the type of a file whose name and content agree on it.
    #[must_use]
    pub fn of(name: &str, bytes: &[u8]) -> Option<(MediaKind, &'static str)> {
        Self::sniff(bytes).filter(|(_, found)| Self::named(name) == Some(found))
    }
}

/// Which documents a model takes as they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MediaSupport {
    /// Pictures.
    pub images: bool,
    /// PDFs.
    pub pdfs: bool,
}

impl MediaSupport {
    /// Returns whether it takes this kind.
    #[must_use]
    pub fn takes(self, kind: MediaKind) -> bool {
        match kind {
            MediaKind::Image => self.images,
            MediaKind::Pdf => self.pdfs,
        }
    }

    /// Returns the media that both models take.
    #[must_use]
    pub fn and(self, other: MediaSupport) -> MediaSupport {
        MediaSupport { images: self.images && other.images, pdfs: self.pdfs && other.pdfs }
    }

    /// Returns the media that a model of this kind takes: the vendors' models take both. Other servers are sent text
    /// unless the user says otherwise, since their abilities are not known.
    #[must_use]
    pub fn for_model(reference: &ModelRef) -> MediaSupport {
        let is_vendor = matches!(reference, ModelRef::Vendor { .. });
        MediaSupport { images: is_vendor, pdfs: is_vendor }
    }
}

/// A document that goes to the model as it is. Its hash identifies it. The bytes are left out when a request is
/// written down, and its reader puts them in again.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Media {
    /// Picture or PDF.
    pub kind: MediaKind,
    /// The document's name.
    pub name: String,
    /// Its type, such as `image/png`.
    pub media_type: String,
    /// The hash under which the caller keeps the bytes.
    pub blob: String,
    /// The bytes.
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

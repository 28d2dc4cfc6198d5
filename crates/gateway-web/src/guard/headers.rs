//! The headers of every answer.

/// The content that a page may have: its own script, style, pictures and connections; no frames, and no text that
/// becomes markup but through the one policy of the script.
pub const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; \
     require-trusted-types-for 'script'; trusted-types almoner";

/// The headers, each with its value. `Referrer-Policy` is `same-origin`: with `no-referrer`, browsers send our own
/// forms with `Origin: null`.
pub const ALWAYS: &[(&str, &str)] = &[
    ("content-security-policy", CONTENT_POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=(), clipboard-read=()"),
];

/// For pages: nothing of them is kept by the browser.
pub const PAGE: (&str, &str) = ("cache-control", "no-store");

/// The cache header for files with a hash in their name.
pub const ASSET: (&str, &str) = ("cache-control", "public, max-age=31536000, immutable");

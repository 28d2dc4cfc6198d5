//! The headers of every response.

/// The content policy of a page. It allows only the page's own scripts, styles, images and connections, and no
/// frames. Text can become markup only through the one trusted-types policy of the script.
pub const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; \
     require-trusted-types-for 'script'; trusted-types almoner";

/// The headers of every response. The referrer policy is `same-origin`, because with `no-referrer` browsers send our
/// own forms with `Origin: null`.
pub const ALWAYS: &[(&str, &str)] = &[
    ("content-security-policy", CONTENT_POLICY),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=(), clipboard-read=()"),
];

/// The cache header for pages, which the browser must not store.
pub const PAGE: (&str, &str) = ("cache-control", "no-store");

/// The cache header for files with a hash in their names.
pub const ASSET: (&str, &str) = ("cache-control", "public, max-age=31536000, immutable");

//! The recognition of keys by their shape: by the prefixes that their issuers gave them for this purpose.
//!
//! Only shapes that hardly any other text has are listed. A name beside a long word (`token=…`) is no such shape,
//! because commits, digests and identifiers look the same.

use Set::{Alnum, Base64, Bech32, Hex, Upper, Word};

/// A kind of key that can be recognised by its shape.
#[derive(Debug)]
pub struct Shape {
    /// The description of the key.
    pub name: &'static str,
    /// The prefix of the key, in exactly these letters.
    pub(super) begins: &'static str,
    after: After,
}

/// The text that must follow the prefix.
#[derive(Debug)]
enum After {
    /// Between a minimum and a maximum number of characters of a set. The next character is outside the set.
    Some(Set, usize, usize),
    /// A text that the function accepts.
    Judged(fn(&[u8]) -> Option<usize>),
    /// Any text, or none. In this case, the text before the prefix does not matter either.
    Anything,
}

#[derive(Clone, Copy, Debug)]
enum Set {
    Alnum,
    /// Letters, digits, `_` and `-`.
    Word,
    /// Letters, digits, `_`, `-`, `.`, `+`, `/` and `=`.
    Base64,
    Hex,
    /// Capitals and digits.
    Upper,
    /// Capitals and digits, as in age's identities.
    Bech32,
}

impl Set {
    fn has(self, byte: u8) -> bool {
        match self {
            Alnum => byte.is_ascii_alphanumeric(),
            Word => byte.is_ascii_alphanumeric() || b"_-".contains(&byte),
            Base64 => byte.is_ascii_alphanumeric() || b"_-.+/=".contains(&byte),
            Hex => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
            Upper | Bech32 => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        }
    }
}

const MAX_OPEN_LEN: usize = 4096;

/// The maximum length of a key that is still recognised as a whole if it is escaped.
pub(super) const MAX_LEN: usize = 256;

const fn some(name: &'static str, begins: &'static str, set: Set, least: usize, most: usize) -> Shape {
    Shape { name, begins, after: After::Some(set, least, most) }
}

const fn judged(name: &'static str, begins: &'static str, judge: fn(&[u8]) -> Option<usize>) -> Shape {
    Shape { name, begins, after: After::Judged(judge) }
}

const fn plain(name: &'static str, begins: &'static str) -> Shape {
    Shape { name, begins, after: After::Anything }
}

/// All shapes.
pub const SHAPES: &[Shape] = &[
    plain("a private key (PEM)", "-----BEGIN PRIVATE KEY-----"),
    plain("a private key (PEM)", "-----BEGIN RSA PRIVATE KEY-----"),
    plain("a private key (PEM)", "-----BEGIN EC PRIVATE KEY-----"),
    plain("a private key (PEM)", "-----BEGIN DSA PRIVATE KEY-----"),
    plain("a private key (PEM)", "-----BEGIN ENCRYPTED PRIVATE KEY-----"),
    plain("a private key (PEM)", "-----BEGIN ANY PRIVATE KEY-----"),
    plain("a private key (PEM)", "-----BEGIN ED25519 PRIVATE KEY-----"),
    plain("a private key of SSH2", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----"),
    plain("a private key of OpenSSH", "-----BEGIN OPENSSH PRIVATE KEY-----"),
    plain("a private key of PGP", "-----BEGIN PGP PRIVATE KEY BLOCK-----"),
    plain("a private key of PuTTY", "PuTTY-User-Key-File-"),
    some("an age identity", "AGE-SECRET-KEY-1", Bech32, 58, 58),
    some("an age identity", "AGE-SECRET-KEY-PQ-1", Bech32, 50, MAX_OPEN_LEN),
    some("a key of OpenAI", "sk-proj-", Word, 20, MAX_OPEN_LEN),
    some("a key of OpenAI", "sk-svcacct-", Word, 20, MAX_OPEN_LEN),
    some("a key of OpenAI", "sk-admin-", Word, 20, MAX_OPEN_LEN),
    judged("a key of OpenAI or alike", "sk-", bare_sk),
    some("a key of Anthropic", "sk-ant-", Word, 20, MAX_OPEN_LEN),
    some("a key of OpenRouter", "sk-or-v1-", Hex, 64, 64),
    some("a key of Google", "AIza", Word, 35, 35),
    some("a client secret of Google", "GOCSPX-", Word, 28, 28),
    some("an access token of Google", "ya29.", Word, 20, MAX_OPEN_LEN),
    some("a token of GitHub", "ghp_", Alnum, 36, MAX_OPEN_LEN),
    some("a token of GitHub", "gho_", Alnum, 36, MAX_OPEN_LEN),
    some("a token of GitHub", "ghu_", Alnum, 36, MAX_OPEN_LEN),
    some("a token of GitHub", "ghs_", Alnum, 36, MAX_OPEN_LEN),
    some("a token of GitHub", "ghr_", Alnum, 36, MAX_OPEN_LEN),
    some("a token of GitHub", "github_pat_", Word, 60, MAX_OPEN_LEN),
    some("a token of GitLab", "glpat-", Base64, 20, MAX_OPEN_LEN),
    some("a token of GitLab", "gldt-", Base64, 20, MAX_OPEN_LEN),
    some("a token of GitLab", "glrt-", Base64, 20, MAX_OPEN_LEN),
    some("a token of GitLab", "glptt-", Base64, 20, MAX_OPEN_LEN),
    some("a token of GitLab", "glcbt-", Base64, 20, MAX_OPEN_LEN),
    some("a token of GitLab", "glsoat-", Base64, 20, MAX_OPEN_LEN),
    some("a token of Slack", "xoxb-", Word, 24, MAX_OPEN_LEN),
    some("a token of Slack", "xoxp-", Word, 24, MAX_OPEN_LEN),
    some("a token of Slack", "xoxa-", Word, 24, MAX_OPEN_LEN),
    some("a token of Slack", "xoxr-", Word, 24, MAX_OPEN_LEN),
    some("a token of Slack", "xoxs-", Word, 24, MAX_OPEN_LEN),
    some("a token of Slack", "xoxe-", Word, 24, MAX_OPEN_LEN),
    some("a token of Slack", "xapp-1-", Word, 24, MAX_OPEN_LEN),
    some("a webhook of Slack", "hooks.slack.com/services/T", Base64, 30, MAX_OPEN_LEN),
    some("a key of AWS", "AKIA", Upper, 16, 16),
    some("a key of AWS", "ASIA", Upper, 16, 16),
    some("a key of AWS", "ABIA", Upper, 16, 16),
    some("a key of AWS", "ACCA", Upper, 16, 16),
    judged("a secret key of AWS", "aws_secret_access_key", aws_secret),
    some("a key of Stripe", "sk_live_", Alnum, 16, MAX_OPEN_LEN),
    some("a key of Stripe", "sk_test_", Alnum, 16, MAX_OPEN_LEN),
    some("a key of Stripe", "rk_live_", Alnum, 16, MAX_OPEN_LEN),
    some("a key of Stripe", "rk_test_", Alnum, 16, MAX_OPEN_LEN),
    some("a webhook secret of Stripe", "whsec_", Base64, 24, MAX_OPEN_LEN),
    some("a token of npm", "npm_", Alnum, 36, 36),
    some("a token of PyPI", "pypi-AgEI", Word, 50, MAX_OPEN_LEN),
    some("a token of Rust's registry", "cio", Alnum, 32, 32),
    some("a key of RubyGems", "rubygems_", Hex, 48, 48),
    some("a token of Docker", "dckr_pat_", Word, 27, MAX_OPEN_LEN),
    some("a token of Hugging Face", "hf_", Alnum, 34, 34),
    some("a token of DigitalOcean", "dop_v1_", Hex, 64, 64),
    some("a token of Shopify", "shpat_", Hex, 32, 32),
    some("a token of Shopify", "shpss_", Hex, 32, 32),
    some("a token of Databricks", "dapi", Hex, 32, 32),
    some("a token of HashiCorp Vault", "hvs.", Word, 24, MAX_OPEN_LEN),
    some("a key of Linear", "lin_api_", Alnum, 40, 40),
    some("a key of Groq", "gsk_", Alnum, 52, 52),
    some("a key of xAI", "xai-", Alnum, 80, 80),
    some("a key of Perplexity", "pplx-", Alnum, 48, 48),
    some("a token of Replicate", "r8_", Alnum, 37, 37),
    some("a token of Grafana", "glsa_", Word, 41, 41),
    some("a token of Atlassian", "ATATT3", Base64, 100, MAX_OPEN_LEN),
    some("a token of Supabase", "sbp_", Hex, 40, 40),
    some("a token of DigitalOcean", "doo_v1_", Hex, 64, 64),
    some("a token of DigitalOcean", "dor_v1_", Hex, 64, 64),
    some("a token of Amazon MWS", "amzn.mws.", Word, 36, 36),
    some("a key of AWS AppSync", "da2-", Alnum, 26, 26),
    some("a key of Amazon Bedrock", "ABSK", Base64, 100, MAX_OPEN_LEN),
    some("a token of Square", "sq0atp-", Word, 22, 22),
    some("a secret of Square", "sq0csp-", Word, 43, 43),
    some("a token of Facebook", "EAACEdEose0cBA", Alnum, 20, MAX_OPEN_LEN),
    some("a token of Braintree", "access_token$production$", Alnum, 16, 16),
    some("a token of GitLab", "glagent-", Word, 20, MAX_OPEN_LEN),
    some("a token of GitLab", "gloas-", Word, 20, MAX_OPEN_LEN),
    some("a token of GitLab", "glimt-", Word, 20, MAX_OPEN_LEN),
    some("a token of GitLab", "glft-", Word, 20, MAX_OPEN_LEN),
    some("a token of Slack", "xoxd-", Base64, 40, MAX_OPEN_LEN),
    some("a key of New Relic", "NRAK-", Upper, 27, 27),
    some("a key of Postman", "PMAK-", Word, 59, 59),
    some("a token of Pulumi", "pul-", Hex, 40, 40),
    some("a token of PlanetScale", "pscale_tkn_", Word, 32, 64),
    some("a password of PlanetScale", "pscale_pw_", Word, 32, 64),
    some("a token of Sentry", "sntrys_", Base64, 60, MAX_OPEN_LEN),
    some("a token of Sentry", "sntryu_", Hex, 64, 64),
    some("a token of Doppler", "dp.pt.", Alnum, 40, 44),
    some("a token of Doppler", "dp.st.", Base64, 40, MAX_OPEN_LEN),
    some("a key of Tailscale", "tskey-", Word, 24, MAX_OPEN_LEN),
    some("a key of NVIDIA", "nvapi-", Word, 60, MAX_OPEN_LEN),
    some("a token of 1Password", "ops_eyJ", Base64, 250, MAX_OPEN_LEN),
    some("a key of Alibaba Cloud", "LTAI", Alnum, 16, 24),
    some("a token of Figma", "figd_", Word, 40, MAX_OPEN_LEN),
    some("a token of Notion", "ntn_", Alnum, 40, 60),
    some("a token of Notion", "secret_", Alnum, 43, 43),
    some("a token of Linear", "lin_oauth_", Hex, 64, 64),
    some("a key of Langfuse", "sk-lf-", Word, 36, 36),
    some("a key of Tavily", "tvly-", Word, 32, MAX_OPEN_LEN),
    some("a key of PostHog", "phx_", Alnum, 40, 60),
    some("a token of HashiCorp Vault", "hvb.", Word, 100, MAX_OPEN_LEN),
    some("a token of Grafana", "glc_eyJ", Base64, 60, MAX_OPEN_LEN),
    some("a token of Shippo", "shippo_live_", Hex, 40, 40),
    some("a key of EasyPost", "EZAK", Alnum, 54, 54),
    some("a token of ReadMe", "rdme_", Alnum, 70, 70),
    some("a token of Docker", "dckr_oat_", Word, 32, MAX_OPEN_LEN),
    some("a key of an Azure store", "AccountKey=", Base64, 88, 88),
    some("a key of Azure", "SharedAccessKey=", Base64, 43, 44),
    some("an extended key of a wallet", "xprv", Alnum, 107, 108),
    judged("a key of SendGrid", "SG.", sendgrid),
    judged("a signed token (JWT)", "eyJ", jwt),
    judged("a token of a Telegram bot", ":AA", telegram),
];

impl Shape {
    /// Returns the end of the key that begins at `start`, or `None` if no key begins there.
    pub(super) fn end(&self, text: &[u8], start: usize) -> Option<usize> {
        // The automaton ignores case, so the prefix is compared exactly here.
        let rest = text.get(start..)?.strip_prefix(self.begins.as_bytes())?;
        let begins = self.begins.len();
        if matches!(self.after, After::Anything) {
            return Some(start + begins);
        }
        // A key must not be the end of a longer word. The token of a Telegram bot has a number before its colon.
        let before = start.checked_sub(1).and_then(|at| text.get(at));
        let is_own = self.begins.starts_with(':');
        if !is_own && before.is_some_and(|&byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return None;
        }
        if is_own && !before.is_some_and(u8::is_ascii_digit) {
            return None;
        }
        let length = match &self.after {
            After::Anything => 0,
            After::Judged(judge) => judge(rest)?,
            After::Some(set, least, most) => {
                let length = run(rest, *set);
                if length < *least || length > *most || !is_random(&rest[..length]) {
                    return None;
                }
                length
            }
        };
        Some(start + begins + length)
    }
}

/// Returns the number of characters of a set at the beginning of a text.
fn run(text: &[u8], set: Set) -> usize {
    text.iter().take(MAX_OPEN_LEN + 1).take_while(|byte| set.has(**byte)).count()
}

/// Returns whether a key looks random, and not like an example: it has many different characters and none of the
/// usual words of examples.
fn is_random(key: &[u8]) -> bool {
    let mut seen = [false; 256];
    let head = &key[..key.len().min(64)];
    head.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    let different = seen.iter().filter(|seen| **seen).count();
    let upper: Vec<u8> = head.to_ascii_uppercase();
    let says = |word: &[u8]| upper.windows(word.len()).any(|part| part == word);
    different >= (key.len() / 3).clamp(6, 10)
        && ![&b"EXAMPLE"[..], b"YOUR", b"XXXX", b"REDACTED"].iter().any(|word| says(word))
}

/// Returns the length of a key in OpenAI's old format, which others have copied: letters, at least one digit, and no
/// hyphens.
fn bare_sk(rest: &[u8]) -> Option<usize> {
    let length = run(rest, Word);
    let key = &rest[..length];
    let has = |test: fn(&u8) -> bool| key.iter().any(test);
    let is_key = (20..=200).contains(&length)
        && key.iter().all(u8::is_ascii_alphanumeric)
        && has(u8::is_ascii_digit)
        && has(|b| b.is_ascii_alphabetic())
        && is_random(key);
    is_key.then_some(length)
}

/// Returns the length of the text after the name of the setting: a few signs and a key of forty characters.
fn aws_secret(rest: &[u8]) -> Option<usize> {
    let signs = rest.iter().take(8).take_while(|byte| b" \t\"'=:".contains(byte)).count();
    let key = rest.get(signs..)?;
    let length = run(key, Base64);
    (signs > 0 && length == 40 && is_random(&key[..40])).then_some(signs + length)
}

fn sendgrid(rest: &[u8]) -> Option<usize> {
    let first = run(rest, Word);
    let second = rest.get(first + 1..).map_or(0, |after| run(after, Word));
    let is_key = first == 22 && rest.get(22) == Some(&b'.') && second == 43 && is_random(&rest[..first]);
    is_key.then_some(first + 1 + second)
}

/// Returns the length of a signed token after its first letters: two JSON objects in base64, and a signature.
fn jwt(rest: &[u8]) -> Option<usize> {
    let first = run(rest, Word);
    let second = rest.get(first + 1..)?;
    if first < 10 || rest.get(first) != Some(&b'.') || !second.starts_with(b"eyJ") {
        return None;
    }
    // The subject `1234567890` is that of samples.
    if second.starts_with(b"eyJzdWIiOiIxMjM0NTY3ODkwI") {
        return None;
    }
    let middle = run(second, Word);
    let third = second.get(middle + 1..)?;
    let last = run(third, Word);
    (middle >= 10 && second.get(middle) == Some(&b'.') && last >= 16).then_some(first + 1 + middle + 1 + last)
}

/// Returns the length of a bot's token after its prefix. In `123456789:AA…`, the number comes before the prefix.
fn telegram(rest: &[u8]) -> Option<usize> {
    let length = run(rest, Word);
    (length == 33 && is_random(&rest[..length])).then_some(length)
}

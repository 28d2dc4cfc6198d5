//! The check of a mail address, which must be the only content of its string.

use kernel::proposal::Finding;
use passable::visible_line;

/// The maximum length of a mail address, in bytes.
pub(super) const MAX_LEN: usize = 254;

/// Checks that `text` is one plain address: `local@host`, in ASCII, without a name, a list or a header.
pub(super) fn check(text: &str) -> Result<(), Finding> {
    let wrong = |rule: &str, message: &'static str| {
        let shown: String = text.chars().take(MAX_LEN).collect();
        Err(Finding::new(rule, message)
            .at("to")
            .counter_example(visible_line(&shown))
            .allowed("one plain address, such as `office@example.org`"))
    };
    if text.contains(char::is_control) {
        return wrong("outbox/control", "the address holds a line break or another control character");
    }
    if !text.is_ascii() {
        return wrong(
            "outbox/look-alike",
            "the address holds letters that are not plain ASCII and may mislead",
        );
    }
    if text.contains([',', ';']) {
        return wrong("outbox/several", "there is more than one address; each mail goes to one");
    }
    if text.len() > MAX_LEN {
        return wrong("outbox/long", "the address is longer than 254 bytes");
    }
    let is_address = text.split_once('@').is_some_and(|(local, host)| is_local(local) && is_host(host));
    if !is_address {
        return wrong("outbox/address", "this is not a mail address");
    }
    Ok(())
}

/// Returns the other spellings by which a mail reaches the same mailbox. The case of a host has no meaning, and mail
/// servers ignore the case of the other part, though they may tell it apart. A part behind `+` belongs to the address.
pub(super) fn other_spellings(address: &str) -> Vec<String> {
    let Some((local, host)) = address.rsplit_once('@') else { return vec![] };
    let folded = format!("{local}@{}", host.to_ascii_lowercase());
    let lower = address.to_ascii_lowercase();
    let mut spellings = vec![folded, lower];
    spellings.dedup();
    spellings.retain(|spelling| spelling != address);
    spellings
}

fn is_local(local: &str) -> bool {
    let is_atom = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c);
    local.len() <= 64 && local.split('.').all(|part| !part.is_empty() && part.chars().all(is_atom))
}

fn is_host(host: &str) -> bool {
    host.split('.').all(|label| {
        (1..=63).contains(&label.len())
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_an_address_ignore_the_case() {
        // Reported of other programs: craigmccaskill/posthorn#54, schweikert/postgrey#21.
        for (address, others) in [
            ("a@b.example", &[][..]),
            ("a@B.Example", &["a@b.example"]),
            ("A@b.example", &["a@b.example"]),
            ("A+x@B.example", &["A+x@b.example", "a+x@b.example"]),
            ("nobody", &[]),
        ] {
            assert_eq!(other_spellings(address), others, "{address}");
        }
    }

    #[test]
    fn check_accepts_only_one_plain_address() {
        for good in ["a@b", "archive@records-backup.example", "a.b+c@d-e.example", "o'neil@x1.example"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, rule) in [
            ("", "outbox/address"),
            ("office", "outbox/address"),
            ("a@", "outbox/address"),
            ("@b", "outbox/address"),
            ("a@b@c", "outbox/address"),
            ("a b@c", "outbox/address"),
            (" a@b", "outbox/address"),
            ("A <a@b>", "outbox/address"),
            ("a..b@c", "outbox/address"),
            ("a@-b.c", "outbox/address"),
            ("a@b..c", "outbox/address"),
            ("a@[192.0.2.1]", "outbox/address"),
            ("-t@b\n", "outbox/control"),
            ("a@b\r\nBcc: c@d", "outbox/control"),
            ("a@b\u{0}", "outbox/control"),
            ("a@b, c@d", "outbox/several"),
            ("a@b;c@d", "outbox/several"),
            ("аrchive@b", "outbox/look-alike"),
            ("a\u{200b}@b", "outbox/look-alike"),
        ] {
            assert_eq!(check(bad).map_err(|finding| finding.rule), Err(rule.to_owned()), "{bad:?}");
        }
        assert!(check(&format!("a@{}", "b".repeat(300))).is_err());
    }
}

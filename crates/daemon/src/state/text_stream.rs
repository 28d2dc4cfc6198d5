//! The text of a model's reply that is shown while it is written, and the part that each follower has received.

use std::collections::BTreeMap;
use std::io;

use kernel::RunNumber;
use passable::Untrusted;
use policy::Secrets;

use super::news::StreamedReply;
use control::protocol::Response;

/// Returns how many bytes of an unfinished text can be shown, and their redacted form, without any value of the
/// vault. If the vault has values, only whole lines are shown, because later text could complete a value. If a value
/// has several lines, nothing is shown before the end. Text that ends before `from` was scanned before.
pub fn showable_part(secrets: &Secrets, text: &str, from: usize) -> (usize, String) {
    if secrets.is_empty() {
        return (text.len(), text.to_owned());
    }
    let Some(end) = secrets.complete_up_to(text, from) else { return (0, String::new()) };
    (end, secrets.redact(&text[..end]).into_owned())
}

/// The text that a follower has received of each run: which reply, and how many bytes of it.
#[derive(Default)]
pub struct FollowerProgress {
    sent: BTreeMap<RunNumber, ((u64, u64), usize)>,
}

impl FollowerProgress {
    /// Sends the new part of each text.
    ///
    /// # Errors
    /// When the follower has stopped reading.
    pub fn send(
        &mut self,
        texts: Vec<(RunNumber, StreamedReply)>,
        tell: &mut dyn FnMut(Response) -> io::Result<()>,
    ) -> io::Result<()> {
        for (run, text) in texts {
            let had = self.sent.entry(run).or_default();
            // A repeated reply is sent from its start.
            let reply = (text.prompted, text.began);
            if had.0 != reply {
                *had = (reply, 0);
            }
            let from = had.1;
            let Some(more) = text.shown.get(from..).filter(|more| !more.is_empty()) else { continue };
            had.1 = text.shown.len();
            let (prompted, text) = (text.prompted, Untrusted::new(more));
            tell(Response::Text { run, prompted, from, text })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarted_reply_is_streamed_from_the_start() {
        let mut had = FollowerProgress::default();
        let mut told = Vec::new();
        for (prompted, began, shown) in
            [(3, 1, "Once up"), (3, 1, "Once upon"), (3, 5, "There was once"), (4, 9, "A")]
        {
            let text = StreamedReply { prompted, began, shown: shown.to_owned() };
            let mut tell = |response| {
                if let Response::Text { from, text, .. } = response {
                    told.push((from, text.raw().to_owned()));
                }
                Ok(())
            };
            had.send(vec![(RunNumber(1), text)], &mut tell).unwrap();
        }
        let expected = [(0, "Once up"), (7, "on"), (0, "There was once"), (0, "A")];
        assert_eq!(told, expected.map(|(from, text)| (from, text.to_owned())));
    }

    #[test]
    fn partial_secret_is_withheld_from_the_stream() {
        let secrets = Secrets::new([("token", "correct-horse-battery-staple")]);
        for (text, expected) in [
            ("plain", ""),
            ("a line\nand the key is correct-horse", "a line\n"),
            ("the key is correct-horse-battery-staple.\nx", "the key is [secret token].\n"),
            ("the key is correct-horse-battery-staple\nx", ""),
        ] {
            let (end, shown) = showable_part(&secrets, text, 0);
            assert_eq!(showable_part(&secrets, text, end), (0, String::new()), "what was shown is over");
            assert!(!shown.contains("horse"), "{shown}");
            assert_eq!(shown.lines().count(), expected.lines().count(), "{shown:?}");
        }
        // A line that was wrapped continues in the next line.
        let encoded = "see:\nY29ycmVjdC1ob3JzZS1iYXR0\nZXJ5LXN0YXBsZQ==\n";
        assert_eq!(showable_part(&secrets, &encoded[..30], 0).1, "see:\n");
        assert_eq!(showable_part(&secrets, &encoded[5..], 0).0, 0);
        let (end, shown) = showable_part(&secrets, &format!("{}.\n", encoded), 0);
        assert_eq!(end, encoded.len() + 2);
        assert!(shown.contains("secret token"), "{shown}");
        assert_eq!(showable_part(&Secrets::default(), "as it comes", 0).1, "as it comes");
        let key = Secrets::new([("key", "first line of it\nsecond line of it\n")]);
        assert_eq!(
            showable_part(&key, "here:\nfirst line of it\n", 0).1,
            "",
            "nothing, before all of it is there"
        );
    }
}

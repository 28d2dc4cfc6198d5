//! An agent below the host that floods its host's inbox.

use crate::test_home::TestHome;

/// The number of bytes of one message. An argument of a command may have 128 KiB.
const MESSAGE_BYTES: usize = 120_000;

/// The number of such messages that use up the quota of bytes.
const MAX_MESSAGES: usize = (16 << 20) / MESSAGE_BYTES;

#[test]
fn flood_of_mail_is_stopped_and_folded_until_the_host_agrees() {
    let home = TestHome::new();
    home.almoner(&["mkguest", "fae"]).expect(0);
    let text = "x".repeat(MESSAGE_BYTES);
    let send = || home.almoner(&["--as", "fae", "send", "@host", &text]);
    for _ in 0..MAX_MESSAGES {
        send().expect(0);
    }
    // The message that reaches the quota may be this one or the next.
    while send().code == 0 {}
    let refused = send().expect(5).err;
    assert!(refused.contains("which is the quota") && refused.contains("has not answered yet"), "{refused}");
    let inbox = home.almoner(&["inbox"]).expect(0).out;
    assert!(inbox.contains("fae has sent") && inbox.lines().count() == 1, "{inbox}");
    let number = inbox.split_whitespace().nth(1).unwrap();
    let card = home.almoner(&["inbox", number]).expect(0);
    assert!(card.out.contains("a yes lets") && card.out.contains("1000 more (16 MiB)"), "{}", card.out);
    assert!(card.err.contains(&format!("almoner approve {number}")), "{}", card.err);
    // Older messages of one sender share a line.
    let all = home.almoner(&["inbox", "--all"]).expect(0).out;
    assert!(all.contains("older messages of one sender") && all.lines().count() < 40, "{all}");
    home.almoner(&["approve", number]).expect(0);
    send().expect(0);
    assert!(home.almoner(&["inbox"]).expect(0).out.is_empty());
}

//! The table of requests and the responses that may answer them.

/// The responses that may answer a request.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    /// The tag of the request, or of the query or the act in it.
    pub tag: &'static str,
    /// The tags of the responses. `warning` may come before each of them, and `failed` in place of each.
    pub responses: &'static [&'static str],
}

const fn row(tag: &'static str, responses: &'static [&'static str]) -> Exchange {
    Exchange { tag, responses }
}

/// The responses to each request, by the tag `request`. The responses to a query depend on its tag `look`, and those
/// to an act on its tag `do`.
pub const REQUESTS: &[Exchange] = &[
    row("status", &["status"]),
    row("server_tools", &["server_tools"]),
    row("run", &["reply", "plan"]),
    row("approve", &["reply"]),
    row("answer_all", &["reply"]),
    row("batch_asks", &["batch_asks"]),
    row("preview_extras", &["extras_preview"]),
    row("deny", &["reply"]),
    row("confirm_outcome", &["reply"]),
    row("audit", &["audited"]),
    row("say", &["reply"]),
    row("undo", &["undo_report"]),
    row("diff", &["diff"]),
    row("apply", &["undo_report"]),
    row("discard", &["reply"]),
    row("forget", &["forgotten"]),
    row("gc", &["freed"]),
    row("export", &["exported"]),
    row("copy", &["copy"]),
    row("sent_request", &["sent_request"]),
    row("resume", &["reply"]),
    row("runs", &["runs"]),
    row("chats", &["chats"]),
    row("talkers", &["talkers"]),
    row("family", &["family"]),
    row("get_run", &["run"]),
    row("bindings", &["bindings"]),
    row("journal", &["journal"]),
    row("messages", &["mailbox", "threads", "answers"]),
    row("card", &["card"]),
    row("open_card", &["card_opening"]),
    row("why", &["why"]),
    row("blob", &["blob"]),
    row("last_event", &["last_event"]),
    row("follow", &["event", "progress", "text", "stuck"]),
    row("act", &["reply", "plan", "token"]),
    row("look", QUERY_RESPONSES),
    row("pass", &["pass"]),
    row("stats", &["stats"]),
    row("web", &["web"]),
    row("sessions", &["sessions"]),
    row("secret", &["secrets"]),
    row("login", &["login"]),
    row("examine", &["examined"]),
    row("models", &["models"]),
    row("save", &["saved"]),
    row("policy", &["policy"]),
    row("backup", &["backed_up"]),
    row("stop", &["reply"]),
    row("replace", &["reply"]),
];

/// The responses to queries.
const QUERY_RESPONSES: &[&str] = &[
    "names",
    "name_page",
    "object",
    "identifier",
    "grants",
    "message",
    "promise",
    "why",
    "code",
    "picks",
    "narrowable",
    "proposed",
    "endowed",
    "retention_paths",
    "formula_summaries",
    "formula",
    "grant",
    "graph",
];

/// The responses to each query, by the tag `look`.
pub const QUERIES: &[Exchange] = &[
    row("names", &["names"]),
    row("name_page", &["name_page"]),
    row("object", &["object"]),
    row("identifier", &["identifier"]),
    row("grants", &["grants"]),
    row("message", &["message"]),
    row("promise", &["promise"]),
    row("origin", &["why"]),
    row("code", &["code"]),
    row("picks", &["picks"]),
    row("narrowable", &["narrowable"]),
    row("proposed", &["proposed"]),
    row("endowed", &["endowed"]),
    row("retention_paths", &["retention_paths"]),
    row("formula_summaries", &["formula_summaries"]),
    row("formula", &["formula"]),
    row("grant", &["grant"]),
    row("graph", &["graph"]),
];

/// The responses to each act, by the tag `do`.
pub const ACTS: &[Exchange] = &[
    row("name", &["reply"]),
    row("store_text", &["reply"]),
    row("provide", &["reply"]),
    row("mail", &["reply"]),
    row("define", &["reply"]),
    row("endow", &["reply", "plan"]),
    row("make", &["reply"]),
    row("resolve", &["reply"]),
    row("submit", &["reply"]),
    row("share", &["token"]),
    row("accept", &["reply"]),
    row("narrow", &["reply"]),
    row("revoke", &["reply"]),
    row("cancel", &["reply"]),
    row("remake", &["reply"]),
    row("make_timer", &["reply"]),
    row("ticks", &["reply"]),
];

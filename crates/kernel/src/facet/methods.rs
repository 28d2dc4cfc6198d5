//! The tables of methods, with upstream's names and argument names. The descriptions are the manual that `help` gives.

use passable::Effect;

use super::interface::ArgShape::{
    self, Any, Error, Float, MaybeText, NameOrPath, Number, Paths, Record, Records, Remotable, Text,
    TextOrRecord, Texts,
};
use super::interface::Planning::{self, Command, Open};
use super::interface::Presence::{self, Optional, Required, Rest};
use super::interface::{Facet, Foreign, Method, Param, Support};

/// A function that builds an interface.
type Make = fn() -> Facet;

/// The kinds of formulas whose objects have methods, each with the function that builds its interface.
#[rustfmt::skip]
pub(super) const FACETS: &[(&str, Make)] = &[
    ("endo", || Facet::new("Endo", "The root of this daemon. Whoever has it has the host.", &[HELP, ENDO])),
    ("host", || Facet::new("EndoHost", "An agent that acts for a person: names, mail, and the right to endow.",
        &[HELP, NAMES, FILES, AGENT, MAIL, HOST])),
    ("guest", || Facet::new("EndoGuest", "An agent that holds only what it was given: names and mail.",
        &[HELP, NAMES, FILES, AGENT, MAIL, GUEST])),
    ("least-authority", || Facet::new("EndoGuest", "An agent that may do nothing.",
        &[HELP, NAMES, FILES, AGENT, MAIL, GUEST])),
    ("directory", || Facet::new("EndoDirectory", "Names for things.", &[HELP, NAMES, FILES])),
    ("mail-hub", || Facet::new("EndoNameHub", "Messages by number. It can be read, not written.", &[HELP, NAMES])),
    ("message", || Facet::new("EndoNameHub", "The parts of one message by name. It can be read, not written.",
        &[HELP, NAMES, MESSAGE])),
    ("handle", || Facet::new("EndoHandle", "A mail address. Whoever holds it can send mail, and no more.", &[HELP])),
    ("readable-blob", || Facet::new("EndoBlob", "Bytes that never change.", &[HELP, BLOB])),
    ("mount", || Facet::new("EndoMount", "A directory of this machine.", &[HELP, MOUNT])),
    ("scratch-mount", || Facet::new("EndoMount", "A directory that the daemon keeps.", &[HELP, MOUNT])),
    ("mount-file", || Facet::new("EndoMountFile", "A file of this machine.", &[HELP, MOUNT_FILE])),
    ("readable-tree", || Facet::new("EndoReadableTree", "Files and directories that never change.", &[HELP, TREE])),
    ("timer", || Facet::new("EndoTimer", "Counts intervals of the clock, also while nobody looks.", &[HELP, TIMER])),
    ("resolver", || Facet::new("EndoResponder", "The right to settle a promise, once.", &[HELP, RESOLVER])),
    ("make-archive", state),
    ("make-bundle", state),
    ("make-from-tree", state),
    ("eval", state),
    ("vat", || Facet::new("EndoWorker", "An isolated heap in which endowed code runs.", &[HELP, VAT])),
];

fn state() -> Facet {
    Facet::new("State", "What code keeps for itself: data under names of its own.", &[HELP, STATE])
}

/// Returns the interface of objects that have no methods of their own.
pub(super) fn opaque() -> Facet {
    Facet::new("Opaque", "Something that can be named and handed on, and answers nothing else.", &[HELP])
}

const fn param(name: &'static str, shape: ArgShape, presence: Presence) -> Param {
    Param { name, shape, presence }
}

const fn req(name: &'static str, shape: ArgShape) -> Param {
    param(name, shape, Required)
}

const fn opt(name: &'static str, shape: ArgShape) -> Param {
    param(name, shape, Optional)
}

const fn method(
    name: &'static str,
    effect: Effect,
    planning: Planning,
    params: &'static [Param],
    says: &'static str,
) -> Method {
    let (support, foreign) = (Support::Full, Foreign::Refused);
    Method { name, params, with_record: &[], effect, says, support, planning, foreign }
}

const fn reads(name: &'static str, params: &'static [Param], says: &'static str) -> Method {
    method(name, Effect::Observe, Open, params, says)
}

const fn changes(
    name: &'static str,
    planning: Planning,
    params: &'static [Param],
    says: &'static str,
) -> Method {
    method(name, Effect::Modify, planning, params, says)
}

const fn sends(
    name: &'static str,
    planning: Planning,
    params: &'static [Param],
    says: &'static str,
) -> Method {
    method(name, Effect::Commit, planning, params, says)
}

impl Method {
    const fn not_yet(mut self) -> Method {
        self.support = Support::NotYet;
        self
    }

    const fn never(mut self, why: &'static str) -> Method {
        self.support = Support::Never(why);
        self
    }

    const fn takes_foreign(mut self) -> Method {
        self.foreign = Foreign::Used;
        self
    }

    const fn or_with_record(mut self, params: &'static [Param]) -> Method {
        self.with_record = params;
        self
    }
}

const PATH: &[Param] = &[param("petNamePath", Texts, Rest)];
const NAME: &[Param] = &[req("petNameOrPath", NameOrPath)];
const LOCATOR: &[Param] = &[req("locator", Text)];
const MESSAGE_NUMBER: &[Param] = &[req("messageNumber", Number)];
const CAPLET: &[Param] = &[req("workerName", MaybeText), req("source", NameOrPath), opt("options", Record)];

/// The reason why no program runs with all powers.
const UNCONFINED: &str = "code with all powers of the machine is not run here; makeArchive and makeFromTree run \
                          modules with the powers that you name, and `almoner run` endows programs of this machine";

const HELP: &[Method] =
    &[reads("help", &[opt("methodName", Text)], "Explains the object, or one of its methods.")];

const NAMES: &[Method] = &[
    reads("has", PATH, "Whether something has the name."),
    reads("identify", PATH, "The identifier of what has the name; undefined if nothing has."),
    reads("locate", PATH, "The locator of what has the name; undefined if nothing has."),
    reads("reverseLocate", LOCATOR, "The names here of what the locator stands for."),
    reads("followLocatorNameChanges", LOCATOR, "Follows the names of what the locator stands for."),
    reads("list", PATH, "The names in this directory, or in the one at the path: special names first."),
    reads("listIdentifiers", PATH, "The identifiers of all that has a name, each once."),
    reads("listLocators", PATH, "A record from names to locators."),
    reads("followNameChanges", &[], "Follows names as they come and go."),
    reads("lookup", NAME, "What has the name: the value itself, or a reference."),
    reads("maybeLookup", NAME, "What has the name; undefined if the first name is unknown."),
    reads("reverseLookup", &[req("presence", Any)], "The names here of something.").takes_foreign(),
    changes(
        "storeIdentifier",
        Command,
        &[req("petNameOrPath", NameOrPath), req("id", Text)],
        "Gives a name to what the identifier stands for, if you hold it.",
    ),
    changes(
        "storeLocator",
        Command,
        &[req("petNameOrPath", NameOrPath), req("locator", Text)],
        "Gives a name to what the locator stands for, if you hold it.",
    ),
    changes(
        "remove",
        Command,
        PATH,
        "Takes a name away. What it stood for stays while something else refers to it.",
    ),
    changes(
        "move",
        Command,
        &[req("fromPath", Texts), req("toPath", Texts)],
        "Renames: gives the second name and takes the first away, in one step.",
    ),
    changes(
        "copy",
        Command,
        &[req("fromPath", Texts), req("toPath", Texts)],
        "Gives a second name to the same thing.",
    ),
];

const FILES: &[Method] = &[
    changes("makeDirectory", Command, NAME, "Makes an empty directory under the name, and returns it."),
    reads("readText", NAME, "The text of the blob that has the name."),
    reads("maybeReadText", NAME, "The text of the blob that has the name; undefined if nothing has."),
    changes(
        "writeText",
        Open,
        &[req("petNameOrPath", NameOrPath), req("content", Text)],
        "Keeps text as a blob under the name.",
    ),
];

const AGENT: &[Method] = &[
    reads("handle", &[], "Your mail address."),
    reads("reverseIdentify", &[req("id", Text)], "Your names for what the identifier stands for."),
    reads("lookupById", &[req("id", Text)], "What the identifier stands for, if you hold it."),
    changes(
        "storeBlob",
        Open,
        &[req("readerRef", Remotable), opt("petNameOrPath", NameOrPath)],
        "Keeps the bytes of a reader under the name.",
    )
    .takes_foreign(),
    changes(
        "storeValue",
        Command,
        &[req("value", Any), req("petNameOrPath", NameOrPath)],
        "Keeps a value under the name. You must hold what it refers to.",
    ),
    sends(
        "evaluate",
        Open,
        &[
            req("workerName", MaybeText),
            req("source", Text),
            req("codeNames", Texts),
            req("petNamePaths", Paths),
            opt("resultName", NameOrPath),
        ],
        "Runs code of your own over what your names stand for, and returns the promise of its result.",
    ),
    sends(
        "requestEvaluation",
        Open,
        &[
            req("source", Text),
            req("codeNames", Texts),
            req("petNamePaths", Paths),
            opt("resultName", NameOrPath),
        ],
        "Asks your host to run code over what you hold, and returns the promise of its result.",
    ),
    sends(
        "locateForSharing",
        Open,
        PATH,
        "A locator with a one-use token: whoever gives it to adoptFromLocator gets a grant.",
    ),
    changes(
        "adoptFromLocator",
        Open,
        &[req("locator", Text), req("petNameOrPath", NameOrPath)],
        "Gives a name to what a locator stands for: one with a token, or one of something that you hold.",
    ),
];

const MAIL: &[Method] = &[
    reads("listMessages", &[], "All messages that were not dismissed, oldest first."),
    reads("followMessages", &[], "Follows messages as they come."),
    sends(
        "resolve",
        Command,
        &[req("messageNumber", Number), req("petNameOrPath", NameOrPath)],
        "Answers a request with what the name stands for. Only the first answer counts.",
    ),
    sends(
        "reject",
        Command,
        &[req("messageNumber", Number), opt("reason", Text)],
        "Refuses what a message asks for. The sender reads the reason.",
    ),
    changes(
        "adopt",
        Command,
        &[req("messageNumber", Number), req("edgeName", NameOrPath), req("petNameOrPath", NameOrPath)],
        "Gives a name of your own to something that came with a message.",
    ),
    changes("dismiss", Command, MESSAGE_NUMBER, "Hides a message and drops what it refers to."),
    changes("dismissAll", Command, &[], "Dismisses every message that waits for nobody."),
    sends(
        "request",
        Command,
        &[req("recipientName", NameOrPath), req("description", Text), opt("responseName", NameOrPath)],
        "Asks somebody for something, and returns the promise of it. The same request with the same response name \
         attaches to the earlier one.",
    ),
    sends(
        "send",
        Command,
        &[
            req("recipientName", NameOrPath),
            req("strings", Texts),
            req("edgeNames", Texts),
            req("petNamesOrPaths", Paths),
            opt("replyToMessageNumber", Number),
        ],
        "Sends text with things between its pieces. The recipient gets a revocable grant of each capability.",
    ),
    sends(
        "reply",
        Command,
        &[
            req("messageNumber", Number),
            req("strings", Texts),
            req("edgeNames", Texts),
            req("petNamesOrPaths", Paths),
        ],
        "Sends a package to the other party of a message.",
    ),
    sends(
        "form",
        Command,
        &[
            req("recipientName", NameOrPath),
            req("description", TextOrRecord),
            req("fields", Records),
            opt("resultName", NameOrPath),
            opt("options", Record),
        ],
        "Asks somebody to fill in fields, and returns the promise of the record.",
    )
    .or_with_record(&[
        req("recipientName", NameOrPath),
        req("form", Record),
        opt("resultName", NameOrPath),
        opt("options", Record),
    ]),
    sends(
        "submit",
        Open,
        &[req("messageNumber", Number), req("values", Record)],
        "Fills in a form. Where a field asks for a capability, a name stands for what has it.",
    ),
    sends(
        "sendValue",
        Command,
        &[req("messageNumber", Number), req("petNameOrPath", NameOrPath)],
        "Hands what the name stands for to the other party of a message.",
    ),
    sends("deliver", Open, &[req("message", Record)], "Puts a message into your own inbox.")
        .never("mail is delivered by its sender's call alone, so that nobody's name can be forged"),
];

const GUEST: &[Method] = &[
    sends(
        "define",
        Open,
        &[req("source", Text), req("slots", Record), opt("resultName", NameOrPath)],
        "Proposes code with named slots, or a worker file, to your host, and returns the promise of its result.",
    ),
    sends(
        "cancel",
        Command,
        &[req("petNameOrPath", NameOrPath), opt("reason", Error)],
        "Withdraws what you asked for: the name is of its promise. Nobody can answer it any more.",
    ),
];

const HOST: &[Method] = &[
    sends(
        "define",
        Open,
        &[req("source", Text), req("slots", Record), opt("resultName", NameOrPath)],
        "Proposes code with named slots, or a worker file, to the host's own host.",
    ),
    sends(
        "endow",
        Open,
        &[
            req("messageNumber", Number),
            req("bindings", Record),
            opt("workerName", MaybeText),
            opt("resultName", NameOrPath),
            opt("options", Record),
        ],
        "Binds your names to the slots of a definition and lets it run. The option resultGoesTo is guest-data, \
         guest-capabilities or host.",
    ),
    sends(
        "grantEvaluate",
        Open,
        &[req("messageNumber", Number), opt("options", Record)],
        "Agrees to an evaluation that was asked for. The option resultGoesTo is as with endow.",
    ),
    changes(
        "storeTree",
        Open,
        &[req("remoteTree", Remotable), req("petNameOrPath", NameOrPath)],
        "Keeps a tree of files.",
    )
    .takes_foreign(),
    changes(
        "provideMount",
        Open,
        &[req("path", Text), req("petNameOrPath", NameOrPath), opt("options", Record)],
        "Gives a name to a directory of this machine.",
    ),
    changes(
        "provideScratchMount",
        Open,
        &[req("petNameOrPath", NameOrPath), opt("options", Record)],
        "Makes a directory that the daemon keeps.",
    ),
    changes(
        "provideGuest",
        Open,
        &[opt("petName", Text), opt("options", Record)],
        "Makes a guest, or finds the one of that name. The options are agentName and introducedNames.",
    ),
    changes(
        "provideHost",
        Open,
        &[opt("petName", Text), opt("options", Record)],
        "Makes a host, or finds the one of that name. The options are agentName and introducedNames.",
    ),
    changes("provideWorker", Open, NAME, "Makes an isolated heap for code."),
    sends("makeUnconfined", Open, CAPLET, "Runs a program with all powers of this machine.")
        .never(UNCONFINED),
    sends(
        "makeBundle",
        Open,
        CAPLET,
        "Runs a program of modules out of a bundle of sources (endoZipBase64), as makeArchive does.",
    ),
    sends(
        "makeArchive",
        Open,
        CAPLET,
        "Runs a program of modules out of an archive of sources, confined: calls make(powers, context, {env, state}) \
         of its first module, and returns the promise of what comes of it. The options are powersName (a new guest if \
         nothing has that name, nothing without one), resultName and env.",
    ),
    sends(
        "makeFromTree",
        Open,
        CAPLET,
        "Runs a program of modules out of a tree or a directory, as it is now, as makeArchive does. Its first module is \
         what package.json exports, or index.js.",
    ),
    changes(
        "stageTree",
        Open,
        &[req("treeName", NameOrPath), req("scratchName", Text)],
        "Copies a tree for changing.",
    ),
    sends("makeUnconfinedFromTree", Open, CAPLET, "Runs a program from a tree with all powers.")
        .never(UNCONFINED),
    sends(
        "makeChannel",
        Open,
        &[req("petName", Text), req("proposedName", Text)],
        "Makes a room for several.",
    )
    .not_yet(),
    changes(
        "makeTimer",
        Command,
        &[req("petName", Text), req("intervalMs", Float), opt("label", Text)],
        "Makes a timer that begins now.",
    ),
    sends(
        "cancel",
        Command,
        &[req("petNameOrPath", NameOrPath), opt("reason", Error)],
        "Ends what the name stands for, and all work that depends on it. What had begun completes.",
    ),
    reads("greeter", &[], "How other daemons introduce themselves.").not_yet(),
    reads("gateway", &[], "How other daemons reach what is here.").not_yet(),
    sends("sign", Open, &[req("hexBytes", Text)], "Signs bytes with the key of this node.").not_yet(),
    reads("getPeerInfo", &[], "How other daemons find this one.").not_yet(),
    changes("addPeerInfo", Open, &[req("peerInfo", Record)], "Remembers another daemon.").not_yet(),
    reads("listKnownPeers", &[], "The other daemons that are known.").not_yet(),
    reads("followPeerChanges", &[], "Follows other daemons as they come and go.").not_yet(),
    sends("invite", Open, &[req("guestName", Text)], "Invites somebody on another daemon.").not_yet(),
    sends(
        "accept",
        Open,
        &[req("invitationLocator", Text), req("guestName", Text)],
        "Accepts an invitation.",
    )
    .not_yet(),
    reads("getFormulaGraph", &[], "What refers to what, of all that has a name."),
];

const ENDO: &[Method] = &[
    reads("ping", &[], "Answers pong."),
    sends("terminate", Open, &[], "Ends the daemon. Everything goes on when it is started again."),
    reads("host", &[], "The agent of the person who owns this store."),
    reads("leastAuthority", &[], "The agent that may do nothing."),
    reads("nodeId", &[], "The number of this node."),
    reads("greeter", &[], "How other daemons introduce themselves.").not_yet(),
    reads("gateway", &[], "How other daemons reach what is here.").not_yet(),
    sends("sign", Open, &[req("hexBytes", Text)], "Signs bytes with the key of this node.").not_yet(),
    sends("reviveNetworks", Open, &[], "Takes up the networks again.").not_yet(),
    reads("revivePins", &[], "Does nothing: what is pinned stays without being revived."),
    changes("addPeerInfo", Open, &[req("peerInfo", Record)], "Remembers another daemon.").not_yet(),
    reads("listKnownPeers", &[], "The other daemons that are known.").not_yet(),
    reads("followPeerChanges", &[], "Follows other daemons as they come and go.").not_yet(),
];

const MESSAGE: &[Method] =
    &[changes("dismiss", Command, &[], "Hides the message in your own inbox and drops what it refers to.")];

const BLOB: &[Method] = &[
    reads("sha256", &[], "The SHA-256 hash of the bytes."),
    reads("streamBase64", &[], "The bytes piece by piece."),
    reads("text", &[], "The bytes as text."),
    reads("json", &[], "The bytes as the value that they say in JSON."),
];

const MOUNT: &[Method] = &[
    reads("has", PATH, "Whether there is a file."),
    reads("list", PATH, "The names of the files."),
    reads("lookup", NAME, "A file or a directory in it."),
    reads("readText", NAME, "The text of a file."),
    reads("maybeReadText", NAME, "The text of a file, if there is one."),
    changes("writeText", Open, &[req("petNameOrPath", NameOrPath), req("content", Text)], "Writes a file."),
    changes(
        "append",
        Open,
        &[req("petNameOrPath", NameOrPath), req("content", Text)],
        "Puts text behind what a file holds, or makes it.",
    ),
    changes("remove", Open, PATH, "Removes a file."),
    changes("move", Open, &[req("fromPath", NameOrPath), req("toPath", NameOrPath)], "Renames a file."),
    changes("makeDirectory", Open, NAME, "Makes a directory."),
    reads("readOnly", &[], "The same directory for reading only."),
    reads("snapshot", &[], "What is in it now."),
];

const MOUNT_FILE: &[Method] = &[
    reads("text", &[], "The bytes as text."),
    reads("streamBase64", &[], "The bytes piece by piece."),
    reads("json", &[], "The bytes as the value that they say in JSON."),
    changes("writeText", Open, &[req("content", Text)], "Puts text in the place of what the file holds."),
    changes("append", Open, &[req("content", Text)], "Puts text behind what the file holds."),
    changes(
        "writeBytes",
        Open,
        &[req("readerRef", Remotable)],
        "Puts the bytes of a reader in the place of what it holds.",
    )
    .takes_foreign(),
    reads("readOnly", &[], "The same file for reading only."),
];

const TREE: &[Method] = &[
    reads("sha256", &[], "The SHA-256 hash of the list of what is in it."),
    reads("has", PATH, "Whether there is such a file or directory."),
    reads("list", PATH, "The names in it, or in a directory in it."),
    reads("lookup", NAME, "A file or a directory in it."),
    reads("readText", NAME, "The text of a file."),
    reads("maybeReadText", NAME, "The text of a file, if there is one."),
];

const TIMER: &[Method] = &[
    reads("getLabel", &[], "What its maker calls it."),
    reads("getInterval", &[], "How long from tick to tick, in milliseconds."),
    changes(
        "subscribe",
        Open,
        &[req("callback", Remotable)],
        "Calls `onTick({tick, label, timestamp})` of your object at each tick while you are connected. With your own \
         handle in its place, each tick is a message to you, also after a restart.",
    ).takes_foreign(),
    changes("unsubscribe", Open, &[req("callback", Remotable)], "Ends that.").takes_foreign(),
];

const RESOLVER: &[Method] = &[sends(
    "resolveWithId",
    Open,
    &[req("id", Text)],
    "Settles the promise with what the identifier stands for.",
)];

const STATE: &[Method] = &[
    reads("get", &[req("name", Text)], "What is kept under the name; `undefined` if nothing is."),
    reads("has", &[req("name", Text)], "Whether anything is kept under the name."),
    reads("list", &[], "The names, in order."),
    changes("set", Open, &[req("name", Text), req("value", Any)], "Keeps data under the name."),
    changes("delete", Open, &[req("name", Text)], "Keeps nothing under the name any more."),
    changes("cancel", Open, &[opt("reason", Any)], "Ends the code that it belongs to."),
];

const VAT: &[Method] = &[sends("terminate", Open, &[], "Ends all that runs in it.")];

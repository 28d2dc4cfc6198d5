//! The files of ours that touch the world: files, network, processes, clocks. No others do.
//!
//! The list is exact. An author whose file touches the world adds a line here, with the reason, where a reviewer sees
//! it. A line that is not needed any more goes.

use std::collections::BTreeMap;

use super::Problem;
use super::purity::Group;
use super::source::has_word;
use super::tree::Tree;

/// A part of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum WorldPart {
    Files,
    Network,
    Processes,
    Clocks,
}

use WorldPart::{Clocks, Files, Network, Processes};

/// The words by which code is seen to touch a part of the world.
const WORDS: &[(WorldPart, &[&str])] = &[
    (Files, &["std::fs", "cap_std", "rustix::fs", "rusqlite", "tempfile"]),
    (
        Network,
        &[
            "TcpListener",
            "TcpStream",
            "UdpSocket",
            "ToSocketAddrs",
            "UnixListener",
            "UnixStream",
            "UnixDatagram",
            "rustix::net",
            "tungstenite",
            "ureq",
        ],
    ),
    (
        Processes,
        &["std::process", "Command::new", "process::exit", "process::abort", "rustix::process", "wait4"],
    ),
    (Clocks, &["SystemTime", "Instant", "UNIX_EPOCH"]),
];

/// The files that may, each with the parts of the world and the reason. Ordered by path.
#[rustfmt::skip]
const ALLOWED_FILES: &[(&str, &[WorldPart], &str)] = &[
    ("crates/almoner/build.rs", &[Processes], "asks Git for the commit that it is built from"),
    ("crates/almoner/src/cli/directory.rs", &[Files], "lists the documents of a directory that a command names"),
    ("crates/almoner/src/cli/directory_documents.rs", &[Files], "reads the documents of a small directory that a question names"),
    ("crates/almoner/src/cli/globs.rs", &[Files], "finds the documents that a pattern stands for"),
    ("crates/almoner/src/cli/input.rs", &[Files, Clocks], "reads the documents that a command names, and waits a moment for pipes"),
    ("crates/almoner/src/cli/life.rs", &[Files], "finds where a directory lies that a person names"),
    ("crates/almoner/src/cli/modules.rs", &[Files], "reads the programs of modules that a command names"),
    ("crates/almoner/src/client.rs", &[Files, Network, Processes, Clocks], "finds the daemon, or starts it"),
    ("crates/almoner/src/follow/follow_run.rs", &[Clocks], "ends a wait when its time is over"),
    ("crates/almoner/src/lib.rs", &[Processes], "ends with the exit code that says how it went"),
    ("crates/almoner/src/main.rs", &[Processes], "ends with the exit code that says how it went"),
    ("crates/almoner/src/ui/output.rs", &[Files], "writes a result to the disk before it counts as taken"),
    ("crates/almoner/src/ui/waiting_notice.rs", &[Network, Processes], "asks a daemon that listens already how much waits"),
    ("crates/almoner/src/verbs/answer.rs", &[Files], "reads a worker file that a person has changed"),
    ("crates/almoner/src/verbs/audit_follow/cursor.rs", &[Files], "keeps the last event that a receiver has taken"),
    ("crates/almoner/src/verbs/audit_follow/feed.rs", &[Clocks], "gathers events for a moment before it sends them"),
    ("crates/almoner/src/verbs/audit_follow/otlp/model_name.rs", &[Network], "reads the address of a server with the HTTP library, without a connection"),
    ("crates/almoner/src/verbs/audit_follow/otlp/transport.rs", &[Network, Clocks], "sends events to a collector, and waits as long as the collector asks"),
    ("crates/almoner/src/verbs/cases/fixtures.rs", &[Files], "copies the directories that a case works on"),
    ("crates/almoner/src/verbs/cases/mod.rs", &[Files], "finds cases, and makes the home in which they are tried"),
    ("crates/almoner/src/verbs/cases/sandbox.rs", &[Files], "finds where a path of a case really leads"),
    ("crates/almoner/src/verbs/demo/bare_loop.rs", &[Files], "shows what a loop without a membrane does to a folder"),
    ("crates/almoner/src/verbs/demo/folder.rs", &[Files], "makes the demo's folder"),
    ("crates/almoner/src/verbs/demo/hijacked.rs", &[Files], "makes the folder of the hijacked part"),
    ("crates/almoner/src/verbs/demo/live.rs", &[Processes, Clocks], "approves from another process, and says how long it took"),
    ("crates/almoner/src/verbs/demo/mod.rs", &[Files], "makes the demo's home"),
    ("crates/almoner/src/verbs/logs.rs", &[Files], "reads what the daemon has written about itself"),
    ("crates/almoner/src/verbs/mcp/install.rs", &[Files, Processes], "has npm or pip install the package of a server, after a yes"),
    ("crates/almoner/src/verbs/mcp/mod.rs", &[Files], "removes the package of a server"),
    ("crates/almoner/src/verbs/mcp/modules.rs", &[Files], "finds the modules of a program that a person names"),
    ("crates/almoner/src/verbs/mcp/settings_file.rs", &[Files], "reads the settings of other agents"),
    ("crates/almoner/src/verbs/mcp_login.rs", &[Network, Clocks], "waits for the browser to come back from a login, for a limited time"),
    ("crates/almoner/src/verbs/models.rs", &[Files], "looks whether there is room for weights"),
    ("crates/almoner/src/verbs/open.rs", &[Files, Processes], "opens a browser, which reads where to go from a file"),
    ("crates/almoner/src/verbs/reference.rs", &[Files], "writes manual pages where a person says"),
    ("crates/almoner/src/verbs/service/mod.rs", &[Files], "writes and removes the unit of the service"),
    ("crates/almoner/src/verbs/service/unit.rs", &[Files], "reads the unit of the service, and finds this program"),
    ("crates/almoner/src/verbs/service/user_manager.rs", &[Processes], "asks the service manager of the user"),
    ("crates/almoner/src/verbs/trust.rs", &[Files], "finds the file that a person names"),
    ("crates/almoner/src/verbs/wait.rs", &[Clocks], "waits no longer than a person says"),
    ("crates/almoner/src/verbs/why.rs", &[Files], "finds the file that a person names"),
    ("crates/almoner/src/verbs/worker_file.rs", &[Files], "writes worker files that are not there yet"),
    ("crates/caps/src/atomic_write.rs", &[Files], "puts a file into its place in one stroke"),
    ("crates/caps/src/clock/mod.rs", &[Clocks], "tells the time"),
    ("crates/caps/src/dir/append.rs", &[Files], "the directory capability"),
    ("crates/caps/src/dir/edit.rs", &[Files], "the directory capability"),
    ("crates/caps/src/dir/glob.rs", &[Files], "the directory capability"),
    ("crates/caps/src/dir/grep.rs", &[Files], "the directory capability"),
    ("crates/caps/src/dir/ignore_rules.rs", &[Files], "the directory capability: reads the rules of Git for ignored files"),
    ("crates/caps/src/dir/limits.rs", &[Files], "the directory capability"),
    ("crates/caps/src/dir/list.rs", &[Files], "the directory capability"),
    ("crates/caps/src/dir/look_alike.rs", &[Files], "the directory capability: looks for names that look alike"),
    ("crates/caps/src/dir/mod.rs", &[Files], "the directory capability"),
    ("crates/caps/src/dir/range.rs", &[Files], "the directory capability"),
    ("crates/caps/src/dir/read.rs", &[Files], "the directory capability"),
    ("crates/caps/src/dir/relocate.rs", &[Files], "the directory capability"),
    ("crates/caps/src/dir/stat.rs", &[Files, Clocks], "the directory capability: says when a file was changed"),
    ("crates/caps/src/dir/tree.rs", &[Files, Clocks], "the directory capability: says when a file was changed"),
    ("crates/caps/src/dir/write.rs", &[Files], "the directory capability"),
    ("crates/caps/src/found_file.rs", &[Files], "opens a document that was found in a directory"),
    ("crates/caps/src/git/host.rs", &[Files], "finds this program, and looks whether a repository is where it was"),
    ("crates/caps/src/http/edge.rs", &[Network, Clocks], "the web: one connection to an address that was looked at"),
    ("crates/caps/src/http/host_services.rs", &[Network, Clocks], "the web: looks names up"),
    ("crates/caps/src/lib.rs", &[Files], "opens what a grant leads to"),
    ("crates/caps/src/login_client.rs", &[Network], "the requests of a login, to addresses that were looked at"),
    ("crates/caps/src/mcp/endow.rs", &[Files], "looks at the files that a server of tools is told to run"),
    ("crates/caps/src/mcp/login.rs", &[Network], "puts a token into a request"),
    ("crates/caps/src/mcp/session.rs", &[Clocks], "servers of tools: how long a server may take"),
    ("crates/caps/src/mcp/transport.rs", &[Clocks], "servers of tools: waits for a message"),
    ("crates/caps/src/mcp/web.rs", &[Network, Clocks], "servers of tools: posts to an address that was looked at, takes cut streams up"),
    ("crates/caps/src/mount/change.rs", &[Files, Processes], "directories of Endo's clients"),
    ("crates/caps/src/mount/granted_directory/change.rs", &[Files], "directories that agents were handed"),
    ("crates/caps/src/mount/granted_directory/prior_state.rs", &[Files], "directories that agents were handed"),
    ("crates/caps/src/mount/look.rs", &[Files], "directories of Endo's clients"),
    ("crates/caps/src/mount/mod.rs", &[Files], "directories of Endo's clients"),
    ("crates/caps/src/outbox/mod.rs", &[Files], "the mail spool"),
    ("crates/caps/src/places.rs", &[Files], "looks where a path leads, by its links, directories and mounts"),
    ("crates/caps/src/program/endow.rs", &[Files], "looks at the programs that a person names"),
    ("crates/caps/src/program/scratch.rs", &[Files, Processes], "makes a directory for each call, removes it, and looks whose others are"),
    ("crates/caps/src/removal.rs", &[Files], "removes directories in which programs have worked"),
    ("crates/caps/src/stage.rs", &[Files], "makes staged copies of directories"),
    ("crates/caps/src/stage/base.rs", &[Files], "keeps the files that a staged copy began with"),
    ("crates/caps/src/stage/gate.rs", &[Clocks], "waits for calls in staged copies, for a limited time"),
    ("crates/caps/src/undo.rs", &[Files], "puts files back, under temporary names of its own"),
    ("crates/caps/src/walk.rs", &[Files], "walks beneath one open directory"),
    ("crates/config/src/case.rs", &[Files], "reads the cases of workers, and writes what one comes to now"),
    ("crates/config/src/clock.rs", &[Clocks], "tells the whole program what time it is"),
    ("crates/config/src/file_view.rs", &[Files, Processes], "compares how two processes see the file system"),
    ("crates/config/src/handover.rs", &[Files], "keeps which builds have replaced each other's daemons"),
    ("crates/config/src/machine.rs", &[Files], "finds programs and directories that a person names"),
    ("crates/config/src/managed/files.rs", &[Files, Processes, Clocks], "reads the files of the machine's administrator, their owners, and whether they just changed"),
    ("crates/config/src/managed/tool_servers.rs", &[Files], "finds where a path of a fixed server really leads"),
    ("crates/config/src/mcp_file.rs", &[Files], "keeps the servers of tools that the user has written down"),
    ("crates/config/src/model_choice.rs", &[Files], "looks whether the weights of a local model are there"),
    ("crates/config/src/place.rs", &[Files, Processes], "finds the user's directories, and looks whose the home is"),
    ("crates/config/src/place_lock.rs", &[Files], "lets one process of a place at a time replace a daemon or move a store"),
    ("crates/config/src/policy_file.rs", &[Files], "reads policy files"),
    ("crates/config/src/private_dir.rs", &[Files, Processes], "makes the user's directories, and looks whose they are"),
    ("crates/config/src/settings/edit.rs", &[Files], "writes the default model that a person chooses"),
    ("crates/config/src/settings/mod.rs", &[Files, Processes, Clocks], "reads settings, and looks whose they are"),
    ("crates/config/src/settings/project.rs", &[Files], "looks whether a path of a project leads out of it"),
    ("crates/config/src/trust/mod.rs", &[Files], "reads the file of a project"),
    ("crates/config/src/trust/trusted_files.rs", &[Files, Processes], "keeps which files of projects are trusted"),
    ("crates/config/src/whole_file.rs", &[Files], "writes files whole, where a person says"),
    ("crates/daemon/src/api/connections.rs", &[Network, Processes], "owns the control socket, and looks who calls"),
    ("crates/daemon/src/api/control_socket.rs", &[Files, Network], "makes the socket of the store"),
    ("crates/daemon/src/api/dispatch.rs", &[Processes, Clocks], "tokens of the gateway begin"),
    ("crates/daemon/src/api/examine.rs", &[Files], "looks whether there is room, and who can read the file of the web pages"),
    ("crates/daemon/src/api/main_loop.rs", &[Files, Network, Processes, Clocks], "the daemon's main: opens as many files as it may, listens, ends"),
    ("crates/daemon/src/api/save.rs", &[Files], "writes a worker file and its case"),
    ("crates/daemon/src/api/service_manager.rs", &[Network, Processes, Clocks], "tells the service manager how the daemon is"),
    ("crates/daemon/src/api/web.rs", &[Network], "opens the port of the web pages"),
    ("crates/daemon/src/api/web_file.rs", &[Files], "keeps where the web pages are served, and their sessions"),
    ("crates/daemon/src/captp/connection.rs", &[Network, Clocks], "serves one client of Endo's"),
    ("crates/daemon/src/captp/mod.rs", &[Files, Network, Processes], "owns the socket of Endo's clients"),
    ("crates/daemon/src/captp/websocket/admission.rs", &[Network], "reads what a client says before it is let in"),
    ("crates/daemon/src/captp/websocket/deadline.rs", &[Network, Clocks], "gives a handshake only so long"),
    ("crates/daemon/src/captp/websocket/mod.rs", &[Network], "listens on this machine's own address"),
    ("crates/daemon/src/captp/websocket/pump.rs", &[Network], "carries frames between a client and a session"),
    ("crates/daemon/src/captp/writer.rs", &[Network, Clocks], "sends to a client that may be slow"),
    ("crates/daemon/src/code/agent_thread.rs", &[Clocks], "lets go of a process that has had nothing to do for long"),
    ("crates/daemon/src/code/process_pool.rs", &[Clocks], "tells the watchdog of guest code how time passes"),
    ("crates/daemon/src/files/directories.rs", &[Files], "looks at the directories that a person names"),
    ("crates/daemon/src/files/folder_list.rs", &[Files], "lists the directories from which a person chooses on a page"),
    ("crates/daemon/src/files/guest_files/gates.rs", &[Files], "knows by which names a directory goes, wherever links lead"),
    ("crates/daemon/src/home_backup/archive_reader.rs", &[Files], "unpacks a backup"),
    ("crates/daemon/src/home_backup/archive_writer.rs", &[Files], "writes a backup"),
    ("crates/daemon/src/home_backup/backup.rs", &[Files], "reads the home for a backup"),
    ("crates/daemon/src/home_backup/config_texts.rs", &[Files], "reads the configuration of a backup"),
    ("crates/daemon/src/home_backup/restore.rs", &[Files], "makes a home of a backup"),
    ("crates/daemon/src/maintenance/blob_sweeper.rs", &[Clocks], "sweeps in small steps"),
    ("crates/daemon/src/maintenance/collector.rs", &[Clocks], "does its work when there is nothing better to do"),
    ("crates/daemon/src/maintenance/notifier.rs", &[Processes, Clocks], "starts the command that the user has set, and ends it"),
    ("crates/daemon/src/objects/gateway_login.rs", &[Clocks], "counts who is turned away"),
    ("crates/daemon/src/objects/object_table.rs", &[Clocks], "tells clients when things happened"),
    ("crates/daemon/src/objects/tree_upload.rs", &[Clocks], "gives a client's tree only so long"),
    ("crates/daemon/src/processes/code_reader.rs", &[Processes], "starts the process that reads proposed code, and waits for it no longer than it may take"),
    ("crates/daemon/src/processes/document_reader.rs", &[Processes], "starts the process that reads one document, and ends it"),
    ("crates/daemon/src/processes/model_host.rs", &[Processes], "says how the process of a local model is started"),
    ("crates/daemon/src/processes/planted_fault.rs", &[Processes], "ends the process of a document that a test has marked"),
    ("crates/daemon/src/processes/vat_host.rs", &[Processes, Clocks], "says how the process of guest code is started, and measures its turns"),
    ("crates/daemon/src/queries/why/file.rs", &[Files], "finds the file that a person names"),
    ("crates/daemon/src/runs/bind/directories.rs", &[Files], "looks where the directories that a person names lead, and makes them"),
    ("crates/daemon/src/runs/bind/mcp.rs", &[Files], "looks at what a server of tools may read"),
    ("crates/daemon/src/runs/documents.rs", &[Files], "reads the documents that a person names"),
    ("crates/daemon/src/runs/engine.rs", &[Clocks], "waits only so long for runs to come to rest"),
    ("crates/daemon/src/runs/examples.rs", &[Files], "lays out the files of an example"),
    ("crates/daemon/src/runs/logins.rs", &[Clocks], "gives a person a time for the browser"),
    ("crates/daemon/src/runs/staging.rs", &[Files], "looks where the directories of slots really are"),
    ("crates/daemon/src/runs/uploads.rs", &[Files], "lists the files that browsers have brought"),
    ("crates/daemon/src/state/gateway_tokens.rs", &[Clocks], "tokens of the gateway end"),
    ("crates/daemon/src/state/news.rs", &[Clocks], "lets followers wait only so long"),
    ("crates/daemon/src/state/private_file.rs", &[Files], "writes files that only the user can read"),
    ("crates/daemon/src/state/protected_paths.rs", &[Files], "knows the daemon's own directories, wherever links lead"),
    ("crates/daemon/src/state/scratch_dirs.rs", &[Files], "keeps the daemon's own directories"),
    ("crates/daemon/src/state/vault.rs", &[Files, Processes], "takes the vault's file up, and keeps its memory to itself"),
    ("crates/gateway-web/src/connections.rs", &[Network], "takes connections of browsers, so many and no longer than it may"),
    ("crates/gateway-web/src/serve.rs", &[Network], "answers browsers on a port of this machine"),
    ("crates/git/src/add.rs", &[Files], "reads the files that are added"),
    ("crates/git/src/open.rs", &[Files], "looks whether the settings of a repository include other files"),
    ("crates/model/src/cascade.rs", &[Clocks], "passes over a model that failed, for a time"),
    ("crates/model/src/detect.rs", &[Files], "looks which models there are"),
    ("crates/model/src/local/client.rs", &[Processes, Clocks], "gives up on a model host that says nothing"),
    ("crates/model/src/local/engine.rs", &[Files], "reads weights"),
    ("crates/model/src/local/memory.rs", &[Files, Processes], "limits what a model host may take"),
    ("crates/model/src/opener.rs", &[Files, Processes], "starts a model host"),
    ("crates/model/src/replay.rs", &[Files], "reads a recorded conversation"),
    ("crates/model/src/request.rs", &[Clocks], "a call ends with the time that it has"),
    ("crates/model/src/scripted.rs", &[Files], "reads a scripted conversation"),
    ("crates/model/src/served/asked_wait.rs", &[Network, Clocks], "reckons how long a server asks to wait"),
    ("crates/model/src/served/http.rs", &[Network, Clocks], "talks to a model's server"),
    ("crates/model/src/served/mod.rs", &[Clocks], "says how long a model took"),
    ("crates/model/src/served/pace.rs", &[Clocks], "tells when a server has been too slow"),
    ("crates/model/src/served/rate_limits.rs", &[Clocks], "knows when a server takes requests again"),
    ("crates/model/src/weights/hub_download.rs", &[Files, Network], "fetches weights"),
    ("crates/model/src/weights/packages.rs", &[Files, Processes], "fetches weights"),
    ("crates/model/src/weights/pull.rs", &[Files], "fetches weights"),
    ("crates/model/src/weights/verify.rs", &[Files], "checks weights"),
    ("crates/network/src/absolute_form.rs", &[Network], "writes whole requests to a proxy"),
    ("crates/network/src/authorities.rs", &[Files, Network], "reads certificate authorities that the user names"),
    ("crates/network/src/egress.rs", &[Network], "reads the addresses of the servers that an administrator allows"),
    ("crates/network/src/error.rs", &[Network], "says why a server was not reached"),
    ("crates/network/src/proxy.rs", &[Network], "reads the address of a proxy"),
    ("crates/network/src/route.rs", &[Network], "chooses the way to a server, and takes it"),
    ("crates/sandbox/src/linux/attempts.rs", &[Files, Network, Processes, Clocks], "tries what a confined program must not be able to do"),
    ("crates/sandbox/src/linux/calls.rs", &[Processes], "the sandbox: a process may signal itself, so it is asked who it is"),
    ("crates/sandbox/src/linux/files.rs", &[Files], "the sandbox"),
    ("crates/sandbox/src/linux/jail.rs", &[Files, Processes], "the sandbox"),
    ("crates/sandbox/src/linux/mod.rs", &[Processes], "the sandbox: keeps others out of a process's memory"),
    ("crates/sandbox/src/linux/privileges.rs", &[Processes], "the sandbox"),
    ("crates/sandbox/src/linux/raw.rs", &[Files, Processes], "the sandbox"),
    ("crates/sandbox/src/linux/tree.rs", &[Files, Processes, Clocks], "the sandbox: counts what is used"),
    ("crates/sandbox/src/linux/warden.rs", &[Files, Processes, Clocks], "the sandbox: starts a program, and ends what is left of it"),
    ("crates/sandbox/src/loaders.rs", &[Files], "reads which loader a program needs"),
    ("crates/sandbox/src/parent.rs", &[Processes, Clocks], "starts the warden"),
    ("crates/sandbox/src/prove.rs", &[Files, Network, Processes], "makes the place in which restrictions are tried"),
    ("crates/store/src/backup.rs", &[Files], "the store owns its files"),
    ("crates/store/src/backup_record.rs", &[Files, Clocks], "records when and where a backup was made"),
    ("crates/store/src/blob.rs", &[Files], "the store owns its files"),
    ("crates/store/src/check.rs", &[Files], "the store owns its files"),
    ("crates/store/src/damage.rs", &[Clocks], "waits only so long for the examination"),
    ("crates/store/src/database.rs", &[Files], "the store owns its files"),
    ("crates/store/src/examiner.rs", &[Files], "the store owns its files"),
    ("crates/store/src/failpoint.rs", &[Processes], "kills the process where a test says so; never in a release"),
    ("crates/store/src/fault.rs", &[Files], "names the database's faults"),
    ("crates/store/src/header.rs", &[Files, Processes], "asks who runs it, since one user owns a store"),
    ("crates/store/src/inline_blob.rs", &[Files], "the store owns its files"),
    ("crates/store/src/marks.rs", &[Clocks], "collects in small steps"),
    ("crates/store/src/migration.rs", &[Files], "the store owns its files"),
    ("crates/store/src/overlay.rs", &[Files], "the store owns its files"),
    ("crates/store/src/place.rs", &[Files, Processes], "one process owns a store"),
    ("crates/store/src/probe.rs", &[Files, Processes, Clocks], "measures what a sync of this disk takes"),
    ("crates/store/src/reader.rs", &[Files], "the store owns its files"),
    ("crates/store/src/schema.rs", &[Files], "the store owns its files"),
    ("crates/store/src/snapshot.rs", &[Files], "the store owns its files"),
    ("crates/store/src/sql.rs", &[Files], "the store owns its files"),
    ("crates/store/src/store.rs", &[Files], "the store owns its files"),
    ("crates/store/src/sweep.rs", &[Files], "the store owns its files"),
    ("crates/store/src/writer.rs", &[Files, Clocks], "commits in groups, and waits only so long for one"),
    ("crates/vat/src/parent.rs", &[Processes], "starts the process for guest code, and ends it when it is stuck"),
    ("crates/vault/src/file.rs", &[Files], "the vault owns its file"),
    ("crates/vault/src/keyring.rs", &[Processes, Clocks], "asks the keyring's own program"),
    ("crates/worker/src/definition/load.rs", &[Files], "reads worker files"),
];

const LIST: &str = "xtask/src/tidy/reach.rs";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    compare(tree, ALLOWED_FILES)
}

fn compare(tree: &Tree, may: &[(&str, &[WorldPart], &str)]) -> Vec<Problem> {
    let mut touched: BTreeMap<(&str, WorldPart), usize> = BTreeMap::new();
    for (file, source, _) in tree.rust().filter(|(.., owner)| owner.folder.starts_with("crates/")) {
        let mut group = Group::default();
        for (number, line) in source.shipped() {
            let grouped = group.take(line);
            for (part, words) in WORDS {
                // `use std::{fs, process}` means the same as `std::fs` and `std::process`.
                let is_in = |word: &str| {
                    has_word(line, word)
                        || word.strip_prefix("std::").is_some_and(|module| has_word(&grouped, module))
                };
                if words.iter().any(|word| is_in(word)) {
                    touched.entry((file.path.as_str(), *part)).or_insert(number);
                }
            }
        }
    }
    let listed = |path: &str, part| may.iter().any(|(each, parts, _)| *each == path && parts.contains(&part));
    let mut problems: Vec<Problem> = touched
        .iter()
        .filter(|((path, part), _)| !listed(path, *part))
        .map(|((path, part), line)| {
            let way_out = format!("let a file that may do it, or add this one to {LIST} with the reason");
            Problem::fault(
                path,
                *line,
                format!("this file touches {}, and may not", part.description()),
                way_out,
            )
        })
        .collect();
    for (path, parts, reason) in may {
        let needless = parts.iter().filter(|part| !touched.contains_key(&(*path, **part)));
        problems.extend(needless.map(|part| {
            let wrong = format!("`{path}` may touch {}, and does not", part.description());
            Problem::fault(LIST, 0, wrong, "take it out of the list")
        }));
        if reason.trim().is_empty() {
            let wrong = format!("`{path}` may touch the world, and nobody says why");
            problems.push(Problem::fault(LIST, 0, wrong, "say it"));
        }
    }
    if !may.is_sorted_by_key(|(path, ..)| path) {
        problems.push(Problem::fault(LIST, 0, "the list is not in order", "sort it by path"));
    }
    problems
}

impl WorldPart {
    fn description(self) -> &'static str {
        match self {
            Files => "files",
            Network => "the network",
            Processes => "processes",
            Clocks => "a clock",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Clocks, Files, Network, Processes, WorldPart, compare};
    use crate::tidy::planted::{at, tree};

    #[track_caller]
    fn find(text: &str, may: &[(&str, &[WorldPart], &str)], expected: &[&str]) {
        at(&compare(&tree(&[("crates/caps/src/a.rs", text)]), may), expected);
    }

    const A: &str = "crates/caps/src/a.rs";
    const LIST: &str = "xtask/src/tidy/reach.rs:0";

    #[test]
    fn unlisted_file_must_not_touch_the_world() {
        for (text, part) in [
            ("fn a() {}\nstd::fs::read(p);", Files),
            ("\nuse cap_std::fs::Dir;", Files),
            ("\nuse std::{fmt, fs};", Files),
            ("\nuse std::process::{Command, Stdio};", Processes),
            ("\nuse std::net::{IpAddr, TcpStream};", Network),
            ("\nlet a = std::process::Command::new(\"sh\");", Processes),
            ("\nlet a = std::time::Instant::now();", Clocks),
        ] {
            find(text, &[], &["crates/caps/src/a.rs:2"]);
            find(text, &[(A, &[part], "why")], &[]);
            find(text, &[("crates/caps/src/b.rs", &[part], "why")], &["crates/caps/src/a.rs:2", LIST]);
        }
    }

    #[test]
    fn each_part_of_the_world_needs_its_own_entry() {
        find("std::fs::read(p); Instant::now();", &[(A, &[Files], "why")], &["crates/caps/src/a.rs:1"]);
        find("std::fs::read(p);", &[(A, &[Files, Clocks], "why")], &[LIST]);
    }

    #[test]
    fn unneeded_entries_are_found() {
        find("fn a() {}", &[(A, &[Files], "why")], &[LIST]);
        find("// std::fs\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}", &[(A, &[Files], "why")], &[LIST]);
        find("fn a() {}", &[("crates/caps/src/gone.rs", &[Network], "why")], &[LIST]);
    }

    #[test]
    fn entries_need_a_reason_and_are_sorted() {
        find("std::fs::read(p);", &[(A, &[Files], " ")], &[LIST]);
        let b = "crates/caps/src/b.rs";
        let files = tree(&[(A, "std::fs::read(p);"), (b, "std::fs::read(p);")]);
        at(&compare(&files, &[(b, &[Files], "why"), (A, &[Files], "why")]), &[LIST]);
    }

    #[test]
    fn similar_names_are_not_reported() {
        find("use kernel::command::Command;\nlet a = std::net::IpAddr::V4(x); let instant = 3;", &[], &[]);
        at(&compare(&tree(&[("crates/caps/tests/it/main.rs", "use std::fs;")]), &[]), &[]);
    }
}

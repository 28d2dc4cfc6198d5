//! Calls on files: on directories and trees, and on the parts that clients have looked up in them.

use std::sync::Arc;

use kernel::FormulaId;
use kernel::facet::{self, BindDirectory, FileCall, FileOp, KeepTree, MakeModules, ModulesIn, StageTree};
use kernel::formula::{Formula, Tree};
use kernel::run::Origin;
use passable::Value;
use store::Hold;
use switchboard::{Outcome, Ref};

use super::convert;
use super::file_worker::{TaskContext, TaskFn, TaskOutcome, WorkerTask};
use super::iterators::Feed;
use super::object::{Object, Part, RemoteObject};
use super::object_table::{Context, ObjectTable};
use super::perform::{CallError, act};
use crate::files::directories;
use crate::files::directories::{FileAccess, FilePlace};
use crate::files::guest_files;
use crate::files::guest_files::{DirectoryAccess, HostAccess};
use crate::files::module_archives;
use control::exit::{Exit, Failure};

/// Returns the part that stands for a whole directory or tree.
fn root_part(root: Object) -> Part {
    Part { root, taken: None, place: vec![], kind: facet::Part::Directory, read_only: false }
}

/// The operation of a call on files, its caller, and the send of code that made it.
struct FileCommand {
    op: FileOp,
    bytes: Option<Vec<u8>>,
    caller: FormulaId,
    origin: Option<Origin>,
}

/// Carries out a call on files, if it is still allowed.
fn carry_out(
    outside: &TaskContext,
    part: &Part,
    doing: FileCommand,
) -> Result<guest_files::CallOutcome, Failure> {
    let FileCommand { op, bytes, caller: by, origin } = doing;
    let spot = FilePlace { place: part.place.clone(), kind: part.kind, read_only: part.read_only };
    let call = FileCall { target: part.root.id, through: part.root.through.clone(), op };
    // A call on this machine's files through a grant is recorded in a journal. The other calls are not, so their use
    // of grants is noted here.
    let note = |refused| {
        let daemon = &outside.daemon()?;
        daemon.note_use(&call.target, &call.through, by, call.op.method(), refused)
    };
    let ground = match outside.check_access(&call) {
        Ok(ground) => ground,
        Err(refused) => {
            note(true)?;
            return Err(refused);
        }
    };
    let tree = match (&part.taken, &ground.formula) {
        (Some(taken), _) => Some(taken.clone()),
        (None, Formula::Tree(tree)) => Some(tree.clone()),
        _ => None,
    };
    // The daemon may end during disk access.
    let daemon = outside.daemon()?;
    let reached = DirectoryAccess::resolve(&daemon, &call, ground, part.root.agent)?;
    if let Some(tree) = tree {
        note(false)?;
        let gates = reached.gates(&daemon)?;
        let came =
            directories::carry_out_in_tree(daemon.store.blobs(), &tree, &spot, call.op, gates.as_ref())?;
        return Ok(guest_files::CallOutcome::Done(came));
    }
    let (op, bytes) = (call.op, bytes.as_deref());
    match &reached {
        DirectoryAccess::Host(own) => {
            let hand = FileAccess::Host(own);
            let came = directories::carry_out(daemon.state(), outside, hand, &spot, op, bytes, &|_| Ok(()))?;
            Ok(guest_files::CallOutcome::Done(came))
        }
        DirectoryAccess::Granted(what) => guest_files::make_call(
            &daemon,
            outside,
            &guest_files::GuestCall { access: what, place: &spot, op, bytes, origin },
        ),
    }
}

/// Takes a snapshot of a part, and returns its tree.
fn snapshot(outside: &TaskContext, part: &Part, by: FormulaId) -> Result<Tree, Failure> {
    match carry_out(
        outside,
        part,
        FileCommand { op: FileOp::Snapshot, bytes: None, caller: by, origin: None },
    )? {
        guest_files::CallOutcome::Done(directories::FileOutcome::Tree(tree)) => Ok(tree),
        _ => Err(Failure::new(control::exit::Exit::Failure, "it is no tree")),
    }
}

/// Returns the result of a call on files as the outcome of a task.
fn to_task_outcome(part: &Part, came: directories::FileOutcome) -> TaskOutcome {
    match came {
        directories::FileOutcome::Value(value) => TaskOutcome::Value(value),
        directories::FileOutcome::Bytes(bytes) => TaskOutcome::Bytes(bytes),
        directories::FileOutcome::Part { place, kind, read_only } => {
            TaskOutcome::Part(Part { place, kind, read_only, ..part.clone() })
        }
        directories::FileOutcome::Tree(tree) => TaskOutcome::Part(Part {
            taken: Some(tree),
            place: vec![],
            kind: facet::Part::Tree,
            read_only: true,
            ..part.clone()
        }),
    }
}

/// Returns the work of a task that carries out a call on files.
fn file_work(part: Part, doing: FileCommand) -> TaskFn {
    Box::new(move |outside| {
        Ok(match carry_out(outside, &part, doing)? {
            guest_files::CallOutcome::Done(came) => to_task_outcome(&part, came),
            guest_files::CallOutcome::Waiting(asked, came) => {
                TaskOutcome::Waiting(asked, Box::new(to_task_outcome(&part, came)))
            }
        })
    })
}

impl ObjectTable {
    /// Calls a method of a part that was looked up. Returns `None` if the answer comes later.
    pub fn perform_part(
        &mut self,
        context: &Context<'_>,
        part: &Part,
        method: &str,
        args: &[Value<Ref>],
        answer: Ref,
    ) -> Option<Outcome> {
        match self.try_part(context, part, method, args, answer) {
            Ok(value) => value.map(Ok),
            Err(trouble) => Some(Err(trouble.to_value())),
        }
    }

    fn try_part(
        &mut self,
        context: &Context<'_>,
        part: &Part,
        method: &str,
        args: &[Value<Ref>],
        answer: Ref,
    ) -> Result<Option<Value<Ref>>, CallError> {
        // The calls before this one must be durable first, so that this call sees their effects.
        self.settle(context);
        let told = args.iter().map(|value| self.to_stored_value(value)).collect::<Vec<_>>();
        let op = match facet::part(part.kind, method, &told)? {
            Ok(op) => op,
            Err(value) => return self.make_live(context, &convert::to_live(&value), &part.root).map(Some),
        };
        if let FileOp::WriteBytes(_) = op {
            let own =
                args.first().and_then(Value::as_reference).filter(|given| self.object(**given).is_none());
            let Some(reader) = own.copied() else {
                return Err(CallError::Plain("the reader must be an object of the caller's".to_owned()));
            };
            self.upload_file(context, reader, part.clone(), op, answer)?;
            return Ok(None);
        }
        let doing = self.file_command(&part.root, op, None, answer);
        self.run_later(context, answer, part.root.clone(), file_work(part.clone(), doing))
    }

    /// Begins a call on a directory or tree.
    pub(crate) fn begin_files(
        &mut self,
        context: &Context<'_>,
        reach: &Object,
        call: FileCall,
        answer: Ref,
    ) -> Result<(), CallError> {
        let root = files_object(reach, &call);
        let doing = self.file_command(&root, call.op, None, answer);
        self.run_later(context, answer, root.clone(), file_work(root_part(root), doing)).map(drop)
    }

    /// Writes the uploaded bytes to a file.
    pub(crate) fn write_file(
        &mut self,
        context: &Context<'_>,
        part: Part,
        op: FileOp,
        bytes: Vec<u8>,
        answer: Ref,
    ) -> Result<(), CallError> {
        let count = bytes.len();
        let doing = self.file_command(&part.root, op, Some(bytes), answer);
        self.run_later_holding(context, answer, part.root.clone(), file_work(part, doing), count).map(drop)
    }

    /// Resolves a directory of this machine, and binds it to a formula.
    pub(crate) fn bind_directory(
        &mut self,
        context: &Context<'_>,
        reach: &Object,
        bind: BindDirectory,
        answer: Ref,
    ) -> Result<(), CallError> {
        let work: TaskFn = Box::new(move |outside| {
            let path = directories::resolve_directory(&outside.daemon()?.protected_paths, &bind.path)?;
            Ok(TaskOutcome::Act(Box::new(bind.with(path))))
        });
        self.run_later(context, answer, reach.clone(), work).map(drop)
    }

    /// Stores the present content of a directory or tree as a tree with a name. If the tree is a client's own object,
    /// its upload begins.
    pub(crate) fn keep_tree(
        &mut self,
        context: &Context<'_>,
        reach: &Object,
        keep: KeepTree,
        given: Option<Ref>,
        answer: Ref,
    ) -> Result<(), CallError> {
        let part = match given.and_then(|given| self.object(given)) {
            Some(RemoteObject::Object(object)) => root_part(object.clone()),
            Some(RemoteObject::Part(part)) => Part::clone(part),
            _ => {
                let Some(own) = given else {
                    return Err(CallError::Plain(
                        "a tree is an object that has `list` and `lookup`".to_owned(),
                    ));
                };
                return self.begin_tree_upload(context, own, keep, reach.clone(), answer);
            }
        };
        let by = self.caller(&part.root);
        let work: TaskFn =
            Box::new(move |outside| Ok(TaskOutcome::Act(Box::new(keep.with(snapshot(outside, &part, by)?)))));
        self.run_later(context, answer, reach.clone(), work).map(drop)
    }

    /// Copies a tree to a new directory.
    pub(crate) fn stage_tree(
        &mut self,
        context: &Context<'_>,
        reach: &Object,
        stage: StageTree,
        answer: Ref,
    ) -> Result<(), CallError> {
        let (part, by) = (root_part(files_object(reach, &stage.from)), self.caller(reach));
        let work: TaskFn = Box::new(move |outside| {
            Ok(TaskOutcome::Stage { tree: snapshot(outside, &part, by)?, make: Box::new(stage.make) })
        });
        self.run_later(context, answer, reach.clone(), work).map(drop)
    }

    /// Unpacks the modules of a program, stores them, and makes code of them.
    pub(crate) fn make_modules(
        &mut self,
        context: &Context<'_>,
        reach: &Object,
        make: MakeModules,
        answer: Ref,
    ) -> Result<(), CallError> {
        let files = match &make.origin {
            ModulesIn::Files(call) => Some(root_part(files_object(reach, call))),
            ModulesIn::Bytes(_) | ModulesIn::Value(_) => None,
        };
        let by = self.caller(reach);
        let work: TaskFn = Box::new(move |outside| {
            let daemon = outside.daemon()?;
            let blobs = daemon.store.blobs();
            let unpacked = match (&make.origin, &files) {
                (_, Some(part)) => module_archives::from_tree(blobs, &snapshot(outside, part, by)?)?,
                (ModulesIn::Bytes(hash), None) => module_archives::from_bytes(blobs, hash, make.packed)?,
                (ModulesIn::Value(value), None) => module_archives::from_bundle_value(value)?,
                (ModulesIn::Files(_), None) => return Err(Failure::new(Exit::Failure, "it is no tree")),
            };
            let kept = module_archives::store(outside, make.packed, make.env.clone(), &unpacked)?;
            Ok(TaskOutcome::Act(Box::new(make.with(kept))))
        });
        self.run_later(context, answer, reach.clone(), work).map(drop)
    }

    /// Returns the operation of a call on files, with its caller and the send that made it.
    fn file_command(
        &mut self,
        root: &Object,
        op: FileOp,
        bytes: Option<Vec<u8>>,
        answer: Ref,
    ) -> FileCommand {
        FileCommand { op, bytes, caller: self.caller(root), origin: self.origins.remove(&answer) }
    }

    fn run_later(
        &mut self,
        context: &Context<'_>,
        answer: Ref,
        reach: Object,
        work: TaskFn,
    ) -> Result<Option<Value<Ref>>, CallError> {
        self.run_later_holding(context, answer, reach, work, 0)
    }

    fn run_later_holding(
        &mut self,
        context: &Context<'_>,
        answer: Ref,
        reach: Object,
        work: TaskFn,
        bytes: usize,
    ) -> Result<Option<Value<Ref>>, CallError> {
        if self.has_too_many_waiting() {
            return Err(CallError::Plain("too many calls wait for a person here".to_owned()));
        }
        apply_task(context, WorkerTask { answer, reach, work, bytes, hold: None })
    }

    /// Answers a call with the outcome of its task.
    pub fn complete_task(
        &mut self,
        context: &Context<'_>,
        reach: Object,
        answer: Ref,
        came: Result<TaskOutcome, Failure>,
        hold: Option<&Arc<Hold>>,
    ) {
        let outcome = match self.try_complete_task(context, &reach, answer, came, hold) {
            Ok(None) => return,
            Ok(Some(value)) => Ok(value),
            Err(trouble) => {
                self.abandon_upload(context, answer);
                Err(trouble.to_value())
            }
        };
        self.origins.remove(&answer);
        context.board().resolve(self.side, answer, outcome);
    }

    fn try_complete_task(
        &mut self,
        context: &Context<'_>,
        reach: &Object,
        answer: Ref,
        came: Result<TaskOutcome, Failure>,
        hold: Option<&Arc<Hold>>,
    ) -> Result<Option<Value<Ref>>, CallError> {
        let value = match came? {
            TaskOutcome::Value(value) => value,
            TaskOutcome::Part(part) => return Ok(Some(self.part(&mut context.board(), part)?)),
            TaskOutcome::Bytes(bytes) => {
                return Ok(Some(self.iterator(&mut context.board(), Feed::bytes(bytes))?));
            }
            TaskOutcome::Waiting(asked, came) => {
                self.wait_for(asked, reach.clone(), answer, *came);
                // The call may be over already, and then no later event reports it.
                self.answer_waiting_calls(context);
                return Ok(None);
            }
            TaskOutcome::PartStored(tag, kept) => {
                self.note_stored_part(context, tag, kept);
                return Ok(None);
            }
            TaskOutcome::Answer(told) => return self.receive_answer(context, told).map(Some),
            TaskOutcome::Act(action) => act(context, self.code_send(answer).as_ref(), reach, *action)?,
            TaskOutcome::Stage { tree, make } => {
                let value = act(context, self.code_send(answer).as_ref(), reach, *make)?;
                let Some(id) = value.as_reference().copied() else { return Ok(Some(Value::Undefined)) };
                let work: TaskFn = Box::new(move |outside| {
                    let op = FileOp::MakeDirectory(vec![]);
                    let ground = outside.check_access(&FileCall { target: id, through: vec![], op })?;
                    let daemon = outside.daemon()?;
                    let made = HostAccess::for_new_directory(ground);
                    directories::copy_tree_into(daemon.state(), daemon.store.blobs(), &tree, &made)?;
                    Ok(TaskOutcome::Value(value))
                });
                // No formula names the tree, so its blobs are held until all of it is copied.
                let task = WorkerTask { answer, reach: reach.clone(), work, bytes: 0, hold: hold.cloned() };
                return apply_task(context, task);
            }
        };
        self.make_live(context, &convert::to_live(&value), reach).map(Some)
    }
}

fn apply_task(context: &Context<'_>, task: WorkerTask) -> Result<Option<Value<Ref>>, CallError> {
    match context.run_later(task) {
        true => Ok(None),
        false => Err(CallError::Plain("too many calls wait for files here".to_owned())),
    }
}

/// Returns the directory or tree of a call on files, with the grants through which it was reached.
fn files_object(reach: &Object, call: &FileCall) -> Object {
    let through = reach.through.iter().chain(&call.through).filter(|grant| **grant != call.target);
    Object { id: call.target, agent: reach.agent, through: through.copied().collect() }
}

//! Calls on files: on directories and trees, and on the parts that were looked up in them.

use std::sync::Arc;

use kernel::FormulaId;
use kernel::facet::{self, BindDirectory, FileCall, FileOp, KeepTree, MakeModules, ModulesIn, StageTree};
use kernel::formula::{Formula, Tree};
use kernel::run::Origin;
use passable::Value;
use store::Hold;
use switchboard::{Outcome, Ref};

use super::convert;
use super::file_worker::{Came, Outside, Task, Work};
use super::iterators::Feed;
use super::object::{Object, Part, Thing};
use super::perform::{Trouble, act};
use super::table::{Context, Home};
use crate::files::directories;
use crate::files::directories::{Hand, Spot};
use crate::files::guest_files;
use crate::files::guest_files::{Own, Reached};
use crate::files::module_archives;
use control::exit::{Exit, Failure};

/// Returns the part that is all of a directory or tree.
fn whole(root: Object) -> Part {
    Part { root, taken: None, place: vec![], kind: facet::Part::Directory, read_only: false }
}

/// The operation of a call on files, its caller, and the send of code that made it.
struct Doing {
    op: FileOp,
    bytes: Option<Vec<u8>>,
    by: FormulaId,
    origin: Option<Origin>,
}

/// Carries out a call on files, if it is still allowed.
fn carry_out(outside: &Outside, part: &Part, doing: Doing) -> Result<guest_files::Outcome, Failure> {
    let Doing { op, bytes, by, origin } = doing;
    let spot = Spot { place: part.place.clone(), kind: part.kind, read_only: part.read_only };
    let call = FileCall { target: part.root.id, through: part.root.through.clone(), op };
    // Calls on this machine's files stand in a journal. The other calls here do not, so their use of grants is noted.
    let note = |refused| {
        let daemon = &outside.daemon()?;
        daemon.note_use(&call.target, &call.through, by, call.op.method(), refused)
    };
    let ground = match outside.ground(&call) {
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
    // The daemon may end while a disk is asked.
    let daemon = outside.daemon()?;
    let reached = Reached::of(&daemon, &call, ground, part.root.agent)?;
    if let Some(tree) = tree {
        note(false)?;
        let gates = reached.gates(&daemon)?;
        let came = directories::in_tree(daemon.store.blobs(), &tree, &spot, call.op, gates.as_ref())?;
        return Ok(guest_files::Outcome::Came(came));
    }
    let (op, bytes) = (call.op, bytes.as_deref());
    match &reached {
        Reached::Own(own) => {
            let hand = Hand::Own(own);
            let came = directories::carry_out(daemon.state(), outside, hand, &spot, op, bytes, &|_| Ok(()))?;
            Ok(guest_files::Outcome::Came(came))
        }
        Reached::Handed(what) => guest_files::make(
            &daemon,
            outside,
            &guest_files::Call { handed: what, spot: &spot, op, bytes, origin },
        ),
    }
}

/// Returns the tree that a snapshot comes to.
fn snapshot(outside: &Outside, part: &Part, by: FormulaId) -> Result<Tree, Failure> {
    match carry_out(outside, part, Doing { op: FileOp::Snapshot, bytes: None, by, origin: None })? {
        guest_files::Outcome::Came(directories::Came::Tree(tree)) => Ok(tree),
        _ => Err(Failure::new(control::exit::Exit::Failure, "it is no tree")),
    }
}

/// Returns the result of a call on files in the form that the client gets.
fn shown(part: &Part, came: directories::Came) -> Came {
    match came {
        directories::Came::Value(value) => Came::Value(value),
        directories::Came::Bytes(bytes) => Came::Bytes(bytes),
        directories::Came::Part { place, kind, read_only } => {
            Came::Part(Part { place, kind, read_only, ..part.clone() })
        }
        directories::Came::Tree(tree) => Came::Part(Part {
            taken: Some(tree),
            place: vec![],
            kind: facet::Part::Tree,
            read_only: true,
            ..part.clone()
        }),
    }
}

/// Returns the work of a task that carries out a call on files.
fn work(part: Part, doing: Doing) -> Work {
    Box::new(move |outside| {
        Ok(match carry_out(outside, &part, doing)? {
            guest_files::Outcome::Came(came) => shown(&part, came),
            guest_files::Outcome::Waits(asked, came) => Came::Waits(asked, Box::new(shown(&part, came))),
        })
    })
}

impl Home {
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
    ) -> Result<Option<Value<Ref>>, Trouble> {
        // The call sees the effects of the calls before it.
        self.settle(context);
        let told = args.iter().map(|value| self.tell(value)).collect::<Vec<_>>();
        let op = match facet::part(part.kind, method, &told)? {
            Ok(op) => op,
            Err(value) => return self.hand_over(context, &convert::live(&value), &part.root).map(Some),
        };
        if let FileOp::WriteBytes(_) = op {
            let own =
                args.first().and_then(Value::as_reference).filter(|given| self.thing(**given).is_none());
            let Some(reader) = own.copied() else {
                return Err(Trouble::Plain("the reader must be an object of the caller's".to_owned()));
            };
            self.upload_file(context, reader, part.clone(), op, answer)?;
            return Ok(None);
        }
        let doing = self.doing(&part.root, op, None, answer);
        self.later(context, answer, part.root.clone(), work(part.clone(), doing))
    }

    /// Begins a call on a directory or tree.
    pub(crate) fn begin_files(
        &mut self,
        context: &Context<'_>,
        reach: &Object,
        call: FileCall,
        answer: Ref,
    ) -> Result<(), Trouble> {
        let root = found(reach, &call);
        let doing = self.doing(&root, call.op, None, answer);
        self.later(context, answer, root.clone(), work(whole(root), doing)).map(drop)
    }

    /// Writes bytes that have come.
    pub(crate) fn write_file(
        &mut self,
        context: &Context<'_>,
        part: Part,
        op: FileOp,
        bytes: Vec<u8>,
        answer: Ref,
    ) -> Result<(), Trouble> {
        let count = bytes.len();
        let doing = self.doing(&part.root, op, Some(bytes), answer);
        self.later_with(context, answer, part.root.clone(), work(part, doing), count).map(drop)
    }

    /// Looks for a directory of this machine, and binds it.
    pub(crate) fn bind_directory(
        &mut self,
        context: &Context<'_>,
        reach: &Object,
        bind: BindDirectory,
        answer: Ref,
    ) -> Result<(), Trouble> {
        let work: Work = Box::new(move |outside| {
            let path = directories::look_for(&outside.daemon()?.own, &bind.path)?;
            Ok(Came::Act(Box::new(bind.with(path))))
        });
        self.later(context, answer, reach.clone(), work).map(drop)
    }

    /// Keeps the present content of a directory, or a tree, as a tree with a name.
    pub(crate) fn keep_tree(
        &mut self,
        context: &Context<'_>,
        reach: &Object,
        keep: KeepTree,
        given: Option<Ref>,
        answer: Ref,
    ) -> Result<(), Trouble> {
        let part = match given.and_then(|given| self.thing(given)) {
            Some(Thing::Object(object)) => whole(object.clone()),
            Some(Thing::Part(part)) => Part::clone(part),
            _ => {
                let Some(own) = given else {
                    return Err(Trouble::Plain(
                        "a tree is an object that has `list` and `lookup`".to_owned(),
                    ));
                };
                return self.gather(context, own, keep, reach.clone(), answer);
            }
        };
        let by = self.by(&part.root);
        let work: Work =
            Box::new(move |outside| Ok(Came::Act(Box::new(keep.with(snapshot(outside, &part, by)?)))));
        self.later(context, answer, reach.clone(), work).map(drop)
    }

    /// Copies a tree to a new directory.
    pub(crate) fn stage_tree(
        &mut self,
        context: &Context<'_>,
        reach: &Object,
        stage: StageTree,
        answer: Ref,
    ) -> Result<(), Trouble> {
        let (part, by) = (whole(found(reach, &stage.from)), self.by(reach));
        let work: Work = Box::new(move |outside| {
            Ok(Came::Stage { tree: snapshot(outside, &part, by)?, make: Box::new(stage.make) })
        });
        self.later(context, answer, reach.clone(), work).map(drop)
    }

    /// Unpacks the modules of a program, and makes code of them.
    pub(crate) fn make_modules(
        &mut self,
        context: &Context<'_>,
        reach: &Object,
        make: MakeModules,
        answer: Ref,
    ) -> Result<(), Trouble> {
        let files = match &make.origin {
            ModulesIn::Files(call) => Some(whole(found(reach, call))),
            ModulesIn::Bytes(_) | ModulesIn::Value(_) => None,
        };
        let by = self.by(reach);
        let work: Work = Box::new(move |outside| {
            let daemon = outside.daemon()?;
            let blobs = daemon.store.blobs();
            let unpacked = match (&make.origin, &files) {
                (_, Some(part)) => module_archives::of_tree(blobs, &snapshot(outside, part, by)?)?,
                (ModulesIn::Bytes(hash), None) => module_archives::of_bytes(blobs, hash, make.packed)?,
                (ModulesIn::Value(value), None) => module_archives::bundled(value)?,
                (ModulesIn::Files(_), None) => return Err(Failure::new(Exit::Failure, "it is no tree")),
            };
            let kept = module_archives::keep(outside, make.packed, make.env.clone(), &unpacked)?;
            Ok(Came::Act(Box::new(make.with(kept))))
        });
        self.later(context, answer, reach.clone(), work).map(drop)
    }

    /// Returns the operation of a call on files, with its caller and the send that made it.
    fn doing(&mut self, root: &Object, op: FileOp, bytes: Option<Vec<u8>>, answer: Ref) -> Doing {
        Doing { op, bytes, by: self.by(root), origin: self.origins.remove(&answer) }
    }

    fn later(
        &mut self,
        context: &Context<'_>,
        answer: Ref,
        reach: Object,
        work: Work,
    ) -> Result<Option<Value<Ref>>, Trouble> {
        self.later_with(context, answer, reach, work, 0)
    }

    fn later_with(
        &mut self,
        context: &Context<'_>,
        answer: Ref,
        reach: Object,
        work: Work,
        bytes: usize,
    ) -> Result<Option<Value<Ref>>, Trouble> {
        if self.waits_too_long() {
            return Err(Trouble::Plain("too many calls wait for a person here".to_owned()));
        }
        begin(context, Task { answer, reach, work, bytes, hold: None })
    }

    /// Answers a call with the outcome of its task.
    pub fn came(
        &mut self,
        context: &Context<'_>,
        reach: Object,
        answer: Ref,
        came: Result<Came, Failure>,
        hold: Option<&Arc<Hold>>,
    ) {
        let outcome = match self.try_came(context, &reach, answer, came, hold) {
            Ok(None) => return,
            Ok(Some(value)) => Ok(value),
            Err(trouble) => {
                self.give_up(context, answer);
                Err(trouble.to_value())
            }
        };
        self.origins.remove(&answer);
        context.board().resolve(self.side, answer, outcome);
    }

    fn try_came(
        &mut self,
        context: &Context<'_>,
        reach: &Object,
        answer: Ref,
        came: Result<Came, Failure>,
        hold: Option<&Arc<Hold>>,
    ) -> Result<Option<Value<Ref>>, Trouble> {
        let value = match came? {
            Came::Value(value) => value,
            Came::Part(part) => return Ok(Some(self.part(&mut context.board(), part)?)),
            Came::Bytes(bytes) => {
                return Ok(Some(self.iterator(&mut context.board(), Feed::bytes(bytes))?));
            }
            Came::Waits(asked, came) => {
                self.wait_for(asked, reach.clone(), answer, *came);
                // The call may be over already. No later event would tell of that.
                self.look_at_asked(context);
                return Ok(None);
            }
            Came::Kept(tag, kept) => {
                self.kept(context, tag, kept);
                return Ok(None);
            }
            Came::Told(told) => return self.told(context, told).map(Some),
            Came::Act(action) => act(context, self.behalf(answer).as_ref(), reach, *action)?,
            Came::Stage { tree, make } => {
                let value = act(context, self.behalf(answer).as_ref(), reach, *make)?;
                let Some(id) = value.as_reference().copied() else { return Ok(Some(Value::Undefined)) };
                let work: Work = Box::new(move |outside| {
                    let op = FileOp::MakeDirectory(vec![]);
                    let ground = outside.ground(&FileCall { target: id, through: vec![], op })?;
                    let daemon = outside.daemon()?;
                    let made = Own::just_made(ground);
                    directories::stage(daemon.state(), daemon.store.blobs(), &tree, &made)?;
                    Ok(Came::Value(value))
                });
                // No formula names the tree, so it is held until all of it is copied.
                let task = Task { answer, reach: reach.clone(), work, bytes: 0, hold: hold.cloned() };
                return begin(context, task);
            }
        };
        self.hand_over(context, &convert::live(&value), reach).map(Some)
    }
}

fn begin(context: &Context<'_>, task: Task) -> Result<Option<Value<Ref>>, Trouble> {
    match context.later(task) {
        true => Ok(None),
        false => Err(Trouble::Plain("too many calls wait for files here".to_owned())),
    }
}

/// Returns the directory or tree that has the files, as it was reached.
fn found(reach: &Object, call: &FileCall) -> Object {
    let through = reach.through.iter().chain(&call.through).filter(|grant| **grant != call.target);
    Object { id: call.target, agent: reach.agent, through: through.copied().collect() }
}

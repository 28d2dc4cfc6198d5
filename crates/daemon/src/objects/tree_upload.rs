//! Trees that a client hands over: its own objects are asked for their names, and for the bytes of each file.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use caps::mount::MOST_BYTES;
use kernel::facet::KeepTree;
use passable::{Text, Value, from_base64};
use store::Hold;
use switchboard::{Call, Name, Outcome, Ref};

use super::file_worker::{Came, Outside, PATIENCE, Task, Work, lapsed};
use super::object::Kept;
use super::object::Object;
use super::perform::Trouble;
use super::table::{Context, Home};
use crate::files::trees;
use crate::files::trees::{DEEPEST, Entry, MOST_ENTRIES, Shelf as _};

/// How many trees one client may hand over at a time.
const MOST: usize = 4;

/// A tree that is coming.
pub struct Gather {
    keep: KeepTree,
    reach: Object,
    /// Settles when all is there.
    answer: Ref,
    /// The directories on the path to the next entry, the root first.
    levels: Vec<Level>,
    doing: Doing,
    /// The promise for the last question to the client.
    asked: Option<Ref>,
    /// How many files and directories may still come.
    left: usize,
    /// The hold on received bytes until all of the tree is named.
    hold: Arc<Hold>,
    /// When something came last.
    moved: Instant,
}

/// A directory that is coming.
struct Level {
    directory: Ref,
    /// The names that have not come, the next one last.
    names: Vec<String>,
    done: Vec<Entry>,
}

/// The last question to the client's tree.
enum Doing {
    /// The names in the directory.
    Listing,
    /// The object that has the next name.
    Looking,
    /// The methods of that object.
    Asking(Ref),
    /// Its bytes.
    Opening(Ref),
    /// The next of them.
    Reading { file: Ref, reader: Ref, bytes: Vec<u8> },
    /// Nothing: something is being kept.
    Keeping,
}

fn wrong(what: &str) -> Trouble {
    Trouble::Plain(what.to_owned())
}

/// Returns the names of files or methods.
fn texts(value: &Value<Ref>) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}

impl Gather {
    fn level(&mut self) -> Result<&mut Level, Trouble> {
        self.levels.last_mut().ok_or_else(|| wrong("the tree is over"))
    }
}

impl Home {
    /// Begins to take a tree of the client's.
    pub(crate) fn gather(
        &mut self,
        context: &Context<'_>,
        directory: Ref,
        keep: KeepTree,
        reach: Object,
        answer: Ref,
    ) -> Result<(), Trouble> {
        if self.gathers.len() >= MOST {
            return Err(wrong("too many trees are coming at a time"));
        }
        context.board().hold(self.side, directory)?;
        self.last_upload += 1;
        let tag = self.last_upload;
        let mut gather = Gather {
            keep,
            reach,
            answer,
            levels: vec![Level { directory, names: vec![], done: vec![] }],
            doing: Doing::Listing,
            asked: None,
            left: MOST_ENTRIES,
            hold: Arc::new(context.daemon.store.blobs().hold_within(PATIENCE)),
            moved: Instant::now(),
        };
        let begun = self.ask_for(context, tag, &mut gather, directory, "list", vec![]);
        self.go_on(context, tag, gather, begun);
        Ok(())
    }

    /// Takes the answer of a client's tree to the last question.
    pub fn gathered(&mut self, context: &Context<'_>, tag: u64, outcome: Outcome) {
        let Some(mut gather) = self.gathers.remove(&tag) else { return };
        gather.moved = Instant::now();
        let done = match outcome {
            _ if !gather.hold.moves() => Err(lapsed().into()),
            Ok(value) => self.take_part(context, tag, &mut gather, &value),
            Err(error) => Err(Trouble::Value(error)),
        };
        self.go_on(context, tag, gather, done);
    }

    /// Notes that a part of a client's tree was kept.
    pub(crate) fn kept(&mut self, context: &Context<'_>, tag: u64, kept: Kept) {
        let Some(mut gather) = self.gathers.remove(&tag) else { return };
        gather.moved = Instant::now();
        let done = self.note(context, tag, &mut gather, kept);
        self.go_on(context, tag, gather, done);
    }

    /// Gives up the tree that would have settled this answer.
    pub(crate) fn give_up(&mut self, context: &Context<'_>, answer: Ref) {
        let tag = self.gathers.iter().find(|(_, gather)| gather.answer == answer).map(|(tag, _)| *tag);
        if let Some(gather) = tag.and_then(|tag| self.gathers.remove(&tag)) {
            self.let_all_go(context, gather);
        }
    }

    /// Gives up trees for which nothing has arrived within the timeout.
    pub(crate) fn give_up_late(&mut self, context: &Context<'_>, patience: Duration) {
        let is_late = |gather: &Gather| {
            // A slow disk is not the client's fault. The task that uses the disk checks for that itself.
            gather.moved.elapsed() >= patience && !matches!(gather.doing, Doing::Keeping)
        };
        let late: Vec<u64> =
            self.gathers.iter().filter(|(_, gather)| is_late(gather)).map(|(tag, _)| *tag).collect();
        for tag in late {
            if let Some(gather) = self.gathers.remove(&tag) {
                self.go_on(context, tag, gather, Err(lapsed().into()));
            }
        }
    }

    fn go_on(&mut self, context: &Context<'_>, tag: u64, gather: Gather, done: Result<(), Trouble>) {
        match done {
            Ok(()) if !gather.levels.is_empty() => drop(self.gathers.insert(tag, gather)),
            Ok(()) => self.let_all_go(context, gather),
            Err(trouble) => {
                context.board().resolve(self.side, gather.answer, Err(trouble.to_value()));
                self.let_all_go(context, gather);
            }
        }
    }

    fn let_all_go(&self, context: &Context<'_>, gather: Gather) {
        let mut held: Vec<Ref> = gather.levels.iter().map(|level| level.directory).collect();
        held.extend(gather.asked);
        match gather.doing {
            Doing::Asking(each) | Doing::Opening(each) => held.push(each),
            Doing::Reading { file, reader, .. } => held.extend([file, reader]),
            Doing::Listing | Doing::Looking | Doing::Keeping => {}
        }
        let mut board = context.board();
        held.into_iter().for_each(|each| board.release(self.side, each));
    }

    fn ask_for(
        &self,
        context: &Context<'_>,
        tag: u64,
        gather: &mut Gather,
        of: Ref,
        method: &str,
        args: Vec<Value<Ref>>,
    ) -> Result<(), Trouble> {
        let mut board = context.board();
        let asked = board.send(self.side, of, Call::Method(Name::Text(Text::from(method)), args))?;
        board.watch(self.side, asked, tag);
        if let Some(before) = gather.asked.replace(asked) {
            board.release(self.side, before);
        }
        Ok(())
    }

    /// Returns something that was given, which is kept for a while.
    fn given(&self, context: &Context<'_>, value: &Value<Ref>, what: &str) -> Result<Ref, Trouble> {
        let given = *value.as_reference().ok_or_else(|| wrong(what))?;
        context.board().hold(self.side, given)?;
        Ok(given)
    }

    fn take_part(
        &mut self,
        context: &Context<'_>,
        tag: u64,
        gather: &mut Gather,
        value: &Value<Ref>,
    ) -> Result<(), Trouble> {
        match std::mem::replace(&mut gather.doing, Doing::Keeping) {
            Doing::Listing => {
                let mut names = texts(value).ok_or_else(|| wrong("a tree must list names"))?;
                let is_bad = |name: &&String| {
                    matches!(name.as_str(), "" | "." | "..") || name.contains(['/', '\0']) || name.len() > 255
                };
                if let Some(bad) = names.iter().find(is_bad) {
                    let shown: String = bad.chars().take(100).collect();
                    return Err(Trouble::Plain(format!("Invalid name {shown:?}")));
                }
                let different: BTreeSet<&String> = names.iter().collect();
                if different.len() < names.len() {
                    return Err(wrong("a tree must have different names"));
                }
                let left = gather.left.checked_sub(names.len());
                gather.left = left.ok_or_else(|| wrong("the tree has too many files and directories"))?;
                names.reverse();
                gather.level()?.names = names;
                self.next_name(context, tag, gather)
            }
            Doing::Looking => {
                let found = self.given(context, value, "a tree must have objects under its names")?;
                gather.doing = Doing::Asking(found);
                self.ask_for(context, tag, gather, found, "__getMethodNames__", vec![])
            }
            Doing::Asking(found) => {
                let methods = texts(value).unwrap_or_default();
                let can = |method: &str| methods.iter().any(|known| known == method);
                if can("list") {
                    gather.levels.push(Level { directory: found, names: vec![], done: vec![] });
                    if gather.levels.len() > DEEPEST {
                        return Err(wrong("the tree is too deep"));
                    }
                    gather.doing = Doing::Listing;
                    self.ask_for(context, tag, gather, found, "list", vec![])
                } else {
                    gather.doing = Doing::Opening(found);
                    if !can("streamBase64") {
                        return Err(wrong("what is in a tree must have `list` or `streamBase64`"));
                    }
                    self.ask_for(context, tag, gather, found, "streamBase64", vec![])
                }
            }
            Doing::Opening(file) => {
                gather.doing = Doing::Opening(file);
                let reader = self.given(context, value, "`streamBase64` must give a reader")?;
                gather.doing = Doing::Reading { file, reader, bytes: vec![] };
                self.ask_for(context, tag, gather, reader, "next", vec![])
            }
            Doing::Reading { file, reader, mut bytes } => {
                let is_over = value.get("done").and_then(Value::as_bool) == Some(true);
                let piece = match is_over {
                    true => Ok(vec![]),
                    false => {
                        let text = value.get("value").and_then(Value::as_str);
                        text.and_then(|text| from_base64(text).ok())
                            .ok_or_else(|| wrong("a reader must give text in Base64"))
                    }
                };
                bytes.extend(piece.as_deref().unwrap_or_default());
                let fits = bytes.len() as u64 <= MOST_BYTES;
                if is_over {
                    let mut board = context.board();
                    board.release(self.side, reader);
                    board.release(self.side, file);
                    drop(board);
                    return self.keep_later(
                        context,
                        gather,
                        Box::new(move |outside: &Outside| {
                            let (hash, sha256) = (outside.put(&bytes)?, trees::sha256(&bytes));
                            let kept = Kept::File { hash, bytes: bytes.len() as u64, sha256 };
                            Ok(Came::Kept(tag, kept))
                        }),
                    );
                }
                gather.doing = Doing::Reading { file, reader, bytes };
                piece?;
                if !fits {
                    return Err(wrong("a file of a tree can have 64 MiB"));
                }
                self.ask_for(context, tag, gather, reader, "next", vec![])
            }
            Doing::Keeping => Ok(()),
        }
    }

    /// Asks for the object that has the next name. If no name is left, keeps the complete directory.
    fn next_name(&mut self, context: &Context<'_>, tag: u64, gather: &mut Gather) -> Result<(), Trouble> {
        let level = gather.level()?;
        match level.names.last().cloned() {
            Some(name) => {
                let directory = level.directory;
                gather.doing = Doing::Looking;
                self.ask_for(context, tag, gather, directory, "lookup", vec![Value::string(name)])
            }
            None => {
                let entries = std::mem::take(&mut level.done);
                let work: Work = Box::new(move |outside: &Outside| {
                    Ok(Came::Kept(tag, Kept::Tree(trees::keep(outside, entries)?)))
                });
                self.keep_later(context, gather, work)
            }
        }
    }

    fn keep_later(&self, context: &Context<'_>, gather: &mut Gather, work: Work) -> Result<(), Trouble> {
        gather.doing = Doing::Keeping;
        // The last of them names all that came, when the gathering is over.
        let hold = Some(Arc::clone(&gather.hold));
        let task = Task { answer: gather.answer, reach: gather.reach.clone(), work, bytes: 0, hold };
        match context.later(task) {
            true => Ok(()),
            false => Err(wrong("too many calls wait for files here")),
        }
    }

    fn note(
        &mut self,
        context: &Context<'_>,
        tag: u64,
        gather: &mut Gather,
        kept: Kept,
    ) -> Result<(), Trouble> {
        let (is_tree, hash, bytes, sha256) = match kept {
            Kept::File { hash, bytes, sha256 } => (false, hash, bytes, sha256),
            Kept::Tree(tree) => {
                if let Some(level) = gather.levels.pop() {
                    context.board().release(self.side, level.directory);
                }
                if gather.levels.is_empty() {
                    let action = gather.keep.clone().with(tree);
                    let work: Work = Box::new(move |_| Ok(Came::Act(Box::new(action))));
                    return self.keep_later(context, gather, work);
                }
                (true, tree.hash, 0, tree.sha256)
            }
        };
        let level = gather.level()?;
        let name = level.names.pop().unwrap_or_default();
        level.done.push(Entry { name, is_tree, hash, bytes, sha256 });
        self.next_name(context, tag, gather)
    }
}

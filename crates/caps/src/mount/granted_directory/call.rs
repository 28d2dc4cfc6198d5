//! The parsed calls of a granted directory.

use kernel::id::BlobHash;
use kernel::proposal::{Finding, Value};
use passable::{quoting, visible_line};

/// The names of a path, relative to the place in which a call is made.
type Way = Vec<String>;

/// A parsed call, with the place in which it is made.
#[derive(Debug, PartialEq)]
pub(super) struct Call<'a> {
    /// The names of the path from the root to the place in which the call is made.
    pub(super) within: Way,
    /// The operation in that place.
    pub(super) op: Op<'a>,
}

/// The operation of a call.
#[derive(Debug, PartialEq)]
pub(super) enum Op<'a> {
    /// An operation that changes nothing.
    Look,
    Write {
        way: Way,
        content: &'a str,
    },
    Put {
        way: Way,
        digest: BlobHash,
        bytes: u64,
    },
    Append {
        way: Way,
        content: &'a str,
    },
    Remove {
        way: Way,
    },
    MakeDirectory {
        way: Way,
    },
    Move {
        from: Way,
        to: Way,
    },
}

impl Op<'_> {
    /// Returns the paths whose present state the operation depends on and changes.
    pub(super) fn ways(&self) -> Vec<&Way> {
        match self {
            Op::Look | Op::MakeDirectory { .. } => vec![],
            Op::Write { way, .. } | Op::Put { way, .. } | Op::Append { way, .. } | Op::Remove { way } => {
                vec![way]
            }
            Op::Move { from, to } => vec![from, to],
        }
    }
}

impl<'a> Call<'a> {
    /// Parses the arguments of a call.
    ///
    /// # Errors
    /// When these are not the arguments of the method.
    pub(super) fn parse(method: &str, args: &'a [Value]) -> Result<Call<'a>, Finding> {
        let own = match method {
            "put" => 3,
            "write" | "append" | "move" => 2,
            _ => 1,
        };
        let within = match args.get(own) {
            None | Some(Value::Undefined) => vec![],
            Some(within) => names(within.as_str().ok_or_else(|| mismatch(method))?),
        };
        let text = |at: usize| args.get(at).and_then(Value::as_str).ok_or_else(|| mismatch(method));
        let way = |at: usize| -> Result<Way, Finding> {
            let all = names(text(at)?);
            let way = all.strip_prefix(&within[..]).map(<[String]>::to_vec);
            way.ok_or_else(|| mismatch(method))
        };
        if args.len() < own {
            return Err(mismatch(method));
        }
        let op = match method {
            "has" | "list" | "lookup" | "read" | "snapshot" => {
                way(0)?;
                Op::Look
            }
            "write" => Op::Write { way: way(0)?, content: text(1)? },
            "append" => Op::Append { way: way(0)?, content: text(1)? },
            "put" => {
                let bytes = args.get(2).and_then(Value::as_f64).filter(|bytes| *bytes >= 0.0);
                let digest = text(1)?.parse().map_err(|_| mismatch(method))?;
                Op::Put { way: way(0)?, digest, bytes: bytes.ok_or_else(|| mismatch(method))? as u64 }
            }
            "remove" => Op::Remove { way: way(0)? },
            "makeDirectory" => Op::MakeDirectory { way: way(0)? },
            "move" => Op::Move { from: way(0)?, to: way(1)? },
            _ => return Err(mismatch(method)),
        };
        Ok(Call { within, op })
    }

    /// Returns the path from the root for a path that is relative to the place of the call.
    pub(super) fn path(&self, way: &[String]) -> String {
        self.within.iter().chain(way).map(String::as_str).collect::<Vec<_>>().join("/")
    }
}

fn names(path: &str) -> Way {
    path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn mismatch(method: &str) -> Finding {
    Finding::new("mount/arguments", quoting!("these are not the arguments of `{}`", visible_line(method)))
        .at("method")
        .counter_example(visible_line(method))
}

//! The formulas behind identifiers and their references, for inspectors of a store.

use std::collections::{BTreeMap, VecDeque};

use kernel::{BlobHash, FormulaId, GrantNumber, MessageNumber, RunNumber, StepRef};
use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::view::{GrantRow, ObjectView};

/// A formula in short, as an agent knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormulaSummary {
    /// The formula.
    pub id: FormulaId,
    /// The agent's own name for it or for its target, or a path of its names to it, if it has one.
    pub name: Option<String>,
    /// The type of its target.
    pub kind: String,
    /// Its description.
    pub words: Untrusted,
    /// If it is a grant: which.
    pub grant: Option<GrantRow>,
    /// If it is a message in the agent's mailbox: which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageNumber>,
    /// If it is a run: which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunNumber>,
    /// Its target, behind all grants.
    pub target: FormulaId,
    /// Whether it has files that cannot be changed through it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

impl FormulaSummary {
    /// Returns its label if it has no name: the number of a message or a run.
    pub fn number_label(&self) -> Option<String> {
        let message = self.message.map(|number| format!("message {number}"));
        message.or_else(|| self.run.map(|run| format!("run {run}")))
    }
}

/// A reference between formulas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// The part that it plays in the formula that refers.
    pub label: String,
    /// The formula at the other end.
    pub other: FormulaSummary,
}

/// A formula with its references, and with the formulas that refer to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormulaView {
    /// Its content.
    pub thing: ObjectView,
    /// The formula in short.
    pub called: FormulaSummary,
    /// Its references.
    pub refers_to: Vec<Reference>,
    /// The formulas that refer to it; a name appears as a directory with a part `name x`.
    pub referred_by: Vec<Reference>,
    /// Whether more refers to it than is told.
    pub is_more: bool,
    /// The grants of it that the agent gave.
    pub grants: Vec<GrantRow>,
    /// For an object that code has made with a guard: that guard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<kernel::Value>,
}

/// A grant with its usage, and with the grants that end when it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrantView {
    /// The grant.
    pub row: GrantRow,
    /// Its target, as the agent knows it.
    pub target: FormulaSummary,
    /// The runs that use it, or a grant that was made of it.
    pub runs: Vec<RunNumber>,
    /// The grants that were made of it: they end when it ends.
    pub falls: Vec<GrantRow>,
    /// How many calls were made or tried through it or a grant that was made of it.
    pub calls: u64,
    /// The last of them, the newest first.
    pub last: Vec<Use>,
    /// The code that holds it or a grant that was made of it. The journal of that code has the messages that it sent
    /// and received.
    #[serde(default)]
    pub code: Vec<CodeHolder>,
    /// The digest of the text that its holder runs, if that is a worker or code: the one by which a proposal shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<BlobHash>,
}

/// Code that holds a grant, or held it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeHolder {
    /// The code.
    pub id: FormulaId,
    /// Whether its journal can still be read: it goes with the code.
    pub has_journal: bool,
}

/// A call through a grant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Use {
    /// The step that proposed it; `None` if it stands in no journal of a run.
    pub at: Option<StepRef>,
    /// The code or the agent that called, if no run did.
    #[serde(default)]
    pub by: Option<FormulaId>,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// The method, in the caller's words.
    pub method: Untrusted,
    /// The beginning of its arguments, such as the file; `None` if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<Untrusted>,
    /// The outcome, as text.
    pub outcome: String,
}

/// Part of a store as a graph: the formulas that an agent's names, grants and open runs lead to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// The formulas. The first is where it begins.
    pub nodes: Vec<Node>,
    /// The links between them.
    pub links: Vec<Link>,
    /// The holders of both a secret or private data and a way out of this machine.
    pub risks: Vec<Risk>,
    /// The number of further risks among the formulas that are not drawn.
    #[serde(default)]
    pub more_risks: usize,
    /// How many formulas were left out because there are too many.
    pub left_out: usize,
}

/// A formula in a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// The formula.
    pub id: FormulaId,
    /// Its type.
    pub kind: String,
    /// The agent's own name for it, if it has one.
    pub name: Option<String>,
    /// Its description.
    pub words: Untrusted,
    /// The run, if it is one.
    pub run: Option<RunNumber>,
    /// Whether it is a secret.
    pub is_secret: bool,
    /// Whether text that is sent to it reaches somebody outside this machine.
    pub is_outlet: bool,
    /// The number of formulas that this node stands for. They are not drawn, and the formula with its identifier
    /// leads to them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub more: usize,
}

fn is_none(more: &usize) -> bool {
    *more == 0
}

/// How one formula leads to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// It has a name for it.
    Names,
    /// It may use it, by a grant.
    Holds,
    /// It was made of it.
    MadeOf,
}

/// A link from one formula to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// From which node.
    pub from: usize,
    /// To which.
    pub to: usize,
    /// How.
    pub how: LinkKind,
    /// The name, the slot, or the part.
    pub label: String,
    /// The grant, if it is one of the agent's.
    pub grant: Option<GrantNumber>,
    /// The restrictions of the grant, as text.
    pub limits: Vec<String>,
    /// Whether the data that is read through it is private.
    pub is_private: bool,
}

/// A holder of both a secret or private data and a way out of this machine. It has them itself, or can ask others who
/// do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Risk {
    /// Which node.
    pub holder: usize,
    /// The ways to secrets or private data, each as the links on it, from the holder on.
    pub secrets: Vec<Vec<usize>>,
    /// The same for ways out.
    pub outlets: Vec<Vec<usize>>,
}

impl Graph {
    /// Returns the holders that reach both a secret or private data and a way out. A holder uses its own grants and
    /// those of the holders behind them. A holder that does so only by asking one other such holder is not listed.
    pub fn find_risks(&self) -> Vec<Risk> {
        let mut held: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, link) in self.links.iter().enumerate().filter(|(_, link)| link.how == LinkKind::Holds) {
            held.entry(link.from).or_default().push(at);
        }
        // A host controls all ways out anyway.
        let is_host = |at: &usize| self.nodes.get(*at).is_none_or(|node| node.kind == "host");
        let risks = held.keys().filter(|holder| !is_host(holder)).map(|holder| self.risk(*holder, &held));
        risks
            .filter(|risk| !risk.secrets.is_empty() && !risk.outlets.is_empty() && !risk.is_anothers())
            .collect()
    }

    fn risk(&self, holder: usize, held: &BTreeMap<usize, Vec<usize>>) -> Risk {
        let mut risk = Risk { holder, secrets: vec![], outlets: vec![] };
        let mut ways: BTreeMap<usize, Vec<usize>> = BTreeMap::from([(holder, vec![])]);
        let mut queue = VecDeque::from([holder]);
        while let Some(from) = queue.pop_front() {
            for at in held.get(&from).into_iter().flatten() {
                let Some((link, node)) =
                    self.links.get(*at).and_then(|link| Some((link, self.nodes.get(link.to)?)))
                else {
                    continue;
                };
                let way: Vec<usize> = ways.get(&from).into_iter().flatten().chain([at]).copied().collect();
                if link.is_private || node.is_secret {
                    risk.secrets.push(way.clone());
                }
                if node.is_outlet {
                    risk.outlets.push(way.clone());
                }
                ways.entry(link.to).or_insert_with(|| {
                    queue.push_back(link.to);
                    way
                });
            }
        }
        risk
    }
}

impl Risk {
    /// Returns whether all of its ways lead through one other holder.
    fn is_anothers(&self) -> bool {
        let mut ways = self.secrets.iter().chain(&self.outlets);
        let first = ways.next().and_then(|way| way.first());
        self.secrets.iter().chain(&self.outlets).all(|way| way.len() > 1 && way.first() == first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holder_of_secret_and_outlet_is_reported_as_risk() {
        let node = |kind: &str, is_secret, is_outlet| Node {
            id: FormulaId { number: [0; 32], node: [0; 32] },
            kind: kind.to_owned(),
            name: None,
            words: Untrusted::new("x"),
            run: None,
            is_secret,
            is_outlet,
            more: 0,
        };
        let link = |from, to, how, is_private| Link {
            from,
            to,
            how,
            label: "x".to_owned(),
            grant: None,
            limits: vec![],
            is_private,
        };
        let nodes = vec![
            node("host", false, false),
            node("run", false, false),
            node("guest", false, false),
            node("secret", true, false),
            node("web", false, true),
            node("mount", false, false),
            node("worker", false, false),
        ];
        let with = |links: Vec<Link>| Graph { nodes: nodes.clone(), links, ..Graph::default() };
        let held = LinkKind::Holds;
        for (links, expected) in [
            (vec![link(1, 3, held, false), link(1, 4, held, false)], "1: [[0]] [[1]]"),
            // Private data counts like a secret.
            (vec![link(2, 5, held, true), link(2, 4, held, false)], "2: [[0]] [[1]]"),
            // Two of them, each with one half.
            (vec![link(1, 3, held, false), link(2, 4, held, false)], ""),
            // One half himself, the other through somebody whom he can ask.
            (
                vec![link(1, 5, held, true), link(1, 2, held, false), link(2, 4, held, false)],
                "1: [[0]] [[1, 2]]",
            ),
            // Both through two others.
            (
                vec![
                    link(1, 2, held, false),
                    link(1, 6, held, false),
                    link(2, 3, held, false),
                    link(6, 4, held, false),
                ],
                "1: [[0, 2]] [[1, 3]]",
            ),
            // Both through the same: that one is told of.
            (
                vec![link(1, 2, held, false), link(2, 3, held, false), link(2, 4, held, false)],
                "2: [[1]] [[2]]",
            ),
            // In a circle every holder is found.
            (
                vec![
                    link(1, 2, held, false),
                    link(2, 1, held, false),
                    link(1, 3, held, false),
                    link(2, 4, held, false),
                ],
                "1: [[2]] [[0, 3]] 2: [[1, 2]] [[3]]",
            ),
            // A name is no authority of somebody else's.
            (vec![link(1, 3, LinkKind::MadeOf, false), link(1, 4, held, false)], ""),
            // The host itself.
            (vec![link(0, 3, held, false), link(0, 4, held, false)], ""),
        ] {
            let found = with(links).find_risks();
            let told =
                found.iter().map(|risk| format!("{}: {:?} {:?}", risk.holder, risk.secrets, risk.outlets));
            assert_eq!(told.collect::<Vec<_>>().join(" "), expected);
        }
    }
}

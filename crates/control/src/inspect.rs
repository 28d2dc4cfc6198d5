//! The formulas of a store and the references between them, for inspection.

use std::collections::{BTreeMap, VecDeque};

use kernel::{BlobHash, FormulaId, GrantNumber, MessageNumber, RunNumber, StepRef};
use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::view::{GrantRow, ObjectView};

/// A short description of a formula, as an agent knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FormulaSummary {
    /// The formula.
    pub id: FormulaId,
    /// The agent's own name for the formula or its target, or a path of names that leads there.
    pub name: Option<String>,
    /// The type of the target.
    pub kind: String,
    /// The description.
    pub words: Untrusted,
    /// The grant, if the formula is one.
    pub grant: Option<GrantRow>,
    /// The number of the message in the agent's mailbox, if the formula is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageNumber>,
    /// The number of the run, if the formula is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunNumber>,
    /// The target of the formula, behind all grants.
    pub target: FormulaId,
    /// Whether the formula gives access to files, but cannot change them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

impl FormulaSummary {
    /// Returns a label for a formula without a name: the number of a message or a run.
    pub fn number_label(&self) -> Option<String> {
        let message = self.message.map(|number| format!("message {number}"));
        message.or_else(|| self.run.map(|run| format!("run {run}")))
    }
}

/// A reference between formulas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reference {
    /// The role of the reference in the formula that contains it.
    pub label: String,
    /// The formula at the other end.
    pub other: FormulaSummary,
}

/// A formula with its references, and with the formulas that refer to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FormulaView {
    /// The content of the formula.
    pub thing: ObjectView,
    /// The short description of the formula.
    pub called: FormulaSummary,
    /// The references that the formula contains.
    pub refers_to: Vec<Reference>,
    /// The formulas that refer to this one. A name appears as a directory with the label `name x`.
    pub referred_by: Vec<Reference>,
    /// Whether more formulas refer to this one than are listed.
    pub is_more: bool,
    /// The grants that the agent gave for this formula.
    pub grants: Vec<GrantRow>,
    /// The guard of the object, if code has made the object with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<kernel::Value>,
}

/// A grant with its usage, and with the grants that end with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GrantView {
    /// The grant.
    pub row: GrantRow,
    /// The target of the grant, as the agent knows it.
    pub target: FormulaSummary,
    /// The runs that use the grant, or a grant derived from it.
    pub runs: Vec<RunNumber>,
    /// The grants derived from this grant, which end when it ends.
    pub falls: Vec<GrantRow>,
    /// The number of calls made or tried through the grant or a derived grant.
    pub calls: u64,
    /// The last of these calls, newest first.
    pub last: Vec<Use>,
    /// The code that holds the grant or a derived grant. The messages that the code sent and received are in its own
    /// journal.
    #[serde(default)]
    pub code: Vec<CodeHolder>,
    /// The digest of the text that the holder runs, if the holder is a worker or code. Proposals show the same
    /// digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<BlobHash>,
}

/// Code that holds or held a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodeHolder {
    /// The formula of the code.
    pub id: FormulaId,
    /// Whether the journal of the code can still be read. It is removed together with the code.
    pub has_journal: bool,
}

/// A call through a grant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Use {
    /// The step that proposed the call, or `None` if no run's journal contains it.
    pub at: Option<StepRef>,
    /// The code or the agent that made the call, if no run did.
    #[serde(default)]
    pub by: Option<FormulaId>,
    /// The time of the call, in milliseconds since 1970.
    pub at_ms: i64,
    /// The method, in the caller's words.
    pub method: Untrusted,
    /// The beginning of the call's arguments, such as the file, or `None` if they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<Untrusted>,
    /// The outcome, as text.
    pub outcome: String,
}

/// A part of a store as a graph: the formulas that can be reached from an agent's names, grants and open runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Graph {
    /// The formulas. The first is the starting point of the graph.
    pub nodes: Vec<Node>,
    /// The links between the formulas.
    pub links: Vec<Link>,
    /// The holders of both a secret or private data and a way out of this machine.
    pub risks: Vec<Risk>,
    /// The number of further risks among the formulas that are not drawn.
    #[serde(default)]
    pub more_risks: usize,
    /// The number of formulas that were left out because the graph would be too large.
    pub left_out: usize,
}

/// A formula in a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Node {
    /// The formula.
    pub id: FormulaId,
    /// The type of the formula.
    pub kind: String,
    /// The agent's own name for the formula, if it has one.
    pub name: Option<String>,
    /// The description of the formula.
    pub words: Untrusted,
    /// The number of the run, if the formula is one.
    pub run: Option<RunNumber>,
    /// Whether the formula is a secret.
    pub is_secret: bool,
    /// Whether text that is sent to the formula reaches somebody outside this machine.
    pub is_outlet: bool,
    /// The number of formulas that this node stands for. They are not drawn, and the formula of this node leads to
    /// them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub more: usize,
}

fn is_none(more: &usize) -> bool {
    *more == 0
}

/// The kind of a link between formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// The first formula has a name for the second.
    Names,
    /// The first formula may use the second, by a grant.
    Holds,
    /// The first formula was made from the second.
    MadeOf,
}

/// A link from one formula to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Link {
    /// The index of the node at which the link begins.
    pub from: usize,
    /// The index of the node at which the link ends.
    pub to: usize,
    /// The kind of the link.
    pub how: LinkKind,
    /// The name, the slot or the role of the link.
    pub label: String,
    /// The grant, if the agent gave it.
    pub grant: Option<GrantNumber>,
    /// The restrictions of the grant, as text.
    pub limits: Vec<String>,
    /// Whether the data that is read through the link is private.
    pub is_private: bool,
}

/// A holder of both a secret or private data and a way out of this machine. The holder has access itself, or can ask
/// other holders that have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Risk {
    /// The index of the holder's node.
    pub holder: usize,
    /// The paths to secrets or private data. Each is a list of link indices, from the holder on.
    pub secrets: Vec<Vec<usize>>,
    /// The paths to ways out of this machine, in the same form.
    pub outlets: Vec<Vec<usize>>,
}

impl Graph {
    /// Returns the holders that reach both a secret or private data and a way out. A holder uses its own grants, and
    /// those of holders that it can reach. A holder is not listed if all its paths begin with one other holder.
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
    /// Returns whether all paths of the risk begin with the same other holder.
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
            // Two holders, each with only one half, are no risk.
            (vec![link(1, 3, held, false), link(2, 4, held, false)], ""),
            // One half is held directly, the other through another holder.
            (
                vec![link(1, 5, held, true), link(1, 2, held, false), link(2, 4, held, false)],
                "1: [[0]] [[1, 2]]",
            ),
            // Each half is reached through a different holder.
            (
                vec![
                    link(1, 2, held, false),
                    link(1, 6, held, false),
                    link(2, 3, held, false),
                    link(6, 4, held, false),
                ],
                "1: [[0, 2]] [[1, 3]]",
            ),
            // Both halves are reached through the same holder, which is the one reported.
            (
                vec![link(1, 2, held, false), link(2, 3, held, false), link(2, 4, held, false)],
                "2: [[1]] [[2]]",
            ),
            // In a cycle, every holder is found.
            (
                vec![
                    link(1, 2, held, false),
                    link(2, 1, held, false),
                    link(1, 3, held, false),
                    link(2, 4, held, false),
                ],
                "1: [[2]] [[0, 3]] 2: [[1, 2]] [[3]]",
            ),
            // A link that is no grant gives no access.
            (vec![link(1, 3, LinkKind::MadeOf, false), link(1, 4, held, false)], ""),
            // The host is not reported.
            (vec![link(0, 3, held, false), link(0, 4, held, false)], ""),
        ] {
            let found = with(links).find_risks();
            let told =
                found.iter().map(|risk| format!("{}: {:?} {:?}", risk.holder, risk.secrets, risk.outlets));
            assert_eq!(told.collect::<Vec<_>>().join(" "), expected);
        }
    }
}

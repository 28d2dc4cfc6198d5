//! What is behind an identifier, and how things hang together: for whoever looks at a store from outside.

use kernel::{BlobHash, FormulaId, GrantNumber, RunNumber, StepRef};
use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::view::{GrantRow, Thing};

/// A formula in short, as an agent knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Called {
    /// The formula.
    pub id: FormulaId,
    /// The agent's own name for it or for what it leads to, if it has one.
    pub name: Option<String>,
    /// The type of what it leads to.
    pub kind: String,
    /// What it is, in words.
    pub words: Untrusted,
    /// If it is a grant: which.
    pub grant: Option<GrantRow>,
    /// What it leads to, through all grants.
    pub target: FormulaId,
    /// Whether it has files that cannot be changed through it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

/// A reference between formulas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// The part that it plays in the formula that refers.
    pub label: String,
    /// The formula at the other end.
    pub other: Called,
}

/// A formula with what it refers to, and what refers to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormulaView {
    /// What it is.
    pub thing: Thing,
    /// The formula in short.
    pub called: Called,
    /// What it refers to.
    pub refers_to: Vec<Reference>,
    /// What refers to it; names are told as directories with a part `name x`.
    pub referred_by: Vec<Reference>,
    /// Whether more refers to it than is told.
    pub is_more: bool,
    /// The grants of it that the agent gave.
    pub grants: Vec<GrantRow>,
    /// For an object that code has made with a guard: that guard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<kernel::Value>,
}

/// A grant with what it was used for, and what falls with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrantView {
    /// The grant.
    pub row: GrantRow,
    /// What it leads to, as the agent knows it.
    pub target: Called,
    /// The runs that use it, or a grant that was made of it.
    pub runs: Vec<RunNumber>,
    /// The grants that were made of it: they end when it ends.
    pub falls: Vec<GrantRow>,
    /// How many calls were made or tried through it or a grant that was made of it.
    pub calls: u64,
    /// The last of them, the newest first.
    pub last: Vec<Use>,
    /// The code that holds it or a grant that was made of it: its journal says what it sent, and what it heard.
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
    /// The method, as whoever called named it.
    pub method: Untrusted,
    /// What came of it, in words.
    pub outcome: String,
}

/// Part of a store as a graph: what an agent's names, grants and open runs lead to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// The formulas. The first is where it begins.
    pub nodes: Vec<Node>,
    /// What leads from one to another.
    pub links: Vec<Link>,
    /// Who holds both what is secret or private and a way out of this machine.
    pub risks: Vec<Risk>,
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
    /// What it is, in words.
    pub words: Untrusted,
    /// The run, if it is one.
    pub run: Option<RunNumber>,
    /// Whether it is a secret.
    pub is_secret: bool,
    /// Whether somebody outside this machine is told what is said to it.
    pub is_outlet: bool,
}

/// How one formula leads to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// It has a name for it.
    Names,
    /// It may use it, by a grant.
    Holds,
    /// It was made of it.
    MadeOf,
}

/// What leads from one formula to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// From which node.
    pub from: usize,
    /// To which.
    pub to: usize,
    /// How.
    pub how: How,
    /// The name, the slot, or the part.
    pub label: String,
    /// The grant, if it is one of the agent's.
    pub grant: Option<GrantNumber>,
    /// What the grant takes away, in words.
    pub limits: Vec<String>,
    /// Whether what is read through it is private.
    pub is_private: bool,
}

/// Somebody who holds both what is secret or private and a way out of this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Risk {
    /// Which node.
    pub holder: usize,
    /// The links to what is secret or private.
    pub secrets: Vec<usize>,
    /// The links to ways out.
    pub outlets: Vec<usize>,
}

impl Graph {
    /// Who holds both a secret, or what is private, and a way out.
    pub fn find_risks(&self) -> Vec<Risk> {
        let is = |at: usize, which: fn(&Node) -> bool| self.nodes.get(at).is_some_and(which);
        let holds = |holder: usize, which: &dyn Fn(&Link) -> bool| -> Vec<usize> {
            let of = self
                .links
                .iter()
                .enumerate()
                .filter(|(_, link)| link.from == holder && link.how == How::Holds && which(link));
            of.map(|(at, _)| at).collect()
        };
        // Whoever is a host decides what leaves anyway.
        let others = (0..self.nodes.len()).filter(|holder| !is(*holder, |node| node.kind == "host"));
        let risks = others.map(|holder| Risk {
            holder,
            secrets: holds(holder, &|link| link.is_private || is(link.to, |node| node.is_secret)),
            outlets: holds(holder, &|link| is(link.to, |node| node.is_outlet)),
        });
        risks.filter(|risk| !risk.secrets.is_empty() && !risk.outlets.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_holds_a_secret_and_a_way_out_is_told_of() {
        let node = |kind: &str, is_secret, is_outlet| Node {
            id: FormulaId { number: [0; 32], node: [0; 32] },
            kind: kind.to_owned(),
            name: None,
            words: Untrusted::new("x"),
            run: None,
            is_secret,
            is_outlet,
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
        ];
        let with = |links: Vec<Link>| Graph { nodes: nodes.clone(), links, risks: vec![], left_out: 0 };
        let held = How::Holds;
        for (links, holders) in [
            (vec![link(1, 3, held, false), link(1, 4, held, false)], vec![1]),
            // What is private is as good as secret.
            (vec![link(2, 5, held, true), link(2, 4, held, false)], vec![2]),
            // Two of them, each with one half.
            (vec![link(1, 3, held, false), link(2, 4, held, false)], vec![]),
            // A name is no authority of somebody else's.
            (vec![link(1, 3, How::MadeOf, false), link(1, 4, held, false)], vec![]),
            // Whoever looks.
            (vec![link(0, 3, held, false), link(0, 4, held, false)], vec![]),
        ] {
            let found = with(links).find_risks();
            assert_eq!(found.iter().map(|risk| risk.holder).collect::<Vec<_>>(), holders);
        }
    }
}

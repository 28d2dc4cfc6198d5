//! The graph of capabilities: what an agent's names, its grants and its open runs lead to.

use std::collections::{BTreeMap, VecDeque};

use kernel::command::Fault;
use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::hub::{Found, Hub, View};
use kernel::run::Run;
use kernel::txn::ReadTxn;
use kernel::{FormulaId, NamePath, RunNumber, query, table};
use passable::Untrusted;

use super::{in_short, words};
use crate::daemon::desk::Desk;
use crate::daemon::{listing, look};
use control::exit::{Exit, Failure};
use control::inspect::{Graph, How, Link, Node};

/// How many formulas a graph has at most: more than these nobody reads.
const MOST: usize = 150;

/// The graph from the agent on, or from what `focus` says.
///
/// # Errors
/// When nothing is there by what `focus` says, or the agent may not see it.
pub fn graph(desk: &Desk, view: &View, focus: Option<&str>) -> Result<Graph, Failure> {
    let is_host = view.agent == desk.daemon.host;
    let mut open = Vec::new();
    let mut first = None;
    match focus.map(|text| (text, text.parse::<RunNumber>())) {
        Some((_, Ok(run))) if is_host => first = Some(listing::one(&desk.daemon, run)?),
        None if is_host => {
            listing::for_each_run(&desk.daemon, None, |run| {
                if !run.is_finished() && run.parent.is_none() && !run.is_standing() {
                    open.push(run);
                }
                Ok(open.len() < MOST)
            })?;
        }
        _ => {}
    }
    let mut drawn = desk.daemon.look(|txn| {
        let begin = match (&first, focus) {
            (Some(run), _) => run.id,
            (None, Some(text)) => match text.parse::<FormulaId>() {
                Ok(id) => {
                    super::expect_may_see(desk, txn, view, &id)?;
                    id
                }
                Err(_) => view.identify(txn, &NamePath::parse(text)?)?,
            },
            (None, None) => view.agent,
        };
        let mut holds: BTreeMap<FormulaId, Vec<Grant>> = BTreeMap::new();
        for grant in query::grants(txn, &view.agent.number)? {
            if grant.ended(view.now_ms).is_none() {
                holds.entry(grant.holder).or_default().push(grant);
            }
        }
        let runs = open.iter().chain(&first).map(|run| (run.id, run)).collect();
        let mut drawing = Drawing { view, holds, runs, at: BTreeMap::new(), graph: Graph::default() };
        drawing.draw(txn, begin, open.iter())?;
        Ok(drawing.graph)
    })?;
    if drawn.nodes.is_empty() {
        return Err(Failure::new(Exit::NotFound, "what the graph would begin with is gone"));
    }
    drawn.risks = drawn.find_risks();
    Ok(drawn)
}

struct Drawing<'a> {
    view: &'a View,
    /// Grants that can be used, by who may use them.
    holds: BTreeMap<FormulaId, Vec<Grant>>,
    runs: BTreeMap<FormulaId, &'a Run>,
    at: BTreeMap<FormulaId, usize>,
    graph: Graph,
}

/// What leads on from a formula.
struct Way {
    how: How,
    label: String,
    to: FormulaId,
}

impl Drawing<'_> {
    fn draw<'r>(
        &mut self,
        txn: &mut dyn ReadTxn,
        begin: FormulaId,
        open: impl Iterator<Item = &'r Run>,
    ) -> Result<(), Fault> {
        let mut queue = VecDeque::new();
        queue.extend(self.node(txn, begin)?.map(|(at, _)| (at, begin)));
        let mut also: Vec<Way> =
            open.map(|run| Way { how: How::Names, label: run.number.to_string(), to: run.id }).collect();
        while let Some((from, id)) = queue.pop_front() {
            let mut ways = self.ways(txn, &id)?;
            ways.append(&mut also);
            for Way { how, label, to } in ways {
                let Some(reached) = table::reach(txn, &to)? else { continue };
                if reached.ended(self.view.now_ms).is_some() {
                    continue;
                }
                let Some((at, is_new)) = self.node(txn, reached.id)? else { continue };
                if is_new {
                    queue.push_back((at, reached.id));
                }
                let own = reached.grants.first().filter(|grant| grant.owner.0 == self.view.agent.number);
                let limits = reached.grants.iter().flat_map(|grant| grant.attenuation.words()).collect();
                let link = Link {
                    from,
                    to: at,
                    how: if reached.grants.is_empty() || how == How::Names { how } else { How::Holds },
                    label,
                    grant: own.map(|grant| grant.number),
                    limits,
                    is_private: reached.grants.iter().any(|grant| grant.attenuation.private),
                };
                if !self.graph.links.contains(&link) {
                    self.graph.links.push(link);
                }
            }
        }
        Ok(())
    }

    /// The node of a formula, and whether it is a new one; `None` if there is no room for it, or it is gone.
    fn node(&mut self, txn: &mut dyn ReadTxn, id: FormulaId) -> Result<Option<(usize, bool)>, Fault> {
        if let Some(at) = self.at.get(&id) {
            return Ok(Some((*at, false)));
        }
        let Some(called) = in_short(txn, self.view, &id)? else { return Ok(None) };
        let Some(formula) = table::formula(txn, &id)?.map(|row| row.formula) else { return Ok(None) };
        if self.graph.nodes.len() >= MOST {
            self.graph.left_out += 1;
            return Ok(None);
        }
        let run = match &formula {
            Formula::Run { run, .. } => Some(*run),
            _ => None,
        };
        let node = Node {
            id,
            kind: formula.kind().to_owned(),
            name: called.name,
            words: Untrusted::new(words(&formula)),
            run,
            is_secret: matches!(formula, Formula::Secret { .. } | Formula::HandedSecret(_)),
            is_outlet: is_outlet(&formula),
        };
        self.graph.nodes.push(node);
        let at = self.graph.nodes.len() - 1;
        self.at.insert(id, at);
        Ok(Some((at, true)))
    }

    /// What leads on from a formula: its names, what it holds, what it was made of.
    fn ways(&self, txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<Vec<Way>, Fault> {
        let way = |how, label: &str, to: &FormulaId| Way { how, label: label.to_owned(), to: *to };
        let held = self.holds.get(id).into_iter().flatten();
        let mut ways: Vec<Way> = held.map(|grant| way(How::Holds, &grant.slot, &grant.id)).collect();
        let Some(formula) = table::formula(txn, id)?.map(|row| row.formula) else { return Ok(ways) };
        match &formula {
            Formula::Host { .. } | Formula::Guest { .. } if *id != self.view.agent => {}
            Formula::Host { .. } | Formula::Guest { .. } => {
                let own = look::own_directory(txn, self.view)?;
                ways.clear();
                ways.extend(self.names(txn, &own)?);
            }
            Formula::Directory { store } => {
                if let Some(hub) = kernel::hub::directory(txn, *store)? {
                    ways.extend(self.names(txn, &hub)?);
                }
            }
            Formula::Run { worker, .. } => match self.runs.get(id) {
                Some(run) => {
                    ways.extend(run.grants.iter().map(|(slot, grant)| way(How::Holds, slot, grant)));
                }
                None => ways.push(way(How::MadeOf, "worker", worker)),
            },
            Formula::Handle { agent } => ways.push(way(How::MadeOf, "agent", agent)),
            Formula::Eval { endowments, .. } => {
                ways.clear();
                ways.extend(endowments.iter().map(|(name, to)| way(How::Holds, name, to)));
            }
            // What a worker that was bound holds stands in its grants.
            Formula::Worker { grants, .. } => {
                let told: Vec<FormulaId> = ways.iter().map(|way| way.to).collect();
                let more = grants.iter().filter(|grant| !told.contains(grant));
                ways.extend(more.map(|grant| way(How::Holds, "grant", grant)));
            }
            Formula::Promise { .. }
            | Formula::Export { .. }
            | Formula::Resolver { .. }
            | Formula::Marshal { .. }
            | Formula::Lookup { .. }
            | Formula::Definition { .. } => {
                ways.extend(formula.edges().iter().map(|(label, to)| way(How::MadeOf, label, to)));
            }
            _ => {}
        }
        Ok(ways)
    }

    fn names(&self, txn: &mut dyn ReadTxn, hub: &Hub) -> Result<Vec<Way>, Fault> {
        let mut ways = Vec::new();
        for label in self.view.list(txn, hub)? {
            if let Some(Found::Formula(to)) = self.view.entry(txn, hub, &label)? {
                ways.push(Way { how: How::Names, label, to });
            }
        }
        Ok(ways)
    }
}

/// Whether somebody outside this machine is told what is said to it, as the gates see it.
fn is_outlet(formula: &Formula) -> bool {
    match formula {
        Formula::Web(_) | Formula::Spool { .. } => true,
        Formula::Mcp(server) => server.reaches_out(),
        Formula::Program(programs) => programs.network,
        Formula::Worker { model: Some(model), .. } => {
            model::list(model).map_or(true, |all| !all.iter().all(model::ModelRef::stays_here))
        }
        _ => false,
    }
}

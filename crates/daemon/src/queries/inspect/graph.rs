//! The graph of capabilities: the formulas that an agent's names, grants and open runs lead to.
//!
//! The daemon first surveys the whole graph, to find holders of both a secret and an outlet. Then it draws a readable
//! part of the graph. Risks, open runs and holders of grants come before names.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use kernel::command::Fault;
use kernel::formula::Formula;
use kernel::name_lookup::View;
use kernel::run::Run;
use kernel::txn::ReadTxn;
use kernel::{FormulaId, NamePath, RunNumber, table};
use passable::Untrusted;
use resource::Resource;

use super::link_resolver::{LinkResolver, ResolvedLink};
use super::{describe, summary};
use crate::queries::runs;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::inspect::{Graph, Link, LinkKind, Node};

/// The maximum number of formulas that are drawn. A user cannot read more.
const MAX_NODES: usize = 150;

/// The maximum number of formulas that are surveyed.
const MAX_SURVEYED: usize = 20_000;

/// The maximum number of leaves that are drawn behind one formula.
const MAX_LEAVES: usize = 30;

/// Returns the graph that begins at the agent, or at the formula that `focus` names.
///
/// # Errors
/// When `focus` names nothing, or the agent may not see it.
pub fn graph(daemon: &HostDaemon, view: &View, focus: Option<&str>) -> Result<Graph, Failure> {
    let is_host = view.agent == daemon.host;
    let mut open = Vec::new();
    let mut first = None;
    match focus.map(|text| (text, text.parse::<RunNumber>())) {
        Some((_, Ok(run))) if is_host => first = Some(runs::load_run(daemon, run)?),
        None if is_host => {
            runs::for_each_run(daemon, None, |run| {
                if !run.is_finished() && run.parent.is_none() && !run.is_agent_journal() {
                    open.push(run);
                }
                Ok(open.len() < MAX_SURVEYED)
            })?;
        }
        _ => {}
    }
    let drawn = daemon.query(|txn| {
        let begin = match (&first, focus) {
            (Some(run), _) => run.id,
            (None, Some(text)) => match text.parse::<FormulaId>() {
                Ok(id) => {
                    super::expect_may_see(daemon, txn, view, &id)?;
                    id
                }
                Err(_) => view.identify(txn, &NamePath::parse(text)?)?,
            },
            (None, None) => view.agent,
        };
        if table::formula(txn, &begin)?.is_none() {
            return Ok(None);
        }
        let ways =
            LinkResolver::new(txn, view, open.iter().chain(&first).map(|run| (run.id, run)).collect())?;
        let survey = Survey::build(txn, &ways, begin, &open)?;
        let risks = survey.graph.find_risks();
        let mut graph =
            GraphDrawing::new(&ways, &survey).draw(txn, &survey.important_formulas(&open), &open)?;
        graph.risks = graph.find_risks();
        graph.more_risks = risks.len().saturating_sub(graph.risks.len());
        Ok(Some(graph))
    })?;
    drawn.ok_or_else(|| Failure::new(Exit::NotFound, "what the graph would begin with is gone"))
}

/// Returns the link from the agent to one of its open runs.
fn run_link(run: &Run) -> Link {
    let label = run.number.to_string();
    Link { from: 0, to: 0, how: LinkKind::Names, label, grant: None, limits: vec![], is_private: false }
}

/// The survey of all reached formulas, without names and descriptions, and of the links between them.
struct Survey {
    graph: Graph,
    at: BTreeMap<FormulaId, usize>,
    /// The node from which each node was first reached.
    predecessors: Vec<usize>,
}

impl Survey {
    fn build(
        txn: &mut dyn ReadTxn,
        ways: &LinkResolver<'_>,
        begin: FormulaId,
        open: &[Run],
    ) -> Result<Survey, Fault> {
        let mut survey = Survey { graph: Graph::default(), at: BTreeMap::new(), predecessors: vec![] };
        let mut queue = VecDeque::new();
        if let Some(formula) = table::formula(txn, &begin)?.map(|row| row.formula) {
            queue.extend(survey.node(0, begin, &formula));
        }
        // Open runs come before names, so that they are surveyed however many names there are.
        for run in open {
            if let Some(formula) = table::formula(txn, &run.id)?.map(|row| row.formula)
                && let Some(to) = survey.node(0, run.id, &formula)
            {
                queue.push_back(to);
                survey.graph.links.push(Link { to, ..run_link(run) });
            }
        }
        while let Some(from) = queue.pop_front() {
            let Some(id) = survey.graph.nodes.get(from).map(|node| node.id) else { continue };
            for ResolvedLink { id, formula, link } in ways.resolved_links(txn, &id)? {
                let known = survey.at.get(&id).copied();
                let Some(to) = known.or_else(|| survey.node(from, id, &formula)) else { continue };
                if known.is_none() {
                    queue.push_back(to);
                }
                survey.graph.links.push(Link { from, to, ..link });
            }
        }
        Ok(survey)
    }

    fn node(&mut self, from: usize, id: FormulaId, formula: &Formula) -> Option<usize> {
        let at = self.graph.nodes.len();
        if at >= MAX_SURVEYED {
            return None;
        }
        self.graph.nodes.push(bare_node(id, formula));
        self.predecessors.push(from);
        self.at.insert(id, at);
        Some(at)
    }

    /// Returns the formulas to draw first, each after the formulas that lead to it.
    fn important_formulas(&self, open: &[Run]) -> Vec<FormulaId> {
        let links = |ways: &[Vec<usize>]| -> Vec<usize> {
            ways.iter().flatten().filter_map(|at| self.graph.links.get(*at)).map(|link| link.to).collect()
        };
        let risky = self.graph.find_risks().into_iter().flat_map(|risk| {
            let mut on_it = vec![risk.holder];
            on_it.extend(links(&risk.secrets));
            on_it.extend(links(&risk.outlets));
            on_it
        });
        let runs = open.iter().filter_map(|run| self.at.get(&run.id).copied());
        let holders =
            self.graph.links.iter().filter(|link| link.how == LinkKind::Holds).map(|link| link.from);
        let (mut wanted, mut seen) = (Vec::new(), BTreeSet::from([0]));
        for at in risky.chain(runs).chain(holders) {
            let mut way = vec![];
            let mut next = at;
            while seen.insert(next) {
                way.push(next);
                next = self.predecessors.get(next).copied().unwrap_or(0);
            }
            wanted.extend(way.into_iter().rev().filter_map(|at| Some(self.graph.nodes.get(at)?.id)));
        }
        wanted
    }

    /// Returns whether a formula is a leaf, which leads to no other formula.
    fn is_leaf(&self, id: &FormulaId, leading: &BTreeSet<usize>) -> bool {
        self.at.get(id).is_some_and(|at| !leading.contains(at))
    }
}

/// Returns the node of a formula, without its name and its description.
fn bare_node(id: FormulaId, formula: &Formula) -> Node {
    Node {
        id,
        kind: formula.kind().to_owned(),
        name: None,
        words: Untrusted::new(""),
        run: match formula {
            Formula::Run { run, .. } => Some(*run),
            _ => None,
        },
        is_secret: matches!(formula, Formula::Secret { .. } | Formula::Resource(Resource::Secret(_))),
        is_outlet: is_outlet(formula),
        more: 0,
    }
}

struct GraphDrawing<'a> {
    links: &'a LinkResolver<'a>,
    survey: &'a Survey,
    /// The surveyed nodes that lead on to others.
    leading: BTreeSet<usize>,
    at: BTreeMap<FormulaId, usize>,
    graph: Graph,
}

impl<'a> GraphDrawing<'a> {
    fn new(links: &'a LinkResolver<'a>, survey: &'a Survey) -> GraphDrawing<'a> {
        let leading = survey.graph.links.iter().map(|link| link.from).collect();
        GraphDrawing { links, survey, leading, at: BTreeMap::new(), graph: Graph::default() }
    }

    fn draw(mut self, txn: &mut dyn ReadTxn, wanted: &[FormulaId], open: &[Run]) -> Result<Graph, Fault> {
        let begin = self.survey.graph.nodes.first().map(|node| node.id);
        for id in begin.iter().chain(wanted) {
            self.node(txn, *id)?;
        }
        let mut at = 0;
        while let Some(id) = self.graph.nodes.get(at).map(|node| node.id) {
            self.draw_links_of(txn, at, &id, if at == 0 { open } else { &[] })?;
            at += 1;
        }
        self.fold();
        Ok(self.graph)
    }

    /// Draws the links from a node, and counts the targets that are left out.
    fn draw_links_of(
        &mut self,
        txn: &mut dyn ReadTxn,
        from: usize,
        id: &FormulaId,
        open: &[Run],
    ) -> Result<(), Fault> {
        let mut steps: Vec<(FormulaId, Link)> = open.iter().map(|run| (run.id, run_link(run))).collect();
        steps.extend(self.links.resolved_links(txn, id)?.into_iter().map(|step| (step.id, step.link)));
        let (mut leaves, mut more) = (0, 0);
        for (id, link) in steps {
            let is_new = !self.at.contains_key(&id);
            let is_leaf = is_new && self.survey.is_leaf(&id, &self.leading);
            leaves += usize::from(is_leaf);
            let found = if is_leaf && leaves > MAX_LEAVES { None } else { self.node(txn, id)? };
            let Some(to) = found else {
                more += 1;
                continue;
            };
            let link = Link { from, to, ..link };
            if !self.graph.links.contains(&link) {
                self.graph.links.push(link);
            }
        }
        if let Some(node) = self.graph.nodes.get_mut(from) {
            node.more = more;
        }
        Ok(())
    }

    /// Adds one node behind each node that stands for the left out targets.
    fn fold(&mut self) {
        for from in 0..self.graph.nodes.len() {
            let Some(node) = self.graph.nodes.get_mut(from) else { continue };
            let more = std::mem::take(&mut node.more);
            if more == 0 {
                continue;
            }
            let (id, to) = (node.id, self.graph.nodes.len());
            let folded = Node {
                id,
                kind: "more".to_owned(),
                name: None,
                words: Untrusted::new(format!("{more} more")),
                run: None,
                is_secret: false,
                is_outlet: false,
                more,
            };
            self.graph.nodes.push(folded);
            let (label, limits) = (String::new(), vec![]);
            let link = Link { from, to, how: LinkKind::Names, label, grant: None, limits, is_private: false };
            self.graph.links.push(link);
            self.graph.left_out += more;
        }
    }

    /// Returns the node of a formula, which is added if needed. Returns `None` if the graph is full, or the formula
    /// is gone.
    fn node(&mut self, txn: &mut dyn ReadTxn, id: FormulaId) -> Result<Option<usize>, Fault> {
        if let Some(at) = self.at.get(&id) {
            return Ok(Some(*at));
        }
        if self.graph.nodes.len() >= MAX_NODES {
            return Ok(None);
        }
        let Some(called) = summary(txn, self.links.view, &id)? else { return Ok(None) };
        let Some(formula) = table::formula(txn, &id)?.map(|row| row.formula) else { return Ok(None) };
        let at = self.graph.nodes.len();
        let words = Untrusted::new(describe(&formula));
        self.graph.nodes.push(Node { name: called.name, words, ..bare_node(id, &formula) });
        self.at.insert(id, at);
        Ok(Some(at))
    }
}

/// Returns whether data that is passed to a formula leaves this machine, by the same facts that the gates use.
fn is_outlet(formula: &Formula) -> bool {
    match formula {
        Formula::Resource(Resource::Mcp(server)) => server.reaches_out(),
        Formula::Resource(Resource::Programs(programs)) => programs.network,
        Formula::Resource(resource) => resource.kind().row().sends,
        Formula::Worker { model: Some(model), .. } => {
            model::parse_list(model).map_or(true, |all| !all.iter().all(model::ModelRef::is_self_contained))
        }
        _ => false,
    }
}

//! The assignment of nodes to layers, and the order of the nodes in each layer.

use std::collections::BTreeSet;

/// A place in a layer: a node, or a bend of an edge that passes through the layer.
pub type Place = usize;

/// The layers of a graph, with the nodes and the bends of long edges. Every edge leads from one layer to the next.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layers {
    /// The layer of each place. The first places are the nodes.
    pub layer_of: Vec<usize>,
    /// The places of each layer, in their order.
    pub layers: Vec<Vec<Place>>,
    /// The places of each edge, from its start to its end.
    pub ways: Vec<Vec<Place>>,
}

/// The maximum number of passes that reorder the layers, alternately from the left and from the right.
const SWEEPS: usize = 12;

/// The maximum number of places. If no place is left, an edge gets no further bends.
const MAX_ITEMS: usize = 20_000;

/// Assigns this number of nodes to layers, and orders each layer so that few edges cross.
pub fn layers(nodes: usize, edges: &[(usize, usize)]) -> Layers {
    let forward = without_cycles(nodes, edges);
    let mut layer_of = vec![0_usize; nodes];
    // The longest path to a node determines its layer. Without cycles, this takes at most as many rounds as there are
    // nodes.
    for _ in 0..nodes {
        let mut is_done = true;
        for &(from, to) in &forward {
            if from != to && layer_of[to] <= layer_of[from] {
                layer_of[to] = layer_of[from] + 1;
                is_done = false;
            }
        }
        if is_done {
            break;
        }
    }
    let depth = layer_of.iter().max().map_or(0, |last| last + 1);
    let mut layers: Vec<Vec<Place>> = vec![vec![]; depth];
    for (node, layer) in layer_of.iter().enumerate() {
        layers[*layer].push(node);
    }
    let mut ways = Vec::with_capacity(edges.len());
    for (&(from, to), &(first, last)) in edges.iter().zip(&forward) {
        let mut way = vec![first];
        for (layer, places) in layers.iter_mut().enumerate().take(layer_of[last]).skip(layer_of[first] + 1) {
            if layer_of.len() < MAX_ITEMS {
                places.push(layer_of.len());
                way.push(layer_of.len());
                layer_of.push(layer);
            }
        }
        if first != last {
            way.push(last);
        }
        // A reversed edge gets its own direction back.
        if (from, to) != (first, last) {
            way.reverse();
        }
        ways.push(way);
    }
    let mut found = Layers { layer_of, layers, ways };
    found.untangle();
    found
}

/// Returns the edges, with those that close a cycle reversed.
fn without_cycles(nodes: usize, edges: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut next: Vec<Vec<usize>> = vec![vec![]; nodes];
    for &(from, to) in edges {
        next[from].push(to);
    }
    let (mut seen, mut on_way) = (vec![false; nodes], vec![false; nodes]);
    let mut back: BTreeSet<(usize, usize)> = BTreeSet::new();
    for start in 0..nodes {
        if seen[start] {
            continue;
        }
        // Each node with the number of its edges that were followed. A stack replaces recursion, because a graph may
        // be deep.
        let mut stack = vec![(start, 0)];
        seen[start] = true;
        on_way[start] = true;
        while let Some((node, at)) = stack.last_mut() {
            let Some(&to) = next[*node].get(*at) else {
                on_way[*node] = false;
                stack.pop();
                continue;
            };
            *at += 1;
            if on_way[to] {
                back.insert((*node, to));
            } else if !seen[to] {
                seen[to] = true;
                on_way[to] = true;
                stack.push((to, 0));
            }
        }
    }
    let turned =
        |&(from, to): &(usize, usize)| if back.contains(&(from, to)) { (to, from) } else { (from, to) };
    edges.iter().map(turned).collect()
}

impl Layers {
    /// Returns all steps of all edges, each from the lower layer to the higher.
    fn steps(&self) -> Vec<(Place, Place)> {
        let mut steps = Vec::new();
        for way in &self.ways {
            for pair in way.windows(2) {
                if let &[a, b] = pair {
                    steps.push(if self.layer_of[a] < self.layer_of[b] { (a, b) } else { (b, a) });
                }
            }
        }
        steps
    }

    /// Returns the position of each place in its layer.
    fn positions(&self) -> Vec<usize> {
        let mut positions = vec![0; self.layer_of.len()];
        for layer in &self.layers {
            for (at, place) in layer.iter().enumerate() {
                positions[*place] = at;
            }
        }
        positions
    }

    /// Returns the number of crossings between steps of edges.
    pub fn crossings(&self) -> usize {
        let positions = self.positions();
        let mut between: Vec<Vec<(usize, usize)>> = vec![vec![]; self.layers.len()];
        for (from, to) in self.steps() {
            between[self.layer_of[from]].push((positions[from], positions[to]));
        }
        let crossed = |all: &[(usize, usize)]| {
            let pairs =
                all.iter().enumerate().flat_map(|(i, one)| all[i + 1..].iter().map(move |two| (one, two)));
            pairs.filter(|(a, b)| (a.0 < b.0 && a.1 > b.1) || (a.0 > b.0 && a.1 < b.1)).count()
        };
        between.iter().map(|all| crossed(all)).sum()
    }

    /// Orders the places of each layer by the average position of their neighbours, from one side and then from the
    /// other. It keeps the order with the fewest crossings.
    fn untangle(&mut self) {
        let steps = self.steps();
        let (mut before, mut behind) = (vec![vec![]; self.layer_of.len()], vec![vec![]; self.layer_of.len()]);
        for (from, to) in steps {
            behind[from].push(to);
            before[to].push(from);
        }
        let (mut best, mut fewest) = (self.layers.clone(), self.crossings());
        for sweep in 0..SWEEPS {
            if fewest == 0 {
                break;
            }
            let joined = if sweep % 2 == 0 { &before } else { &behind };
            let count = self.layers.len();
            let order: Vec<usize> = if sweep % 2 == 0 {
                (1..count).collect()
            } else {
                (0..count.saturating_sub(1)).rev().collect()
            };
            for layer in order {
                let positions = self.positions();
                let middle = |place: Place| {
                    let all = &joined[place];
                    // A place without neighbours keeps its position.
                    if all.is_empty() {
                        return positions[place] as f64;
                    }
                    all.iter().map(|one| positions[*one] as f64).sum::<f64>() / all.len() as f64
                };
                self.layers[layer].sort_by(|a, b| middle(*a).total_cmp(&middle(*b)));
            }
            let crossings = self.crossings();
            if crossings < fewest {
                (best, fewest) = (self.layers.clone(), crossings);
            }
        }
        self.layers = best;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns pseudo-random graphs, which are the same in every run.
    fn some_graphs() -> Vec<(usize, Vec<(usize, usize)>)> {
        let mut state = 7_u64;
        let mut number = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut graphs = vec![(0, vec![]), (1, vec![(0, 0)]), (2, vec![(0, 1), (1, 0)])];
        for _ in 0..40 {
            let nodes = 1 + number(25);
            let edges = (0..number(40)).map(|_| (number(nodes), number(nodes))).collect();
            graphs.push((nodes, edges));
        }
        graphs
    }

    #[test]
    fn edges_connect_adjacent_layers() {
        for (nodes, edges) in some_graphs() {
            let found = layers(nodes, &edges);
            assert_eq!(found.layers.iter().map(Vec::len).sum::<usize>(), found.layer_of.len());
            assert_eq!(found.ways.len(), edges.len());
            for (way, (from, to)) in found.ways.iter().zip(&edges) {
                assert_eq!((way.first(), way.last()), (Some(from), Some(to)));
                for pair in way.windows(2) {
                    assert_eq!(found.layer_of[pair[0]].abs_diff(found.layer_of[pair[1]]), 1, "{edges:?}");
                }
                // An edge has only bends between its ends.
                let inner = way.get(1..way.len().saturating_sub(1)).unwrap_or_default();
                assert!(inner.iter().all(|place| *place >= nodes));
            }
        }
    }

    #[test]
    fn edges_of_an_acyclic_graph_lead_forward() {
        let edges = [(0, 1), (1, 2), (0, 2), (2, 3), (0, 3)];
        let found = layers(4, &edges);
        assert!(edges.iter().all(|(from, to)| found.layer_of[*from] < found.layer_of[*to]));
    }

    #[test]
    fn avoidable_crossings_are_removed() {
        // The first two graphs have two fully crossed layers, and the last has three layers.
        for (nodes, edges) in [
            (4, vec![(0, 3), (1, 2)]),
            (6, vec![(0, 5), (1, 4), (2, 3)]),
            (9, vec![(0, 5), (1, 4), (2, 3), (5, 6), (4, 7), (3, 8)]),
        ] {
            assert_eq!(layers(nodes, &edges).crossings(), 0, "{edges:?}");
        }
        // The result never has more crossings than the initial order.
        for (nodes, edges) in some_graphs() {
            let found = layers(nodes, &edges);
            let mut as_it_came = found.clone();
            as_it_came.layers.iter_mut().for_each(|layer| layer.sort_unstable());
            assert!(found.crossings() <= as_it_came.crossings());
        }
    }
}

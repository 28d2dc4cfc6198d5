//! The layout of a graph. Nodes are in columns, and edges lead to the right where possible. A cheap method reduces
//! crossings, and nodes never overlap.

use super::order::{Layers, layers};

/// The width of a node.
pub const WIDTH: f64 = 190.0;

/// The height of a node.
pub const HEIGHT: f64 = 40.0;

/// The space between two columns, which contains the labels of edges.
const BETWEEN: f64 = 150.0;

/// The space between two nodes of a column.
const GAP: f64 = 22.0;

/// Half of the height that a bend of an edge needs in a column.
const BEND: f64 = 10.0;

/// The margin around the drawing.
const MARGIN: f64 = 12.0;

/// The maximum distance of the first node from the top, if it is alone in its layer. A tall drawing begins at the
/// top.
const TOP: f64 = 150.0;

/// The number of rounds in which every node moves towards its neighbours.
const ROUNDS: usize = 10;

/// A point of a drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The distance from the left.
    pub x: f64,
    /// The distance from the top.
    pub y: f64,
}

/// The positions of all nodes and edges.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The upper left corner of each node.
    pub nodes: Vec<Point>,
    /// The points of each edge.
    pub edges: Vec<Vec<Point>>,
    /// The width of the drawing.
    pub width: f64,
    /// The height of the drawing.
    pub height: f64,
}

/// Returns the layout of this number of nodes, with these edges.
pub fn layout(nodes: usize, edges: &[(usize, usize)]) -> Layout {
    let found = layers(nodes, edges);
    let mut middles = middles(nodes, &found);
    if found.layers.first().is_some_and(|layer| layer == &[0]) {
        middles[0] = middles[0].min(TOP);
    }
    let x = |place: usize| MARGIN + found.layer_of[place] as f64 * (WIDTH + BETWEEN);
    let points: Vec<Point> =
        (0..nodes).map(|node| Point { x: x(node), y: middles[node] - HEIGHT / 2.0 }).collect();
    let drawn = found.ways.iter().map(|way| {
        let last = way.len().saturating_sub(1);
        let leads_on = match (way.first(), way.last()) {
            (Some(first), Some(last)) => found.layer_of[*first] <= found.layer_of[*last],
            _ => true,
        };
        let mut points: Vec<Point> = Vec::new();
        for (at, place) in way.iter().enumerate() {
            let (left, right, y) = (x(*place), x(*place) + WIDTH, middles[*place]);
            let (near, far) = if leads_on { (left, right) } else { (right, left) };
            // An edge leaves a node on one side and reaches the next on the other. At a bend, it has a point on
            // either side.
            if at > 0 {
                points.push(Point { x: near, y });
            }
            if at < last {
                points.push(Point { x: far, y });
            }
        }
        points
    });
    let mut edges: Vec<Vec<Point>> = drawn.collect();
    spread(nodes, &found, &mut edges);
    let columns = found.layers.len() as f64;
    let lowest = middles.iter().fold(0.0_f64, |most, y| most.max(*y));
    Layout {
        nodes: points,
        edges,
        width: (columns * (WIDTH + BETWEEN) - BETWEEN).max(0.0) + 2.0 * MARGIN,
        height: lowest + HEIGHT / 2.0 + MARGIN,
    }
}

/// Spreads the ends of edges over the sides of their nodes, so that edges can be told apart. The ends keep the order
/// of the points that they lead to.
fn spread(nodes: usize, found: &Layers, edges: &mut [Vec<Point>]) {
    // For each side of each node: the edges that end there, whether each begins or ends, and the height of its
    // neighbouring point.
    let mut sides: Vec<[Vec<(usize, bool, f64)>; 2]> = vec![[vec![], vec![]]; nodes];
    for (edge, (way, points)) in found.ways.iter().zip(edges.iter()).enumerate() {
        let [Some(first), Some(last)] = [way.first(), way.last()] else { continue };
        let [Some(second), Some(before)] =
            [points.get(1), points.len().checked_sub(2).and_then(|at| points.get(at))]
        else {
            continue;
        };
        let leads_on = found.layer_of[*first] <= found.layer_of[*last];
        sides[*first][usize::from(leads_on)].push((edge, true, second.y));
        sides[*last][usize::from(!leads_on)].push((edge, false, before.y));
    }
    for side in sides.iter_mut().flatten() {
        side.sort_by(|a, b| a.2.total_cmp(&b.2));
        let step = (HEIGHT - 10.0) / side.len().max(1) as f64;
        for (at, (edge, is_first, _)) in side.iter().enumerate() {
            let offset = (at as f64 + 0.5) * step - (HEIGHT - 10.0) / 2.0;
            let points = &mut edges[*edge];
            let end = if *is_first { points.first_mut() } else { points.last_mut() };
            if let Some(end) = end {
                end.y += offset;
            }
        }
    }
}

/// Returns the vertical middle of each place.
fn middles(nodes: usize, found: &Layers) -> Vec<f64> {
    let half = |place: usize| if place < nodes { (HEIGHT + GAP) / 2.0 } else { BEND };
    let mut middles = vec![0.0; found.layer_of.len()];
    for layer in &found.layers {
        let mut at = MARGIN - GAP / 2.0;
        for place in layer {
            middles[*place] = at + half(*place);
            at += 2.0 * half(*place);
        }
    }
    let mut joined: Vec<Vec<usize>> = vec![vec![]; found.layer_of.len()];
    for way in &found.ways {
        for pair in way.windows(2) {
            if let &[a, b] = pair {
                joined[a].push(b);
                joined[b].push(a);
            }
        }
    }
    for _ in 0..ROUNDS {
        for layer in &found.layers {
            let wished: Vec<f64> = layer
                .iter()
                .map(|place| match joined[*place].as_slice() {
                    [] => middles[*place],
                    all => all.iter().map(|one| middles[*one]).sum::<f64>() / all.len() as f64,
                })
                .collect();
            let placed = apart(layer, &wished, &half);
            for (place, y) in layer.iter().zip(placed) {
                middles[*place] = y;
            }
        }
    }
    // The topmost node is moved to the margin.
    let top = (0..middles.len())
        .map(|place| middles[place] - if place < nodes { HEIGHT / 2.0 } else { 0.0 })
        .fold(f64::INFINITY, f64::min);
    if top.is_finite() {
        middles.iter_mut().for_each(|y| *y += MARGIN - top);
    }
    middles
}

/// Returns positions as near to the wished ones as the order and the space of the layer allow. Nodes that collide
/// become one block, placed at the average of its wishes.
fn apart(layer: &[usize], wished: &[f64], half: &dyn Fn(usize) -> f64) -> Vec<f64> {
    /// A group of adjacent nodes: their number, the position of the first, and the sum of its wished positions.
    struct Block {
        count: usize,
        first: f64,
        sum: f64,
    }
    // The distance of each node from the first of the layer, if all nodes are close together.
    let mut offsets = Vec::with_capacity(layer.len());
    let mut at = 0.0;
    for (i, place) in layer.iter().enumerate() {
        if i > 0 {
            at += half(layer[i - 1]) + half(*place);
        }
        offsets.push(at);
    }
    let mut blocks: Vec<Block> = Vec::new();
    for (wish, offset) in wished.iter().zip(&offsets) {
        let mut block = Block { count: 1, first: wish - offset, sum: wish - offset };
        while let Some(above) = blocks.pop_if(|above| above.first >= block.first) {
            block.count += above.count;
            block.sum += above.sum;
            block.first = block.sum / block.count as f64;
        }
        blocks.push(block);
    }
    let starts = blocks.iter().flat_map(|block| std::iter::repeat_n(block.first, block.count));
    starts.zip(&offsets).map(|(start, offset)| start + offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graphs() -> Vec<(usize, Vec<(usize, usize)>)> {
        let wide = (1..30).map(|to| (0, to)).collect();
        let chain = (1..12).map(|to| (to - 1, to)).collect();
        let mut mixed: Vec<(usize, usize)> = (1..40).map(|to| (to / 3, to)).collect();
        mixed.extend([(0, 39), (39, 2), (5, 5), (1, 38), (1, 38), (12, 0)]);
        vec![(0, vec![]), (1, vec![]), (1, vec![(0, 0)]), (30, wide), (12, chain), (40, mixed)]
    }

    #[test]
    fn nodes_do_not_overlap_and_stay_inside_the_drawing() {
        for (nodes, edges) in graphs() {
            let found = layout(nodes, &edges);
            assert_eq!((found.nodes.len(), found.edges.len()), (nodes, edges.len()));
            for (i, a) in found.nodes.iter().enumerate() {
                for b in &found.nodes[i + 1..] {
                    let apart = (a.x - b.x).abs() >= WIDTH || (a.y - b.y).abs() >= HEIGHT;
                    assert!(apart, "{a:?} {b:?} of {nodes}");
                }
                assert!(a.x >= 0.0 && a.y >= 0.0);
                assert!(a.x + WIDTH <= found.width && a.y + HEIGHT <= found.height + 0.01, "{a:?} {found:?}");
            }
            for point in found.edges.iter().flatten() {
                assert!(
                    point.x >= 0.0 && point.x <= found.width && point.y >= 0.0 && point.y <= found.height
                );
            }
        }
    }

    #[test]
    fn edge_begins_and_ends_at_its_nodes() {
        for (nodes, edges) in graphs() {
            let found = layout(nodes, &edges);
            for (points, (from, to)) in found.edges.iter().zip(&edges) {
                if from == to {
                    continue;
                }
                let side = |node: usize, point: &Point| {
                    let corner = found.nodes[node];
                    let beside = point.x == corner.x || point.x == corner.x + WIDTH;
                    beside && point.y > corner.y && point.y < corner.y + HEIGHT
                };
                assert!(side(*from, &points[0]), "{points:?}");
                assert!(side(*to, &points[points.len() - 1]), "{points:?}");
            }
        }
    }

    #[test]
    fn no_two_edges_end_in_the_same_point() {
        for (nodes, edges) in graphs() {
            let found = layout(nodes, &edges);
            let mut ends: Vec<(u64, u64)> = found
                .edges
                .iter()
                .filter(|points| points.len() > 1)
                .flat_map(|points| [points[0], points[points.len() - 1]])
                .map(|point| (point.x.to_bits(), point.y.to_bits()))
                .collect();
            let count = ends.len();
            ends.sort_unstable();
            ends.dedup();
            assert_eq!(ends.len(), count);
        }
    }

    #[test]
    fn chain_is_straight() {
        let found = layout(4, &[(0, 1), (1, 2), (2, 3)]);
        assert!(found.nodes.iter().all(|node| (node.y - found.nodes[0].y).abs() < 0.01));
    }
}

//! A graph of capabilities as a drawing, and the same as a list.

use std::collections::BTreeSet;

use control::inspect::{Graph, How, Link, Node};
use kernel::alike;
use maud::{Markup, html};
use passable::visible_line;

use super::layout::{HEIGHT, Point, WIDTH, layout};
use crate::page::{link, parts};

/// How many letters of a text stand in a node.
const LETTERS: usize = 24;

/// How deep the list goes.
const DEEPEST: usize = 12;

/// The drawing.
pub fn drawing(graph: &Graph) -> Markup {
    let edges: Vec<(usize, usize)> = graph.links.iter().map(|link| (link.from, link.to)).collect();
    let found = layout(graph.nodes.len(), &edges);
    let risky: BTreeSet<usize> =
        graph.risks.iter().flat_map(|risk| risk.secrets.iter().chain(&risk.outlets).copied()).collect();
    let size = |number: f64| format!("{number:.0}");
    html! {
        div.wide.drawing tabindex="0" role="region" aria-label="The drawing; the list below says the same" {
            svg.graph role="group" aria-label="Graph of capabilities"
                viewBox={ "0 0 " (size(found.width)) " " (size(found.height)) }
                width=(size(found.width)) height=(size(found.height)) {
                defs {
                    marker #arrow viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" markerUnits="userSpaceOnUse" orient="auto" {
                        path d="M0 0 L8 4 L0 8 z" {}
                    }
                }
                @for (at, (link, points)) in graph.links.iter().zip(&found.edges).enumerate() {
                    (edge(link, points, risky.contains(&at)))
                }
                @for (at, (link, points)) in graph.links.iter().zip(&found.edges).enumerate() {
                    (label(link, points, risky.contains(&at)))
                }
                @for (node, corner) in graph.nodes.iter().zip(&found.nodes) { (self::node(node, *corner)) }
            }
        }
    }
}

/// A smooth way through the points.
fn curve(points: &[Point]) -> String {
    let mut path = String::new();
    let mut last: Option<Point> = None;
    for (at, point) in points.iter().enumerate() {
        match last {
            None => path.push_str(&format!("M{:.1} {:.1}", point.x, point.y)),
            // Through a column it goes straight, from one to the next in a bow.
            Some(_) if at % 2 == 0 => path.push_str(&format!(" L{:.1} {:.1}", point.x, point.y)),
            Some(from) => {
                let middle = (from.x + point.x) / 2.0;
                path.push_str(&format!(
                    " C{middle:.1} {:.1} {middle:.1} {:.1} {:.1} {:.1}",
                    from.y, point.y, point.x, point.y
                ));
            }
        }
        last = Some(*point);
    }
    path
}

fn edge(link: &Link, points: &[Point], is_risky: bool) -> Markup {
    let class = match link.how {
        How::Names => "edge names",
        How::Holds => "edge holds",
        How::MadeOf => "edge made",
    };
    html! {
        @if points.len() > 1 {
            path class={ (class) @if is_risky { " risky" } } d=(curve(points)) marker-end="url(#arrow)" {
                title { (words(link)) }
            }
        }
    }
}

/// The words of an edge, where it ends. They stand above all edges.
fn label(link: &Link, points: &[Point], is_risky: bool) -> Markup {
    let [Some(first), Some(last)] = [points.first(), points.last()] else { return html! {} };
    let leads_on = first.x <= last.x;
    html! {
        @if points.len() > 1 {
            text.label x=(format!("{:.0}", if leads_on { last.x - 14.0 } else { last.x + 14.0 }))
                y=(format!("{:.0}", last.y - 3.0)) text-anchor=(if leads_on { "end" } else { "start" }) {
                @if is_risky { "⚠ " } (cut(&link.label, 18))
            }
        }
    }
}

fn cut(text: &str, letters: usize) -> String {
    let line = visible_line(text);
    match line.char_indices().nth(letters) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.into_owned(),
    }
}

/// What a node is called: by the person, or by what it is.
fn title(node: &Node) -> String {
    match (&node.run, &node.name) {
        (Some(run), _) => run.to_string(),
        (None, Some(name)) if name == "@agent" => "you".to_owned(),
        (None, Some(name)) => alike::shown(name),
        (None, None) => node.words.visible_line().into_owned(),
    }
}

fn address(node: &Node) -> String {
    node.run.map_or_else(|| link::formula(&node.id), |run| format!("/r/{run}"))
}

/// What sets a node apart, in words.
fn sign(node: &Node) -> &'static str {
    match (node.is_secret, node.is_outlet) {
        (true, _) => "secret",
        (_, true) => "way out",
        _ => "",
    }
}

fn node(node: &Node, corner: Point) -> Markup {
    let number = |number: f64| format!("{number:.1}");
    html! {
        a href=(address(node)) {
            title { (title(node)) ": " (node.words.visible_line()) }
            rect.node.secret[node.is_secret].outlet[node.is_outlet] x=(number(corner.x)) y=(number(corner.y))
                width=(WIDTH) height=(HEIGHT) rx="6" {}
            text x=(number(corner.x + 8.0)) y=(number(corner.y + 17.0)) { (cut(&title(node), LETTERS)) }
            text.note x=(number(corner.x + 8.0)) y=(number(corner.y + 32.0)) {
                (cut(&node.kind, LETTERS)) @if !sign(node).is_empty() { ", " (sign(node)) }
            }
        }
    }
}

/// What a link says, in words.
fn words(link: &Link) -> String {
    let how = match link.how {
        How::Names => "name",
        How::Holds => "slot",
        How::MadeOf => "part",
    };
    let grant = link.grant.map(|grant| format!(", grant {grant}")).unwrap_or_default();
    let limits: String = link.limits.iter().map(|one| format!("; {}", visible_line(one))).collect();
    format!("{how} {}{grant}{limits}", visible_line(&link.label))
}

/// The same as a list: whatever several lead to stands where it is met first, and is named again elsewhere.
pub fn list(graph: &Graph) -> Markup {
    let mut seen = BTreeSet::new();
    html! { ul.graph-list { (item(graph, 0, None, &mut seen, 0)) } }
}

fn item(graph: &Graph, at: usize, by: Option<&Link>, seen: &mut BTreeSet<usize>, depth: usize) -> Markup {
    let Some(node) = graph.nodes.get(at) else { return html! {} };
    let is_new = seen.insert(at);
    let on: Vec<&Link> = if is_new && depth < DEEPEST {
        graph.links.iter().filter(|link| link.from == at).collect()
    } else {
        vec![]
    };
    html! {
        li {
            @if let Some(link) = by { span.note { (words(link)) " → " } }
            a href=(address(node)) { (parts::word(&title(node))) }
            " " (parts::word(&node.kind))
            @if node.name.is_some() || node.run.is_some() { ", " (parts::line(&node.words)) }
            @if !sign(node).is_empty() { " " strong { (sign(node)) } }
            @if !is_new { span.note { " (see above)" } }
            @if !on.is_empty() {
                ul { @for link in on { (item(graph, link.to, Some(link), seen, depth + 1)) } }
            }
        }
    }
}

/// Who holds both what is secret or private and a way out, in sentences.
pub fn risks(graph: &Graph) -> Markup {
    let named = |links: &[usize]| {
        let all: Vec<String> = links
            .iter()
            .filter_map(|at| graph.links.get(*at))
            .map(|link| format!("`{}`", visible_line(&link.label)))
            .collect();
        all.join(", ")
    };
    html! {
        @if !graph.risks.is_empty() {
            section.risks aria-labelledby="risks-title" {
                h2 #risks-title { "From secret to outside " span.count { (graph.risks.len()) } }
                ul {
                    @for risk in &graph.risks {
                        @if let Some(node) = graph.nodes.get(risk.holder) {
                            li {
                                a href=(address(node)) { (parts::word(&title(node))) }
                                span.warning { " holds what is secret or private: " (named(&risk.secrets))
                                    ", and a way out of this machine: " (named(&risk.outlets)) }
                            }
                        }
                    }
                }
                p.note { "The gates ask before what was read through one could leave through the other; what you allowed is not asked about." }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_drawn_from_point_to_point() {
        let point = |x: f64, y: f64| Point { x, y };
        for (points, path) in [
            (vec![], ""),
            (vec![point(0.0, 1.0)], "M0.0 1.0"),
            (vec![point(0.0, 0.0), point(10.0, 4.0)], "M0.0 0.0 C5.0 0.0 5.0 4.0 10.0 4.0"),
            (
                vec![point(0.0, 0.0), point(10.0, 4.0), point(20.0, 4.0), point(30.0, 0.0)],
                "M0.0 0.0 C5.0 0.0 5.0 4.0 10.0 4.0 L20.0 4.0 C25.0 4.0 25.0 0.0 30.0 0.0",
            ),
        ] {
            assert_eq!(curve(&points), path);
        }
    }

    #[test]
    fn a_long_name_is_cut_between_letters() {
        assert_eq!(cut("äöü", 2), "äö…");
        assert_eq!(cut("äö", 2), "äö");
    }
}

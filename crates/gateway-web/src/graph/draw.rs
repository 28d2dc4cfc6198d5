//! A graph of capabilities as a drawing, and as a list with the same content.

use std::collections::BTreeSet;

use control::inspect::{Graph, Link, LinkKind, Node};
use kernel::confusables;
use maud::{Markup, html};
use passable::visible_line;

use super::layout::{HEIGHT, Point, WIDTH, layout};
use crate::page::short_path::{MAX_CHARS, description};
use crate::page::{context, kinds, link, parts};
use control::show::short_path::shortened;

/// The maximum number of characters of a text in a node.
const MAX_LETTERS: usize = 21;

/// The maximum depth of the list.
const MAX_DEPTH: usize = 12;

/// Returns the graph as an SVG drawing.
pub fn drawing(graph: &Graph) -> Markup {
    let edges: Vec<(usize, usize)> = graph.links.iter().map(|link| (link.from, link.to)).collect();
    let found = layout(graph.nodes.len(), &edges);
    let risky = risky(graph);
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
                @for (node, corner) in graph.nodes.iter().zip(&found.nodes) { (self::node(graph, node, *corner)) }
            }
        }
    }
}

/// The entries of the legend. Each has a style class, its words, and a flag for a frame in place of a line.
const LEGEND: [(&str, &str, bool); 7] = [
    ("edge holds", "may be used", false),
    ("edge names", "has a name for it", false),
    ("edge made", "was made of it", false),
    ("edge risky", "⚠ on a way from a secret to outside", false),
    ("node secret", "a secret, or what is private", true),
    ("node outlet", "a way out of this machine", true),
    ("node folded", "several, not drawn one by one", true),
];

/// Returns the legend of lines and frames.
pub fn legend() -> Markup {
    html! {
        ul.legend aria-label="What the lines and frames mean" {
            @for (class, words, is_frame) in LEGEND {
                li {
                    svg viewBox="0 0 34 16" width="34" height="16" aria-hidden="true" {
                        @if is_frame { rect class=(class) x="2" y="2" width="30" height="12" rx="3" {} }
                        @else { path class=(class) d="M1 8H33" {} }
                    }
                    " " (words)
                }
            }
        }
    }
}

/// Returns the indices of the links through which a secret could reach a way out.
fn risky(graph: &Graph) -> BTreeSet<usize> {
    graph.risks.iter().flat_map(|risk| risk.secrets.iter().chain(&risk.outlets).flatten().copied()).collect()
}

/// Returns the data of a smooth SVG path through the points.
fn curve(points: &[Point]) -> String {
    let mut path = String::new();
    let mut last: Option<Point> = None;
    for (at, point) in points.iter().enumerate() {
        match last {
            None => path.push_str(&format!("M{:.1} {:.1}", point.x, point.y)),
            // A path crosses its column in a straight line, and goes from one column to the next in a curve.
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
        LinkKind::Names => "edge names",
        LinkKind::Holds => "edge holds",
        LinkKind::MadeOf => "edge made",
    };
    html! {
        @if points.len() > 1 {
            path class={ (class) @if is_risky { " risky" } } d=(curve(points)) marker-end="url(#arrow)" {
                title { (describe_link(link)) }
            }
        }
    }
}

/// Returns the label of an edge, placed at its end. Labels are drawn above all edges.
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

/// Shortens a text to this number of characters. A longer text keeps its beginning and its end, because either may be
/// distinctive.
fn cut(text: &str, letters: usize) -> String {
    let line: Vec<char> = visible_line(text).chars().collect();
    if line.len() <= letters {
        return line.into_iter().collect();
    }
    let kept = letters.saturating_sub(1);
    let (head, tail) = (kept - kept / 3, line.len() - kept / 3);
    line[..head].iter().chain(&['…']).chain(&line[tail..]).collect()
}

/// Returns the title of a node: the user's name for it, or its description.
fn title(node: &Node) -> String {
    match (&node.run, &node.name) {
        (Some(run), _) => run.to_string(),
        (None, Some(name)) if name == "@agent" => "you".to_owned(),
        (None, Some(name)) => confusables::display_name(name),
        (None, None) => node.words.visible_line().into_owned(),
    }
}

/// Returns the text in a node. Of a path, it keeps the end.
fn short_title(node: &Node) -> String {
    let short = shortened(&title(node), context::home().as_deref(), MAX_CHARS);
    let letters = short.chars().count();
    if node.name.is_none() && short.contains('/') && letters > MAX_LETTERS {
        return format!("…{}", short.chars().skip(letters + 1 - MAX_LETTERS).collect::<String>());
    }
    cut(&short, MAX_LETTERS)
}

fn address(graph: &Graph, node: &Node) -> String {
    if node.more > 0
        && let Some(of) = graph.nodes.iter().find(|one| one.id == node.id && one.more == 0)
    {
        match (of.kind.as_str(), &of.name) {
            ("host", _) => return link::names(&[]),
            ("directory", Some(path)) => {
                return link::names(&path.split('/').map(str::to_owned).collect::<Vec<_>>());
            }
            _ => {}
        }
    }
    node.run.map_or_else(|| link::formula(&node.id), |run| format!("/r/{run}"))
}

/// Returns the marker of a special node, in words.
fn sign(node: &Node) -> &'static str {
    match (node.is_secret, node.is_outlet) {
        (true, _) => "secret",
        (_, true) => "way out",
        _ => "",
    }
}

fn node(graph: &Graph, node: &Node, corner: Point) -> Markup {
    let number = |number: f64| format!("{number:.1}");
    html! {
        a href=(address(graph, node)) {
            title { (title(node)) ": " (node.words.visible_line()) }
            rect.node.secret[node.is_secret].outlet[node.is_outlet].folded[node.more > 0] x=(number(corner.x)) y=(number(corner.y))
                width=(WIDTH) height=(HEIGHT) rx="6" {}
            text x=(number(corner.x + 8.0)) y=(number(corner.y + 17.0)) { (short_title(node)) }
            text.note x=(number(corner.x + 8.0)) y=(number(corner.y + 32.0)) {
                (cut(kinds::object(&node.kind), MAX_LETTERS)) @if !sign(node).is_empty() { ", " (sign(node)) }
            }
        }
    }
}

/// Returns a description of a link, in words.
fn describe_link(link: &Link) -> String {
    let how = match link.how {
        LinkKind::Names => "name",
        LinkKind::Holds => "slot",
        LinkKind::MadeOf => "part",
    };
    let grant = link.grant.map(|grant| format!(", grant {grant}")).unwrap_or_default();
    let limits: String = link.limits.iter().map(|one| format!("; {}", visible_line(one))).collect();
    format!("{how} {}{grant}{limits}", visible_line(&link.label))
}

/// Returns the graph as a list. A node to which several links lead appears in full at its first place, and elsewhere
/// by name.
pub fn list(graph: &Graph) -> Markup {
    let mut drawn = ListState { graph, risky: risky(graph), seen: BTreeSet::new() };
    html! { ul.graph-list { (item(&mut drawn, 0, None, 0)) } }
}

/// The state of the list while it is built.
struct ListState<'a> {
    graph: &'a Graph,
    risky: BTreeSet<usize>,
    seen: BTreeSet<usize>,
}

fn item(list: &mut ListState<'_>, at: usize, by: Option<usize>, depth: usize) -> Markup {
    let graph = list.graph;
    let Some(node) = graph.nodes.get(at) else { return html! {} };
    let is_new = list.seen.insert(at);
    let leads_on = |(_, link): &(usize, &Link)| is_new && depth < MAX_DEPTH && link.from == at;
    let on: Vec<(usize, usize)> =
        graph.links.iter().enumerate().filter(leads_on).map(|(at, link)| (at, link.to)).collect();
    let is_risky = by.is_some_and(|by| list.risky.contains(&by));
    let by = by.and_then(|by| graph.links.get(by)).filter(|_| node.more == 0);
    html! {
        li {
            @if is_risky { span.warning { "⚠ " } }
            @if let Some(link) = by { span.note { (describe_link(link)) " → " } }
            a href=(address(graph, node)) { (parts::word(&title(node))) }
            @if node.more == 0 { " " (parts::word(kinds::object(&node.kind))) }
            @if node.name.is_some() || node.run.is_some() { ", " (description(&node.words)) }
            @if !sign(node).is_empty() { " " strong { (sign(node)) } }
            @if !is_new { span.note { " (see above)" } }
            @if !on.is_empty() {
                ul { @for (by, to) in on { (item(list, to, Some(by), depth + 1)) } }
            }
        }
    }
}

/// Returns sentences on the nodes that reach both a secret or private data and a way out.
pub fn risks(graph: &Graph) -> Markup {
    let way = |links: &Vec<usize>| {
        let labels = links.iter().filter_map(|at| graph.links.get(*at));
        let labels: Vec<String> = labels.map(|link| format!("`{}`", visible_line(&link.label))).collect();
        labels.join(" → ")
    };
    let named = |ways: &[Vec<usize>]| ways.iter().map(way).collect::<Vec<_>>().join(", ");
    let all = graph.risks.len() + graph.more_risks;
    html! {
        @if all > 0 {
            section.risks aria-labelledby="risks-title" {
                h2 #risks-title { "From secret to outside " span.count { (all) } }
                ul {
                    @for risk in &graph.risks {
                        @if let Some(node) = graph.nodes.get(risk.holder) {
                            li {
                                a href=(address(graph, node)) { (parts::word(&title(node))) }
                                span.warning { " holds what is secret or private: " (named(&risk.secrets))
                                    ", and a way out of this machine: " (named(&risk.outlets)) }
                            }
                        }
                    }
                    @if graph.more_risks > 0 { li { (graph.more_risks) " more, among what is not drawn" } }
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
    fn curve_passes_through_every_point() {
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
    fn legend_classes_exist_in_the_style_sheet() {
        let drawn = legend().0;
        for (class, words, _) in LEGEND {
            let own = class.split(' ').next_back().unwrap();
            assert!(own == "names" || crate::assets::STYLE.text.contains(&format!(".{own}")), "{class}");
            assert!(
                drawn.contains(&format!("class=\"{class}\"")) && drawn.contains(words),
                "{class}: {drawn}"
            );
        }
        for words in ["secret", "way out", "risky"] {
            assert!(drawn.contains(words), "{words}");
        }
    }

    #[test]
    fn long_name_is_shortened_between_letters() {
        for (text, letters, expected) in [
            ("äö", 2, "äö"),
            ("äöü", 2, "ä…"),
            ("a-long-name-of-a-thing-1", 10, "a-long…g-1"),
            ("a-long-name-of-a-thing-2", 10, "a-long…g-2"),
        ] {
            assert_eq!(cut(text, letters), expected);
        }
    }
}

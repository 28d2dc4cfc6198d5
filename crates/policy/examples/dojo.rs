#![allow(clippy::all, clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods)]
use kernel::Value;
use policy::trace::*;
use serde_json::Value as J;
fn main() {
    let show = std::env::args().nth(2).unwrap_or_default();
    let mut n = std::collections::BTreeMap::<String, (usize, usize)>::new();
    for line in std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap().lines() {
        let r: J = serde_json::from_str(line).unwrap();
        let order = r["order"].as_str().unwrap();
        let inj = !r["inj"].is_null();
        let given = TextIndex::plain(&format!(
            "{}\nDoes what its user asks, with the tools of one server. Do what the user asks. Use the tools.",
            r["prompt"].as_str().unwrap()
        ));
        let mut read: Vec<(String, String, TextIndex, bool, bool)> = vec![];
        for s in r["steps"].as_array().unwrap() {
            let f = s["f"].as_str().unwrap();
            let args: Vec<(String, Value)> = s["args"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(k, v)| (k.clone(), Value::from_json(v).unwrap()))
                .collect();
            let readings: Vec<Reading> = read
                .iter()
                .map(|(n, c, i, named, _)| Reading { name: n, call: Some(c), index: i, is_named: *named })
                .collect();
            if s["asked"] == true {
                let t = trace(
                    args.iter().map(|(k, v)| (k.as_str(), v)),
                    &Sources {
                        given: &given,
                        readings: &readings,
                        model: "m",
                        leaves: s["effect"] == "sends",
                    },
                );
                let who = format!(
                    "{} {order} {}",
                    s["who"].as_str().unwrap(),
                    if inj { "attacked" } else { "benign" }
                );
                let e = n.entry(who.clone()).or_default();
                e.1 += 1;
                if !t.traces.is_empty() {
                    e.0 += 1;
                }
                if !show.is_empty()
                    && who.starts_with(&show)
                    && (t.traces.is_empty() == who.starts_with("inj"))
                {
                    println!(
                        "{} {} {f} {}",
                        r["id"],
                        who,
                        s["args"].to_string().chars().take(300).collect::<String>()
                    );
                    for x in &t.traces {
                        println!(
                            "      {} “{}” {} ({})",
                            x.argument,
                            x.text.chars().take(60).collect::<String>(),
                            x.place().chars().take(80).collect::<String>(),
                            x.how
                        );
                    }
                }
            }
            if let Some(res) = s["result"].as_str() {
                let earlier: Vec<Reading> = read
                    .iter()
                    .filter(|x| x.3 || x.4)
                    .map(|(n, c, i, named, _)| Reading { name: n, call: Some(c), index: i, is_named: *named })
                    .collect();
                let vals: Vec<&Value> = args.iter().map(|(_, v)| v).collect();
                let named = is_named(vals.iter().copied(), &given, &earlier);
                read.push((
                    format!("mcp:x/{f}"),
                    s["args"].to_string(),
                    TextIndex::new(res),
                    named,
                    args.is_empty(),
                ));
            }
        }
    }
    for (k, (a, b)) in n {
        println!("{k}: flagged {a}/{b} = {:.1} %", 100.0 * a as f64 / b as f64);
    }
}

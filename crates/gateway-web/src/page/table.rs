//! Tables. On narrow screens, the cells of a row are shown below one another.

use maud::{Markup, html};

/// Returns a table with these columns. The first cell of each row is its header.
pub fn table(label: &str, columns: &[&str], rows: impl IntoIterator<Item = Vec<Markup>>) -> Markup {
    // The roles keep the element a table for screen readers, even if the style shows it as a list.
    html! {
        div.wide tabindex="0" role="region" aria-label=(label) {
            table.stack role="table" {
                thead role="rowgroup" { tr role="row" {
                    @for name in columns { th scope="col" role="columnheader" { (name) } }
                } }
                tbody role="rowgroup" {
                    @for row in rows {
                        tr role="row" {
                            @for (at, (name, cell)) in columns.iter().zip(row).enumerate() {
                                @if at == 0 { th scope="row" role="rowheader" data-label=(name) { (cell) } }
                                @else { td role="cell" data-label=(name) { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_names_its_column() {
        let cell = |text: &str| html! { (text) };
        let drawn = table("Them", &["Name", "What"], [vec![cell("a"), cell("b")]]).0;
        for part in [
            "aria-label=\"Them\"",
            "<table class=\"stack\"",
            "role=\"columnheader\">What</th>",
            "<th scope=\"row\" role=\"rowheader\" data-label=\"Name\">a</th>",
            "<td role=\"cell\" data-label=\"What\">b</td>",
        ] {
            assert!(drawn.contains(part), "{part}: {drawn}");
        }
    }
}

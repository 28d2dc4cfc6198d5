//! The walk over templates and all of their includes, which admits only the parts that [`template`](super::template)
//! lists.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use minijinja::machinery::ast::{BinOpKind, CallArg, CompareOpKind, Expr, Stmt};
use minijinja::machinery::{Span, parse};

use super::diagnostic::Diagnostic;
use super::suggest;
use super::template::{FILTERS, TESTS, oversized, range};
use super::yaml::verbatim;

/// The help for braces that the template language does not understand.
const RAW_HELP: &str = "braces that are text go between `{% raw %}` and `{% endraw %}`";

/// The maximum fixed index into a list.
const MAX_INDEX: usize = 1_000;
/// The maximum number of includes, where a file counts each time that it is included.
const MAX_INCLUDES: usize = 200;

/// The walk over templates and all of their includes, with its results.
pub(crate) struct Walk<'a> {
    includes: &'a BTreeMap<String, String>,
    /// The names of all included files, whether they exist or not.
    pub(crate) wanted: BTreeSet<String>,
    /// The problems that the walk has found.
    pub(crate) problems: Vec<Diagnostic>,
    /// The fields of a variable, if they are known.
    fields: BTreeMap<&'static str, Vec<String>>,
    entered: usize,
    stack: Vec<String>,
}

/// The place of the text that is being walked.
#[derive(Clone, Copy)]
struct Site<'s> {
    file: Option<&'s str>,
    /// The number to add to a position in the text to get the position in the file. If the text was written with
    /// escapes, only the whole has a place. Its range is then the `Err` value.
    offset: Result<usize, (usize, usize)>,
}

type Scope<'s> = Vec<&'s str>;

impl<'a> Walk<'a> {
    /// Returns a walk that can include these files.
    pub(crate) fn new(includes: &'a BTreeMap<String, String>) -> Walk<'a> {
        let (wanted, problems, fields) = Default::default();
        Walk { includes, wanted, problems, fields, entered: 0, stack: Vec::new() }
    }

    /// Records the fields of a variable. `None` means that they are unknown.
    pub(crate) fn know(&mut self, name: &'static str, fields: Option<Vec<String>>) {
        fields.and_then(|fields| self.fields.insert(name, fields));
    }

    /// Walks a template in the worker file `source`. `names` are the variables that the template will have.
    pub(crate) fn own(&mut self, text: &str, span: Range<usize>, source: &str, names: &[&str]) {
        let offset = verbatim(text, &span, source).map(|at| at.start).ok_or((span.start, span.end));
        self.text(text, Site { file: None, offset }, &mut names.to_vec());
    }

    /// Walks an included file. Its name is at `span` of the worker file, or of the included file `by`.
    pub(crate) fn file(&mut self, name: &str, by: Option<&str>, span: Range<usize>, names: &[&str]) {
        let problem = |code, message: String| Diagnostic::error(code, message, span.clone()).within(by);
        if let Some(why) = unfit(name) {
            let message = format!("`{}` cannot be included: {why}", name.escape_debug());
            let help = "name a file in the directory of the worker file, or below it";
            self.problems.push(problem("template/include", message).help(help));
            return;
        }
        self.wanted.insert(name.to_owned());
        let Some(text) = self.includes.get(name) else {
            let help = match suggest::nearest(name, self.includes.keys().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "it must lie beside the worker file".to_owned(),
            };
            let message = format!("there is no file `{name}`");
            self.problems.push(problem("template/missing-file", message).help(help));
            return;
        };
        if self.stack.iter().any(|open| open == name) {
            self.problems.push(problem("template/include", format!("`{name}` includes itself")));
            return;
        }
        self.entered += 1;
        if self.entered > MAX_INCLUDES {
            // This is reported once, because it is the same for every further include.
            if self.entered == MAX_INCLUDES + 1 {
                let message = format!("more than {MAX_INCLUDES} files are included");
                self.problems.push(problem("template/include", message));
            }
            return;
        }
        self.stack.push(name.to_owned());
        self.text(text, Site { file: Some(name), offset: Ok(0) }, &mut names.to_vec());
        self.stack.pop();
    }

    fn text<'s>(&mut self, text: &'s str, site: Site<'_>, scope: &mut Scope<'s>) {
        if let Some((message, at)) = oversized(text) {
            self.problem(
                "template/too-large",
                message,
                at,
                site,
                Some("split it, or move it into a file".to_owned()),
            );
            return;
        }
        match parse(text, "template", Default::default()) {
            Ok(template) => self.stmt(&template, site, scope),
            Err(error) => {
                let line = error.line().unwrap_or(1).saturating_sub(1);
                let range = error.range().unwrap_or_else(|| line_range(text, line));
                let (reason, help) = match error.detail() {
                    Some(detail) if detail.starts_with("unexpected end of input") => unclosed(text),
                    detail => (detail.unwrap_or("its form is unknown").to_owned(), RAW_HELP.to_owned()),
                };
                let message = format!("this template cannot be read: {reason}");
                self.problem("template/syntax", message, range, site, Some(help));
            }
        }
    }

    fn problem(
        &mut self,
        code: &'static str,
        message: String,
        at: Range<usize>,
        site: Site<'_>,
        help: Option<String>,
    ) {
        let mut problem = Diagnostic::error(code, message, place(at, site)).within(site.file);
        problem.help = help;
        // A file that is included twice is walked twice, and its problems are reported once.
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    fn refuse(&mut self, what: &str, help: &str, span: Span, site: Site<'_>) {
        let message = format!("{what} is not understood here");
        self.problem("template/not-supported", message, range(span), site, Some(help.to_owned()));
    }

    fn stmts<'s>(&mut self, stmts: &[Stmt<'s>], site: Site<'_>, scope: &mut Scope<'s>) {
        stmts.iter().for_each(|stmt| self.stmt(stmt, site, scope));
    }

    fn stmt<'s>(&mut self, stmt: &Stmt<'s>, site: Site<'_>, scope: &mut Scope<'s>) {
        const PLAIN: &str = "templates have `{{ value }}`, `if`, `for` and `include`; braces that are text go between `{% raw %}` and \
                             `{% endraw %}`";
        match stmt {
            Stmt::Template(template) => self.stmts(&template.children, site, scope),
            Stmt::EmitRaw(_) => {}
            Stmt::EmitExpr(emit) => self.expr(&emit.expr, site, scope),
            Stmt::IfCond(cond) => {
                self.expr(&cond.expr, site, scope);
                self.stmts(&cond.true_body, site, scope);
                self.stmts(&cond.false_body, site, scope);
            }
            Stmt::ForLoop(each) => {
                if each.recursive {
                    self.refuse("a recursive `for`", PLAIN, each.span(), site);
                }
                self.iterated(&each.iter, site, scope);
                let outer = scope.len();
                self.bind(&each.target, site, scope);
                scope.push("loop");
                if let Some(filter) = &each.filter_expr {
                    self.expr(filter, site, scope);
                }
                self.stmts(&each.body, site, scope);
                scope.truncate(outer);
                self.stmts(&each.else_body, site, scope);
            }
            Stmt::Include(include) => match &include.name {
                Expr::Const(name) if name.value.as_str().is_some() && !include.ignore_missing => {
                    let at = place(range(name.span()), site);
                    let file = name.value.as_str().unwrap_or_default().to_owned();
                    self.file(&file, site.file, at, scope);
                }
                _ => self.refuse(
                    "an `include` without a fixed file name",
                    "name one file in quotes",
                    include.span(),
                    site,
                ),
            },
            Stmt::Set(set) => self.refuse("`set`", PLAIN, set.span(), site),
            Stmt::SetBlock(set) => self.refuse("`set`", PLAIN, set.span(), site),
            Stmt::WithBlock(with) => self.refuse("`with`", PLAIN, with.span(), site),
            Stmt::AutoEscape(block) => self.refuse("`autoescape`", PLAIN, block.span(), site),
            Stmt::FilterBlock(block) => self.refuse("`filter`", "use `|` in `{{ … }}`", block.span(), site),
            Stmt::Block(block) => self.refuse("`block`", PLAIN, block.span(), site),
            Stmt::Extends(extends) => self.refuse("`extends`", PLAIN, extends.span(), site),
            Stmt::Import(import) => self.refuse("`import`", PLAIN, import.span(), site),
            Stmt::FromImport(import) => self.refuse("`import`", PLAIN, import.span(), site),
            Stmt::Do(call) => self.refuse("`do`", PLAIN, call.span(), site),
        }
    }

    /// Checks the value over which a `for` runs. A value that the template itself computes is refused, because the
    /// loop would give a name to a grown value.
    fn iterated<'s>(&mut self, iter: &Expr<'s>, site: Site<'_>, scope: &Scope<'s>) {
        match iter {
            Expr::Var(_) | Expr::GetAttr(_) | Expr::GetItem(_) => self.expr(iter, site, scope),
            Expr::List(list) if literals(&list.items) => {}
            _ => self.refuse(
                "this `for`",
                "let it run over a value, such as `output.parts`",
                iter.span(),
                site,
            ),
        }
    }

    fn bind<'s>(&mut self, target: &Expr<'s>, site: Site<'_>, scope: &mut Scope<'s>) {
        match target {
            Expr::Var(var) => scope.push(var.id),
            Expr::List(list) => list.items.iter().for_each(|item| self.bind(item, site, scope)),
            Expr::Tuple(tuple) => tuple.items.iter().for_each(|item| self.bind(item, site, scope)),
            _ => self.refuse("this loop variable", "use a plain name", target.span(), site),
        }
    }

    fn expr<'s>(&mut self, expr: &Expr<'s>, site: Site<'_>, scope: &Scope<'s>) {
        const LITERAL: &str = "compare with a number or a text in quotes; to look into text or a list, write `value is \
                               containing(\"x\")`";
        match expr {
            Expr::Const(_) => {}
            Expr::Var(var) => {
                if !scope.contains(&var.id) {
                    let mut help = suggest::help(var.id, "what is known here", scope.iter().copied());
                    if suggest::nearest(var.id, scope.iter().copied()).is_none() {
                        help = format!("{help}; {RAW_HELP}");
                    }
                    let message = format!("`{}` is not known here", var.id);
                    self.problem("template/unknown-name", message, range(var.span()), site, Some(help));
                }
            }
            Expr::GetAttr(get) => {
                self.expr(&get.expr, site, scope);
                if let Expr::Var(var) = &get.expr {
                    self.field(var.id, get.name, get.span(), site, scope);
                }
            }
            Expr::GetItem(get) => {
                self.expr(&get.expr, site, scope);
                // Finding the character at an index takes time in proportion to the index, so the index is bounded.
                let near = |value: &minijinja::Value| {
                    value.as_str().is_some() || value.as_usize().is_some_and(|index| index <= MAX_INDEX)
                };
                if !matches!(&get.subscript_expr, Expr::Const(value) if near(&value.value)) {
                    let help = "write a number from 0 or a name in quotes; or use `|first`, `|last` or `for`";
                    self.refuse("this index", help, get.span(), site);
                }
            }
            Expr::UnaryOp(op) => self.expr(&op.expr, site, scope),
            Expr::IfExpr(cond) => {
                self.expr(&cond.test_expr, site, scope);
                self.expr(&cond.true_expr, site, scope);
                if let Some(other) = &cond.false_expr {
                    self.expr(other, site, scope);
                }
            }
            Expr::BinOp(op) => {
                self.expr(&op.left, site, scope);
                let sides = (literal(&op.left), literal(&op.right));
                match op.op {
                    BinOpKind::ScAnd | BinOpKind::ScOr => self.expr(&op.right, site, scope),
                    BinOpKind::Eq
                    | BinOpKind::Ne
                    | BinOpKind::Lt
                    | BinOpKind::Lte
                    | BinOpKind::Gt
                    | BinOpKind::Gte => {
                        self.expr(&op.right, site, scope);
                        if sides == (false, false) {
                            self.refuse("comparing two values", LITERAL, op.span(), site);
                        }
                    }
                    BinOpKind::In => match &op.right {
                        Expr::List(list) if literals(&list.items) => {}
                        Expr::Tuple(tuple) if literals(&tuple.items) => {}
                        _ => self.refuse("`in` with a value", LITERAL, op.span(), site),
                    },
                    BinOpKind::Add | BinOpKind::Sub if number(&op.left) != number(&op.right) => {
                        self.expr(&op.right, site, scope);
                    }
                    _ => {
                        let help = "templates add and subtract fixed numbers; texts are joined by writing them one after \
                                    the other";
                        self.refuse("this arithmetic", help, op.span(), site);
                    }
                }
            }
            Expr::Compare(compare) => {
                self.expr(&compare.expr, site, scope);
                let mut left = literal(&compare.expr);
                for op in &compare.ops {
                    let right = match (op.op, &op.expr) {
                        (CompareOpKind::In | CompareOpKind::NotIn, Expr::List(list)) => literals(&list.items),
                        (CompareOpKind::In | CompareOpKind::NotIn, Expr::Tuple(tuple)) => {
                            literals(&tuple.items)
                        }
                        (CompareOpKind::In | CompareOpKind::NotIn, _) => false,
                        (_, expr) => {
                            self.expr(expr, site, scope);
                            literal(expr) || left
                        }
                    };
                    if !right {
                        self.refuse("comparing two values", LITERAL, compare.span(), site);
                    }
                    left = literal(&op.expr);
                }
            }
            Expr::Filter(filter) => {
                if !FILTERS.contains(&filter.name) {
                    let help = suggest::help(filter.name, "the filters", FILTERS);
                    let message = format!("there is no filter `{}`", filter.name);
                    self.problem("template/unknown-filter", message, range(filter.span()), site, Some(help));
                }
                if let Some(expr) = &filter.expr {
                    self.expr(expr, site, scope);
                }
                self.args(&filter.args, filter.span(), site, scope);
            }
            Expr::Test(test) => {
                if !TESTS.contains(&test.name) {
                    let help = suggest::help(test.name, "the tests", TESTS);
                    let message = format!("there is no test `{}`", test.name);
                    self.problem("template/unknown-test", message, range(test.span()), site, Some(help));
                }
                self.expr(&test.expr, site, scope);
                self.args(&test.args, test.span(), site, scope);
            }
            Expr::Slice(slice) => {
                self.refuse("a slice", "use `|truncate(80)`, `|first` or `|last`", slice.span(), site)
            }
            Expr::Call(call) => {
                self.refuse("a call", "templates have filters (`value|upper`)", call.span(), site)
            }
            Expr::List(_) | Expr::Tuple(_) | Expr::Map(_) => {
                self.refuse(
                    "a list or map made here",
                    "use a value, such as `output.parts`",
                    expr.span(),
                    site,
                );
            }
        }
    }

    /// Checks a field of a variable whose fields are known. Skips the check if a loop variable has the same name.
    fn field(&mut self, var: &str, name: &str, span: Span, site: Site<'_>, scope: &Scope<'_>) {
        if scope.iter().filter(|known| **known == var).count() != 1 {
            return;
        }
        let Some(fields) = self.fields.get(var).filter(|fields| !fields.iter().any(|field| field == name))
        else {
            return;
        };
        let help = suggest::help(name, "its fields", fields.iter().map(String::as_str));
        let message = format!("`{var}` has no field `{name}`");
        self.problem("template/unknown-field", message, range(span), site, Some(help));
    }

    fn args<'s>(&mut self, args: &[CallArg<'s>], span: Span, site: Site<'_>, scope: &Scope<'s>) {
        for arg in args {
            match arg {
                CallArg::Pos(Expr::List(list)) if literals(&list.items) => {}
                CallArg::Pos(expr) => self.expr(expr, site, scope),
                _ => self.refuse("a named argument", "give the arguments in order", span, site),
            }
        }
    }
}

/// Returns the reason why a file with this name is not included, whether the file exists or not.
fn unfit(name: &str) -> Option<&'static str> {
    if name.is_empty() || name.len() > 255 {
        Some("this is not the name of a file")
    } else if name.contains(|c: char| c.is_control() || c == '\\' || c == ':') {
        Some("a name is letters, digits, `-`, `_`, `.` and `/`")
    } else if name.starts_with('/') {
        Some("the name must be relative to the worker file")
    } else if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
        Some("it must lie in the directory of the worker file, or below it")
    } else {
        None
    }
}

fn literal(expr: &Expr<'_>) -> bool {
    match expr {
        Expr::Const(_) => true,
        Expr::UnaryOp(op) => literal(&op.expr),
        _ => false,
    }
}

fn number(expr: &Expr<'_>) -> bool {
    matches!(expr, Expr::Const(value) if value.value.is_number())
}

fn literals(items: &[Expr<'_>]) -> bool {
    items.iter().all(literal)
}

fn place(at: Range<usize>, site: Site<'_>) -> Range<usize> {
    match site.offset {
        Ok(offset) => offset + at.start..offset + at.end.max(at.start),
        Err((start, end)) => start..end,
    }
}

/// Returns the byte range of a line, without its end. Lines are counted from 0.
fn line_range(text: &str, line: usize) -> Range<usize> {
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let rest = text.get(start..).unwrap_or_default();
    start..start + rest.find(['\r', '\n']).unwrap_or(rest.len())
}

/// Returns the reason why a template ends too early, and the advice.
fn unclosed(text: &str) -> (String, String) {
    let mut open = Vec::new();
    for block in text.split("{%").skip(1) {
        let word = block.trim_start_matches(['-', '+', ' ', '\n', '\r', '\t']);
        match word.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default() {
            word @ ("for" | "if") => open.push(word),
            "endfor" | "endif" => drop(open.pop()),
            _ => {}
        }
    }
    match open.last() {
        Some(word) => (
            format!("`{{% {word} … %}}` is not closed"),
            format!("close it with `{{% end{word} %}}`; {RAW_HELP}"),
        ),
        None => ("its end is missing".to_owned(), RAW_HELP.to_owned()),
    }
}

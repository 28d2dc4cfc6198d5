//! The tracking of a slot through a program.

use std::collections::BTreeSet;

use oxc_ast::AstKind;
use oxc_ast::ast::{
    Argument, AssignmentTarget, BinaryOperator, BindingPattern, CallExpression, Expression, FormalParameters,
    IdentifierReference, LogicalOperator, ObjectPattern, Statement, UnaryOperator,
};
use oxc_semantic::{NodeId, Semantic, SymbolId};
use oxc_span::{GetSpan, Span};

use crate::{SlotUse, Uses};

/// The method name for a slot that is called like a function.
const SELF_CALL: &str = "(itself)";

/// Functions that every program has, and that return their argument.
const IDENTITY_FUNCTIONS: [&str; 2] = ["harden", "E"];

/// Methods of global objects that return their argument, as object and method.
const IDENTITY_METHODS: [(&str, &str); 4] =
    [("E", "get"), ("E", "sendOnly"), ("E", "resolve"), ("Promise", "resolve")];

/// The maximum number of aliases that are followed for one name.
const MAX_ALIASES: usize = 16;

/// Returns all uses that a program makes of its slots, and its undeclared names.
pub(crate) fn all(semantic: &Semantic<'_>, slots: &[&str]) -> Uses {
    let scoping = semantic.scoping();
    let unresolved = scoping.root_unresolved_references();
    let has_arguments = unresolved.keys().any(|name| name.as_str() == "arguments");
    let mut uses = Uses::default();
    for (name, references) in unresolved {
        let name = name.as_str();
        if !slots.contains(&name) {
            uses.free.insert(name.to_owned());
            continue;
        }
        let mut one = SlotTracker {
            semantic,
            slots,
            has_arguments,
            seen: BTreeSet::new(),
            next: Vec::new(),
            found: SlotUse::default(),
        };
        let references = references.iter().map(|one| scoping.get_reference(*one).node_id());
        one.next.extend(references.map(Step::Node));
        one.run();
        uses.slots.insert(name.to_owned(), one.found);
    }
    uses
}

/// A place in the program whose value may be the slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The value of an expression.
    Node(NodeId),
    /// The value of a name that the text declares.
    Symbol(SymbolId),
}

/// The tracking of one slot, and the uses that have been found.
struct SlotTracker<'s, 'a> {
    semantic: &'s Semantic<'a>,
    slots: &'s [&'s str],
    /// Whether a function of the program reads its arguments by `arguments`, without naming them.
    has_arguments: bool,
    seen: BTreeSet<Step>,
    next: Vec<Step>,
    found: SlotUse,
}

impl<'a> SlotTracker<'_, 'a> {
    fn run(&mut self) {
        while let Some(step) = self.next.pop() {
            if !self.seen.insert(step) {
                continue;
            }
            match step {
                Step::Node(node) => self.visit_expression(node),
                Step::Symbol(symbol) => {
                    let references = self.semantic.symbol_references(symbol).filter(|one| one.is_read());
                    let all: Vec<Step> = references.map(|one| Step::Node(one.node_id())).collect();
                    self.next.extend(all);
                }
            }
        }
    }

    fn kind(&self, node: NodeId) -> AstKind<'a> {
        self.semantic.nodes().kind(node)
    }

    /// Records how the program uses the value of this expression, which may be the slot.
    fn visit_expression(&mut self, node: NodeId) {
        let span = self.kind(node).span();
        let above = self.semantic.nodes().parent_id(node);
        let at = |other: &dyn GetSpan| other.span() == span;
        match self.kind(above) {
            AstKind::ChainExpression(_)
            | AstKind::ParenthesizedExpression(_)
            | AstKind::AwaitExpression(_) => {
                self.next.push(Step::Node(above));
            }
            AstKind::SequenceExpression(several) => {
                if several.expressions.last().is_some_and(|last| at(last)) {
                    self.next.push(Step::Node(above));
                }
            }
            AstKind::ConditionalExpression(choice) => {
                if !at(&choice.test) {
                    self.next.push(Step::Node(above));
                }
            }
            AstKind::LogicalExpression(both) => {
                // The value of `a && b` is `a` only if `a` is falsy, and a slot never is.
                if !(at(&both.left) && both.operator == LogicalOperator::And) {
                    self.next.push(Step::Node(above));
                }
            }
            // The value is only tested or compared, which is no use of the slot.
            AstKind::UnaryExpression(one)
                if matches!(
                    one.operator,
                    UnaryOperator::Typeof | UnaryOperator::LogicalNot | UnaryOperator::Void
                ) => {}
            AstKind::BinaryExpression(two)
                if two.operator.is_equality() || two.operator == BinaryOperator::Instanceof => {}
            AstKind::IfStatement(_)
            | AstKind::WhileStatement(_)
            | AstKind::DoWhileStatement(_)
            | AstKind::ForStatement(_)
            | AstKind::SwitchStatement(_)
            | AstKind::SwitchCase(_) => {}
            AstKind::ExpressionStatement(_) => {
                if self.may_be_result(above) {
                    self.found.elsewhere = true;
                }
            }
            AstKind::VariableDeclarator(declared) => self.visit_binding(&declared.id),
            AstKind::FormalParameter(parameter) => self.visit_binding(&parameter.pattern),
            AstKind::AssignmentPattern(pattern) => self.visit_binding(&pattern.left),
            AstKind::AssignmentExpression(assigned) => {
                if at(&assigned.right) {
                    self.visit_assignment(&assigned.left);
                    self.next.push(Step::Node(above));
                } else {
                    self.found.elsewhere = true;
                }
            }
            AstKind::StaticMemberExpression(member) => {
                self.visit_member(above, Some(member.property.name.as_str()))
            }
            AstKind::ComputedMemberExpression(member) if at(&member.object) => {
                let name = member.static_property_name();
                self.visit_member(above, name.as_ref().map(|name| name.as_str()));
            }
            AstKind::CallExpression(call) => {
                if at(&call.callee) {
                    self.found.methods.insert(SELF_CALL.to_owned());
                } else {
                    self.visit_argument(above, call, span);
                }
            }
            AstKind::NewExpression(made) if at(&made.callee) => {
                self.found.methods.insert(SELF_CALL.to_owned());
            }
            AstKind::TaggedTemplateExpression(tagged) if at(&tagged.tag) => {
                self.found.methods.insert(SELF_CALL.to_owned());
            }
            _ => self.found.elsewhere = true,
        }
    }

    /// Returns whether the value of a statement may be the result of the program. That is the value of the last
    /// statement, at any depth.
    fn may_be_result(&self, statement: NodeId) -> bool {
        let nodes = self.semantic.nodes();
        if let AstKind::Program(program) = nodes.parent_kind(statement) {
            let end = nodes.kind(statement).span().end;
            let later = program.body.iter().filter(|other| other.span().start >= end);
            return !later.into_iter().any(|other| matches!(other, Statement::ExpressionStatement(_)));
        }
        !nodes.ancestor_kinds(statement).any(|kind| {
            matches!(
                kind,
                AstKind::Function(_) | AstKind::ArrowFunctionExpression(_) | AstKind::StaticBlock(_)
            )
        })
    }

    /// Follows a binding: the value gets a name, or parts of it get names.
    fn visit_binding(&mut self, to: &BindingPattern<'a>) {
        match to {
            BindingPattern::BindingIdentifier(name) => self.next.push(Step::Symbol(name.symbol_id())),
            BindingPattern::ObjectPattern(parts) => self.visit_destructuring(parts),
            BindingPattern::AssignmentPattern(or) => self.visit_binding(&or.left),
            BindingPattern::ArrayPattern(_) => self.found.elsewhere = true,
        }
    }

    fn visit_destructuring(&mut self, parts: &ObjectPattern<'a>) {
        for part in &parts.properties {
            match part.key.static_name() {
                Some(name) => drop(self.found.methods.insert(name.into_owned())),
                None => self.found.elsewhere = true,
            }
        }
        if parts.rest.is_some() {
            self.found.elsewhere = true;
        }
    }

    fn visit_assignment(&mut self, to: &AssignmentTarget<'a>) {
        let symbol = match to {
            AssignmentTarget::AssignmentTargetIdentifier(name) => {
                name.reference_id.get().and_then(|id| self.semantic.scoping().get_reference(id).symbol_id())
            }
            _ => None,
        };
        match symbol {
            Some(symbol) => self.next.push(Step::Symbol(symbol)),
            None => self.found.elsewhere = true,
        }
    }

    /// Records a method that is named on the value; `name` is `None` if the name is computed.
    fn visit_member(&mut self, member: NodeId, name: Option<&str>) {
        let Some(name) = name else {
            self.found.elsewhere = true;
            return;
        };
        let nodes = self.semantic.nodes();
        let span = self.kind(member).span();
        // The argument of the callback of `then` is the same object.
        if name == "then"
            && let AstKind::CallExpression(call) = nodes.parent_kind(member)
            && call.callee.span() == span
            && let Some(parameters) = call.arguments.first().and_then(|first| self.function(first))
        {
            return self.visit_parameter(parameters, 0);
        }
        self.found.methods.insert(name.to_owned());
        match nodes.parent_kind(member) {
            AstKind::AssignmentExpression(assigned) if assigned.left.span() == span => {
                self.found.elsewhere = true
            }
            AstKind::UpdateExpression(_) => self.found.elsewhere = true,
            AstKind::UnaryExpression(one) if one.operator == UnaryOperator::Delete => {
                self.found.elsewhere = true
            }
            _ => {}
        }
    }

    /// Follows the value as an argument of a call, into a parameter or to the method that gets it.
    fn visit_argument(&mut self, above: NodeId, call: &CallExpression<'a>, span: Span) {
        let Some(at) = call.arguments.iter().position(|one| one.span() == span) else {
            self.found.elsewhere = true;
            return;
        };
        if call.arguments.iter().take(at).any(Argument::is_spread) {
            self.found.elsewhere = true;
            return;
        }
        if at == 0 && self.gives_the_same(&call.callee) {
            self.next.push(Step::Node(above));
            return;
        }
        if let Some((object, method)) = member_of(&call.callee) {
            if self.is_global(object, "E") && method == "when" {
                let then = call.arguments.get(1).and_then(|then| self.function(then));
                match then {
                    Some(parameters) => self.visit_parameter(parameters, 0),
                    None => self.found.elsewhere = true,
                }
                return;
            }
            match self.slot(object) {
                Some(slot) => drop(self.found.given.insert(format!("{slot}.{method}"))),
                None => self.found.elsewhere = true,
            }
            return;
        }
        match self.parameters_of(&call.callee) {
            Some(parameters) if !self.has_arguments => self.visit_parameter(parameters, at),
            _ => self.found.elsewhere = true,
        }
    }

    fn gives_the_same(&self, callee: &Expression<'a>) -> bool {
        match member_of(callee) {
            Some((object, method)) => {
                IDENTITY_METHODS.iter().any(|(of, own)| *own == method && self.is_global(object, of))
            }
            None => IDENTITY_FUNCTIONS.iter().any(|name| self.is_global(callee, name)),
        }
    }

    /// Returns whether an expression is the global of this name. An alias of the global counts too.
    fn is_global(&self, what: &Expression<'a>, name: &str) -> bool {
        let mut what = what.get_inner_expression();
        for _ in 0..MAX_ALIASES {
            let Expression::Identifier(own) = what else { return false };
            if self.semantic.is_reference_to_global_variable(own) {
                return own.name == name && !self.slots.contains(&name);
            }
            match self.sole_declaration(own) {
                Some(AstKind::VariableDeclarator(declared)) if declared.id.is_binding_identifier() => {
                    let Some(init) = &declared.init else { return false };
                    what = init.get_inner_expression();
                }
                _ => return false,
            }
        }
        false
    }

    /// Returns the declaration of a name, if the name never stands for anything else.
    fn sole_declaration(&self, name: &IdentifierReference<'a>) -> Option<AstKind<'a>> {
        let scoping = self.semantic.scoping();
        let symbol = scoping.get_reference(name.reference_id.get()?).symbol_id()?;
        let is_one = !scoping.symbol_is_mutated(symbol) && scoping.symbol_redeclarations(symbol).is_empty();
        is_one.then(|| self.kind(scoping.symbol_declaration(symbol)))
    }

    /// Returns the name of the slot that an expression stands for. Returns `None` if the text does not plainly show
    /// that.
    fn slot(&self, what: &Expression<'a>) -> Option<&'a str> {
        let mut what = what;
        loop {
            match what.get_inner_expression() {
                Expression::AwaitExpression(waits) => what = &waits.argument,
                Expression::CallExpression(call) if self.gives_the_same(&call.callee) => {
                    what = call.arguments.first()?.as_expression()?;
                }
                Expression::Identifier(own) => {
                    let is_slot = self.slots.contains(&own.name.as_str())
                        && self.semantic.is_reference_to_global_variable(own);
                    return is_slot.then_some(own.name.as_str());
                }
                _ => return None,
            }
        }
    }

    /// Returns the parameters of a function that is given as an argument, directly or by its name.
    fn function(&self, argument: &Argument<'a>) -> Option<&'a FormalParameters<'a>> {
        self.parameters_of(argument.as_expression()?).filter(|_| !self.has_arguments)
    }

    /// Returns the parameters of a function. The expression is a function, or a name that always stands for the same
    /// function.
    fn parameters_of(&self, what: &Expression<'a>) -> Option<&'a FormalParameters<'a>> {
        let kind = match what.get_inner_expression() {
            Expression::Identifier(name) => self.sole_declaration(name)?,
            Expression::ArrowFunctionExpression(arrow) => self.kind(arrow.node_id.get()),
            Expression::FunctionExpression(function) => self.kind(function.node_id.get()),
            _ => return None,
        };
        match kind {
            AstKind::Function(function) => Some(&function.params),
            AstKind::ArrowFunctionExpression(arrow) => Some(&arrow.params),
            AstKind::VariableDeclarator(declared) if declared.id.is_binding_identifier() => {
                match declared.init.as_ref()?.get_inner_expression() {
                    Expression::ArrowFunctionExpression(arrow) => Some(&arrow.params),
                    Expression::FunctionExpression(function) => Some(&function.params),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Follows the value into the parameter at this position.
    fn visit_parameter(&mut self, all: &'a FormalParameters<'a>, at: usize) {
        match all.items.get(at) {
            Some(parameter) => self.visit_binding(&parameter.pattern),
            None if all.rest.is_some() => self.found.elsewhere = true,
            // The function ignores the argument.
            None => {}
        }
    }
}

/// Returns the object and the method name of a callee. Returns `None` if it is no method, or its name is computed.
fn member_of<'e, 'a>(callee: &'e Expression<'a>) -> Option<(&'e Expression<'a>, &'e str)> {
    let member = callee.get_inner_expression().as_member_expression()?;
    Some((member.object(), member.static_property_name()?))
}

//! References, calls, and what sides are told to do.

use passable::{Symbol, Text, Value};

/// A live reference: an object or a promise, whoever has it. Never used again for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ref(pub(crate) u64);

/// Whoever has objects, or uses those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Side(pub(crate) u64);

/// What a side calls one of its own objects or promises.
pub type Key = u64;

/// What became of a promise: a value, or the error with which it was broken.
pub type Outcome = Result<Value<Ref>, Value<Ref>>;

/// The name of a method or a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// Text.
    Text(Text),
    /// A symbol.
    Symbol(Symbol),
}

impl Name {
    /// The name, if it is well-formed text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Name::Text(text) => text.as_str(),
            Name::Symbol(_) => None,
        }
    }

    /// The name as error messages show it.
    pub fn shown(&self) -> String {
        match self {
            Name::Text(text) => format!("{:?}", text.to_str_lossy()),
            Name::Symbol(symbol) => format!("\"[Symbol({})]\"", symbol.name().to_str_lossy()),
        }
    }
}

/// What is asked of a reference.
#[derive(Clone, Debug)]
pub enum Call<C> {
    /// A property.
    Get(Name),
    /// What it does as a function.
    Apply(Vec<Value<C>>),
    /// What one of its methods does.
    Method(Name, Vec<Value<C>>),
}

impl<C> Call<C> {
    /// The arguments.
    pub fn args(&self) -> &[Value<C>] {
        match self {
            Call::Get(_) => &[],
            Call::Apply(args) | Call::Method(_, args) => args,
        }
    }

    /// The same call with every reference exchanged, or the first error in doing so.
    ///
    /// # Errors
    /// Those of `exchange`.
    pub fn try_map_references<D, E>(
        &self,
        exchange: &mut impl FnMut(&C) -> Result<D, E>,
    ) -> Result<Call<D>, E> {
        let mut all = |args: &[Value<C>]| {
            args.iter().map(|value| value.try_map_references(exchange)).collect::<Result<Vec<_>, E>>()
        };
        Ok(match self {
            Call::Get(name) => Call::Get(name.clone()),
            Call::Apply(args) => Call::Apply(all(args)?),
            Call::Method(name, args) => Call::Method(name.clone(), all(args)?),
        })
    }
}

impl Call<Ref> {
    /// Every reference that the call mentions, repeats included.
    pub(crate) fn mentions(&self) -> Vec<Ref> {
        self.args().iter().flat_map(Value::references).copied().collect()
    }
}

/// To what a call is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// One of the side's objects.
    Object(Key),
    /// A promise that the side decides, before it is settled.
    Promise(Ref),
}

/// What a side is told.
#[derive(Clone, Debug)]
pub enum Action {
    /// A call has come; its answer is to be settled with [`crate::Switchboard::resolve`].
    Deliver {
        /// To what.
        to: To,
        /// What is asked.
        call: Call<Ref>,
        /// The promise for the answer, which the side decides.
        answer: Ref,
    },
    /// A promise that the side watches has settled.
    Settled {
        /// What the side called it when it began to watch.
        tag: u64,
        /// What became of it. Never a promise.
        outcome: Outcome,
    },
    /// Nobody refers any more to one of the side's objects or promises: it is forgotten here.
    Released {
        /// Which.
        key: Key,
    },
}

impl Action {
    pub(crate) fn mentions(&self) -> Vec<Ref> {
        match self {
            Action::Deliver { to: To::Promise(promise), call, .. } => {
                let mut all = call.mentions();
                all.push(*promise);
                all
            }
            Action::Deliver { call, .. } => call.mentions(),
            Action::Settled { outcome, .. } => mentions(outcome),
            Action::Released { .. } => vec![],
        }
    }
}

/// Every reference in an outcome, repeats included.
pub(crate) fn mentions(outcome: &Outcome) -> Vec<Ref> {
    let (Ok(value) | Err(value)) = outcome;
    value.references().into_iter().copied().collect()
}

//! References, calls, and the actions of sides.

use passable::{Symbol, Text, Value};

/// A live reference: an object or a promise of any side. It is never used again for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ref(pub(crate) u64);

/// A party that has objects, or uses those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Side(pub(crate) u64);

/// The key by which a side knows one of its own objects or promises.
pub type Key = u64;

/// The outcome of a promise: a value, or the error with which it was broken.
pub type Outcome = Result<Value<Ref>, Value<Ref>>;

/// The name of a method or a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// Text as a value.
    Text(Text),
    /// A symbol.
    Symbol(Symbol),
}

impl Name {
    /// Returns the name, if it is well-formed text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Name::Text(text) => text.as_str(),
            Name::Symbol(_) => None,
        }
    }

    /// Returns the name as error messages show it.
    pub fn shown(&self) -> String {
        match self {
            Name::Text(text) => format!("{:?}", text.to_str_lossy()),
            Name::Symbol(symbol) => format!("\"[Symbol({})]\"", symbol.name().to_str_lossy()),
        }
    }
}

/// A call on a reference.
#[derive(Clone, Debug)]
pub enum Call<C> {
    /// A property.
    Get(Name),
    /// A call of it as a function.
    Apply(Vec<Value<C>>),
    /// A call of one of its methods.
    Method(Name, Vec<Value<C>>),
}

impl<C> Call<C> {
    /// Returns the arguments.
    pub fn args(&self) -> &[Value<C>] {
        match self {
            Call::Get(_) => &[],
            Call::Apply(args) | Call::Method(_, args) => args,
        }
    }

    /// Returns the same call with every reference exchanged, or the first error in doing so.
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
    /// Returns every reference that the call mentions, repeats included.
    pub(crate) fn mentions(&self) -> Vec<Ref> {
        self.args().iter().flat_map(Value::references).copied().collect()
    }
}

/// The target to which a call is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallTarget {
    /// One of the side's objects.
    Object(Key),
    /// A promise that the side decides, before it is settled.
    Promise(Ref),
}

/// An action that a side must take.
#[derive(Clone, Debug)]
pub enum Action {
    /// A call has come; its answer is to be settled with [`crate::Switchboard::resolve`].
    Deliver {
        /// The target.
        to: CallTarget,
        /// The call.
        call: Call<Ref>,
        /// The promise for the answer, which the side decides.
        answer: Ref,
    },
    /// A promise that the side watches has settled.
    Settled {
        /// The tag that the side gave when it began to watch.
        tag: u64,
        /// The outcome of the promise. Never a promise.
        outcome: Outcome,
    },
    /// No side refers any more to one of the side's objects or promises: it is forgotten here.
    Released {
        /// Which.
        key: Key,
    },
}

impl Action {
    pub(crate) fn mentions(&self) -> Vec<Ref> {
        match self {
            Action::Deliver { to: CallTarget::Promise(promise), call, .. } => {
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

/// Returns every reference in an outcome, repeats included.
pub(crate) fn mentions(outcome: &Outcome) -> Vec<Ref> {
    let (Ok(value) | Err(value)) = outcome;
    value.references().into_iter().copied().collect()
}

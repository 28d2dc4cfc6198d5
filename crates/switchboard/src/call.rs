//! References, calls, and the actions of sides.

use passable::{Symbol, Text, Value};

/// A live reference to an object or a promise of any side. A number is never used for another reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ref(pub(crate) u64);

/// A side: a party that has objects, or uses the objects of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Side(pub(crate) u64);

/// The key by which a side knows one of its own objects or promises.
pub type Key = u64;

/// The outcome of a promise: a value, or the error with which it was broken.
pub type Outcome = Result<Value<Ref>, Value<Ref>>;

/// The name of a method or a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// A text.
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

    /// Returns the name in the form that error messages use.
    pub fn shown(&self) -> String {
        match self {
            Name::Text(text) => format!("{:?}", text.to_str_lossy()),
            Name::Symbol(symbol) => format!("\"[Symbol({})]\"", symbol.name().to_str_lossy()),
        }
    }
}

/// An operation on a reference.
#[derive(Clone, Debug)]
pub enum Call<C> {
    /// The read of a property.
    Get(Name),
    /// The call of the reference as a function.
    Apply(Vec<Value<C>>),
    /// The call of a method.
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

    /// Returns the same call with every reference replaced by the result of `exchange`.
    ///
    /// # Errors
    /// The first error of `exchange`.
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
    /// Returns every reference that the call mentions. A repeated reference is returned each time.
    pub(crate) fn mentions(&self) -> Vec<Ref> {
        self.args().iter().flat_map(Value::references).copied().collect()
    }
}

/// The target to which a call is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallTarget {
    /// One of the side's objects.
    Object(Key),
    /// A promise that the side owns and has not settled yet.
    Promise(Ref),
}

/// An action that a side must take.
#[derive(Clone, Debug)]
pub enum Action {
    /// A call was sent to the side. The side must settle its answer with [`crate::Switchboard::resolve`].
    Deliver {
        /// The target.
        to: CallTarget,
        /// The call.
        call: Call<Ref>,
        /// The promise for the answer, which the side owns.
        answer: Ref,
    },
    /// A promise that the side watches has settled.
    Settled {
        /// The tag that the side gave when it began to watch.
        tag: u64,
        /// The outcome of the promise, which is never another promise.
        outcome: Outcome,
    },
    /// No side refers any more to one of the side's objects or promises, so the table has forgotten it.
    Released {
        /// The side's key for the object or promise.
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

/// Returns every reference in an outcome. A repeated reference is returned each time.
pub(crate) fn mentions(outcome: &Outcome) -> Vec<Ref> {
    let (Ok(value) | Err(value)) = outcome;
    value.references().into_iter().copied().collect()
}

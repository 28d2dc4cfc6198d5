//! The functions of the realm's own code that the host calls. The prelude returns them when it has run.

use rquickjs::function::IntoArgs;
use rquickjs::{Ctx, FromJs, Function, Object, Persistent, Result};

macro_rules! kit {
    ($($(#[$doc:meta])* $name:ident $key:literal)*) => {
        /// The prelude's functions, kept between turns.
        pub(crate) struct Kit {
            $($(#[$doc])* pub(crate) $name: Persistent<Function<'static>>,)*
            pub(crate) object_prototype: Persistent<Object<'static>>,
            pub(crate) array_prototype: Persistent<Object<'static>>,
            pub(crate) tagged_prototype: Persistent<Object<'static>>,
            pub(crate) cancelled: Persistent<Object<'static>>,
        }

        impl Kit {
            pub(crate) fn take<'js>(ctx: &Ctx<'js>, given: &Object<'js>) -> Result<Kit> {
                let object = |key: &str| -> Result<_> { Ok(Persistent::save(ctx, given.get::<_, Object<'js>>(key)?)) };
                Ok(Kit {
                    $($name: Persistent::save(ctx, given.get::<_, Function<'js>>($key)?),)*
                    object_prototype: object("objectPrototype")?,
                    array_prototype: object("arrayPrototype")?,
                    tagged_prototype: object("taggedPrototype")?,
                    cancelled: object("cancelled")?,
                })
            }
        }
    };
}

kit! {
    remotable_slot "remotableSlot"
    promise_slot "promiseSlot"
    remotable_number "remotableNumber"
    identity "identity"
    error_parts "errorParts"
    symbol_name "symbolName"
    presence "presence"
    promise_at "promiseAt"
    make_tagged "makeTagged"
    error_of "errorOf"
    symbol_of "symbolOf"
    tagged_parts "taggedParts"
    bigint "bigint"
    evaluate "evaluate"
    make "make"
    refused "refused"
    deliver "deliver"
    settle "settle"
    release "release"
    forget "forget"
    cancel "cancel"
}

/// Calls one of the prelude's functions.
pub(crate) fn call<'js, A: IntoArgs<'js>, R: FromJs<'js>>(
    ctx: &Ctx<'js>,
    function: &Persistent<Function<'static>>,
    args: A,
) -> Result<R> {
    function.clone().restore(ctx)?.call(args)
}

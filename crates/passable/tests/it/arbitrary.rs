//! Random values and patterns, and random values that match a given pattern.

use num_bigint::BigInt;
use passable::{
    ArgGuard, CallKind, Comparison, DefaultGuards, InterfaceGuard, Limit, Limits, Matcher, MethodGuard,
    Pattern, Refinement, Symbol, Text, Value,
};
use proptest::prelude::*;
use proptest::test_runner::TestRng;

pub(crate) type V = Value<String>;
pub(crate) type P = Pattern<String>;

/// Returns how often each law is tried: 1,000 times, or as `ALMONER_LAW_CASES` or `PROPTEST_CASES` says. The deep check
/// asks for 10,000.
pub(crate) fn cases() -> ProptestConfig {
    let own = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_some() {
        return own;
    }
    let said = std::env::var("ALMONER_LAW_CASES").ok();
    let cases = said.map_or(1_000, |text| text.parse().expect("a number of cases"));
    ProptestConfig { cases, ..own }
}

pub(crate) fn text() -> impl Strategy<Value = Text> {
    prop_oneof![
        4 => "[a-c]{0,2}".prop_map(Text::from),
        1 => prop::sample::select(vec!["", "1", "10", "9", "-1", "!x", "#tag", "@qclass", "__proto__", "a b", "^_!"])
            .prop_map(Text::from),
        1 => any::<String>().prop_map(Text::from),
        1 => prop::collection::vec(any::<u16>(), 0..4).prop_map(Text::from_utf16),
        1 => prop::collection::vec(0xD700..0xE100u16, 0..4).prop_map(Text::from_utf16),
    ]
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), (-9i32..9).prop_map(f64::from), Just(f64::NAN), Just(-0.0), Just(f64::INFINITY)]
}

fn bigint() -> impl Strategy<Value = BigInt> {
    prop_oneof![(-9i64..120).prop_map(BigInt::from), any::<i128>().prop_map(BigInt::from)]
}

fn atom() -> impl Strategy<Value = V> {
    prop_oneof![
        Just(Value::Undefined),
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number().prop_map(Value::Number),
        bigint().prop_map(Value::bigint),
        text().prop_map(Value::String),
        text().prop_map(Value::String),
        prop::collection::vec(any::<u8>(), 0..4).prop_map(Value::bytes),
        prop::sample::select(vec!["foo", "@@iterator", "@@@@x", ""])
            .prop_map(|name| Value::symbol(name).unwrap()),
    ]
}

fn unique(fields: Vec<(Text, V)>) -> Vec<(Text, V)> {
    let mut seen = std::collections::HashSet::new();
    fields.into_iter().filter(|(name, _)| seen.insert(name.clone())).collect()
}

/// Values that are keys, with references if `refs`.
pub(crate) fn key(refs: bool) -> BoxedStrategy<V> {
    let remotable = prop::sample::select(vec!["r0", "r1"]).prop_map(|r| Value::remotable(r.to_owned()));
    let leaf = if refs { prop_oneof![8 => atom(), 1 => remotable].boxed() } else { atom().boxed() };
    leaf.prop_recursive(3, 16, 3, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            list.clone().prop_map(Value::array),
            prop::collection::vec((text(), inner.clone()), 0..4)
                .prop_map(|f| Value::record(unique(f)).unwrap()),
            list.clone().prop_map(|keys| Value::set(keys.clone()).unwrap_or_else(|_| Value::array(keys))),
            prop::collection::vec((inner.clone(), 1..4u8), 0..3)
                .prop_map(
                    |keys| Value::bag(keys.into_iter().map(|(k, n)| (k, n.into()))).unwrap_or(Value::Null)
                ),
            prop::collection::vec((inner.clone(), inner), 0..3)
                .prop_map(|entries| Value::map(entries).unwrap_or(Value::Null)),
        ]
    })
    .boxed()
}

/// Generates any value, with references if `refs` is set.
pub(crate) fn value(refs: bool) -> BoxedStrategy<V> {
    let promise = prop::sample::select(vec!["?0", "?1"]).prop_map(|r| Value::promise(r.to_owned()));
    let error = (text(), text()).prop_map(|(name, message)| Value::error(name, message));
    let leaf = if refs {
        prop_oneof![8 => key(true), 1 => promise, 1 => error].boxed()
    } else {
        prop_oneof![8 => key(false), 1 => error].boxed()
    };
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::array),
            prop::collection::vec((text(), inner.clone()), 0..4)
                .prop_map(|f| Value::record(unique(f)).unwrap()),
            (text(), inner).prop_map(|(tag, payload)| Value::tagged(tag, payload)),
        ]
    })
    .boxed()
}

fn limits(limit: Limit) -> impl Strategy<Value = Limits> {
    prop_oneof![3 => Just(Limits::none()), 1 => (0..5u8).prop_map(move |most| Limits::from_pairs([(limit, most.into())]))]
}

fn simple_pattern() -> impl Strategy<Value = P> {
    prop_oneof![
        Just(Pattern::any()),
        Just(Pattern::scalar()),
        Just(Pattern::key()),
        Just(Pattern::pattern()),
        Just(Pattern::bool()),
        Just(Pattern::number()),
        Just(Pattern::integer()),
        Just(Pattern::undefined()),
        Just(Pattern::null()),
        Just(Pattern::error()),
        limits(Limit::DecimalDigits).prop_map(Pattern::bigint_within),
        limits(Limit::DecimalDigits).prop_map(Pattern::nat_within),
        limits(Limit::StringLength).prop_map(Pattern::string_within),
        limits(Limit::SymbolNameLength).prop_map(Pattern::symbol_within),
        limits(Limit::ByteLength).prop_map(Pattern::bytes_within),
        prop::sample::select(vec![
            "copyArray",
            "copySet",
            "copyBag",
            "copyMap",
            "copyRecord",
            "byteArray",
            "odd"
        ])
        .prop_map(Pattern::kind),
        (-5..5i8, 0..5i8).prop_map(|(low, span)| Pattern::between(low.into(), (low + span).into())),
        prop::sample::select(vec![
            Refinement::Date,
            Refinement::Email,
            Refinement::Secret,
            Refinement::Integer
        ])
        .prop_map(Pattern::refine),
        key(false).prop_map(|key| Pattern::literal(key).unwrap()),
        (
            prop::sample::select(vec![Comparison::Lt, Comparison::Lte, Comparison::Gte, Comparison::Gt]),
            atom()
        )
            .prop_map(|(comparison, key)| Pattern::compare(comparison, key).unwrap()),
        prop::collection::vec("[a-c]{1,2}", 1..4).prop_map(Pattern::one_of),
    ]
}

/// Patterns without references.
pub(crate) fn pattern() -> BoxedStrategy<P> {
    simple_pattern()
        .prop_recursive(3, 12, 3, |inner| {
            let list = prop::collection::vec(inner.clone(), 0..3);
            let fields = prop::collection::vec((text(), inner.clone()), 0..3)
                .prop_map(|fields| {
                    let mut seen = std::collections::HashSet::new();
                    fields.into_iter().filter(|(name, _)| seen.insert(name.clone())).collect::<Vec<_>>()
                })
                .boxed();
            let rest = prop_oneof![
                Just(None),
                Just(Some(Pattern::empty_record())),
                Just(Some(Pattern::tuple([]))),
                inner.clone().prop_map(|part| Some(Pattern::record_of(Pattern::string(), part))),
                inner.clone().prop_map(|part| Some(Pattern::array_of(part))),
            ];
            prop_oneof![
                list.clone().prop_map(Pattern::and),
                list.clone().prop_map(Pattern::or),
                inner.clone().prop_map(Pattern::opt),
                inner.clone().prop_map(Pattern::not),
                (inner.clone(), limits(Limit::ArrayLength)).prop_map(|(p, l)| Pattern::array_of_within(p, l)),
                (inner.clone(), limits(Limit::NumSetElements))
                    .prop_map(|(p, l)| Pattern::set_of_within(p, l)),
                (inner.clone(), inner.clone()).prop_map(|(k, v)| Pattern::bag_of(k, v)),
                (inner.clone(), inner.clone()).prop_map(|(k, v)| Pattern::map_of(k, v)),
                (inner.clone(), limits(Limit::NumProperties)).prop_map(|(v, l)| Pattern::record_of_within(
                    Pattern::any(),
                    v,
                    l
                )),
                (inner.clone(), 1..3u8).prop_map(|(p, n)| Pattern::container_has(p, n)),
                (inner.clone(), inner.clone()).prop_map(|(t, p)| Pattern::tagged(t, p)),
                list.clone().prop_map(Pattern::tuple),
                fields.clone().prop_map(|fields| Pattern::record(fields).unwrap()),
                (list.clone(), list, rest.clone())
                    .prop_map(|(req, opt, rest)| Pattern::split_array(req, opt, rest)),
                (fields.clone(), fields, rest).prop_map(|(req, opt, rest)| {
                    let opt = opt.into_iter().filter(|(name, _)| !req.iter().any(|(own, _)| own == name));
                    Pattern::split_record(req.clone(), opt.collect::<Vec<_>>(), rest)
                }),
            ]
        })
        .boxed()
}

fn method_guard() -> impl Strategy<Value = MethodGuard<String>> {
    let sync = || prop_oneof![4 => pattern().prop_map(ArgGuard::Pattern), 1 => Just(ArgGuard::Raw)];
    let arg = prop_oneof![3 => sync(), 1 => pattern().prop_map(ArgGuard::Await)];
    let args = prop_oneof![
        prop::collection::vec(sync(), 0..3).prop_map(|args| (CallKind::Sync, args)),
        prop::collection::vec(arg, 0..3).prop_map(|args| (CallKind::Async, args)),
    ];
    let optional = prop::option::of(prop::collection::vec(sync(), 0..2));
    (args, optional, prop::option::of(sync()), sync()).prop_map(|((kind, args), optional, rest, returns)| {
        // `undefined` is how no guard for the rest is written.
        let none = |guard: &ArgGuard<String>| matches!(guard, ArgGuard::Pattern(p) if p.as_literal() == Some(&Value::Undefined));
        MethodGuard { kind, args, optional, rest: rest.filter(|guard| !none(guard)), returns }
    })
}

/// Guards of interfaces, with methods that are named by text and by symbols.
pub(crate) fn interface_guard() -> impl Strategy<Value = InterfaceGuard<String>> {
    let named = prop::collection::btree_map(text(), method_guard(), 0..3);
    let symbols = ["foo", "@@iterator", "@@asyncIterator", "@@@@x", ""].map(str::to_owned).to_vec();
    let symbols = prop::collection::btree_map(prop::sample::select(symbols), method_guard(), 0..3);
    let defaults = prop::sample::select(vec![None, Some(DefaultGuards::Passable), Some(DefaultGuards::Raw)]);
    (text(), named, symbols, defaults).prop_map(|(name, methods, symbols, default_guards)| InterfaceGuard {
        name,
        methods: methods.into_iter().collect(),
        symbol_methods: symbols
            .into_iter()
            .map(|(name, guard)| (Symbol::from_passable_name(name).unwrap(), guard))
            .collect(),
        default_guards,
    })
}

fn below(rng: &mut TestRng, bound: usize) -> usize {
    (rng.next_u32() as usize) % bound.max(1)
}

/// Returns a value that is likely to match; the caller checks that it does.
fn candidate(pattern: &P, rng: &mut TestRng) -> V {
    let plain = |rng: &mut TestRng| match below(rng, 6) {
        0 => Value::number(below(rng, 9) as f64),
        1 => Value::string("b"),
        2 => Value::Bool(true),
        3 => Value::bigint(below(rng, 9) as u64),
        4 => Value::array([Value::Null]),
        _ => Value::record([("k", Value::Undefined)]).unwrap(),
    };
    let many =
        |part: &P, rng: &mut TestRng| (0..below(rng, 4)).map(|_| candidate(part, rng)).collect::<Vec<_>>();
    match pattern.matcher() {
        Matcher::Literal(value) => value.clone(),
        Matcher::Array(parts) => Value::array(parts.iter().map(|part| candidate(part, rng))),
        Matcher::Record(fields) => {
            Value::record(fields.iter().map(|(name, part)| (name.clone(), candidate(part, rng)))).unwrap()
        }
        Matcher::And(parts) => parts.first().map_or(Value::Null, |part| candidate(part, rng)),
        Matcher::Or(parts) => match parts.is_empty() {
            true => Value::Null,
            false => candidate(&parts[below(rng, parts.len())], rng),
        },
        Matcher::Kind(kind) => match kind.as_str() {
            Some("boolean") => Value::Bool(rng.next_u32().is_multiple_of(2)),
            Some("number") => Value::number([0.5, -1.0, 1e21, 7.0][below(rng, 4)]),
            Some("undefined") => Value::Undefined,
            Some("error") => Value::error("Error", "oh"),
            Some("copyArray") => Value::array([plain(rng)]),
            Some("copySet") => Value::set([plain(rng)]).unwrap(),
            Some("copyBag") => Value::bag([(plain(rng), 2.into())]).unwrap(),
            Some("copyMap") => Value::map([(plain(rng), plain(rng))]).unwrap(),
            Some("copyRecord") => Value::record([("x", plain(rng))]).unwrap(),
            Some("byteArray") => Value::bytes(vec![1, 255]),
            _ => plain(rng),
        },
        Matcher::BigInt(_) | Matcher::Nat(_) => Value::bigint(below(rng, 100) as u64),
        Matcher::String(_) => Value::string(["", "a", "ü", "12", "AQ=="][below(rng, 5)]),
        Matcher::Symbol(_) => Value::symbol("a").unwrap(),
        Matcher::Bytes(_) => Value::bytes(vec![0; below(rng, 4)]),
        Matcher::Compare(_, key) => key.clone(),
        Matcher::Tagged(tag, payload) => match candidate(tag, rng) {
            Value::String(tag) => Value::tagged(tag, candidate(payload, rng)),
            _ => Value::tagged("t", candidate(payload, rng)),
        },
        Matcher::ArrayOf(part, _) => Value::array(many(part, rng)),
        Matcher::SetOf(part, _) => Value::set(many(part, rng)).unwrap_or(Value::Null),
        Matcher::BagOf(key, ..) => {
            Value::bag(many(key, rng).into_iter().map(|key| (key, 2.into()))).unwrap_or(Value::Null)
        }
        Matcher::MapOf(key, value, _) => {
            let entries =
                many(key, rng).into_iter().map(|key| (key, candidate(value, rng))).collect::<Vec<_>>();
            Value::map(entries).unwrap_or(Value::Null)
        }
        Matcher::RecordOf(_, value, _) => {
            let names = ["a", "b", "c"].into_iter().take(below(rng, 4));
            Value::record(names.map(|name| (name, candidate(value, rng)))).unwrap()
        }
        Matcher::ContainerHas(part, ..) => {
            Value::array([candidate(part, rng), plain(rng), candidate(part, rng)])
        }
        Matcher::SplitArray(split) => {
            let optional = split.optional.as_deref().unwrap_or_default();
            let some = below(rng, optional.len() + 1);
            let mut values: Vec<V> = split
                .required
                .iter()
                .chain(optional.iter().take(some))
                .map(|part| candidate(part, rng))
                .collect();
            if let (Some(Matcher::ArrayOf(part, _)), true) =
                (split.rest.as_ref().map(Pattern::matcher), some == optional.len())
            {
                values.extend(many(part, rng));
            }
            Value::array(values)
        }
        Matcher::SplitRecord(split) => {
            let optional = split
                .optional
                .iter()
                .flatten()
                .filter(|_| rng.next_u32().is_multiple_of(2))
                .collect::<Vec<_>>();
            let fields = split.required.iter().chain(optional);
            Value::record(fields.map(|(name, part)| (name.clone(), candidate(part, rng))))
                .unwrap_or(Value::Null)
        }
        Matcher::Refine(refinement) => match refinement {
            Refinement::Integer => Value::number(below(rng, 100) as f64),
            Refinement::Date => Value::string("2026-11-20"),
            Refinement::Email => Value::string("a@b"),
            _ => Value::string("s"),
        },
        _ => plain(rng),
    }
}

/// Returns a pattern and a value that matches it.
pub(crate) fn matching() -> impl Strategy<Value = (P, V)> {
    pattern()
        .prop_perturb(|pattern, mut rng| {
            let value = (0..8).map(|_| candidate(&pattern, &mut rng)).find(|value| pattern.matches(value));
            (pattern, value)
        })
        .prop_filter_map("nothing that matches was found", |(pattern, value)| Some((pattern, value?)))
}

pub(crate) fn any_part(value: &V, test: &dyn Fn(&V) -> bool) -> bool {
    test(value)
        || match value {
            Value::Array(array) => array.iter().any(|part| any_part(part, test)),
            Value::Record(record) => record.iter().any(|(_, part)| any_part(part, test)),
            Value::Tagged(tagged) => any_part(tagged.payload(), test),
            _ => false,
        }
}

/// Returns whether JSON may fail to keep keys of a collection apart: it leaves out fields that are `undefined`.
pub(crate) fn beyond_json(value: &V) -> bool {
    any_part(value, &|part| match part {
        Value::Tagged(tagged) => any_part(tagged.payload(), &|part| match part {
            Value::Record(record) => record.iter().any(|(_, field)| matches!(field, Value::Undefined)),
            _ => false,
        }),
        _ => false,
    })
}

//! A typed resource is read back as the same, with any letters in it.

use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use resource::mcp::ToolClass;
use resource::programs::Setting;
use resource::repository::Author;
use resource::web::{Place, SecretUse, Web};
use resource::{
    Endowment, GitSpec, McpSpec, ModelSpec, PathSpec, ProgramSpec, Rate, ResourceSpec, SecretHandle, WebSpec,
};

use crate::{endowment, parse};

/// Generates text with all letters and words that have a special meaning in typed text.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\"".to_owned()),
        Just("\\".to_owned()),
        Just("?".to_owned()),
        Just("&".to_owned()),
        Just("=".to_owned()),
        Just(",".to_owned()),
        Just("]".to_owned()),
        Just("[".to_owned()),
        Just(":".to_owned()),
        Just(":rw".to_owned()),
        Just(":stage".to_owned()),
        Just(":reads".to_owned()),
        Just("?suffix=.a".to_owned()),
        Just("secret:".to_owned()),
        Just("clock".to_owned()),
        Just(" ".to_owned()),
        Just("\n".to_owned()),
        Just("\t".to_owned()),
        Just("e\u{301}".to_owned()),
        Just("\u{202e}".to_owned()),
        "[a-z]{1,3}",
    ];
    vec(piece, 1..6).prop_map(|pieces| pieces.concat())
}

fn path() -> impl Strategy<Value = String> {
    hostile().prop_map(|name| format!("/{name}"))
}

fn rate() -> impl Strategy<Value = Rate> {
    let unit = prop_oneof![Just(1_000u64), Just(60_000), Just(3_600_000), Just(86_400_000)];
    (1..=Rate::MAX_ITEMS, 1u64..300, unit)
        .prop_map(|(calls, times, unit)| Rate { calls, per_ms: times * unit })
}

fn name() -> impl Strategy<Value = String> {
    "[A-Za-z][A-Za-z0-9_.-]{0,10}"
}

fn methods() -> impl Strategy<Value = Vec<String>> {
    vec(hostile(), 0..3)
}

fn path_spec() -> impl Strategy<Value = ResourceSpec> {
    let suffixes = vec(hostile().prop_map(|name| format!(".{name}").to_lowercase()), 0..3);
    let sizes = (option::of(any::<u64>()), option::of(0..u64::MAX / 2));
    (path(), 0..3, suffixes, sizes, methods(), any::<bool>(), option::of(rate())).prop_map(
        |(path, manner, suffixes, (max_bytes, total_bytes), methods, private, rate)| {
            let (write, stage) = (manner > 0, manner > 1);
            let suffixes = suffixes.into_iter().map(|one| one.to_lowercase()).collect();
            ResourceSpec::Path(PathSpec {
                path,
                write,
                stage,
                suffixes,
                max_bytes,
                total_bytes,
                methods,
                private,
                rate,
            })
        },
    )
}

fn program_spec() -> impl Strategy<Value = ResourceSpec> {
    let named = (hostile(), path(), any::<bool>()).prop_map(|(name, path, is_renamed)| {
        let own = path.rsplit('/').next().unwrap_or_default().to_owned();
        (if is_renamed { name } else { own }, path)
    });
    let setting = prop_oneof![
        option::of(hostile()).prop_map(|text| Setting::Text(text.unwrap_or_default())),
        name().prop_map(Setting::Secret)
    ];
    let environment = btree_map("X[A-Z0-9_]{0,5}", setting, 0..3);
    let limits = (option::of(1u64..86_400_000), option::of(1u64..1 << 40), option::of(1u64..16 << 20));
    (vec(named, 1..4), vec((path(), any::<bool>()), 0..3), any::<(bool, bool)>(), environment, limits)
        .prop_map(|(programs, directories, (network, starts_others), environment, limits)| {
            let mut known = std::collections::BTreeSet::new();
            let programs = programs.into_iter().filter(|(name, _)| known.insert(name.clone())).collect();
            let (wall_ms, memory, output) = limits;
            ResourceSpec::Program(ProgramSpec {
                programs,
                directories,
                network,
                starts_others,
                environment,
                wall_ms,
                memory,
                output,
            })
        })
}

fn web_spec() -> impl Strategy<Value = ResourceSpec> {
    let place = "https?://[a-z]{1,6}\\.example(:8[0-9]{3})?(/[a-z&,=:]{1,5}){0,2}"
        .prop_filter_map("a place", |text| Place::parse(&text).ok());
    let all = ["GET", "POST", "PUT", "PATCH", "DELETE"].map(str::to_owned).to_vec();
    let methods = btree_set(proptest::sample::select(all), 1..4);
    let header = prop_oneof![Just("authorization".to_owned()), Just("x-api-key".to_owned())];
    let before = prop_oneof![Just("Bearer ".to_owned()), Just(String::new()), "[ -~]{0,12}"];
    let secret =
        (name(), header, before).prop_map(|(name, header, before)| SecretUse { name, header, before });
    let address = prop_oneof![Just("10.0.0.5"), Just("fd00::5")].prop_map(|text| text.parse().unwrap());
    (
        vec(place, 1..3),
        methods,
        option::of(secret),
        option::of(Just("idempotency-key".to_owned())),
        option::of(address),
        option::of(any::<u64>()),
        option::of(rate()),
    )
        .prop_map(|(places, methods, secret, idempotency, address, max_bytes, rate)| {
            let web = Web { places, methods, secret, idempotency, address };
            ResourceSpec::Web(WebSpec { web, max_bytes, rate })
        })
}

fn git_spec() -> impl Strategy<Value = ResourceSpec> {
    let author = (hostile(), hostile())
        .prop_filter_map("an author", |(name, email)| Author::parse(&format!("{name} <{email}>")));
    (path(), any::<bool>(), option::of(author), methods(), any::<bool>()).prop_map(
        |(path, write, author, methods, private)| {
            ResourceSpec::Git(GitSpec { path, write, author, methods, private })
        },
    )
}

fn model_spec() -> impl Strategy<Value = ResourceSpec> {
    let usd = 1u64..1_000_000_000_000;
    (hostile(), option::of(1..u64::MAX), option::of(usd), option::of(name())).prop_map(
        |(model, tokens, usd_micros, key)| ResourceSpec::Model(ModelSpec { model, tokens, usd_micros, key }),
    )
}

fn secret_spec() -> impl Strategy<Value = ResourceSpec> {
    let variables = btree_set("X[A-Z0-9_]{0,5}", 0..3);
    (name(), variables, btree_set(hostile(), 0..3)).prop_map(|(name, variables, programs)| {
        ResourceSpec::Secret(SecretHandle { name, variables, programs })
    })
}

fn mcp_spec() -> impl Strategy<Value = ResourceSpec> {
    let class = prop_oneof![
        Just(ToolClass::Reads),
        Just(ToolClass::Tells),
        Just(ToolClass::Changes),
        Just(ToolClass::Sends)
    ];
    let tools = btree_map(hostile(), class, 1..4).prop_map(|all| all.into_iter().collect::<Vec<_>>());
    let limits = (
        option::of(1u64..u64::MAX),
        option::of(1u64..3_600_000),
        option::of(1u64..3_600_000),
        option::of(rate()),
    );
    ("[a-z0-9][a-z0-9_.-]{0,8}", tools, limits).prop_map(|(server, tools, limits)| {
        let (max_bytes, call_ms, start_ms, rate) = limits;
        ResourceSpec::Mcp(McpSpec { server, tools, max_bytes, call_ms, start_ms, rate })
    })
}

fn spec() -> impl Strategy<Value = ResourceSpec> {
    prop_oneof![
        path_spec(),
        program_spec(),
        web_spec(),
        git_spec(),
        model_spec(),
        secret_spec(),
        mcp_spec(),
        Just(ResourceSpec::Clock),
        Just(ResourceSpec::Myself),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn typed_text_is_read_back(spec in spec()) {
        let typed = spec.typed();
        prop_assert_eq!(parse(&typed), Ok(spec), "{}", typed);
    }

    #[test]
    fn accepted_text_round_trips(
        slot in "[a-z]{1,3}(\\.[a-z]{1,3})?",
        begin in proptest::sample::select(vec!["", "/", "git:", "mcp:s[", "program:", "secret:a", "model:", "https://h"]),
        rest in hostile(),
    ) {
        if let Ok(read) = endowment(&format!("{slot}={begin}{rest}")) {
            let typed = read.typed();
            prop_assert_eq!(endowment(&typed), Ok::<Endowment, _>(read), "{}", typed);
        }
    }
}

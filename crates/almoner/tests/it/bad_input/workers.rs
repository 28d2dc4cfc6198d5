//! Worker files that cannot be used.

use super::RunFixture;

/// A file's name and bytes, the exit code, the error messages, and the way out. If the way out is empty, the place in
/// the file says enough.
type Case = (&'static str, &'static [u8], i32, &'static [&'static str], &'static str);

const FILES: &[Case] = &[
    (
        "key.worker",
        b"---\ndescription: d\ninptu: { note: string }\n---\nHi.\n",
        6,
        &["no key `inptu`", "key.worker:3:1"],
        "did you mean `input`?",
    ),
    ("alien.worker", b"---\nzzzzzz: 1\n---\nHi.\n", 6, &["no key `zzzzzz`", "alien.worker:2:1"], ""),
    (
        "amount.worker",
        b"---\nlimits: { turns: many }\n---\nHi.\n",
        6,
        &["`turns` cannot be read", "amount.worker:2:18"],
        "write it like `20`",
    ),
    ("text.worker", b"---\ndescription: [a, b]\n---\nHi.\n", 6, &["`description`", "text.worker:2:14"], ""),
    ("slots.worker", b"---\nslots: mail\n---\nHi.\n", 6, &["`slots`", "slots.worker:2:8"], ""),
    ("kind.worker", b"---\nslots: { mail: dirr }\n---\nHi.\n", 6, &["dirr", "kind.worker:2:16"], "dir"),
    ("pattern.worker", b"---\ninput: { note: strng }\n---\nHi.\n", 6, &["strng", "pattern.worker:2:16"], ""),
    ("yaml.worker", b"---\nslots: { mail: dir\n---\nHi.\n", 6, &["yaml.worker"], "close every `{`"),
    ("colon.worker", b"---\ndescription: a: b\n---\nHi.\n", 6, &["colon.worker:2"], "in quotes"),
    ("quote.worker", b"---\ndescription: \"a\n---\nHi.\n", 6, &["quote.worker"], "close the quotes"),
    ("open.worker", b"---\ndescription: d\nHi.\n", 6, &["open.worker"], "---"),
    ("template.worker", b"---\ndescription: d\n---\n{{ input.\n", 6, &["template.worker:4"], ""),
    (
        "include.worker",
        b"---\ndescription: d\n---\n{% include \"no.md\" %}\n",
        6,
        &["no.md", "include.worker:4"],
        "",
    ),
    (
        "latin.worker",
        b"---\ndescription: caf\xe9\n---\nHi.\n",
        6,
        &["not UTF-8", "line 2"],
        "save it as UTF-8",
    ),
    ("binary.worker", b"\x7fELF\x02\x01\x01\0\0\0\xff\xfe", 6, &["binary.worker"], ""),
    ("empty.worker", b"", 6, &["empty.worker"], ""),
    ("hello.txt", b"Hi.\n", 6, &["does not end in `.worker`"], "a worker file is called `NAME.worker`"),
];

#[test]
fn invalid_worker_file_is_reported_with_location_and_help() {
    let desk = RunFixture::new();
    for (name, bytes, code, says, help) in FILES {
        desk.home.write(name, bytes);
        desk.refused(&["run", name, "-m", "scripted:hello.json"], *code, says, help);
    }
    desk.nothing_happened();
}

#[test]
fn missing_worker_file_suggests_a_similar_name() {
    let desk = RunFixture::new();
    std::fs::create_dir(desk.home.path("dir.worker")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", desk.home.path("out.worker")).unwrap();
    desk.home.write("long.worker", format!("---\ndescription: d\n---\n{}", "word ".repeat(1 << 18)));
    let cases: &[(&str, i32, &[&str], &str)] = &[
        ("helo.worker", 4, &["no file `helo.worker`"], "did you mean `hello.worker`?"),
        ("hello", 6, &["`hello`"], "did you mean `hello.worker`?"),
        ("quite-another.worker", 4, &["no file `quite-another.worker`"], "look at the path"),
        ("no/such/dir.worker", 4, &["no file `no/such/dir.worker`"], "look at the path"),
        ("dir.worker", 4, &["`dir.worker` is not a file"], "path of a worker file"),
        ("out.worker", 6, &["leads out of the directory"], "copy the file"),
        ("long.worker", 6, &["larger than 1024 KiB"], "attachments"),
    ];
    for (name, code, says, help) in cases {
        desk.refused(&["run", name, "-m", "scripted:hello.json"], *code, says, help);
    }
    desk.nothing_happened();
}

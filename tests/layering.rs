//! Holds the sources to `src/ARCHITECTURE.md`: who may name whom, and the other rules that can be checked in the text alone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/source.rs"]
mod source;

use std::collections::{BTreeMap, BTreeSet};

use source::{SourceFile, files, line_at, names_after, words};

/// Crates and parts of `std` that only some parts may name. Everything else in `Cargo.toml` is open to all.
const RESERVED: &[(&[&str], &[&str])] = &[
    (&["arrow_array", "arrow_buffer", "arrow_schema"], &["columnar", "market", "history", "store", "engine", "server"]),
    (&["web_sys", "gloo_net", "js_sys", "wasm_bindgen_futures"], &["web"]),
    (&["leptos", "wasm_bindgen", "console_error_panic_hook"], &["ui", "web"]),
    (&["tokio", "axum", "datafusion", "dbn", "parquet", "hyper", "clap", "dirs", "futures_util", "tokio_tungstenite", "async_trait"], &["server"]),
    (&["zrip_decode"], &["wire"]),
    (&["xxhash_rust"], &["book", "server"]),
    (&["std::fs", "std::net", "std::env", "std::process", "std::thread"], &["server"]),
    (&["std::time::Instant", "std::time::SystemTime", "Instant", "SystemTime"], &["server"]),
    (&["println", "eprintln", "print", "eprint"], &["server"]),
];

/// Where floating point may stand: it is converted here, or shown here.
const FLOATING_POINT: &[&str] = &[
    "src/units.rs",
    "src/units/",
    "src/wire/",     // columns of the types FLOAT and DOUBLE
    "src/columnar/", // the same as Arrow arrays
    "src/market/",   // DOUBLE prices and sizes on their way into exact integers
    "src/link.rs",   // a speed of ×0.5 in JSON
    "src/view.rs",
    "src/view/",
    "src/web.rs",
    "src/web/",
    "src/ui.rs",
    "src/ui/",
    "src/server/", // Arrow types of files, progress in percent
];

/// One row of the table of parts.
struct Part {
    uses: BTreeSet<String>,
    never: BTreeSet<String>,
}

fn parts() -> BTreeMap<String, Part> {
    let text = include_str!("../src/ARCHITECTURE.md");
    let table = text.split("| Part |").nth(1).expect("src/ARCHITECTURE.md has a table that begins with `| Part |`");
    let mut parts = BTreeMap::new();
    for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [part, _owns, uses, never] = cells[..] else { panic!("src/ARCHITECTURE.md: a row of four cells is wanted, got: {row}") };
        parts.insert(part.trim_matches('`').to_string(), Part { uses: quoted_names(uses), never: quoted_names(never) });
    }
    parts
}

fn quoted_names(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

fn sources() -> Vec<SourceFile> {
    files("src", &[".rs"])
}

/// Files that ship, without the two that name every part because they must.
fn shipped() -> Vec<SourceFile> {
    sources().into_iter().filter(|file| !file.is_test() && file.path != "src/lib.rs" && file.path != "src/main.rs").collect()
}

fn report(findings: &[String]) {
    assert!(findings.is_empty(), "\n  {}\n", findings.join("\n  "));
}

#[test]
fn the_table_lists_the_parts_that_are_there() {
    let listed: BTreeSet<String> = parts().into_keys().collect();
    let there: BTreeSet<String> = shipped().iter().map(|file| file.part().to_string()).collect();
    assert_eq!(listed, there, "left: the table of src/ARCHITECTURE.md, right: src");
}

#[test]
fn no_row_of_the_table_allows_what_it_rules_out() {
    for (name, part) in parts() {
        let both: Vec<_> = part.uses.intersection(&part.never).collect();
        assert!(both.is_empty(), "`{name}` may use and must never know {both:?}");
    }
}

#[test]
fn every_part_keeps_to_its_row() {
    let parts = parts();
    let mut findings = Vec::new();
    for file in shipped() {
        let code = file.code();
        let Some(part) = parts.get(file.part()) else { continue };
        // Both ways to name another part: from the root, and upwards.
        let upwards = vec!["super"; file.depth()].join("::");
        for (at, name) in names_after(&code, "crate").into_iter().chain(names_after(&code, &upwards)) {
            if name != file.part() && parts.contains_key(&name) && !part.uses.contains(&name) {
                findings.push(format!("{}:{}: `{}` must not name `{name}`", file.path, line_at(&code, at), file.part()));
            }
        }
    }
    report(&findings);
}

#[test]
fn crates_and_system_calls_stay_where_they_belong() {
    let mut findings = Vec::new();
    for file in shipped() {
        let code = file.code();
        for (names, allowed) in RESERVED {
            if allowed.contains(&file.part()) {
                continue;
            }
            for name in *names {
                for at in named(&code, name) {
                    findings.push(format!("{}:{}: `{name}` belongs to {allowed:?}", file.path, line_at(&code, at)));
                }
            }
        }
    }
    report(&findings);
}

/// Offsets at which a crate, a path of `std` or a macro is named. `std::{fs, io}` counts; a field or method of that name does not.
fn named(code: &str, name: &str) -> Vec<usize> {
    match name.rsplit_once("::") {
        Some((before, last)) => names_after(code, before).into_iter().filter(|(_, found)| found == last).map(|(at, _)| at).collect(),
        None => words(code, name)
            .into_iter()
            .filter(|at| {
                let before = code[..*at].trim_end();
                let after = code[at + name.len()..].trim_start();
                let path = after.starts_with("::") && !before.ends_with("::");
                let import = before.ends_with("use") && after.starts_with(';');
                path || import || after.starts_with('!')
            })
            .collect(),
    }
}

#[test]
fn integers_of_the_wire_are_written_in_one_place() {
    // What a writer of variable-length integers cannot do without is to drop seven bits at a time.
    let writers: Vec<String> = sources()
        .iter()
        .chain(&files("tests", &[".rs"]))
        .filter(|file| file.path != "tests/layering.rs" && file.code().replace(' ', "").contains(">>=7"))
        .map(|file| file.path.clone())
        .collect();
    assert_eq!(writers, ["src/wire/varint.rs"]);
}

#[test]
fn floating_point_stays_at_the_edges() {
    let mut findings = Vec::new();
    for file in shipped().iter().filter(|file| !FLOATING_POINT.iter().any(|place| file.path.starts_with(place))) {
        let code = file.code();
        for at in words(&code, "f64").into_iter().chain(words(&code, "f32")) {
            findings.push(format!("{}:{}: prices, sizes and times are integers here", file.path, line_at(&code, at)));
        }
    }
    report(&findings);
}

#[test]
fn colours_live_in_one_sheet() {
    let mut findings = Vec::new();
    let styled = files("src", &[".rs"]).into_iter().chain(files("www", &[".css", ".js", ".svg"])).chain(files(".", &["index.html"]));
    for file in styled.filter(|file| file.path != "www/tickscope.css") {
        for (number, line) in file.text.lines().enumerate() {
            if let Some(colour) = colour_in(line) {
                findings.push(format!("{}:{}: {colour} belongs in www/tickscope.css", file.path, number + 1));
            }
        }
    }
    report(&findings);
}

fn colour_in(line: &str) -> Option<&str> {
    if let Some(at) = ["rgb(", "rgba(", "hsl(", "oklch("].iter().find_map(|name| line.find(name)) {
        return Some(&line[at..]);
    }
    line.match_indices('#').find_map(|(at, _)| {
        let digits = line[at + 1..].bytes().take_while(u8::is_ascii_hexdigit).count();
        let ends = !line[at + 1 + digits..].starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-');
        (matches!(digits, 3 | 4 | 6 | 8) && ends).then(|| &line[at..at + 1 + digits])
    })
}

#[test]
fn nothing_names_a_machine_or_a_registry() {
    // In two pieces, so that this list does not find itself.
    let unwanted = [
        ("crates.io/", "api"),
        ("static.", "crates.io"),
        ("index.", "crates.io"),
        ("static.", "rust-lang"),
        ("registry.", "npmjs"),
        ("pypi", ".org"),
        ("python", "hosted"),
        ("repo.", "maven"),
        ("proxy.", "golang"),
        ("deb.", "debian"),
        ("/work/", "main"),
        ("/work/", "shared"),
        ("/tmp/", "dev"),
        ("/root/", "."),
        ("/farm", "/"),
    ]
    .map(|(front, back)| format!("{front}{back}"));
    let mut findings = Vec::new();
    for file in files(".", &[".rs", ".toml", ".md", ".sh", ".css", ".js", ".html", ".txt", "run", "test"]) {
        for (number, line) in file.text.lines().enumerate() {
            if let Some(found) = unwanted.iter().find(|unwanted| line.contains(unwanted.as_str())) {
                findings.push(format!("{}:{}: names {found}", file.path, number + 1));
            }
        }
    }
    report(&findings);
}

#[test]
fn files_stay_readable() {
    let long: Vec<String> = sources()
        .into_iter()
        .chain(files("tests", &[".rs"]))
        .filter(|file| file.text.lines().count() > 900)
        .map(|file| format!("{}: {} lines; 900 are the most that still hold one concept", file.path, file.text.lines().count()))
        .collect();
    report(&long);
}

//! The packages that come with a build: their licences, versions and sources by `.cargo/deny.toml`, and a reason for each that
//! is asked for directly.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;
use simidx_testkit::document::root;

/// A file of the project.
fn project_file(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn policy() -> toml::Table {
    project_file(".cargo/deny.toml").parse().unwrap()
}

/// The packages of a build for this platform, with all features and what tests need.
fn packages() -> Vec<Value> {
    let host = host();
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--format-version", "1", "--locked"]);
    command.args(["--all-features", "--filter-platform", &host]);
    command.current_dir(root());
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let used: BTreeSet<&str> = nodes
        .iter()
        .filter_map(|node| node["id"].as_str())
        .collect();
    let all = metadata["packages"].as_array().unwrap().iter();
    let used = all
        .filter(|package| used.contains(text(package, "id")))
        .cloned();
    used.collect()
}

/// The platform that the compiler works on.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let about = String::from_utf8(output.stdout).unwrap();
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    host.unwrap().to_owned()
}

fn text<'v>(package: &'v Value, field: &str) -> &'v str {
    package[field].as_str().unwrap_or_default()
}

/// The strings of a list in the policy.
fn list(policy: &toml::Table, section: &str, name: &str) -> Vec<toml::Value> {
    policy[section][name].as_array().unwrap().clone()
}

/// Whether a licence is among those allowed, some of which may be all that it asks for.
fn is_allowed(licence: &str, allowed: &[spdx::LicenseId]) -> bool {
    let mode = spdx::ParseMode::LAX;
    let expression = spdx::Expression::parse_mode(licence, mode);
    expression.is_ok_and(|expression| {
        expression.evaluate(|wanted| wanted.license.id().is_some_and(|id| allowed.contains(&id)))
    })
}

/// The licences in a list of the policy; an exception of a licence is part of it.
fn licences(names: &toml::Value) -> Vec<spdx::LicenseId> {
    let names = names.as_array().unwrap().iter();
    let names = names.filter_map(|name| name.as_str()?.split(' ').next());
    names.map(|name| spdx::license_id(name).unwrap()).collect()
}

#[test]
fn every_licence_is_allowed() {
    let policy = policy();
    let allowed = licences(&policy["licenses"]["allow"]);
    let exceptions = list(&policy, "licenses", "exceptions");
    let packages = packages();
    assert!(packages.len() > 100, "{} packages", packages.len());
    for package in &packages {
        let (name, licence) = (text(package, "name"), text(package, "license"));
        let more = exceptions
            .iter()
            .filter(|exception| exception["crate"].as_str() == Some(name))
            .flat_map(|exception| licences(&exception["allow"]));
        let allowed: Vec<_> = allowed.iter().copied().chain(more).collect();
        assert!(is_allowed(licence, &allowed), "{name}: {licence:?}");
    }
    for other in ["", "GPL-3.0-only", "MIT AND GPL-3.0-only", "LicenseRef-own"] {
        assert!(!is_allowed(other, &allowed), "{other}");
    }
}

#[test]
fn no_package_comes_twice_but_those_known() {
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages() {
        let entry = versions
            .entry(text(&package, "name").to_owned())
            .or_default();
        entry.push(text(&package, "version").to_owned());
    }
    let skipped = list(&policy(), "bans", "skip");
    let is_skipped = |name: &str, version: &str| {
        skipped.iter().any(|skip| {
            let prefix = format!("{}.", skip["version"].as_str().unwrap());
            skip["name"].as_str() == Some(name) && version.starts_with(&prefix)
        })
    };
    for (name, mut found) in versions {
        found.retain(|version| !is_skipped(&name, version));
        assert!(found.len() <= 1, "{name}: {found:?}");
    }
}

#[test]
fn every_package_comes_from_the_registry() {
    for package in packages() {
        let source = package["source"].as_str();
        let is_own = text(&package, "name").starts_with("simidx") && source.is_none();
        let is_published = source.is_some_and(|source| source.starts_with("registry+"));
        assert!(
            is_own || is_published,
            "{}: {source:?}",
            text(&package, "name")
        );
    }
}

/// The folders of the packages whose dependencies are explained.
const PACKAGES: [&str; 13] = [
    ".",
    "benches",
    "bindings/c",
    "bindings/python",
    "crates/simidx-text",
    "crates/simidx-input",
    "crates/simidx-output",
    "crates/simidx-collection",
    "crates/simidx-server",
    "crates/simidx-cli",
    "crates/simidx-testkit",
    "tests",
    "tools/fuzz",
];

/// The names of the packages from elsewhere that sections of a manifest ask for, each with a version.
fn asked_for(manifest: &toml::Table, workspace: &toml::Table) -> BTreeSet<String> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(toml::Table::values);
    let tables = targets.filter_map(toml::Value::as_table).chain([manifest]);
    let sections = tables.flat_map(|table| {
        let sections = ["dependencies", "dev-dependencies"].map(|name| table.get(name));
        sections.into_iter().flatten()
    });
    let mut names = BTreeSet::new();
    for (name, value) in sections.flat_map(|section| section.as_table().unwrap()) {
        let is_inherited = value.get("workspace").is_some();
        let value = if is_inherited {
            &workspace[name]
        } else {
            value
        };
        if value.get("path").is_some() {
            continue;
        }
        let version = value.get("version").unwrap_or(value);
        assert!(
            version.as_str().is_some_and(|v| !v.contains('*')),
            "{name}: {version:?}"
        );
        names.insert(name.clone());
    }
    names
}

#[test]
fn every_dependency_has_a_reason() {
    let root: toml::Table = project_file("Cargo.toml").parse().unwrap();
    let workspace = root["workspace"]["dependencies"].as_table().unwrap();
    let mut wanted = BTreeSet::new();
    for folder in PACKAGES {
        let manifest = project_file(&format!("{folder}/Cargo.toml"));
        wanted.extend(asked_for(&manifest.parse().unwrap(), workspace));
    }
    let guide = project_file("book/ARCHITECTURE.md");
    let (_, table) = guide.split_once("\n## Dependencies\n").unwrap();
    let rows = table.lines().take_while(|line| !line.starts_with("## "));
    let rows = rows.filter(|row| row.starts_with("| ") && !row.starts_with("| crate |"));
    let mut explained = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        assert!(
            cells.len() == 3 && cells.iter().all(|cell| !cell.is_empty()),
            "{row}"
        );
        explained.extend(cells[0].split(", ").map(str::to_owned));
    }
    assert_eq!(explained, wanted);
}

/// The dependencies of this machine that `cargo tree` names, each with the sets of features that it is compiled with.
fn tree(arguments: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["tree", "--locked", "--prefix", "none"]);
    command.args(["--format", "{p}|{f}|"]).args(arguments);
    command.current_dir(root());
    let output = command.output().unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{tree}");
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    // Other lines are empty.
    for (package, rest) in tree.lines().filter_map(|line| line.split_once('|')) {
        let (features, _) = rest.split_once('|').unwrap();
        // The name and the version come before the folder of a package of the workspace.
        let package: Vec<&str> = package.split(' ').take(2).collect();
        let sets = found.entry(package.join(" ")).or_default();
        sets.insert(features.to_owned());
    }
    found
}

/// The packages that `cargo add` of the library brings, whatever the platform.
#[test]
fn the_library_brings_few_packages() {
    let tree = tree(&["-p", "simidx", "-e", "normal", "--offline"]);
    let names = tree.keys().filter_map(|package| package.split(' ').next());
    let names: BTreeSet<&str> = names.collect();
    assert!(
        names.contains("simidx") && names.contains("rayon"),
        "{names:?}"
    );
    assert!(names.len() <= 41, "{} packages: {names:?}", names.len());
    for heavy in ["clap", "jieba-rs", "parquet", "plotters", "serde", "zstd"] {
        assert!(!names.contains(heavy), "{heavy} came in");
    }
}

/// Else each would be compiled again for the checks of a binding.
#[test]
fn bindings_are_tested_with_the_dependencies_of_the_tests() {
    let tests = tree(&["-e", "normal,build,dev"]);
    for package in ["simidx-capi", "simidx-python"] {
        let as_in_tests = format!("{package}/as-in-tests");
        let options = ["-e", "normal,build", "-p", package, "--features"];
        let binding = tree(&[&options[..], &[&as_in_tests]].concat());
        let mut count = 0;
        for (name, features) in &binding {
            // Each takes its own groups of it.
            if name.starts_with("simidx-features ") {
                continue;
            }
            if let Some(tested) = tests.get(name) {
                assert_eq!(
                    features, tested,
                    "{name}, for {package} and for the tests: add what is missing to tools/features/Cargo.toml"
                );
                count += 1;
            }
        }
        assert!(count > 70, "{package}: {count} packages");
    }
}

#[test]
fn cargo_run_starts_the_program() {
    let packages = packages();
    let own = packages
        .iter()
        .filter(|package| package["source"].is_null());
    let started: Vec<&str> = own
        .filter_map(|package| package["default_run"].as_str())
        .collect();
    assert_eq!(started, ["simidx"]);
}

//! Published packages have licences, a description, one address, and a page of their own.

use std::fs;
use std::process::Command;

use serde_json::Value;
use simidx_testkit::document::root;

/// The packages of the workspace.
fn members() -> Vec<Value> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--format-version", "1", "--no-deps", "--locked"]);
    let output = command.current_dir(root()).output().unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn published_packages_have_their_licences() {
    let members = members();
    let published = members.iter().filter(|member| member["publish"].is_null());
    let mut names: Vec<&str> = Vec::new();
    for package in published {
        let name = package["name"].as_str().unwrap();
        for field in [
            "description",
            "repository",
            "homepage",
            "license",
            "readme",
            "rust_version",
        ] {
            assert!(package[field].is_string(), "{name}: {field}");
        }
        for field in ["authors", "categories", "keywords"] {
            assert!(package[field][0].is_string(), "{name}: {field}");
        }
        names.push(name);
    }
    names.sort_unstable();
    let expected = [
        "",
        "-cli",
        "-collection",
        "-input",
        "-output",
        "-server",
        "-text",
    ];
    assert_eq!(names, expected.map(|rest| format!("simidx{rest}")));

    let folders = names[1..].iter().map(|name| format!("crates/{name}"));
    for folder in folders.chain(["bindings/python".to_owned()]) {
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let text = fs::read_to_string(root().join(&folder).join(licence)).unwrap();
            let own = fs::read_to_string(root().join(licence)).unwrap();
            assert_eq!(text, own, "{folder}/{licence}");
        }
    }
}

/// Moving the project to a forge changes the repository and the home page in one manifest.
#[test]
fn the_address_is_in_one_place() {
    let members = members();
    let is_root = |package: &&Value| package["name"] == "simidx";
    let address = members.iter().find(is_root).unwrap()["repository"]
        .as_str()
        .unwrap();
    for package in &members {
        let path = package["manifest_path"].as_str().unwrap();
        let manifest = fs::read_to_string(path).unwrap();
        let times = if is_root(&package) { 2 } else { 0 };
        assert_eq!(manifest.matches(address).count(), times, "{path}");
        if package["publish"].is_null() {
            assert_eq!(package["repository"], address, "{path}");
        }
    }
    for path in [
        "bindings/python/pyproject.toml",
        "bindings/spark/pyproject.toml",
        "packages/js/package.json",
    ] {
        let manifest = fs::read_to_string(root().join(path)).unwrap();
        assert!(!manifest.contains("://"), "{path}");
    }
}

/// The check of a tag, on a copy with an address and a date: it accepts a release, and refuses placeholders and packages
/// of another version.
#[cfg(unix)]
#[test]
fn a_tag_is_accepted_once_addresses_date_and_versions_are_set() {
    let version = env!("CARGO_PKG_VERSION");
    let copy = tempfile::tempdir().unwrap();
    let check = |changed: Option<(&str, &str, &str)>| -> String {
        for path in [
            "tools/release/tag",
            "Cargo.toml",
            "CHANGELOG.md",
            "bindings/spark/pyproject.toml",
            "bindings/c/cbindgen.toml",
            "packages/js/package.json",
        ] {
            let mut text = fs::read_to_string(root().join(path)).unwrap();
            text = text.replace("example.org/simidx", "forge.test/simidx");
            text = text.replace("- unreleased", "- 2027-01-31");
            if let Some((of, from, to)) = changed
                && of == path
            {
                let new = text.replace(from, to);
                assert_ne!(new, text, "{path} has no {from}");
                text = new;
            }
            let to = copy.path().join(path);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::write(to, text).unwrap();
        }
        let mut command = Command::new("bash");
        command.arg(copy.path().join("tools/release/tag"));
        let output = command.arg(format!("v{version}")).output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    assert_eq!(check(None), format!("version {version}\n"));
    for (path, from, to, message) in [
        (
            "Cargo.toml",
            "homepage = \"",
            "homepage = \"example.org/",
            "a placeholder",
        ),
        ("CHANGELOG.md", version, "9.0.0", "no date"),
        (
            "bindings/spark/pyproject.toml",
            "==",
            ">=",
            "another simidx",
        ),
        (
            "bindings/c/cbindgen.toml",
            " 0x0",
            " 0x1",
            "another version",
        ),
        (
            "packages/js/package.json",
            version,
            "9.0.0",
            "another version",
        ),
    ] {
        let output = check(Some((path, from, to)));
        assert!(output.contains(message), "{path}: {output}");
    }
}

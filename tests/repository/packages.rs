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

//! The workflows of the forge: what they run is in scripts of the repository, and they say which rights they take.

use std::fs;
use std::process::Command;

use simidx_testkit::document::root;

/// The names and texts of the workflows.
fn workflows() -> Vec<(String, String)> {
    let folder = fs::read_dir(root().join(".github/workflows")).unwrap();
    let read = |path: &std::path::Path| fs::read_to_string(path).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    paths
        .map(|path| (path.display().to_string(), read(&path)))
        .collect()
}

/// Returns the values of the lines with a key.
fn values<'t>(text: &'t str, key: &str) -> impl Iterator<Item = &'t str> {
    text.lines().filter_map(move |line| {
        let line = line.trim_start().trim_start_matches("- ");
        line.strip_prefix(key)?.strip_prefix(": ")
    })
}

#[test]
fn each_step_of_a_workflow_is_a_script() {
    let mut count = 0;
    for (name, text) in workflows() {
        for command in values(&text, "run") {
            let script = command.split(' ').next().unwrap_or_default();
            assert!(root().join(script).is_file(), "{name}: {command}");
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
}

#[test]
fn workflows_can_be_parsed_and_begin_with_few_rights() {
    for (name, text) in workflows() {
        assert!(
            text.contains("\npermissions:\n  contents: read\n\n"),
            "{name}"
        );
        assert!(!text.contains("secrets."), "{name}");
        let parse = format!("import yaml; yaml.safe_load(open({name:?}))['jobs']");
        let output = Command::new("python3")
            .args(["-c", &parse])
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        if error.contains("No module named 'yaml'") {
            simidx_testkit::report(&format!("skipped parsing {name}: Python has no yaml here"));
            continue;
        }
        assert!(output.status.success(), "{name}: {error}");
    }
}

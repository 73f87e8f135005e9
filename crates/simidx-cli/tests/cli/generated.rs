//! Help, manual pages and shell completions: generated from one definition, and complete.

use std::collections::BTreeSet;
use std::process::Command;

use crate::support::Sandbox;

/// Returns the names of all commands in the help of the program.
fn commands(sandbox: &Sandbox) -> Vec<String> {
    let help = sandbox.run(&["--help"]).done();
    let names = help.lines().into_iter().filter_map(|line| {
        // A name is indented by two spaces, and continuation lines by more.
        let name = line.strip_prefix("  ")?.split("  ").next()?;
        let is_name = |name: &str| name.chars().all(|c| c.is_ascii_lowercase());
        (!name.is_empty() && is_name(name) && name != "help").then(|| name.to_owned())
    });
    let mut names: Vec<String> = names.collect();
    // Rarely needed commands are listed in one line.
    let also = "\nAlso: bench (measure latency), man, completions\n";
    assert!(help.text().contains(also), "{help:?}");
    names.extend(["bench", "man", "completions"].map(str::to_owned));
    assert!(names.len() >= 19, "{names:?}");
    names
}

/// Returns the long flags in the help of a command.
fn flags(help: &str) -> BTreeSet<String> {
    let lines = help.lines().map(str::trim_start);
    let options = lines.filter(|line| line.starts_with('-'));
    let flags = options.filter_map(|line| {
        let start = line.find("--")?;
        let flag = line[start..].split([' ', ',']).next()?;
        (flag.len() > 2).then(|| flag.to_owned())
    });
    flags.collect()
}

#[test]
fn every_command_has_a_manual_page_with_all_of_its_flags() {
    let sandbox = Sandbox::new();
    assert_eq!(
        sandbox.run(&["man", "--dir", "some/man1"]).done().text(),
        ""
    );
    let commands = commands(&sandbox);
    let pages = std::fs::read_dir(sandbox.path("some/man1")).unwrap();
    assert_eq!(pages.count(), commands.len() + 1);
    let page = |name: &str| {
        let page = sandbox.read(&format!("some/man1/{name}.1"));
        String::from_utf8(page).unwrap().replace("\\-", "-")
    };
    let program = page("simidx");
    assert!(program.contains("EXIT STATUS\"\nExit codes: 0 "));
    for command in &commands {
        let help = sandbox.run(&[command, "--help"]).done();
        let flags = flags(help.text());
        assert!(flags.contains("--help"), "{command}: {flags:?}");
        let page = page(&format!("simidx-{command}"));
        for flag in flags {
            assert!(page.contains(&flag), "{flag} of {command}");
        }
        assert!(page.contains(".SH EXAMPLES\n.nf\nsimidx "), "{command}");
        assert!(program.contains(&format!("simidx-{command}")), "{command}");
    }
}

#[test]
fn manual_pages_replace_others_only_by_force() {
    let sandbox = Sandbox::new();
    sandbox.write("simidx-query.1", "mine");
    let message = "./simidx-query.1: already exists; use --force to replace it";
    sandbox.run(&["man", "--dir", "."]).refused(message);
    assert_eq!(sandbox.names(), ["simidx-query.1"]);
    sandbox.run(&["man", "--dir", ".", "--force"]).done();
    assert_ne!(sandbox.read("simidx-query.1"), b"mine");
    sandbox.write("file", "");
    let ran = sandbox.run(&["man", "--dir", "file"]);
    assert!(ran.refusal().starts_with("file: "), "{ran:?}");
}

#[test]
fn completions_are_scripts_that_the_shells_can_read() {
    let sandbox = Sandbox::new();
    let commands = commands(&sandbox);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sandbox.run(&["completions", shell]).done();
        for word in commands.iter().map(String::as_str).chain(["tables"]) {
            assert!(script.text().contains(word), "{word} for {shell}");
        }
        sandbox.write(shell, &script.stdout);
    }
    for shell in ["bash", "zsh", "fish"] {
        let check = Command::new(shell)
            .arg("-n")
            .arg(sandbox.path(shell))
            .output();
        match check {
            Ok(checked) => assert!(checked.status.success(), "{shell}: {checked:?}"),
            // Not every machine has every shell.
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{shell}"),
        }
    }
    let ran = sandbox.run(&["completions", "tcsh"]);
    assert!(ran.refusal().contains("'tcsh'"), "{ran:?}");
}

#[test]
fn the_help_of_every_command_starts_with_what_it_does_and_examples() {
    let sandbox = Sandbox::new();
    for command in commands(&sandbox) {
        let help = sandbox.run(&[&command, "--help"]).done();
        let (head, _) = help.text().split_once("\nUsage: ").unwrap();
        let (_, examples) = head.split_once("\nExamples:\n").unwrap();
        assert!(examples.contains("  simidx "), "{command}: {head}");
        // The short help is short.
        let short = sandbox.run(&[command.as_str(), "-h"]).done();
        assert!(!short.text().contains("Examples:"), "{command}");
    }
}

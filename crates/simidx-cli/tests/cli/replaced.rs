//! The files that outputs may replace: never an input, under any name, and only with `--force`; modes are kept.
#![cfg(unix)]

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use crate::support::{Ran, Sandbox, hex};

/// The commands that write files, with their inputs; the last argument is the output.
const COMMANDS: [(&str, &[&str]); 7] = [
    ("build a.jsonl --stop-words words -o", &["a.jsonl", "words"]),
    ("build a*.jsonl b.jsonl -o", &["a.jsonl", "b.jsonl"]),
    (
        "merge x.simidx y.simidx --exclude list -o",
        &["x.simidx", "y.simidx", "list"],
    ),
    (
        "dedup a.jsonl b.jsonl --stop-words words --against s.simidx -o",
        &["a.jsonl", "b.jsonl", "s.simidx", "words"],
    ),
    (
        "dedup a.jsonl b.jsonl --dry-run --report",
        &["a.jsonl", "b.jsonl"],
    ),
    (
        "dedup a.jsonl --dry-run --against w.simidx --report",
        &["w.simidx"],
    ),
    ("dedup ./a.jsonl -o - --report", &["a.jsonl"]),
];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.jsonl",
        "{\"id\":\"1\",\"text\":\"one two\"}\n{\"id\":\"2\",\"text\":\"three\"}\n",
    );
    sandbox.write(
        "b.jsonl",
        "{\"id\":\"3\",\"text\":\"four\"}\n{\"id\":\"4\",\"text\":\"five\"}\n",
    );
    sandbox.write("words", "the\n");
    sandbox.write("list", "1\n");
    sandbox.write("a.hex", hex(&[1, 2]));
    for name in ["x.simidx", "y.simidx"] {
        sandbox.run(&["build", "a.hex", "-o", name]).done();
    }
    let stop_words = [
        "build",
        "a.jsonl",
        "--stop-words",
        "words",
        "-o",
        "s.simidx",
    ];
    sandbox.run(&stop_words).done();
    sandbox.run(&["build", "a.jsonl", "-o", "w.simidx"]).done();
    sandbox
}

fn run(sandbox: &Sandbox, command: &str, output: &str, more: &[&str]) -> Ran {
    let args: Vec<&str> = command.split(' ').chain([output]).collect();
    sandbox.run(&[&args[..], more].concat())
}

#[test]
fn no_command_replaces_an_input() {
    for (command, inputs) in COMMANDS {
        let sandbox = sandbox();
        for &input in inputs {
            let before = sandbox.read(input);
            std::fs::hard_link(sandbox.path(input), sandbox.path("hard")).unwrap();
            symlink(input, sandbox.path("soft")).unwrap();
            let names = sandbox.names();
            for output in [input, "hard", "soft", &format!("./{input}")] {
                for more in [&[][..], &["--force"]] {
                    let ran = run(&sandbox, command, output, more);
                    let expected = format!(
                        "{output}: is an input, and no input is replaced; name another output"
                    );
                    assert_eq!(ran.refusal(), expected, "{command}: {ran:?}");
                    assert_eq!(sandbox.read(input), before, "{command} {output}");
                    assert_eq!(sandbox.names(), names);
                }
            }
            for link in ["hard", "soft"] {
                std::fs::remove_file(sandbox.path(link)).unwrap();
            }
        }
    }
}

#[test]
fn the_file_on_standard_input_is_an_input() {
    let sandbox = sandbox();
    let before = sandbox.read("a.jsonl");
    for command in ["dedup - -o", "build --input jsonl - -o"] {
        let args: Vec<&str> = command.split(' ').chain(["a.jsonl", "--force"]).collect();
        let ran = sandbox.shell(r#""$0" "$@" < a.jsonl"#, &args);
        ran.refused("a.jsonl: is an input, and no input is replaced; name another output");
        assert_eq!(sandbox.read("a.jsonl"), before);
    }
    let ran = sandbox.shell(r#""$0" "$@" < a.jsonl"#, &["dedup", "-o", "kept.jsonl"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_pattern_does_not_take_an_earlier_output_for_an_input() {
    let sandbox = sandbox();
    let args = ["dedup", "*.jsonl", "-o", "kept.jsonl", "--force"];
    assert_eq!(sandbox.run(&args).code, Some(0));
    let message = "kept.jsonl: is an input, and no input is replaced; name another output";
    sandbox.run(&args).refused(message);
}

#[test]
fn what_is_replaced_keeps_its_mode() {
    for (command, _) in COMMANDS {
        let sandbox = sandbox();
        let output = "o";
        sandbox.write(output, "old");
        let path = sandbox.path(output);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let ran = run(&sandbox, command, output, &[]);
        ran.refused(&format!(
            "{output}: already exists; use --force to replace it"
        ));
        let ran = run(&sandbox, command, output, &["--force"]);
        assert_eq!(ran.code, Some(0), "{command}: {ran:?}");
        assert_ne!(sandbox.read(output), b"old", "{command}");
        let mode = std::fs::metadata(&path).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o600, "{command}");
    }
    // Also in a folder of outputs. New files have the usual mode.
    let sandbox = sandbox();
    std::fs::create_dir(sandbox.path("out")).unwrap();
    sandbox.write("out/a.jsonl", "old");
    let mode = |name: &str| std::fs::metadata(sandbox.path(name)).unwrap().mode() & 0o777;
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(sandbox.path("out/a.jsonl"), private).unwrap();
    let args = [
        "dedup",
        "a.jsonl",
        "b.jsonl",
        "--output-dir",
        "out",
        "--force",
    ];
    assert_eq!(sandbox.run(&args).code, Some(0));
    assert_eq!(
        (mode("out/a.jsonl"), mode("out/b.jsonl")),
        (0o600, mode("a.jsonl"))
    );
    let args = ["dedup", "a.jsonl", "--output-dir", "new"];
    assert_eq!(sandbox.run(&args).code, Some(0));
    assert_eq!(
        (mode("new"), mode("new/a.jsonl")),
        (mode("out"), mode("a.jsonl"))
    );
}

//! The program has the same outputs when the environment disables optional processor instructions.

use crate::support::{Ran, Sandbox, sample};

/// Runs the program twice, the second time with portable instructions only, and returns the outputs of both.
fn both(sandbox: &Sandbox, args: &[&str]) -> Vec<u8> {
    let run = |simd: &str| {
        let mut command = sandbox.command(args);
        command.env("SIMIDX_SIMD", simd);
        Ran::of(command.output().unwrap())
    };
    let (quick, portable) = (run("on"), run("off"));
    assert_eq!(quick.code, portable.code, "{args:?}");
    assert_eq!(quick.stderr, portable.stderr, "{args:?}");
    assert!(quick.stdout == portable.stdout, "{args:?}");
    quick.stdout
}

/// Returns values as lines of a width; wide ones are made of two values.
fn lines(values: &[u64], width: &str) -> String {
    let line = |pair: &[u64]| match width {
        "32" => format!("{:08x}\n", pair[0] >> 32),
        "64" => format!("{:016x}\n", pair[0]),
        _ => format!("{:016x}{:016x}\n", pair[0], pair[1]),
    };
    values.windows(2).map(line).collect()
}

/// Changes the first digit.
fn one_bit_off(digits: &str) -> String {
    let first = u32::from_str_radix(&digits[..1], 16).unwrap();
    format!("{:x}{}", first ^ 4, &digits[1..])
}

#[test]
fn portable_instructions_build_and_answer_the_same() {
    let values = sample(3000);
    for width in ["32", "64", "128"] {
        for (codec, tables) in [("xor", "4"), ("gap", "3"), ("ef", "2"), ("ef", "10")] {
            let sandbox = Sandbox::new();
            let ids = lines(&values, width);
            let ids = ids
                .lines()
                .enumerate()
                .map(|(i, line)| format!("{line}\t{i}\n"));
            sandbox.write("a.tsv", ids.collect::<String>());
            let build = ["build", "a.tsv", "--ids", "number", "-o", "-"];
            let design = ["--width", width, "--codec", codec, "--tables", tables];
            for (simd, out) in [("on", "x.simidx"), ("off", "y.simidx")] {
                let mut command = sandbox.command(&[&build[..], &design].concat());
                let ran = Ran::of(command.env("SIMIDX_SIMD", simd).output().unwrap());
                assert_eq!(ran.code, Some(0), "{}", ran.stderr);
                sandbox.write(out, ran.stdout);
            }
            assert!(
                sandbox.read("x.simidx") == sandbox.read("y.simidx"),
                "{design:?}"
            );
            both(&sandbox, &["verify", "x.simidx"]);
            for table in ["0", "1"] {
                let dumped = both(&sandbox, &["dump", "x.simidx", "--table", table]);
                assert!(dumped.len() > 1000);
            }
            let queries = lines(&values, width);
            let queries: Vec<String> = queries.lines().step_by(40).map(one_bit_off).collect();
            for distance in ["3", "20"] {
                let mut args = vec!["query", "x.simidx", "--json", "--stats", "-k", distance];
                args.extend(queries.iter().map(String::as_str));
                let found = String::from_utf8(both(&sandbox, &args)).unwrap();
                assert!(
                    found.contains("\"distance\":1"),
                    "{width} {codec} {distance}"
                );
            }
        }
    }
}

#[test]
fn portable_instructions_find_the_same_similar_texts() {
    let sandbox = Sandbox::new();
    let word = |number: u64| format!("w{} ", number % 997);
    // The five texts of a family have their first words in common.
    let text = |i: u64| {
        let words = (0..40).map(|j| match j < 40 - 3 * (i % 5) {
            true => word(i / 5 * 1000 + j * j),
            false => word(i * 77 + j),
        });
        words.collect::<String>() + "\n"
    };
    sandbox.write("a.txt", (0..500).map(text).collect::<String>());
    for command in [&["pairs"][..], &["clusters"], &["dedup", "-o", "-"]] {
        // Without --quiet, the outputs contain times.
        let input = [
            "a.txt",
            "--input",
            "lines",
            "--similarity",
            "0.6",
            "--quiet",
        ];
        let args = [command, &input].concat();
        assert!(both(&sandbox, &args).len() > 1000, "{args:?}");
    }
}

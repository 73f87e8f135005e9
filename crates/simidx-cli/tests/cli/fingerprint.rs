//! `simidx fingerprint`: a text as an argument, its features, and the notations of fingerprints.

use serde_json::json;

use crate::support::Sandbox;

const CUT: &str = "short,segment=jieba,fingerprint=simhash";

#[test]
fn fingerprints_are_printed_in_three_notations() {
    let sandbox = Sandbox::new();
    sandbox.write("d.txt", "the cat sat on the mat\n");
    for width in ["32", "64", "128"] {
        let print = |format: &str| {
            let args = "fingerprint d.txt --input lines --pipeline short --width";
            let args = format!("{args} {width} --output-format {format}");
            let args: Vec<&str> = args.split(' ').collect();
            let printed = sandbox.run(&args).done().text().to_owned();
            printed.strip_suffix("\t0\n").unwrap().to_owned()
        };
        let (hex, dec, bin) = (print("hex"), print("dec"), print("bin"));
        let value = u128::from_str_radix(&hex, 16).unwrap();
        assert_eq!(dec, value.to_string());
        assert_eq!(bin.len().to_string(), width);
        assert_eq!(u128::from_str_radix(&bin, 2).unwrap(), value);
    }
}

#[test]
fn a_text_is_fingerprinted_and_its_features_are_listed() {
    let sandbox = Sandbox::new();
    sandbox.write("d.txt", "我在小明家吃饭，吃饭\tA\n");
    let text = "我在小明家吃饭，吃饭\tA";
    let args = ["fingerprint", "--pipeline", CUT, "--text", text];
    let of_text = sandbox.run(&args).done().text().to_owned();
    let of_file = [
        "fingerprint",
        "--pipeline",
        CUT,
        "--input",
        "lines",
        "d.txt",
    ];
    assert_eq!(of_text, sandbox.run(&of_file).done().text());
    let features = "1.000\t我\n1.000\t在\n1.000\t小明家\n2.000\t吃饭\n1.000\ta\n";
    let listed = sandbox.run(&[&args[..], &["--show-features"]].concat());
    assert_eq!(listed.done().text(), format!("{of_text}{features}"));
    let listed = sandbox.run(&[&args[..], &["--show-features", "--json"]].concat());
    let found = listed.done().json();
    assert_eq!(found["fingerprint"], of_text[..16]);
    assert_eq!(
        found["features"][3],
        json!({ "feature": "吃饭", "weight": 2.0 })
    );
    let empty = sandbox.run(&["fingerprint", "--text", "…", "--show-features"]);
    let message =
        "simidx: no features in 1 document: the fingerprint 0000000000000000 is a placeholder\n";
    assert_eq!(
        (empty.code, empty.text()),
        (Some(0), "0000000000000000\t0\n")
    );
    assert_eq!(empty.stderr, message);
}

#[test]
fn a_text_excludes_inputs() {
    let sandbox = Sandbox::new();
    for args in [
        &["fingerprint", "d.txt", "--text", "a"][..],
        &["fingerprint", "--text", "a", "--input", "lines"],
        &["fingerprint", "d.txt", "--show-features"],
    ] {
        sandbox.run(args).refusal();
    }
}

#[test]
fn weights_that_minhash_ignores_bring_one_warning() {
    let sandbox = Sandbox::new();
    sandbox.write("d.txt", "a b\nc d\n");
    let run = |pipeline: &str| {
        let args = [
            "fingerprint",
            "-q",
            "--input",
            "lines",
            "d.txt",
            "--pipeline",
            pipeline,
        ];
        let ran = sandbox.run(&args);
        assert_eq!(ran.code, Some(0));
        ran.stderr
    };
    let message =
        "simidx: fingerprint=minhash ignores weights and parts; fingerprint=simhash does not\n";
    assert_eq!(
        run("short,segment=auto,weights=log2,parts=n:3/*:1"),
        message
    );
    assert!(!run("short,segment=auto,parts=n:3").contains("ignores"));
    assert_eq!(run("short,weights=log2,fingerprint=simhash"), "");
}

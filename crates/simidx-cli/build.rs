//! Passes the current commit to the program, if it is known, and nothing else about this machine.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Number of digits of the commit that are shown.
const SHOWN: usize = 12;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SIMIDX_COMMIT");
    let named = std::env::var("SIMIDX_COMMIT").ok();
    let named = named.filter(|named| !named.is_empty());
    let commit = named.or_else(packaged).or_else(checked_out);
    let is_digits = |commit: &String| commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(commit) = commit.filter(is_digits) {
        let commit = &commit[..commit.len().min(SHOWN)];
        println!("cargo::rustc-env=SIMIDX_COMMIT={commit}");
    }
}

/// Returns the commit that a package was made from, which cargo writes next to the manifest.
fn packaged() -> Option<String> {
    let path = Path::new(".cargo_vcs_info.json");
    let info = fs::read_to_string(path).ok()?;
    println!("cargo::rerun-if-changed={}", path.display());
    let (_, rest) = info.split_once("\"sha1\"")?;
    let mut quoted = rest.split('"');
    quoted.nth(1).map(str::to_owned)
}

/// Returns the checked-out commit, unless this is a copy of the sources in another repository.
fn checked_out() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    // A commit changes one of these files.
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "HEAD"])
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

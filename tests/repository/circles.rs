//! The modules of a crate have an order: none of those in a folder uses itself through others.
//!
//! A module includes all modules below it. Parents and the modules below them may use each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use simidx_testkit::document::root;

use crate::modules::{ModulePath, Modules};

/// For each module those in the same folder that it uses, each with a place where it does.
type Arrows = BTreeMap<ModulePath, BTreeMap<ModulePath, String>>;

fn arrows(modules: &Modules) -> Arrows {
    let mut arrows = Arrows::new();
    for named in &modules.named {
        let Some(target) = modules.target(&named.module, &named.path) else {
            continue;
        };
        let pairs = named.module.iter().zip(&target);
        let shared = pairs.take_while(|(from, to)| from == to).count();
        let ends = (named.module.get(..=shared), target.get(..=shared));
        if let (Some(from), Some(to)) = ends {
            let place = format!("{}:{}", named.file.display(), named.line);
            let of_module = arrows.entry(from.to_owned()).or_default();
            of_module.entry(to.to_owned()).or_insert(place);
        }
    }
    arrows
}

/// The modules that a module uses, directly or through others.
fn reached<'a>(arrows: &'a Arrows, from: &'a ModulePath) -> BTreeSet<&'a ModulePath> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        let next = arrows.get(module).into_iter().flat_map(BTreeMap::keys);
        open.extend(next.filter(|&next| found.insert(next)));
    }
    found
}

/// The circles of the modules, each with its members and the arrows between them.
fn circles(modules: &Modules) -> Vec<String> {
    let arrows = arrows(modules);
    let reached_from = |module| reached(&arrows, module);
    let all: BTreeMap<_, _> = arrows
        .keys()
        .map(|from| (from, reached_from(from)))
        .collect();
    let mut members_so_far = BTreeSet::new();
    let mut found = Vec::new();
    for (&module, reached) in &all {
        if !reached.contains(module) || members_so_far.contains(module) {
            continue;
        }
        let is_back = |other: &&ModulePath| all.get(*other).is_some_and(|r| r.contains(module));
        let members: Vec<&ModulePath> = reached.iter().copied().filter(is_back).collect();
        found.push(description(&members, &arrows));
        members_so_far.extend(members);
    }
    found
}

fn description(members: &[&ModulePath], arrows: &Arrows) -> String {
    let names: Vec<String> = members.iter().map(|member| member.join("::")).collect();
    let mut text = names.join(", ");
    for &from in members {
        for (to, place) in arrows[from].iter().filter(|(to, _)| members.contains(to)) {
            let (from, to) = (from.join("::"), to.join("::"));
            text += &format!("\n    {place}: `{from}` uses `{to}`");
        }
    }
    text
}

#[test]
fn modules_of_a_crate_have_no_circle() {
    let crates = fs::read_dir(root().join("crates")).unwrap();
    let mut found = Vec::new();
    let mut module_count = 0;
    for package in crates {
        let file: PathBuf = Path::new("crates").join(package.unwrap().file_name());
        let modules = Modules::of_crate(&file.join("src/lib.rs"));
        module_count += modules.count();
        let circles = circles(&modules).into_iter();
        found.extend(circles.map(|circle| format!("{}: {circle}", file.display())));
    }
    assert!(module_count > 200, "{module_count} modules");
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn a_circle_is_found_by_its_members() {
    let circles_of = |sources: &[(&str, &str)]| {
        let mut modules = Modules::of_source(&[], "pub use c::Shared;");
        for (module, source) in sources {
            let path = module.split("::").map(str::to_owned).collect();
            modules.add_source(&PathBuf::from(module), path, source);
        }
        circles(&modules)
    };
    let circle = [
        ("a", "use crate::b::below;"),
        ("b", "pub mod below { use crate::Shared; }"),
        ("c", "use std::io;\nuse super::{a, d};"),
        ("d", "mod tests { use std::io; }"),
    ];
    assert_eq!(
        circles_of(&circle),
        ["a, b, c\n    a:1: `a` uses `b`\n    b:1: `b` uses `c`\n    c:2: `c` uses `a`"]
    );
    assert_eq!(circles_of(&circle[..2]), [""; 0]);
    // Within a folder too, but not between a parent and what is below it.
    let parent = ("p", "use one::One;");
    let below = [
        ("p::one", "use super::two;"),
        ("p::two", "use super::super::p;"),
    ];
    assert_eq!(circles_of(&[parent, below[0], below[1]]), [""; 0]);
    let back = ("p::two", "use crate::p::One;");
    let found = circles_of(&[parent, below[0], back]);
    assert_eq!(
        found,
        [
            "p::one, p::two\n    p::one:1: `p::one` uses `p::two`\n    p::two:1: `p::two` uses `p::one`"
        ]
    );
}

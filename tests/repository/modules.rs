//! The modules of a crate, and the paths that each of them names outside of its tests: as much of Rust as that takes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use simidx_testkit::document::root;

/// The names on the way to a module or an item, from the root of the crate.
pub(crate) type ModulePath = Vec<String>;

/// A path that a module names, and where it does so.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) module: ModulePath,
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
    /// The path as it is written, which may begin with `crate`, `super`, `self` or a name of the module.
    pub(crate) path: Vec<String>,
}

/// The modules of a crate, without those of its tests.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    all: BTreeSet<ModulePath>,
    pub(crate) named: Vec<Named>,
    /// The paths of the names that a module imports.
    imports: BTreeMap<(ModulePath, String), Vec<String>>,
}

impl Modules {
    /// The modules that belong to a file of the project, which is the root of a crate.
    pub(crate) fn of_crate(root_file: &Path) -> Self {
        let mut modules = Modules::default();
        modules.add_file(root_file.to_owned(), &[]);
        modules
    }

    /// The only module of a file, for tests of what reads them.
    pub(crate) fn of_source(module: &[&str], source: &str) -> Self {
        let mut modules = Modules::default();
        let module: ModulePath = module.iter().map(|&name| name.to_owned()).collect();
        modules.add_source(&module.join("/").into(), module, source);
        modules
    }

    /// Adds the module of a file, and those that it declares.
    fn add_file(&mut self, file: PathBuf, module: &[String]) {
        let source = std::fs::read_to_string(root().join(&file)).expect("it is there");
        let is_root = module.is_empty() || file.ends_with("mod.rs");
        let folder = match is_root {
            true => file.parent().expect("a file is in a folder").to_owned(),
            false => file.with_extension(""),
        };
        for child in self.add_source(&file, module.to_owned(), &source) {
            let below: PathBuf = child[module.len()..].iter().collect();
            let flat = folder.join(&below).with_extension("rs");
            let nested = folder.join(&below).join("mod.rs");
            let is_flat = root().join(&flat).exists();
            self.add_file(if is_flat { flat } else { nested }, &child);
        }
    }

    /// Adds the modules of a source, and returns those that other files have.
    pub(crate) fn add_source(
        &mut self,
        file: &PathBuf,
        module: ModulePath,
        source: &str,
    ) -> Vec<ModulePath> {
        self.all.insert(module.clone());
        let mut reader = Reader {
            modules: self,
            tokens: tokens(source),
            at: 0,
            file,
            module,
            ends: Vec::new(),
            elsewhere: Vec::new(),
        };
        reader.read();
        reader.elsewhere
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// The names of the modules that the root has.
    pub(crate) fn of_root(&self) -> BTreeSet<&str> {
        let modules = self.all.iter().filter(|module| module.len() == 1);
        modules.map(|module| module[0].as_str()).collect()
    }

    /// Returns the path, from the root of the crate, of one that begins with `crate`, `super` or `self`; a name that
    /// the root imports is replaced by its path.
    pub(crate) fn whole_path(&self, named: &Named) -> Option<Vec<String>> {
        let mut path = named.module.clone();
        for (at, name) in named.path.iter().enumerate() {
            match name.as_str() {
                "crate" => path.clear(),
                "super" => drop(path.pop()),
                "self" => {}
                _ if at == 0 => return None,
                name => path.push(name.to_owned()),
            }
        }
        let first = path.first()?;
        if self.all.contains(&vec![first.clone()]) {
            return Some(path);
        }
        let import = self.imports.get(&(Vec::new(), first.clone()))?;
        Some([import.as_slice(), &path[1..]].concat())
    }

    /// The last module of the crate on the way of a path, through imports too; `None` if it begins outside.
    pub(crate) fn target(&self, module: &[String], path: &[String]) -> Option<ModulePath> {
        self.target_within(module, path, 10)
    }

    fn target_within(
        &self,
        module: &[String],
        path: &[String],
        imports: usize,
    ) -> Option<ModulePath> {
        let mut here = module.to_owned();
        for (at, name) in path.iter().enumerate() {
            let child = [here.as_slice(), std::slice::from_ref(name)].concat();
            match name.as_str() {
                "crate" => here.clear(),
                "self" => {}
                "super" => drop(here.pop()),
                _ if self.all.contains(&child) => here = child,
                _ => {
                    let key = (here, name.clone());
                    let import = self.imports.get(&key).filter(|_| imports > 0);
                    let target = import.and_then(|import| {
                        let path = [import.as_slice(), &path[at + 1..]].concat();
                        self.target_within(&key.0, &path, imports - 1)
                    });
                    return target.or((at > 0).then_some(key.0));
                }
            }
        }
        Some(here)
    }
}

/// Reads the tokens of one file.
struct Reader<'r> {
    modules: &'r mut Modules,
    tokens: Vec<Token<'r>>,
    at: usize,
    file: &'r PathBuf,
    module: ModulePath,
    /// For each brace that is open, whether it ends a module.
    ends: Vec<bool>,
    elsewhere: Vec<ModulePath>,
}

impl<'r> Reader<'r> {
    fn peek(&self, ahead: usize) -> &'r str {
        self.tokens
            .get(self.at + ahead)
            .map_or("", |token| token.text)
    }

    fn take(&mut self) -> &'r str {
        self.at += 1;
        self.tokens[self.at - 1].text
    }

    fn read(&mut self) {
        while self.at < self.tokens.len() {
            match self.peek(0) {
                "#" => self.attribute(),
                "mod" if self.peek(2) == "{" => {
                    self.module.push(self.peek(1).to_owned());
                    self.modules.all.insert(self.module.clone());
                    self.ends.push(true);
                    self.at += 3;
                }
                "mod" if self.peek(2) == ";" => {
                    let mut child = self.module.clone();
                    child.push(self.peek(1).to_owned());
                    self.elsewhere.push(child);
                    self.at += 3;
                }
                "{" => {
                    self.ends.push(false);
                    self.at += 1;
                }
                "}" => {
                    if self.ends.pop() == Some(true) {
                        self.module.pop();
                    }
                    self.at += 1;
                }
                "use" if self.peek(1) != "<" => {
                    self.at += 1;
                    self.tree(&[]);
                }
                "crate" | "super" | "self" if self.peek(1) == "::" => self.path(),
                _ => self.at += 1,
            }
        }
    }

    /// Goes past an attribute, and past the item after it if only tests have that.
    fn attribute(&mut self) {
        let start = self.at;
        while self.take() != "]" {}
        let attribute: Vec<&str> = self.tokens[start..self.at].iter().map(|t| t.text).collect();
        let is_test = matches!(
            attribute[..],
            ["#", "[", "cfg", "(", "test", ..] | ["#", "[", "cfg", "(", "all", "(", "test", ..]
        );
        if is_test {
            self.skip_item();
        }
    }

    /// Goes past an item: to its semicolon, or to the end of its block.
    fn skip_item(&mut self) {
        let mut depth = 0;
        while self.at < self.tokens.len() {
            match self.peek(0) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" if depth == 0 => return,
                ")" | "]" => depth -= 1,
                "}" => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return;
                    }
                }
                ";" if depth == 0 => {
                    self.at += 1;
                    return;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// A path within an expression or a type.
    fn path(&mut self) {
        let line = self.tokens[self.at].line;
        let mut path = vec![self.take().to_owned()];
        while self.peek(0) == "::" && is_word(self.peek(1)) {
            self.at += 1;
            path.push(self.take().to_owned());
        }
        self.name(line, path);
    }

    /// Reads the names of an import, after the names before a brace.
    fn tree(&mut self, before: &[String]) {
        let line = self.tokens[self.at].line;
        let mut path = before.to_owned();
        loop {
            match self.peek(0) {
                "::" => self.at += 1,
                "{" => {
                    while self.take() != "}" {
                        if self.peek(0) != "}" {
                            self.tree(&path);
                        }
                    }
                    return;
                }
                "*" => {
                    self.at += 1;
                    return self.name(line, path);
                }
                "self" if !path.is_empty() => self.at += 1,
                word if is_word(word) && word != "as" => path.push(self.take().to_owned()),
                _ => break,
            }
        }
        let mut alias = path.last().expect("it names something").clone();
        if self.peek(0) == "as" {
            self.at += 1;
            alias = self.take().to_owned();
        }
        let key = (self.module.clone(), alias);
        self.modules.imports.insert(key, path.clone());
        self.name(line, path);
    }

    fn name(&mut self, line: usize, path: Vec<String>) {
        self.modules.named.push(Named {
            module: self.module.clone(),
            file: self.file.clone(),
            line,
            path,
        });
    }
}

/// A word or a sign of a source.
#[derive(Debug, Clone, Copy)]
struct Token<'s> {
    text: &'s str,
    line: usize,
}

fn is_word(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphanumeric() || first == '_')
}

/// The tokens of a source, without comments, strings and characters.
fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = source;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let raw = rest.trim_start_matches(['b', 'c']);
        let len = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").expect("a comment ends") + 2
        } else if let Some(len) = raw_string_len(raw) {
            rest.len() - raw.len() + len
        } else if first == '"' {
            quoted_len(rest, '"')
        } else if first == '\'' && (rest[1..].starts_with('\\') || third(rest) == Some('\'')) {
            quoted_len(rest, '\'')
        } else {
            let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let len = match word.unwrap_or(rest.len()) {
                0 if rest.starts_with("::") => 2,
                0 => first.len_utf8(),
                len => len,
            };
            let text = &rest[..len];
            if !first.is_whitespace() {
                found.push(Token { text, line });
            }
            len
        };
        line += rest[..len].matches('\n').count();
        rest = &rest[len..];
    }
    found
}

fn third(text: &str) -> Option<char> {
    text.chars().nth(2)
}

/// The length of what begins with a quotation mark, up to the mark that ends it.
fn quoted_len(text: &str, mark: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == mark && !is_escaped {
            return at + c.len_utf8();
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    panic!("it does not end: {text:.40}")
}

/// The length of a raw string, if the text begins with one.
fn raw_string_len(text: &str) -> Option<usize> {
    let hashes = text.strip_prefix('r')?;
    let string = hashes.trim_start_matches('#');
    let end = format!("\"{}", &hashes[..hashes.len() - string.len()]);
    let inner = string.strip_prefix('"')?;
    let len = inner.find(&end).expect("a raw string ends");
    Some(text.len() - inner.len() + len + end.len())
}

#[test]
fn paths_are_found_outside_of_tests_strings_and_comments() {
    let source = r##"
        //! [`crate::comment`]
        use std::io;
        use crate::{a::B, c::{self, d as e}};
        mod below {
            pub trait T: super::super::f::T {}
        }
        fn text() -> &'static str { let _ = ('"', "crate::string", r#"" crate::raw"#); crate::g::h::<'\''>() }
        #[cfg(test)]
        mod tests { use crate::tested; }
        #[cfg(all(test, feature = "x"))]
        use crate::tested_too;
        #[cfg(feature = "x")]
        pub use super::i::*;
    "##;
    let modules = Modules::of_source(&["m", "n"], source);
    let named = modules.named.iter();
    let found: Vec<(usize, String)> = named
        .map(|named| (named.line, named.path.join("::")))
        .collect();
    let expected = [
        (3, "std::io"),
        (4, "crate::a::B"),
        (4, "crate::c"),
        (4, "crate::c::d"),
        (6, "super::super::f::T"),
        (8, "crate::g::h"),
        (14, "super::i"),
    ];
    assert_eq!(
        found,
        expected.map(|(line, path)| (line, path.to_owned())),
        "{modules:?}"
    );
}

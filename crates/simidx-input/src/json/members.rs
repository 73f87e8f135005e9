//! Finds members of a JSON object by their paths, without storing the rest.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A path to a value.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    /// Number of the slot for the value.
    pub(super) slot: usize,
    /// The remaining part of the path.
    pub(super) rest: &'a str,
    /// Whether the path has passed through a list, and so may have several values.
    in_list: bool,
}

impl<'a> Path<'a> {
    pub(super) fn new(slot: usize, name: &'a str) -> Self {
        Path {
            slot,
            rest: name,
            in_list: false,
        }
    }

    /// Returns the rest of the path after a member with this name, if the path begins with it.
    fn after(self, name: &str) -> Option<Self> {
        let rest = self.rest.strip_prefix(name)?.strip_prefix('.')?;
        Some(Path { rest, ..self })
    }

    /// Returns the rest of the path in an element of a list.
    fn in_element(self) -> Option<Self> {
        let rest = match self.rest {
            "*" => "",
            rest => rest.strip_prefix("*.")?,
        };
        Some(Path {
            rest,
            in_list: true,
            ..self
        })
    }
}

/// A value. Unusable values are not stored.
#[derive(Debug)]
pub(super) enum Value {
    Text(String),
    Number(u64),
    Null,
    List,
    Other,
}

/// The values at the end of a path.
#[derive(Default)]
pub(super) struct Found {
    /// The value at the end of a path without lists.
    pub(super) value: Option<Value>,
    /// The joined texts in a list.
    texts: Option<String>,
    /// Number of these texts.
    count: usize,
    /// Whether the list contained an element that is neither a text nor null.
    has_others: bool,
    /// Whether there was more than one value, although only one is expected.
    pub(super) is_repeated: bool,
}

impl Found {
    pub(super) fn is_there(&self) -> bool {
        self.value.is_some() || self.texts.is_some() || self.has_others
    }

    /// Returns the text; `None` if it is null. The error describes another value.
    pub(super) fn into_text(self, name: &str) -> Result<Option<String>, String> {
        if self.has_others {
            return Err(format!("{name:?} names values that are not strings"));
        }
        match (self.texts, self.value) {
            (Some(texts), _) => Ok(Some(texts)),
            (None, Some(Value::Text(text))) => Ok(Some(text)),
            (None, Some(Value::Null)) => Ok(None),
            (None, Some(Value::List)) => Err(format!(
                "{name:?} is a list; \"{name}.*\" names its elements"
            )),
            (None, _) => Err(format!("{name:?} is not a string")),
        }
    }

    fn set(&mut self, value: Value) {
        self.is_repeated |= self.value.replace(value).is_some();
    }

    /// Counts the field as present, although a list has no text at it so far.
    fn be_there(&mut self) {
        self.texts.get_or_insert_default();
    }

    fn add(&mut self, text: String) {
        match &mut self.texts {
            Some(texts) if self.count > 0 => {
                texts.push('\n');
                texts.push_str(&text);
            }
            // The first text is not copied.
            texts => *texts = Some(text),
        }
        self.count += 1;
    }
}

/// Finds the values of the paths in an object. `found` has an element for each slot.
pub(super) fn find(
    object: &str,
    paths: &[Path<'_>],
    found: &mut [Found],
) -> Result<(), serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(object);
    let visitor = Node { paths, found };
    json.deserialize_map(visitor).and_then(|()| json.end())
}

/// The name of a member, which is copied only if it has escapes.
#[derive(Deserialize)]
struct Name<'n>(#[serde(borrow)] Cow<'n, str>);

/// A value at which paths end or continue.
struct Node<'a, 'f> {
    paths: &'f [Path<'a>],
    found: &'f mut [Found],
}

impl Node<'_, '_> {
    /// Stores a value if a path ends at it. In a list, only texts are accepted, and nulls count as present only.
    fn end(&mut self, value: Value) {
        let mut paths = self.paths.iter();
        let Some(path) = paths.find(|path| path.rest.is_empty()) else {
            return;
        };
        let found = &mut self.found[path.slot];
        match value {
            value if !path.in_list => found.set(value),
            Value::Text(text) => found.add(text),
            Value::Null => found.be_there(),
            _ => found.has_others = true,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        let inner = self.paths.iter().filter(|path| !path.rest.is_empty());
        let inner: Vec<_> = inner.copied().collect();
        self.end(Value::Other);
        if inner.is_empty() {
            return IgnoredAny.visit_map(members).map(drop);
        }
        while let Some(Name(name)) = members.next_key()? {
            // A path that ends here has precedence over paths that continue.
            let end = inner.iter().find(|path| path.rest == name);
            let end = end.map(|path| Path { rest: "", ..*path });
            let within: Vec<_> = match end {
                Some(_) => Vec::new(),
                None => inner.iter().filter_map(|path| path.after(&name)).collect(),
            };
            let paths = end.as_ref().map_or(&within[..], std::slice::from_ref);
            if paths.is_empty() {
                members.next_value::<IgnoredAny>()?;
                continue;
            }
            let found = &mut *self.found;
            members.next_value_seed(Node { paths, found })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        let inner = self.paths.iter().filter_map(|path| path.in_element());
        let inner: Vec<_> = inner.collect();
        self.end(Value::List);
        if inner.is_empty() {
            return IgnoredAny.visit_seq(items).map(drop);
        }
        let Node { found, .. } = self;
        let paths = &inner;
        let mut is_empty = true;
        while items.next_element_seed(Node { paths, found })?.is_some() {
            is_empty = false;
        }
        // An empty list has all fields; otherwise an element must have them.
        for path in inner.iter().filter(|_| is_empty) {
            found[path.slot].be_there();
        }
        Ok(())
    }

    /// A list that is null counts as present, and so do the fields of an element that is null.
    fn visit_unit<E>(mut self) -> Result<(), E> {
        for path in self.paths {
            match path.in_list {
                true => self.found[path.slot].be_there(),
                false if path.in_element().is_some() => self.found[path.slot].set(Value::Null),
                false => {}
            }
        }
        self.end(Value::Null);
        Ok(())
    }

    fn visit_str<E>(mut self, text: &str) -> Result<(), E> {
        self.end(Value::Text(text.to_owned()));
        Ok(())
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<(), E> {
        self.end(Value::Number(number));
        Ok(())
    }

    fn visit_i64<E>(mut self, _: i64) -> Result<(), E> {
        self.end(Value::Other);
        Ok(())
    }

    fn visit_f64<E>(mut self, _: f64) -> Result<(), E> {
        self.end(Value::Other);
        Ok(())
    }

    fn visit_bool<E>(mut self, _: bool) -> Result<(), E> {
        self.end(Value::Other);
        Ok(())
    }
}

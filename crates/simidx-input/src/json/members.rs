//! Members of a JSON object that are looked for, by paths, without keeping the rest.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// A path that leads to a value.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    /// Number of what is found there.
    pub(super) slot: usize,
    /// The part of the path that is still to be gone.
    pub(super) rest: &'a str,
    /// Whether it has led through a list, from which several values come.
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

    /// The same path from a member of this name on.
    fn after(self, name: &str) -> Option<Self> {
        let rest = self.rest.strip_prefix(name)?.strip_prefix('.')?;
        Some(Path { rest, ..self })
    }

    /// The same path from an element of a list on.
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

/// A value, of which nothing is kept that cannot be used.
#[derive(Debug)]
pub(super) enum Value {
    Text(String),
    Number(u64),
    Null,
    List,
    Other,
}

/// What a path led to.
#[derive(Default)]
pub(super) struct Found {
    /// The value at the end of a path without lists.
    pub(super) value: Option<Value>,
    /// The texts in a list, joined.
    texts: Option<String>,
    /// How many they are.
    count: usize,
    /// Whether there was something in the list that is neither a text nor null.
    has_others: bool,
    /// Whether there was more than one value where one is wanted.
    pub(super) is_repeated: bool,
}

impl Found {
    pub(super) fn is_there(&self) -> bool {
        self.value.is_some() || self.texts.is_some()
    }

    /// The text, nothing for null, or what is wrong.
    pub(super) fn into_text(self, name: &str) -> Result<Option<String>, String> {
        if self.has_others {
            return Err(format!("{name:?} leads to values that are no strings"));
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

    fn add(&mut self, text: &str) {
        let texts = self.texts.get_or_insert_default();
        if self.count > 0 {
            texts.push('\n');
        }
        texts.push_str(text);
        self.count += 1;
    }
}

/// Finds what the paths lead to in an object; `found` has a place for each slot.
pub(super) fn find(
    object: &str,
    paths: &[Path<'_>],
    found: &mut [Found],
) -> Result<(), serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(object);
    let visitor = ObjectVisitor { paths, found };
    json.deserialize_map(visitor).and_then(|()| json.end())
}

/// Goes through the members of an object.
struct ObjectVisitor<'a, 'f> {
    paths: &'f [Path<'a>],
    found: &'f mut [Found],
}

impl<'de> Visitor<'de> for ObjectVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(member) = members.next_key_seed(Name(self.paths))? {
            match member {
                Member::Value(slot) => self.found[slot].set(members.next_value()?),
                Member::Within(paths) => members.next_value_seed(Within {
                    paths: &paths,
                    found: self.found,
                })?,
                Member::Other => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }
}

/// What a member of an object is.
enum Member<'a> {
    /// The end of a path.
    Value(usize),
    /// Something that paths lead through, or to which they lead from a list.
    Within(Vec<Path<'a>>),
    Other,
}

/// Tells a member by its name, which need not be kept.
struct Name<'a, 'f>(&'f [Path<'a>]);

impl<'de, 'a> DeserializeSeed<'de> for Name<'a, '_> {
    type Value = Member<'a>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Member<'a>, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for Name<'a, '_> {
    type Value = Member<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }

    fn visit_str<E>(self, name: &str) -> Result<Member<'a>, E> {
        let ends = |path: &&Path<'a>| path.rest == name;
        if let Some(path) = self.0.iter().find(ends) {
            let rest = "";
            return Ok(match path.in_list {
                true => Member::Within(vec![Path { rest, ..*path }]),
                false => Member::Value(path.slot),
            });
        }
        let within: Vec<_> = self.0.iter().filter_map(|path| path.after(name)).collect();
        Ok(match within.is_empty() {
            true => Member::Other,
            false => Member::Within(within),
        })
    }
}

/// A value that paths lead through, or at which they end after a list.
struct Within<'a, 'f> {
    paths: &'f [Path<'a>],
    found: &'f mut [Found],
}

impl Within<'_, '_> {
    /// Takes a value at which paths end, if it is one that is no text.
    fn other(self) {
        for path in self.paths.iter().filter(|path| path.rest.is_empty()) {
            self.found[path.slot].has_others = true;
        }
    }
}

impl<'de> DeserializeSeed<'de> for Within<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Within<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<(), A::Error> {
        let Within { paths, found } = self;
        let inner = paths.iter().filter(|path| !path.rest.is_empty());
        let inner: Vec<_> = inner.copied().collect();
        let object = ObjectVisitor {
            paths: &inner,
            found,
        };
        object.visit_map(members)?;
        Within { paths, found }.other();
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Within { paths, found } = self;
        let inner: Vec<_> = paths.iter().filter_map(|path| path.in_element()).collect();
        for path in &inner {
            found[path.slot].texts.get_or_insert_default();
        }
        if inner.is_empty() {
            IgnoredAny.visit_seq(items)?;
        } else {
            let paths = &inner;
            while items.next_element_seed(Within { paths, found })?.is_some() {}
        }
        Within { paths, found }.other();
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        for path in self.paths.iter().filter(|path| path.rest.is_empty()) {
            self.found[path.slot].add(text);
        }
        Ok(())
    }

    /// A list that is null is there; within lists nulls are passed over.
    fn visit_unit<E>(self) -> Result<(), E> {
        let to_list = |path: &&Path<'_>| !path.in_list && path.in_element().is_some();
        for path in self.paths.iter().filter(to_list) {
            self.found[path.slot].set(Value::Null);
        }
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        self.other();
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.other();
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.other();
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.other();
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Value, D::Error> {
        json.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Value, E> {
        Ok(Value::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Other)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Value, A::Error> {
        IgnoredAny.visit_seq(items).map(|_| Value::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Value, A::Error> {
        IgnoredAny.visit_map(members).map(|_| Value::Other)
    }
}

//! Enums whose values have names, by which users choose them and which descriptions of pipelines hold.

/// Gives an enum `ALL`, `name`, and the traits that write and read its names. `$what` and `$and` are for the error of a
/// name that is not known.
macro_rules! named {
    ($Enum:ident, $what:literal, $and:literal, $($Value:ident = $name:literal),+) => {
        impl $Enum {
            /// All of them, in the order in which they are listed to users.
            pub const ALL: [$Enum; [$($name),+].len()] = [$($Enum::$Value),+];

            /// The name by which users choose it.
            pub fn name(self) -> &'static str {
                match self {
                    $($Enum::$Value => $name),+
                }
            }
        }

        impl std::fmt::Display for $Enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $Enum {
            type Err = crate::Error;

            fn from_str(name: &str) -> crate::Result<Self> {
                let found = Self::ALL.into_iter().find(|value| value.name() == name);
                found.ok_or_else(|| {
                    let (last, others) = Self::ALL.split_last().expect("it has values");
                    let others = others.iter().map(|value| value.name()).collect::<Vec<_>>();
                    let known = others.join(", ") + $and + last.name();
                    let what = $what;
                    crate::Error::Pipeline(format!("unknown {what} {name:?}, known are {known}"))
                })
            }
        }
    };
}

pub(crate) use named;

/// A number without sign or leading zeros.
pub(crate) fn plain_number<T: std::str::FromStr>(digits: &str) -> Option<T> {
    let is_plain = digits == "0" || !digits.starts_with('0');
    let is_plain = is_plain && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| is_plain)
}

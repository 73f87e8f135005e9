//! Enums whose values have names.

/// Gives an enum `ALL`, `name`, and the traits that write and read its names. `$unknown` makes the error of a name that no
/// value has.
#[doc(hidden)]
#[macro_export]
macro_rules! named {
    ($Enum:ident, $Error:ty, $unknown:expr, $($Value:ident = $name:literal),+ $(,)?) => {
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
            type Err = $Error;

            fn from_str(name: &str) -> std::result::Result<Self, $Error> {
                let found = Self::ALL.into_iter().find(|value| value.name() == name);
                let unknown: fn(&str) -> $Error = $unknown;
                found.ok_or_else(|| unknown(name))
            }
        }
    };
}

//! The macro that defines setters of options.

/// Adds a method to options for each field that sets it and returns the options, with the type of its argument.
/// `Some(…)` is for an optional field.
#[doc(hidden)]
#[macro_export]
macro_rules! setters {
    (@ $field:ident Some($T:ty)) => {
        #[doc = concat!("Sets [`Self::", stringify!($field), "`](#structfield.", stringify!($field), ").")]
        #[must_use]
        pub fn $field(mut self, $field: $T) -> Self {
            self.$field = Some($field.into());
            self
        }
    };
    (@ $field:ident $T:ty) => {
        #[doc = concat!("Sets [`Self::", stringify!($field), "`](#structfield.", stringify!($field), ").")]
        #[must_use]
        pub fn $field(mut self, $field: $T) -> Self {
            self.$field = $field;
            self
        }
    };
    ($Options:ty { $($field:ident($($T:tt)+))+ }) => {
        impl $Options {
            $($crate::setters!(@ $field $($T)+);)+
        }
    };
}

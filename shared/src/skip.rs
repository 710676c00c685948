//! The rule for fields that are left out where a value is written.

/// Returns whether this is the value that reading gives where nothing is written. For `skip_serializing_if`.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

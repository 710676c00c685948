//! The identity of a project.

/// The one name that a project is known by at the Workers, however its path is spelled: forges take paths in any case, so a job's
/// token, a bound token's event and an address that a person typed may differ in it. Paths of forges are ASCII.
pub fn identity(mut path: String) -> String {
    path.make_ascii_lowercase();
    path
}

//! Whether a file left out of the review can run, or steer what runs.
//!
//! Name, mode, place and content are asked, and what none of them shows to be harmless counts as code.

use conclave_shared::{
    path_kind::{Form as NamedForm, PathKind, is_document, language},
    risk::SecurityPaths,
};

use super::{ChangeKind, Content, FileDiff, FilterReason, Peek, peek::Form};

/// What is known of a file's content at base and at head.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sides {
    base: Option<Peek>,
    head: Option<Peek>,
}

impl From<(Option<Peek>, Option<Peek>)> for Sides {
    fn from((base, head): (Option<Peek>, Option<Peek>)) -> Self {
        Self { base, head }
    }
}

impl Sides {
    /// Returns whether one side is text.
    pub(super) fn is_text_anywhere(self) -> bool {
        [self.base, self.head].iter().flatten().any(|side| side.text)
    }

    /// Returns whether the base is text of its own, and no pointer.
    pub(super) fn was_text(self) -> bool {
        self.base.is_some_and(|base| base.text && !base.pointer)
    }

    /// Returns whether the file stands for content that Git LFS keeps elsewhere; of a deleted file, whether it did.
    pub(super) fn is_pointer(self, file: &FileDiff) -> bool {
        self.last(file).is_some_and(|side| side.pointer)
    }

    /// Returns whether the head holds content that is not text.
    pub(super) fn is_binary_at_head(self) -> bool {
        self.head.is_some_and(|head| !head.text && !head.empty)
    }

    /// Whether a generator wrote the file: its header stands at base, and at head the same one in the same kind of file.
    /// Where the project trusts the file, the header at head is enough.
    pub(super) fn is_generated(self, file: &FileDiff, is_trusted: bool) -> bool {
        let header = |side: Option<Peek>| side.and_then(|side| side.generated);
        let (base, head) = (header(self.base), header(self.head));
        if is_trusted && head.is_some() {
            return true;
        }
        if file.kind == ChangeKind::Deleted {
            return base.is_some();
        }
        let shebang = |side: Option<Peek>| side.is_some_and(|side| side.shebang);
        base.is_some()
            && base == head
            && shebang(self.base) == shebang(self.head)
            && file.modes.0 == file.modes.1
            && language(&file.old_path) == language(&file.path)
    }

    /// The side that there will be: head, or of a deleted file what it was.
    fn last(self, file: &FileDiff) -> Option<Peek> {
        if file.kind == ChangeKind::Deleted {
            self.base
        } else {
            self.head
        }
    }
}

/// Returns whether binary data, or what stands behind a pointer of Git LFS, may be code, a script, configuration or a template,
/// by name, mode, place or first line.
pub(super) fn may_be_text(file: &FileDiff, is_protected: bool, sides: Sides) -> bool {
    // What is gone runs no more.
    if file.kind == ChangeKind::Deleted {
        return false;
    }
    let head = sides.head.unwrap_or_default();
    if file.is_executable() || head.shebang || head.encoding.is_some() {
        return true;
    }
    let named = PathKind::of(&file.path);
    // A file named as a picture has to begin like one. Behind a pointer there are no bytes to ask.
    let is_what_it_says = match named.form {
        NamedForm::Inert | NamedForm::Archive if head.pointer => !is_protected,
        NamedForm::Compiled if head.pointer => false,
        NamedForm::Inert => matches!(head.form, Form::Inert | Form::Archive),
        NamedForm::Archive => matches!(head.form, Form::Archive) || !head.mostly_text,
        NamedForm::Compiled => !head.mostly_text,
        NamedForm::Code => false,
        NamedForm::Text | NamedForm::Unknown => !head.mostly_text && !named.runs_by_itself,
    };
    !is_what_it_says || (is_protected && named.form != NamedForm::Inert)
}

/// Returns whether noise can run or steer something; `None` where the content has to be asked.
pub(super) fn by_name(file: &FileDiff, reason: FilterReason) -> Option<bool> {
    if file.is_executable() || matches!(file.content, Content::Symlink | Content::Submodule) {
        return Some(true);
    }
    if is_map(file) {
        return None;
    }
    match PathKind::of(&file.path).form {
        NamedForm::Code | NamedForm::Compiled => Some(true),
        NamedForm::Archive if reason == FilterReason::Vendored => Some(true),
        NamedForm::Archive | NamedForm::Inert | NamedForm::Text | NamedForm::Unknown => None,
    }
}

/// Returns whether noise can run or steer something.
pub(super) fn can_run(file: &FileDiff, reason: FilterReason, sides: Sides) -> bool {
    if let Some(known) = by_name(file, reason) {
        return known;
    }
    let Some(content) = sides.last(file) else { return true };
    if content.shebang || content.form == Form::Program {
        return true;
    }
    if is_map(file) {
        return !content.source_map;
    }
    let is_binary = reason == FilterReason::Binary;
    let named = PathKind::of(&file.path);
    let is_unseen = content.pointer && file.kind != ChangeKind::Deleted;
    let is_shown_text = content.text || content.encoding.is_some();
    match named.form {
        // Only the name says what stands behind a pointer.
        NamedForm::Inert if content.pointer && is_binary => false,
        NamedForm::Text | NamedForm::Unknown if is_unseen => true,
        NamedForm::Code | NamedForm::Compiled => true,
        NamedForm::Inert => !matches!(content.form, Form::Inert | Form::Archive),
        // Text runs where a tool obeys what stands in its place. In a copy of other people's code, a program may read it that this
        // change does not show.
        NamedForm::Text if named.runs_by_itself => true,
        NamedForm::Text if reason == FilterReason::Vendored => {
            !(content.empty || is_shown_text && is_document(&file.path))
        }
        NamedForm::Text => !(is_binary || is_shown_text || content.empty),
        NamedForm::Archive => named.runs_by_itself,
        // For data that is not text, only its place says that something reads it as a program.
        NamedForm::Unknown => !is_binary || named.runs_by_itself,
    }
}

/// Returns whether a file that keeps its content is another kind of file afterwards: a script, a pipeline, a hook, a
/// security-sensitive file, another language, or no longer noise. Such a patch has to be opened like any change.
pub fn changes_kind(file: &FileDiff, security: &SecurityPaths) -> bool {
    if file.becomes_executable() {
        return true;
    }
    if file.old_path == file.path || file.kind == ChangeKind::Deleted {
        return false;
    }
    let kind = |path: &str| {
        let PathKind {
            form,
            noise,
            is_migration,
            is_pipeline,
            runs_by_itself,
            ..
        } = PathKind::of(path);
        let place = (noise, is_migration, is_pipeline, runs_by_itself);
        (language(path), form, place, security.reason(path).is_some())
    };
    kind(&file.old_path) != kind(&file.path)
}

/// Whether a binary file may be text in wide characters, as far as its name tells: pictures and programs need not be opened
/// for that.
pub fn may_be_encoded(file: &FileDiff) -> bool {
    matches!(
        PathKind::of(&file.path).form,
        NamedForm::Code | NamedForm::Text | NamedForm::Unknown
    )
}

/// Returns whether a checkout with the attribute `ident` changes this content.
pub fn has_ident(content: &[u8]) -> bool {
    [&b"$Id$"[..], b"$Id:"]
        .iter()
        .any(|mark| memchr::memmem::find(content, mark).is_some())
}

/// Returns whether the name is that of a source map: the whole content is needed to say what the file is.
pub fn is_map(file: &FileDiff) -> bool {
    language(&file.path) == "map"
}

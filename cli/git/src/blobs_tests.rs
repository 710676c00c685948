//! Many objects, large ones, and ones that are not there.

use super::*;
use crate::test_support::{commit, git, scratch, write};

#[tokio::test]
async fn objects_are_read_in_order_and_large_ones_only_at_their_beginning() {
    let scratch = scratch();
    let root = &scratch.path;
    git(root, &["init", "--quiet"]);
    for index in 0..300 {
        write(root, &format!("f{index}"), format!("content {index}\n").repeat(index));
    }
    // More than is skipped by reading it.
    write(root, "huge", vec![b'x'; 9 << 20]);
    commit(root, "one");
    let name = |path: &str| git(root, &["rev-parse", &format!("HEAD:{path}")]);
    let mut names: Vec<String> = git(root, &["ls-tree", "-r", "--format=%(objectname) %(path)", "HEAD"])
        .lines()
        .map(|line| line.split(' ').next().expect("a name").to_owned())
        .collect();
    names.push("f".repeat(40));
    names.push(git(root, &["rev-parse", "HEAD^{tree}"]));
    names.push(name("f7"));
    let repository = Repository::open(root).await.expect("a repository");
    let mut blobs = Vec::new();
    repository
        .read_blobs(&names, 1000, |index, blob| {
            assert_eq!(index, blobs.len());
            blobs.push(blob);
        })
        .await
        .expect("readable");
    assert_eq!(blobs.len(), names.len());
    let of = |path: &str| {
        let at = names.iter().position(|known| *known == name(path)).expect("listed");
        blobs[at].clone().expect("there")
    };
    assert_eq!(
        of("f0"),
        Blob {
            size: 0,
            content: Vec::new()
        }
    );
    assert_eq!(of("f7").content, b"content 7\n".repeat(7));
    assert!(of("huge").is_cut() && of("huge").content == [b'x'; 1000] && of("huge").size == 9 << 20);
    assert!(of("f299").is_cut() && !of("f7").is_cut());
    assert_eq!(
        blobs[names.len() - 3..names.len() - 1],
        [None, None],
        "neither a missing object nor a directory"
    );
    assert_eq!(blobs.last(), Some(&Some(of("f7"))));
    let again = repository.read_blob(&name("f1"), 5).await.expect("readable");
    assert_eq!(again.map(|blob| blob.content), Some(b"conte".to_vec()));
}

/// The answer for a name that is not there repeats the name, which a branch's author chooses.
#[tokio::test]
async fn a_name_that_looks_like_an_answer_is_missing_all_the_same() {
    let scratch = scratch();
    let root = &scratch.path;
    git(root, &["init", "--quiet"]);
    write(root, "a", "content\n");
    commit(root, "one");
    let repository = Repository::open(root).await.expect("a repository");
    let mut blobs = Vec::new();
    repository
        .read_blobs(&["HEAD:x blob 12 y/z", "HEAD:a"], 100, |_, blob| {
            blobs.push(blob.map(|blob| blob.content));
        })
        .await
        .expect("readable");
    assert_eq!(blobs, [None, Some(b"content\n".to_vec())]);
}

use camino::Utf8PathBuf;

use super::*;

#[test]
fn an_output_cannot_begin_another_nor_end_early() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = Utf8PathBuf::from_path_buf(directory.path().join("output")).expect("a UTF-8 path");
    std::fs::write(&path, "earlier=1\n").expect("a file");
    let files = WorkflowFiles {
        summary: None,
        output: Some(path.clone()),
        run_url: None,
    };
    let hostile = [
        "approved\nurl=https://evil.example",
        "x\r\nconclave_0\nurl<<y\nhttps://evil.example\ny",
        "::set-output name=url::https://evil.example",
    ];
    for value in hostile {
        files
            .write_outputs(&[("verdict", value.to_owned())])
            .expect("it is written");
    }
    let written = std::fs::read_to_string(&path).expect("a file");
    let mut lines = written.lines();
    assert_eq!(lines.next(), Some("earlier=1"), "what is there stays");
    let mut delimiters = Vec::new();
    for value in hostile {
        let begin = lines.next().expect("a beginning");
        let delimiter = begin.strip_prefix("verdict<<").expect("the name and a delimiter");
        let expected: String = value.chars().filter(|character| !character.is_control()).collect();
        assert_eq!((lines.next(), lines.next()), (Some(expected.as_str()), Some(delimiter)));
        assert!(delimiter.len() > "conclave_".len() + 30, "{delimiter}");
        delimiters.push(delimiter.to_owned());
    }
    assert_eq!(lines.next(), None);
    delimiters.dedup();
    assert_eq!(delimiters.len(), hostile.len(), "each its own");
}

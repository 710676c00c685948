//! Smart HTTP by git's own CGI program.

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use crate::reply::Reply;

/// A request for a repository's git data.
#[derive(Debug, Default)]
pub(crate) struct GitRequest<'a> {
    pub(crate) method: &'a str,
    /// The path below the repository: `/info/refs`.
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    pub(crate) content_type: &'a str,
    pub(crate) content_encoding: &'a str,
    /// The `Git-Protocol` header.
    pub(crate) protocol: &'a str,
    pub(crate) body: &'a [u8],
}

impl GitRequest<'_> {
    /// Whether the request pushes.
    pub(crate) fn is_push(&self) -> bool {
        self.path.contains("git-receive-pack") || self.query.contains("git-receive-pack")
    }

    /// Serves the request from the bare repository at a path.
    pub(crate) fn serve(&self, repository: &Path, user: &str) -> Reply {
        let mut child = super::command()
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", repository)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("PATH_INFO", self.path)
            .env("QUERY_STRING", self.query)
            .env("REQUEST_METHOD", self.method)
            .env("CONTENT_TYPE", self.content_type)
            .env("CONTENT_LENGTH", self.body.len().to_string())
            .env("HTTP_CONTENT_ENCODING", self.content_encoding)
            .env("HTTP_GIT_PROTOCOL", self.protocol)
            .env("GIT_PROTOCOL", self.protocol)
            .env("REMOTE_USER", user)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("git is installed");
        let mut input = child.stdin.take().expect("the standard input is piped");
        let output = std::thread::scope(|scope| {
            // A refused request leaves its body unread.
            scope.spawn(move || input.write_all(self.body).ok());
            child.wait_with_output().expect("git http-backend ends")
        });
        parse(&output.stdout)
    }
}

/// Reads the answer of a CGI program.
fn parse(output: &[u8]) -> Reply {
    let end = output
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap_or(output.len());
    let body = output.get(end + 4..).unwrap_or_default().to_vec();
    let mut reply = Reply::raw(200, "application/octet-stream", body);
    for line in String::from_utf8_lossy(&output[..end]).lines() {
        let Some((name, value)) = line.split_once(": ") else {
            continue;
        };
        match name {
            "Status" => {
                reply.status = value
                    .split(' ')
                    .next()
                    .and_then(|code| code.parse().ok())
                    .unwrap_or(500);
            }
            "Content-Type" => {
                if let crate::reply::ReplyBody::Raw { content_type, .. } = &mut reply.body {
                    value.clone_into(content_type);
                }
            }
            _ => reply = reply.header(name, value),
        }
    }
    reply
}

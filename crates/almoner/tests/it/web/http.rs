//! HTTP/1.1, as far as a browser's driver and an attacker need it: one request, one connection.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    /// Returns the first header of this name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(each, _)| each.eq_ignore_ascii_case(name)).map(|(_, text)| text.as_str())
    }
}

/// Asks, and reads until the other side closes.
#[track_caller]
pub(crate) fn ask(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
    let _ = stream.write_all(text.as_bytes());
    let mut bytes = Vec::new();
    let mut some = [0; 16 << 10];
    // Some servers keep the connection open after their answer.
    loop {
        match stream.read(&mut some) {
            Ok(0) => return read(&bytes),
            Ok(n) => bytes.extend(&some[..n]),
            // The server refuses a body for its size before it has read all of it.
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset && !bytes.is_empty() => {
                return read(&bytes);
            }
            Err(error) => panic!("{method} {path}: {error}"),
        }
        if let Some(whole) = length(&bytes)
            && bytes.len() >= whole
        {
            return read(&bytes);
        }
    }
}

/// Returns how many bytes an answer has, once that is known.
fn length(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let line = head.lines().find_map(|line| line.strip_prefix("content-length:"))?;
    Some(end + 4 + line.trim().parse::<usize>().ok()?)
}

fn read(bytes: &[u8]) -> Answer {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("headers");
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("a status");
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, text)| (name.trim().to_owned(), text.trim().to_owned()))
        .collect();
    let rest = &bytes[end + 4..];
    let chunked = headers.iter().any(|(name, text)| {
        name.eq_ignore_ascii_case("transfer-encoding") && text.eq_ignore_ascii_case("chunked")
    });
    let body = if chunked { unchunked(rest) } else { rest.to_vec() };
    Answer { status, headers, body: String::from_utf8_lossy(&body).into_owned() }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end])
            .ok()
            .and_then(|text| usize::from_str_radix(text.trim(), 16).ok());
        let Some(size) = size.filter(|size| *size > 0) else { break };
        body.extend(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 2 + size + 2..];
    }
    body
}

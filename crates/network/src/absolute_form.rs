//! Requests for plain HTTP through a proxy: the proxy gets the whole address in the first line of the request.
//!
//! Most proxies make tunnels only to the port of HTTPS, so a tunnel is no way for plain HTTP.

use std::fmt;
use std::io::{self, Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, LazyBuffers, NextTimeout, Transport, TransportAdapter,
};

/// A connection to a proxy that carries one request. The first line of the request is rewritten on its way.
pub(crate) struct AbsoluteForm {
    buffers: LazyBuffers,
    stream: TransportAdapter,
    /// The scheme, host and port of the server.
    origin: String,
    /// The value of the header with the name and the password for the proxy.
    authorization: Option<String>,
    /// Whether the first line has been sent.
    has_begun: bool,
}

impl fmt::Debug for AbsoluteForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbsoluteForm").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl AbsoluteForm {
    /// Wraps the connection to a proxy for one request to a server.
    pub(crate) fn new(
        connection: Box<dyn Transport>,
        details: &ConnectionDetails<'_>,
        origin: String,
        login: Option<&str>,
    ) -> AbsoluteForm {
        let (input, output) = (details.config.input_buffer_size(), details.config.output_buffer_size());
        AbsoluteForm {
            buffers: LazyBuffers::new(input, output),
            stream: TransportAdapter::new(connection, details.current_time.clone()),
            origin,
            authorization: login.map(|login| format!("Basic {}", STANDARD.encode(login))),
            has_begun: false,
        }
    }
}

/// Returns the beginning of a request with the whole address in its first line.
fn rewritten(head: &[u8], origin: &str, authorization: Option<&str>) -> io::Result<Vec<u8>> {
    let odd = || io::Error::new(io::ErrorKind::InvalidData, "the beginning of the request is incomplete");
    let space = head.iter().position(|byte| *byte == b' ').ok_or_else(odd)?;
    let (method, rest) = head.split_at(space + 1);
    let end = rest.windows(2).position(|two| two == b"\r\n").ok_or_else(odd)? + 2;
    let (line, fields) = rest.split_at(end);
    if line.first() != Some(&b'/') {
        return Err(odd());
    }
    let mut out = Vec::with_capacity(head.len() + origin.len() + 200);
    out.extend_from_slice(method);
    out.extend_from_slice(origin.as_bytes());
    out.extend_from_slice(line);
    if let Some(value) = authorization {
        out.extend_from_slice(format!("proxy-authorization: {value}\r\n").as_bytes());
    }
    out.extend_from_slice(fields);
    Ok(out)
}

impl Transport for AbsoluteForm {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.set_timeout(timeout);
        let output = self.buffers.output().get(..amount).unwrap_or_default();
        if self.has_begun {
            self.stream.write_all(output)?;
        } else if !output.is_empty() {
            let head = rewritten(output, &self.origin, self.authorization.as_deref())?;
            self.stream.write_all(&head)?;
            self.has_begun = true;
        }
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.set_timeout(timeout);
        let amount = self.stream.read(self.buffers.input_append_buf())?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.get_mut().is_open()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_line_gets_the_whole_address() {
        let head = b"POST /v1/chat?x=1 HTTP/1.1\r\nhost: gpu:8000\r\n\r\nbody \r\n";
        let out = rewritten(head, "http://gpu:8000", Some("Basic YTpi")).unwrap();
        let expected = "POST http://gpu:8000/v1/chat?x=1 HTTP/1.1\r\nproxy-authorization: Basic YTpi\r\n\
                        host: gpu:8000\r\n\r\nbody \r\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        assert!(rewritten(b"POST /", "http://gpu", None).is_err());
        assert!(rewritten(b"POST http://other/ HTTP/1.1\r\n", "http://gpu", None).is_err());
    }
}

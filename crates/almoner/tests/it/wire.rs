//! Clients that send exactly the given messages, well formed or not, to both of the daemon's sockets.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::test_home::TestHome;

/// The timeout of an answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The version of the control protocol.
pub(crate) use control::protocol::VERSION;

/// The answer that stands for the end of a connection.
pub(crate) const CLOSED: &str = "(closed)";

/// Returns the first message of a client of this version.
pub(crate) fn hello() -> Json {
    json!({ "version": VERSION, "build": "test", "keys": {} })
}

/// One connection to `control.sock`.
pub(crate) struct Control(UnixStream);

impl From<UnixStream> for Control {
    fn from(stream: UnixStream) -> Control {
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        Control(stream)
    }
}

impl Control {
    /// Opens a connection without sending anything over it.
    pub(crate) fn silent(home: &TestHome) -> Control {
        Control(connect(home, "control.sock"))
    }

    /// Returns a connection that has been welcomed.
    #[track_caller]
    pub(crate) fn open(home: &TestHome) -> Control {
        let mut control = Control::silent(home);
        let welcome = control.ask(&hello());
        assert_eq!(welcome["response"], "welcome", "{welcome}");
        control
    }

    /// Sends one frame of these bytes.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).unwrap().to_le_bytes();
        self.0.write_all(&[&length[..], bytes].concat())
    }

    /// Sends bytes that are no frame.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    /// Returns the next frame; an error at the end.
    pub(crate) fn hear(&mut self) -> io::Result<Json> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length)?;
        let mut answer = vec![0; u32::from_le_bytes(length) as usize];
        self.0.read_exact(&mut answer)?;
        Ok(serde_json::from_slice(&answer)?)
    }

    /// Sends a request and returns its answer, or [`CLOSED`].
    pub(crate) fn ask(&mut self, request: &Json) -> Json {
        // A string is sent as it is, and need not be JSON.
        let bytes = request.as_str().map_or_else(|| request.to_string(), str::to_owned).into_bytes();
        self.send(&bytes).and_then(|()| self.hear()).unwrap_or_else(|_| json!(CLOSED))
    }
}

/// Says these messages on Endo's socket, after the bootstrap that every client begins with, and gives back all that
/// was answered.
pub(crate) fn endo(home: &TestHome, messages: &[Json]) -> Vec<Json> {
    let mut stream = connect(home, "captp0.sock");
    let bootstrap = json!({ "type": "CTP_BOOTSTRAP", "epoch": 0, "questionID": "q-1" });
    let mut questions = 0;
    for message in std::iter::once(&bootstrap).chain(messages) {
        questions += usize::from(message.get("questionID").is_some());
        let text = message.as_str().map_or_else(|| message.to_string(), str::to_owned);
        // Who was cut off hears of it below.
        let _ = write!(stream, "{}:{text},", text.len());
    }
    let mut answers = Vec::new();
    while questions > 0 {
        let Ok(answer) = netstring(&mut stream) else {
            answers.push(json!(CLOSED));
            break;
        };
        questions -= usize::from(answer["type"] == "CTP_RETURN");
        answers.push(answer);
    }
    answers
}

fn netstring(stream: &mut UnixStream) -> io::Result<Json> {
    let mut length = String::new();
    loop {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        match byte[0] {
            b':' => break,
            digit => length.push(char::from(digit)),
        }
    }
    // The comma behind it belongs to it.
    let mut bytes = vec![0; length.parse::<usize>().unwrap() + 1];
    stream.read_exact(&mut bytes)?;
    bytes.pop();
    Ok(serde_json::from_slice(&bytes)?)
}

fn connect(home: &TestHome, socket: &str) -> UnixStream {
    let path = home.root().join("run").join(socket);
    let stream = UnixStream::connect(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream
}

//! Limits on connections: their number, and the time that each may take to send a request.
//!
//! Any program that reaches the port can open many connections before it is authenticated. These connections must
//! take no resources from authenticated browsers, nor from the daemon that serves the pages.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::Request;
use futures_core::Stream;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::{Sleep, sleep};

/// The limits on connections.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// The maximum number of connections. A browser has six, and one of them follows the events.
    pub most: usize,
    /// The timeout for a complete request head, and for the pause between two requests.
    pub head: Duration,
}

/// The limits for the connections of the pages.
pub const LIMITS: ConnectionLimits = ConnectionLimits { most: 256, head: Duration::from_secs(10) };

/// The maximum time between two pieces of a form.
const PIECE_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum time for a whole form. Forms may also bring files over slow connections.
const WHOLE: Duration = Duration::from_secs(600);

/// The pause after a failed accept, before the server accepts connections again.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// The open connections, and their limits.
pub struct Connections {
    limits: ConnectionLimits,
    open: Mutex<ConnectionTable>,
}

#[derive(Default)]
struct ConnectionTable {
    next: u64,
    /// The connections by number, so that the oldest is the first.
    all: BTreeMap<u64, Connection>,
}

/// One connection. The connection is closed when this value is dropped.
struct Connection {
    known: AuthFlag,
    _ends: oneshot::Sender<()>,
}

/// A flag that tells whether the browser on a connection is authenticated. Every request carries the flag of its
/// connection.
#[derive(Clone, Debug, Default)]
pub struct AuthFlag(Arc<AtomicBool>);

impl AuthFlag {
    /// Marks the browser as authenticated.
    pub fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Connections {
    /// Returns an empty table of connections with these limits.
    pub fn new(limits: ConnectionLimits) -> Arc<Connections> {
        Arc::new(Connections { limits, open: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionTable> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a connection. Returns its number, its flag, and a receiver that fires when the connection must end.
    /// At the limit, the oldest unauthenticated connection is closed. If all connections are authenticated, the
    /// method returns `None`.
    fn begin(&self) -> Option<(u64, AuthFlag, oneshot::Receiver<()>)> {
        let mut open = self.lock();
        if open.all.len() >= self.limits.most {
            let stranger = open.all.iter().find(|(_, one)| !one.known.is()).map(|(number, _)| *number)?;
            open.all.remove(&stranger);
        }
        open.next += 1;
        let (number, known, (_ends, ended)) = (open.next, AuthFlag::default(), oneshot::channel());
        open.all.insert(number, Connection { known: known.clone(), _ends });
        Some((number, known, ended))
    }

    /// Accepts and serves connections. The method never returns.
    pub async fn serve(self: Arc<Connections>, listener: TcpListener, router: Router) {
        loop {
            let stream = match listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                // The process may have no free file descriptors. Retrying at once would make this worse.
                Err(_) => {
                    sleep(RETRY_INTERVAL).await;
                    continue;
                }
            };
            let Some((number, known, ended)) = self.begin() else { continue };
            let inner = TowerToHyperService::new(router.clone());
            let service = service_fn(move |mut request: Request<Incoming>| {
                request.extensions_mut().insert(known.clone());
                inner.call(request)
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(self.limits.head);
            let talking = http.serve_connection(TokioIo::new(stream), service);
            let all = Arc::clone(&self);
            tokio::spawn(async move {
                tokio::select! {
                    // A connection that the client breaks off needs no handling.
                    _ = talking => {}
                    _ = ended => {}
                }
                all.lock().all.remove(&number);
            });
        }
    }
}

/// The body of a form. It fails if it arrives too slowly.
pub struct TimedBody {
    body: BodyDataStream,
    /// The maximum time between two pieces.
    piece_timeout: Duration,
    piece: Pin<Box<Sleep>>,
    whole: Pin<Box<Sleep>>,
}

impl TimedBody {
    /// Returns a body with the same content that fails if it takes too long.
    pub fn of(body: Body) -> Body {
        Body::from_stream(TimedBody::within(body, PIECE_TIMEOUT, WHOLE))
    }

    fn within(body: Body, piece: Duration, whole: Duration) -> TimedBody {
        let body = body.into_data_stream();
        TimedBody { body, piece_timeout: piece, piece: Box::pin(sleep(piece)), whole: Box::pin(sleep(whole)) }
    }
}

impl Stream for TimedBody {
    type Item = Result<Bytes, axum::BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Poll::Ready(next) = Pin::new(&mut self.body).poll_next(context) {
            self.piece = Box::pin(sleep(self.piece_timeout));
            return Poll::Ready(next.map(|piece| piece.map_err(Into::into)));
        }
        let is_late =
            self.piece.as_mut().poll(context).is_ready() || self.whole.as_mut().poll(context).is_ready();
        if is_late {
            Poll::Ready(Some(Err(std::io::Error::from(ErrorKind::TimedOut).into())))
        } else {
            Poll::Pending
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test stands outside")]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{SocketAddr, TcpStream};
    use std::time::Instant;

    use axum::extract::Extension;
    use axum::routing::get;
    use tokio::runtime::Runtime;

    use super::*;

    /// Starts a server for at most three connections, which runs as long as the runtime exists. A request for
    /// `/known` authenticates its connection.
    fn pages(head: Duration) -> (SocketAddr, Runtime) {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let known = async |Extension(known): Extension<AuthFlag>| {
            known.note();
            "known"
        };
        let router = Router::new().route("/known", get(known)).route("/", get(async || "here"));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(Connections::new(ConnectionLimits { most: 3, head }).serve(listener, router));
        (address, runtime)
    }

    fn say(address: SocketAddr, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    }

    /// Returns the text from the stream, up to these words or to the end of the stream.
    fn hear(stream: &mut TcpStream, words: &str) -> String {
        let (mut heard, mut some) = (String::new(), [0; 1024]);
        while !heard.contains(words) {
            match stream.read(&mut some) {
                Ok(0) => break,
                Ok(n) => heard.push_str(&String::from_utf8_lossy(&some[..n])),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
                Err(error) => panic!("{error}, after {heard:?}"),
            }
        }
        heard
    }

    const HALF: &str = "GET / HTTP/1.1\r\nHost: x\r\n";
    const WHOLE: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    const KNOWN: &str = "GET /known HTTP/1.1\r\nHost: x\r\n\r\n";

    #[test]
    fn silent_connections_make_room_and_authenticated_ones_stay() {
        let (address, _runtime) = pages(Duration::from_secs(60));
        let mut known = say(address, KNOWN);
        assert!(hear(&mut known, "known").contains("known"));
        let (mut first, mut second) = (say(address, HALF), say(address, HALF));
        let mut others = vec![];
        for _ in 0..3 {
            let mut other = say(address, WHOLE);
            assert!(hear(&mut other, "here").contains("here"));
            others.push(other);
        }
        assert_eq!([hear(&mut first, "-"), hear(&mut second, "-")], ["", ""]);
        known.write_all(KNOWN.as_bytes()).unwrap();
        assert!(hear(&mut known, "known").contains("known"));
        // If all connections are authenticated, a new one is refused.
        let (mut one, mut other) = (say(address, KNOWN), say(address, KNOWN));
        assert!(hear(&mut one, "known").contains("known") && hear(&mut other, "known").contains("known"));
        assert_eq!(hear(&mut say(address, WHOLE), "here"), "");
    }

    #[test]
    fn incomplete_request_head_times_out() {
        let head = Duration::from_millis(300);
        let (address, _runtime) = pages(head);
        let begun = Instant::now();
        let (mut half, mut idle) = (say(address, HALF), say(address, WHOLE));
        assert_eq!(hear(&mut half, "-"), "");
        assert!(begun.elapsed() >= head);
        assert!(hear(&mut idle, "no such words").contains("here"));
    }

    /// A body with a number of pieces, each of which arrives after this interval.
    struct Slow(usize, Duration, Pin<Box<Sleep>>);

    impl Stream for Slow {
        type Item = Result<Bytes, axum::BoxError>;

        fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            std::task::ready!(self.2.as_mut().poll(context));
            self.2 = Box::pin(sleep(self.1));
            self.0 = self.0.saturating_sub(1);
            Poll::Ready((self.0 > 0).then(|| Ok(Bytes::from_static(b"x"))))
        }
    }

    #[test]
    fn slow_form_body_fails() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let ms = Duration::from_millis;
            // The number of pieces, their interval, the timeouts for a piece and for the whole body, and the number
            // of bytes received.
            for (pieces, every, piece, whole, expected) in [
                (4, ms(1), ms(5000), ms(5000), Some(3)),
                (2, ms(5000), ms(20), ms(5000), None),
                (1000, ms(2), ms(5000), ms(100), None),
            ] {
                let slow = Body::from_stream(Slow(pieces, every, Box::pin(sleep(every))));
                let body = Body::from_stream(TimedBody::within(slow, piece, whole));
                let taken = axum::body::to_bytes(body, usize::MAX).await.ok();
                assert_eq!(taken.map(|bytes| bytes.len()), expected, "{pieces} {every:?}");
            }
        });
    }
}

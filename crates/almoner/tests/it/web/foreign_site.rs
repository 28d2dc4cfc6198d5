//! Another program on this machine that shows pages to the same browser and records its requests.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Its pages, at a port of its own.
pub(crate) struct ForeignSite {
    pub(crate) port: u16,
    /// The head of each request.
    heads: Arc<Mutex<Vec<String>>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ForeignSite {
    /// Shows this page at every path.
    pub(crate) fn shows(page: String) -> ForeignSite {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (heads, ended) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<AtomicBool>::default());
        let (kept, over) = (Arc::clone(&heads), Arc::clone(&ended));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let (page, kept) = (page.clone(), Arc::clone(&kept));
                // A browser opens connections on which it says nothing for a while.
                std::thread::spawn(move || answer(stream, &page, &kept));
            }
        });
        ForeignSite { port, heads, ended, thread: Some(thread) }
    }

    /// Returns the heads of all requests to it.
    pub(crate) fn heads(&self) -> String {
        self.heads.lock().unwrap().join("\n")
    }
}

fn answer(mut stream: TcpStream, page: &str, kept: &Mutex<Vec<String>>) {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let (mut head, mut some) = (Vec::new(), [0; 4096]);
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut some) {
            Ok(0) | Err(_) => return,
            Ok(n) => head.extend(&some[..n]),
        }
    }
    kept.lock().unwrap().push(String::from_utf8_lossy(&head).into_owned());
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    let _ = stream.write_all(answer.as_bytes());
}

impl Drop for ForeignSite {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

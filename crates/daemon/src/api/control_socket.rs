//! The control socket of a store.

use std::io;
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::io::Errno;

use config::place::{Place, SocketPath};
use config::private_dir::{close_socket_to_others, private_dir, private_dir_among_others};
use control::exit::{Exit, Failure};

/// Creates the socket and listens on it. An existing socket is removed, since the process that holds the store's lock
/// owns the path. Some file systems, such as those that a container shares with another system, take no sockets. Then
/// the socket lies in a directory for temporary files, and a record beside the store says where.
///
/// # Errors
/// When the directory or the socket cannot be created.
pub fn bind(place: &Place) -> Result<UnixListener, Failure> {
    bind_by(place, &|socket| UnixListener::bind(socket))
}

fn bind_by(place: &Place, bind: &dyn Fn(&Path) -> io::Result<UnixListener>) -> Result<UnixListener, Failure> {
    private_dir(&place.runtime)?;
    let (own, record) = (place.own_socket(), place.socket_record());
    match bind_at(&own, bind) {
        Err(e) if takes_no_sockets(&e) => {
            let elsewhere = place.temporary_socket();
            if let Some(dir) = elsewhere.parent() {
                private_dir_among_others(dir)?;
            }
            let listener = bind_at(&elsewhere, bind).map_err(|e| failure(&elsewhere, &e))?;
            std::fs::write(&record, elsewhere.as_os_str().as_encoded_bytes())
                .map_err(|e| failure(&record, &e))?;
            Ok(listener)
        }
        Err(e) => Err(failure(&own, &e)),
        Ok(listener) => {
            remove(&record).map_err(|e| failure(&record, &e))?;
            Ok(listener)
        }
    }
}

fn bind_at(socket: &Path, bind: &dyn Fn(&Path) -> io::Result<UnixListener>) -> io::Result<UnixListener> {
    remove(socket)?;
    let listener = bind(SocketPath::new(socket)?.as_path())?;
    // Until the permissions are set, the private directory keeps other users out.
    close_socket_to_others(socket)?;
    Ok(listener)
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

fn takes_no_sockets(e: &io::Error) -> bool {
    matches!(
        e.raw_os_error().map(Errno::from_raw_os_error),
        Some(Errno::OPNOTSUPP | Errno::PERM | Errno::NXIO | Errno::INVAL)
    )
}

fn failure(path: &Path, e: &io::Error) -> Failure {
    Failure::new(Exit::Failure, format!("cannot listen at {}: {e}", path.display()))
        .help("set ALMONER_HOME to a directory on a local disk")
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn socket_moves_only_from_a_file_system_without_sockets() {
        let root = tempfile::tempdir().unwrap();
        let place = Place::under(root.path());
        let connect = || {
            let path = SocketPath::new(&place.socket()).unwrap();
            UnixStream::connect(path.as_path()).is_ok()
        };
        let own = place.own_socket();
        let refuse = |errno: Errno| {
            let runtime = place.runtime.clone();
            move |path: &Path| match path.starts_with(&runtime) {
                true => Err(io::Error::from(errno)),
                false => UnixListener::bind(path),
            }
        };
        assert_eq!(bind_by(&place, &refuse(Errno::ACCESS)).unwrap_err().exit, Exit::Failure);
        assert_eq!(place.socket(), own);
        let elsewhere = bind_by(&place, &refuse(Errno::OPNOTSUPP)).unwrap();
        assert!(place.socket() != own && connect());
        // Another process of the same store finds it, too.
        assert_eq!(Place::under(root.path()).socket(), place.socket());
        std::fs::remove_dir_all(place.socket().parent().unwrap()).unwrap();
        drop(elsewhere);
        let _listener = bind(&place).unwrap();
        assert!(place.socket() == own && connect());
    }
}

//! The user and the machine that this daemon runs on, as events name them.

use std::sync::OnceLock;

use kernel::event::Recorder;
use passable::Untrusted;

/// Returns the user of this process and the name of the machine.
///
/// Both come from the system. A variable such as `USER` names whatever its user has put into it.
pub fn own() -> Recorder {
    static OWN: OnceLock<Recorder> = OnceLock::new();
    OWN.get_or_init(|| {
        let uid = nix::unistd::Uid::effective();
        let named = nix::unistd::User::from_uid(uid).ok().flatten();
        let user = named.map_or_else(|| uid.to_string(), |user| user.name);
        let host = nix::unistd::gethostname()
            .map_or_else(|_| "unknown".to_owned(), |name| name.to_string_lossy().into_owned());
        Recorder { user: Untrusted::new(user), host: Untrusted::new(host) }
    })
    .clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorder_is_the_user_and_machine_of_the_system() {
        let said = |program: &str, argument: &str| {
            let output = std::process::Command::new(program).arg(argument).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let own = own();
        assert_eq!(own.user.raw(), said("id", "-un"));
        assert_eq!(own.host.raw(), said("uname", "-n"));
    }
}

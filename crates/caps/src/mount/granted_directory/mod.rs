//! A directory that an agent was granted and uses without a run. Every reading and every change takes a
//! [`StartedEffect`].
//!
//! A call names its paths from the root of the directory, and the part of the directory in which it is made. The
//! states that it depends on are pinned when it is judged, and must still hold when it is made.

mod call;
mod change;
mod interface;
mod prior_state;

use std::sync::Arc;

use kernel::Interface;
use kernel::agent_journal;
use kernel::grant::Attenuation;
use kernel::id::FormulaId;
use kernel::proposal::{Finding, Pin, Value};
use kernel::run::Completion;
use kernel::started_effect::StartedEffect;
use passable::{quoting, visible_line};
use policy::{ChangeScope, Facts};

use super::{MAX_BYTES, Mount};
use crate::http::HostServices;
use crate::{Capability, OpenError, Probe, placed_capability, places};
use call::{Call, Op};

pub use interface::interface;

/// The capability of a directory through one grant.
pub struct GrantedDirectory {
    path: String,
    read_only: bool,
    attenuation: Attenuation,
    /// The grant through which the directory is used.
    grant: FormulaId,
    outside: Arc<dyn HostServices>,
}

impl GrantedDirectory {
    /// Returns the directory at an absolute path, used through `grant`. The path was chosen by a person. The
    /// directory is opened anew for each call.
    pub fn new(
        path: &str,
        read_only: bool,
        attenuation: &Attenuation,
        grant: FormulaId,
        outside: Arc<dyn HostServices>,
    ) -> GrantedDirectory {
        GrantedDirectory {
            path: path.to_owned(),
            read_only,
            attenuation: attenuation.clone(),
            grant,
            outside,
        }
    }

    /// Returns the absolute path of the directory.
    pub fn path(&self) -> &str {
        &self.path
    }

    fn open(&self) -> Result<Mount, OpenError> {
        Mount::open(&self.path, self.read_only, &self.attenuation)
    }

    /// Returns the view by which a call is judged: the places to which names lead, and their kinds. The view reads no
    /// contents and changes nothing.
    pub fn view(&self) -> DirectoryView {
        DirectoryView(self.open().ok())
    }

    fn entered(&self, call: &Call<'_>) -> Result<Mount, Finding> {
        self.open().map_err(|error| error.finding())?.enter(&call.within)
    }

    /// Returns the place in which a begun call reads. Nothing can be changed through this place.
    ///
    /// # Errors
    /// When the call makes a change, uses another grant, or names a place that does not exist.
    pub fn readable_place(&self, begun: &StartedEffect) -> Result<Mount, Finding> {
        self.check_grant(begun)?;
        let call = Call::parse(&begun.proposal().method, &begun.proposal().args)?;
        match call.op {
            Op::Look => Ok(self.entered(&call)?.read_only()),
            _ => Err(Finding::new("mount/arguments", "this call does not look at anything").at("method")),
        }
    }

    /// Checks that the call belongs to this grant. The kernel has checked the same, but a capability does not rely on
    /// that.
    fn check_grant(&self, begun: &StartedEffect) -> Result<(), Finding> {
        let proposal = begun.proposal();
        let is_ours = proposal.grant == self.grant && begun.grant().id == self.grant;
        // For a directory that was found by a lookup, the object of that lookup decides which methods exist.
        let is_direct = agent_journal::target(proposal) == proposal.grant;
        let may = || {
            agent_journal::permitting_methods(&proposal.method).iter().any(|word| begun.grant().allows(word))
        };
        if is_ours && interface().method(&proposal.method).is_some() && (!is_direct || may()) {
            return Ok(());
        }
        let (slot, method) = (visible_line(&proposal.slot), visible_line(&proposal.method));
        Err(Finding::new("caps/grant", quoting!("`{}` was not granted `{}` here", slot, method)).at("method"))
    }

    /// Returns pins on the present state of the entries that the call would change.
    fn pins(&self, call: &Call<'_>) -> Result<Vec<Pin>, Finding> {
        let mount = self.entered(call)?;
        let pin =
            |way: &&Vec<String>| Ok(prior_state::way_state(&mount, way, "look at")?.pin(call.path(way)));
        call.op.ways().iter().map(pin).collect()
    }

    /// Returns the bytes that were stored for a call.
    fn stored_bytes(&self, digest: &kernel::BlobHash, bytes: u64) -> Result<Vec<u8>, Finding> {
        let found = self.outside.stored_bytes(digest).filter(|found| found.len() as u64 == bytes);
        found.ok_or_else(|| {
            Finding::new("mount/kept", "the bytes that were to be written are not beside the store any more")
                .at("digest")
                .allowed("the same call once more")
        })
    }
}

/// The view of a directory by which calls are judged: the places to which names lead.
pub struct DirectoryView(Option<Mount>);

impl DirectoryView {
    /// Returns the place at the end of a path with all links followed, or `None` if the path does not exist.
    pub fn leads(&self, way: &[String]) -> Option<Vec<String>> {
        Some(self.0.as_ref()?.look_up(way).ok()?.place)
    }

    /// Returns whether a path leads to a directory.
    pub fn is_directory(&self, way: &[String]) -> bool {
        let looked = self.0.as_ref().and_then(|mount| mount.look_up(way).ok());
        looked.is_some_and(|looked| looked.is_directory)
    }
}

impl Capability for GrantedDirectory {
    fn interface(&self) -> &'static Interface {
        interface()
    }

    fn facts(&self, method: &str, args: &[Value]) -> Facts {
        let mut facts = Facts { line: visible_line(method).into_owned(), ..Facts::default() };
        // A failure to look is reported when the call is made, and then nothing is changed.
        if let Ok(call) = Call::parse(method, args)
            && let Ok(pins) = self.pins(&call)
        {
            facts.pins = pins.into_iter().collect();
        }
        placed_capability::apply(&mut facts, &self.change_scopes(method, args), "", &*self.outside);
        facts
    }

    fn change_scopes(&self, method: &str, args: &[Value]) -> Vec<ChangeScope> {
        let Ok(call) = Call::parse(method, args) else { return vec![] };
        let root = self.path.trim_end_matches('/');
        let at = |way: &Vec<String>| places::entry("path", &format!("{root}/{}", call.path(way)));
        match &call.op {
            Op::MakeDirectory { way } => vec![at(way)],
            op => op.ways().into_iter().map(at).collect(),
        }
    }

    fn operand(&self, pin: &Pin) -> Option<Vec<u8>> {
        /// The maximum size of a file whose content is shown to the user before it is replaced, in bytes.
        const SHOWN: u64 = 256 << 10;
        let way: Vec<String> = pin.name.split('/').map(str::to_owned).collect();
        let looked = (pin.kind == "file").then(|| self.open().ok()?.read_only().read(&way, SHOWN).ok());
        looked.flatten()
    }

    fn perform(&self, begun: &StartedEffect) -> Completion {
        let proposal = begun.proposal();
        let parsed = self.check_grant(begun).and_then(|()| Call::parse(&proposal.method, &proposal.args));
        let call = match parsed {
            Ok(Call { op: Op::Look, .. }) => {
                // The caller that began the reading is gone, so the result would reach no caller.
                let what = "it was cut off before it was written down what was seen";
                return Completion::Failed(Finding::new("mount/unseen", what));
            }
            Ok(call) => call,
            Err(finding) => return Completion::Refused(vec![finding]),
        };
        if let Some(refusal) = placed_capability::refusal(self, begun, "", &*self.outside) {
            return refusal;
        }
        match self.entered(&call).and_then(|mount| self.change(&mount, &call, begun)) {
            Ok(value) => Completion::Done { value, provenance: proposal.provenance.clone() },
            Err(finding) if finding.rule == change::CHANGED => Completion::Refused(vec![finding]),
            Err(finding) => Completion::Failed(finding),
        }
    }

    fn probe(&self, begun: &StartedEffect) -> Probe {
        let proposal = begun.proposal();
        let Ok(call) = Call::parse(&proposal.method, &proposal.args) else { return Probe::NotDone };
        let Ok(mount) = self.entered(&call) else { return Probe::Unknown };
        match self.was_done(&mount, &call, begun) {
            Some(true) => {
                Probe::Done { value: self.return_value(&call), provenance: proposal.provenance.clone() }
            }
            Some(false) => Probe::NotDone,
            None => Probe::Unknown,
        }
    }
}

/// The maximum size of a file that is written here, unless the grant has a smaller limit.
const MAX_FILE_BYTES: u64 = MAX_BYTES;

//! Bugs that the simulation turns on, one at a time, to check that its laws find them. They exist only with the
//! feature `planted`.

/// One planted bug. At the place of the bug, the code asks `planted!(env, Bug)`, which is `false` without the
/// feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A run that can go on gets no row in the outbox.
    LostOutboxRow,
    /// Code that a guest asked to run gets wrong values: those that the host has under the same names when the host
    /// agrees.
    NameResolvedLate,
    /// A promise takes a second outcome.
    DoubleSettle,
    /// The sender keeps no copy of a message.
    OneCopyMissing,
    /// The number of a dismissed last message is used for the next message.
    NumberUsedAgain,
    /// A revoked grant does not end the grants that were made of it.
    RevocationNotTransitive,
    /// A dismissed message still counts as a reason to hold its content.
    HeldAfterDismissal,
    /// A settled promise does not keep its value from being collected.
    EdgeNotWritten,
    /// The collector does not learn of references that are made during its walk.
    CollectorHearsNothing,
    /// A token stays after it was used.
    TokenUsedTwice,
    /// A permission stays after its effect has begun.
    PermissionNotConsumed,
    /// Now and then an event does not carry the hash of the one before it.
    ChainBroken,
    /// A result with capabilities is handed over as if it were data.
    CapabilityAsData,
    /// A form that can be answered once takes a second answer.
    SecondSubmit,
    /// An identifier alone is taken as authority.
    IdentifierAsAuthority,
    /// An unused token stays after it has ended.
    EndedTokenStays,
    /// A message that was answered stays among those that wait.
    AnsweredStaysOpen,
    /// Ticks are told of although the grant of their timer was revoked.
    TickAfterRevocation,
    /// A tick that was told of counts as one that was missed the next time.
    TickDeliveredTwice,
    /// The steps of code's sends stay known although the code is gone.
    SendsOutliveCode,
    /// A worker that a run makes may call methods that its maker may not.
    MadeWorkerMayMore,
}

impl Bug {
    /// All planted bugs.
    pub const ALL: [Bug; 21] = [
        Bug::LostOutboxRow,
        Bug::NameResolvedLate,
        Bug::DoubleSettle,
        Bug::OneCopyMissing,
        Bug::NumberUsedAgain,
        Bug::RevocationNotTransitive,
        Bug::HeldAfterDismissal,
        Bug::EdgeNotWritten,
        Bug::CollectorHearsNothing,
        Bug::TokenUsedTwice,
        Bug::PermissionNotConsumed,
        Bug::ChainBroken,
        Bug::CapabilityAsData,
        Bug::SecondSubmit,
        Bug::IdentifierAsAuthority,
        Bug::EndedTokenStays,
        Bug::AnsweredStaysOpen,
        Bug::TickAfterRevocation,
        Bug::TickDeliveredTwice,
        Bug::SendsOutliveCode,
        Bug::MadeWorkerMayMore,
    ];
}

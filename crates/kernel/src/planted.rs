//! Bugs that the simulation turns on, one at a time, to see that its laws find them. Only with the feature `planted`.

/// One bug. Where it sits, the code asks `planted!(env, Bug)`, which is `false` without the feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// A run that can go on gets no row in the outbox.
    LostOutboxRow,
    /// Code that a guest asked to run gets what the host calls by the same names when it agrees.
    NameResolvedLate,
    /// A promise takes a second outcome.
    DoubleSettle,
    /// What is sent to somebody is not kept with the sender.
    OneCopyMissing,
    /// Dismissing the last message gives its number to the next.
    NumberUsedAgain,
    /// Revoking a grant leaves what was made of it.
    RevocationNotTransitive,
    /// A dismissed message still counts as a reason to hold what it brought.
    HeldAfterDismissal,
    /// What a promise settles with is not kept by it.
    EdgeNotWritten,
    /// The collector does not hear of references that are made while it walks.
    CollectorHearsNothing,
    /// A token stays after it was used.
    TokenUsedTwice,
    /// A permission stays after what it permits has begun.
    PermissionNotConsumed,
    /// Now and then an event does not carry the hash of the one before it.
    ChainBroken,
    /// A result with capabilities is handed over as if it were data.
    CapabilityAsData,
    /// A form that can be answered once takes a second answer.
    SecondSubmit,
    /// An identifier alone is taken as authority.
    IdentifierAsAuthority,
    /// A token that nobody used stays after it has ended.
    EndedTokenStays,
    /// A message that was answered stays among those that wait.
    AnsweredStaysOpen,
    /// Ticks are told of although the grant of their timer was revoked.
    TickAfterRevocation,
    /// A tick that was told of counts as one that was missed the next time.
    TickToldTwice,
    /// What the sends of code have become is known although the code is gone.
    SendsOutliveCode,
    /// A worker that a run makes may call what its maker may not.
    MadeWorkerMayMore,
}

impl Bug {
    /// All of them.
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
        Bug::TickToldTwice,
        Bug::SendsOutliveCode,
        Bug::MadeWorkerMayMore,
    ];
}

"""The control protocol, version 17. `generate.py` writes this file; do not edit it."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, Tuple, TypedDict, Union

#: The version of the protocol that this module describes.
PROTOCOL_VERSION = 17


def _some(**fields: Any) -> Dict[str, Any]:
    """Returns the fields that have a value, under their names in the protocol."""
    return {name.rstrip("_"): value for name, value in fields.items() if value is not None}


class _AdditionRequired(TypedDict):
    #: The bindings for some of the new worker's slots. They replace the maker's own grants for these slots.
    bindings: List[Binding]
    #: The worker's text, if the person has changed it. Its bytes lie beside the store.
    edited: Optional[BlobHash]


class Addition(_AdditionRequired, total=False):
    """The additions of a person to a worker that a run makes."""
    #: Each name in the bindings, with the formula for which it stood when the person chose it. If a name stands
    #: for another formula when the worker is about to be made, the call is refused.
    seen: List[List[Union[NamePath, FormulaId]]]


class AgentActName(TypedDict):
    """Changes names."""
    do: Literal['name']
    #: The change.
    act: NameAct


class _AgentActStoreTextRequired(TypedDict):
    do: Literal['store_text']
    #: The text.
    text: str
    #: The name.
    path: NamePath


class AgentActStoreText(_AgentActStoreTextRequired, total=False):
    """Stores text as a blob, under a name."""
    #: Whether the name is accepted even if it looks like another name in its directory.
    force: bool


class AgentActProvide(TypedDict):
    """Creates an agent."""
    do: Literal['provide']
    #: The kind of agent and its names.
    act: ProvideAgent


class AgentActMail(TypedDict):
    """Performs an act on mail. Definitions, endowments and submitted forms have variants of their own."""
    do: Literal['mail']
    #: The act on mail.
    act: MailAct


class _AgentActDefineRequired(TypedDict):
    do: Literal['define']
    #: The name of the recipient.
    to: NamePath
    #: The name of the worker, if the program is a worker.
    name: str
    #: The code, or a worker file, which begins with `---`.
    source: str
    #: The files that a worker includes, by name.
    includes: Dict[str, str]
    #: The slots of code, each with a label and a pattern as text.
    slots: Dict[str, List[str]]


class AgentActDefine(_AgentActDefineRequired, total=False):
    """Proposes a program to another agent."""
    #: The name for the promise of the result.
    result_name: Optional[NamePath]
    #: The definition to edit, if no new one is proposed.
    edit: Optional[MessageNumber]
    #: The number of acts on the edited definition when the user saw it. If there have been more by now, nothing
    #: changes.
    done: Optional[int]


class _AgentActEndowRequired(TypedDict):
    do: Literal['endow']
    #: The definition's message.
    number: MessageNumber
    #: The slots that are filled with the agent's names.
    names: Dict[str, NamePath]
    #: The start options of a worker, with the slots that are filled with resources outside the store.
    spec: StartSpec
    #: The receivers of the result.
    goes_to: ResultGoesTo


class AgentActEndow(_AgentActEndowRequired, total=False):
    """Endows a proposed program. Code is evaluated, and a worker starts to run."""
    #: The name under which the host keeps the promise for the result.
    result_name: Optional[NamePath]
    #: The state that the user saw before. If any part of it has changed, the daemon changes nothing.
    seen: Optional[SeenEndowment]


class _AgentActMakeRequired(TypedDict):
    do: Literal['make']
    #: The modules of the program.
    given: GivenModules


class AgentActMake(_AgentActMakeRequired, total=False):
    """Runs a program made of modules."""
    #: The name of the powers that the program's `make` function receives. Without a name, it receives none.
    powers: Optional[NamePath]
    #: The environment variables of the program.
    env: Dict[str, str]
    #: The name for the promise of the result.
    result_name: Optional[NamePath]


class AgentActResolve(TypedDict):
    """Answers a request."""
    do: Literal['resolve']
    #: The request.
    number: MessageNumber
    #: The answer.
    answered: AnswerInput


class AgentActSubmit(TypedDict):
    """Submits a form."""
    do: Literal['submit']
    #: The form.
    number: MessageNumber
    #: The value of each field.
    values: Dict[str, FieldInput]


class AgentActShare(TypedDict):
    """Creates a one-use sharing token."""
    do: Literal['share']
    #: The name of the shared object.
    path: NamePath


class AgentActAccept(TypedDict):
    """Uses a sharing token."""
    do: Literal['accept']
    #: The token.
    token: str
    #: The name for the object that the token gives.
    path: NamePath


class _AgentActNarrowRequired(TypedDict):
    do: Literal['narrow']
    #: The name of the original object.
    path: NamePath
    #: The restrictions.
    by: Narrowing
    #: The name of the narrower version.
    to: NamePath


_AgentActNarrowFields = TypedDict('_AgentActNarrowFields', {
    'is': 'Optional[FormulaId]',
    'force': 'bool',
}, total=False)


class AgentActNarrow(_AgentActNarrowRequired, _AgentActNarrowFields, total=False):
    """Creates a narrower version of one of the agent's objects, under a name. It can then be handed on instead
    of the original.
    """


class AgentActRevoke(TypedDict):
    """Revokes a grant that the agent gave, such as `g4`."""
    do: Literal['revoke']
    #: The number of the grant.
    grant: GrantNumber


class AgentActCancel(TypedDict):
    """Cancels work."""
    do: Literal['cancel']
    #: The work to cancel.
    what: Cancel
    #: The reason.
    reason: Untrusted


class AgentActRemake(TypedDict):
    """Lets another engine than the original one recreate the objects that code has made."""
    do: Literal['remake']
    #: The name of the code's result, or of an object that the code has made.
    path: NamePath


class AgentActMakeTimer(TypedDict):
    """Creates a timer that starts now."""
    do: Literal['make_timer']
    #: The name of the timer.
    path: NamePath
    #: The time between ticks, in milliseconds.
    interval_ms: int
    #: The purpose of the timer.
    label: Untrusted


class AgentActTicks(TypedDict):
    """Starts or stops sending a message to the agent for each tick of a timer."""
    do: Literal['ticks']
    #: The name of the timer.
    path: NamePath
    #: Whether the messages start. Otherwise they stop.
    begin: bool


#: An act of an agent. Some acts need resources outside the store: stored bytes, a worker file, a secret to seal,
#: a random token. Those acts have variants of their own. All others are acts of the kernel.
AgentAct = Union["AgentActName", "AgentActStoreText", "AgentActProvide", "AgentActMail", "AgentActDefine", "AgentActEndow", "AgentActMake", "AgentActResolve", "AgentActSubmit", "AgentActShare", "AgentActAccept", "AgentActNarrow", "AgentActRevoke", "AgentActCancel", "AgentActRemake", "AgentActMakeTimer", "AgentActTicks"]


#: The kind of an agent.
AgentKind = Literal['host', 'guest']


#: The coverage of an analysis: the part of a slot's use that the analysis finds in a text.
AnalysisCoverage = Literal['complete', 'partial', 'unused', 'unread']


class Anchor(TypedDict):
    """The state of an event log at some time. A user who stores an anchor elsewhere can check later whether an
    earlier event was changed.
    """
    #: The number of the last event.
    seq: int
    #: The hash of the last event.
    hash: BlobHash


class AnchorParam(TypedDict):
    """The state of an event log at some time. A user who stores an anchor elsewhere can check later whether an
    earlier event was changed.
    """
    #: The number of the last event.
    seq: int
    #: The hash of the last event.
    hash: BlobHash


class AnswerApproved(TypedDict):
    """The answer is yes."""
    answer: Literal['approved']
    #: Whether the approval also covers every identical call that the same run proposes later.
    for_run: bool
    #: The time of the answer, in milliseconds since 1970.
    at_ms: int


class AnswerDenied(TypedDict):
    """The answer is no."""
    answer: Literal['denied']
    #: The reason, as the model or the sender reads it.
    reason: Untrusted
    #: The time of the answer, in milliseconds since 1970.
    at_ms: int


class AnswerHappened(TypedDict):
    """The effect happened."""
    answer: Literal['happened']
    #: The time of the answer, in milliseconds since 1970.
    at_ms: int


class AnswerRepeat(TypedDict):
    """The effect did not happen, and may be done now."""
    answer: Literal['repeat']
    #: The time of the answer, in milliseconds since 1970.
    at_ms: int


class AnswerWithdrawn(TypedDict):
    """There is no answer, because the asker has withdrawn the question."""
    answer: Literal['withdrawn']
    #: The reason, in the asker's words.
    reason: Untrusted
    #: The time of the withdrawal, in milliseconds since 1970.
    at_ms: int


#: The answer to a message, or to one entry of an approval.
Answer = Union["AnswerApproved", "AnswerDenied", "AnswerHappened", "AnswerRepeat", "AnswerWithdrawn"]


class _AnswerInputNameRequired(TypedDict):
    answered: Literal['name']
    #: The name.
    path: NamePath


_AnswerInputNameFields = TypedDict('_AnswerInputNameFields', {
    'is': 'Optional[str]',
    'allow': 'List[str]',
    'seen': 'Optional[FormulaId]',
}, total=False)


class AnswerInputName(_AnswerInputNameRequired, _AnswerInputNameFields, total=False):
    """The object of one of the user's names."""


class AnswerInputSeen(TypedDict):
    """Exactly the object that the user has seen, by its identifier. Only in an answer to an agent's request."""
    answered: Literal['seen']
    #: The formula of the object.
    id: FormulaId


class AnswerInputValue(TypedDict):
    """Data. Only in an answer to a run."""
    answered: Literal['value']
    #: The value.
    json: Any


class _AnswerInputEndowRequired(TypedDict):
    answered: Literal['endow']
    #: The slot and its content.
    endowment: Endowment


_AnswerInputEndowFields = TypedDict('_AnswerInputEndowFields', {
    'is': 'Optional[str]',
    'allow': 'List[str]',
}, total=False)


class AnswerInputEndow(_AnswerInputEndowRequired, _AnswerInputEndowFields, total=False):
    """A resource for the requested slot, without a name of the user's. Only in an answer to a run."""


#: A user's answer to a request.
AnswerInput = Union["AnswerInputName", "AnswerInputSeen", "AnswerInputValue", "AnswerInputEndow"]


class ApprovalCount(TypedDict):
    """The number of times that a person was asked about a method of a target."""
    #: The slot, as the worker that asks now names it.
    slot: str
    #: The method.
    method: str
    #: The target, in the host's words.
    target: str
    #: The name of the worker that asks.
    worker: str
    #: The number of earlier questions, by this worker or by a run of this family.
    times: int
    #: The number of times that the answer was yes.
    yes: int
    #: The number of times that the answer was no.
    no: int
    #: The time of the first question, in milliseconds since 1970.
    since_ms: int
    #: The suggested rule that would end the questions.
    instead: RuleSuggestion


class ApprovalEntry(TypedDict):
    """One proposal on an approval."""
    #: The step that proposed the call.
    proposal: StepRef
    #: The fingerprint of the exact proposal.
    fingerprint: Fingerprint


class Approvals(TypedDict):
    """The approvals that users were asked for."""
    #: The number of approved calls.
    approved: int
    #: The number of denied calls.
    denied: int
    #: The number of calls without an answer.
    open: int
    #: The median time until an answer, in milliseconds.
    median_ms: Optional[int]


class _ArgumentGiverUserRequired(TypedDict):
    #: The argument's parameter name.
    argument: str
    giver: Literal['user']


class ArgumentGiverUser(_ArgumentGiverUserRequired, total=False):
    """The user: the words stand in the task, an input, a setting, an answer or a message of the user."""
    #: The element, shortened, if the argument is a list or a record.
    part: Optional[str]
    #: The place that holds the value, if the user only named that place, such as `docs/bill.txt`.
    named: Optional[str]


class _ArgumentGiverDocumentRequired(TypedDict):
    #: The argument's parameter name.
    argument: str
    giver: Literal['document']
    #: The places that hold the value, as [`Trace::source_name`] names them.
    places: List[str]
    #: Whether one of the places holds the value as a whole, and not only parts of it.
    is_whole: bool


class ArgumentGiverDocument(_ArgumentGiverDocumentRequired, total=False):
    """Documents or results that the run has read, and that the user did not name."""
    #: The element, shortened, if the argument is a list or a record.
    part: Optional[str]


class _ArgumentGiverNobodyRequired(TypedDict):
    #: The argument's parameter name.
    argument: str
    giver: Literal['nobody']


class ArgumentGiverNobody(_ArgumentGiverNobodyRequired, total=False):
    """Neither the user nor anything that the run has read. The model made the value."""
    #: The element, shortened, if the argument is a list or a record.
    part: Optional[str]


#: The giver of one argument, or of one element of an argument that is a list or a record.
ArgumentGiver = Union["ArgumentGiverUser", "ArgumentGiverDocument", "ArgumentGiverNobody"]


_AskedCallFields = TypedDict('_AskedCallFields', {
    'effect': 'Effect',
    'slot': 'str',
    'method': 'str',
    'with': 'Untrusted',
})


class AskedCall(_AskedCallFields):
    """A call that an approval asks about."""


class _AskerRequired(TypedDict):
    #: The newest messages of the sender, newest first.
    lines: List[Line]
    #: The number of further messages.
    more: int
    #: The oldest message of the sender. It identifies the sender until it is answered.
    oldest: MessageNumber


class Asker(_AskerRequired, total=False):
    """The open messages of one sender. The sender is an agent, or a run with its descendants."""
    #: The root run, if the sender is a family of runs.
    run: Optional[RunNumber]


class _AttachmentRequired(TypedDict):
    #: The file name of the document.
    name: str
    #: The hash of the document's bytes.
    hash: BlobHash
    #: The hash of the text that the model is shown.
    text: BlobHash
    #: The number of bytes of the document.
    bytes: int


class Attachment(_AttachmentRequired, total=False):
    """A document handed to a run, kept by content."""
    #: The media type, found in the content: `application/pdf`. Empty for documents from a time when the type was
    #: not kept.
    media_type: str
    #: The sentences about what the text lacks, for the person. They hold foreign words.
    notes: List[str]
    #: For an item of an `Each` run: the reason why the item fails at once, without a child.
    rejected: Optional[Rejection]


class _AttachmentParamRequired(TypedDict):
    #: The file name of the document.
    name: str
    #: The hash of the document's bytes.
    hash: BlobHash
    #: The hash of the text that the model is shown.
    text: BlobHash
    #: The number of bytes of the document.
    bytes: int


class AttachmentParam(_AttachmentParamRequired, total=False):
    """A document handed to a run, kept by content."""
    #: The media type, found in the content: `application/pdf`. Empty for documents from a time when the type was
    #: not kept.
    media_type: str
    #: The sentences about what the text lacks, for the person. They hold foreign words.
    notes: List[str]
    #: For an item of an `Each` run: the reason why the item fails at once, without a child.
    rejected: Optional[RejectionParam]


class _AttenuationRequired(TypedDict):
    #: The allowed endings of the names of files. An empty set allows any.
    suffixes: List[str]
    #: The maximum size in bytes of a file that is read or written.
    max_bytes: Optional[int]


class Attenuation(_AttenuationRequired, total=False):
    """The limits that a grant puts on its resource."""
    #: The maximum size in bytes of all files in a directory and below, after a change.
    total_bytes: Optional[int]
    #: The absolute path of the directory, if the grant reaches a staged copy of it.
    staged_from: Optional[str]
    #: Whether everything that is read through the grant is private. Only a model that may read private data gets
    #: it.
    private: bool
    #: The maximum number of calls in a period. All holders of capabilities made from the grant share it.
    rate: Optional[Rate]


class AttenuationParam(TypedDict, total=False):
    """The limits that a grant puts on its resource."""
    #: The allowed endings of the names of files. An empty set allows any.
    suffixes: List[str]
    #: The maximum size in bytes of a file that is read or written.
    max_bytes: Optional[int]
    #: The maximum size in bytes of all files in a directory and below, after a change.
    total_bytes: Optional[int]
    #: The absolute path of the directory, if the grant reaches a staged copy of it.
    staged_from: Optional[str]
    #: Whether everything that is read through the grant is private. Only a model that may read private data gets
    #: it.
    private: bool
    #: The maximum number of calls in a period. All holders of capabilities made from the grant share it.
    rate: Optional[RateParam]


class AuditFaultChain(TypedDict):
    """An event that does not follow the event before it."""
    broken: Literal['chain']
    #: The number of the event.
    seq: int


class AuditFaultRecord(TypedDict):
    """An event that describes a record that differs from the one in the store."""
    broken: Literal['record']
    #: The number of the event.
    seq: int


#: A fault in an event log.
AuditFault = Union["AuditFaultChain", "AuditFaultRecord"]


class AuditReport(TypedDict):
    """The result of an audit of an event log."""
    #: The number of events that were checked. These are all events, unless the log has a fault.
    events: int
    #: The number of events whose described record (a step, a message or a grant) is still in the store and
    #: unchanged.
    covered: int
    #: The number of events whose described record has been removed since, such as a dismissed message.
    gone: int
    #: The anchor of the log's last event.
    end: Optional[Anchor]
    #: The first fault of the log.
    broken: Optional[AuditFault]
    #: Whether the log contains the requested anchor.
    contains: Optional[bool]
    #: The last events, if the client asked for them.
    last: List[Event]


class Author(TypedDict):
    """The author of a commit."""
    #: The name of the author.
    name: str
    #: The mail address of the author.
    email: str


class AuthorParam(TypedDict):
    """The author of a commit."""
    #: The name of the author.
    name: str
    #: The mail address of the author.
    email: str


class _BackupReportRequired(TypedDict):
    #: The number of files in the backup.
    files: int
    #: The size of the backup, in bytes.
    bytes: int
    #: Whether the backup holds the key of the vault.
    has_key: bool
    #: The parts of the home that the backup leaves out, each in a short sentence.
    left_out: List[str]


class BackupReport(_BackupReportRequired, total=False):
    """The report about a backup of a home."""
    #: Whether that key opens nothing without a passphrase.
    needs_passphrase: bool


class BatchAsks(TypedDict):
    """The open approvals of a batch."""
    #: The batch.
    batch: RunNumber
    #: The name of the worker.
    worker: str
    #: The approvals, in the order of their numbers.
    asks: List[ItemAsk]
    #: All open approvals of the batch. A range answers every open approval in it, so a range to type must name
    #: none but those in `asks`.
    open: List[MessageNumber]


class Binding(TypedDict):
    """One slot and its target."""
    #: The slot.
    slot: str
    #: The target that fills the slot.
    target: Target
    #: The methods that the worker may call.
    methods: List[str]
    #: The restrictions on the target.
    attenuation: Attenuation
    #: The methods for which the person does not want to be asked.
    allow: List[str]
    #: The methods for which the worker file wants the person to be asked.
    ask: List[str]


class _BindingParamRequired(TypedDict):
    #: The slot.
    slot: str
    #: The target that fills the slot.
    target: TargetParam
    #: The methods that the worker may call.
    methods: List[str]


class BindingParam(_BindingParamRequired, total=False):
    """One slot and its target."""
    #: The restrictions on the target.
    attenuation: AttenuationParam
    #: The methods for which the person does not want to be asked.
    allow: List[str]
    #: The methods for which the worker file wants the person to be asked.
    ask: List[str]


#: The BLAKE3 hash of bytes that are kept beside the store.
BlobHash = str


class _BodyRequestRequired(TypedDict):
    type: Literal['request']
    #: The purpose of the request.
    description: Untrusted
    #: The promise that settles with the answer.
    promise: FormulaId
    #: The right to settle the promise.
    resolver: FormulaId


class BodyRequest(_BodyRequestRequired, total=False):
    """A request for a value."""
    #: The run that asks, with the slot that the answer would fill, if a run asks.
    by: Optional[HostRequest]


class _BodyPackageRequired(TypedDict):
    type: Literal['package']
    #: The pieces of text: at least as many as there are names.
    strings: List[Untrusted]
    #: The names that stand behind the pieces of text, in order.
    names: List[str]
    #: The values of the names: plain data, or grants held by the recipient.
    ids: List[FormulaId]


class BodyPackage(_BodyPackageRequired, total=False):
    """Text with named values between its pieces."""
    #: The run that says the text, if a run does.
    run: Optional[RunNumber]


class _BodyDefinitionRequired(TypedDict):
    type: Literal['definition']
    #: The program.
    definition: FormulaId
    #: The promise that settles with the first outcome that is shared.
    promise: FormulaId
    #: The right to settle the promise.
    resolver: FormulaId


class BodyDefinition(_BodyDefinitionRequired, total=False):
    """The proposal of a program, which does nothing until the recipient endows it."""
    #: The run that proposes the program, with its description, if a run does.
    by: Optional[Draft]


class BodyEvalRequest(TypedDict):
    """A request to run code over values that the sender already holds."""
    type: Literal['eval-request']
    #: The code.
    source: Untrusted
    #: The names in the code.
    names: List[str]
    #: The values of the names, fixed when the message was sent.
    ids: List[FormulaId]
    #: The promise that settles with the outcome.
    promise: FormulaId
    #: The right to settle the promise.
    resolver: FormulaId


class _BodyFormRequired(TypedDict):
    type: Literal['form']
    #: The purpose of the form.
    description: Untrusted
    #: The fields, in order.
    fields: List[Field]
    #: The promise that settles with the first record that fits.
    promise: FormulaId
    #: The right to settle the promise.
    resolver: FormulaId
    #: Whether the form may be answered more than once. Later answers arrive only as `value` messages.
    repeatable: bool


class BodyForm(_BodyFormRequired, total=False):
    """A form, which asks for a record of values."""
    #: The run that asks, if a run does.
    run: Optional[RunNumber]


class BodyValue(TypedDict):
    """A value, as an answer."""
    type: Literal['value']
    #: The value.
    value: FormulaId


class BodyApproval(TypedDict):
    """Proposals of one step of one run that wait for a person."""
    type: Literal['approval']
    #: The run that waits.
    run: RunNumber
    #: The proposals, each bound to its fingerprint.
    entries: List[ApprovalEntry]


class BodyOutcomeUnknown(TypedDict):
    """The question whether an effect happened that a crash interrupted. Only a person can find this out."""
    type: Literal['outcome-unknown']
    #: The run that waits.
    run: RunNumber
    #: The call that may have been made.
    entry: ApprovalEntry


class BodyBudget(TypedDict):
    """The request of a run that has used up a limit and needs more."""
    type: Literal['budget']
    #: The run that waits.
    run: RunNumber
    #: The error that names the limit, and the remedy.
    trouble: Trouble
    #: The usage of the run so far.
    used: Usage
    #: The raise that a plain yes gives.
    offer: Raise


class BodyRelease(TypedDict):
    """A result that carries capabilities. It is withheld until a person says that they may be given away."""
    type: Literal['release']
    #: The result as it was withheld.
    result: FormulaId
    #: The guest that would get the result.
    guest: FormulaId
    #: The definition's promise, which the answer settles.
    promise: FormulaId
    #: The descriptions, in words, of the capabilities that would be given away.
    gives: List[str]


class BodyMailQuota(TypedDict):
    """The question whether an agent that has used up its quota of mail may send more."""
    type: Literal['mail-quota']
    #: The agent.
    sender: FormulaId
    #: The host's name for the agent when it was asked, or else the short form of the identifier.
    name: str
    #: The mail that the agent has sent so far.
    sent: MailAmount
    #: The amount that a yes adds.
    offer: MailAmount


class _BodyCommandRequired(TypedDict):
    type: Literal['command']
    #: The command's verb.
    verb: str
    #: The command as text.
    text: Untrusted
    #: The run that the command started or changed.
    run: Optional[RunNumber]
    #: The formula of the run, if the command started one. The transcript keeps the run in this way.
    made: Optional[FormulaId]


class BodyCommand(_BodyCommandRequired, total=False):
    """A user's command to the daemon, kept so that the transcript is complete."""
    #: The grant that the command changed.
    grant: Optional[GrantNumber]


#: The content of a message.
Body = Union["BodyRequest", "BodyPackage", "BodyDefinition", "BodyEvalRequest", "BodyForm", "BodyValue", "BodyApproval", "BodyOutcomeUnknown", "BodyBudget", "BodyRelease", "BodyMailQuota", "BodyCommand"]


class BudgetRequest(TypedDict):
    """A run's request for more budget, as its card shows it."""
    #: The limit that was reached, as text.
    why: Untrusted
    #: The usage so far of the run and the runs that it has started.
    used: Usage
    #: The raise that is granted if the answer names no other.
    offer: Raise
    #: The answer, if there is one.
    answer: Optional[Answer]


class CallSiteTurn(TypedDict):
    """A call that the model made."""
    by: Literal['turn']
    #: The step at which the model replied.
    replied: int
    #: The index of the call in the reply, from 0.
    index: int
    #: The provider's name for the call.
    id: str


class CallSiteThen(TypedDict):
    """A step of the worker's `then` list."""
    by: Literal['then']
    #: The index of the step, from 0.
    index: int


class CallSiteWrite(TypedDict):
    """A step of the worker's `write` list."""
    by: Literal['write']
    #: The index among all writes of the run, from 0.
    index: int


class _CallSiteDirectRequired(TypedDict):
    by: Literal['direct']


class CallSiteDirect(_CallSiteDirectRequired, total=False):
    """A call that an agent made without a run of its own."""
    #: The send of the call, if code made the call.
    origin: Optional[SendOrigin]


#: The origin of a call: a turn of the model, a step of the worker, or an agent.
CallSite = Union["CallSiteTurn", "CallSiteThen", "CallSiteWrite", "CallSiteDirect"]


#: The author of a proposal's arguments.
Caller = Literal['model', 'code']


class Calls(TypedDict):
    """The outcomes of calls of capabilities."""
    #: The number of proposed calls.
    proposed: int
    #: The number of calls that the gates allowed.
    allowed: int
    #: The number of calls about which a person was asked.
    asked: int
    #: The number of calls that the gates refused.
    denied: int
    #: The number of model outputs that could not even be proposed.
    rejected: int


class CancelName(TypedDict):
    """The formula behind a name."""
    cancel: Literal['name']
    #: The name.
    path: NamePath


class CancelRun(TypedDict):
    """A run."""
    cancel: Literal['run']
    #: The number of the run.
    run: RunNumber


class CancelVat(TypedDict):
    """All code that waits in a vat, as far as the actor may end it."""
    cancel: Literal['vat']
    #: The vat, or a grant of it. The actor must hold it.
    vat: FormulaId


#: The target of a cancellation.
Cancel = Union["CancelName", "CancelRun", "CancelVat"]


class _CardRequired(TypedDict):
    #: The message's number.
    number: MessageNumber
    #: The run that asks.
    run: RunNumber
    #: The worker's name.
    worker: str
    #: Whether the card asks if a call happened, instead of whether it may be made.
    in_doubt: bool
    #: The proposals.
    entries: List[CardEntry]
    #: The sources that the run's model has been shown.
    read: List[Source]


class Card(_CardRequired, total=False):
    """An approval with everything that it would permit."""
    #: The task of the run that a user began, then the task that another run's model gave to the run that asks.
    task: List[Task]
    #: The requested raise, if the run has reached a limit and asks for more. The card has no entries then.
    more: Optional[BudgetRequest]
    #: The earlier approvals of the same methods. The digest to which an answer is bound does not include them.
    asked: List[ApprovalCount]
    #: The model's text beside the calls that it proposes. Nothing in it is verified.
    said: Optional[Untrusted]


class _CardEntryRequired(TypedDict):
    #: The step that proposed the call.
    step: StepRef
    #: The slot.
    slot: str
    #: The target of the slot, in the host's own words.
    target: str
    #: The method.
    method: str
    #: The effect of the method on the world.
    effect: Effect
    #: The origin of the arguments.
    caller: Caller
    #: The complete arguments, each with its parameter name and its text.
    arguments: List[List[Union[str, Untrusted]]]
    #: The findings of the gates.
    findings: List[Finding]
    #: The places where the run has read words of arguments that the user did not give.
    traces: List[Trace]
    #: The description of the content that the call would replace, if any.
    replaces: Optional[str]
    #: The result of an edit: the removed and the added lines of the file.
    difference: Optional[Untrusted]
    #: The title of the difference. `None` means the file.
    difference_of: Optional[str]
    #: The changes since an earlier card with the same call was approved.
    changed: List[ChangedDependency]
    #: The answer, if there is one.
    answer: Optional[Answer]


class CardEntry(_CardEntryRequired, total=False):
    """One proposal on a card."""
    #: The kind of the slot's content, as worker files name it, such as `outbox`. `None` for a call of an object.
    kind: Optional[str]
    #: The party outside this machine that learns the arguments, if the call otherwise only reads.
    tells: Optional[Untrusted]
    #: The giver of each argument: the user, what the run has read, or nobody.
    givers: List[ArgumentGiver]
    #: A preview of the worker that the call makes, if it makes one.
    making: Optional[WorkerPreview]
    #: The times of a call whose outcome is unknown, if the card asks about one.
    cut_off: Optional[CutOff]
    #: The reason why an approval would have no effect, if so: the grant has ended.
    ended: Optional[Untrusted]
    #: The reasons why an approved call was not performed, if it was not.
    undone: List[Finding]


class ChangeGenesis(TypedDict):
    """The store was made."""
    change: Literal['genesis']
    #: The host of the store.
    host: FormulaId


class ChangeOpened(TypedDict):
    """Another user, or a daemon on another machine, records from here on. The event stands before the first
    change of theirs.
    """
    change: Literal['opened']
    #: The name of the user, or the number if the user has no name.
    user: Untrusted
    #: The name of the machine.
    host: Untrusted


class _ChangeRunStartedRequired(TypedDict):
    change: Literal['run_started']
    #: The run.
    run: RunNumber
    #: The worker's name.
    name: str


class ChangeRunStarted(_ChangeRunStartedRequired, total=False):
    """A run began."""
    #: The run that waits for this run.
    parent: Optional[RunNumber]


class _ChangeGrantedRequired(TypedDict):
    change: Literal['granted']
    #: The grant.
    grant: FormulaId
    #: The number of the grant.
    number: GrantNumber
    #: The slot that the grant fills, or the name under which it was handed over.
    slot: str
    #: The hash of the grant as it was made.
    digest: BlobHash


class ChangeGranted(_ChangeGrantedRequired, total=False):
    """A grant was made."""
    #: The run for which the grant was made.
    run: Optional[RunNumber]


class ChangeRevoked(TypedDict):
    """A grant was revoked."""
    change: Literal['revoked']
    #: The number of the grant.
    number: GrantNumber


class ChangeNamed(TypedDict):
    """A name was given."""
    change: Literal['named']
    #: The directory.
    directory: FormulaId
    #: The name.
    name: str
    #: The formula that the name stands for now.
    id: FormulaId


class ChangeUnnamed(TypedDict):
    """A name was removed."""
    change: Literal['unnamed']
    #: The directory.
    directory: FormulaId
    #: The name.
    name: str


class ChangeSettled(TypedDict):
    """A promise of this agent has settled."""
    change: Literal['settled']
    #: The promise.
    promise: FormulaId
    #: Whether the promise has a value.
    ok: bool


class ChangeDismissed(TypedDict):
    """A message was dismissed."""
    change: Literal['dismissed']
    #: The number of the message.
    number: MessageNumber


class ChangeCancelled(TypedDict):
    """A run, a promise or an agent was cancelled."""
    change: Literal['cancelled']
    #: The formula of the run, the promise or the agent.
    id: FormulaId


class ChangeStep(TypedDict):
    """A step was added to a run's journal."""
    change: Literal['step']
    #: The run.
    run: RunNumber
    #: The step.
    step: int
    #: The entry's name.
    entry: str
    #: A description of the entry, in one line. It may quote foreign text.
    line: Untrusted
    #: The hash of the step as it was recorded.
    digest: BlobHash


class _ChangeMessageRequired(TypedDict):
    change: Literal['message']
    #: The number of the message.
    number: MessageNumber
    #: The type of the message.
    kind: str
    #: Whether a person has to answer the message.
    needs_you: bool
    #: The hash of the message that was sent.
    digest: BlobHash


class ChangeMessage(_ChangeMessageRequired, total=False):
    """A message arrived."""
    #: The run that the message is about.
    run: Optional[RunNumber]


class ChangeCommandCompleted(TypedDict):
    """A command that was still running got its outcome."""
    change: Literal['command_completed']
    #: The message of the command.
    number: MessageNumber


class _ChangeAnsweredRequired(TypedDict):
    change: Literal['answered']
    #: The message.
    number: MessageNumber
    #: Whether entries are still open.
    needs_you: bool


class ChangeAnswered(_ChangeAnsweredRequired, total=False):
    """A person answered a message."""
    #: The surface over which the answer came, if it is known.
    over: Optional[Surface]


class ChangeRelocated(TypedDict):
    """Directories that the store names have moved, and so the records that name them have changed."""
    change: Literal['relocated']
    #: The number of the move, from 1.
    number: int
    #: The hash of the move's record.
    digest: BlobHash


class ChangeRunFinished(TypedDict):
    """A run ended."""
    change: Literal['run_finished']
    #: The run.
    run: RunNumber
    #: Whether the run has a result.
    ok: bool


#: The content of an event.
Change = Union["ChangeGenesis", "ChangeOpened", "ChangeRunStarted", "ChangeGranted", "ChangeRevoked", "ChangeNamed", "ChangeUnnamed", "ChangeSettled", "ChangeDismissed", "ChangeCancelled", "ChangeStep", "ChangeMessage", "ChangeCommandCompleted", "ChangeAnswered", "ChangeRelocated", "ChangeRunFinished"]


class ChangeDigests(TypedDict, total=False):
    """The contents of a path before and after a change."""
    #: The digest of the file before. `None` if there was no file.
    before: Optional[BlobHash]
    #: The digest of the file afterwards. `None` if there is no file any more.
    after: Optional[BlobHash]


_ChangedDependencyFields = TypedDict('_ChangedDependencyFields', {
    'what': 'str',
    'was': 'Optional[str]',
    'is': 'Optional[str]',
    'lines': 'Optional[Untrusted]',
})


class ChangedDependency(_ChangedDependencyFields):
    """A dependency of a call that has changed since the call was approved."""


class ChatRow(TypedDict):
    """A conversation in a list."""
    #: The run of the conversation, without its inputs.
    run: Run
    #: The beginning of the first message, if there is one.
    said: Optional[Untrusted]
    #: The time of the last event in the conversation, in milliseconds since 1970.
    last_ms: int


class CodeCount(TypedDict):
    """The number of pieces of code that have not ended."""
    #: The number that have a heap, or are about to get one.
    running: int
    #: The number that wait for promises of the store, and use no memory meanwhile.
    asleep: int
    #: The number that have not begun. The object of a name is not there yet, or other code uses all the room.
    waiting: int


class CodeEntryBegan(TypedDict):
    """The code began."""
    entry: Literal['began']
    #: The engine and the realm, with their versions. Under other versions, the code may behave differently.
    engine: str
    #: The values of the code's names, as the heap got them.
    values: str
    #: The numbers in these values, with the objects that they stand for.
    bound: List[HeapReference]


class CodeEntrySent(TypedDict):
    """The code sent a message."""
    entry: Literal['sent']
    #: The number of the send.
    send: int
    #: The digest of all that was sent, in the numbers of the heap.
    digest: BlobHash
    #: A description of the message, in one line.
    line: Untrusted


class CodeEntryHeard(TypedDict):
    """The code heard the outcome of a send or a promise."""
    entry: Literal['heard']
    #: The send or the promise.
    of: OutcomeSubject
    #: The outcome, as the heap got it.
    outcome: str
    #: The numbers that are new in the outcome.
    bound: List[HeapReference]


class CodeEntryCalled(TypedDict):
    """Others called one of the code's objects before the code had ended."""
    entry: Literal['called']
    #: The number of the answer.
    answer: int
    #: The number by which the heap knows the object.
    target: int
    #: The method and its arguments, as the heap got them.
    call: str
    #: The numbers that are new in the call.
    bound: List[HeapReference]


class CodeEntryLogged(TypedDict):
    """The code wrote to its console."""
    entry: Literal['logged']
    #: The level of the text: `debug`, `log`, `info`, `warn` or `error`.
    level: str
    #: The text.
    text: Untrusted


#: An event between a heap and the outside.
CodeEntry = Union["CodeEntryBegan", "CodeEntrySent", "CodeEntryHeard", "CodeEntryCalled", "CodeEntryLogged"]


class CodeHolder(TypedDict):
    """Code that holds or held a grant."""
    #: The formula of the code.
    id: FormulaId
    #: Whether the journal of the code can still be read. It is removed together with the code.
    has_journal: bool


class _CodePageRequired(TypedDict):
    #: The code.
    eval: FormulaId
    #: Whether the code has not ended.
    is_open: bool
    #: The entries.
    entries: List[Record]


class CodePage(_CodePageRequired, total=False):
    """A page of the journal of endowed code."""
    #: The modules of the program, if the code is a program of modules.
    modules: Optional[Modules]


_CodeReferenceObjectFields = TypedDict('_CodeReferenceObjectFields', {
    'is': "Literal['object']",
    'id': 'FormulaId',
    'agent': 'FormulaId',
    'through': 'List[FormulaId]',
})


class CodeReferenceObject(_CodeReferenceObjectFields):
    """A formula, with the agent and the grants through which it is reached."""


_CodeReferencePromiseFields = TypedDict('_CodeReferencePromiseFields', {
    'is': "Literal['promise']",
    'id': 'FormulaId',
    'agent': 'FormulaId',
    'through': 'List[FormulaId]',
})


class CodeReferencePromise(_CodeReferencePromiseFields):
    """A promise of the store."""


_CodeReferenceSettledFields = TypedDict('_CodeReferenceSettledFields', {
    'is': "Literal['settled']",
    'id': 'FormulaId',
})


class CodeReferenceSettled(_CodeReferenceSettledFields):
    """The settlement of a promise of the store: whether the promise was kept."""


_CodeReferenceDismissedFields = TypedDict('_CodeReferenceDismissedFields', {
    'is': "Literal['dismissed']",
    'agent': 'FormulaId',
    'number': 'MessageNumber',
})


class CodeReferenceDismissed(_CodeReferenceDismissedFields):
    """The dismissal of a message."""


_CodeReferencePartFields = TypedDict('_CodeReferencePartFields', {
    'is': "Literal['part']",
    'id': 'FormulaId',
    'agent': 'FormulaId',
    'through': 'List[FormulaId]',
    'taken': 'Optional[Tree]',
    'place': 'List[str]',
    'kind': 'Part',
    'read_only': 'bool',
})


class CodeReferencePart(_CodeReferencePartFields):
    """A part that was looked up in a directory or a tree of files."""


_CodeReferenceLiveFields = TypedDict('_CodeReferenceLiveFields', {
    'is': "Literal['live']",
    'eval': 'FormulaId',
    'heap': 'int',
    'number': 'int',
    'through': 'List[FormulaId]',
})


class CodeReferenceLive(_CodeReferenceLiveFields):
    """An object of a heap. It lasts as long as the heap."""


_CodeReferencePassingFields = TypedDict('_CodeReferencePassingFields', {
    'is': "Literal['passing']",
})


class CodeReferencePassing(_CodeReferencePassingFields):
    """An object that ends with the heap, such as an iterator."""


#: The object outside of a heap for which a reference in the heap stands.
CodeReference = Union["CodeReferenceObject", "CodeReferencePromise", "CodeReferenceSettled", "CodeReferenceDismissed", "CodeReferencePart", "CodeReferenceLive", "CodeReferencePassing"]


class CommandOutcomeRunning(TypedDict):
    """No outcome yet: the work that the command started is still running."""
    outcome: Literal['running']


class _CommandOutcomeWaitingForAnswerRequired(TypedDict):
    outcome: Literal['waiting_for_answer']


class CommandOutcomeWaitingForAnswer(_CommandOutcomeWaitingForAnswerRequired, total=False):
    """No outcome yet: the agent that the command asked has not answered."""
    #: The message that asks. `None` if an earlier command has sent the message.
    number: Optional[MessageNumber]


class _CommandOutcomeDoneRequired(TypedDict):
    outcome: Literal['done']


class CommandOutcomeDone(_CommandOutcomeDoneRequired, total=False):
    """The command was carried out."""
    #: The value of the outcome, if there is one to show.
    to: Optional[OutcomeValue]


class CommandOutcomeNoChange(TypedDict):
    """Nothing was left to do, because somebody was first or the work had ended by itself."""
    outcome: Literal['no_change']


class CommandOutcomeRefused(TypedDict):
    """The command was refused, by the daemon or by the agent that the command asked. Nothing was done."""
    outcome: Literal['refused']
    #: The reason. It may quote foreign text.
    why: Untrusted


class CommandOutcomeFailed(TypedDict):
    """The work that the command started has failed."""
    outcome: Literal['failed']
    #: The reason. It may quote foreign text.
    why: Untrusted


#: The outcome of a command.
CommandOutcome = Union["CommandOutcomeRunning", "CommandOutcomeWaitingForAnswer", "CommandOutcomeDone", "CommandOutcomeNoChange", "CommandOutcomeRefused", "CommandOutcomeFailed"]


class CompletionDoneDone(TypedDict):
    #: The returned value.
    value: Value
    #: The provenance of the value.
    provenance: Provenance


class CompletionDone(TypedDict):
    """The call was made and returned a value."""
    done: CompletionDoneDone


class CompletionRefused(TypedDict):
    """The call was refused by a gate, by the user, or because its basis had changed since it was judged. Nothing
    happened.
    """
    refused: List[Finding]


class CompletionFailed(TypedDict):
    """The call was tried and failed. Nothing is left half done."""
    failed: Finding


#: The outcome of a proposal.
Completion = Union["CompletionDone", "CompletionRefused", "CompletionFailed"]


class _ConversationViewRequired(TypedDict):
    #: The results in turns before this step are shown as references.
    results_before: int


class ConversationView(_ConversationViewRequired, total=False):
    """The parts of a conversation that the model is shown in a shorter form. Steps are those of requests."""
    #: The turns before this step are shown as a line each.
    turns_before: int
    #: The maximum size of every other result, in bytes.
    max_bytes: Optional[int]


class Copy(TypedDict):
    """A copy of stored bytes that leaves the store."""
    #: The bytes, if they are text.
    text: Optional[str]
    #: The bytes in Base64, if they are not text.
    base64: Optional[str]
    #: Whether secrets of the vault were redacted from the copy, or the whole content was left out because of
    #: one.
    redacted: bool


class CutOff(TypedDict):
    """The times of a call with an unknown outcome, in milliseconds since 1970."""
    #: The time at which the call began.
    began_ms: int
    #: The time at which the next daemon found the call.
    found_ms: int


#: The decision of a verdict. Decisions are ordered, and the strictest of several is their maximum.
Decision = Literal['allow', 'ask', 'deny']


class Delivery(TypedDict):
    """The recipient of the result of endowed work."""
    #: The agent that proposed the work.
    guest: FormulaId
    #: The promise for which the guest waits.
    promise: FormulaId
    #: The part of the result that the guest gets.
    goes_to: ResultGoesTo
    #: The definition's message in the host's mailbox.
    message: MessageNumber


class _DiffRequired(TypedDict):
    #: The run.
    run: RunNumber
    #: All changes of the run, by path.
    files: List[FileDiff]


class Diff(_DiffRequired, total=False):
    """The changes of a run in its staged copies, as one diff."""
    #: The changes in staged copies that cannot be applied, such as symbolic links that a program made.
    unappliable: List[Untrusted]


class _DiscardedCopyRequired(TypedDict):
    #: The absolute path at which the file would be put in place.
    path: str
    #: The step that changed the file.
    step: StepRef


class DiscardedCopy(_DiscardedCopyRequired, total=False):
    """A file in a staged copy for which the user has discarded the run's changes, all or a part of them."""
    #: The digest of the content that can still be applied. `None` if all changes were discarded.
    left: Optional[BlobHash]


class _DocumentFileRequired(TypedDict):
    document: Literal['file']
    #: The path.
    path: str


class DocumentFile(_DocumentFileRequired, total=False):
    """A file on this machine, by its absolute path."""
    #: The directory below which the file was found, if the user named only that. No link may lead out of it.
    within: Optional[str]


class DocumentUploaded(TypedDict):
    """Bytes that were uploaded to the daemon before."""
    document: Literal['uploaded']
    #: The name of the document.
    name: str
    #: The hash of the bytes.
    hash: BlobHash


class DocumentContent(TypedDict):
    """The bytes of a file that only the client can read, or of a pipe."""
    document: Literal['content']
    #: The name of the document.
    name: str
    #: The bytes, in Base64.
    base64: str


class DocumentText(TypedDict):
    """Text that was read from a pipe."""
    document: Literal['text']
    #: The name of the document.
    name: str
    #: The text.
    text: str


class DocumentUnnameable(TypedDict):
    """A file that the client found and cannot name to the daemon. As an item of a batch, it fails."""
    document: Literal['unnameable']
    #: The name of the file, as far as it is text.
    name: str
    #: The reason.
    why: str


#: A document that a person hands to a run.
Document = Union["DocumentFile", "DocumentUploaded", "DocumentContent", "DocumentText", "DocumentUnnameable"]


class Draft(TypedDict):
    """Code that a run proposes to its host."""
    #: The run.
    run: RunNumber
    #: The run's description of the code. Foreign text.
    description: Untrusted


class _EarlierRequired(TypedDict):
    #: The other run.
    run: RunNumber
    #: The results, by the index of the item.
    results: Dict[str, Value]
    #: The provenance of the results.
    provenance: Provenance


class Earlier(_EarlierRequired, total=False):
    """The results of items in another run. These items have no children in this run."""
    #: The items with a result whose files the other run did not write. This run writes them, and asks no model
    #: again.
    unwritten: List[int]


class _EarlierParamRequired(TypedDict):
    #: The other run.
    run: RunNumber
    #: The results, by the index of the item.
    results: Dict[str, ValueParam]
    #: The provenance of the results.
    provenance: ProvenanceParam


class EarlierParam(_EarlierParamRequired, total=False):
    """The results of items in another run. These items have no children in this run."""
    #: The items with a result whose files the other run did not write. This run writes them, and asks no model
    #: again.
    unwritten: List[int]


#: The effect of a call on the world.
Effect = Literal['observe', 'modify', 'commit']


class _EndowedProgramRequired(TypedDict):
    #: The name of the program in calls: the first word of a call.
    name: str
    #: The path of the program, with all links followed.
    path: str
    #: The digest of the program's file. A file with another digest counts as another program.
    digest: BlobHash


class EndowedProgram(_EndowedProgramRequired, total=False):
    """A program, as it was at the time of its endowment."""
    #: The interpreters of a script, in order, because an interpreter can be a script itself. A script with other
    #: interpreters counts as another program.
    interpreters: List[Interpreter]


class _EndowedProgramParamRequired(TypedDict):
    #: The name of the program in calls: the first word of a call.
    name: str
    #: The path of the program, with all links followed.
    path: str
    #: The digest of the program's file. A file with another digest counts as another program.
    digest: BlobHash


class EndowedProgramParam(_EndowedProgramParamRequired, total=False):
    """A program, as it was at the time of its endowment."""
    #: The interpreters of a script, in order, because an interpreter can be a script itself. A script with other
    #: interpreters counts as another program.
    interpreters: List[InterpreterParam]


class _EndowedViewRequired(TypedDict):
    #: The time of the endowment, in milliseconds since 1970.
    at_ms: int
    #: The number of acts on the definition before this one.
    after: int
    #: The formula of the run or the code that was started.
    made: FormulaId
    #: The agent's promise for the result.
    result: FormulaId
    #: The state of the result for the agent, whether or not others have received it.
    outcome: PromiseState
    #: The grants of the endowment.
    grants: List[GrantRow]


class EndowedView(_EndowedViewRequired, total=False):
    """The outcome of one endowment of a definition."""
    #: The number of the run, if one was started.
    run: Optional[RunNumber]
    #: Whether the run or the code has ended and been collected.
    is_gone: bool
    #: The agent's name for the result.
    name: Optional[str]


class Endowment(TypedDict):
    """A slot and the resource that a person binds to it with `-e SLOT=…`."""
    #: The name of the slot. `SLOT.INNER` is a slot of the worker that fills `SLOT`.
    slot: str
    #: The resource for the slot, as the user typed it.
    fill: ResourceSpecParam


class EndowmentRecord(TypedDict):
    """An endowment of a definition."""
    #: The run or the code that was made. It may be gone.
    made: FormulaId
    #: The promise for the result.
    result: FormulaId
    #: The time of the endowment, in milliseconds since 1970.
    at_ms: int
    #: The number of times that the definition had been endowed or edited before.
    after: int


class EntryPrompted(TypedDict):
    """The model was asked."""
    entry: Literal['prompted']
    #: The request, byte for byte.
    request: BlobHash
    #: The model's name.
    model: str


class _EntryRepliedRequired(TypedDict):
    entry: Literal['replied']
    #: The step that asked the model.
    prompted: int
    #: The reply, byte for byte.
    reply: BlobHash
    #: The tokens, the time and the money that the reply cost.
    usage: Usage


class EntryReplied(_EntryRepliedRequired, total=False):
    """The model answered."""
    #: The model that answered, if several models could have been asked.
    model: Optional[str]


class EntryRejected(TypedDict):
    """The model's call cannot be a proposal, or its answer does not fit. The model is told the reasons."""
    entry: Literal['rejected']
    #: The call. `None` means the final answer.
    site: Optional[CallSite]
    #: The reasons.
    findings: List[Finding]


class _EntryProposedRequired(TypedDict):
    entry: Literal['proposed']
    #: The origin of the call.
    site: CallSite
    #: The call.
    proposal: Proposal
    #: The fingerprint of the call.
    fingerprint: Fingerprint


class EntryProposed(_EntryProposedRequired, total=False):
    """A method call was proposed."""
    #: The step that proposed the same call before. Set if a dependency of that call changed after the approval.
    replaces: Optional[int]


class EntryJudged(TypedDict):
    """The gates judged the call."""
    entry: Literal['judged']
    #: The step that proposed the call.
    proposal: int
    #: The verdict of the gates.
    verdict: Verdict
    #: The approval that asks a person.
    message: Optional[MessageNumber]


class EntryAnswered(TypedDict):
    """A person answered the approval of a call."""
    entry: Literal['answered']
    #: The step that proposed the call.
    proposal: int
    #: The approval.
    message: MessageNumber
    #: Whether the person approved the call.
    approved: bool


class EntryEffectStarted(TypedDict):
    """An effect began. From here on, it may have happened."""
    entry: Literal['effect_started']
    #: The step that proposed the call.
    proposal: int
    #: The child run, if the effect is a call of a worker.
    child: Optional[RunNumber]


class EntrySlept(TypedDict):
    """The call waits until a given time."""
    entry: Literal['slept']
    #: The step that proposed the call.
    proposal: int
    #: The time, in milliseconds since 1970.
    until_ms: int


class EntryQuestioned(TypedDict):
    """The host was asked by a message."""
    entry: Literal['questioned']
    #: The step that proposed the call.
    proposal: int
    #: The message that asks.
    message: MessageNumber


class EntryOutcomeUnknown(TypedDict):
    """The effect may or may not have happened before a crash, and only a person can tell. It happens again only
    if that person says so.
    """
    entry: Literal['outcome_unknown']
    #: The step that proposed the call.
    proposal: int
    #: The message that asks.
    message: MessageNumber


class EntryOutcomeConfirmed(TypedDict):
    """A person said that the effect happened."""
    entry: Literal['outcome_confirmed']
    #: The step that proposed the call.
    proposal: int
    #: The message that asked.
    message: MessageNumber


class EntryCompleted(TypedDict):
    """The effect is over, or will never happen."""
    entry: Literal['completed']
    #: The step that proposed the call.
    proposal: int
    #: The outcome of the call.
    completion: Completion


class EntrySpilled(TypedDict):
    """The result of a call is large, so the whole result is kept beside the store."""
    entry: Literal['spilled']
    #: The step that proposed the call.
    proposal: int
    #: The bytes of the whole result.
    whole: BlobHash
    #: The number of bytes.
    bytes: int


_EntryPagedFields = TypedDict('_EntryPagedFields', {
    'entry': "Literal['paged']",
    'site': 'CallSite',
    'of': 'int',
    'from': 'int',
    'bytes': 'int',
})


class EntryPaged(_EntryPagedFields):
    """The model read another part of a large result."""


class EntryShrunk(TypedDict):
    """From here on, the model is shown older parts of the conversation in a shorter form. The journal keeps all
    of them, and the model can read them again.
    """
    entry: Literal['shrunk']
    #: The shorter form.
    view: ConversationView
    #: The reason, in one line.
    why: str


class EntrySpawned(TypedDict):
    """A child run was started for one item of the run's input."""
    entry: Literal['spawned']
    #: The index of the item, from 0.
    index: int
    #: The child.
    child: RunNumber


class EntryYielded(TypedDict):
    """The child of an item waits for a person or has stalled, and gives its place to the next item."""
    entry: Literal['yielded']
    #: The index of the item, from 0.
    index: int
    #: The reason.
    why: YieldReason


class EntryCollected(TypedDict):
    """The child of an item ended."""
    entry: Literal['collected']
    #: The index of the item, from 0.
    index: int
    #: The outcome of the child.
    outcome: RunOutcome


class _EntrySaidRequired(TypedDict):
    entry: Literal['said']
    #: The user's text.
    text: Untrusted
    #: The message that records the person's command.
    message: MessageNumber


class EntrySaid(_EntrySaidRequired, total=False):
    """A person said something to a run."""
    #: The documents that came with the text.
    documents: List[Attachment]


class EntryExhausted(TypedDict):
    """The run has used up a limit, and asks for more."""
    entry: Literal['exhausted']
    #: The limit.
    limit: LimitKind
    #: The error with which the run ends if the user says no.
    trouble: Trouble
    #: The message that asks.
    message: MessageNumber


class EntryRaised(TypedDict):
    """A person allowed the run, or a run below it, to use more."""
    entry: Literal['raised']
    #: The message that asked.
    message: MessageNumber
    #: The amounts by which the limits were raised.
    by: Raise


class EntryHeld(TypedDict):
    """The user has left a limit as it is, and the run continues without the raise."""
    entry: Literal['held']
    #: The message that asked.
    message: MessageNumber
    #: The limit.
    limit: LimitKind


class EntrySuspended(TypedDict):
    """The run stopped to wait."""
    entry: Literal['suspended']
    #: The reason for the wait, in one line.
    why: str


class EntryStalled(TypedDict):
    """The run stalled, because it could not go on."""
    entry: Literal['stalled']
    #: The failure and its remedy.
    trouble: Trouble


class EntryResumed(TypedDict):
    """The run continued."""
    entry: Literal['resumed']
    #: The reason, in one line.
    why: str


class EntryFinished(TypedDict):
    """The run ended."""
    entry: Literal['finished']
    #: The outcome of the run.
    outcome: RunOutcome


class EntryReverted(TypedDict):
    """The user restores the files that the run changed. The kernel records this before the daemon changes any
    file. A repeated request completes an interrupted one.
    """
    entry: Literal['reverted']
    #: The files to restore.
    files: List[RestoredFile]


class EntryApplied(TypedDict):
    """The user applies the changes that the run made in a staged copy. The kernel records this before the daemon
    changes any file.
    """
    entry: Literal['applied']
    #: The files to apply.
    files: List[RestoredFile]


class _EntryDiscardedRequired(TypedDict):
    entry: Literal['discarded']


class EntryDiscarded(_EntryDiscardedRequired, total=False):
    """The user has discarded the changes that the run made in its staged copy."""
    #: The files whose changes were discarded, as a whole or in part. An empty list means the whole copy.
    files: List[DiscardedCopy]


class EntryForgotten(TypedDict):
    """The user has erased the data of the run. Bytes to which only this journal refers are removed."""
    entry: Literal['forgotten']


#: The content of one step in a run's journal.
Entry = Union["EntryPrompted", "EntryReplied", "EntryRejected", "EntryProposed", "EntryJudged", "EntryAnswered", "EntryEffectStarted", "EntrySlept", "EntryQuestioned", "EntryOutcomeUnknown", "EntryOutcomeConfirmed", "EntryCompleted", "EntrySpilled", "EntryPaged", "EntryShrunk", "EntrySpawned", "EntryYielded", "EntryCollected", "EntrySaid", "EntryExhausted", "EntryRaised", "EntryHeld", "EntrySuspended", "EntryStalled", "EntryResumed", "EntryFinished", "EntryReverted", "EntryApplied", "EntryDiscarded", "EntryForgotten"]


_EnvelopeFields = TypedDict('_EnvelopeFields', {
    'id': 'Number',
    'kind': 'str',
    'from': 'Number',
    'to': 'Number',
    'sent_ms': 'int',
    'reply_to': 'Optional[Number]',
})


class Envelope(_EnvelopeFields):
    """The part of a message that stays when its references have been dropped."""


class _EventRequired(TypedDict):
    #: The number of the event, from 1.
    seq: int
    #: The time of the change, in milliseconds since 1970.
    at_ms: int
    #: The change.
    change: Change
    #: The hash of the event before this one. All zero for the first event.
    prev: BlobHash
    #: The hash of this event, over `prev`, `seq`, `at_ms` and the JSON of `change`.
    hash: BlobHash


class Event(_EventRequired, total=False):
    """One observable change."""
    #: The user and the machine that recorded the event. The log has them once for many events, in
    #: [`Change::Opened`]. They are added when events are read.
    by: Optional[Recorder]


class Exhausted(TypedDict):
    """A run that has used up a limit, and waits for the user to raise the limit or to end the run."""
    #: The message that asks the user.
    message: MessageNumber
    #: The error with which the run ends if the user says no.
    trouble: Trouble
    #: The kind of the limit that is used up.
    limit: Optional[LimitKind]


#: The exit code of a process. The numbers are part of the interface.
Exit = Literal['ok', 'failure', 'usage', 'no_daemon', 'not_found', 'denied', 'invalid', 'needs_you', 'conflict', 'timed_out', 'replaced', 'interrupted']


class ExtrasPreview(TypedDict):
    """A preview of a worker with the user's additions."""
    #: The worker, with the edited text.
    making: WorkerPreview
    #: The slots that only the user can fill, and that are still empty.
    missing: List[str]
    #: The contents of slots that the user chose. The slots of a worker in a slot come after that slot.
    grants: List[List[Union[str, SlotFill]]]


class _FailureRequired(TypedDict):
    #: The exit code.
    exit: Exit
    #: The reason, in one sentence.
    message: Untrusted
    #: The advice to the user, which may be empty.
    help: str
    #: Whether everything has been printed already, so that only the exit code is left.
    silent: bool


class Failure(_FailureRequired, total=False):
    """The reason why a command failed, and advice."""
    #: The quoted parts of the reason. Without them, the whole reason counts as quoted.
    quoted: Optional[List[List[int]]]
    #: The problem of a frame that the daemon cannot read.
    problem: Optional[Problem]


class Family(TypedDict):
    """A run and its unfinished descendants."""
    #: The requested run and its unfinished descendants, oldest first.
    members: List[Run]
    #: The approvals of these runs that wait for an answer, oldest first.
    asked: List[MessageNumber]


class FamilyQuestion(TypedDict):
    """A question whether a family of runs may go on. All runs of the family that need the answer wait for it
    together.
    """
    #: The message that asks.
    message: MessageNumber
    #: The limit that is reached.
    limit: LimitKind
    #: The runs that wait.
    runs: List[RunNumber]


class Field(TypedDict):
    """One field of a form."""
    #: The name of the field in the record.
    name: str
    #: The label that a user reads. Foreign text.
    label: Untrusted
    #: The pattern of the field's value, encoded as a value.
    pattern: Value
    #: The value of the field if no value is given.
    default: Optional[Value]
    #: An example for the person who fills in the form.
    example: Optional[Value]
    #: Whether the value is a secret. A secret is sealed, and the form's sender gets a capability.
    secret: bool


class FieldInputText(TypedDict):
    """Text, for a field that is secret or takes a capability: the secret itself, or a pet name."""
    written: Literal['text']
    #: The text.
    text: str


class FieldInputValue(TypedDict):
    """Any other value, in smallcaps. The agent must hold each capability in it."""
    written: Literal['value']
    #: The value.
    value: ValueParam


#: A user's entry in a field of a form.
FieldInput = Union["FieldInputText", "FieldInputValue"]


class _FieldParamRequired(TypedDict):
    #: The name of the field in the record.
    name: str
    #: The label that a user reads. Foreign text.
    label: Untrusted
    #: The pattern of the field's value, encoded as a value.
    pattern: ValueParam


class FieldParam(_FieldParamRequired, total=False):
    """One field of a form."""
    #: The value of the field if no value is given.
    default: Optional[ValueParam]
    #: An example for the person who fills in the form.
    example: Optional[ValueParam]
    #: Whether the value is a secret. A secret is sealed, and the form's sender gets a capability.
    secret: bool


class FieldSpec(TypedDict):
    """A slot or a field, as a user sees it."""
    #: The name of the slot or field.
    name: str
    #: The author's description. Foreign text.
    label: Untrusted
    #: The permitted contents, in one plain line.
    wants: str
    #: Whether it takes a capability, given by one of the reader's names.
    capability: bool
    #: Whether the value is sealed.
    secret: bool
    #: The default value, if there is one.
    default: Optional[str]
    #: The choices, if the field is a choice.
    choices: List[str]


class FieldValueValue(TypedDict):
    """A value."""
    filled: Literal['value']
    #: The value. References in it must be held by the actor.
    value: ValueParam


class FieldValueName(TypedDict):
    """The formula behind one of the actor's names."""
    filled: Literal['name']
    #: The name.
    path: NamePath


class FieldValueSealed(TypedDict):
    """A secret that has been checked and sealed."""
    filled: Literal['sealed']
    #: The sealed bytes.
    sealed: Sealed


#: The content of one field.
FieldValue = Union["FieldValueValue", "FieldValueName", "FieldValueSealed"]


class FileChangeNew(TypedDict):
    """The path did not exist before."""
    became: Literal['new']


class FileChangeChanged(TypedDict):
    """The path existed before and after."""
    became: Literal['changed']


class FileChangeRemoved(TypedDict):
    """The path was removed."""
    became: Literal['removed']


class FileChangeMovedTo(TypedDict):
    """The file was moved away from this path. Both ends of a move are applied together."""
    became: Literal['moved_to']
    #: The absolute path to which the file was moved.
    path: Untrusted


class FileChangeMovedFrom(TypedDict):
    """The file was moved to this path."""
    became: Literal['moved_from']
    #: The absolute path from which the file was moved.
    path: Untrusted


#: The kind of a run's change at one path.
FileChange = Union["FileChangeNew", "FileChangeChanged", "FileChangeRemoved", "FileChangeMovedTo", "FileChangeMovedFrom"]


__FileDiffRequiredFields = TypedDict('__FileDiffRequiredFields', {
    'path': 'Untrusted',
    'step': 'StepRef',
    'from': 'str',
    'to': 'str',
    'state': 'UndoState',
    'text': 'Untrusted',
    'became': 'FileChange',
})


class _FileDiffRequired(__FileDiffRequiredFields):
    pass


class FileDiff(_FileDiffRequired, total=False):
    """The change of a run at one path."""
    #: Whether the change was applied from this copy. The real path may have the same content for another reason.
    applied: bool
    #: A unified diff between the present content of the path and the run's, if somebody else has changed the
    #: path meanwhile.
    against_now: Optional[Untrusted]


class _FindingRequired(TypedDict):
    #: The rule that led to the finding, as `gate/rule`.
    rule: str
    #: The problem, in one sentence.
    message: str


class Finding(_FindingRequired, total=False):
    """A machine-readable reason. It is written so that a model can do better with it and a person can judge it."""
    #: The quoted parts of the message. Without them, the whole message counts as quoted.
    quoted: Optional[List[List[int]]]
    #: The place of the problem: an argument, a slot or a method.
    at: Optional[str]
    #: The value that breaks the rule.
    counter_example: Optional[str]
    #: The values that would have been allowed.
    allowed: Optional[str]
    #: The quoted parts of `allowed`. Without them, the whole text counts as quoted.
    allowed_quoted: Optional[List[List[int]]]


#: The BLAKE3 fingerprint of a proposal: equal exactly when principal, run, grant, method, arguments and pins
#: are.
Fingerprint = Union["BlobHash"]


#: The relation of an object to a requested kind.
Fit = Literal['recorded', 'unknown', 'no']


#: The identifier of a formula: its number and its node.
FormulaId = str


class _FormulaSummaryRequired(TypedDict):
    #: The formula.
    id: FormulaId
    #: The agent's own name for the formula or its target, or a path of names that leads there.
    name: Optional[str]
    #: The type of the target.
    kind: str
    #: The description.
    words: Untrusted
    #: The grant, if the formula is one.
    grant: Optional[GrantRow]
    #: The target of the formula, behind all grants.
    target: FormulaId


class FormulaSummary(_FormulaSummaryRequired, total=False):
    """A short description of a formula, as an agent knows it."""
    #: The number of the message in the agent's mailbox, if the formula is one.
    message: Optional[MessageNumber]
    #: The number of the run, if the formula is one.
    run: Optional[RunNumber]
    #: Whether the formula gives access to files, but cannot change them.
    read_only: bool


class _FormulaViewRequired(TypedDict):
    #: The content of the formula.
    thing: ObjectView
    #: The short description of the formula.
    called: FormulaSummary
    #: The references that the formula contains.
    refers_to: List[Reference]
    #: The formulas that refer to this one. A name appears as a directory with the label `name x`.
    referred_by: List[Reference]
    #: Whether more formulas refer to this one than are listed.
    is_more: bool
    #: The grants that the agent gave for this formula.
    grants: List[GrantRow]


class FormulaView(_FormulaViewRequired, total=False):
    """A formula with its references, and with the formulas that refer to it."""
    #: The guard of the object, if code has made the object with one.
    guard: Optional[Value]


class FreedSpace(TypedDict):
    """The result of a garbage collection."""
    #: The number of formulas that were collected.
    formulas: int
    #: The number of blobs that were removed.
    blobs: int
    #: The number of bytes of these blobs.
    bytes: int
    #: The number of stored lists of other blobs, such as directory trees, that were found damaged.
    damaged: int


_GivenModulesArchiveFields = TypedDict('_GivenModulesArchiveFields', {
    'as': "Literal['archive']",
    'base64': 'str',
})


class GivenModulesArchive(_GivenModulesArchiveFields):
    """The modules as an archive."""


_GivenModulesFilesFields = TypedDict('_GivenModulesFilesFields', {
    'as': "Literal['files']",
    'files': 'Dict[str, str]',
})


class GivenModulesFiles(_GivenModulesFilesFields):
    """The modules as single files."""


_GivenModulesNamedFields = TypedDict('_GivenModulesNamedFields', {
    'as': "Literal['named']",
    'path': 'NamePath',
})


class GivenModulesNamed(_GivenModulesNamedFields):
    """The content of one of the agent's names: a blob with an archive or a bundle, or a directory tree."""


#: The modules of a program, in the form in which the client sends them.
GivenModules = Union["GivenModulesArchive", "GivenModulesFiles", "GivenModulesNamed"]


#: The number of a grant among those that one agent gave, written `g4`.
GrantNumber = int


class _GrantRowRequired(TypedDict):
    #: The grant's own formula.
    id: FormulaId
    #: The grant's number among the grants of the agent that gave it.
    number: GrantNumber
    #: The target: a capability, or another grant of it.
    target: FormulaId
    #: A description of the capability that stays when the capability is gone.
    words: str
    #: The agent, worker or endowed code that may use the grant.
    holder: FormulaId
    #: The agent that gave the grant.
    owner: Number
    #: The slot that the grant fills, or the name under which it was handed over.
    slot: str
    #: The methods that may be called. [`EVERY_METHOD`] stands for all.
    methods: List[str]
    #: The restrictions of the grant.
    attenuation: Attenuation
    #: The methods for which the person who endowed the grant does not want to be asked.
    allow: List[str]
    #: Methods that need an approval because the worker file says so, regardless of all other settings.
    ask: List[str]
    #: The message that caused the grant, in the giver's mailbox.
    source: Optional[MessageNumber]
    #: The time at which the grant was given, in milliseconds since 1970.
    given_ms: int
    #: The time at which the grant expires, in milliseconds since 1970.
    expires_ms: Optional[int]
    #: The time at which the grant was revoked.
    revoked_ms: Optional[int]
    #: The giver's own name for the holder, or its description.
    held_by: Untrusted


class GrantRow(_GrantRowRequired, total=False):
    """A grant, as its giver sees it."""
    #: The message of the command that revoked the grant, in the giver's mailbox.
    revoked_by: Optional[MessageNumber]
    #: Whether the holder no longer exists, and so has no page.
    is_gone: bool
    #: The giver's own name for the target, if there is one.
    name: Optional[str]


class _GrantViewRequired(TypedDict):
    #: The grant.
    row: GrantRow
    #: The target of the grant, as the agent knows it.
    target: FormulaSummary
    #: The runs that use the grant, or a grant derived from it.
    runs: List[RunNumber]
    #: The grants derived from this grant, which end when it ends.
    falls: List[GrantRow]
    #: The number of calls made or tried through the grant or a derived grant.
    calls: int
    #: The last of these calls, newest first.
    last: List[Use]
    #: The code that holds the grant or a derived grant. The messages that the code sent and received are in its
    #: own journal.
    code: List[CodeHolder]


class GrantView(_GrantViewRequired, total=False):
    """A grant with its usage, and with the grants that end with it."""
    #: The digest of the text that the holder runs, if the holder is a worker or code. Proposals show the same
    #: digest.
    text: Optional[BlobHash]


class Graph(TypedDict):
    """A part of a store as a graph: the formulas that can be reached from an agent's names, grants and open
    runs.
    """
    #: The formulas. The first is the starting point of the graph.
    nodes: List[Node]
    #: The links between the formulas.
    links: List[Link]
    #: The holders of both a secret or private data and a way out of this machine.
    risks: List[Risk]
    #: The number of further risks among the formulas that are not drawn.
    more_risks: int
    #: The number of formulas that were left out because the graph would be too large.
    left_out: int


class _HealthCheckRequired(TypedDict):
    #: The stable name of the check.
    id: str
    #: Whether the check passed.
    ok: bool
    #: The finding. It can quote foreign text.
    evidence: str
    #: The remedy if the check failed.
    remedy: str


class HealthCheck(_HealthCheckRequired, total=False):
    """The result of one check."""
    #: Whether the check could not be tried here, so that it has neither passed nor failed.
    untried: bool


class HeapReference(TypedDict):
    """A number by which a heap knows an object outside of it."""
    #: The number.
    slot: int
    #: The object that the number stands for.
    to: CodeReference


class Hello(TypedDict):
    """The first message of a client."""
    #: The client's [`VERSION`]. The daemon answers in the form of this version.
    version: int
    #: The client's build. A client asks a daemon of another build to end, so that a daemon of its own build can
    #: start.
    build: str
    #: The variables that models need, from the client's environment. The daemon keeps them only in memory, each
    #: key under the address of its server.
    keys: Dict[str, str]


class HostRequest(TypedDict):
    """A request of a run to its host."""
    #: The run.
    run: RunNumber
    #: The slot for the capability that the run gets, unless the answer is data.
    slot: str


class HostRun(TypedDict):
    """A run among the runs of all hosts. Each host numbers its own runs."""
    #: The host that has the run.
    host: FormulaId
    #: The number of the run at that host.
    run: RunNumber


class _InputRequired(TypedDict):
    #: The named inputs: a record.
    values: Value
    #: Documents that the model is shown.
    attachments: List[Attachment]
    #: For an `Each` run: the items, one for each child.
    items: List[Attachment]
    #: Files from which named inputs were read. Their content does not count as the user's own words.
    origins: List[Source]


class Input(_InputRequired, total=False):
    """The input of a run."""
    #: For an `Each` run that retries the failed items of another run: the results of that run's other items.
    earlier: Optional[Earlier]


class _InputParamRequired(TypedDict):
    #: The named inputs: a record.
    values: ValueParam


class InputParam(_InputParamRequired, total=False):
    """The input of a run."""
    #: Documents that the model is shown.
    attachments: List[AttachmentParam]
    #: For an `Each` run: the items, one for each child.
    items: List[AttachmentParam]
    #: Files from which named inputs were read. Their content does not count as the user's own words.
    origins: List[SourceParam]
    #: For an `Each` run that retries the failed items of another run: the results of that run's other items.
    earlier: Optional[EarlierParam]


class Interpreter(TypedDict):
    """The program that reads a script."""
    #: The path of the interpreter, with all links followed.
    path: str
    #: The digest of the interpreter's file.
    digest: BlobHash


class InterpreterParam(TypedDict):
    """The program that reads a script."""
    #: The path of the interpreter, with all links followed.
    path: str
    #: The digest of the interpreter's file.
    digest: BlobHash


class ItemAsk(TypedDict):
    """An open approval of an item."""
    #: The message.
    message: MessageNumber
    #: The name of the item. Foreign text.
    item: Untrusted


class KeyChoiceKeyring(TypedDict):
    """The key is in the keyring."""
    key: Literal['keyring']


class KeyChoiceFile(TypedDict):
    """The key is unencrypted, in a file beside the vault."""
    key: Literal['file']


class KeyChoicePassphrase(TypedDict):
    """The key is in a file beside the vault, encrypted with a passphrase."""
    key: Literal['passphrase']
    #: The passphrase.
    passphrase: Secret


#: The protection of the vault's key.
KeyChoice = Union["KeyChoiceKeyring", "KeyChoiceFile", "KeyChoicePassphrase"]


class KeyedRequest(TypedDict):
    """The key of a request for a run, and the parts that a repetition of the request must have again."""
    #: The key.
    key: RunKey
    #: The parts, in the order in which they are compared.
    parts: List[RequestPart]


class KnownModel(TypedDict):
    """A model that can be used."""
    #: The text with which a person names the model.
    model: str
    #: The origin of the model: a key, a server, the settings or the disk.
    origin: str


#: The authority that can turn an *ask* into an *allow*. Each level accepts fewer authorities than the one
#: before.
Lift = Literal['endowment', 'operator', 'permission']


#: A kind of limit that a grant of a resource can have.
Limit = Literal['suffixes', 'max', 'total', 'rate', 'private']


#: A kind of limit of a run.
LimitKind = Literal['turns', 'calls', 'depth', 'tokens', 'usd', 'wall', 'refusals', 'cards', 'kept']


class _LimitsRequired(TypedDict):
    #: The number of times that the model may be asked.
    turns: int
    #: The number of calls that the run may make, with or without success.
    calls: int
    #: The depth to which workers may call workers.
    depth: int
    #: The number of tokens that may be read and written, children included. A caller lends a child a share of
    #: its remaining tokens. The child gives back its unused tokens when it ends.
    tokens: int
    #: The time that the run may last, without the time in which it waits, in milliseconds.
    wall_ms: int
    #: The number of bytes that the store may keep for the run, children included: journal, requests, replies,
    #: and results beside the journal. It is lent like tokens.
    kept: int


class Limits(_LimitsRequired, total=False):
    """The limits of a run."""
    #: The money that may be spent on models, children included, in millionths of a dollar. `None` means no
    #: limit. It is lent like tokens.
    usd_micros: Optional[int]
    #: The number of tokens that the model may write in one reply. `None` means the model's own limit.
    answer: Optional[int]


class _LimitsParamRequired(TypedDict):
    #: The number of times that the model may be asked.
    turns: int
    #: The depth to which workers may call workers.
    depth: int
    #: The number of tokens that may be read and written, children included. A caller lends a child a share of
    #: its remaining tokens. The child gives back its unused tokens when it ends.
    tokens: int
    #: The time that the run may last, without the time in which it waits, in milliseconds.
    wall_ms: int


class LimitsParam(_LimitsParamRequired, total=False):
    """The limits of a run."""
    #: The number of calls that the run may make, with or without success.
    calls: int
    #: The money that may be spent on models, children included, in millionths of a dollar. `None` means no
    #: limit. It is lent like tokens.
    usd_micros: Optional[int]
    #: The number of tokens that the model may write in one reply. `None` means the model's own limit.
    answer: Optional[int]
    #: The number of bytes that the store may keep for the run, children included: journal, requests, replies,
    #: and results beside the journal. It is lent like tokens.
    kept: int


class _LineRequired(TypedDict):
    #: The number of the message in the mailbox.
    number: MessageNumber
    #: The message that was sent, or `None` once it was dismissed.
    message: Optional[Message]
    #: The state of the message in the mailbox, with the answers so far.
    mail: Mail


class Line(_LineRequired, total=False):
    """A message in a list."""
    #: The call that the message asks about. If there are several, it is the first that waits for an answer.
    call: Optional[AskedCall]
    #: The title of the message: who wants to do what to what. A dismissed message has none.
    title: Optional[Title]
    #: The worst danger of an open approval, as far as the sources of its arguments show one.
    danger: Optional[Title]


_LinkFields = TypedDict('_LinkFields', {
    'from': 'int',
    'to': 'int',
    'how': 'LinkKind',
    'label': 'str',
    'grant': 'Optional[GrantNumber]',
    'limits': 'List[str]',
    'is_private': 'bool',
})


class Link(_LinkFields):
    """A link from one formula to another."""


#: The kind of a link between formulas.
LinkKind = Literal['names', 'holds', 'made-of']


class LocalModel(TypedDict):
    """A model that runs on this machine."""
    #: The name of the model after `local:`.
    name: str
    #: The size of the weights on the disk, in bytes.
    bytes: int
    #: The memory that the model needs, in bytes.
    memory: int
    #: The licence of the weights.
    licence: str
    #: The SHA-256 hash of the weights, in hexadecimal digits.
    sha256: str
    #: Whether the weights are on this disk.
    is_here: bool


class _LoginActBeginRequired(TypedDict):
    act: Literal['begin']
    #: The name of a tool server, or its address.
    server: str
    #: The address to which the browser is sent back.
    redirect: str
    #: The scopes to ask for, in place of those that the server names.
    scopes: List[str]


class LoginActBegin(_LoginActBeginRequired, total=False):
    """Prepares a login, and returns the address for the browser."""
    #: The identifier of a client that the user has registered, in place of one that Almoner registers.
    client: Optional[str]
    #: The name of the secret of that client in the vault.
    client_secret: Optional[str]


class LoginActFinish(TypedDict):
    """Completes a login."""
    act: Literal['finish']
    #: The identifier of the login.
    id: str
    #: The address to which the browser was sent back. It holds a code.
    redirected: Secret


class LoginActRemove(TypedDict):
    """Removes the login at a server."""
    act: Literal['remove']
    #: The name of a tool server, or its address.
    server: str


class LoginActList(TypedDict):
    """Lists the logins."""
    act: Literal['list']


#: A client's act on logins.
LoginAct = Union["LoginActBegin", "LoginActFinish", "LoginActRemove", "LoginActList"]


class LoginAnswerBegun(TypedDict):
    """A login that waits for the person in the browser."""
    login: Literal['begun']
    #: The identifier of the login.
    id: str
    #: The address for the browser.
    url: str
    #: The authorization server.
    issuer: str


class LoginAnswerDone(TypedDict):
    """A completed login."""
    login: Literal['done']
    #: The address of the server.
    server: str
    #: The authorization server.
    issuer: str
    #: The scope, if it is known.
    scope: Optional[str]
    #: The time of the login, in milliseconds since 1970.
    since_ms: int
    #: The time at which the present token ends, in milliseconds since 1970, if it is known.
    expires_ms: Optional[int]
    #: Whether the login goes on after that time without the user.
    lasts: bool
    #: The scope of a login that would allow the calls that the server refused for want of a scope.
    wider_scope: Optional[str]
    #: Whether the server wants a new login.
    is_over: bool


class LoginAnswerRemoved(TypedDict):
    """A login that was removed."""
    login: Literal['removed']
    #: The address of the server.
    server: str
    #: Whether the authorization server took the tokens back. `None` if it does not offer that.
    is_revoked: Optional[bool]


class LoginAnswerAll(TypedDict):
    """All logins."""
    login: Literal['all']
    #: The logins.
    rows: List[LoginRow]


#: The answer to an act on logins.
LoginAnswer = Union["LoginAnswerBegun", "LoginAnswerDone", "LoginAnswerRemoved", "LoginAnswerAll"]


class LoginRow(TypedDict):
    """A login, without its tokens."""
    #: The address of the server.
    server: str
    #: The authorization server.
    issuer: str
    #: The scope, if it is known.
    scope: Optional[str]
    #: The time of the login, in milliseconds since 1970.
    since_ms: int
    #: The time at which the present token ends, in milliseconds since 1970, if it is known.
    expires_ms: Optional[int]
    #: Whether the login goes on after that time without the user.
    lasts: bool
    #: The scope of a login that would allow the calls that the server refused for want of a scope.
    wider_scope: Optional[str]
    #: Whether the server wants a new login.
    is_over: bool


class _LookNamesRequired(TypedDict):
    look: Literal['names']


class LookNames(_LookNamesRequired, total=False):
    """The names in a directory. Without a path, they are the agent's own names."""
    #: The directory.
    path: Optional[NamePath]


class _LookNamePageRequired(TypedDict):
    look: Literal['name_page']
    #: The maximum number of names on the page. An answer also has a limit of its own.
    limit: int


_LookNamePageFields = TypedDict('_LookNamePageFields', {
    'path': 'Optional[NamePath]',
    'find': 'str',
    'from': 'int',
}, total=False)


class LookNamePage(_LookNamePageRequired, _LookNamePageFields, total=False):
    """A page of the names in a directory."""


class LookObject(TypedDict):
    """The object of a name."""
    look: Literal['object']
    #: The name.
    path: NamePath


class LookIdentifier(TypedDict):
    """The formula that has a name, whether or not it can be used."""
    look: Literal['identifier']
    #: The name.
    path: NamePath


class LookGrants(TypedDict):
    """The grants that the agent gave."""
    look: Literal['grants']


class LookMessage(TypedDict):
    """One message in full."""
    look: Literal['message']
    #: The number of the message.
    number: MessageNumber


class LookPromise(TypedDict):
    """The state of a promise. With `wait`, the answer comes as soon as the promise is settled."""
    look: Literal['promise']
    #: The promise.
    promise: FormulaId
    #: Whether to wait until the promise is settled.
    wait: bool


class LookOrigin(TypedDict):
    """The origin of a named object."""
    look: Literal['origin']
    #: A name or an identifier.
    thing: str


class _LookCodeRequired(TypedDict):
    look: Literal['code']
    #: The name or the identifier of the code's result, or of an object that the code has made.
    thing: str


_LookCodeFields = TypedDict('_LookCodeFields', {
    'from': 'int',
}, total=False)


class LookCode(_LookCodeRequired, _LookCodeFields, total=False):
    """A page of the journal of endowed code."""


class LookPicks(TypedDict):
    """The agent's named objects that can be picked as a capability."""
    look: Literal['picks']


class _LookNarrowableRequired(TypedDict):
    look: Literal['narrowable']
    #: The name.
    path: NamePath


class LookNarrowable(_LookNarrowableRequired, total=False):
    """The possible restrictions of one of the agent's named objects, and the result of applying some of them."""
    #: The restrictions to apply. Without them, the answer does not describe a result.
    by: Optional[Narrowing]


class LookProposed(TypedDict):
    """The program that a message proposes, with its use of the objects that it would receive."""
    look: Literal['proposed']
    #: The message.
    number: MessageNumber


class LookEndowed(TypedDict):
    """The outcomes of a definition, one for each endowment."""
    look: Literal['endowed']
    #: The message.
    number: MessageNumber


class LookRetentionPaths(TypedDict):
    """The reasons why an object is kept in the store."""
    look: Literal['retention_paths']
    #: A name or an identifier.
    thing: str


class LookFormulaSummaries(TypedDict):
    """The agent's names for formulas, and their descriptions. Formulas that no longer exist are left out."""
    look: Literal['formula_summaries']
    #: The formulas.
    ids: List[FormulaId]


class LookFormula(TypedDict):
    """A formula with its references, and with the formulas that refer to it."""
    look: Literal['formula']
    #: The formula.
    id: FormulaId


class LookGrant(TypedDict):
    """A grant that the agent gave, with its usage and with the grants that end with it."""
    look: Literal['grant']
    #: The number of the grant.
    grant: GrantNumber


class _LookGraphRequired(TypedDict):
    look: Literal['graph']


class LookGraph(_LookGraphRequired, total=False):
    """The formulas that can be reached from the agent's names, grants and open runs."""
    #: The starting point instead of the agent itself: a run (`r17`), a name, or an identifier.
    focus: Optional[str]


#: A query of an agent.
Look = Union["LookNames", "LookNamePage", "LookObject", "LookIdentifier", "LookGrants", "LookMessage", "LookPromise", "LookOrigin", "LookCode", "LookPicks", "LookNarrowable", "LookProposed", "LookEndowed", "LookRetentionPaths", "LookFormulaSummaries", "LookFormula", "LookGrant", "LookGraph"]


class _MadeSlotRequired(TypedDict):
    #: The name of the slot.
    name: str
    #: The kind of content that may fill the slot, such as `dir rw`.
    wants: str


_MadeSlotFields = TypedDict('_MadeSlotFields', {
    'label': 'Optional[Untrusted]',
    'from': 'Optional[List[Union[str, SlotFill]]]',
    'filled': 'Optional[SlotFill]',
}, total=False)


class MadeSlot(_MadeSlotRequired, _MadeSlotFields, total=False):
    """A slot of a worker that a call makes."""


class _MailRequired(TypedDict):
    #: The sender, the recipient, and the time of the message.
    envelope: Envelope
    #: The message. `None` once it has been dismissed.
    message: Optional[FormulaId]
    #: The answers so far, by entry. A message that asks for one thing has only entry 0.
    answers: Dict[str, Answer]
    #: Whether the message still needs an answer in this mailbox.
    needs_you: bool
    #: The time at which the message was dismissed, in milliseconds since 1970.
    dismissed_ms: Optional[int]


class Mail(_MailRequired, total=False):
    """A message in one mailbox, with its state there."""
    #: For a definition: the number of times that it was endowed or edited. An actor that has seen another number
    #: has not seen the definition's present state.
    done: int
    #: For a definition: its last endowments, oldest first. The mailbox keeps their results until the message is
    #: dismissed, and nothing else of them. Code that has ended and that no agent holds is collected as always.
    endowed: List[EndowmentRecord]
    #: For a command: its outcome.
    outcome: Optional[CommandOutcome]


class _MailActSendRequired(TypedDict):
    mail: Literal['send']
    #: The recipient.
    to: NamePath
    #: The pieces of text. Their number is at least the number of names.
    strings: List[Untrusted]
    #: The names of the values, each of which stands behind a piece of text.
    names: List[str]
    #: The paths of the values, one for each name.
    paths: List[NamePath]


class MailActSend(_MailActSendRequired, total=False):
    """Sends text with named values."""
    #: The message that the text answers.
    reply_to: Optional[MessageNumber]


class MailActReply(TypedDict):
    """Sends text with named values to the other party of a message."""
    mail: Literal['reply']
    #: The message that is answered.
    number: MessageNumber
    #: The pieces of text.
    strings: List[Untrusted]
    #: The names of the values, each of which stands behind a piece of text.
    names: List[str]
    #: The paths of the values, one for each name.
    paths: List[NamePath]


class MailActSendValue(TypedDict):
    """Hands a value to the other party of a message."""
    mail: Literal['send_value']
    #: The message that is answered.
    number: MessageNumber
    #: The value.
    path: NamePath


class _MailActRequestRequired(TypedDict):
    mail: Literal['request']
    #: The recipient of the request.
    to: NamePath
    #: The description of the value.
    description: Untrusted


class MailActRequest(_MailActRequestRequired, total=False):
    """Asks for a value."""
    #: The name under which the promise is kept.
    result_name: Optional[NamePath]


class MailActResolve(TypedDict):
    """Answers a request."""
    mail: Literal['resolve']
    #: The request.
    number: MessageNumber
    #: The answer.
    path: NamePath


class MailActResolveWith(TypedDict):
    """Answers the request to which a resolver belongs."""
    mail: Literal['resolve_with']
    #: The resolver, which came with the request.
    resolver: FormulaId
    #: The answer, which the actor must hold.
    id: FormulaId


class MailActGive(TypedDict):
    """Answers the request of a run, with data or with a value for a slot."""
    mail: Literal['give']
    #: The request.
    number: MessageNumber
    #: The answer.
    handed: RequestAnswer


class MailActReject(TypedDict):
    """Rejects the request of a message."""
    mail: Literal['reject']
    #: The message.
    number: MessageNumber
    #: The reason.
    reason: Untrusted


class MailActAdopt(TypedDict):
    """Gives a name to something that came with a message."""
    mail: Literal['adopt']
    #: The message.
    number: MessageNumber
    #: The sender's name for the value.
    edge: str
    #: The actor's new name for the value.
    path: NamePath


class MailActDismiss(TypedDict):
    """Hides a message and drops its references."""
    mail: Literal['dismiss']
    #: The message.
    number: MessageNumber


class MailActDismissAll(TypedDict):
    """Dismisses every message that needs no answer."""
    mail: Literal['dismiss_all']


class _MailActDefineRequired(TypedDict):
    mail: Literal['define']
    #: The recipient, usually `@host`.
    to: NamePath
    #: The program.
    program: Text


class MailActDefine(_MailActDefineRequired, total=False):
    """Proposes a program, which does nothing until somebody endows it."""
    #: The name under which the promise is kept.
    result_name: Optional[NamePath]


class MailActEdit(TypedDict):
    """Proposes a changed copy of a proposed program. The original stays, and its sender is told."""
    mail: Literal['edit']
    #: The definition's message.
    number: MessageNumber
    #: The changed program. Code without slots keeps its earlier slots.
    program: Text


class _MailActFormRequired(TypedDict):
    mail: Literal['form']
    #: The recipient.
    to: NamePath
    #: The purpose of the form.
    description: Untrusted
    #: The fields, in order.
    fields: List[FieldParam]
    #: Whether the form may be answered more than once.
    repeatable: bool


class MailActForm(_MailActFormRequired, total=False):
    """Asks for a record, by a form."""
    #: The name under which the promise is kept.
    result_name: Optional[NamePath]


class MailActSubmit(TypedDict):
    """Fills in a form."""
    mail: Literal['submit']
    #: The form.
    number: MessageNumber
    #: The values by field.
    values: Dict[str, FieldValue]


class _MailActRequestEvaluationRequired(TypedDict):
    mail: Literal['request_evaluation']
    #: The code.
    source: Untrusted
    #: The names in the code.
    names: List[str]
    #: The paths of the values, one for each name.
    paths: List[NamePath]


class MailActRequestEvaluation(_MailActRequestEvaluationRequired, total=False):
    """Asks for the evaluation of code over values that the sender holds."""
    #: The name under which the promise is kept.
    result_name: Optional[NamePath]


class MailActGrant(TypedDict):
    """Agrees to a requested evaluation."""
    mail: Literal['grant']
    #: The message.
    number: MessageNumber
    #: The destination of the result.
    goes_to: ResultGoesTo


class _MailActEndowCodeRequired(TypedDict):
    mail: Literal['endow_code']
    #: The definition's message.
    number: MessageNumber
    #: The paths of the values, by slot.
    bindings: Dict[str, NamePath]
    #: The destination of the result.
    goes_to: ResultGoesTo


class MailActEndowCode(_MailActEndowCodeRequired, total=False):
    """Endows code that was proposed."""
    #: The name of the vat in which the code runs. `None` means the actor's own vat.
    vat: Optional[NamePath]
    #: The name under which the host keeps the promise for the result.
    result_name: Optional[NamePath]


class _MailActEndowWorkerRequired(TypedDict):
    mail: Literal['endow_worker']
    #: The definition's message.
    number: MessageNumber
    #: The run.
    start: Start
    #: The destination of the result.
    goes_to: ResultGoesTo


class MailActEndowWorker(_MailActEndowWorkerRequired, total=False):
    """Endows a worker that was proposed and starts a run of it."""
    #: The name under which the host keeps the promise for the result.
    result_name: Optional[NamePath]


class _MailActIfUnchangedRequired(TypedDict):
    mail: Literal['if_unchanged']
    #: Each name with the formula that it stood for; `None` if the name was free.
    seen: List[List[Union[NamePath, Optional[FormulaId]]]]
    #: The act to perform.
    act: MailAct


class MailActIfUnchanged(_MailActIfUnchangedRequired, total=False):
    """Performs an act, if names and definitions are still as the actor has seen them."""
    #: The number of times that a definition had been endowed or edited. Given if the act endows or edits a
    #: definition.
    done: Optional[int]


class _MailActEvaluateRequired(TypedDict):
    mail: Literal['evaluate']
    #: The code.
    source: Untrusted
    #: The names in the code.
    names: List[str]
    #: The paths of the values, one for each name.
    paths: List[NamePath]


class MailActEvaluate(_MailActEvaluateRequired, total=False):
    """Runs code that the actor itself gives."""
    #: The name of the vat in which the code runs. `None` means the actor's own vat.
    vat: Optional[NamePath]
    #: The name under which the promise is kept.
    result_name: Optional[NamePath]


class _MailActMakeRequired(TypedDict):
    mail: Literal['make']
    #: The program, whose bytes lie beside the store.
    modules: ModulesParam


class MailActMake(_MailActMakeRequired, total=False):
    """Runs a program of modules."""
    #: The name of the vat in which the program runs. `None` means the actor's own vat.
    vat: Optional[NamePath]
    #: The name of the powers for the program's `make` function. `None` means no powers.
    powers: Optional[NamePath]
    #: Whether a guest is made under the name of the powers, if that name is free.
    new_guest: bool
    #: The name under which the promise is kept.
    result_name: Optional[NamePath]


#: An act on mail. Every path begins in the actor's own directory, and every number belongs to the actor's own
#: mailbox.
MailAct = Union["MailActSend", "MailActReply", "MailActSendValue", "MailActRequest", "MailActResolve", "MailActResolveWith", "MailActGive", "MailActReject", "MailActAdopt", "MailActDismiss", "MailActDismissAll", "MailActDefine", "MailActEdit", "MailActForm", "MailActSubmit", "MailActRequestEvaluation", "MailActGrant", "MailActEndowCode", "MailActEndowWorker", "MailActIfUnchanged", "MailActEvaluate", "MailActMake"]


class MailAmount(TypedDict):
    """An amount of mail."""
    #: The number of messages.
    messages: int
    #: The number of bytes of these messages.
    bytes: int


class MailboxEntry(TypedDict):
    """A message together with its place in a mailbox."""
    #: The number of the message in the mailbox.
    number: MessageNumber
    #: The message that was sent, or `None` once it was dismissed.
    message: Optional[Message]
    #: The state of the message in the mailbox, with the answers so far.
    mail: Mail


class MailboxPartThread(TypedDict):
    """The thread of this message."""
    thread: MessageNumber


class MailboxPartAsker(TypedDict):
    """The open messages from the sender of this message."""
    asker: MessageNumber


#: A part of a mailbox, identified by one of its messages.
MailboxPart = Union["MailboxPartThread", "MailboxPartAsker"]


class ManagedPolicies(TypedDict):
    """The policies of the machine's administrator."""
    #: The path of the file.
    path: str
    #: The hash of the file, if it could be read.
    digest: Optional[BlobHash]
    #: The policies, in the order of the file.
    policies: List[PolicyRow]
    #: The number of examples that had the expected result.
    examples: int
    #: The fault of the administrator's files. If there is one, no call is judged.
    problem: Optional[Untrusted]


_MessageFields = TypedDict('_MessageFields', {
    'from': 'FormulaId',
    'to': 'FormulaId',
    'sent_ms': 'int',
    'reply_to': 'Optional[Number]',
    'body': 'Body',
})


class Message(_MessageFields):
    """A message as it was sent. It is one formula, to which the mailboxes of the sender and the recipient both
    refer. Later answers are in the rows of the mailboxes, not here.
    """


class _MessageFilterMailboxRequired(TypedDict):
    list: Literal['mailbox']


class MessageFilterMailbox(_MessageFilterMailboxRequired, total=False):
    """The messages of an agent's mailbox, one by one. The answer is `mailbox`."""
    #: Whether only messages that need an answer are listed.
    open: bool
    #: The order of the messages.
    order: Order


class _MessageFilterThreadsRequired(TypedDict):
    list: Literal['threads']


class MessageFilterThreads(_MessageFilterThreadsRequired, total=False):
    """The mailbox of a host in threads, newest first. The answer is `threads`. With a filter below, messages are
    listed one by one.
    """
    #: The kind of the listed messages. Without it, all kinds are listed.
    kind: Optional[str]
    #: The status of the listed messages. The answer always includes the messages that need an answer.
    standing: Optional[MessageStatus]
    #: The part of the mailbox. Without it, all parts are listed.
    within: Optional[MailboxPart]


class MessageFilterAnswers(TypedDict):
    """The messages that answer one of a host's messages, directly or through other answers. The answer is
    `answers`: the newest messages up to the page limit, oldest first.
    """
    list: Literal['answers']
    #: The message.
    message: MessageNumber


#: The selection of messages for a list, and the form of the list.
MessageFilter = Union["MessageFilterMailbox", "MessageFilterThreads", "MessageFilterAnswers"]


#: The number of a message in one agent's mailbox.  Messages that others have sent are numbered `0`, `1`, `2`
#: without gaps. A command of the agent's own takes no such number: it follows the message that came last, and is
#: written `7.1`. Only a command in an empty mailbox is message `0`. The order of numbers is the order in which
#: messages came.
MessageNumber = int


#: The status of a message.
MessageStatus = Literal['open', 'answered', 'dismissed']


__MessageViewRequiredFields = TypedDict('__MessageViewRequiredFields', {
    'letter': 'MailboxEntry',
    'from': 'str',
    'to': 'str',
    'source': 'Optional[Untrusted]',
    'fields': 'List[FieldSpec]',
    'is_worker': 'bool',
})


class _MessageViewRequired(__MessageViewRequiredFields):
    pass


class MessageView(_MessageViewRequired, total=False):
    """A message in full, as its reader sees it."""
    #: The name of the worker whose run has sent the message, if a run has.
    worker: Optional[str]
    #: The reader's message that this message answers.
    answers: Optional[MessageNumber]
    #: The objects that the code of a request to evaluate would use, each with its name in the code. `None`
    #: stands for an object that no longer exists.
    uses: List[List[Union[str, Optional[Powers]]]]
    #: The withheld result, if the message asks whether to release one.
    withheld: Optional[Withheld]


class Method(TypedDict):
    """A method of an object."""
    #: The name of the method.
    name: str
    #: The effect of the method on the world, in a word. It is empty if the effect is unknown.
    effect: str


class ModelCalls(TypedDict):
    """The calls of models."""
    #: The number of answered calls.
    calls: int
    #: The number of tokens that models read.
    input_tokens: int
    #: The number of tokens that models wrote.
    output_tokens: int
    #: The total time of the calls, in milliseconds.
    ms: int
    #: The total cost of the calls, in millionths of a dollar.
    usd_micros: int
    #: The number of these tokens that no server reported.
    estimated_tokens: int


class ModelChoiceUsual(TypedDict):
    """The model that is used if none is named."""
    model: Literal['usual']


_ModelChoiceNamedFields = TypedDict('_ModelChoiceNamedFields', {
    'model': "Literal['named']",
    'is': 'str',
})


class ModelChoiceNamed(_ModelChoiceNamedFields):
    """A model by a name that a person writes on a web page. The daemon resolves the name."""


_ModelChoiceReferenceFields = TypedDict('_ModelChoiceReferenceFields', {
    'model': "Literal['reference']",
    'is': 'str',
})


class ModelChoiceReference(_ModelChoiceReferenceFields):
    """A model by its full reference, which the client has resolved."""


#: The model that a run asks.
ModelChoice = Union["ModelChoiceUsual", "ModelChoiceNamed", "ModelChoiceReference"]


class _ModelListRequired(TypedDict):
    #: The models that can be used. The default model comes first.
    can_ask: List[KnownModel]
    #: The local models that Almoner can fetch.
    local: List[LocalModel]
    #: The vendors, each with the variables for its key.
    vendors: List[VendorKey]
    #: The names that the user chose, each with its model.
    names: Dict[str, str]
    #: The models that may read private documents.
    private: List[str]
    #: The model that is used if none is named.
    used: str
    #: The same model, with the reason for the choice.
    used_because: str
    #: The directory of the weights.
    dir: str
    #: The date of the built-in prices.
    prices_dated: str
    #: The models that have a built-in price.
    priced: List[str]
    #: The reason why the user's settings cannot be read.
    settings_failure: Optional[Failure]


class ModelList(_ModelListRequired, total=False):
    """The list that `almoner models` shows."""
    #: The line about the models that the machine's administrator allows, if they are restricted.
    managed: Optional[str]


class ModelStats(TypedDict):
    """The calls of one model."""
    #: The model, by the name under which it was called.
    model: str
    #: The number of answered calls.
    calls: int
    #: The number of tokens that models read.
    input_tokens: int
    #: The number of tokens that models wrote.
    output_tokens: int
    #: The total time of the calls, in milliseconds.
    ms: int
    #: The total cost of the calls, in millionths of a dollar.
    usd_micros: int
    #: The number of these tokens that no server reported.
    estimated_tokens: int


#: The form in which a program was handed over.
ModuleFormat = Literal['archive', 'bundle', 'tree']


class _ModulesRequired(TypedDict):
    #: The form in which the program was handed over.
    packed: ModuleFormat
    #: The hash of the bytes of the unpacked modules. The bytes are the same each time the program is begun.
    hash: BlobHash
    #: The number of bytes.
    bytes: int
    #: The name of the module whose `make` is called, as a person is shown it.
    entry: Untrusted


class Modules(_ModulesRequired, total=False):
    """A program of modules, whose `make` is called with powers, a context and variables."""
    #: The variables that the program is given.
    env: Dict[str, str]


class _ModulesParamRequired(TypedDict):
    #: The form in which the program was handed over.
    packed: ModuleFormat
    #: The hash of the bytes of the unpacked modules. The bytes are the same each time the program is begun.
    hash: BlobHash
    #: The number of bytes.
    bytes: int
    #: The name of the module whose `make` is called, as a person is shown it.
    entry: Untrusted


class ModulesParam(_ModulesParamRequired, total=False):
    """A program of modules, whose `make` is called with powers, a context and variables."""
    #: The variables that the program is given.
    env: Dict[str, str]


class NameActStoreValue(TypedDict):
    """Keeps a value under a name."""
    name: Literal['store_value']
    #: The value. The actor must hold the references in it.
    value: ValueParam
    #: The name.
    path: NamePath


class NameActStoreBlob(TypedDict):
    """Keeps bytes, which lie beside the store already, under a name."""
    name: Literal['store_blob']
    #: The hash of the bytes.
    hash: BlobHash
    #: The number of bytes.
    bytes: int
    #: The name.
    path: NamePath


class NameActStoreIdentifier(TypedDict):
    """Gives a name to a formula that the actor holds."""
    name: Literal['store_identifier']
    #: The formula.
    id: FormulaId
    #: The name.
    path: NamePath


class NameActRemove(TypedDict):
    """Takes a name away. The formula behind it stays as long as something else refers to it."""
    name: Literal['remove']
    #: The name.
    path: NamePath


_NameActMoveFields = TypedDict('_NameActMoveFields', {
    'name': "Literal['move']",
    'from': 'NamePath',
    'to': 'NamePath',
})


class NameActMove(_NameActMoveFields):
    """Moves the formula behind one name to another name."""


_NameActCopyFields = TypedDict('_NameActCopyFields', {
    'name': "Literal['copy']",
    'from': 'NamePath',
    'to': 'NamePath',
})


class NameActCopy(_NameActCopyFields):
    """Gives the formula behind one name a second name."""


class NameActMakeDirectory(TypedDict):
    """Makes an empty directory."""
    name: Literal['make_directory']
    #: The name of the directory.
    path: NamePath


class NameActProvide(TypedDict):
    """Finds the object that was made under the name, or makes it."""
    name: Literal['provide']
    #: The object to find or make.
    thing: ProvidedObject
    #: The name.
    path: NamePath


_NameActIfUnchangedFields = TypedDict('_NameActIfUnchangedFields', {
    'name': "Literal['if_unchanged']",
    'path': 'NamePath',
    'is': 'FormulaId',
    'act': 'NameAct',
})


class NameActIfUnchanged(_NameActIfUnchangedFields):
    """Performs an act, if a name still stands for the formula that the actor has seen. This must be the
    outermost act.
    """


class NameActForced(TypedDict):
    """Performs an act, even if a new name looks like another one in its directory. This act must be outside of
    [`NameAct::Within`].
    """
    name: Literal['forced']
    #: The act to perform.
    act: NameAct


class NameActWithin(TypedDict):
    """Performs an act whose paths all begin in a directory that the actor holds. The directory may have any
    name, or none.
    """
    name: Literal['within']
    #: The directory.
    base: FormulaId
    #: The act to perform in the directory.
    act: NameAct


#: An act on names. Every path begins in the actor's own directory, or in a directory that the actor holds.
NameAct = Union["NameActStoreValue", "NameActStoreBlob", "NameActStoreIdentifier", "NameActRemove", "NameActMove", "NameActCopy", "NameActMakeDirectory", "NameActProvide", "NameActIfUnchanged", "NameActForced", "NameActWithin"]


class NamePage(TypedDict):
    """A page of the names in a directory."""
    #: The names.
    rows: List[NameRow]
    #: The special names that every agent has, which begin with `@`. They are only on the first page.
    special: List[NameRow]
    #: The number of all matching names, without the special names.
    all: int


#: One or more names, each looked up in the target of the one before it.
NamePath = List[str]


class NameRow(TypedDict):
    """A name in a directory."""
    #: The name.
    name: str
    #: The type of the name's object.
    kind: str
    #: The description of the name's object.
    words: Untrusted
    #: The formula of the name's object, if the object is one.
    id: Optional[FormulaId]


class Narrowable(TypedDict):
    """An object with its possible restrictions, and the result of applying some of them."""
    #: The formula of the object.
    id: FormulaId
    #: The description of the object.
    words: Untrusted
    #: The present methods of the object.
    methods: List[Method]
    #: Whether the object may have methods that only its maker knows. The user must then name the methods that
    #: stay.
    any_method: bool
    #: The limits that objects of this kind can have.
    limits: List[Limit]
    #: The description of the result in one sentence, if the query contains restrictions.
    left: Optional[Untrusted]


class Narrowing(TypedDict, total=False):
    """The restrictions of an object, as a user writes them. An empty text is no restriction."""
    #: The methods that stay. With `None`, all present methods stay.
    methods: Optional[List[str]]
    #: The permitted suffixes of file names, such as `.pdf .md`.
    suffixes: str
    #: The maximum size of a file, a message or an answer, such as `10MiB`.
    max: str
    #: The maximum total size of a directory's content, such as `1GiB`.
    total: str
    #: The maximum rate of calls, such as `10/min`.
    rate: str
    #: The time for which the narrower object can be used, such as `30m`, `8h` or `7d`.
    lasts: str
    #: Whether the data that is read through the object is private.
    private: bool


class _NodeRequired(TypedDict):
    #: The formula.
    id: FormulaId
    #: The type of the formula.
    kind: str
    #: The agent's own name for the formula, if it has one.
    name: Optional[str]
    #: The description of the formula.
    words: Untrusted
    #: The number of the run, if the formula is one.
    run: Optional[RunNumber]
    #: Whether the formula is a secret.
    is_secret: bool
    #: Whether text that is sent to the formula reaches somebody outside this machine.
    is_outlet: bool


class Node(_NodeRequired, total=False):
    """A formula in a graph."""
    #: The number of formulas that this node stands for. They are not drawn, and the formula of this node leads
    #: to them.
    more: int


#: The number of a formula without its node.
Number = str


class ObjectView(TypedDict):
    """The object of a name."""
    #: The formula of the object, if the object is one.
    id: Optional[FormulaId]
    #: The type of the object.
    kind: str
    #: The description of the object.
    words: Untrusted
    #: The value, if the object is one, or the value of a fulfilled promise.
    value: Optional[Value]
    #: The bytes as text, if the object is bytes.
    text: Optional[Untrusted]
    #: The state of the promise, if the object is one.
    promise: Optional[PromiseState]


#: The order of a list of messages.
Order = Literal['oldest_first', 'newest_first']


#: A server: scheme, host and port, such as `https://api.example.com:8443`.
Origin = str


class OutcomeSubjectSend(TypedDict):
    """A send of the code, by its number."""
    send: int


class OutcomeSubjectPromise(TypedDict):
    """A promise that the code was given, by the heap's number for it."""
    promise: int


#: The subject of an outcome that a heap hears.
OutcomeSubject = Union["OutcomeSubjectSend", "OutcomeSubjectPromise"]


class OutcomeValueValue(TypedDict):
    """Data."""
    to: Literal['value']
    #: The data.
    value: Value


class OutcomeValueDescription(TypedDict):
    """A value that is not kept here."""
    to: Literal['description']
    #: A description of the value, in words.
    words: str


class OutcomeValueMessage(TypedDict):
    """A message was sent."""
    to: Literal['message']
    #: The number of the message.
    number: MessageNumber


class OutcomeValueGrant(TypedDict):
    """A grant was made."""
    to: Literal['grant']
    #: The number of the grant.
    number: GrantNumber


class OutcomeValueDismissed(TypedDict):
    """Messages were dismissed."""
    to: Literal['dismissed']
    #: The number of dismissed messages.
    count: int


#: The value of a command's outcome.
OutcomeValue = Union["OutcomeValueValue", "OutcomeValueDescription", "OutcomeValueMessage", "OutcomeValueGrant", "OutcomeValueDismissed"]


class PageBounds(TypedDict, total=False):
    """The bounds of one page of a list."""
    #: The last message before the page, in the order of the list. The first page has none.
    after: Optional[MessageNumber]
    #: The maximum number of messages on the page. In a list of threads, open messages are counted separately.
    limit: int


_ParentCallFields = TypedDict('_ParentCallFields', {
    'run': 'RunNumber',
    'for': "Literal['call']",
    'proposal': 'int',
})


class ParentCall(_ParentCallFields):
    """The parent called a worker."""


_ParentItemFields = TypedDict('_ParentItemFields', {
    'run': 'RunNumber',
    'for': "Literal['item']",
    'index': 'int',
})


class ParentItem(_ParentItemFields):
    """The child is one item of the parent's input."""


#: The run that waits for another run.
Parent = Union["ParentCall", "ParentItem"]


#: The kind of a part that was looked up in a directory or a tree of files.
Part = Literal['directory', 'file', 'tree', 'blob']


class PartParam(TypedDict):
    """The parts of one file's diff that are to be applied."""
    #: The file's absolute path.
    path: str
    #: The parts, counted from 1 as the diff shows them.
    hunks: List[int]
    #: The digest of the file's diff as it was shown. With it, a number never refers to another part than the
    #: user saw.
    shown: BlobHash


class Pass(TypedDict):
    """A one-use token for the gateway. It is shown once and not stored."""
    #: The address to which clients connect.
    url: str
    #: The token.
    token: str
    #: The time for which the token can be used, in seconds.
    seconds: int


class PhaseAwaitingApproval(TypedDict):
    """A person is asked."""
    phase: Literal['awaiting_approval']
    #: The message that asks.
    message: MessageNumber


class PhaseApproved(TypedDict):
    """A person has approved the call, and its permission is recorded."""
    phase: Literal['approved']


class PhaseExecuting(TypedDict):
    """The effect may be happening."""
    phase: Literal['executing']
    #: The outbox row of the effect.
    outbox: int


class PhaseQuestioned(TypedDict):
    """The host is asked by a message. The answer completes the call."""
    phase: Literal['questioned']
    #: The message that asks.
    message: MessageNumber
    #: The promise that settles with the answer.
    promise: FormulaId


class PhaseSleeping(TypedDict):
    """The call ends at a given time."""
    phase: Literal['sleeping']
    #: The time, in milliseconds since 1970.
    until_ms: int


class PhasePaused(TypedDict):
    """The step asked a model, whose server takes no request before a given time."""
    phase: Literal['paused']
    #: The time, in milliseconds since 1970.
    until_ms: int


class PhaseCalled(TypedDict):
    """The effect is a run of its own."""
    phase: Literal['called']
    #: The child run.
    child: RunNumber


#: The progress of an open proposal.
Phase = Union["PhaseAwaitingApproval", "PhaseApproved", "PhaseExecuting", "PhaseQuestioned", "PhaseSleeping", "PhasePaused", "PhaseCalled"]


class _PickRowRequired(TypedDict):
    #: The name, with `/` between directories.
    path: str
    #: The formula of the object.
    id: FormulaId
    #: The type of the object.
    kind: str
    #: The description of the object.
    words: Untrusted
    #: The methods that can be called through all grants on the path to the object.
    methods: List[Method]
    #: Whether the object may have other methods, which only its maker knows.
    others: bool
    #: Whether the object is a promise that is not settled yet.
    pending: bool
    #: Whether the object is data.
    data: bool
    #: The labels of slots and patterns that the object fits.
    labels: List[str]


class PickRow(_PickRowRequired, total=False):
    """An object of an agent that can be picked as a capability, by one of the agent's names."""
    #: The interface name of the object, recorded by the daemon when the object was made. `None` if the interface
    #: is unknown. Foreign text.
    interface: Optional[str]


class Pin(TypedDict):
    """An object outside the store that a proposal depends on, as it was when the proposal was judged. The pin is
    checked again at the moment of effect.
    """
    #: The kind of the object, such as `file`.
    kind: str
    #: The name of the object inside the capability.
    name: str
    #: The digest of the object's bytes. `None` if the object did not exist.
    digest: Optional[BlobHash]


class _PinnedToolRequired(TypedDict):
    #: The server's name for the tool.
    name: str
    #: The name of the tool's method. It is the tool's name, with `_` for characters that models cannot write.
    method: str
    #: The effect of a call, according to the user. The server's own hints do not count.
    effect: Effect
    #: The server's description of the tool.
    description: Untrusted
    #: The schema of the tool's arguments, as canonical JSON.
    schema: Untrusted
    #: The digest of the server's whole definition of the tool.
    digest: BlobHash


class PinnedTool(_PinnedToolRequired, total=False):
    """A tool, with the server's description at the time when the user named the tool."""
    #: Whether others than the server learn the arguments of a call that only reads. The user has said so, or the
    #: server itself says that the tool reaches others.
    tells: bool


class _PinnedToolParamRequired(TypedDict):
    #: The server's name for the tool.
    name: str
    #: The name of the tool's method. It is the tool's name, with `_` for characters that models cannot write.
    method: str
    #: The effect of a call, according to the user. The server's own hints do not count.
    effect: Effect
    #: The server's description of the tool.
    description: Untrusted
    #: The schema of the tool's arguments, as canonical JSON.
    schema: Untrusted
    #: The digest of the server's whole definition of the tool.
    digest: BlobHash


class PinnedToolParam(_PinnedToolParamRequired, total=False):
    """A tool, with the server's description at the time when the user named the tool."""
    #: Whether others than the server learn the arguments of a call that only reads. The user has said so, or the
    #: server itself says that the tool reaches others.
    tells: bool


class Place(TypedDict):
    """A server, and the part of it under a path."""
    #: The server.
    origin: Origin
    #: The path above everything in the place. `/` means the whole server.
    path: str


class PlaceParam(TypedDict):
    """A server, and the part of it under a path."""
    #: The server.
    origin: Origin
    #: The path above everything in the place. `/` means the whole server.
    path: str


_PlanFields = TypedDict('_PlanFields', {
    'worker': 'str',
    'digest': 'str',
    'model': 'str',
    'slots': 'List[str]',
    'tools': 'List[str]',
    'documents': 'List[str]',
    'prompt': 'Untrusted',
    'from': 'List[str]',
    'grants': 'List[PlannedSlot]',
    'reads': 'List[PlannedDocument]',
    'inputs': 'Value',
    'tells': 'bool',
    'notes': 'List[str]',
    'seal': 'BlobHash',
})


class Plan(_PlanFields):
    """The plan of a run."""


class PlannedDocument(TypedDict):
    """A document that would be read."""
    #: The path of the document, or its name if it is no local file.
    path: Untrusted
    #: The size of the document, in bytes.
    bytes: int
    #: The hash of these bytes.
    hash: BlobHash


class PlannedMethod(TypedDict):
    """A method that would be granted to a model."""
    #: The name of the method.
    name: str
    #: The effect of the method on the world, if it has a known one.
    effect: Optional[Effect]
    #: Whether the user has said not to be asked about the method.
    allowed: bool
    #: Whether the worker file requires that the user is asked about the method.
    asked: bool


class _PlannedSlotRequired(TypedDict):
    #: The name of the slot, after the names of the slots of workers that contain it.
    slot: str
    #: The kind of slot, as in worker files.
    kind: str
    #: The description of the content. Local paths in it have all links followed.
    what: Untrusted
    #: The methods of the content that may be called.
    methods: List[PlannedMethod]
    #: The restrictions of the content, as text.
    limits: List[str]


class PlannedSlot(_PlannedSlotRequired, total=False):
    """The planned content of a slot."""
    #: The user's name for the content, if the content was chosen by it.
    named: Optional[NamePath]
    #: Whether the content is a directory that does not exist yet and would be created.
    is_new: bool


class _PolicyFileRequired(TypedDict):
    #: The path of the policy file, whether or not the file exists.
    path: str
    #: The hash of the file that is in force, if there is one.
    digest: Optional[BlobHash]
    #: The policies, in the order of the file.
    policies: List[PolicyRow]
    #: The number of examples that had the expected result.
    examples: int
    #: The warnings.
    warnings: List[Untrusted]
    #: The faults of the present file. If there are any, the previous policies stay in force.
    problems: List[Untrusted]
    #: Whether calls are judged at all. They are not while the first file is invalid.
    ready: bool
    #: The slots of unfinished runs that policies about files do not bind: programs and tool servers that work in
    #: directories.
    unbound: List[Untrusted]


class PolicyFile(_PolicyFileRequired, total=False):
    """The operator's policies that are in force."""
    #: The policies of the machine's administrator, if there are any. They bind every home of the machine.
    managed: Optional[ManagedPolicies]


class PolicyRow(TypedDict):
    """One policy."""
    #: The name of the policy.
    name: str
    #: The line on which the policy begins, counted from 1.
    line: int
    #: Whether the policy forbids calls. Otherwise it asks about calls, or permits them.
    forbids: bool
    #: Whether the policy has a person asked about calls.
    asks: bool
    #: Whether no other policy may ever permit the calls that this policy forbids.
    invariant: bool
    #: Whether the policy forbids calls by the files that they name.
    is_of_files: bool
    #: The reason for the policy.
    reason: Optional[Untrusted]


class _PowersRequired(TypedDict):
    #: The reader's name for the object, and its description.
    called: FormulaSummary


class Powers(_PowersRequired, total=False):
    """An object and its powers, shown to the user before the object is handed on."""
    #: The name of the interface of an object of code, recorded by the daemon when the object was made. Foreign
    #: text.
    interface: Optional[str]
    #: The methods that can be called through all grants on the path to the object.
    methods: List[Method]
    #: Whether the object may have other methods, which only its maker knows.
    others: bool
    #: The limits of the object, as text.
    limits: List[str]
    #: The reason why the object cannot be used any more, if so.
    ended: Optional[Untrusted]


class ProblemVersion(TypedDict):
    """The daemon does not serve the version of the client. The client may send another hello."""
    problem: Literal['version']
    #: The version of the client.
    version: int
    #: The versions that the daemon serves, newest first.
    served: List[int]


class ProblemTooLong(TypedDict):
    """The frame is longer than the limit. The daemon skips its bytes."""
    problem: Literal['too_long']
    #: The length of the frame.
    bytes: int
    #: The limit.
    max_bytes: int


class ProblemNotUtf8(TypedDict):
    """The bytes of the frame are not UTF-8."""
    problem: Literal['not_utf8']
    #: The number of bytes before the first wrong one.
    at: int


class ProblemNotJson(TypedDict):
    """The text of the frame is not JSON."""
    problem: Literal['not_json']
    #: The line of the fault, from 1.
    line: int
    #: The column of the fault, in bytes from 1.
    column: int


class ProblemTooDeep(TypedDict):
    """The JSON is nested too deeply."""
    problem: Literal['too_deep']


class ProblemUnknownRequest(TypedDict):
    """The daemon knows no request of this name."""
    problem: Literal['unknown_request']
    #: The name.
    request: Untrusted


class ProblemUnknownField(TypedDict):
    """The daemon does not know a field of the request."""
    problem: Literal['unknown_field']
    #: The path of the field, as `spec.documents[0].pathh`.
    field: Untrusted


class ProblemMissingField(TypedDict):
    """A field is missing."""
    problem: Literal['missing_field']
    #: The name of the field.
    field: Untrusted


class ProblemWrongField(TypedDict):
    """A field has a value of another type or form, or occurs twice."""
    problem: Literal['wrong_field']


#: The reason why the daemon cannot read a frame. The connection stays open.
Problem = Union["ProblemVersion", "ProblemTooLong", "ProblemNotUtf8", "ProblemNotJson", "ProblemTooDeep", "ProblemUnknownRequest", "ProblemUnknownField", "ProblemMissingField", "ProblemWrongField"]


class Program(TypedDict):
    """A worker definition with everything that belongs to it."""
    #: The worker's name.
    name: str
    #: The hash of the worker's definition.
    definition: BlobHash
    #: The files that the definition includes, by name.
    includes: Dict[str, BlobHash]
    #: The limits of one run of the worker.
    limits: Limits


class _ProgramDirectoryRequired(TypedDict):
    #: The absolute path of the directory.
    path: str
    #: Whether the programs may change the directory's content.
    write: bool


class ProgramDirectory(_ProgramDirectoryRequired, total=False):
    """A directory that programs reach."""
    #: The slot whose staged copy the directory is, if it is one.
    staged_slot: Optional[str]


class _ProgramDirectoryParamRequired(TypedDict):
    #: The absolute path of the directory.
    path: str
    #: Whether the programs may change the directory's content.
    write: bool


class ProgramDirectoryParam(_ProgramDirectoryParamRequired, total=False):
    """A directory that programs reach."""
    #: The slot whose staged copy the directory is, if it is one.
    staged_slot: Optional[str]


class _ProgramParamRequired(TypedDict):
    #: The worker's name.
    name: str
    #: The hash of the worker's definition.
    definition: BlobHash
    #: The limits of one run of the worker.
    limits: LimitsParam


class ProgramParam(_ProgramParamRequired, total=False):
    """A worker definition with everything that belongs to it."""
    #: The files that the definition includes, by name.
    includes: Dict[str, BlobHash]


class _ProgramProposalRequired(TypedDict):
    #: The hash of exactly the parts that are shown and would run: the text, the included files and the slots.
    digest: str
    #: The text of the program.
    source: Untrusted
    #: The name of the worker, if the program is one.
    worker: Optional[str]
    #: The files that the worker includes.
    includes: Dict[str, Untrusted]
    #: The program's own description, if it has one.
    description: Optional[Untrusted]
    #: The pattern of the worker's inputs, as a value.
    input: Optional[Value]
    #: The number of documents that the worker takes.
    documents: int
    #: The model that the worker asks for.
    model: Optional[Untrusted]
    #: The slots of the program.
    slots: List[ProposedSlot]
    #: The names that code uses without declaring them, and that its environment provides to all code.
    free: List[str]
    #: The names that code uses without declaring them, and that its environment does not provide. Using one of
    #: them fails.
    absent: List[str]
    #: Other declarations of the program, in sentences.
    notes: List[Untrusted]
    #: The difference from the definition of the run that proposes the program, if both are worker files.
    difference: Optional[Untrusted]


class ProgramProposal(_ProgramProposalRequired, total=False):
    """A program that a message proposes, as a user examines it before endowing it."""
    #: The line, the column and the reason why the text of code cannot be parsed, if so. Such code would fail.
    syntax_error: Optional[Untrusted]


class PromiseStatePending(TypedDict):
    """The promise is not settled yet."""
    promise: Literal['pending']


class PromiseStateFulfilled(TypedDict):
    """The promise has a value."""
    promise: Literal['fulfilled']
    #: The value.
    value: Value


class PromiseStateRejected(TypedDict):
    """The promise was broken, and will never have a value."""
    promise: Literal['rejected']
    #: The reason.
    reason: Untrusted


#: The state of a promise.
PromiseState = Union["PromiseStatePending", "PromiseStateFulfilled", "PromiseStateRejected"]


class _ProposalRequired(TypedDict):
    #: The agent for whom the run acts.
    principal: FormulaId
    #: The run that proposes the call.
    run: RunNumber
    #: The grant through which the call goes.
    grant: FormulaId
    #: The slot under which the worker knows the grant. The slot is for people: the grant decides.
    slot: str
    #: The method.
    method: str
    #: The arguments, checked against the method's guard.
    args: List[Value]
    #: The effect of the method on the world.
    effect: Effect
    #: The author of the arguments.
    caller: Caller
    #: The objects outside the store that the call depends on.
    pins: List[Pin]
    #: The provenance of everything on which the arguments may depend.
    provenance: Provenance
    #: The places in documents and results where the run has read words of single arguments. Words that the user
    #: gave have no trace.
    traces: List[Trace]


class Proposal(_ProposalRequired, total=False):
    """One method call through one grant, with canonical arguments."""
    #: The giver of each argument, in the order of the parameters. Empty if the arguments were not traced.
    givers: List[ArgumentGiver]
    #: The absolute path of the directory in which the call's paths begin. Set if an agent or code makes the call
    #: without a run. It is kept because the target of the grant may be gone when a user asks about a file.
    place: Optional[str]


class ProposedSlot(TypedDict):
    """A slot of a program that is proposed."""
    #: The name of the slot.
    name: str
    #: The proposer's description of the slot. Foreign text.
    words: Untrusted
    #: The label of the slot's pattern, if the slot takes a capability: `dir`, `http`, or any other word.
    label: Optional[str]
    #: Whether the slot can take data.
    data: bool
    #: The permitted contents, in one line. Foreign text.
    wants: Untrusted
    #: Whether a pending promise may fill the slot, with any later value.
    pending: bool
    #: The user's named objects that may fill the slot.
    fits: List[List[Union[FormulaId, Fit]]]
    #: The methods of the slot that the program calls, or can call, each with its effect on the world.
    uses: List[str]
    #: The receivers of the slot's content. For code, they are slots and methods, as `slot.method`. For a worker,
    #: they are the recipients to which its model may give the content.
    given: List[str]
    #: The coverage of the analysis of the slot's use.
    coverage: AnalysisCoverage


#: The present protection of the key.
Protection = Literal['keyring', 'passphrase', 'file', 'key_missing']


class Provenance(TypedDict):
    """The origins of a value, and its permitted readers."""
    #: All sources on which the value may depend.
    sources: List[Source]
    #: The permitted readers of the value.
    readers: Readers


class _ProvenanceParamRequired(TypedDict):
    #: All sources on which the value may depend.
    sources: List[SourceParam]


class ProvenanceParam(_ProvenanceParamRequired, total=False):
    """The origins of a value, and its permitted readers."""
    #: The permitted readers of the value.
    readers: Readers


class _ProvideAgentRequired(TypedDict):
    #: The kind of the agent, which says whether the agent may endow.
    kind: AgentKind
    #: Pairs of names: the actor's name for a thing, and the new agent's name for it. The new agent gets a grant
    #: of the thing.
    introduced: List[List[str]]


class ProvideAgent(_ProvideAgentRequired, total=False):
    """The command that makes an agent, or finds the agent that was made under the same name."""
    #: The name for the handle of the agent.
    name: Optional[NamePath]
    #: The name for the agent itself. An agent that reaches this name has the powers of the new agent.
    agent_name: Optional[NamePath]


class ProvidedObjectMount(TypedDict):
    """A directory of this machine. Only a host makes one."""
    object: Literal['mount']
    #: The absolute path of the directory.
    path: str
    #: Whether the directory is read-only.
    read_only: bool


class ProvidedObjectScratch(TypedDict):
    """A directory that the daemon keeps itself. Only a host makes one."""
    object: Literal['scratch']
    #: Whether the directory is read-only.
    read_only: bool


class ProvidedObjectTree(TypedDict):
    """Files and directories that never change; their bytes lie beside the store already."""
    object: Literal['tree']
    #: The hash of the bytes that list the content of the tree.
    hash: BlobHash
    #: The identifier that Endo's clients use. It is the SHA-256, as hexadecimal digits, of such a list in their
    #: form.
    sha256: str


class ProvidedObjectVat(TypedDict):
    """A place for code to run. Only a host makes one."""
    object: Literal['vat']


#: An object that is found under a name, or made.
ProvidedObject = Union["ProvidedObjectMount", "ProvidedObjectScratch", "ProvidedObjectTree", "ProvidedObjectVat"]


class QuestionCount(TypedDict, total=False):
    """The questions of a run and of all runs below it. The run that the user started counts for its family, and
    each item of a batch counts for its own.
    """
    #: The calls about which the user was asked, since the user last allowed more of them.
    cards: int
    #: The refusals, with one entry for each capability, since the user last let the family go on.
    refusals: List[RefusalCount]
    #: The open question whether the family may go on.
    open: Optional[FamilyQuestion]


class Raise(TypedDict, total=False):
    """The amounts by which a user raises a run's limits. The usage so far still counts."""
    #: The number of further times that the model may be asked.
    turns: int
    #: The number of further calls that the run may make.
    calls: int
    #: The additional depth to which workers may call workers.
    depth: int
    #: The number of further tokens that may be read and written.
    tokens: int
    #: The additional money that may be spent, in millionths of a dollar.
    usd_micros: int
    #: The additional time that the run may be at work, in milliseconds.
    wall_ms: int
    #: The number of further refusals of one kind until the run asks again whether it shall go on.
    refusals: int
    #: The number of further messages with which the run may ask about calls.
    cards: int
    #: The number of further bytes that are kept.
    kept: int


class RaiseParam(TypedDict, total=False):
    """The amounts by which a user raises a run's limits. The usage so far still counts."""
    #: The number of further times that the model may be asked.
    turns: int
    #: The number of further calls that the run may make.
    calls: int
    #: The additional depth to which workers may call workers.
    depth: int
    #: The number of further tokens that may be read and written.
    tokens: int
    #: The additional money that may be spent, in millionths of a dollar.
    usd_micros: int
    #: The additional time that the run may be at work, in milliseconds.
    wall_ms: int
    #: The number of further refusals of one kind until the run asks again whether it shall go on.
    refusals: int
    #: The number of further messages with which the run may ask about calls.
    cards: int
    #: The number of further bytes that are kept.
    kept: int


class Rate(TypedDict):
    """A maximum number of calls in a period."""
    #: The number of calls, from 1 to [`Rate::MAX_ITEMS`].
    calls: int
    #: The length of the period in milliseconds. The limit holds for any period of this length.
    per_ms: int


class RateParam(TypedDict):
    """A maximum number of calls in a period."""
    #: The number of calls, from 1 to [`Rate::MAX_ITEMS`].
    calls: int
    #: The length of the period in milliseconds. The limit holds for any period of this length.
    per_ms: int


class ReadersOnly(TypedDict):
    """Only the readers with these names."""
    only: List[str]


#: The permitted readers of a value.
Readers = Union[Literal['anyone'], "ReadersOnly"]


class _ReasonRequired(TypedDict):
    #: The subject: a file, a step, a message, a grant, a command.
    what: str
    #: The statement about the subject.
    says: Untrusted


class Reason(_ReasonRequired, total=False):
    """One link of a chain."""
    #: The quoted parts of the statement. `None` means that they are unknown, so that all of it may be quoted.
    quoted: Optional[List[List[int]]]


class Record(TypedDict):
    """One entry of the journal of endowed code."""
    #: The number of the entry, from 0.
    number: int
    #: The time of the entry, in milliseconds since 1970.
    at_ms: int
    #: The entry.
    entry: CodeEntry


class Recorder(TypedDict):
    """A user of the operating system on a machine. The daemon of this user records events."""
    #: The name of the user, or the number if the user has no name.
    user: Untrusted
    #: The name of the machine.
    host: Untrusted


class Reference(TypedDict):
    """A reference between formulas."""
    #: The role of the reference in the formula that contains it.
    label: str
    #: The formula at the other end.
    other: FormulaSummary


class RefusalAnswer(TypedDict):
    """An answer of the user to this message."""
    by: Literal['answer']
    #: The message.
    message: MessageNumber


class RefusalTurn(TypedDict):
    """A turn in which a model made a refused call again, so the user was not asked."""
    by: Literal['turn']
    #: The run.
    run: RunNumber
    #: The step with the model's reply.
    replied: int


#: The event with which calls were refused.
Refusal = Union["RefusalAnswer", "RefusalTurn"]


class RefusalCount(TypedDict):
    """The refusals of calls of one capability."""
    #: The capability at the end of all grants. Workers may have it under different names.
    capability: FormulaId
    #: The name of the slot of the last call.
    slot: str
    #: The refusals of each method.
    methods: Dict[str, RefusalTally]
    #: The refusals of all methods. A run that changes between methods repeats none of them often.
    all: RefusalTally


class RefusalTally(TypedDict):
    """A number of refusals. Calls that are refused together count once."""
    #: The number of refusals.
    times: int
    #: The last refusal.
    last: Optional[Refusal]


class _RejectionRequired(TypedDict):
    #: The reason.
    trouble: Trouble
    #: Whether the document itself was read and is kept.
    is_read: bool


class Rejection(_RejectionRequired, total=False):
    """The failure of an item before any model is asked. The other items of the run are not affected."""
    #: The path of a document that could not be read. A retry reads this file.
    path: Optional[str]
    #: The directory below which the document was found, if the user named only that.
    within: Optional[str]


class _RejectionParamRequired(TypedDict):
    #: The reason.
    trouble: TroubleParam
    #: Whether the document itself was read and is kept.
    is_read: bool


class RejectionParam(_RejectionParamRequired, total=False):
    """The failure of an item before any model is asked. The other items of the run are not affected."""
    #: The path of a document that could not be read. A retry reads this file.
    path: Optional[str]
    #: The directory below which the document was found, if the user named only that.
    within: Optional[str]


class Repairs(TypedDict):
    """The repairs by models after the refusal of a call. They are counted in turns of the model."""
    #: The number of turns in which a call was refused or rejected.
    turns: int
    #: The number of these turns after which the model repaired all refused calls.
    repaired: int
    #: The number of these turns that are not decided yet.
    open: int


class ReplyDone(TypedDict):
    """The command was carried out."""
    reply: Literal['done']


class ReplyStarted(TypedDict):
    """A run was started."""
    reply: Literal['started']
    #: The number of the run.
    run: RunNumber


class ReplyAlreadyStarted(TypedDict):
    """An earlier request with the same key had started the run. Nothing changed."""
    reply: Literal['already_started']
    #: The number of the run.
    run: RunNumber


class ReplyAgentJournal(TypedDict):
    """The journal of an agent's acts outside of runs was found, or made."""
    reply: Literal['agent_journal']
    #: The host and the number of the journal.
    at: HostRun


class ReplyProposed(TypedDict):
    """A call was proposed in the journal of an agent."""
    reply: Literal['proposed']
    #: The step that proposes the call.
    at: StepRef


class ReplyAlreadyProposed(TypedDict):
    """The same send of the same code had proposed its call before. Nothing changed."""
    reply: Literal['already_proposed']
    #: The step that proposed the call.
    at: StepRef


class ReplyAnswered(TypedDict):
    """An approval was answered."""
    reply: Literal['answered']
    #: The run that waited for the answer.
    run: RunNumber
    #: The entries that were answered by this command.
    entries: List[int]
    #: Whether entries are still open.
    needs_you: bool


class ReplyAlreadyAnswered(TypedDict):
    """All entries of the answer had been answered before. Nothing changed."""
    reply: Literal['already_answered']
    #: The run that waited for the answer.
    run: RunNumber


class ReplyAnsweredAll(TypedDict):
    """Several approvals were answered."""
    reply: Literal['answered_all']
    #: The approvals that this command answered.
    messages: List[MessageNumber]
    #: The approvals that had been answered before.
    already: List[MessageNumber]


class ReplyNotStalled(TypedDict):
    """No run was stalled, so nothing changed."""
    reply: Literal['not_stalled']


class ReplyNotSuspended(TypedDict):
    """The journal has grown since the decision to suspend. Nothing changed."""
    reply: Literal['not_suspended']


class ReplyMade(TypedDict):
    """A formula was made, or found."""
    reply: Literal['made']
    #: The formula.
    id: FormulaId


class ReplyAgent(TypedDict):
    """An agent was made, or found."""
    reply: Literal['agent']
    #: The agent.
    agent: FormulaId
    #: The handle of the agent.
    handle: FormulaId


class ReplyRequestSent(TypedDict):
    """A message that asks for something was sent."""
    reply: Literal['request_sent']
    #: The promise that settles with the answer.
    promise: FormulaId
    #: The number of the message in the actor's mailbox. `None` if the call attached to an earlier one.
    number: Optional[MessageNumber]


class ReplySent(TypedDict):
    """A message was sent."""
    reply: Literal['sent']
    #: The number of the message in the actor's mailbox.
    number: MessageNumber


class ReplyCodeQueued(TypedDict):
    """Endowed code is queued until a vat has run it to its end."""
    reply: Literal['code_queued']
    #: The code.
    eval: FormulaId
    #: The promise for the result of the code.
    promise: FormulaId


class ReplyGranted(TypedDict):
    """A grant was made."""
    reply: Literal['granted']
    #: The number of the grant.
    number: GrantNumber


class ReplyAlreadySettled(TypedDict):
    """The matter was settled before. Nothing changed."""
    reply: Literal['already_settled']


class ReplyDismissed(TypedDict):
    """Messages were dismissed."""
    reply: Literal['dismissed']
    #: The number of dismissed messages.
    count: int


class ReplyCollected(TypedDict):
    """Formulas were collected."""
    reply: Literal['collected']
    #: The number of collected formulas.
    count: int
    #: Whether nothing is left to look at.
    done: bool


class ReplyTicked(TypedDict):
    """Agents were told of ticks."""
    reply: Literal['ticked']
    #: The number of agents.
    count: int
    #: Whether no agent is left that must be told now.
    done: bool


#: The reply to a command.
Reply = Union["ReplyDone", "ReplyStarted", "ReplyAlreadyStarted", "ReplyAgentJournal", "ReplyProposed", "ReplyAlreadyProposed", "ReplyAnswered", "ReplyAlreadyAnswered", "ReplyAnsweredAll", "ReplyNotStalled", "ReplyNotSuspended", "ReplyMade", "ReplyAgent", "ReplyRequestSent", "ReplySent", "ReplyCodeQueued", "ReplyGranted", "ReplyAlreadySettled", "ReplyDismissed", "ReplyCollected", "ReplyTicked"]


class _RequestStatusRequired(TypedDict):
    request: Literal['status']


class RequestStatus(_RequestStatusRequired, total=False):
    """The status of the daemon."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestServerToolsRequired(TypedDict):
    request: Literal['server_tools']
    #: The name of the server.
    server: str


class RequestServerTools(_RequestServerToolsRequired, total=False):
    """The tools that a configured server currently describes."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: The time that the server has to start, in milliseconds. Without it, the settings decide.
    start_ms: Optional[int]


class _RequestRunRequired(TypedDict):
    request: Literal['run']
    #: The command as the person gave it.
    text: Untrusted
    #: The worker that runs.
    worker: WorkerSource


class RequestRun(_RequestRunRequired, total=False):
    """Starts a run."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: The start options.
    spec: StartSpec
    #: The key under which the run starts once. A repetition of the request gets the run that exists. A dry run
    #: uses no key.
    key: Optional[RunKey]


class _RequestApproveRequired(TypedDict):
    request: Literal['approve']
    #: The command as the person gave it.
    text: Untrusted
    #: The message of the approval.
    message: MessageNumber
    #: Whether the same call is also approved whenever the same run proposes it again.
    for_run: bool


_RequestApproveFields = TypedDict('_RequestApproveFields', {
    'agent': 'Optional[str]',
    'entries': 'Optional[List[int]]',
    'endow': 'List[Endowment]',
    'names': 'Dict[str, NamePath]',
    'seen': 'Dict[str, FormulaId]',
    'allow': 'List[str]',
    'edited': 'Optional[str]',
    'raise': 'Optional[RaiseParam]',
}, total=False)


class RequestApprove(_RequestApproveRequired, _RequestApproveFields, total=False):
    """Approves entries of an approval."""


class _RequestAnswerAllRequired(TypedDict):
    request: Literal['answer_all']
    #: The command as the person gave it.
    text: Untrusted
    #: The approvals, each with the calls that the person has seen in it.
    approvals: List[SeenApproval]


class RequestAnswerAll(_RequestAnswerAllRequired, total=False):
    """Answers several approvals in the same way."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: The reason of a denial, for the models. `None` approves the calls.
    denied: Optional[Untrusted]


class _RequestBatchAsksRequired(TypedDict):
    request: Literal['batch_asks']


class RequestBatchAsks(_RequestBatchAsksRequired, total=False):
    """Returns the open approvals of batches."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestPreviewExtrasRequired(TypedDict):
    request: Literal['preview_extras']
    #: The message of the approval.
    message: MessageNumber
    #: The index of the entry, counted from 0.
    entry: int


class RequestPreviewExtras(_RequestPreviewExtrasRequired, total=False):
    """Previews a user's additions to a worker that an entry of an approval makes. This answers no message."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: The contents of slots that are not given by one of the user's names.
    endow: List[Endowment]
    #: The slots that are filled with objects of the user's names.
    names: Dict[str, NamePath]
    #: The formulas of these names when the user chose them, by slot. If a name has another formula by now, the
    #: daemon changes nothing.
    seen: Dict[str, FormulaId]
    #: The methods, as `slot.method`, about which the person does not want to be asked.
    allow: List[str]
    #: The text of the worker, if the user has edited it.
    edited: Optional[str]


class _RequestDenyRequired(TypedDict):
    request: Literal['deny']
    #: The command as the person gave it.
    text: Untrusted
    #: The message of the approval.
    message: MessageNumber
    #: The reason for the model.
    reason: Untrusted


class RequestDeny(_RequestDenyRequired, total=False):
    """Denies entries of an approval."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: The indices of the entries, counted from 0. `None` means all open entries.
    entries: Optional[List[int]]


class _RequestConfirmOutcomeRequired(TypedDict):
    request: Literal['confirm_outcome']
    #: The command as the person gave it.
    text: Untrusted
    #: The message that asks about the call.
    message: MessageNumber
    #: Whether the call happened.
    happened: bool


class RequestConfirmOutcome(_RequestConfirmOutcomeRequired, total=False):
    """States whether a call happened whose outcome a crash left unknown. If it did not happen, it is performed
    now.
    """
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestAuditRequired(TypedDict):
    request: Literal['audit']


class RequestAudit(_RequestAuditRequired, total=False):
    """Verifies the event log and the records that it describes."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: The number of last events to return as well.
    last: Optional[int]
    #: The event before which these events end. With `None`, they are the last of the log.
    before: Optional[int]
    #: An earlier anchor of the log. The report says whether the log contains it.
    contains: Optional[AnchorParam]
    #: Whether only the last events are returned, without verification. Verification takes longer the longer the
    #: log is.
    unverified: bool


class _RequestSayRequired(TypedDict):
    request: Literal['say']
    #: The command as the person gave it.
    text: Untrusted
    #: The run.
    run: RunNumber
    #: The user's text.
    said: Untrusted


class RequestSay(_RequestSayRequired, total=False):
    """Sends a text to a run that is a conversation."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: The documents that come with the text.
    documents: List[Document]
    #: Whether only to check that the text would be accepted.
    dry_run: bool


class _RequestUndoRequired(TypedDict):
    request: Literal['undo']
    #: The command as the person gave it.
    text: Untrusted
    #: The finished run.
    run: RunNumber
    #: The files to restore: absolute paths, or paths as the run named them. An empty list means all.
    only: List[str]
    #: Whether only to preview the result.
    dry_run: bool


class RequestUndo(_RequestUndoRequired, total=False):
    """Restores the files that a run changed, or previews that."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: Whether to restore files too in which the run's work is too large to be kept.
    gives_up: bool


class _RequestDiffRequired(TypedDict):
    request: Literal['diff']
    #: The finished run.
    run: RunNumber
    #: The files to include: absolute paths, or paths as the run named them. An empty list means all.
    only: List[str]


class RequestDiff(_RequestDiffRequired, total=False):
    """The changes of a run in its staged copies, as one diff."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestApplyRequired(TypedDict):
    request: Literal['apply']
    #: The command as the person gave it.
    text: Untrusted
    #: The finished run.
    run: RunNumber
    #: The files to apply: absolute paths, or paths as the run named them. An empty list means all.
    only: List[str]


class RequestApply(_RequestApplyRequired, total=False):
    """Applies a run's changes in its staged copies to the real files."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: The parts to apply of some files. Each of these files must also be in `only`.
    parts: List[PartParam]


class _RequestDiscardRequired(TypedDict):
    request: Literal['discard']
    #: The command as the person gave it.
    text: Untrusted
    #: The finished run.
    run: RunNumber


class RequestDiscard(_RequestDiscardRequired, total=False):
    """Discards a run's changes in its staged copies."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: The files to discard: absolute paths, or paths as the run named them. An empty list means the whole copy.
    only: List[str]
    #: The parts to discard of some files. Each of these files must also be in `only`.
    parts: List[PartParam]


class _RequestForgetRequired(TypedDict):
    request: Literal['forget']
    #: The command as the person gave it.
    text: Untrusted
    #: The finished run.
    run: RunNumber


class RequestForget(_RequestForgetRequired, total=False):
    """Deletes the inputs of a run and of all runs that it started."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestGcRequired(TypedDict):
    request: Literal['gc']


class RequestGc(_RequestGcRequired, total=False):
    """Runs the garbage collection now."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


__RequestExportRequiredFields = TypedDict('__RequestExportRequiredFields', {
    'request': "Literal['export']",
    'run': 'RunNumber',
    'from': 'int',
})


class _RequestExportRequired(__RequestExportRequiredFields):
    pass


class RequestExport(_RequestExportRequired, total=False):
    """A page of a run for a copy outside the store. Entry 0 is the run itself, and its steps follow from 1."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestCopyRequired(TypedDict):
    request: Literal['copy']
    #: The hash of the bytes.
    hash: BlobHash


class RequestCopy(_RequestCopyRequired, total=False):
    """Stored bytes for a copy outside the store."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestSentRequestRequired(TypedDict):
    request: Literal['sent_request']
    #: The run.
    run: RunNumber


class RequestSentRequest(_RequestSentRequestRequired, total=False):
    """A request of a run to a model, as it was sent."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: The number of the request, from 1. `None` means the last one.
    number: Optional[int]


class _RequestResumeRequired(TypedDict):
    request: Literal['resume']


class RequestResume(_RequestResumeRequired, total=False):
    """Resumes a stalled run, or all stalled runs."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: The command as the person gave it.
    text: Untrusted
    #: The run. `None` means all stalled runs.
    run: Optional[RunNumber]


class _RequestRunsRequired(TypedDict):
    request: Literal['runs']
    #: The maximum number of runs. An answer also has a limit of its own.
    limit: int


class RequestRuns(_RequestRunsRequired, total=False):
    """A page of the runs, newest first."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: The run below which the page begins: only older runs are returned.
    below: Optional[RunNumber]
    #: Whether only runs are returned that no other run started.
    roots: bool


class _RequestChatsRequired(TypedDict):
    request: Literal['chats']
    #: Whether open conversations are returned. Otherwise the finished ones are.
    open: bool
    #: The maximum number of conversations. An answer also has a limit of its own.
    limit: int


class RequestChats(_RequestChatsRequired, total=False):
    """A page of the conversations, newest first."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: The conversation below which the page begins: only older ones are returned.
    below: Optional[RunNumber]


class _RequestTalkersRequired(TypedDict):
    request: Literal['talkers']


class RequestTalkers(_RequestTalkersRequired, total=False):
    """The workers with which a user can have a conversation."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestFamilyRequired(TypedDict):
    request: Literal['family']
    #: The run.
    run: RunNumber


class RequestFamily(_RequestFamilyRequired, total=False):
    """A run and its descendants that are not finished."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestGetRunRequired(TypedDict):
    request: Literal['get_run']
    #: The run.
    run: RunNumber


class RequestGetRun(_RequestGetRunRequired, total=False):
    """One run."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestBindingsRequired(TypedDict):
    request: Literal['bindings']
    #: The run.
    run: RunNumber


class RequestBindings(_RequestBindingsRequired, total=False):
    """The bindings of a run's slots."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestJournalRequired(TypedDict):
    request: Literal['journal']
    #: The run.
    run: RunNumber


_RequestJournalFields = TypedDict('_RequestJournalFields', {
    'agent': 'Optional[str]',
    'from': 'int',
    'limit': 'Optional[int]',
}, total=False)


class RequestJournal(_RequestJournalRequired, _RequestJournalFields, total=False):
    """A page of the journal of a run."""


class _RequestMessagesRequired(TypedDict):
    request: Literal['messages']
    #: The selection of messages, and the form of the list.
    filter: MessageFilter


class RequestMessages(_RequestMessagesRequired, total=False):
    """A page of messages. The mailbox of any agent can be listed one by one, but threads and answers only for a
    host.
    """
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: The bounds of the page.
    page: PageBounds


class _RequestCardRequired(TypedDict):
    request: Literal['card']
    #: The message of the approval.
    message: MessageNumber


class RequestCard(_RequestCardRequired, total=False):
    """An approval as it is shown to the user."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestOpenCardRequired(TypedDict):
    request: Literal['open_card']
    #: The message of the approval.
    message: MessageNumber


class RequestOpenCard(_RequestOpenCardRequired, total=False):
    """Notes that the user has an approval before them in full."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestWhyRequired(TypedDict):
    request: Literal['why']
    #: A run, a step, a message number, a file or a slot.
    thing: str


class RequestWhy(_RequestWhyRequired, total=False):
    """The origin of an object."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestBlobRequired(TypedDict):
    request: Literal['blob']
    #: The hash of the bytes.
    hash: BlobHash


class RequestBlob(_RequestBlobRequired, total=False):
    """Stored bytes as text."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestLastEventRequired(TypedDict):
    request: Literal['last_event']


class RequestLastEvent(_RequestLastEventRequired, total=False):
    """The number of the last event. Later events have higher numbers."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestFollowRequired(TypedDict):
    request: Literal['follow']
    #: The last event that the client has seen.
    after: int


class RequestFollow(_RequestFollowRequired, total=False):
    """Every event after `after`, and then each new event as it happens."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: Whether the text of models is also sent, while they write it.
    text: bool


class _RequestActRequired(TypedDict):
    request: Literal['act']
    #: The act.
    act: AgentAct


class RequestAct(_RequestActRequired, total=False):
    """Performs an act as an agent: on names, agents, grants or mail."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: The command as the person gave it, for the transcript. Programs leave it out.
    said: Optional[UserCommand]


class _RequestLookRequired(TypedDict):
    request: Literal['look']
    #: The query.
    look: Look


class RequestLook(_RequestLookRequired, total=False):
    """Performs a query as an agent."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestPassRequired(TypedDict):
    request: Literal['pass']


class RequestPass(_RequestPassRequired, total=False):
    """A one-use token with which a client of the gateway acts as this agent."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestStatsRequired(TypedDict):
    request: Literal['stats']


class RequestStats(_RequestStatsRequired, total=False):
    """Statistics about the outcomes of runs."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: The earliest start time of the counted runs, in milliseconds since 1970.
    since_ms: Optional[int]


class _RequestWebRequired(TypedDict):
    request: Literal['web']
    #: The path to open: `/`, or `/m/7` for a message.
    to: str


class RequestWeb(_RequestWebRequired, total=False):
    """Starts the web pages, and returns an address that admits one browser."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: Whether the address has a bare IP address as its host, for a browser that does not resolve names below
    #: `localhost`.
    by_address: bool


class _RequestSessionsRequired(TypedDict):
    request: Literal['sessions']
    #: The act on sessions.
    act: SessionAct


class RequestSessions(_RequestSessionsRequired, total=False):
    """Lists the sessions of the web pages, or ends some."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestSecretRequired(TypedDict):
    request: Literal['secret']
    #: The act on the vault.
    act: SecretAct


class RequestSecret(_RequestSecretRequired, total=False):
    """Performs an act on the vault."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestLoginRequired(TypedDict):
    request: Literal['login']
    #: The act on logins.
    act: LoginAct


class RequestLogin(_RequestLoginRequired, total=False):
    """Performs an act on the logins at tool servers."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestExamineRequired(TypedDict):
    request: Literal['examine']
    #: The part, by its name in [`crate::health_check::PARTS`].
    part: str


class RequestExamine(_RequestExamineRequired, total=False):
    """Examines a part of the installation. This may take seconds."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestModelsRequired(TypedDict):
    request: Literal['models']


class RequestModels(_RequestModelsRequired, total=False):
    """The list of models, for the environment variables that the client has sent."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestSaveRequired(TypedDict):
    request: Literal['save']
    #: The run.
    run: RunNumber
    #: The name of the worker.
    name: str
    #: The directory of the worker file, as an absolute path.
    dir: str
    #: Whether the files are written.
    write: bool


class RequestSave(_RequestSaveRequired, total=False):
    """Saves a run as a worker with a test, or returns a preview of that."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestPolicyRequired(TypedDict):
    request: Literal['policy']


class RequestPolicy(_RequestPolicyRequired, total=False):
    """The operator's policies in force."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestBackupRequired(TypedDict):
    request: Literal['backup']
    #: The destination: an absolute path at which nothing exists.
    path: str


class RequestBackup(_RequestBackupRequired, total=False):
    """Copies the whole home to one file."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]
    #: Whether the file holds the key of the vault too.
    with_key: bool


class _RequestStopRequired(TypedDict):
    request: Literal['stop']


class RequestStop(_RequestStopRequired, total=False):
    """Stops the daemon."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


class _RequestReplaceRequired(TypedDict):
    request: Literal['replace']
    #: The build that takes the place.
    build: str


class RequestReplace(_RequestReplaceRequired, total=False):
    """Stops the daemon, so that a daemon of another build takes its place. A service manager starts it again."""
    #: The agent, as a name path from the store's own host. `None` means that host.
    agent: Optional[str]


#: A request, with the agent on whose behalf it is made.
Request = Union["RequestStatus", "RequestServerTools", "RequestRun", "RequestApprove", "RequestAnswerAll", "RequestBatchAsks", "RequestPreviewExtras", "RequestDeny", "RequestConfirmOutcome", "RequestAudit", "RequestSay", "RequestUndo", "RequestDiff", "RequestApply", "RequestDiscard", "RequestForget", "RequestGc", "RequestExport", "RequestCopy", "RequestSentRequest", "RequestResume", "RequestRuns", "RequestChats", "RequestTalkers", "RequestFamily", "RequestGetRun", "RequestBindings", "RequestJournal", "RequestMessages", "RequestCard", "RequestOpenCard", "RequestWhy", "RequestBlob", "RequestLastEvent", "RequestFollow", "RequestAct", "RequestLook", "RequestPass", "RequestStats", "RequestWeb", "RequestSessions", "RequestSecret", "RequestLogin", "RequestExamine", "RequestModels", "RequestSave", "RequestPolicy", "RequestBackup", "RequestStop", "RequestReplace"]


class RequestAnswerValue(TypedDict):
    """Data, in the person's own words."""
    handed: Literal['value']
    #: The value, without references.
    value: ValueParam


class RequestAnswerSlot(TypedDict):
    """A value for the slot that the run has named."""
    handed: Literal['slot']
    #: The slot and its target.
    binding: BindingParam


#: The answer of a user to a run's request.
RequestAnswer = Union["RequestAnswerValue", "RequestAnswerSlot"]


class RequestPart(TypedDict):
    """The digest of one part of the request for a run, such as an input or a document."""
    #: The name of the part, as a user reads it: `document 2`.
    name: str
    #: The digest of the part, in hex. It is no hash of stored bytes, so it keeps no bytes.
    digest: str


class ResourceSpecPath(TypedDict):
    """A path: a directory, or the file of a worker."""
    fill: Literal['path']
    #: The absolute path.
    path: str
    #: Whether the path may be written to.
    write: bool
    #: Whether changes go to a staged copy.
    stage: bool
    #: The allowed endings of the names of files. An empty list allows any.
    suffixes: List[str]
    #: The maximum size of a file in bytes.
    max_bytes: Optional[int]
    #: The maximum size in bytes of all files in the directory together.
    total_bytes: Optional[int]
    #: The allowed methods. An empty list allows all methods of the slot.
    methods: List[str]
    #: Whether only models that may read private data may read the contents.
    private: bool
    #: The maximum rate of calls.
    rate: Optional[Rate]


class ResourceSpecProgram(TypedDict):
    """Programs of this machine."""
    fill: Literal['program']
    #: The name and the path of each program.
    programs: List[List[str]]
    #: The absolute path of each directory, and whether the programs may write to it. The first is the working
    #: directory. `@SLOT` stands for the staged copy of another slot: see [`staged_slot`].
    directories: List[List[Union[str, bool]]]
    #: Whether the programs may open network connections.
    network: bool
    #: Whether each program may start other programs.
    starts_others: bool
    #: The environment variables of the programs, in addition to the usual ones.
    environment: Dict[str, Setting]
    #: The time limit of one call, in milliseconds.
    wall_ms: Optional[int]
    #: The memory limit of one call, in bytes.
    memory: Optional[int]
    #: The maximum number of bytes of output that a call returns.
    output: Optional[int]


class ResourceSpecWeb(TypedDict):
    """A part of the web."""
    fill: Literal['web']
    #: The part of the web.
    web: Web
    #: The maximum size of a body in bytes, in both directions.
    max_bytes: Optional[int]
    #: The maximum rate of requests.
    rate: Optional[Rate]


class ResourceSpecGit(TypedDict):
    """A git repository."""
    fill: Literal['git']
    #: The absolute path of the working tree.
    path: str
    #: Whether the repository may be changed.
    write: bool
    #: The author of commits.
    author: Optional[Author]
    #: The allowed methods. An empty list allows all methods of the slot.
    methods: List[str]
    #: Whether only models that may read private data may read the contents.
    private: bool


class ResourceSpecModel(TypedDict):
    """Another model."""
    fill: Literal['model']
    #: A model, several models that are tried in turn, or the user's own name for a model.
    model: str
    #: The maximum number of tokens that all calls together may read and write.
    tokens: Optional[int]
    #: The maximum cost of all calls together, in millionths of a dollar.
    usd_micros: Optional[int]
    #: The name of the secret in the vault that is the model's key.
    key: Optional[str]


class _ResourceSpecSecretRequired(TypedDict):
    fill: Literal['secret']
    #: The name of the secret in the vault.
    name: str


class ResourceSpecSecret(_ResourceSpecSecretRequired, total=False):
    """A secret of the vault, which the worker can pass on but not see."""
    #: The environment variables of a program that may be set to the secret. An empty set allows any.
    variables: List[str]
    #: The programs that may get the secret, by their names in calls. An empty set allows any program that is
    #: handed over with the secret.
    programs: List[str]


class ResourceSpecClock(TypedDict):
    """The clock of this machine."""
    fill: Literal['clock']


class ResourceSpecMyself(TypedDict):
    """The same worker that has the slot, once more."""
    fill: Literal['myself']


class ResourceSpecMcp(TypedDict):
    """Tools of a server that the user has configured."""
    fill: Literal['mcp']
    #: The name of the server.
    server: str
    #: The tools, each with the class that the user vouches for.
    tools: List[List[Union[str, ToolClass]]]
    #: The maximum number of bytes of the arguments and of a result.
    max_bytes: Optional[int]
    #: The time limit of one call, in milliseconds.
    call_ms: Optional[int]
    #: The time that the server has to start, in milliseconds.
    start_ms: Optional[int]
    #: The maximum rate of calls.
    rate: Optional[Rate]


#: The resource that a person typed for a slot, before the daemon resolves it.
ResourceSpec = Union["ResourceSpecPath", "ResourceSpecProgram", "ResourceSpecWeb", "ResourceSpecGit", "ResourceSpecModel", "ResourceSpecSecret", "ResourceSpecClock", "ResourceSpecMyself", "ResourceSpecMcp"]


class _ResourceSpecParamPathRequired(TypedDict):
    fill: Literal['path']
    #: The absolute path.
    path: str


class ResourceSpecParamPath(_ResourceSpecParamPathRequired, total=False):
    """A path: a directory, or the file of a worker."""
    #: Whether the path may be written to.
    write: bool
    #: Whether changes go to a staged copy.
    stage: bool
    #: The allowed endings of the names of files. An empty list allows any.
    suffixes: List[str]
    #: The maximum size of a file in bytes.
    max_bytes: Optional[int]
    #: The maximum size in bytes of all files in the directory together.
    total_bytes: Optional[int]
    #: The allowed methods. An empty list allows all methods of the slot.
    methods: List[str]
    #: Whether only models that may read private data may read the contents.
    private: bool
    #: The maximum rate of calls.
    rate: Optional[RateParam]


class _ResourceSpecParamProgramRequired(TypedDict):
    fill: Literal['program']
    #: The name and the path of each program.
    programs: List[List[str]]
    #: The absolute path of each directory, and whether the programs may write to it. The first is the working
    #: directory. `@SLOT` stands for the staged copy of another slot: see [`staged_slot`].
    directories: List[List[Union[str, bool]]]
    #: Whether the programs may open network connections.
    network: bool
    #: Whether each program may start other programs.
    starts_others: bool


class ResourceSpecParamProgram(_ResourceSpecParamProgramRequired, total=False):
    """Programs of this machine."""
    #: The environment variables of the programs, in addition to the usual ones.
    environment: Dict[str, Setting]
    #: The time limit of one call, in milliseconds.
    wall_ms: Optional[int]
    #: The memory limit of one call, in bytes.
    memory: Optional[int]
    #: The maximum number of bytes of output that a call returns.
    output: Optional[int]


class _ResourceSpecParamWebRequired(TypedDict):
    fill: Literal['web']
    #: The part of the web.
    web: WebParam


class ResourceSpecParamWeb(_ResourceSpecParamWebRequired, total=False):
    """A part of the web."""
    #: The maximum size of a body in bytes, in both directions.
    max_bytes: Optional[int]
    #: The maximum rate of requests.
    rate: Optional[RateParam]


class _ResourceSpecParamGitRequired(TypedDict):
    fill: Literal['git']
    #: The absolute path of the working tree.
    path: str
    #: Whether the repository may be changed.
    write: bool
    #: The allowed methods. An empty list allows all methods of the slot.
    methods: List[str]


class ResourceSpecParamGit(_ResourceSpecParamGitRequired, total=False):
    """A git repository."""
    #: The author of commits.
    author: Optional[AuthorParam]
    #: Whether only models that may read private data may read the contents.
    private: bool


class _ResourceSpecParamModelRequired(TypedDict):
    fill: Literal['model']
    #: A model, several models that are tried in turn, or the user's own name for a model.
    model: str


class ResourceSpecParamModel(_ResourceSpecParamModelRequired, total=False):
    """Another model."""
    #: The maximum number of tokens that all calls together may read and write.
    tokens: Optional[int]
    #: The maximum cost of all calls together, in millionths of a dollar.
    usd_micros: Optional[int]
    #: The name of the secret in the vault that is the model's key.
    key: Optional[str]


class _ResourceSpecParamSecretRequired(TypedDict):
    fill: Literal['secret']
    #: The name of the secret in the vault.
    name: str


class ResourceSpecParamSecret(_ResourceSpecParamSecretRequired, total=False):
    """A secret of the vault, which the worker can pass on but not see."""
    #: The environment variables of a program that may be set to the secret. An empty set allows any.
    variables: List[str]
    #: The programs that may get the secret, by their names in calls. An empty set allows any program that is
    #: handed over with the secret.
    programs: List[str]


class ResourceSpecParamClock(TypedDict):
    """The clock of this machine."""
    fill: Literal['clock']


class ResourceSpecParamMyself(TypedDict):
    """The same worker that has the slot, once more."""
    fill: Literal['myself']


class _ResourceSpecParamMcpRequired(TypedDict):
    fill: Literal['mcp']
    #: The name of the server.
    server: str
    #: The tools, each with the class that the user vouches for.
    tools: List[List[Union[str, ToolClass]]]


class ResourceSpecParamMcp(_ResourceSpecParamMcpRequired, total=False):
    """Tools of a server that the user has configured."""
    #: The maximum number of bytes of the arguments and of a result.
    max_bytes: Optional[int]
    #: The time limit of one call, in milliseconds.
    call_ms: Optional[int]
    #: The time that the server has to start, in milliseconds.
    start_ms: Optional[int]
    #: The maximum rate of calls.
    rate: Optional[RateParam]


#: The resource that a person typed for a slot, before the daemon resolves it.
ResourceSpecParam = Union["ResourceSpecParamPath", "ResourceSpecParamProgram", "ResourceSpecParamWeb", "ResourceSpecParamGit", "ResourceSpecParamModel", "ResourceSpecParamSecret", "ResourceSpecParamClock", "ResourceSpecParamMyself", "ResourceSpecParamMcp"]


class ResponseWelcomeBody(TypedDict):
    #: The daemon's build.
    build: str
    #: The number of messages that wait for the person, up to a maximum of a hundred.
    waiting: int
    #: The files that the daemon sees. If the client sees others under the same paths, it sends their bytes.
    files: str
    #: Whether a service manager has started the daemon, and starts it again after `replace`.
    is_service: bool


class ResponseWelcome(TypedDict):
    """The acceptance of the client's hello."""
    response: Literal['welcome']
    body: ResponseWelcomeBody


class ResponseWarning(TypedDict):
    """A warning that comes before the answer to a request. It concerns the whole store."""
    response: Literal['warning']
    body: Failure


class ResponseBatchAsks(TypedDict):
    """The open approvals of batches."""
    response: Literal['batch_asks']
    body: List[BatchAsks]


class ResponseServerTools(TypedDict):
    """The tools that a server describes."""
    response: Literal['server_tools']
    body: ToolTable


class ResponseStatus(TypedDict):
    """The status of the daemon."""
    response: Literal['status']
    body: Status


class ResponseReply(TypedDict):
    """The result of a command."""
    response: Literal['reply']
    body: Reply


class ResponsePlan(TypedDict):
    """The plan of a run."""
    response: Literal['plan']
    body: Plan


class ResponseRuns(TypedDict):
    """Runs, newest first."""
    response: Literal['runs']
    body: List[Run]


class ResponseChats(TypedDict):
    """Conversations."""
    response: Literal['chats']
    body: List[ChatRow]


class ResponseTalkers(TypedDict):
    """The workers with which a user can have a conversation."""
    response: Literal['talkers']
    body: List[Talker]


class ResponseFamily(TypedDict):
    """A run and its unfinished descendants."""
    response: Literal['family']
    body: Family


class ResponseRun(TypedDict):
    """One run."""
    response: Literal['run']
    body: Run


class ResponseBindings(TypedDict):
    """The bindings of the slots of a run."""
    response: Literal['bindings']
    body: List[SlotBinding]


class ResponseJournal(TypedDict):
    """Steps of a journal."""
    response: Literal['journal']
    body: List[Step]


class ResponseMailbox(TypedDict):
    """Messages of a mailbox, one by one."""
    response: Literal['mailbox']
    body: List[Line]


class ResponseThreads(TypedDict):
    """A mailbox in threads."""
    response: Literal['threads']
    body: ThreadPage


class ResponseAnswersBody(TypedDict):
    #: The answers on this page.
    letters: List[MailboxEntry]
    #: The number of answers that are older.
    earlier: int


class ResponseAnswers(TypedDict):
    """The messages that answer a message, oldest first."""
    response: Literal['answers']
    body: ResponseAnswersBody


class ResponseCard(TypedDict):
    """An approval."""
    response: Literal['card']
    body: Card


class ResponseCardOpeningBody(TypedDict):
    #: Whether it had.
    before: bool


class ResponseCardOpening(TypedDict):
    """Whether an approval had been shown to the user in full before."""
    response: Literal['card_opening']
    body: ResponseCardOpeningBody


class ResponseExtrasPreview(TypedDict):
    """A preview of a user's additions to a worker."""
    response: Literal['extras_preview']
    body: ExtrasPreview


class ResponseNames(TypedDict):
    """Names in a directory."""
    response: Literal['names']
    body: List[NameRow]


class ResponseNamePage(TypedDict):
    """A page of the names in a directory."""
    response: Literal['name_page']
    body: NamePage


class ResponseObject(TypedDict):
    """The object of a name."""
    response: Literal['object']
    body: ObjectView


class ResponseIdentifier(TypedDict):
    """The formula that has a name, or `None` if the object is data."""
    response: Literal['identifier']
    body: Optional[FormulaId]


class ResponseGrants(TypedDict):
    """Grants."""
    response: Literal['grants']
    body: List[GrantRow]


class ResponseMessage(TypedDict):
    """A message in full."""
    response: Literal['message']
    body: MessageView


class ResponsePicks(TypedDict):
    """The agent's named objects that can be picked as a capability."""
    response: Literal['picks']
    body: List[PickRow]


class ResponseNarrowable(TypedDict):
    """The restrictions that an object can take."""
    response: Literal['narrowable']
    body: Narrowable


class ResponseProposed(TypedDict):
    """The program that a message proposes."""
    response: Literal['proposed']
    body: ProgramProposal


class ResponseEndowed(TypedDict):
    """The outcomes of a definition's endowments, oldest first."""
    response: Literal['endowed']
    body: List[EndowedView]


class ResponsePromise(TypedDict):
    """The state of a promise."""
    response: Literal['promise']
    body: PromiseState


class ResponseCode(TypedDict):
    """A page of the journal of endowed code."""
    response: Literal['code']
    body: CodePage


class ResponseRetentionPaths(TypedDict):
    """The paths by which an object is kept, each as lines from the root."""
    response: Literal['retention_paths']
    body: List[List[str]]


class ResponseToken(TypedDict):
    """A sharing token. It is shown once and not stored."""
    response: Literal['token']
    body: str


class ResponsePass(TypedDict):
    """A token for the gateway."""
    response: Literal['pass']
    body: Pass


class ResponseWeb(TypedDict):
    """An address that admits one browser, once and within a minute."""
    response: Literal['web']
    body: str


class ResponseSessions(TypedDict):
    """The sessions of the web pages that have not ended."""
    response: Literal['sessions']
    body: List[SessionRow]


class ResponseFormulaSummaries(TypedDict):
    """Short descriptions of formulas."""
    response: Literal['formula_summaries']
    body: List[FormulaSummary]


class ResponseFormula(TypedDict):
    """A formula."""
    response: Literal['formula']
    body: FormulaView


class ResponseGrant(TypedDict):
    """A grant."""
    response: Literal['grant']
    body: GrantView


class ResponseGraph(TypedDict):
    """A graph."""
    response: Literal['graph']
    body: Graph


class ResponseStats(TypedDict):
    """Statistics about the outcomes of runs."""
    response: Literal['stats']
    body: Stats


class ResponseWhy(TypedDict):
    """The origin of an object."""
    response: Literal['why']
    body: List[Reason]


class ResponseDiff(TypedDict):
    """The changes of a run in its staged copies, as one diff."""
    response: Literal['diff']
    body: Diff


class ResponseUndoReport(TypedDict):
    """The report about an undo or about applied changes, or about a preview."""
    response: Literal['undo_report']
    body: UndoReport


class ResponseBlob(TypedDict):
    """Stored bytes as text, or `None` if they are not text."""
    response: Literal['blob']
    body: Optional[str]


class ResponseBackedUp(TypedDict):
    """The report about a backup."""
    response: Literal['backed_up']
    body: BackupReport


class ResponseLastEvent(TypedDict):
    """The number of the last event, or 0 if there is none."""
    response: Literal['last_event']
    body: int


class ResponseEvent(TypedDict):
    """An event."""
    response: Literal['event']
    body: Event


class ResponseProgressBody(TypedDict):
    #: The run that waits for the model.
    run: RunNumber
    #: The line.
    line: Untrusted


class ResponseProgress(TypedDict):
    """The progress of a model, in one line. This response may be lost."""
    response: Literal['progress']
    body: ResponseProgressBody


_ResponseTextBodyFields = TypedDict('_ResponseTextBodyFields', {
    'run': 'RunNumber',
    'prompted': 'int',
    'from': 'int',
    'text': 'Untrusted',
})


class ResponseTextBody(_ResponseTextBodyFields):
    pass


class ResponseText(TypedDict):
    """A part of the text of a model's reply. This response may be lost, and the text may be sent again from the
    start.
    """
    response: Literal['text']
    body: ResponseTextBody


class ResponseStuckBody(TypedDict):
    #: The run.
    run: RunNumber
    #: The reason why the run cannot continue, with advice.
    trouble: Trouble


class ResponseStuck(TypedDict):
    """A run that cannot continue, and whose failure cannot be stored."""
    response: Literal['stuck']
    body: ResponseStuckBody


class ResponseSecrets(TypedDict):
    """The vault as it is shown, without values."""
    response: Literal['secrets']
    body: VaultView


class ResponseLogin(TypedDict):
    """The answer to an act on logins."""
    response: Literal['login']
    body: LoginAnswer


class ResponseExamined(TypedDict):
    """The findings of an examination."""
    response: Literal['examined']
    body: List[HealthCheck]


class ResponseModels(TypedDict):
    """The list of models."""
    response: Literal['models']
    body: ModelList


class ResponseSaved(TypedDict):
    """The report about a saved run, or about a preview."""
    response: Literal['saved']
    body: SaveReport


class ResponsePolicy(TypedDict):
    """The operator's policies that are in force."""
    response: Literal['policy']
    body: PolicyFile


class ResponseAudited(TypedDict):
    """The result of an audit of the event log."""
    response: Literal['audited']
    body: AuditReport


class ResponseForgotten(TypedDict):
    """The runs whose inputs were deleted."""
    response: Literal['forgotten']
    body: List[RunNumber]


class ResponseFreed(TypedDict):
    """The result of a garbage collection."""
    response: Literal['freed']
    body: FreedSpace


class ResponseExported(TypedDict):
    """A page of a run, which is empty after the last page."""
    response: Literal['exported']
    body: List[Any]


class ResponseCopy(TypedDict):
    """A copy of stored bytes, or `None` if they no longer exist."""
    response: Literal['copy']
    body: Optional[Copy]


class ResponseSentRequest(TypedDict):
    """A request to a model, as it was sent."""
    response: Literal['sent_request']
    body: SentRequest


class ResponseFailed(TypedDict):
    """The failure of a request."""
    response: Literal['failed']
    body: Failure


#: A response of the daemon.
Response = Union["ResponseWelcome", "ResponseWarning", "ResponseBatchAsks", "ResponseServerTools", "ResponseStatus", "ResponseReply", "ResponsePlan", "ResponseRuns", "ResponseChats", "ResponseTalkers", "ResponseFamily", "ResponseRun", "ResponseBindings", "ResponseJournal", "ResponseMailbox", "ResponseThreads", "ResponseAnswers", "ResponseCard", "ResponseCardOpening", "ResponseExtrasPreview", "ResponseNames", "ResponseNamePage", "ResponseObject", "ResponseIdentifier", "ResponseGrants", "ResponseMessage", "ResponsePicks", "ResponseNarrowable", "ResponseProposed", "ResponseEndowed", "ResponsePromise", "ResponseCode", "ResponseRetentionPaths", "ResponseToken", "ResponsePass", "ResponseWeb", "ResponseSessions", "ResponseFormulaSummaries", "ResponseFormula", "ResponseGrant", "ResponseGraph", "ResponseStats", "ResponseWhy", "ResponseDiff", "ResponseUndoReport", "ResponseBlob", "ResponseBackedUp", "ResponseLastEvent", "ResponseEvent", "ResponseProgress", "ResponseText", "ResponseStuck", "ResponseSecrets", "ResponseLogin", "ResponseExamined", "ResponseModels", "ResponseSaved", "ResponsePolicy", "ResponseAudited", "ResponseForgotten", "ResponseFreed", "ResponseExported", "ResponseCopy", "ResponseSentRequest", "ResponseFailed"]


__RestoredFileRequiredFields = TypedDict('__RestoredFileRequiredFields', {
    'path': 'str',
    'from': 'str',
    'to': 'str',
    'step': 'StepRef',
})


class _RestoredFileRequired(__RestoredFileRequiredFields):
    pass


class RestoredFile(_RestoredFileRequired, total=False):
    """A file that is put back as it was before a run, or put in place as the run left it in a staged copy."""
    #: The contents before and after this change, if a program made it. No other step records them.
    digests: Optional[ChangeDigests]
    #: The content before this change, if the store keeps it. The digest holds the bytes.
    kept: Optional[BlobHash]
    #: The permissions of the file before this change.
    mode: Optional[int]
    #: The size of the content before this change, if the user gave it up because it was too large to be kept.
    given_up: Optional[int]


#: The destination of the result of endowed work.
ResultGoesTo = Literal['guest-data', 'guest-capabilities', 'host']


class Risk(TypedDict):
    """A holder of both a secret or private data and a way out of this machine. The holder has access itself, or
    can ask other holders that have it.
    """
    #: The index of the holder's node.
    holder: int
    #: The paths to secrets or private data. Each is a list of link indices, from the holder on.
    secrets: List[List[int]]
    #: The paths to ways out of this machine, in the same form.
    outlets: List[List[int]]


class Rule(TypedDict):
    """The number of calls to which a rule objected."""
    #: The rule, as `gate/rule`.
    rule: str
    #: The number of calls about which a person was asked, with this rule among the reasons.
    asked: int
    #: The number of calls that were refused, with this rule among the reasons.
    denied: int


class RuleSuggestionAllow(TypedDict):
    """A rule for the option `--allow` of the next run."""
    instead: Literal['allow']
    #: The rule as it is written, such as `out.append`.
    rule: str


class RuleSuggestionPermit(TypedDict):
    """A policy for the user's own policy file."""
    instead: Literal['permit']
    #: The text of the policy.
    policy: str


class RuleSuggestionNothing(TypedDict):
    """No suggestion."""
    instead: Literal['nothing']
    #: The reason.
    why: str


#: A rule that would end the questions.
RuleSuggestion = Union["RuleSuggestionAllow", "RuleSuggestionPermit", "RuleSuggestionNothing"]


class _RunRequired(TypedDict):
    #: The number of the run.
    number: RunNumber
    #: The formula of the run.
    id: FormulaId
    #: The worker that the run executes.
    worker: FormulaId
    #: The worker's name.
    name: str
    #: The worker's definition, byte for byte.
    definition: BlobHash
    #: The files that the definition includes, by name: templates that lay beside it when the run began.
    includes: Dict[str, BlobHash]
    #: The shape of the run: one execution, or one for each item.
    shape: Shape
    #: The run that waits for this one.
    parent: Optional[Parent]
    #: The number of runs above this one.
    depth: int
    #: The model's name.
    model: str
    #: The input of the run.
    input: Input
    #: The grants of the run, by slot.
    grants: Dict[str, FormulaId]
    #: The limits of the run.
    limits: Limits
    #: The usage of the run, its children included.
    used: Usage
    #: The state of the run.
    state: State
    #: The number that the next step of the journal gets.
    next_step: int
    #: The promise for the result.
    result: FormulaId
    #: The provenance of everything that the run's model has been shown.
    provenance: Provenance
    #: The message that started the run.
    source: MessageNumber
    #: The time at which the run began, in milliseconds since 1970.
    started_ms: int
    #: The time at which the run ended.
    finished_ms: Optional[int]
    #: The proposals that have not ended, by the step that proposed them.
    open: Dict[str, Phase]
    #: The children of items that have not ended, by item.
    children: Dict[str, RunNumber]
    #: The outbox row that says that the run must go on.
    drive: Optional[int]
    #: The recipient of the result besides the host.
    delivery: Optional[Delivery]
    #: The reason why the run was cancelled. Effects that had begun complete, and nothing else begins.
    cancelled: Optional[Untrusted]


class Run(_RunRequired, total=False):
    """A run as the store keeps it beside its journal: its parameters, and the state that follows from the
    journal.
    """
    #: The items whose children have given their place to the next item, each with the reason.
    yielded: Dict[str, YieldReason]
    #: The message of the command that cancelled the run, in its host's mailbox.
    cancelled_by: Optional[MessageNumber]
    #: The agent for which the run acts, if that is not the run's host.
    principal: Optional[FormulaId]
    #: The agent that endowed the code, if this is the journal of code. The code itself may be gone when somebody
    #: asks why.
    endowed_by: Optional[Number]
    #: The user's additions to workers that the run is about to make, by the step that proposed each worker. Each
    #: comes with the message of the answer.
    additions: Dict[str, List[Union[MessageNumber, Addition]]]
    #: The workers that the run has made, by the slots that they fill.
    made: List[str]
    #: The slots filled with the capabilities that the run asked for.
    given: List[str]
    #: The number of messages to the host from the run and the runs below it.
    written: int
    #: The number of bytes that are kept for the run, and that do not count for the runs above it yet.
    kept_since: int
    #: The limit that is used up, if the run waits for the user to raise it.
    exhausted: Optional[Exhausted]
    #: The questions to the user from the run and the runs below it, if the run counts for them.
    questions: QuestionCount
    #: Whether a user has erased the run's data. The bytes that only the run's journal names are removed.
    forgotten: bool
    #: Whether the request for the run had a key. The key starts no second run.
    has_key: bool


#: The name under which a program starts a run once. It has 1 to 128 visible characters of ASCII, without blanks.
RunKey = str


#: The number of a run, written `r17`.
RunNumber = int


class RunOutcomeDone(TypedDict):
    """The result of the run."""
    done: Value


class RunOutcomeFailed(TypedDict):
    """The failure because of which the run has no result."""
    failed: Trouble


#: The outcome of a run.
RunOutcome = Union["RunOutcomeDone", "RunOutcomeFailed"]


class Runs(TypedDict):
    """The numbers of runs, by their state."""
    #: The number of runs with a result.
    done: int
    #: The number of runs that failed.
    failed: int
    #: The number of runs that were cancelled.
    cancelled: int
    #: The number of runs that wait for a person or for runs that they started.
    waiting: int
    #: The number of runs that are stalled by a problem outside.
    stalled: int
    #: The number of runs at work.
    working: int


class SaveReport(TypedDict):
    """The report about saving a run as a worker with a test, or about a preview of that."""
    #: The absolute paths of the files.
    files: List[str]
    #: The worker file.
    worker: str
    #: The file with the replies of the model.
    replies: str
    #: The file with the result.
    result: str
    #: Notes about the parts that are not saved, or that the user must hand over again.
    notes: List[str]
    #: The shell command that repeats the run.
    command: str


class Sealed(TypedDict):
    """Bytes that only the holder of the key can read."""
    #: The method of sealing: `xchacha20poly1305/1`. It allows a later method to be distinguished from this one.
    method: str
    #: The nonce, as hexadecimal digits.
    nonce: str
    #: The sealed bytes, as hexadecimal digits.
    bytes: str


#: A secret. The daemon takes it and never sends it back.
Secret = str


class SecretActList(TypedDict):
    """The state of the vault and the list of its secrets."""
    act: Literal['list']


class SecretActCreate(TypedDict):
    """Creates the vault, which must not exist yet."""
    act: Literal['create']
    #: The protection of the vault's key.
    key: KeyChoice


class SecretActUnlock(TypedDict):
    """Unlocks the vault."""
    act: Literal['unlock']
    #: The passphrase.
    passphrase: Secret


class _SecretActSetRequired(TypedDict):
    act: Literal['set']
    #: The name of the secret.
    name: str
    #: Whether the secret must already exist.
    only: SecretScope


class SecretActSet(_SecretActSetRequired, total=False):
    """Sets the value of a secret."""
    #: The new value. With `None`, the present value stays.
    value: Optional[Secret]
    #: The servers that may receive the secret. With `None`, the present ones stay.
    origins: Optional[List[Origin]]


class SecretActRemove(TypedDict):
    """Removes a secret."""
    act: Literal['remove']
    #: The name of the secret.
    name: str


class _SecretActRotateKeyRequired(TypedDict):
    act: Literal['rotate_key']


class SecretActRotateKey(_SecretActRotateKeyRequired, total=False):
    """Encrypts the vault under a new key."""
    #: The protection of the new key. With `None`, it stays the same.
    key: Optional[KeyChoice]


#: A client's act on the vault.
SecretAct = Union["SecretActList", "SecretActCreate", "SecretActUnlock", "SecretActSet", "SecretActRemove", "SecretActRotateKey"]


class SecretRow(TypedDict):
    """A secret as it is shown."""
    #: The name of the secret.
    name: str
    #: The servers that may receive the secret.
    origins: List[Origin]
    #: The time at which the secret was first set, in milliseconds since 1970.
    set_ms: int
    #: The time at which the present value was set.
    changed_ms: int
    #: The users of the secret: grants in force, each by its number and its target.
    used_by: List[str]
    #: Whether the value is so short that redaction does not search for every spelling.
    short: bool


#: The secrets that a change may affect.
SecretScope = Literal['any', 'existing']


class SecretUse(TypedDict):
    """The way to send a secret with requests. The value is inserted just before the request is sent, and only
    for servers to which the secret is pinned.
    """
    #: The secret's name in the vault.
    name: str
    #: The name of the header, in lower case.
    header: str
    #: The text before the value, such as `Bearer ` in an `authorization` header.
    before: str


class SecretUseParam(TypedDict):
    """The way to send a secret with requests. The value is inserted just before the request is sent, and only
    for servers to which the secret is pinned.
    """
    #: The secret's name in the vault.
    name: str
    #: The name of the header, in lower case.
    header: str
    #: The text before the value, such as `Bearer ` in an `authorization` header.
    before: str


class SeenApproval(TypedDict):
    """An approval with the calls that a person has seen in it. The answer covers exactly these calls."""
    #: The approval.
    message: MessageNumber
    #: The fingerprints of all its calls, in order.
    fingerprints: List[Fingerprint]


class _SeenEndowmentRequired(TypedDict):
    #: The number of acts on the definition so far.
    done: int
    #: The formulas of the names that fill slots, by slot.
    names: Dict[str, FormulaId]


class SeenEndowment(_SeenEndowmentRequired, total=False):
    """The state that a user saw before endowing a definition. If it has changed, the daemon refuses the
    endowment.
    """
    #: The formula that had the name for the result, or `None` if that name was free.
    result: Optional[FormulaId]
    #: The seal of the plan that was shown, if the definition is a worker.
    plan: Optional[BlobHash]


class SendOrigin(TypedDict):
    """The identity of a send of code. The same call, made again after a crash, is the same send."""
    #: The code.
    eval: FormulaId
    #: The number of the send among all sends of the code, from 0.
    send: int


class _SentRequestRequired(TypedDict):
    #: The number of the request among the run's requests, from 1.
    number: int
    #: The number of requests that the run has made.
    count: int
    #: The step that made the request.
    step: StepRef
    #: The model.
    model: str
    #: The body, byte for byte.
    body: Untrusted
    #: Whether the model has answered. A server that refuses a part of a request gets it in another form, and
    #: only the answer says in which.
    is_answered: bool


class SentRequest(_SentRequestRequired, total=False):
    """A request to a model, as the daemon sent it to the model's server."""
    #: The address of the request. `None` for a model in this program, which gets the request as it is recorded.
    url: Optional[str]
    #: The headers. A key is left out.
    headers: List[List[str]]
    #: Whether values that the vault holds now were removed. The model was sent them.
    redacted: bool


class _ServerTransportProgramRequired(TypedDict):
    by: Literal['program']
    #: The program, with its digest.
    program: EndowedProgram
    #: The arguments of the program, without its name.
    arguments: List[str]
    #: The files that the arguments name, such as scripts for an interpreter, with their digests at the time of
    #: the grant.
    files: Dict[str, BlobHash]
    #: The environment variables of the program, in addition to the usual ones.
    environment: Dict[str, Setting]
    #: The absolute paths of files and directories that the program may read, mostly its own modules.
    reads: List[str]
    #: The directories that the program reaches. The first is its working directory.
    directories: List[ProgramDirectory]
    #: Whether the program may open connections over the network.
    network: bool
    #: The memory limit of all processes of the program together, in bytes.
    memory: int


class ServerTransportProgram(_ServerTransportProgramRequired, total=False):
    """A program of this machine, which is started in the sandbox for a run."""
    #: The directories of installed packages, each with the digest of all its files at the time of the
    #: installation.
    trees: Dict[str, BlobHash]
    #: Whether the program may start other programs of this machine.
    starts_others: bool


class _ServerTransportWebRequired(TypedDict):
    by: Literal['web']
    #: The targets of calls. Paths are relative to the first place. The first place may redirect to the others.
    places: List[Place]
    #: The HTTP methods that may be used, in capitals.
    methods: List[str]


class ServerTransportWeb(_ServerTransportWebRequired, total=False):
    """An address on the web. Calls are posted to the first place."""
    #: The secret that is sent with requests, and the way to send it.
    secret: Optional[SecretUse]
    #: The name of the header for an idempotency key, which makes a repeated request harmless.
    idempotency: Optional[str]
    #: The address that the first place's name must have. It need not be public.
    address: Optional[str]


#: The way to reach a server.
ServerTransport = Union["ServerTransportProgram", "ServerTransportWeb"]


class _ServerTransportParamProgramRequired(TypedDict):
    by: Literal['program']
    #: The program, with its digest.
    program: EndowedProgramParam
    #: The memory limit of all processes of the program together, in bytes.
    memory: int


class ServerTransportParamProgram(_ServerTransportParamProgramRequired, total=False):
    """A program of this machine, which is started in the sandbox for a run."""
    #: The arguments of the program, without its name.
    arguments: List[str]
    #: The files that the arguments name, such as scripts for an interpreter, with their digests at the time of
    #: the grant.
    files: Dict[str, BlobHash]
    #: The directories of installed packages, each with the digest of all its files at the time of the
    #: installation.
    trees: Dict[str, BlobHash]
    #: The environment variables of the program, in addition to the usual ones.
    environment: Dict[str, Setting]
    #: The absolute paths of files and directories that the program may read, mostly its own modules.
    reads: List[str]
    #: The directories that the program reaches. The first is its working directory.
    directories: List[ProgramDirectoryParam]
    #: Whether the program may open connections over the network.
    network: bool
    #: Whether the program may start other programs of this machine.
    starts_others: bool


class _ServerTransportParamWebRequired(TypedDict):
    by: Literal['web']
    #: The targets of calls. Paths are relative to the first place. The first place may redirect to the others.
    places: List[PlaceParam]
    #: The HTTP methods that may be used, in capitals.
    methods: List[str]


class ServerTransportParamWeb(_ServerTransportParamWebRequired, total=False):
    """An address on the web. Calls are posted to the first place."""
    #: The secret that is sent with requests, and the way to send it.
    secret: Optional[SecretUseParam]
    #: The name of the header for an idempotency key, which makes a repeated request harmless.
    idempotency: Optional[str]
    #: The address that the first place's name must have. It need not be public.
    address: Optional[str]


#: The way to reach a server.
ServerTransportParam = Union["ServerTransportParamProgram", "ServerTransportParamWeb"]


class SessionActList(TypedDict):
    """Lists the sessions."""
    do: Literal['list']


class SessionActRevoke(TypedDict):
    """Ends one session."""
    do: Literal['revoke']
    #: The number of the session.
    number: int


class SessionActRevokeAll(TypedDict):
    """Ends all sessions, makes all unused codes invalid, and removes all passkeys."""
    do: Literal['revoke_all']


#: An act on sessions.
SessionAct = Union["SessionActList", "SessionActRevoke", "SessionActRevokeAll"]


class SessionRow(TypedDict):
    """The session of one browser."""
    #: The number of the session.
    number: int
    #: The browser's name for itself.
    browser: Untrusted
    #: The start of the session, in milliseconds since 1970.
    begun_ms: int
    #: The end of the session, in milliseconds since 1970.
    ends_ms: int
    #: Whether the browser used a bare IP address. Its cookie may then also be sent to other ports of this
    #: machine.
    by_address: bool


class SettingText(TypedDict):
    """A text."""
    text: str


class SettingSecret(TypedDict):
    """The name of a secret, whose value is inserted when the program starts."""
    secret: str


#: The value of an environment variable.
Setting = Union["SettingText", "SettingSecret"]


class ShapeSingle(TypedDict):
    """One execution over the whole input."""
    shape: Literal['single']


class ShapeEach(TypedDict):
    """One isolated child for each item of the input, at most `jobs` at a time."""
    shape: Literal['each']
    #: The maximum number of children at work at once, at least 1.
    jobs: int
    #: The maximum number of children that are open at once, if that is more than `jobs`. A child that waits for
    #: a person is open and not at work.
    waiting: int


class ShapeItem(TypedDict):
    """The child of an `Each` run for one item."""
    shape: Literal['item']


class ShapeChat(TypedDict):
    """A conversation. After each answer, the run waits for the person to say something. It ends when it is
    cancelled.
    """
    shape: Literal['chat']


class ShapeAgentJournal(TypedDict):
    """No execution: the journal of the calls that an agent makes without a run of its own. It has no model, and
    it does not end before the agent does.
    """
    shape: Literal['agent_journal']


#: The shape of a run: one execution, several, or none.
Shape = Union["ShapeSingle", "ShapeEach", "ShapeItem", "ShapeChat", "ShapeAgentJournal"]


class ShapeParamSingle(TypedDict):
    """One execution over the whole input."""
    shape: Literal['single']


class _ShapeParamEachRequired(TypedDict):
    shape: Literal['each']
    #: The maximum number of children at work at once, at least 1.
    jobs: int


class ShapeParamEach(_ShapeParamEachRequired, total=False):
    """One isolated child for each item of the input, at most `jobs` at a time."""
    #: The maximum number of children that are open at once, if that is more than `jobs`. A child that waits for
    #: a person is open and not at work.
    waiting: int


class ShapeParamItem(TypedDict):
    """The child of an `Each` run for one item."""
    shape: Literal['item']


class ShapeParamChat(TypedDict):
    """A conversation. After each answer, the run waits for the person to say something. It ends when it is
    cancelled.
    """
    shape: Literal['chat']


class ShapeParamAgentJournal(TypedDict):
    """No execution: the journal of the calls that an agent makes without a run of its own. It has no model, and
    it does not end before the agent does.
    """
    shape: Literal['agent_journal']


#: The shape of a run: one execution, several, or none.
ShapeParam = Union["ShapeParamSingle", "ShapeParamEach", "ShapeParamItem", "ShapeParamChat", "ShapeParamAgentJournal"]


class Slot(TypedDict):
    """A named slot of a definition: the pattern of its content, and the text that a user reads when choosing."""
    #: The label that a user reads. Foreign text.
    label: Untrusted
    #: The pattern of the slot's content, encoded as a value.
    pattern: ValueParam


class _SlotBindingRequired(TypedDict):
    #: The name of the slot. `SLOT.INNER` is a slot of the worker that fills `SLOT`.
    slot: str
    #: The content of the slot.
    content: SlotContent


class SlotBinding(_SlotBindingRequired, total=False):
    """A slot of a run, and its content."""
    #: The kind of slot, as in worker files. `None` if the worker file has no such slot any more.
    kind: Optional[str]
    #: The methods about which the person did not want to be asked.
    allow: List[str]


class SlotContentTyped(TypedDict):
    """A resource that a person can type after `-e SLOT=`."""
    content: Literal['typed']
    #: The resource with all its limits, as a person would type it.
    fill: ResourceSpec


class SlotContentWorker(TypedDict):
    """A worker. Its own slots have separate bindings."""
    content: Literal['worker']
    #: The name of the worker.
    name: str
    #: The hash of the worker's definition.
    definition: BlobHash
    #: The files that the definition includes, by name.
    includes: Dict[str, BlobHash]
    #: The limits of the worker's grants. They determine which documents are handed on to the worker.
    limits: Attenuation


class SlotContentBuiltIn(TypedDict):
    """A capability that every run can have and that no user types: questions, a timer, mail or the making of
    workers.
    """
    content: Literal['built_in']


class SlotContentUntyped(TypedDict):
    """A content that cannot be typed, because it has only a name in the store or no longer exists."""
    content: Literal['untyped']
    #: The description of the content.
    words: str


#: The content of a slot: a resource that a user can type, a worker, or another capability.
SlotContent = Union["SlotContentTyped", "SlotContentWorker", "SlotContentBuiltIn", "SlotContentUntyped"]


class _SlotFillRequired(TypedDict):
    #: The description of the content.
    words: Untrusted
    #: The methods that can be called.
    methods: List[Method]


class SlotFill(_SlotFillRequired, total=False):
    """The present or planned content of a slot, as the user sees it before and after the approval."""
    #: The user's name for the content, if it has one.
    name: Optional[str]
    #: The limits of the content, as text.
    limits: List[str]
    #: The methods about which the user is asked before each call.
    asked: List[str]
    #: Whether the content is a directory that does not exist yet and would be created.
    is_new: bool
    #: The grant, if it already exists.
    grant: Optional[GrantNumber]


class SourceModel(TypedDict):
    """A model's words, by the name of the model."""
    model: str


class SourceDocumentDocument(TypedDict):
    #: The place where the document was read: the slot or `attachment`, then the path inside it.
    name: str
    #: The hash of the document's bytes.
    hash: BlobHash


class SourceDocument(TypedDict):
    """A document that a run was given or has read."""
    document: SourceDocumentDocument


class SourceRun(TypedDict):
    """The result of another run."""
    run: RunNumber


class SourceAgent(TypedDict):
    """The words of another agent."""
    agent: Number


#: One origin of a value.
Source = Union[Literal['host'], "SourceModel", "SourceDocument", "SourceRun", "SourceAgent"]


class SourceParamModel(TypedDict):
    """A model's words, by the name of the model."""
    model: str


class SourceParamDocumentDocument(TypedDict):
    #: The place where the document was read: the slot or `attachment`, then the path inside it.
    name: str
    #: The hash of the document's bytes.
    hash: BlobHash


class SourceParamDocument(TypedDict):
    """A document that a run was given or has read."""
    document: SourceParamDocumentDocument


class SourceParamRun(TypedDict):
    """The result of another run."""
    run: RunNumber


class SourceParamAgent(TypedDict):
    """The words of another agent."""
    agent: Number


#: One origin of a value.
SourceParam = Union[Literal['host'], "SourceParamModel", "SourceParamDocument", "SourceParamRun", "SourceParamAgent"]


class StalledRun(TypedDict):
    """A run of which a part has stalled: the run itself, or runs that it has started."""
    #: The run that the user has started.
    run: RunNumber
    #: The name of the run's worker.
    name: str
    #: Whether the run works on many items.
    is_batch: bool
    #: The number of stalled runs in the family.
    count: int
    #: The reason of the first stalled run. It may quote foreign text.
    message: Untrusted
    #: The remedy.
    help: str


class _StartRequired(TypedDict):
    #: The person's command, for the transcript.
    text: Untrusted
    #: The worker.
    worker: ProgramParam
    #: The shape of the run: one execution, or one for each item.
    shape: ShapeParam
    #: The model's name.
    model: str
    #: The input of the run.
    input: InputParam
    #: The bindings of the slots.
    bindings: List[BindingParam]


class Start(_StartRequired, total=False):
    """The start of a run, with the targets that are bound to the worker's slots."""
    #: Whether the input is private. Only readers who may read private data may read a private input.
    private: bool
    #: The key under which the run starts once, if the program that asks for the run has given one.
    key: Optional[KeyedRequest]


class StartShapeSingle(TypedDict):
    """One execution over the whole input."""
    shape: Literal['single']


class StartShapeChat(TypedDict):
    """A conversation. The model is asked only after the user has said something."""
    shape: Literal['chat']


class _StartShapeEachRequired(TypedDict):
    shape: Literal['each']
    #: The maximum number of children that work at the same time.
    jobs: int


class StartShapeEach(_StartShapeEachRequired, total=False):
    """One child run for each document."""
    #: The maximum number of children that are open at the same time, because they wait for a person.
    waiting: int


#: The shape of a run: one execution, a conversation or many executions.
StartShape = Union["StartShapeSingle", "StartShapeChat", "StartShapeEach"]


class StartSpec(TypedDict, total=False):
    """The start options of a worker: its inputs and documents, its endowments, and its model.

    The default hands over nothing: one execution without inputs, documents or endowments. Any model may
    process it, the default model is chosen, and the limits are those of the worker file.
    """
    #: The named inputs, as a JSON object.
    values: Dict[str, Any]
    #: The files from which named inputs were read: the name of the input and the hash of the file.
    read_from: List[List[Union[str, BlobHash]]]
    #: The documents.
    documents: List[Document]
    #: The shape of the run: one execution, a conversation or many executions.
    shape: StartShape
    #: Whether only models that may read private data may process the documents and inputs.
    private: bool
    #: The limits of the run, where they are lower than those of the worker file.
    limits: Optional[LimitsParam]
    #: The contents of slots that the user chose.
    endow: List[Endowment]
    #: The methods, as `slot.method`, about which the person does not want to be asked.
    allow: List[str]
    #: The choice of the model.
    model: ModelChoice
    #: Whether only the plan is returned, and no run is started.
    dry_run: bool
    #: An earlier run over the same documents and inputs. Only its items without a result are processed again.
    #: All other results are taken from that run.
    retry: Optional[RunNumber]


class StateReady(TypedDict):
    """The run can go on. An outbox row says that it must."""
    state: Literal['ready']


class StateWaiting(TypedDict):
    """The run waits for a person or for its children, and holds no memory."""
    state: Literal['waiting']


class StateStalled(TypedDict):
    """Something outside of the run failed. `resume` continues the run."""
    state: Literal['stalled']
    #: The failure and its remedy.
    trouble: Trouble


class StateFinished(TypedDict):
    """The run is over."""
    state: Literal['finished']
    #: The outcome of the run.
    outcome: RunOutcome


#: The state of a run.
State = Union["StateReady", "StateWaiting", "StateStalled", "StateFinished"]


class Stats(TypedDict):
    """Statistics about the outcomes of runs."""
    #: The numbers of runs, by their state.
    runs: Runs
    #: The calls of all models.
    model: ModelCalls
    #: The outcomes of calls of capabilities.
    calls: Calls
    #: The rules that asked or refused, most frequent first.
    rules: List[Rule]
    #: The approvals that users were asked for.
    approvals: Approvals
    #: The repairs by models after the refusal of a call.
    repairs: Repairs
    #: The calls of each model, most expensive first.
    models: List[ModelStats]
    #: The outcomes of the runs of each worker, the worker with most runs first.
    workers: List[WorkerStats]


class Status(TypedDict):
    """The status of a daemon."""
    #: The process identifier of the daemon.
    pid: int
    #: The build of the daemon.
    build: str
    #: The directory of the store.
    store: str
    #: The runs of the host that are at work.
    at_work: List[RunNumber]
    #: The runs of the host that wait for a time, each with the reason in a short phrase.
    waiting: List[List[Union[RunNumber, str]]]
    #: The number of runs of other hosts that are at work.
    others_at_work: int
    #: The code of all hosts that has not ended.
    code: CodeCount
    #: The number of messages that wait for an answer.
    needs_you: int
    #: The runs that have stalled. Each goes on after `almoner resume`.
    stalled: List[StalledRun]
    #: The number of commits that the store has made since the daemon started.
    commits: int
    #: The number of times that the store has waited for the disk since the daemon started.
    syncs: int


class Step(TypedDict):
    """One step of a run's journal."""
    #: The number of the step, from 1.
    number: int
    #: The time of the record, in milliseconds since 1970.
    at_ms: int
    #: The entry.
    entry: Entry
    #: The provenance of the entry.
    provenance: Provenance


class StepRef(TypedDict):
    """One step of one run's journal, written `r17#9`."""
    #: The run.
    run: RunNumber
    #: The step's number in the run's journal, from 1.
    step: int


class SurfaceControl(TypedDict):
    """The control socket, which only the daemon's own user can open."""
    surface: Literal['control']


class SurfaceWeb(TypedDict):
    """The web pages."""
    surface: Literal['web']
    #: The number of the browser's session.
    session: int


#: The surface over which a person's command reached the daemon.
Surface = Union["SurfaceControl", "SurfaceWeb"]


class Talker(TypedDict):
    """A worker with which a user can have a conversation."""
    #: The name of the worker in its file.
    name: str
    #: The latest run of the worker, or `None` if the worker is known by one of the user's names.
    run: Optional[RunNumber]
    #: The user's name for the worker.
    path: Optional[str]
    #: The names of the worker's slots.
    slots: List[str]


class _TargetResourceRequired(TypedDict):
    target: Literal['resource']
    kind: Literal['directory']
    #: The absolute path of the directory at the time of the endowment.
    path: str


class TargetResource(_TargetResourceRequired, total=False):
    """A directory of this machine."""
    #: Whether the content must not be changed.
    read_only: bool


class TargetResource2(TypedDict):
    """A directory of this machine into which outgoing mail is spooled."""
    target: Literal['resource']
    kind: Literal['outbox']
    #: The absolute path of the directory at the time of the endowment.
    path: str


class _TargetResource3Required(TypedDict):
    target: Literal['resource']
    kind: Literal['programs']
    #: The programs. No two of them have the same name.
    programs: List[EndowedProgram]
    #: The directories that the programs reach. The first is their working directory.
    directories: List[ProgramDirectory]
    #: Whether the programs may open connections over the network.
    network: bool
    #: Whether each program may start other programs of this machine.
    starts_others: bool
    #: The time limit of one call, in milliseconds.
    wall_ms: int
    #: The memory limit of all processes of a call together, in bytes.
    memory: int


class TargetResource3(_TargetResource3Required, total=False):
    """Programs of this machine that may be run."""
    #: The environment variables of the programs, in addition to the usual ones.
    environment: Dict[str, Setting]


class _TargetResource4Required(TypedDict):
    target: Literal['resource']
    kind: Literal['web']
    #: The targets of calls. Paths are relative to the first place. The first place may redirect to the others.
    places: List[Place]
    #: The HTTP methods that may be used, in capitals.
    methods: List[str]


class TargetResource4(_TargetResource4Required, total=False):
    """A part of the web."""
    #: The secret that is sent with requests, and the way to send it.
    secret: Optional[SecretUse]
    #: The name of the header for an idempotency key, which makes a repeated request harmless.
    idempotency: Optional[str]
    #: The address that the first place's name must have. It need not be public.
    address: Optional[str]


class _TargetResource5Required(TypedDict):
    target: Literal['resource']
    kind: Literal['repository']
    #: The absolute path of the working tree, with all links followed.
    path: str


class TargetResource5(_TargetResource5Required, total=False):
    """A git repository."""
    #: Whether the repository may be changed.
    write: bool
    #: The author of commits. Without one, commits carry the name of the run.
    author: Optional[Author]


class _TargetResource6Required(TypedDict):
    target: Literal['resource']
    kind: Literal['secret']
    #: The name of the secret in the vault.
    name: str


class TargetResource6(_TargetResource6Required, total=False):
    """A secret of the vault, which the worker can pass on by the slot's name but not see."""
    #: The environment variables of a program that may be set to the secret. An empty set allows any.
    variables: List[str]
    #: The programs that may get the secret, by their names in calls. An empty set allows any program that is
    #: handed over with the secret.
    programs: List[str]


class TargetResource7(TypedDict):
    """The clock of this machine."""
    target: Literal['resource']
    kind: Literal['clock']


class _TargetResource8Required(TypedDict):
    target: Literal['resource']
    kind: Literal['mcp']
    #: The user's name for the server.
    name: str
    #: The way to reach the server.
    line: ServerTransport
    #: The tools that the user named. No two of them have the same method.
    tools: List[PinnedTool]
    #: The time limit of one call, in milliseconds.
    call_ms: int
    #: The time that the server has to start, in milliseconds.
    start_ms: int


class TargetResource8(_TargetResource8Required, total=False):
    """Tools of a server."""
    #: The headers of each request, for a server on the web, beside the one that carries its key.
    headers: Dict[str, Setting]
    #: The query of the address, for a server on the web, without the `?`.
    query: str


class TargetResource9(TypedDict):
    """Questions to the user of the run."""
    target: Literal['resource']
    kind: Literal['questions']


class TargetResource10(TypedDict):
    """Waiting for a time."""
    target: Literal['resource']
    kind: Literal['alarm']


class TargetResource11(TypedDict):
    """Mail to the user of the run."""
    target: Literal['resource']
    kind: Literal['mail']


class TargetWorker(TypedDict):
    """A worker that has no slots of its own."""
    target: Literal['worker']
    #: The worker's name.
    name: str
    #: The hash of the worker's definition.
    definition: BlobHash
    #: The files that the definition includes, by name.
    includes: Dict[str, BlobHash]
    #: The limits of one run of the worker.
    limits: Limits


class TargetEndowed(TypedDict):
    """A worker with bindings for its slots. The worker holds these and nothing of its caller's."""
    target: Literal['endowed']
    #: The worker.
    program: Program
    #: The bindings of the worker's slots.
    bindings: List[Binding]


class TargetModel(TypedDict):
    """A model: a worker that passes its input on to a model of its own, with limits for all calls together."""
    target: Literal['model']
    #: The worker.
    program: Program
    #: The model, or several that are asked in turn.
    model: str


class TargetMyself(TypedDict):
    """The worker that has the slot, so that a run can call its own worker."""
    target: Literal['myself']


class TargetWorkshop(TypedDict):
    """The right of a run to make workers."""
    target: Literal['workshop']


class TargetNamed(TypedDict):
    """The formula behind one of the actor's names."""
    target: Literal['named']
    #: The name.
    path: NamePath


#: The target that a person binds to a slot.
Target = Union[Union["TargetResource", "TargetResource2", "TargetResource3", "TargetResource4", "TargetResource5", "TargetResource6", "TargetResource7", "TargetResource8", "TargetResource9", "TargetResource10", "TargetResource11"], "TargetWorker", "TargetEndowed", "TargetModel", "TargetMyself", "TargetWorkshop", "TargetNamed"]


class _TargetParamResourceRequired(TypedDict):
    target: Literal['resource']
    kind: Literal['directory']
    #: The absolute path of the directory at the time of the endowment.
    path: str


class TargetParamResource(_TargetParamResourceRequired, total=False):
    """A directory of this machine."""
    #: Whether the content must not be changed.
    read_only: bool


class TargetParamResource2(TypedDict):
    """A directory of this machine into which outgoing mail is spooled."""
    target: Literal['resource']
    kind: Literal['outbox']
    #: The absolute path of the directory at the time of the endowment.
    path: str


class _TargetParamResource3Required(TypedDict):
    target: Literal['resource']
    kind: Literal['programs']
    #: The programs. No two of them have the same name.
    programs: List[EndowedProgramParam]
    #: The time limit of one call, in milliseconds.
    wall_ms: int
    #: The memory limit of all processes of a call together, in bytes.
    memory: int


class TargetParamResource3(_TargetParamResource3Required, total=False):
    """Programs of this machine that may be run."""
    #: The directories that the programs reach. The first is their working directory.
    directories: List[ProgramDirectoryParam]
    #: The environment variables of the programs, in addition to the usual ones.
    environment: Dict[str, Setting]
    #: Whether the programs may open connections over the network.
    network: bool
    #: Whether each program may start other programs of this machine.
    starts_others: bool


class _TargetParamResource4Required(TypedDict):
    target: Literal['resource']
    kind: Literal['web']
    #: The targets of calls. Paths are relative to the first place. The first place may redirect to the others.
    places: List[PlaceParam]
    #: The HTTP methods that may be used, in capitals.
    methods: List[str]


class TargetParamResource4(_TargetParamResource4Required, total=False):
    """A part of the web."""
    #: The secret that is sent with requests, and the way to send it.
    secret: Optional[SecretUseParam]
    #: The name of the header for an idempotency key, which makes a repeated request harmless.
    idempotency: Optional[str]
    #: The address that the first place's name must have. It need not be public.
    address: Optional[str]


class _TargetParamResource5Required(TypedDict):
    target: Literal['resource']
    kind: Literal['repository']
    #: The absolute path of the working tree, with all links followed.
    path: str


class TargetParamResource5(_TargetParamResource5Required, total=False):
    """A git repository."""
    #: Whether the repository may be changed.
    write: bool
    #: The author of commits. Without one, commits carry the name of the run.
    author: Optional[AuthorParam]


class _TargetParamResource6Required(TypedDict):
    target: Literal['resource']
    kind: Literal['secret']
    #: The name of the secret in the vault.
    name: str


class TargetParamResource6(_TargetParamResource6Required, total=False):
    """A secret of the vault, which the worker can pass on by the slot's name but not see."""
    #: The environment variables of a program that may be set to the secret. An empty set allows any.
    variables: List[str]
    #: The programs that may get the secret, by their names in calls. An empty set allows any program that is
    #: handed over with the secret.
    programs: List[str]


class TargetParamResource7(TypedDict):
    """The clock of this machine."""
    target: Literal['resource']
    kind: Literal['clock']


class _TargetParamResource8Required(TypedDict):
    target: Literal['resource']
    kind: Literal['mcp']
    #: The user's name for the server.
    name: str
    #: The way to reach the server.
    line: ServerTransportParam
    #: The tools that the user named. No two of them have the same method.
    tools: List[PinnedToolParam]
    #: The time limit of one call, in milliseconds.
    call_ms: int


class TargetParamResource8(_TargetParamResource8Required, total=False):
    """Tools of a server."""
    #: The time that the server has to start, in milliseconds.
    start_ms: int
    #: The headers of each request, for a server on the web, beside the one that carries its key.
    headers: Dict[str, Setting]
    #: The query of the address, for a server on the web, without the `?`.
    query: str


class TargetParamResource9(TypedDict):
    """Questions to the user of the run."""
    target: Literal['resource']
    kind: Literal['questions']


class TargetParamResource10(TypedDict):
    """Waiting for a time."""
    target: Literal['resource']
    kind: Literal['alarm']


class TargetParamResource11(TypedDict):
    """Mail to the user of the run."""
    target: Literal['resource']
    kind: Literal['mail']


class _TargetParamWorkerRequired(TypedDict):
    target: Literal['worker']
    #: The worker's name.
    name: str
    #: The hash of the worker's definition.
    definition: BlobHash
    #: The limits of one run of the worker.
    limits: LimitsParam


class TargetParamWorker(_TargetParamWorkerRequired, total=False):
    """A worker that has no slots of its own."""
    #: The files that the definition includes, by name.
    includes: Dict[str, BlobHash]


class TargetParamEndowed(TypedDict):
    """A worker with bindings for its slots. The worker holds these and nothing of its caller's."""
    target: Literal['endowed']
    #: The worker.
    program: ProgramParam
    #: The bindings of the worker's slots.
    bindings: List[BindingParam]


class TargetParamModel(TypedDict):
    """A model: a worker that passes its input on to a model of its own, with limits for all calls together."""
    target: Literal['model']
    #: The worker.
    program: ProgramParam
    #: The model, or several that are asked in turn.
    model: str


class TargetParamMyself(TypedDict):
    """The worker that has the slot, so that a run can call its own worker."""
    target: Literal['myself']


class TargetParamWorkshop(TypedDict):
    """The right of a run to make workers."""
    target: Literal['workshop']


class TargetParamNamed(TypedDict):
    """The formula behind one of the actor's names."""
    target: Literal['named']
    #: The name.
    path: NamePath


#: The target that a person binds to a slot.
TargetParam = Union[Union["TargetParamResource", "TargetParamResource2", "TargetParamResource3", "TargetParamResource4", "TargetParamResource5", "TargetParamResource6", "TargetParamResource7", "TargetParamResource8", "TargetParamResource9", "TargetParamResource10", "TargetParamResource11"], "TargetParamWorker", "TargetParamEndowed", "TargetParamModel", "TargetParamMyself", "TargetParamWorkshop", "TargetParamNamed"]


class _TaskRequired(TypedDict):
    #: The run.
    run: RunNumber
    #: The name of the run's worker.
    worker: str
    #: The giver of the words.
    giver: TaskGiver


class Task(_TaskRequired, total=False):
    """The words with which a run began."""
    #: The words, each with the name of the input. A conversation has the user's last message.
    words: List[List[Union[str, Untrusted]]]
    #: The inputs that the user gave as files, by name, each with the name of its file. The words are those of
    #: the file.
    files: Dict[str, Untrusted]
    #: The description in the worker file, or else the beginning of its text, if no input is a text.
    description: Optional[Untrusted]
    #: The names of the documents with which the run began.
    documents: List[Untrusted]


class TaskGiverRun(TypedDict):
    """The model of another run."""
    run: RunNumber


#: The giver of a task.
TaskGiver = Union[Literal['user', 'agent'], "TaskGiverRun"]


class _TextRequired(TypedDict):
    #: Code, or a worker file.
    source: Untrusted
    #: The slots of the program.
    slots: Dict[str, Slot]


class Text(_TextRequired, total=False):
    """The text of a program."""
    #: The parts of a worker, whose bytes lie beside the store already. `None` for code.
    worker: Optional[ProgramParam]


class Thread(TypedDict):
    """A thread: messages that answer one another."""
    #: The first message of the thread. Messages that need an answer are listed elsewhere, and dismissed ones are
    #: left out.
    first: Line
    #: The number of the other messages in the thread.
    more: int


class ThreadPage(TypedDict):
    """A page of mail in threads."""
    #: The messages that need an answer, by sender. The sender of the newest message comes first.
    open: List[Asker]
    #: The number of messages that need an answer and match the filter.
    open_count: int
    #: The number of messages of all kinds that need an answer.
    all_open_count: int
    #: The threads, those with the newest messages first.
    threads: List[Thread]
    #: Messages listed one by one, newest first, if the request has a filter for kind, status or part.
    lines: List[Line]
    #: The message after which the next page begins, if there is one.
    next: Optional[MessageNumber]


class _TitleRequired(TypedDict):
    #: The sentence.
    text: Untrusted


class Title(_TitleRequired, total=False):
    """A sentence of the daemon, with the positions of its foreign words."""
    #: The first byte of each foreign part, and the byte after its last.
    quoted: List[List[int]]


#: The class of a tool: its effect, and whether it tells others its arguments.
ToolClass = Literal['reads', 'tells', 'changes', 'sends']


class _ToolRowRequired(TypedDict):
    #: The server's name for the tool.
    name: Untrusted
    #: The digest of the server's complete description of the tool.
    digest: BlobHash
    #: The purpose of the tool, in the server's words.
    description: Untrusted
    #: The parameters of the tool, in one line.
    signature: Untrusted
    #: Whether the server says that the tool only reads. This has no effect.
    says_it_reads: bool
    #: The reason why the tool cannot be handed over, if so.
    problem: Optional[str]


class ToolRow(_ToolRowRequired, total=False):
    """One tool."""
    #: Whether the server says that the tool reaches others, or `None` if it does not say. A yes counts against
    #: the tool.
    says_it_reaches_others: Optional[bool]
    #: Whether the server says that the tool may destroy something, or `None` if it does not say. This has no
    #: effect.
    says_it_destroys: Optional[bool]


class _ToolTableRequired(TypedDict):
    #: The user's name for the server.
    server: str
    #: The tools, in the order of the server.
    tools: List[ToolRow]


class ToolTable(_ToolTableRequired, total=False):
    """The tools of one server."""
    #: The faults of the server's list, in our own words.
    notes: List[str]


class _TraceRequired(TypedDict):
    #: The argument's parameter name.
    argument: str
    #: The part of the argument that was found.
    text: str
    #: The name of the document or result that holds the text, such as `docs/a.txt` or `mcp:mail/search`.
    document: str
    #: The form of the text in the document: `as written`, or the decoding that revealed it (`base64`, `percent-
    #: encoding`, …).
    how: str


class Trace(_TraceRequired, total=False):
    """A place at which the run has read the words of an argument that the user did not give."""
    #: The arguments of the call that returned the result, such as `query "rent"`. `None` for a document, and for
    #: a call whose argument is already in the name.
    call: Optional[str]


class Tree(TypedDict):
    """A tree of files and directories that never change."""
    #: The hash of the bytes that list the content of the tree.
    hash: BlobHash
    #: The identifier that Endo's clients use. It is the SHA-256, as hexadecimal digits, of such a list in their
    #: form.
    sha256: str


class Trouble(TypedDict):
    """A failure and its remedy."""
    #: A short, stable name: `model/unauthorized`, `output/invalid`, …
    code: str
    #: The failure, in one sentence. It may quote foreign text.
    message: Untrusted
    #: The remedy.
    help: str


class TroubleParam(TypedDict):
    """A failure and its remedy."""
    #: A short, stable name: `model/unauthorized`, `output/invalid`, …
    code: str
    #: The failure, in one sentence. It may quote foreign text.
    message: Untrusted
    #: The remedy.
    help: str


_UndoEntryFields = TypedDict('_UndoEntryFields', {
    'path': 'Untrusted',
    'step': 'StepRef',
    'from': 'str',
    'to': 'str',
    'state': 'UndoState',
})


class UndoEntry(_UndoEntryFields):
    """A file or directory that a run changed."""


class _UndoReportRequired(TypedDict):
    #: The run.
    run: RunNumber
    #: Whether the report is only a preview.
    dry_run: bool
    #: All changes of the run in directories, the latest first.
    entries: List[UndoEntry]
    #: The effects of the run that cannot be undone.
    beyond: List[Untrusted]


class UndoReport(_UndoReportRequired, total=False):
    """The report about a run's changes that were undone or applied, or about a preview of that."""
    #: The changes in staged copies that cannot be applied, such as symbolic links that a program made.
    unappliable: List[Untrusted]


class UndoStateWould(TypedDict):
    """The change would be made."""
    state: Literal['would']


class UndoStateDone(TypedDict):
    """The change was made."""
    state: Literal['done']


class UndoStateAlready(TypedDict):
    """The path already has the wanted state."""
    state: Literal['already']


class UndoStateConflict(TypedDict):
    """Somebody else has changed the path since, so it was left alone."""
    state: Literal['conflict']
    #: The present state of the path, as text.
    now: str


class UndoStateFailed(TypedDict):
    """The change could not be made."""
    state: Literal['failed']
    #: The reason.
    why: Untrusted


#: The outcome of an undo, or of applying a staged copy, for one path.
UndoState = Union["UndoStateWould", "UndoStateDone", "UndoStateAlready", "UndoStateConflict", "UndoStateFailed"]


#: Text that a model, a file, a guest or a user may have written. It is shown only after control characters and
#: look-alikes were made visible.
Untrusted = str


class _UsageRequired(TypedDict):
    #: The number of tokens that models read.
    input_tokens: int
    #: The number of tokens that models wrote.
    output_tokens: int
    #: The time that models took, in milliseconds.
    model_ms: int


class Usage(_UsageRequired, total=False):
    """The usage of a run."""
    #: The cost of models, in millionths of a dollar, by the prices that were known at each answer.
    usd_micros: int
    #: The number of these tokens that no server reported. They are estimated from the text.
    estimated_tokens: int
    #: The number of bytes that are kept: journal, requests, replies, and results beside the journal.
    kept_bytes: int


class _UseRequired(TypedDict):
    #: The step that proposed the call, or `None` if no run's journal contains it.
    at: Optional[StepRef]
    #: The code or the agent that made the call, if no run did.
    by: Optional[FormulaId]
    #: The time of the call, in milliseconds since 1970.
    at_ms: int
    #: The method, in the caller's words.
    method: Untrusted
    #: The outcome, as text.
    outcome: str


_UseFields = TypedDict('_UseFields', {
    'with': 'Optional[Untrusted]',
}, total=False)


class Use(_UseRequired, _UseFields, total=False):
    """A call through a grant."""


class UserCommand(TypedDict):
    """A command as a person gave it."""
    #: The verb of the command.
    verb: str
    #: The whole text of the command.
    text: Untrusted


class Value(TypedDict):
    """A passable value in smallcaps, with its references as slots."""
    #: The encoding in smallcaps: `#`, and then JSON.
    body: str
    slots: List[FormulaId]


class ValueParam(TypedDict):
    """A passable value in smallcaps, with its references as slots."""
    #: The encoding in smallcaps: `#`, and then JSON.
    body: str
    slots: List[FormulaId]


class VaultView(TypedDict):
    """The vault as it is shown, without values."""
    #: The protection of the key, or `None` if there is no vault yet.
    protection: Optional[Protection]
    #: Whether the vault exists but cannot be read.
    locked: bool
    #: Whether this machine has a keyring that could hold the key.
    keyring: bool
    #: The secrets, by name.
    secrets: List[SecretRow]


class VendorKey(TypedDict):
    """A vendor of models, with the variables for its key."""
    #: The name of the vendor in references to models.
    name: str
    #: The environment variable that holds the key, if one does.
    key: Optional[str]
    #: The variables that may hold a key.
    variables: List[str]


class _VerdictRequired(TypedDict):
    #: The strictest answer of any gate.
    decision: Decision
    #: All reasons for the decision, because every gate runs.
    findings: List[Finding]
    #: The hash of the set of gates that judged.
    gates: BlobHash


class Verdict(_VerdictRequired, total=False):
    """The joint verdict of all gates on one proposal. It is recorded, and never recomputed on replay."""
    #: The authority that would have made the question unnecessary, if the decision is to ask.
    lift: Optional[Lift]


class _WebRequired(TypedDict):
    #: The targets of calls. Paths are relative to the first place. The first place may redirect to the others.
    places: List[Place]
    #: The HTTP methods that may be used, in capitals.
    methods: List[str]


class Web(_WebRequired, total=False):
    """A part of the web that a person hands over."""
    #: The secret that is sent with requests, and the way to send it.
    secret: Optional[SecretUse]
    #: The name of the header for an idempotency key, which makes a repeated request harmless.
    idempotency: Optional[str]
    #: The address that the first place's name must have. It need not be public.
    address: Optional[str]


class _WebParamRequired(TypedDict):
    #: The targets of calls. Paths are relative to the first place. The first place may redirect to the others.
    places: List[PlaceParam]
    #: The HTTP methods that may be used, in capitals.
    methods: List[str]


class WebParam(_WebParamRequired, total=False):
    """A part of the web that a person hands over."""
    #: The secret that is sent with requests, and the way to send it.
    secret: Optional[SecretUseParam]
    #: The name of the header for an idempotency key, which makes a repeated request harmless.
    idempotency: Optional[str]
    #: The address that the first place's name must have. It need not be public.
    address: Optional[str]


class _WithheldRequired(TypedDict):
    #: The reader's name for the recipient.
    to: str
    #: The capabilities in the result, each once. `None` stands for one that no longer exists.
    gives: List[Optional[Powers]]


class Withheld(_WithheldRequired, total=False):
    """A result that is withheld because it carries capabilities."""
    #: The complete result as text, including data. Each capability appears as its number in `gives` and the
    #: reader's name for it. Foreign text. `None` if the result is a single capability.
    text: Optional[Untrusted]


class _WorkerPreviewRequired(TypedDict):
    #: The digest of the worker's text.
    digest: str
    #: The slots of the worker, in the order of its file.
    slots: List[MadeSlot]


class WorkerPreview(_WorkerPreviewRequired, total=False):
    """A worker that a call makes."""
    #: The difference between the proposed text and the user's text, if the user has edited it.
    edited: Optional[Untrusted]


class _WorkerSourceRequired(TypedDict):
    #: The worker's name.
    name: str
    #: The text of the definition.
    source: str


class WorkerSource(_WorkerSourceRequired, total=False):
    """A worker file as text, with everything that its definition reads from the directory of the file."""
    #: The files that the definition includes, by name.
    includes: Dict[str, str]
    #: The directory of the worker file. Workers for unbound worker slots are searched in it.
    beside: Optional[str]
    #: The policies under which the worker ran before, used if the directory has no policy file. They may only
    #: forbid.
    policy: Optional[str]


class WorkerStats(TypedDict):
    """The outcomes of the runs of one worker."""
    #: The name of the worker.
    worker: str
    #: The runs of the worker.
    runs: Runs
    #: The calls of models by these runs, without those of the runs that they started.
    model: ModelCalls


#: The reason for which an item has given its place to the next item.
YieldReason = Literal['person', 'stall']


#: A frame after `follow`.
FollowResponse = Union["ResponseEvent", "ResponseProgress", "ResponseText", "ResponseStuck"]


class Requests:
    """One method for each request, query and act."""

    def _ask(self, request: Dict[str, Any], expected: Tuple[str, ...]) -> Any:
        """Sends a request and returns its response, which is one of these."""
        raise NotImplementedError

    def status(self) -> Status:
        """The status of the daemon."""
        found: Status = self._ask({'request': 'status'}, ('status',))["body"]
        return found

    def server_tools(self, *, server: str, start_ms: Optional[int] = None) -> ToolTable:
        """The tools that a configured server currently describes."""
        found: ToolTable = self._ask({'request': 'server_tools', 'server': server, **_some(start_ms=start_ms)}, ('server_tools',))["body"]
        return found

    def run(self, *, text: Untrusted, worker: WorkerSource, spec: Optional[StartSpec] = None, key: Optional[RunKey] = None) -> Union[ResponseReply, ResponsePlan]:
        """Starts a run."""
        found: Union[ResponseReply, ResponsePlan] = self._ask({'request': 'run', 'text': text, 'worker': worker, **_some(spec=spec, key=key)}, ('reply', 'plan'))
        return found

    def approve(self, *, text: Untrusted, message: MessageNumber, for_run: bool, entries: Optional[List[int]] = None, endow: Optional[List[Endowment]] = None, names: Optional[Dict[str, NamePath]] = None, seen: Optional[Dict[str, FormulaId]] = None, allow: Optional[List[str]] = None, edited: Optional[str] = None, raise_: Optional[RaiseParam] = None) -> Reply:
        """Approves entries of an approval."""
        found: Reply = self._ask({'request': 'approve', 'text': text, 'message': message, 'for_run': for_run, **_some(entries=entries, endow=endow, names=names, seen=seen, allow=allow, edited=edited, raise_=raise_)}, ('reply',))["body"]
        return found

    def answer_all(self, *, text: Untrusted, approvals: List[SeenApproval], denied: Optional[Untrusted] = None) -> Reply:
        """Answers several approvals in the same way."""
        found: Reply = self._ask({'request': 'answer_all', 'text': text, 'approvals': approvals, **_some(denied=denied)}, ('reply',))["body"]
        return found

    def batch_asks(self) -> List[BatchAsks]:
        """Returns the open approvals of batches."""
        found: List[BatchAsks] = self._ask({'request': 'batch_asks'}, ('batch_asks',))["body"]
        return found

    def preview_extras(self, *, message: MessageNumber, entry: int, endow: Optional[List[Endowment]] = None, names: Optional[Dict[str, NamePath]] = None, seen: Optional[Dict[str, FormulaId]] = None, allow: Optional[List[str]] = None, edited: Optional[str] = None) -> ExtrasPreview:
        """Previews a user's additions to a worker that an entry of an approval makes. This answers no message."""
        found: ExtrasPreview = self._ask({'request': 'preview_extras', 'message': message, 'entry': entry, **_some(endow=endow, names=names, seen=seen, allow=allow, edited=edited)}, ('extras_preview',))["body"]
        return found

    def deny(self, *, text: Untrusted, message: MessageNumber, reason: Untrusted, entries: Optional[List[int]] = None) -> Reply:
        """Denies entries of an approval."""
        found: Reply = self._ask({'request': 'deny', 'text': text, 'message': message, 'reason': reason, **_some(entries=entries)}, ('reply',))["body"]
        return found

    def confirm_outcome(self, *, text: Untrusted, message: MessageNumber, happened: bool) -> Reply:
        """States whether a call happened whose outcome a crash left unknown. If it did not happen, it is
        performed now.
        """
        found: Reply = self._ask({'request': 'confirm_outcome', 'text': text, 'message': message, 'happened': happened}, ('reply',))["body"]
        return found

    def audit(self, *, last: Optional[int] = None, before: Optional[int] = None, contains: Optional[AnchorParam] = None, unverified: Optional[bool] = None) -> AuditReport:
        """Verifies the event log and the records that it describes."""
        found: AuditReport = self._ask({'request': 'audit', **_some(last=last, before=before, contains=contains, unverified=unverified)}, ('audited',))["body"]
        return found

    def say(self, *, text: Untrusted, run: RunNumber, said: Untrusted, documents: Optional[List[Document]] = None, dry_run: Optional[bool] = None) -> Reply:
        """Sends a text to a run that is a conversation."""
        found: Reply = self._ask({'request': 'say', 'text': text, 'run': run, 'said': said, **_some(documents=documents, dry_run=dry_run)}, ('reply',))["body"]
        return found

    def undo(self, *, text: Untrusted, run: RunNumber, only: List[str], dry_run: bool, gives_up: Optional[bool] = None) -> UndoReport:
        """Restores the files that a run changed, or previews that."""
        found: UndoReport = self._ask({'request': 'undo', 'text': text, 'run': run, 'only': only, 'dry_run': dry_run, **_some(gives_up=gives_up)}, ('undo_report',))["body"]
        return found

    def diff(self, *, run: RunNumber, only: List[str]) -> Diff:
        """The changes of a run in its staged copies, as one diff."""
        found: Diff = self._ask({'request': 'diff', 'run': run, 'only': only}, ('diff',))["body"]
        return found

    def apply(self, *, text: Untrusted, run: RunNumber, only: List[str], parts: Optional[List[PartParam]] = None) -> UndoReport:
        """Applies a run's changes in its staged copies to the real files."""
        found: UndoReport = self._ask({'request': 'apply', 'text': text, 'run': run, 'only': only, **_some(parts=parts)}, ('undo_report',))["body"]
        return found

    def discard(self, *, text: Untrusted, run: RunNumber, only: Optional[List[str]] = None, parts: Optional[List[PartParam]] = None) -> Reply:
        """Discards a run's changes in its staged copies."""
        found: Reply = self._ask({'request': 'discard', 'text': text, 'run': run, **_some(only=only, parts=parts)}, ('reply',))["body"]
        return found

    def forget(self, *, text: Untrusted, run: RunNumber) -> List[RunNumber]:
        """Deletes the inputs of a run and of all runs that it started."""
        found: List[RunNumber] = self._ask({'request': 'forget', 'text': text, 'run': run}, ('forgotten',))["body"]
        return found

    def gc(self) -> FreedSpace:
        """Runs the garbage collection now."""
        found: FreedSpace = self._ask({'request': 'gc'}, ('freed',))["body"]
        return found

    def export(self, *, run: RunNumber, from_: int) -> List[Any]:
        """A page of a run for a copy outside the store. Entry 0 is the run itself, and its steps follow from 1."""
        found: List[Any] = self._ask({'request': 'export', 'run': run, 'from': from_}, ('exported',))["body"]
        return found

    def copy(self, *, hash: BlobHash) -> Optional[Copy]:
        """Stored bytes for a copy outside the store."""
        found: Optional[Copy] = self._ask({'request': 'copy', 'hash': hash}, ('copy',))["body"]
        return found

    def sent_request(self, *, run: RunNumber, number: Optional[int] = None) -> SentRequest:
        """A request of a run to a model, as it was sent."""
        found: SentRequest = self._ask({'request': 'sent_request', 'run': run, **_some(number=number)}, ('sent_request',))["body"]
        return found

    def resume(self, *, text: Optional[Untrusted] = None, run: Optional[RunNumber] = None) -> Reply:
        """Resumes a stalled run, or all stalled runs."""
        found: Reply = self._ask({'request': 'resume', **_some(text=text, run=run)}, ('reply',))["body"]
        return found

    def runs(self, *, limit: int, below: Optional[RunNumber] = None, roots: Optional[bool] = None) -> List[Run]:
        """A page of the runs, newest first."""
        found: List[Run] = self._ask({'request': 'runs', 'limit': limit, **_some(below=below, roots=roots)}, ('runs',))["body"]
        return found

    def chats(self, *, open: bool, limit: int, below: Optional[RunNumber] = None) -> List[ChatRow]:
        """A page of the conversations, newest first."""
        found: List[ChatRow] = self._ask({'request': 'chats', 'open': open, 'limit': limit, **_some(below=below)}, ('chats',))["body"]
        return found

    def talkers(self) -> List[Talker]:
        """The workers with which a user can have a conversation."""
        found: List[Talker] = self._ask({'request': 'talkers'}, ('talkers',))["body"]
        return found

    def family(self, *, run: RunNumber) -> Family:
        """A run and its descendants that are not finished."""
        found: Family = self._ask({'request': 'family', 'run': run}, ('family',))["body"]
        return found

    def get_run(self, *, run: RunNumber) -> Run:
        """One run."""
        found: Run = self._ask({'request': 'get_run', 'run': run}, ('run',))["body"]
        return found

    def bindings(self, *, run: RunNumber) -> List[SlotBinding]:
        """The bindings of a run's slots."""
        found: List[SlotBinding] = self._ask({'request': 'bindings', 'run': run}, ('bindings',))["body"]
        return found

    def journal(self, *, run: RunNumber, from_: Optional[int] = None, limit: Optional[int] = None) -> List[Step]:
        """A page of the journal of a run."""
        found: List[Step] = self._ask({'request': 'journal', 'run': run, **_some(from_=from_, limit=limit)}, ('journal',))["body"]
        return found

    def messages(self, *, filter: MessageFilter, page: Optional[PageBounds] = None) -> Union[ResponseMailbox, ResponseThreads, ResponseAnswers]:
        """A page of messages. The mailbox of any agent can be listed one by one, but threads and answers only
        for a host.
        """
        found: Union[ResponseMailbox, ResponseThreads, ResponseAnswers] = self._ask({'request': 'messages', 'filter': filter, **_some(page=page)}, ('mailbox', 'threads', 'answers'))
        return found

    def card(self, *, message: MessageNumber) -> Card:
        """An approval as it is shown to the user."""
        found: Card = self._ask({'request': 'card', 'message': message}, ('card',))["body"]
        return found

    def open_card(self, *, message: MessageNumber) -> ResponseCardOpeningBody:
        """Notes that the user has an approval before them in full."""
        found: ResponseCardOpeningBody = self._ask({'request': 'open_card', 'message': message}, ('card_opening',))["body"]
        return found

    def why(self, *, thing: str) -> List[Reason]:
        """The origin of an object."""
        found: List[Reason] = self._ask({'request': 'why', 'thing': thing}, ('why',))["body"]
        return found

    def blob(self, *, hash: BlobHash) -> Optional[str]:
        """Stored bytes as text."""
        found: Optional[str] = self._ask({'request': 'blob', 'hash': hash}, ('blob',))["body"]
        return found

    def last_event(self) -> int:
        """The number of the last event. Later events have higher numbers."""
        found: int = self._ask({'request': 'last_event'}, ('last_event',))["body"]
        return found

    def pass_(self) -> Pass:
        """A one-use token with which a client of the gateway acts as this agent."""
        found: Pass = self._ask({'request': 'pass'}, ('pass',))["body"]
        return found

    def stats(self, *, since_ms: Optional[int] = None) -> Stats:
        """Statistics about the outcomes of runs."""
        found: Stats = self._ask({'request': 'stats', **_some(since_ms=since_ms)}, ('stats',))["body"]
        return found

    def web(self, *, to: str, by_address: Optional[bool] = None) -> str:
        """Starts the web pages, and returns an address that admits one browser."""
        found: str = self._ask({'request': 'web', 'to': to, **_some(by_address=by_address)}, ('web',))["body"]
        return found

    def sessions(self, *, act: SessionAct) -> List[SessionRow]:
        """Lists the sessions of the web pages, or ends some."""
        found: List[SessionRow] = self._ask({'request': 'sessions', 'act': act}, ('sessions',))["body"]
        return found

    def secret(self, *, act: SecretAct) -> VaultView:
        """Performs an act on the vault."""
        found: VaultView = self._ask({'request': 'secret', 'act': act}, ('secrets',))["body"]
        return found

    def login(self, *, act: LoginAct) -> LoginAnswer:
        """Performs an act on the logins at tool servers."""
        found: LoginAnswer = self._ask({'request': 'login', 'act': act}, ('login',))["body"]
        return found

    def examine(self, *, part: str) -> List[HealthCheck]:
        """Examines a part of the installation. This may take seconds."""
        found: List[HealthCheck] = self._ask({'request': 'examine', 'part': part}, ('examined',))["body"]
        return found

    def models(self) -> ModelList:
        """The list of models, for the environment variables that the client has sent."""
        found: ModelList = self._ask({'request': 'models'}, ('models',))["body"]
        return found

    def save(self, *, run: RunNumber, name: str, dir: str, write: bool) -> SaveReport:
        """Saves a run as a worker with a test, or returns a preview of that."""
        found: SaveReport = self._ask({'request': 'save', 'run': run, 'name': name, 'dir': dir, 'write': write}, ('saved',))["body"]
        return found

    def policy(self) -> PolicyFile:
        """The operator's policies in force."""
        found: PolicyFile = self._ask({'request': 'policy'}, ('policy',))["body"]
        return found

    def backup(self, *, path: str, with_key: Optional[bool] = None) -> BackupReport:
        """Copies the whole home to one file."""
        found: BackupReport = self._ask({'request': 'backup', 'path': path, **_some(with_key=with_key)}, ('backed_up',))["body"]
        return found

    def stop(self) -> Reply:
        """Stops the daemon."""
        found: Reply = self._ask({'request': 'stop'}, ('reply',))["body"]
        return found

    def replace(self, *, build: str) -> Reply:
        """Stops the daemon, so that a daemon of another build takes its place. A service manager starts it
        again.
        """
        found: Reply = self._ask({'request': 'replace', 'build': build}, ('reply',))["body"]
        return found

    def look_names(self, *, path: Optional[NamePath] = None) -> List[NameRow]:
        """The names in a directory. Without a path, they are the agent's own names."""
        found: List[NameRow] = self._ask({'request': 'look', 'look': {'look': 'names', **_some(path=path)}}, ('names',))["body"]
        return found

    def look_name_page(self, *, limit: int, path: Optional[NamePath] = None, find: Optional[str] = None, from_: Optional[int] = None) -> NamePage:
        """A page of the names in a directory."""
        found: NamePage = self._ask({'request': 'look', 'look': {'look': 'name_page', 'limit': limit, **_some(path=path, find=find, from_=from_)}}, ('name_page',))["body"]
        return found

    def look_object(self, *, path: NamePath) -> ObjectView:
        """The object of a name."""
        found: ObjectView = self._ask({'request': 'look', 'look': {'look': 'object', 'path': path}}, ('object',))["body"]
        return found

    def look_identifier(self, *, path: NamePath) -> Optional[FormulaId]:
        """The formula that has a name, whether or not it can be used."""
        found: Optional[FormulaId] = self._ask({'request': 'look', 'look': {'look': 'identifier', 'path': path}}, ('identifier',))["body"]
        return found

    def look_grants(self) -> List[GrantRow]:
        """The grants that the agent gave."""
        found: List[GrantRow] = self._ask({'request': 'look', 'look': {'look': 'grants'}}, ('grants',))["body"]
        return found

    def look_message(self, *, number: MessageNumber) -> MessageView:
        """One message in full."""
        found: MessageView = self._ask({'request': 'look', 'look': {'look': 'message', 'number': number}}, ('message',))["body"]
        return found

    def look_promise(self, *, promise: FormulaId, wait: bool) -> PromiseState:
        """The state of a promise. With `wait`, the answer comes as soon as the promise is settled."""
        found: PromiseState = self._ask({'request': 'look', 'look': {'look': 'promise', 'promise': promise, 'wait': wait}}, ('promise',))["body"]
        return found

    def look_origin(self, *, thing: str) -> List[Reason]:
        """The origin of a named object."""
        found: List[Reason] = self._ask({'request': 'look', 'look': {'look': 'origin', 'thing': thing}}, ('why',))["body"]
        return found

    def look_code(self, *, thing: str, from_: Optional[int] = None) -> CodePage:
        """A page of the journal of endowed code."""
        found: CodePage = self._ask({'request': 'look', 'look': {'look': 'code', 'thing': thing, **_some(from_=from_)}}, ('code',))["body"]
        return found

    def look_picks(self) -> List[PickRow]:
        """The agent's named objects that can be picked as a capability."""
        found: List[PickRow] = self._ask({'request': 'look', 'look': {'look': 'picks'}}, ('picks',))["body"]
        return found

    def look_narrowable(self, *, path: NamePath, by: Optional[Narrowing] = None) -> Narrowable:
        """The possible restrictions of one of the agent's named objects, and the result of applying some of
        them.
        """
        found: Narrowable = self._ask({'request': 'look', 'look': {'look': 'narrowable', 'path': path, **_some(by=by)}}, ('narrowable',))["body"]
        return found

    def look_proposed(self, *, number: MessageNumber) -> ProgramProposal:
        """The program that a message proposes, with its use of the objects that it would receive."""
        found: ProgramProposal = self._ask({'request': 'look', 'look': {'look': 'proposed', 'number': number}}, ('proposed',))["body"]
        return found

    def look_endowed(self, *, number: MessageNumber) -> List[EndowedView]:
        """The outcomes of a definition, one for each endowment."""
        found: List[EndowedView] = self._ask({'request': 'look', 'look': {'look': 'endowed', 'number': number}}, ('endowed',))["body"]
        return found

    def look_retention_paths(self, *, thing: str) -> List[List[str]]:
        """The reasons why an object is kept in the store."""
        found: List[List[str]] = self._ask({'request': 'look', 'look': {'look': 'retention_paths', 'thing': thing}}, ('retention_paths',))["body"]
        return found

    def look_formula_summaries(self, *, ids: List[FormulaId]) -> List[FormulaSummary]:
        """The agent's names for formulas, and their descriptions. Formulas that no longer exist are left out."""
        found: List[FormulaSummary] = self._ask({'request': 'look', 'look': {'look': 'formula_summaries', 'ids': ids}}, ('formula_summaries',))["body"]
        return found

    def look_formula(self, *, id: FormulaId) -> FormulaView:
        """A formula with its references, and with the formulas that refer to it."""
        found: FormulaView = self._ask({'request': 'look', 'look': {'look': 'formula', 'id': id}}, ('formula',))["body"]
        return found

    def look_grant(self, *, grant: GrantNumber) -> GrantView:
        """A grant that the agent gave, with its usage and with the grants that end with it."""
        found: GrantView = self._ask({'request': 'look', 'look': {'look': 'grant', 'grant': grant}}, ('grant',))["body"]
        return found

    def look_graph(self, *, focus: Optional[str] = None) -> Graph:
        """The formulas that can be reached from the agent's names, grants and open runs."""
        found: Graph = self._ask({'request': 'look', 'look': {'look': 'graph', **_some(focus=focus)}}, ('graph',))["body"]
        return found

    def act_name(self, *, act: NameAct, said: Optional[UserCommand] = None) -> Reply:
        """Changes names."""
        found: Reply = self._ask({'request': 'act', 'act': {'do': 'name', 'act': act}, **_some(said=said)}, ('reply',))["body"]
        return found

    def act_store_text(self, *, text: str, path: NamePath, force: Optional[bool] = None, said: Optional[UserCommand] = None) -> Reply:
        """Stores text as a blob, under a name."""
        found: Reply = self._ask({'request': 'act', 'act': {'do': 'store_text', 'text': text, 'path': path, **_some(force=force)}, **_some(said=said)}, ('reply',))["body"]
        return found

    def act_provide(self, *, act: ProvideAgent, said: Optional[UserCommand] = None) -> Reply:
        """Creates an agent."""
        found: Reply = self._ask({'request': 'act', 'act': {'do': 'provide', 'act': act}, **_some(said=said)}, ('reply',))["body"]
        return found

    def act_mail(self, *, act: MailAct, said: Optional[UserCommand] = None) -> Reply:
        """Performs an act on mail. Definitions, endowments and submitted forms have variants of their own."""
        found: Reply = self._ask({'request': 'act', 'act': {'do': 'mail', 'act': act}, **_some(said=said)}, ('reply',))["body"]
        return found

    def act_define(self, *, to: NamePath, name: str, source: str, includes: Dict[str, str], slots: Dict[str, List[str]], result_name: Optional[NamePath] = None, edit: Optional[MessageNumber] = None, done: Optional[int] = None, said: Optional[UserCommand] = None) -> Reply:
        """Proposes a program to another agent."""
        found: Reply = self._ask({'request': 'act', 'act': {'do': 'define', 'to': to, 'name': name, 'source': source, 'includes': includes, 'slots': slots, **_some(result_name=result_name, edit=edit, done=done)}, **_some(said=said)}, ('reply',))["body"]
        return found

    def act_endow(self, *, number: MessageNumber, names: Dict[str, NamePath], spec: StartSpec, goes_to: ResultGoesTo, result_name: Optional[NamePath] = None, seen: Optional[SeenEndowment] = None, said: Optional[UserCommand] = None) -> Union[ResponseReply, ResponsePlan]:
        """Endows a proposed program. Code is evaluated, and a worker starts to run."""
        found: Union[ResponseReply, ResponsePlan] = self._ask({'request': 'act', 'act': {'do': 'endow', 'number': number, 'names': names, 'spec': spec, 'goes_to': goes_to, **_some(result_name=result_name, seen=seen)}, **_some(said=said)}, ('reply', 'plan'))
        return found

    def act_make(self, *, given: GivenModules, powers: Optional[NamePath] = None, env: Optional[Dict[str, str]] = None, result_name: Optional[NamePath] = None, said: Optional[UserCommand] = None) -> Reply:
        """Runs a program made of modules."""
        found: Reply = self._ask({'request': 'act', 'act': {'do': 'make', 'given': given, **_some(powers=powers, env=env, result_name=result_name)}, **_some(said=said)}, ('reply',))["body"]
        return found

    def act_resolve(self, *, number: MessageNumber, answered: AnswerInput, said: Optional[UserCommand] = None) -> Reply:
        """Answers a request."""
        found: Reply = self._ask({'request': 'act', 'act': {'do': 'resolve', 'number': number, 'answered': answered}, **_some(said=said)}, ('reply',))["body"]
        return found

    def act_submit(self, *, number: MessageNumber, values: Dict[str, FieldInput], said: Optional[UserCommand] = None) -> Reply:
        """Submits a form."""
        found: Reply = self._ask({'request': 'act', 'act': {'do': 'submit', 'number': number, 'values': values}, **_some(said=said)}, ('reply',))["body"]
        return found

    def act_share(self, *, path: NamePath, said: Optional[UserCommand] = None) -> str:
        """Creates a one-use sharing token."""
        found: str = self._ask({'request': 'act', 'act': {'do': 'share', 'path': path}, **_some(said=said)}, ('token',))["body"]
        return found

    def act_accept(self, *, token: str, path: NamePath, said: Optional[UserCommand] = None) -> Reply:
        """Uses a sharing token."""
        found: Reply = self._ask({'request': 'act', 'act': {'do': 'accept', 'token': token, 'path': path}, **_some(said=said)}, ('reply',))["body"]
        return found

    def act_narrow(self, *, path: NamePath, by: Narrowing, to: NamePath, is_: Optional[FormulaId] = None, force: Optional[bool] = None, said: Optional[UserCommand] = None) -> Reply:
        """Creates a narrower version of one of the agent's objects, under a name. It can then be handed on
        instead of the original.
        """
        found: Reply = self._ask({'request': 'act', 'act': {'do': 'narrow', 'path': path, 'by': by, 'to': to, **_some(is_=is_, force=force)}, **_some(said=said)}, ('reply',))["body"]
        return found

    def act_revoke(self, *, grant: GrantNumber, said: Optional[UserCommand] = None) -> Reply:
        """Revokes a grant that the agent gave, such as `g4`."""
        found: Reply = self._ask({'request': 'act', 'act': {'do': 'revoke', 'grant': grant}, **_some(said=said)}, ('reply',))["body"]
        return found

    def act_cancel(self, *, what: Cancel, reason: Untrusted, said: Optional[UserCommand] = None) -> Reply:
        """Cancels work."""
        found: Reply = self._ask({'request': 'act', 'act': {'do': 'cancel', 'what': what, 'reason': reason}, **_some(said=said)}, ('reply',))["body"]
        return found

    def act_remake(self, *, path: NamePath, said: Optional[UserCommand] = None) -> Reply:
        """Lets another engine than the original one recreate the objects that code has made."""
        found: Reply = self._ask({'request': 'act', 'act': {'do': 'remake', 'path': path}, **_some(said=said)}, ('reply',))["body"]
        return found

    def act_make_timer(self, *, path: NamePath, interval_ms: int, label: Untrusted, said: Optional[UserCommand] = None) -> Reply:
        """Creates a timer that starts now."""
        found: Reply = self._ask({'request': 'act', 'act': {'do': 'make_timer', 'path': path, 'interval_ms': interval_ms, 'label': label}, **_some(said=said)}, ('reply',))["body"]
        return found

    def act_ticks(self, *, path: NamePath, begin: bool, said: Optional[UserCommand] = None) -> Reply:
        """Starts or stops sending a message to the agent for each tick of a timer."""
        found: Reply = self._ask({'request': 'act', 'act': {'do': 'ticks', 'path': path, 'begin': begin}, **_some(said=said)}, ('reply',))["body"]
        return found

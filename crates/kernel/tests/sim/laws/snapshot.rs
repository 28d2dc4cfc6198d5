//! A store's rows, read once for all laws.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use kernel::formula::Formula;
use kernel::message::Mail;
use kernel::table::{FormulaRow, PromiseRow};
use kernel::txn::{NO_OWNER, Owner, ReadTxn as _, Table, decode_row};
use kernel::{FormulaId, MessageNumber};

use crate::simulation::Simulation;

pub(crate) type Number = [u8; 32];

/// Returns the part of a place that is a number.
pub(crate) fn number(bytes: &[u8]) -> Number {
    bytes[..32].try_into().unwrap()
}

pub(crate) struct Snapshot {
    pub(crate) formulas: HashMap<Number, Formula>,
    /// The formulas that are being removed at present, in several steps.
    pub(crate) going: HashSet<Number>,
    /// The owner, pet store, name and target of each name.
    pub(crate) names: Vec<(Owner, Number, String, FormulaId)>,
    /// By owner and mailbox.
    pub(crate) mail: BTreeMap<(Owner, Number), BTreeMap<MessageNumber, Mail>>,
    /// The owner, mailbox and number of each message that is listed as waiting.
    pub(crate) awaiting: BTreeSet<(Owner, Number, MessageNumber)>,
    pub(crate) promises: HashMap<Number, PromiseRow>,
    /// Commands that wait for a promise: the promise, the agent and the number.
    pub(crate) waiting: BTreeSet<(Number, Owner, MessageNumber)>,
}

impl Snapshot {
    pub(crate) fn of(world: &mut Simulation) -> Snapshot {
        let store = &mut world.store;
        let removing =
            store.get(Table::Collector, &NO_OWNER, b"phase").unwrap().is_some_and(|p| p == b"\"removing\"");
        let going = store
            .rows(Table::Collector)
            .filter(|(place, _)| removing && place[32] == b'v')
            .map(|(place, _)| number(&place[33..]))
            .collect();
        let formulas = store
            .rows(Table::Formula)
            .map(|(place, row)| {
                (number(&place[32..]), decode_row::<FormulaRow>(Table::Formula, row).unwrap().formula)
            })
            .collect();
        let names = store
            .rows(Table::PetName)
            .map(|(place, row)| {
                let name = String::from_utf8(place[64..].to_vec()).unwrap();
                (number(place), number(&place[32..]), name, decode_row(Table::PetName, row).unwrap())
            })
            .collect();
        let mut mail: BTreeMap<_, BTreeMap<MessageNumber, Mail>> = BTreeMap::new();
        for (place, row) in store.rows(Table::Message) {
            let n = MessageNumber::from_order(u64::from_be_bytes(place[64..].try_into().unwrap()));
            let row = decode_row(Table::Message, row).unwrap();
            mail.entry((number(place), number(&place[32..]))).or_default().insert(n, row);
        }
        let awaiting = store
            .rows(Table::Awaiting)
            .map(|(place, _)| {
                let n = MessageNumber::from_order(u64::from_be_bytes(place[64..].try_into().unwrap()));
                (number(place), number(&place[32..]), n)
            })
            .collect();
        let promises = store
            .rows(Table::Promise)
            .map(|(place, row)| (number(&place[32..]), decode_row(Table::Promise, row).unwrap()))
            .collect();
        let waiting = store
            .rows(Table::Meta)
            .filter_map(|(place, _)| place.strip_prefix(&NO_OWNER[..])?.strip_prefix(b"came "))
            .map(|key| {
                let n = MessageNumber::from_order(u64::from_be_bytes(key[64..].try_into().unwrap()));
                (number(key), number(&key[32..]), n)
            })
            .collect();
        Snapshot { formulas, going, names, mail, awaiting, promises, waiting }
    }

    /// Returns whether the formula is there and not about to go.
    pub(crate) fn stays(&self, number: &Number) -> bool {
        self.formulas.contains_key(number) && !self.going.contains(number)
    }
}

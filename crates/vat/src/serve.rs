//! The loop of a process that hosts vats. It reads orders and writes reports.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use crate::frame::{self, FrameError, MAX_FRAME, Order, Report, VatId};
use crate::{Clock, Vat};

/// The maximum number of vats in one process at the same time.
pub const MAX_VATS: usize = 4_096;

/// Carries out orders until their stream ends.
///
/// All vats share the thread, and an order is carried out before the next is read. So a vat's reports come in the
/// order of its orders, and the same orders give the same reports, byte for byte. While one vat works, the others
/// wait, at most until its deadline. A vat that hangs in native code ends only with the process.
///
/// # Errors
/// When a stream fails, or an order cannot be read.
pub fn serve(read: &mut impl Read, write: &mut impl Write, clock: &Clock) -> Result<(), FrameError> {
    let mut vats = BTreeMap::new();
    while let Some(order) = frame::read::<Order>(read)? {
        let mut bytes = Vec::new();
        for report in carry_out(&mut vats, &order, clock) {
            bytes.extend(frame::encode(&report)?);
            if bytes.len() > MAX_FRAME {
                write.write_all(&bytes)?;
                bytes.clear();
            }
        }
        write.write_all(&bytes)?;
        write.flush()?;
    }
    Ok(())
}

/// Carries out one order and returns its reports.
fn carry_out(vats: &mut BTreeMap<VatId, Vat>, order: &Order, clock: &Clock) -> Vec<Report> {
    let refused = |line: String| vec![Report::Refused { line }];
    let vat = match order {
        Order::Ping { number } => return vec![Report::Pong { number: *number }],
        Order::Open { vat, limits } => {
            if vats.contains_key(vat) {
                return refused(format!("there is a vat {vat} already"));
            }
            if vats.len() >= MAX_VATS {
                return refused(format!("there are {MAX_VATS} vats in this process already"));
            }
            return match Vat::new(*vat, *limits, clock.clone()) {
                Ok(made) => {
                    vats.insert(*vat, made);
                    vec![Report::Ready { vat: *vat }]
                }
                Err(kind) => vec![Report::Fault { vat: *vat, kind, line: kind.line().to_owned() }],
            };
        }
        Order::Close { vat } => {
            return match vats.remove(vat) {
                Some(_) => vec![Report::Closed { vat: *vat }],
                None => refused(format!("there is no vat {vat}")),
            };
        }
        Order::Evaluate { vat, .. }
        | Order::Make { vat, .. }
        | Order::Deliver { vat, .. }
        | Order::Settle { vat, .. }
        | Order::Drop { vat, .. }
        | Order::Cancel { vat, .. } => vat,
    };
    let Some(found) = vats.get_mut(vat) else {
        return refused(format!("there is no vat {vat}"));
    };
    let reports = found.carry_out(order);
    if found.fault().is_some() {
        vats.remove(vat);
    }
    reports
}

//! Frames, and the loop that reads and writes them.

use std::io::Cursor;

use passable::Value;
use vat::{FaultKind, FrameError, Limits, Order, Outcome, Report, frame, serve};

use crate::test_host::still;

fn evaluate(vat: u32, answer: u32, source: &str) -> Order {
    let (id, names, values) = (String::new(), Vec::new(), Value::array([]));
    Order::Evaluate { vat, answer, id, source: source.to_owned(), names, values }
}

fn served(orders: &[Order]) -> Vec<Report> {
    let stream: Vec<u8> = orders.iter().flat_map(|order| frame::encode(order).unwrap()).collect();
    let mut said = Vec::new();
    serve(&mut stream.as_slice(), &mut said, &still()).unwrap();
    let mut said = Cursor::new(said);
    std::iter::from_fn(|| frame::read(&mut said).unwrap()).collect()
}

#[test]
fn vats_in_one_process_are_isolated() {
    let limits = Limits { fuel: 1_000_000, ..Limits::default() };
    let mut orders: Vec<Order> = (0..20).map(|vat| Order::Open { vat, limits }).collect();
    orders.push(evaluate(3, 1, "for (;;) {}"));
    orders.extend((0..20).map(|vat| evaluate(vat, 1, &format!("{vat} + 1"))));
    orders.push(Order::Close { vat: 4 });
    orders.push(evaluate(4, 2, "1"));
    orders.push(Order::Ping { number: 9 });
    let reports = served(&orders);
    let faults: Vec<_> = reports.iter().filter(|report| matches!(report, Report::Fault { .. })).collect();
    assert!(matches!(faults.as_slice(), [Report::Fault { vat: 3, kind: FaultKind::Fuel, .. }]), "{faults:?}");
    for vat in (0..20).filter(|vat| *vat != 3) {
        let expected = Outcome::Ok(Value::number(f64::from(vat + 1)));
        let answered = |report: &Report| matches!(report, Report::Answer { vat: own, outcome, .. } if *own == vat && *outcome == expected);
        assert!(reports.iter().any(answered), "{vat}");
    }
    assert_eq!(reports.iter().filter(|report| matches!(report, Report::Refused { .. })).count(), 2);
    assert!(reports.contains(&Report::Closed { vat: 4 }));
    assert_eq!(reports.last(), Some(&Report::Pong { number: 9 }));
}

#[test]
fn reused_or_unknown_vat_numbers_are_refused() {
    let open = Order::Open { vat: 1, limits: Limits::default() };
    let reports = served(&[open.clone(), open, evaluate(2, 1, "1"), Order::Close { vat: 2 }]);
    assert!(matches!(
        reports.as_slice(),
        [Report::Ready { .. }, Report::Refused { .. }, Report::Refused { .. }, Report::Refused { .. }]
    ));
}

#[test]
fn malformed_frames_are_refused() {
    for (bytes, expected) in [
        (&b"\xff\xff\xff\xff"[..], "limit"),
        (b"\x05\x00\x00\x00abc", "the stream failed"),
        (b"\x00\x00", "the stream failed"),
        (b"\x02\x00\x00\x00{}", "cannot read a frame"),
        (b"\x00\x00\x00\x00", "cannot read a frame"),
        (b"\x03\x00\x00\x00\xff\xff\xff", "cannot read a frame"),
    ] {
        let error = frame::read::<Order>(&mut &*bytes).unwrap_err();
        assert!(error.to_string().contains(expected), "{bytes:?}: {error}");
    }
    assert!(frame::read::<Order>(&mut &b""[..]).unwrap().is_none());
    // An announced frame costs nothing before its bytes come.
    let announced = (frame::MAX_FRAME as u32).to_le_bytes();
    assert!(matches!(frame::read::<Order>(&mut &announced[..]), Err(FrameError::Stream(_))));
}

#[test]
fn deeply_nested_messages_are_refused() {
    let body = format!("#{}1{}", "[".repeat(5000), "]".repeat(5000));
    let deep = format!(
        r#"{{"evaluate":{{"vat":1,"answer":1,"id":"","source":"1","names":["a"],"values":{{"body":{body:?},"slots":[]}}}}}}"#
    );
    let mut framed = (deep.len() as u32).to_le_bytes().to_vec();
    framed.extend(deep.into_bytes());
    let error = frame::read::<Order>(&mut framed.as_slice()).unwrap_err();
    assert!(matches!(error, FrameError::Malformed(_)), "{error}");
}

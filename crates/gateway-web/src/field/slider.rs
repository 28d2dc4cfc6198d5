//! A slider for a number with a known minimum and maximum.

use maud::{Markup, html};

use super::draw::PlacedControl;
use super::place::id;

/// Returns the range and the step of a slider. Both bounds must be known, and the slider may have at most a hundred
/// steps.
fn steps(min: Option<&(f64, bool)>, max: Option<&(f64, bool)>, whole: bool) -> Option<(f64, f64, f64)> {
    let (&(low, from), &(high, to)) = (min?, max?);
    let integral = low.fract() == 0.0 && high.fract() == 0.0;
    let (low, high, step) = match whole {
        true => {
            let low = if from || low.fract() != 0.0 { low.ceil() } else { low + 1.0 };
            let high = if to || high.fract() != 0.0 { high.floor() } else { high - 1.0 };
            (low, high, 1.0)
        }
        // A slider could reach a bound that is itself excluded.
        false if !from || !to => return None,
        false if integral && high - low > 1.0 => (low, high, 1.0),
        false => (low, high, (high - low) / 100.0),
    };
    let count = (high - low) / step;
    (low < high && step > 0.0 && count <= 100.5 && count.is_finite()).then_some((low, high, step))
}

/// Returns a slider that sets the value of a number's field. The slider's own value is not sent.
pub(super) fn slider(
    spot: &PlacedControl<'_>,
    min: Option<&(f64, bool)>,
    max: Option<&(f64, bool)>,
    whole: bool,
    text: Option<&str>,
) -> Markup {
    let value = text.and_then(|text| text.trim().parse::<f64>().ok());
    html! {
        @if let Some((low, high, step)) = steps(min, max, whole) {
            // A slider must have a position, even without a value.
            input.by-script.unset[value.is_none()] type="range" data-slides=(id(spot.place)) min=(low) max=(high) step=(step)
                value=(value.unwrap_or(low).clamp(low, high)) aria-label={ (spot.said) ", as a slider" }
                aria-valuetext=[value.is_none().then_some("nothing yet")];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slider_has_at_most_a_hundred_steps() {
        for (low, high, whole, expected) in [
            ((1.0, true), (5.0, true), false, Some((1.0, 5.0, 1.0))),
            ((0.0, true), (1.0, true), false, Some((0.0, 1.0, 0.01))),
            ((0.0, true), (100.0, true), true, Some((0.0, 100.0, 1.0))),
            ((0.0, false), (100.5, true), true, Some((1.0, 100.0, 1.0))),
            ((0.0, true), (101.0, true), true, None),
            ((0.0, true), (101.0, true), false, None),
            ((0.0, false), (1.0, true), false, None),
            ((5.0, true), (5.0, true), true, None),
            ((5.0, true), (1.0, true), false, None),
            ((f64::NEG_INFINITY, true), (f64::INFINITY, true), true, None),
            ((f64::NAN, true), (1.0, true), false, None),
        ] {
            assert_eq!(steps(Some(&low), Some(&high), whole), expected, "{low:?} {high:?} {whole}");
        }
        assert_eq!(steps(None, Some(&(1.0, true)), true), None);
    }
}

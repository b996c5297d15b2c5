//! Stretches of time as a person writes them: `10us..20us`, `25%..50%`.

use std::ops::Range;
use std::str::FromStr;

use profiler_trace::Trace;

use crate::exit::Error;
use crate::units::{TIMES, duration};

/// A place on an axis of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Moment {
    /// Nanoseconds from its begin.
    Nanoseconds(f64),
    /// A part of its length, 0 to 1.
    Part(f64),
}

impl Moment {
    /// Nanoseconds from the begin of an axis of this length.
    pub(crate) fn on(self, length_ns: f64) -> f64 {
        match self {
            Self::Nanoseconds(ns) => ns,
            Self::Part(part) => part * length_ns,
        }
    }
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let number_end =
            text.rfind(|c: char| c.is_ascii_digit() || c == '.').map_or(0, |last| last + 1);
        let (number, unit) = text.split_at(number_end);
        let help = "write a number with its unit, such as 250ns, 12.5us, 3ms, 1s or 40%";
        let number: f64 = number.parse().map_err(|_| format!("`{text}` is no time; {help}"))?;
        let unit = unit.trim();
        let scale = TIMES.iter().find(|(name, _)| *name == unit).map(|(_, scale)| scale);
        let (moment, value) = match (unit, scale) {
            ("%", _) => (Self::Part(number / 100.0), number),
            ("", _) if number == 0.0 => (Self::Nanoseconds(0.0), number),
            (_, Some(scale)) => (Self::Nanoseconds(number * scale), number * scale),
            _ => return Err(format!("`{text}` has no unit of time; {help}")),
        };
        if value.is_infinite() {
            return Err(format!("`{text}` is out of range; {help}"));
        }
        Ok(moment)
    }
}

/// A stretch of time, `START..END`; either may be left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    start: Option<Moment>,
    end: Option<Moment>,
}

impl Window {
    /// Begin and end in nanoseconds from the begin of `whole`, which has this length.
    pub(crate) fn on(self, length_ns: f64, whole: &str) -> Result<(f64, f64), Error> {
        let start = self.start.map_or(0.0, |start| start.on(length_ns));
        let end = self.end.map_or(length_ns, |end| end.on(length_ns));
        let length = duration(length_ns);
        let counted = format!(
            "times are counted from the begin of {whole}, which lasted {length}; write times within \
             it, or parts such as 25%..50%"
        );
        if length_ns > 0.0 && start >= length_ns {
            let start = duration(start);
            return Err(Error::new(format!(
                "the window begins at {start}, when {whole} of {length} was over"
            ))
            .with_help(counted));
        }
        if start < end && end <= 0.0 {
            return Err(Error::new(format!(
                "the window ends at {}, before {whole} began",
                duration(end)
            ))
            .with_help(counted));
        }
        if start < end {
            return Ok((start, end));
        }
        let (start, end) = (duration(start), duration(end));
        Err(Error::new(format!(
            "the window begins at {start} and ends at {end}, which is not later"
        ))
        .with_help(counted))
    }
}

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (start, end) = text.split_once("..").ok_or_else(|| {
            format!("`{text}` is no window; write START..END, such as 10us..20us, or ..50%")
        })?;
        let moment = |text: &str| match text.trim() {
            "" => Ok(None),
            text => text.parse().map(Some),
        };
        Ok(Self { start: moment(start)?, end: moment(end)? })
    }
}

impl Window {
    /// The window on the trace's axis, counted from the begin of the first of these launches; a percentage is
    /// one of the time to the end of the last. `None` if there are no launches.
    pub(crate) fn on_launches(
        self,
        trace: &Trace,
        launches: impl IntoIterator<Item = usize>,
    ) -> Result<Option<Range<f64>>, Error> {
        let (mut start, mut end, mut count) = (f64::INFINITY, f64::NEG_INFINITY, 0);
        for launch in launches.into_iter().filter_map(|index| trace.launches.get(index)) {
            (start, end) = (start.min(launch.start_ns), end.max(launch.end_ns));
            count += 1;
        }
        if start > end {
            return Ok(None);
        }
        let whole = if count == 1 { "the launch" } else { "all launches" };
        let (from, to) = self.on(end - start, whole)?;
        Ok(Some(start + from..start + to))
    }

    /// As [`Self::on_launches`], as a filter: an end that is left out is unbounded, so that records before the
    /// first entry or after the last exit belong to it.
    pub(crate) fn filter_on_launches(
        self,
        trace: &Trace,
        launches: impl IntoIterator<Item = usize>,
    ) -> Result<Option<Range<f64>>, Error> {
        let Some(on) = self.on_launches(trace, launches)? else { return Ok(None) };
        let start = if self.start.is_some() { on.start } else { f64::NEG_INFINITY };
        let end = if self.end.is_some() { on.end } else { f64::INFINITY };
        Ok(Some(start..end))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use profiler_trace::{Launch, SiteIndex, Trace};

    use super::{Moment, Window};
    use crate::units::TIMES;

    proptest! {
        #[test]
        fn any_text_is_a_window_in_order_or_refused(
            text in "(\\PC|[0-9]|[.+-]|us|ns|%|inf|NaN|\\.\\.){0,12}",
            length_ns in 0.0..1e12,
        ) {
            match text.parse::<Window>().map(|window| window.on(length_ns, "the launch")) {
                Ok(Ok((start, end))) => prop_assert!(start < end),
                Ok(Err(error)) => prop_assert!(!error.to_string().is_empty()),
                Err(error) => prop_assert!(!error.is_empty()),
            }
            if let Err(error) = text.parse::<Moment>() {
                prop_assert!(error.contains("12.5us"), "{error}");
            }
        }

        #[test]
        fn what_was_written_is_read(
            number: f64,
            unit in prop::sample::select(TIMES.to_vec()),
            spaces in " {0,2}",
        ) {
            prop_assume!((number * unit.1).is_finite());
            for number_text in [format!("{number}"), format!("{number:e}")] {
                let text = format!("{spaces}{number_text}{spaces}{}{spaces}", unit.0);
                prop_assert_eq!(text.parse(), Ok(Moment::Nanoseconds(number * unit.1)));
            }
            let part = format!("{number}%");
            prop_assert_eq!(part.parse(), Ok(Moment::Part(number / 100.0)));
            let window = format!("{number}{}..{spaces}", unit.0).parse::<Window>();
            prop_assert_eq!(
                window,
                Ok(Window { start: Some(Moment::Nanoseconds(number * unit.1)), end: None })
            );
        }
    }

    fn of(text: &str) -> Result<(f64, f64), String> {
        let window = text.parse::<Window>()?;
        window.on(1000.0, "the launch").map_err(|error| error.to_string())
    }

    #[test]
    fn windows_are_read_with_units_and_open_ends() {
        assert_eq!(of("100ns..0.5us"), Ok((100.0, 500.0)));
        assert_eq!(of("25%.."), Ok((250.0, 1000.0)));
        assert_eq!(of("..50%"), Ok((0.0, 500.0)));
        assert_eq!(of(".."), Ok((0.0, 1000.0)));
        assert_eq!(of("0..1%"), Ok((0.0, 10.0)));
        assert_eq!(of("-5ns..1%"), Ok((-5.0, 10.0)));
    }

    #[test]
    fn what_is_no_window_is_refused_with_the_form_that_is() {
        for text in ["", "10us", "a..b", "10..20", "5ns..2ns", "2ms..", "NaNns..", "1e3ns.."] {
            assert!(of(text).is_err(), "{text}");
        }
        assert!("10".parse::<Moment>().unwrap_err().contains("12.5us"));
        for text in ["1e400us..", "-1e300s..", "..1e400%"] {
            assert!(of(text).unwrap_err().contains("is out of range"), "{text}");
        }
    }

    #[test]
    fn a_window_outside_is_refused_in_the_units_that_it_was_given_in() {
        let error = |text: &str| of(text).expect_err("a window outside");
        assert_eq!(error("10s.."), "the window begins at 10 s, when the launch of 1 µs was over");
        assert_eq!(error("10s..20s"), error("10s.."));
        assert_eq!(error("-9us..-1us"), "the window ends at -1 µs, before the launch began");
        assert!(error("50%..25%").ends_with("ends at 250 ns, which is not later"));
    }

    #[test]
    fn a_filter_leaves_nothing_out_at_an_end_that_is_left_out() {
        let launch = Launch {
            kernel: SiteIndex(0),
            grid_id: 0,
            replay: 0,
            grid_dim: [1; 3],
            block_dim: [1; 3],
            warps: 0..0,
            start_ns: 1000.0,
            end_ns: 3000.0,
        };
        let trace = Trace { launches: vec![launch], ..Trace::default() };
        let of = |text: &str| {
            let window: Window = text.parse().expect("a window");
            window.filter_on_launches(&trace, [0]).expect("within the launch").expect("a launch")
        };
        let (before, after) = (f64::NEG_INFINITY, f64::INFINITY);
        assert_eq!((of("..50%"), of("50%..")), (before..2000.0, 2000.0..after));
        assert_eq!((of(".."), of("0..2us")), (before..after, 1000.0..3000.0));
    }
}

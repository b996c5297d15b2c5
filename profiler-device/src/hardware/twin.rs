//! What [`ptx!`](super::ptx) makes in the CPU twin of what it is given: a program that the emulator runs.

use std::panic::Location;

use profiler_emulator::ptx::Asked;

/// The body of a function of [`ptx!`](super::ptx).
macro_rules! body {
    (
        $guard:tt, $place:expr, [$($option:ident),+], [$($line:expr),+], [$($result:expr)?],
        in $($in:ident as $in_class:ident)*,
        through $($through:ident as $through_class:ident)*,
        out $($out:ident as $out_class:ident)*,
        lateout $($late:ident as $late_class:ident)*,
        const $($constant:ident = $value:expr;)*
    ) => {{
        use std::sync::LazyLock;

        use profiler_emulator::ptx::Program;

        static PROGRAM: LazyLock<Program> = LazyLock::new(|| {
            Program::new(
                &[
                    $(stringify!($in),)* $(stringify!($through),)* $(stringify!($out),)*
                    $(stringify!($late),)* $(stringify!($constant),)*
                ],
                concat!($($line, "\n"),+),
            )
        });
        let operands = [
            $(<$in_class>::from($in).into(),)* $($through.into(),)* $(<$out_class>::MIN.into(),)*
            $(<$late_class>::MIN.into(),)* $($value.into(),)*
        ];
        // SAFETY: only the functions that are unsafe touch memory, and their callers answer for it.
        let operands = unsafe { PROGRAM.run(operands, $place.asked()) };
        #[allow(unused_variables, reason = "most operands are only read")]
        let [$($in,)* $($through,)* $($out,)* $($late,)* $($constant,)*] = operands;
        $(let $through = $through as $through_class;)*
        $(let $out = $out as $out_class;)*
        $(let $late = $late as $late_class;)*
        $($result)?
    }};
}
pub(super) use body;

/// Where lanes ask which of them are together: a place in the source. (Small, as each region holds one and
/// the unoptimised twin of a kernel has many.)
#[derive(Clone, Copy)]
pub(crate) struct Place {
    location: Option<&'static Location<'static>>,
    #[cfg(feature = "enabled")]
    site: u32,
    moment: Moment,
}

/// When it is asked there.
#[derive(Clone, Copy)]
enum Moment {
    Whenever,
    #[cfg(feature = "enabled")]
    Begin,
    #[cfg(feature = "enabled")]
    End(u8),
}

impl Place {
    /// Of what asks nothing.
    pub(super) const NOWHERE: Self = Self {
        location: None,
        #[cfg(feature = "enabled")]
        site: 0,
        moment: Moment::Whenever,
    };

    #[track_caller]
    pub(super) fn here() -> Self {
        Self { location: Some(Location::caller()), ..Self::NOWHERE }
    }

    /// Where a region begins: its site tells it from others that a macro made of one place in the source.
    #[cfg(feature = "enabled")]
    #[track_caller]
    pub(crate) fn of(site: u32) -> Self {
        Self { location: Some(Location::caller()), site, moment: Moment::Begin }
    }

    /// Where it ends, which has no place in the source, for one of the questions that are asked there.
    #[cfg(feature = "enabled")]
    pub(crate) fn at_end(self, question: u8) -> Self {
        Self { moment: Moment::End(question), ..self }
    }

    pub(super) fn asked(self) -> Asked {
        let Some(location) = self.location else { return Asked::Nowhere };
        match self.moment {
            Moment::Whenever => Asked::At(location),
            #[cfg(feature = "enabled")]
            Moment::Begin => Asked::Begin(location, self.site.into()),
            #[cfg(feature = "enabled")]
            Moment::End(question) => Asked::End(location, self.site.into(), question.into()),
        }
    }
}

/// A kernel that fails on the GPU ends where it is; its twin unwinds, and must record nothing more.
#[cfg(feature = "enabled")]
pub(crate) fn is_unwinding() -> bool {
    std::thread::panicking()
}

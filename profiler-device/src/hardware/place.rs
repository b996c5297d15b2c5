//! Where lanes ask which of them are together, as a place in the source: the emulator lets those meet that
//! ask at one place. On a GPU they ask where they are, and nothing of this is left.

use core::panic::Location;

/// A place, and when it is asked there. (Small, as each region holds one and the unoptimised twin of a kernel
/// has many.)
#[derive(Clone, Copy)]
#[cfg_attr(target_arch = "nvptx64", expect(dead_code, reason = "the emulator reads it"))]
pub(crate) struct Place {
    pub(super) location: Option<&'static Location<'static>>,
    #[cfg(feature = "enabled")]
    pub(super) site: u32,
    pub(super) moment: Moment,
}

/// When it is asked there.
#[derive(Clone, Copy)]
pub(super) enum Moment {
    Whenever,
    /// Behind that, what was read there.
    #[cfg(feature = "enabled")]
    Behind,
    #[cfg(feature = "enabled")]
    Begin,
    #[cfg(feature = "enabled")]
    #[cfg_attr(target_arch = "nvptx64", expect(dead_code, reason = "the emulator reads it"))]
    End(u8),
    #[cfg(feature = "enabled")]
    #[cfg_attr(target_arch = "nvptx64", expect(dead_code, reason = "the emulator reads it"))]
    EndOfToken(u8),
}

impl Place {
    /// Of what asks nothing.
    pub(super) const NOWHERE: Self = Self {
        location: None,
        #[cfg(feature = "enabled")]
        site: 0,
        moment: Moment::Whenever,
    };

    #[inline(always)]
    #[track_caller]
    pub(super) const fn here() -> Self {
        Self { location: Some(Location::caller()), ..Self::NOWHERE }
    }

    /// Where a region begins: its site tells it from others that a macro made of one place in the source.
    #[cfg(feature = "enabled")]
    #[inline(always)]
    #[track_caller]
    pub(crate) const fn of(site: u32) -> Self {
        Self { location: Some(Location::caller()), site, moment: Moment::Begin }
    }

    /// Where a token's region begins, which has an end in the source, or where that is.
    #[cfg(feature = "enabled")]
    #[inline(always)]
    #[track_caller]
    pub(crate) const fn of_token(site: u32) -> Self {
        Self { location: Some(Location::caller()), site, moment: Moment::Whenever }
    }

    /// Behind a question that is asked there, for one on what was read since.
    #[cfg(feature = "enabled")]
    #[inline(always)]
    pub(crate) const fn behind(self) -> Self {
        Self { moment: Moment::Behind, ..self }
    }

    /// Whether it is one of a token.
    #[cfg(feature = "enabled")]
    #[inline(always)]
    pub(crate) const fn is_of_token(self) -> bool {
        matches!(self.moment, Moment::Whenever)
    }

    /// Where it ends, for one of the questions that are asked there. The end of a region that is no token's has
    /// no place in the source.
    #[cfg(feature = "enabled")]
    #[inline(always)]
    pub(crate) const fn at_end(self, question: u8) -> Self {
        let moment = match self.moment {
            Moment::Whenever => Moment::EndOfToken(question),
            _ => Moment::End(question),
        };
        Self { moment, ..self }
    }

    /// Which lanes are together where a region begins.
    #[cfg(feature = "enabled")]
    #[inline(always)]
    pub(crate) fn active_mask(self) -> u32 {
        super::ptx::active_mask(self)
    }
}

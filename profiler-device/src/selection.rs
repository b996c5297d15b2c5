//! Which annotations are compiled in: all, unless the build names some.

use profiler_wire::SiteKind;
use profiler_wire::selection::holds;

/// Whether an annotation is compiled in. Without the feature `only` every one is, and nothing of the
/// question reaches LLVM, which would allocate registers otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Selected(#[cfg(feature = "only")] bool);

impl Selected {
    #[inline(always)]
    pub(crate) const fn new(selected: bool) -> Self {
        #[cfg(feature = "only")]
        return Self(selected);
        #[cfg(not(feature = "only"))]
        {
            let _all_are = selected;
            Self()
        }
    }

    #[cfg(feature = "enabled")]
    #[inline(always)]
    pub(crate) const fn get(self) -> bool {
        #[cfg(feature = "only")]
        return self.0;
        #[cfg(not(feature = "only"))]
        true
    }

    #[cfg(all(feature = "enabled", feature = "only"))]
    #[inline(always)]
    pub(crate) const fn and(self, other: Self) -> Self {
        Self::new(self.get() && other.get())
    }
}

/// Whether a site is compiled in where `only` is the list of the names of those that are. Kernels
/// are, as they bear all others.
#[doc(hidden)]
#[must_use]
pub const fn is_selected(only: Option<&str>, kind: SiteKind, name: &str) -> bool {
    match only {
        Some(list) => matches!(kind, SiteKind::Kernel) || holds(list, name),
        None => true,
    }
}

/// The list of names that are compiled in. It is read where an annotation expands, in the crate that
/// holds it, which cargo then compiles anew when the list changes.
#[cfg(feature = "only")]
#[doc(hidden)]
#[macro_export]
macro_rules! __only {
    () => {
        $crate::__private::core::option_env!($crate::__private::wire::only_variable!())
    };
}

/// There is no such list.
#[cfg(not(feature = "only"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __only {
    () => {
        $crate::__private::core::option::Option::None
    };
}

/// Makes of a recorder in a variable that of a site: one that records nothing, where the site is not
/// compiled in. See `at!` in recorder.rs for why this is a macro.
#[cfg(all(feature = "enabled", feature = "only"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __at {
    ($recorder:ident, $site:ident) => {
        let $recorder = $crate::__private::Recorder::at($recorder, $site);
    };
}

/// All sites are compiled in.
#[cfg(not(all(feature = "enabled", feature = "only")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __at {
    ($recorder:ident, $site:ident) => {};
}

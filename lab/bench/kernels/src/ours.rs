//! The profiler's own macros, as anyone uses them.

use profiler_device::{Recorder, profile_mark, profile_region, region_end, region_start};

use crate::template::Scheme;

/// Makes a scheme of a macro that records one region around a body. Each use of it is a site of its
/// own, as in a kernel that somebody writes.
macro_rules! scheme {
    ($(#[$doc:meta])* $name:ident, $record:ident) => {
        $(#[$doc])*
        pub(crate) struct $name<'a>(Recorder<'a>);

        impl Scheme for $name<'_> {
            #[inline(always)]
            fn region<const NUMBER: u32>(&mut self, body: impl FnOnce() -> f32) {
                let _number = match NUMBER {
                    1 => $record!("first", self.0, body),
                    2 => $record!("second", self.0, body),
                    3 => $record!("third", self.0, body),
                    _ => $record!("fourth", self.0, body),
                };
            }
        }
    };
}

macro_rules! region {
    ($name:literal, $recorder:expr, $body:ident) => {
        profile_region!($name, recorder = $recorder, { $body() })
    };
}

macro_rules! region_with_value {
    ($name:literal, $recorder:expr, $body:ident) => {
        profile_region!($name, recorder = $recorder, value = 7_u32, { $body() })
    };
}

macro_rules! region_with_short_value {
    ($name:literal, $recorder:expr, $body:ident) => {
        profile_region!($name, recorder = $recorder, value = 7_u16, { $body() })
    };
}

macro_rules! region_with_wait {
    ($name:literal, $recorder:expr, $body:ident) => {
        profile_region!($name, recorder = $recorder, wait, { $body() })
    };
}

macro_rules! token {
    ($name:literal, $recorder:expr, $body:ident) => {{
        let token = region_start!($name, recorder = $recorder);
        let number = $body();
        region_end!(token);
        number
    }};
}

macro_rules! mark {
    ($name:literal, $recorder:expr, $body:ident) => {{
        let number = $body();
        profile_mark!($name, recorder = $recorder);
        number
    }};
}

scheme! {
    /// A region.
    Region, region
}
scheme! {
    /// A region with a value.
    RegionWithValue, region_with_value
}
scheme! {
    /// A region with a value of 16 bits.
    RegionWithShortValue, region_with_short_value
}
scheme! {
    /// A region whose end waits for its block's value.
    RegionWithWait, region_with_wait
}
scheme! {
    /// A region begun and ended by a token.
    Token, token
}
scheme! {
    /// A mark after the body, and no region.
    Mark, mark
}

/// Makes the kernels of one of the schemes, as `template::kernels` does: `#[profiled]` with these
/// options. The scheme's name is that of the module, after the words of `in [..]` where it is one of
/// many.
macro_rules! kernels {
    ($($name:ident => [$($options:tt)*] $scheme:ident;)*) => {
        kernels! { in [] $($name => [$($options)*] $scheme;)* }
    };
    (in $outer:tt $($name:ident => [$($options:tt)*] $scheme:ident;)*) => {
        $(mod $name {
            use super::$scheme;

            kernels!(@one $outer $name [$($options)*] $scheme; n8_e0 8 0);
            kernels!(@one $outer $name [$($options)*] $scheme; n8_e1 8 1);
            kernels!(@one $outer $name [$($options)*] $scheme; n8_e2 8 2);
            kernels!(@one $outer $name [$($options)*] $scheme; n8_e4 8 4);
            kernels!(@one $outer $name [$($options)*] $scheme; n128_e0 128 0);
            kernels!(@one $outer $name [$($options)*] $scheme; n128_e1 128 1);
            kernels!(@one $outer $name [$($options)*] $scheme; n128_e2 128 2);
            kernels!(@one $outer $name [$($options)*] $scheme; n128_e4 128 4);
        })*
    };
    (
        @one [$($outer:ident)*] $name:ident [$($options:tt)*] $scheme:ident;
        $kernel:ident $body:literal $recorded:literal
    ) => {
        /// One kernel of the scheme.
        ///
        /// # Safety
        ///
        /// `cycles` must be valid for two numbers for each warp of the grid; blocks must have one
        /// dimension and whole warps.
        #[profiler_device::profiled($($options)*)]
        #[unsafe(export_name = concat!($(stringify!($outer), "_",)* stringify!($name), "_", stringify!($kernel)))]
        pub(crate) unsafe extern "ptx-kernel" fn $kernel(
            cycles: *mut u64,
            _buffer: *mut u8,
            _buffer_bytes: u32,
            iterations: u32,
        ) {
            let scheme = $scheme(profiler_device::recorder!());
            // SAFETY: the kernel's caller gives a pair of numbers for each warp, and blocks of one
            // dimension.
            unsafe { crate::template::measure::<$body, $recorded>(scheme, cycles, iterations) }
        }
    };
}

#[cfg(all(feature = "host-buffer", not(feature = "combinations")))]
kernels! {
    hosted => [buffer = host] Region;
}

#[cfg(not(any(feature = "host-buffer", feature = "combinations")))]
kernels! {
    default => [] Region;
    globaltimer => [clock = globaltimer] Region;
    elected => [by = elected] Region;
    thread => [by = thread] Region;
    block => [by = block] Region;
    warp_group => [by = warp_group] Region;
    when => [by = when(profiler_device::hardware::lane_id() == 0)] Region;
    value => [] RegionWithValue;
    short_value => [] RegionWithShortValue;
    wait => [] RegionWithWait;
    token => [] Token;
    mark => [] Mark;
}

/// Makes the kernels of every strategy with every clock and every kind of record, to each of which these
/// options are added.
#[cfg(feature = "combinations")]
macro_rules! combinations {
    ($options:tt) => {
        combinations! {
            warp $options [by = warp];
            warp_index $options [by = warp(0)];
            warp_group $options [by = warp_group];
            block $options [by = block];
            thread $options [by = thread];
            elected $options [by = elected];
            when $options [by = when(profiler_device::hardware::lane_id() == 0)];
        }
    };
    ($($strategy:ident [$($options:tt)*] [$($by:tt)*];)*) => {
        $(mod $strategy {
            combinations!(@records $strategy cycles [$($by)*, clock = cycles, $($options)*]);
            combinations!(@records $strategy globaltimer [$($by)*, clock = globaltimer, $($options)*]);
        })*
    };
    (@records $strategy:ident $clock:ident $options:tt) => {
        mod $clock {
            use crate::ours::{
                Mark, Region, RegionWithShortValue, RegionWithValue, RegionWithWait, Token,
            };

            kernels! {
                in [$strategy $clock]
                region => $options Region;
                value => $options RegionWithValue;
                short_value => $options RegionWithShortValue;
                wait => $options RegionWithWait;
                token => $options Token;
                mark => $options Mark;
            }
        }
    };
}

#[cfg(all(feature = "combinations", not(feature = "host-buffer")))]
combinations!([]);
#[cfg(all(feature = "combinations", feature = "host-buffer"))]
combinations!([buffer = host]);

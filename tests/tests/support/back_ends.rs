//! Checks that run on the emulator and, with `--ignored`, on a GPU.

/// Makes two tests of each function `fn(BackendChoice)`.
macro_rules! on_both_back_ends {
    ($($name:ident)*) => {
        mod emulator {
            $(#[test]
            fn $name() {
                super::$name(profiler_host::BackendChoice::Emulator);
            })*
        }
        mod gpu {
            $(#[test]
            #[ignore = "needs an NVIDIA GPU"]
            fn $name() {
                super::$name(profiler_host::BackendChoice::Gpu);
            })*
        }
    };
}
pub(crate) use on_both_back_ends;

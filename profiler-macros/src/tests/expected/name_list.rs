/// Names of regions: "load", "mma".
#[cfg(all())]
#[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
#[allow(
    non_camel_case_types,
    clippy::upper_case_acronyms,
    reason = "used like a constant: LIST[index]"
)]
pub(crate) struct TASK;
#[cfg(all())]
#[allow(dead_code, reason = "not every list is asked for its length")]
impl TASK {
    /// The number of names.
    pub const LEN: ::core::primitive::u32 = 2u32;
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn __site(
        self,
        __profiler_index: ::core::primitive::u64,
    ) -> ::profiler_device::__private::SiteId {
        let __profiler_index = if __profiler_index
            > ::core::primitive::u32::MAX as ::core::primitive::u64
        {
            ::core::primitive::u32::MAX
        } else {
            __profiler_index as ::core::primitive::u32
        };
        ::profiler_device::__private::SiteId::nth(
            ::profiler_device::__site!(
                kind = Names, name = "TASK", unit = "bytes", strategy =
                ::profiler_device::__private::wire::site::STRATEGY_OF_KERNEL, symbol =
                "", max_threads = 0, min_blocks = 0, max_registers = 0, names = ["load",
                "mma"]
            ),
            __profiler_index,
            Self::LEN,
        )
    }
}

// a kernel with every argument
#[cfg(target_arch = "nvptx64")]
#[unsafe(export_name = "symbol")]
unsafe extern "ptx-kernel" fn everything<T>(tile: u32) {
    let __profiler_state = {
        let __profiler_site = {
            const _: () = {
                let __profiler_value: ::core::primitive::u32 = THREADS * 2;
                ::core::assert!(__profiler_value != 0, "a launch bound is at least 1")
            };
            ::renamed::__site!(
                kind = Kernel, name = "all", unit = "", strategy =
                ::renamed::__private::wire::Strategy::When.code(), symbol = "",
                max_threads = THREADS * 2, min_blocks = 2, max_registers = 96, names = []
            )
        };
        let __profiler_config = ::renamed::__private::Config {
            enabled: const { TUNING },
            strategy: ::renamed::__private::wire::Strategy::When,
            when: tile > 1,
            clock: ::renamed::__private::wire::header::Clock::GlobalTimer,
            buffer: ::renamed::__private::BufferChoice::new(
                ::renamed::__private::wire::site::Buffer::Global,
            ),
            track: ::renamed::__private::wire::record::track_field(tile),
        };
        match ::renamed::__private::State::recorded_block(__profiler_config) {
            ::core::option::Option::Some(__profiler_block) => {
                unsafe {
                    ::renamed::__private::State::enter_block(
                        __profiler_site,
                        __profiler_config,
                        __profiler_block,
                    )
                }
            }
            ::core::option::Option::None => {
                ::renamed::__private::State::silent(__profiler_config)
            }
        }
    };
    let _: () = {
        #[allow(
            non_snake_case,
            unused_variables,
            reason = "the name is the message where the recorder is not in scope, \
                          and a body without regions does not use it"
        )]
        let no_recorder_in_scope = ::renamed::__private::Recorder::new(
            &__profiler_state,
        );
    };
}
#[cfg(not(target_arch = "nvptx64"))]
#[allow(dead_code, reason = "called where the kernel runs on the CPU")]
unsafe fn everything<T>(tile: u32) {}

// a generic body compiled twice
#[cfg(target_arch = "nvptx64")]
pub extern "ptx-kernel" fn kernel<'a, T: Copy, const N: usize>(
    data: &'a [T; N],
    __profiler_argument_1: u32,
    left: u32,
)
where
    T: Send,
{
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "the state is the macro's")]
    fn __profiler_body<'a, T: Copy, const N: usize>(
        __profiler_state: &__private::State,
        data: &'a [T; N],
        _: u32,
        mut left: u32,
    )
    where
        T: Send,
    {
        let _: () = {
            #[allow(
                non_snake_case,
                unused_variables,
                reason = "the name is the message where the recorder is not in scope, \
                          and a body without regions does not use it"
            )]
            let no_recorder_in_scope = __private::Recorder::new(__profiler_state);
            let _ = data;
        };
    }
    let __profiler_site = ::profiler_device::__site!(
        kind = Kernel, name = "kernel", unit = "", strategy =
        __private::wire::Strategy::Warp.code(), symbol = "", max_threads = 0, min_blocks
        = 0, max_registers = 0, names = []
    );
    let __profiler_config = __private::Config {
        enabled: true,
        strategy: __private::wire::Strategy::Warp,
        when: false,
        clock: __private::wire::header::Clock::Cycles,
        buffer: __private::BufferChoice::new(__private::wire::site::Buffer::Global),
        track: 0,
    };
    match __private::State::recorded_block(__profiler_config) {
        ::core::option::Option::Some(__profiler_block) => {
            let __profiler_state = unsafe {
                __private::State::enter_block(
                    __profiler_site,
                    __profiler_config,
                    __profiler_block,
                )
            };
            #[allow(
                clippy::used_underscore_binding,
                reason = "all parameters are handed on"
            )]
            __profiler_body::<
                T,
                N,
            >(&__profiler_state, data, __profiler_argument_1, left);
        }
        ::core::option::Option::None => {
            let __profiler_state = __private::State::idle(__profiler_config);
            #[allow(
                clippy::used_underscore_binding,
                reason = "all parameters are handed on"
            )]
            __profiler_body::<
                T,
                N,
            >(&__profiler_state, data, __profiler_argument_1, left);
        }
    }
}
#[cfg(not(target_arch = "nvptx64"))]
#[allow(dead_code, reason = "called where the kernel runs on the CPU")]
pub fn kernel<'a, T: Copy, const N: usize>(
    data: &'a [T; N],
    __profiler_argument_1: u32,
    left: u32,
)
where
    T: Send,
{}

// a device function
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is the macro's, which has a reason")]
pub(crate) fn tile<'a, T: Copy, const N: usize>(
    &self,
    prof: &mut Recorder<'a>,
    value: T,
) -> impl Fn() -> T + use<'a, T, N> {
    #[allow(
        non_snake_case,
        unused_variables,
        reason = "the name is the message where the recorder is not in scope, \
                          and a body without regions does not use it"
    )]
    let no_recorder_in_scope = __private::Recorder::copied(&(prof));
    let __profiler_region = {
        let __profiler_recorder = no_recorder_in_scope;
        let __profiler_site = ::profiler_device::__site!(
            kind = Region, name = "tile", unit = "", strategy =
            __private::wire::Strategy::WarpIndex((2) as ::core::primitive::u8).code(),
            symbol = "", max_threads = 0, min_blocks = 0, max_registers = 0, names = []
        );
        __private::LaneRecorder::region(
            __private::Recorder::leader_warp_index(__profiler_recorder, 2),
            __profiler_site,
            __private::wire::record::track_field(N as u32),
            (),
        )
    };
    move || value
}

// regions
fn enclosing() {
    let __profiler_region = {
        let __profiler_recorder = __private::Recorder::copied(&(prof));
        let __profiler_site = ::profiler_device::__site!(
            kind = Region, name = "options", unit = "bytes", strategy =
            __private::wire::Strategy::WarpGroup.code(), symbol = "", max_threads = 0,
            min_blocks = 0, max_registers = 0, names = []
        );
        __private::LaneRecorder::region(
            __private::Recorder::leader_warp_group(__profiler_recorder),
            __profiler_site,
            __private::wire::record::track_field(3),
            __private::Payload(size),
        )
    };
    let __profiler_region = {
        let __profiler_recorder = __private::Recorder::copied(&no_recorder_in_scope);
        let __profiler_site = {
            let _ = ::profiler_device::__site!(
                kind = Region, name = "TASK", unit = "", strategy =
                __private::wire::Strategy::Thread.code(), symbol = "", max_threads = 0,
                min_blocks = 0, max_registers = 0, names = []
            );
            TASK.__site((index) as ::core::primitive::u64)
        };
        __private::LaneRecorder::region(
            __private::Recorder::leader_thread(__profiler_recorder),
            __profiler_site,
            0,
            (),
        )
    };
    let x = {
        let __profiler_region = {
            let __profiler_recorder = __private::Recorder::copied(&no_recorder_in_scope);
            let __profiler_site = ::profiler_device::__site!(
                kind = Region, name = "block", unit = "", strategy =
                __private::wire::site::STRATEGY_OF_KERNEL, symbol = "", max_threads = 0,
                min_blocks = 0, max_registers = 0, names = []
            );
            __private::LaneRecorder::region(
                __private::Recorder::leader(__profiler_recorder),
                __profiler_site,
                0,
                (),
            )
        };
        a + b
    };
    let y = {
        crate::renamed::__private::pin(&mut a);
        crate::renamed::__private::pin(&mut b.c);
        let __profiler_region = {
            let __profiler_recorder = crate::renamed::__private::Recorder::copied(
                &no_recorder_in_scope,
            );
            let __profiler_site = crate::renamed::__site!(
                kind = Region, name = "everything", unit = "", strategy = crate
                ::renamed::__private::wire::site::STRATEGY_OF_KERNEL, symbol = "",
                max_threads = 0, min_blocks = 0, max_registers = 0, names = []
            );
            crate::renamed::__private::LaneRecorder::region(
                crate::renamed::__private::Recorder::leader(__profiler_recorder),
                __profiler_site,
                0,
                (),
            )
        };
        crate::renamed::__private::pin(&mut a);
        crate::renamed::__private::pin(&mut b.c);
        let __profiler_value = { work() };
        #[allow(unreachable_code, reason = "the block may never come to its end")]
        {
            crate::renamed::__private::pin(&mut a);
            crate::renamed::__private::pin(&mut b.c);
            crate::renamed::__private::Region::end_after(
                __profiler_region,
                &__profiler_value,
            );
        }
        __profiler_value
    };
}

// tokens and marks
fn enclosing() {
    let token = {
        let __profiler_recorder = __private::Recorder::copied(&no_recorder_in_scope);
        let __profiler_site = ::profiler_device::__site!(
            kind = Region, name = "token", unit = "", strategy =
            __private::wire::Strategy::Block.code(), symbol = "", max_threads = 0,
            min_blocks = 0, max_registers = 0, names = []
        );
        __private::LaneRecorder::start(
            __private::Recorder::leader_block(__profiler_recorder),
            __profiler_site,
            0,
        )
    };
    __private::RegionToken::end(token);
    __private::RegionToken::end_with(token, 3u16);
    let prof = __private::Recorder::copied(&no_recorder_in_scope);
    {
        let __profiler_recorder = __private::Recorder::copied(&no_recorder_in_scope);
        let __profiler_site = ::profiler_device::__site!(
            kind = Mark, name = "value", unit = "rows", strategy =
            __private::wire::site::STRATEGY_OF_KERNEL, symbol = "", max_threads = 0,
            min_blocks = 0, max_registers = 0, names = []
        );
        __private::LaneRecorder::mark_value(
            __private::Recorder::leader(__profiler_recorder),
            __profiler_site,
            a == b,
        )
    };
    {
        let __profiler_recorder = __private::Recorder::copied(&no_recorder_in_scope);
        let __profiler_site = ::profiler_device::__site!(
            kind = Signal, name = "full", unit = "", strategy =
            __private::wire::Strategy::Elected.code(), symbol = "", max_threads = 0,
            min_blocks = 0, max_registers = 0, names = []
        );
        __private::LaneRecorder::mark_value(
            __private::Recorder::leader_elected(__profiler_recorder),
            __profiler_site,
            key,
        )
    };
    {
        let __profiler_recorder = __private::Recorder::copied(&no_recorder_in_scope);
        __private::LaneRecorder::anchor(
            __private::Recorder::leader_block(__profiler_recorder),
        )
    };
    {
        let __profiler_recorder = __private::Recorder::copied(&(prof));
        __private::LaneRecorder::anchor_every(
            __private::Recorder::leader(__profiler_recorder),
            1 << 18,
        )
    };
    {
        const _: () = {
            let __profiler_value: ::core::primitive::u32 = INDEX;
            ::core::assert!(
                __profiler_value < 32u32,
                "a block has at most 32 warps: the index of a warp is 0 to 31"
            )
        };
        let __profiler_recorder = __private::Recorder::copied(&no_recorder_in_scope);
        __private::LaneRecorder::anchor(
            __private::Recorder::leader_warp_index(__profiler_recorder, INDEX),
        )
    };
}

// a list of names
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
    pub fn __site(self, __profiler_index: ::core::primitive::u64) -> __private::SiteId {
        let __profiler_index = if __profiler_index
            > ::core::primitive::u32::MAX as ::core::primitive::u64
        {
            ::core::primitive::u32::MAX
        } else {
            __profiler_index as ::core::primitive::u32
        };
        __private::SiteId::nth(
            ::profiler_device::__site!(
                kind = Names, name = "TASK", unit = "bytes", strategy =
                __private::wire::site::STRATEGY_OF_KERNEL, symbol = "", max_threads = 0,
                min_blocks = 0, max_registers = 0, names = ["load", "mma"]
            ),
            __profiler_index,
            Self::LEN,
        )
    }
}

// a kernel that Rust-CUDA has expanded before
#[no_mangle]
#[nvvm_internal(kernel())]
pub unsafe extern "C" fn expanded_before(output: *mut u32) {
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "the state is the macro's")]
    unsafe fn __profiler_body(__profiler_state: &__private::State, output: *mut u32) {
        let _: () = {
            #[allow(
                non_snake_case,
                unused_variables,
                reason = "the name is the message where the recorder is not in scope, \
                          and a body without regions does not use it"
            )]
            let no_recorder_in_scope = __private::Recorder::new(__profiler_state);
            *output = 1;
        };
    }
    let __profiler_site = ::profiler_device::__site!(
        kind = Kernel, name = "expanded_before", unit = "", strategy =
        __private::wire::Strategy::Warp.code(), symbol = "expanded_before", max_threads =
        0, min_blocks = 0, max_registers = 0, names = []
    );
    let __profiler_config = __private::Config {
        enabled: true,
        strategy: __private::wire::Strategy::Warp,
        when: false,
        clock: __private::wire::header::Clock::Cycles,
        buffer: __private::BufferChoice::new(__private::wire::site::Buffer::Global),
        track: __private::wire::record::track_field(1),
    };
    match __private::State::recorded_block(__profiler_config) {
        ::core::option::Option::Some(__profiler_block) => {
            let __profiler_state = unsafe {
                __private::State::enter_block(
                    __profiler_site,
                    __profiler_config,
                    __profiler_block,
                )
            };
            #[allow(
                clippy::used_underscore_binding,
                reason = "all parameters are handed on"
            )] unsafe { __profiler_body(&__profiler_state, output) };
        }
        ::core::option::Option::None => {
            let __profiler_state = __private::State::idle(__profiler_config);
            #[allow(
                clippy::used_underscore_binding,
                reason = "all parameters are handed on"
            )] unsafe { __profiler_body(&__profiler_state, output) };
        }
    }
}


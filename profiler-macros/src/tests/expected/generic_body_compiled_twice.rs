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
        __profiler_state: &::profiler_device::__private::State,
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
            let no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder = ::profiler_device::__private::Recorder::new(
                __profiler_state,
            );
            let _ = data;
        };
    }
    let __profiler_site = ::profiler_device::__site!(
        kind = Kernel, name = "kernel", unit = "", strategy =
        ::profiler_device::__private::wire::Strategy::Warp.code(), symbol = "",
        max_threads = 0, min_blocks = 0, max_registers = 0, names = []
    );
    let __profiler_config = ::profiler_device::__private::Config {
        enabled: true,
        strategy: ::profiler_device::__private::wire::Strategy::Warp,
        when: false,
        clock: ::profiler_device::__private::wire::header::Clock::Cycles,
        buffer: ::profiler_device::__private::BufferChoice::new(
            ::profiler_device::__private::wire::site::Buffer::Global,
        ),
        track: 0,
    };
    match ::profiler_device::__private::State::recorded_block(__profiler_config) {
        ::core::option::Option::Some(__profiler_block) => {
            let __profiler_state = unsafe {
                ::profiler_device::__private::State::enter_block(
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
            let __profiler_state = ::profiler_device::__private::State::idle(
                __profiler_config,
            );
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
{
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "the state is the macro's")]
    fn __profiler_body<'a, T: Copy, const N: usize>(
        __profiler_state: &::profiler_device::__private::State,
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
            let no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder = ::profiler_device::__private::Recorder::new(
                __profiler_state,
            );
            let _ = data;
        };
    }
    let __profiler_site = ::profiler_device::__site!(
        kind = Kernel, name = "kernel", unit = "", strategy =
        ::profiler_device::__private::wire::Strategy::Warp.code(), symbol = "",
        max_threads = 0, min_blocks = 0, max_registers = 0, names = []
    );
    let __profiler_config = ::profiler_device::__private::Config {
        enabled: true,
        strategy: ::profiler_device::__private::wire::Strategy::Warp,
        when: false,
        clock: ::profiler_device::__private::wire::header::Clock::Cycles,
        buffer: ::profiler_device::__private::BufferChoice::new(
            ::profiler_device::__private::wire::site::Buffer::Global,
        ),
        track: 0,
    };
    match ::profiler_device::__private::State::recorded_block(__profiler_config) {
        ::core::option::Option::Some(__profiler_block) => {
            let __profiler_state = unsafe {
                ::profiler_device::__private::State::enter_block(
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
            let __profiler_state = ::profiler_device::__private::State::idle(
                __profiler_config,
            );
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

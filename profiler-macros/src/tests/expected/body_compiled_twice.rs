#[cfg(target_arch = "nvptx64")]
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn kernel(data: &[f32], left: u32) {
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "the state is the macro's")]
    unsafe fn __profiler_body(
        __profiler_state: &::profiler_device::__private::State,
        data: &[f32],
        mut left: u32,
    ) {
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
            while left > 0 {
                left -= 1;
            }
        };
    }
    let __profiler_site = ::profiler_device::__site!(
        kind = Kernel, name = "kernel", unit = "", strategy =
        ::profiler_device::__private::wire::Strategy::Warp.code(), symbol = "kernel",
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
            )] unsafe { __profiler_body(&__profiler_state, data, left) };
        }
        ::core::option::Option::None => {
            let __profiler_state = ::profiler_device::__private::State::idle(
                __profiler_config,
            );
            #[allow(
                clippy::used_underscore_binding,
                reason = "all parameters are handed on"
            )] unsafe { __profiler_body(&__profiler_state, data, left) };
        }
    }
}
#[cfg(not(target_arch = "nvptx64"))]
#[allow(dead_code, reason = "called where the kernel runs on the CPU")]
pub unsafe fn kernel(data: &[f32], left: u32) {
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "the state is the macro's")]
    unsafe fn __profiler_body(
        __profiler_state: &::profiler_device::__private::State,
        data: &[f32],
        mut left: u32,
    ) {
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
            while left > 0 {
                left -= 1;
            }
        };
    }
    let __profiler_site = ::profiler_device::__site!(
        kind = Kernel, name = "kernel", unit = "", strategy =
        ::profiler_device::__private::wire::Strategy::Warp.code(), symbol = "kernel",
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
            )] unsafe { __profiler_body(&__profiler_state, data, left) };
        }
        ::core::option::Option::None => {
            let __profiler_state = ::profiler_device::__private::State::idle(
                __profiler_config,
            );
            #[allow(
                clippy::used_underscore_binding,
                reason = "all parameters are handed on"
            )] unsafe { __profiler_body(&__profiler_state, data, left) };
        }
    }
}

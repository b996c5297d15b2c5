#[no_mangle]
#[nvvm_internal(kernel())]
pub unsafe extern "C" fn expanded_before(output: *mut u32) {
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "the state is the macro's")]
    unsafe fn __profiler_body(
        __profiler_state: &::profiler_device::__private::State,
        output: *mut u32,
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
            *output = 1;
        };
    }
    let __profiler_site = ::profiler_device::__site!(
        kind = Kernel, name = "expanded_before", unit = "", strategy =
        ::profiler_device::__private::wire::Strategy::Warp.code(), symbol =
        "expanded_before", max_threads = 0, min_blocks = 0, max_registers = 0, names = []
    );
    let __profiler_config = ::profiler_device::__private::Config {
        enabled: true,
        strategy: ::profiler_device::__private::wire::Strategy::Warp,
        when: false,
        clock: ::profiler_device::__private::wire::header::Clock::Cycles,
        buffer: ::profiler_device::__private::BufferChoice::new(
            ::profiler_device::__private::wire::site::Buffer::Global,
        ),
        track: ::profiler_device::__private::wire::record::track_field(1),
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
            )] unsafe { __profiler_body(&__profiler_state, output) };
        }
        ::core::option::Option::None => {
            let __profiler_state = ::profiler_device::__private::State::idle(
                __profiler_config,
            );
            #[allow(
                clippy::used_underscore_binding,
                reason = "all parameters are handed on"
            )] unsafe { __profiler_body(&__profiler_state, output) };
        }
    }
}

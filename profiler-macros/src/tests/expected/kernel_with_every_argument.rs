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
        let no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder = ::renamed::__private::Recorder::new(
            &__profiler_state,
        );
    };
}
#[cfg(not(target_arch = "nvptx64"))]
#[allow(dead_code, reason = "called where the kernel runs on the CPU")]
unsafe fn everything<T>(tile: u32) {
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
        let no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder = ::renamed::__private::Recorder::new(
            &__profiler_state,
        );
    };
}

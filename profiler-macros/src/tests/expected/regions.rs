fn enclosing() {
    let __profiler_region = {
        let __profiler_recorder = ::profiler_device::__private::Recorder::copied(
            &no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder,
        );
        let __profiler_site = ::profiler_device::__site!(
            kind = Region, name = "statement", unit = "", strategy =
            ::profiler_device::__private::wire::site::STRATEGY_OF_KERNEL, symbol = "",
            max_threads = 0, min_blocks = 0, max_registers = 0, names = []
        );
        ::profiler_device::__private::LaneRecorder::region(
            ::profiler_device::__private::Recorder::leader(__profiler_recorder),
            __profiler_site,
            0,
            (),
        )
    };
    let __profiler_region = {
        let __profiler_recorder = ::profiler_device::__private::Recorder::copied(
            &(prof),
        );
        let __profiler_site = ::profiler_device::__site!(
            kind = Region, name = "options", unit = "bytes", strategy =
            ::profiler_device::__private::wire::Strategy::WarpGroup.code(), symbol = "",
            max_threads = 0, min_blocks = 0, max_registers = 0, names = []
        );
        ::profiler_device::__private::LaneRecorder::region(
            ::profiler_device::__private::Recorder::leader_warp_group(
                __profiler_recorder,
            ),
            __profiler_site,
            ::profiler_device::__private::wire::record::track_field(3),
            ::profiler_device::__private::Payload(size),
        )
    };
    let __profiler_region = {
        let __profiler_recorder = ::profiler_device::__private::Recorder::copied(
            &no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder,
        );
        let __profiler_site = {
            let _ = ::profiler_device::__site!(
                kind = Region, name = "TASK", unit = "", strategy =
                ::profiler_device::__private::wire::Strategy::Thread.code(), symbol = "",
                max_threads = 0, min_blocks = 0, max_registers = 0, names = []
            );
            TASK.__site((index) as ::core::primitive::u64)
        };
        ::profiler_device::__private::LaneRecorder::region(
            ::profiler_device::__private::Recorder::leader_thread(__profiler_recorder),
            __profiler_site,
            0,
            (),
        )
    };
    let x = {
        let __profiler_region = {
            let __profiler_recorder = ::profiler_device::__private::Recorder::copied(
                &no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder,
            );
            let __profiler_site = ::profiler_device::__site!(
                kind = Region, name = "block", unit = "", strategy =
                ::profiler_device::__private::wire::site::STRATEGY_OF_KERNEL, symbol =
                "", max_threads = 0, min_blocks = 0, max_registers = 0, names = []
            );
            ::profiler_device::__private::LaneRecorder::region(
                ::profiler_device::__private::Recorder::leader(__profiler_recorder),
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
                &no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder,
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

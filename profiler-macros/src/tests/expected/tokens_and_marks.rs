fn enclosing() {
    let token = {
        let __profiler_recorder = ::profiler_device::__private::Recorder::copied(
            &no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder,
        );
        let __profiler_site = ::profiler_device::__site!(
            kind = Region, name = "token", unit = "", strategy =
            ::profiler_device::__private::wire::Strategy::Block.code(), symbol = "",
            max_threads = 0, min_blocks = 0, max_registers = 0, names = []
        );
        ::profiler_device::__private::LaneRecorder::start(
            ::profiler_device::__private::Recorder::leader_block(__profiler_recorder),
            __profiler_site,
            0,
        )
    };
    ::profiler_device::__private::RegionToken::end(token);
    ::profiler_device::__private::RegionToken::end_with(token, 3u16);
    let prof = ::profiler_device::__private::Recorder::copied(
        &no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder,
    );
    {
        let __profiler_recorder = ::profiler_device::__private::Recorder::copied(
            &no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder,
        );
        let __profiler_site = ::profiler_device::__site!(
            kind = Mark, name = "mark", unit = "", strategy =
            ::profiler_device::__private::wire::site::STRATEGY_OF_KERNEL, symbol = "",
            max_threads = 0, min_blocks = 0, max_registers = 0, names = []
        );
        ::profiler_device::__private::LaneRecorder::mark(
            ::profiler_device::__private::Recorder::leader(__profiler_recorder),
            __profiler_site,
        )
    };
    {
        let __profiler_recorder = ::profiler_device::__private::Recorder::copied(
            &no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder,
        );
        let __profiler_site = ::profiler_device::__site!(
            kind = Mark, name = "value", unit = "rows", strategy =
            ::profiler_device::__private::wire::site::STRATEGY_OF_KERNEL, symbol = "",
            max_threads = 0, min_blocks = 0, max_registers = 0, names = []
        );
        ::profiler_device::__private::LaneRecorder::mark_value(
            ::profiler_device::__private::Recorder::leader(__profiler_recorder),
            __profiler_site,
            a == b,
        )
    };
    {
        let __profiler_recorder = ::profiler_device::__private::Recorder::copied(
            &no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder,
        );
        let __profiler_site = ::profiler_device::__site!(
            kind = Signal, name = "full", unit = "", strategy =
            ::profiler_device::__private::wire::Strategy::Elected.code(), symbol = "",
            max_threads = 0, min_blocks = 0, max_registers = 0, names = []
        );
        ::profiler_device::__private::LaneRecorder::mark_value(
            ::profiler_device::__private::Recorder::leader_elected(__profiler_recorder),
            __profiler_site,
            key,
        )
    };
    {
        let __profiler_recorder = ::profiler_device::__private::Recorder::copied(
            &(prof),
        );
        let __profiler_site = ::profiler_device::__site!(
            kind = Wait, name = "full", unit = "", strategy =
            ::profiler_device::__private::wire::site::STRATEGY_OF_KERNEL, symbol = "",
            max_threads = 0, min_blocks = 0, max_registers = 0, names = []
        );
        ::profiler_device::__private::LaneRecorder::mark_value(
            ::profiler_device::__private::Recorder::leader(__profiler_recorder),
            __profiler_site,
            key,
        )
    };
    {
        let __profiler_recorder = ::profiler_device::__private::Recorder::copied(
            &no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder,
        );
        ::profiler_device::__private::LaneRecorder::anchor(
            ::profiler_device::__private::Recorder::leader_block(__profiler_recorder),
        )
    };
    {
        let __profiler_recorder = ::profiler_device::__private::Recorder::copied(
            &(prof),
        );
        ::profiler_device::__private::LaneRecorder::anchor_every(
            ::profiler_device::__private::Recorder::leader(__profiler_recorder),
            1 << 18,
        )
    };
    {
        let _ = ::profiler_device::__site!(
            kind = Mark, name = "profile_anchor!", unit = "", strategy =
            ::profiler_device::__private::wire::Strategy::Elected.code(), symbol = "",
            max_threads = 0, min_blocks = 0, max_registers = 0, names = []
        );
        let __profiler_recorder = ::profiler_device::__private::Recorder::copied(
            &no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder,
        );
        ::profiler_device::__private::LaneRecorder::anchor(
            ::profiler_device::__private::Recorder::leader_elected(__profiler_recorder),
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
        let __profiler_recorder = ::profiler_device::__private::Recorder::copied(
            &no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder,
        );
        ::profiler_device::__private::LaneRecorder::anchor(
            ::profiler_device::__private::Recorder::leader_warp_index(
                __profiler_recorder,
                INDEX,
            ),
        )
    };
}

fn enclosing() {
    let token = {
        let recorder = ::profiler_device::__private::Recorder::copied(
            &no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder,
        );
        let site = ::profiler_device::__site!(
            kind = Region, name = "token", unit = "", strategy =
            ::profiler_device::__private::wire::Strategy::Block.code(), symbol = "",
            max_threads = 0, min_blocks = 0, max_registers = 0, names = []
        );
        ::profiler_device::__private::Recorder::start(
            recorder,
            site,
            ::profiler_device::__private::Recorder::leader_block(recorder),
            0,
        )
    };
    ::profiler_device::__private::RegionToken::end(token);
    ::profiler_device::__private::RegionToken::end_with(token, 3);
    let prof = ::profiler_device::__private::Recorder::copied(
        &no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder,
    );
    {
        let recorder = ::profiler_device::__private::Recorder::copied(
            &no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder,
        );
        let site = ::profiler_device::__site!(
            kind = Mark, name = "mark", unit = "", strategy =
            ::profiler_device::__private::wire::site::STRATEGY_OF_KERNEL, symbol = "",
            max_threads = 0, min_blocks = 0, max_registers = 0, names = []
        );
        ::profiler_device::__private::Recorder::mark(
            recorder,
            site,
            ::profiler_device::__private::Recorder::leader(recorder),
        )
    };
    {
        let recorder = ::profiler_device::__private::Recorder::copied(
            &no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder,
        );
        let site = ::profiler_device::__site!(
            kind = Mark, name = "value", unit = "rows", strategy =
            ::profiler_device::__private::wire::site::STRATEGY_OF_KERNEL, symbol = "",
            max_threads = 0, min_blocks = 0, max_registers = 0, names = []
        );
        ::profiler_device::__private::Recorder::mark_value(
            recorder,
            site,
            ::profiler_device::__private::Recorder::leader(recorder),
            a == b,
        )
    };
    {
        let recorder = ::profiler_device::__private::Recorder::copied(
            &no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder,
        );
        let site = ::profiler_device::__site!(
            kind = Signal, name = "full", unit = "", strategy =
            ::profiler_device::__private::wire::Strategy::Elected.code(), symbol = "",
            max_threads = 0, min_blocks = 0, max_registers = 0, names = []
        );
        ::profiler_device::__private::Recorder::mark_value(
            recorder,
            site,
            ::profiler_device::__private::Recorder::leader_elected(recorder),
            key,
        )
    };
    {
        let recorder = ::profiler_device::__private::Recorder::copied(&(prof));
        let site = ::profiler_device::__site!(
            kind = Wait, name = "full", unit = "", strategy =
            ::profiler_device::__private::wire::site::STRATEGY_OF_KERNEL, symbol = "",
            max_threads = 0, min_blocks = 0, max_registers = 0, names = []
        );
        ::profiler_device::__private::Recorder::mark_value(
            recorder,
            site,
            ::profiler_device::__private::Recorder::leader(recorder),
            key,
        )
    };
}

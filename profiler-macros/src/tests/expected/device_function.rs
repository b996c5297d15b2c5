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
    let no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder = ::profiler_device::__private::Recorder::copied(
        &(prof),
    );
    let __profiler_region = {
        let __profiler_recorder = no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder;
        let __profiler_site = ::profiler_device::__site!(
            kind = Region, name = "tile", unit = "", strategy =
            ::profiler_device::__private::wire::Strategy::WarpIndex((2) as
            ::core::primitive::u8).code(), symbol = "", max_threads = 0, min_blocks = 0,
            max_registers = 0, names = []
        );
        ::profiler_device::__private::LaneRecorder::region(
            ::profiler_device::__private::Recorder::leader_warp_index(
                __profiler_recorder,
                2,
            ),
            __profiler_site,
            ::profiler_device::__private::wire::record::track_field(N as u32),
            (),
        )
    };
    move || value
}

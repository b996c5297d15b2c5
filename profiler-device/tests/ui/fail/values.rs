//! Values, units, tracks and keys.
use profiler_device::{
    profile_mark, profile_names, profile_region, profile_signal, profile_wait, profiled,
    region_start,
};

#[profiled(track = "one")]
extern "ptx-kernel" fn of_another_type() {
    profile_mark!("mark", "many");
    profile_region!("region", by = when(1), track = -1.0);
}

profile_names!(TASK = ["a"]);

#[profiled]
extern "ptx-kernel" fn unit_alone() {
    profile_region!("region", unit = "bytes");
    profile_mark!("mark", unit = "bytes");
    profile_region!(TASK[0], value = 1, unit = "bytes", {});
}

#[profiled(track = 16_777_214)]
extern "ptx-kernel" fn track_out_of_range() {
    profile_region!("largest", track = 16_777_213);
    profile_region!("beyond", track = 16_777_214);
    let _token = region_start!("far beyond", track = 5_000_000_000);
}

#[profiled]
extern "ptx-kernel" fn arrow_without_key() {
    profile_signal!("full");
    profile_wait!("full", by = elected);
    profile_wait!("full", value = 3);
}

fn main() {}

//! Names of regions and marks, and lists of names.
use profiler_device::{profile_mark, profile_names, profile_region, profiled};

profile_names!(EMPTY = []);
profile_names!(NUMBERS = [1, "two", NAME]);
profile_names!(["a"]);
profile_names!(TASK = ["a"], by = block);

#[profiled(name = "")]
extern "ptx-kernel" fn missing() {
    profile_region!();
    profile_region!({});
    profile_region!(by = block);
    profile_region!(name = "load");
    profile_region!("");
    profile_mark!();
}

const NAME: &str = "load";

#[profiled]
extern "ptx-kernel" fn not_a_literal(text: &str) {
    profile_region!(NAME);
    profile_region!(text, by = block, {});
    profile_mark!(concat!("a", "b"));
    profile_mark!(NAME[0]);
}

profile_names!(LIST = ["a"]);

#[profiled]
extern "ptx-kernel" fn index_that_is_no_number() {
    profile_region!(LIST["a"]);
}

fn main() {}

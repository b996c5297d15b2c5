use profiler_device::{profile_signal, profile_wait, profiled};

#[profiled]
extern "ptx-kernel" fn kernel() {
    profile_signal!("full");
    profile_wait!("full", by = elected);
    profile_wait!("full", value = 3);
}

fn main() {}

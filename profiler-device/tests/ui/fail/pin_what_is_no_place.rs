use profiler_device::{profile_region, profiled};

#[profiled]
fn sum_up(profiler: profiler_device::Recorder<'_>, sums: &mut [f32; 4], mut index: usize) {
    profile_region!("a value", pin = (index + 1), {});
    profile_region!("nothing", pin = (), {});
    profile_region!("by variable", pin = sums[index], {
        sums[index] += 1.0;
        index += 1;
    });
    let mut elements = sums.iter_mut();
    profile_region!("by call", pin = (index, *elements.next().unwrap()), {});
}

fn main() {}

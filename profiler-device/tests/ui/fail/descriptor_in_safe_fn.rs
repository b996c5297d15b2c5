use profiler_device::profiled;

#[profiled(recorder = prof)]
extern "ptx-kernel" fn kernel(prof: profiler_device::DescriptorPtr) {
    let _ = prof;
}

fn main() {}

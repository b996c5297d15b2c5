use profiler_device::profiled;

#[profiled(name = "größer")]
extern "ptx-kernel" fn größe() {}

#[profiled]
#[unsafe(export_name = "größe")]
extern "ptx-kernel" fn size() {}

#[profiled]
#[unsafe(export_name = "size_of_generic")]
extern "ptx-kernel" fn größte<T: Copy>() {}

fn main() {}

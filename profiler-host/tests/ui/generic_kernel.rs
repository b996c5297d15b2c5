use profiler_host::{Backend, BackendChoice, launch};

unsafe fn scale<T, const N: usize>(_data: *mut T) {}

fn main() {
    let backend = Backend::choose(BackendChoice::Emulator, None).unwrap();
    let mut data = [0.0; 4];
    // SAFETY: the kernel does nothing.
    unsafe { launch!(backend, scale::<f32, 4><<<1, 1>>>(data.as_mut_ptr())) }.unwrap();
}

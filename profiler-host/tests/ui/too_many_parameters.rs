use profiler_host::{Backend, BackendChoice, launch};

macro_rules! kernel {
    ($($parameter:ident)*) => {
        #[allow(clippy::too_many_arguments, unused_variables)]
        unsafe fn many($($parameter: u32),*) {}
    };
}
kernel!(p0 p1 p2 p3 p4 p5 p6 p7 p8 p9 p10 p11 p12 p13 p14 p15 p16 p17 p18 p19 p20 p21 p22 p23 p24 p25 p26 p27 p28 p29 p30 p31 p32);

fn main() {
    let backend = Backend::choose(BackendChoice::Emulator, None).unwrap();
    // SAFETY: the kernel does nothing.
    unsafe {
        launch!(backend, many<<<1, 1>>>(
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32
        ))
    }
    .unwrap();
}

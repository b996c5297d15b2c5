use cust::prelude::*;
use profiler_host::Profiler;

static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(PTX, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let a = vec![1.0_f32; 1 << 20].as_slice().as_dbuf()?;
    let b = vec![2.0_f32; 1 << 20].as_slice().as_dbuf()?;
    let mut sum = vec![0.0_f32; 1 << 20];
    let sum_on_device = sum.as_slice().as_dbuf()?;

    let mut session = Profiler::builder().build()?.attach(&module, PTX)?;
    session.export_on_drop("add.capture")?;
    // SAFETY: one thread for each number; a slice is passed as its pointer and length.
    unsafe {
        launch!(module.add<<<(1 << 20) / 256, 256, 0, stream>>>(
            a.as_device_ptr(),
            a.len(),
            b.as_device_ptr(),
            b.len(),
            sum_on_device.as_device_ptr(),
        ))?;
    }
    let trace = session.finish()?;

    sum_on_device.copy_to(&mut sum)?;
    assert!(sum.iter().all(|&sum| sum == 3.0));
    println!("{}", trace.stats());
    trace.write_perfetto("add.pftrace")?;
    Ok(())
}

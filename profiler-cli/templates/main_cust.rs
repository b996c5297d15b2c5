use cust::prelude::*;
use profiler_host::Profiler;

static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = cust::quick_init();
    if PTX.is_empty() || context.is_err() {
        println!(
            "no NVIDIA GPU, or no compiler for GPUs when this was built; `cargo test` needs neither"
        );
        return Ok(());
    }
    let _context = context?;
    let (rows, columns) = (2112, 4096_u32);
    let module = Module::from_ptx(PTX, &[])?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let matrix = vec![1.0_f32; (rows * columns) as usize].as_slice().as_dbuf()?;
    let mut sums = vec![0.0_f32; rows as usize];
    let sums_on_device = sums.as_slice().as_dbuf()?;

    // Every launch until `finish` records.
    let mut session = Profiler::builder().build()?.attach(&module, PTX)?;
    // A `.capture` holds everything that was recorded; `profiler` reads it later, anywhere.
    session.export_on_drop("sum_rows.capture")?;
    // Eight warps a block, one row each.
    let (grid, block) = (rows / 8, 256);
    let (matrix_in, sums_out) = (matrix.as_device_ptr(), sums_on_device.as_device_ptr());
    // SAFETY: the matrix has rows * columns numbers and sums one for each row.
    unsafe { launch!(module.sum_rows<<<grid, block, 0, stream>>>(matrix_in, sums_out, columns)) }?;
    let trace = session.finish()?;

    sums_on_device.copy_to(&mut sums)?;
    assert!(sums.iter().all(|&sum| sum == columns as f32));
    trace.write_perfetto("sum_rows.pftrace")?;
    println!("{}", trace.stats());
    Ok(())
}

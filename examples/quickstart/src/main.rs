//! Adds two vectors, sums the result block by block, and shows where the time goes.
#![allow(clippy::print_stdout, reason = "this is a program's output")]

use std::path::PathBuf;

use profiler_host::{Backend, BackendChoice, Profiler, include_ptx, launch};
use quickstart_kernels::{BLOCK, CHUNK, vector_add};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (choice, folder) = arguments()?;
    let backend = Backend::choose(choice, include_ptx!("quickstart_kernels"))?;
    println!("quickstart runs on: {backend}");
    if let Some(reason) = backend.reason() {
        println!("why not on the GPU: {reason}");
    }
    let (n, blocks_per_sm) = if backend.is_gpu() { (3 << 25, 3) } else { (100_000_u32, 2) };
    let grid = blocks_per_sm * backend.device_info().sm_count;

    // Small whole numbers, whose sums are exact.
    let a_host: Vec<f32> = (0..n).map(|i| (i % 7) as f32).collect();
    let b_host: Vec<f32> = (0..n).map(|i| (i % 11) as f32).collect();
    let (a, b) = (backend.upload(&a_host)?, backend.upload(&b_host)?);
    let mut sum = backend.zeroed::<f32>(n as usize)?;
    let mut block_sums = backend.zeroed::<f32>(grid as usize)?;

    // In each turn a warp writes three records (a region with a value of 32 bits takes two), and about twenty
    // at the end.
    let turns = n.div_ceil(grid * CHUNK);
    let profiler = Profiler::builder()
        .records_per_warp(3 * turns + 20)
        .for_grid(grid, BLOCK, 1)
        .measure_record_cost()
        .build()?;
    let mut session = backend.session(&profiler)?;
    let (sum_out, block_sums_out) = (sum.as_mut_ptr(), block_sums.as_mut_ptr());
    // SAFETY: the vectors have n numbers and the sums one for each block; nothing else uses them before
    // the kernel has ended, for which `capture` waits.
    unsafe {
        launch!(
            session,
            vector_add<<<grid, BLOCK>>>(a.as_ptr(), b.as_ptr(), sum_out, block_sums_out, n)
        )
    }?;
    let capture = session.capture()?;
    let trace = session.decode(&capture);

    let mut expected_block_sums = vec![0.0; grid as usize];
    for (i, sum) in sum.read()?.into_iter().enumerate() {
        assert_eq!(sum, a_host[i] + b_host[i], "the sum at {i}");
        expected_block_sums[i / CHUNK as usize % grid as usize] += sum;
    }
    assert_eq!(block_sums.read()?, expected_block_sums);
    println!("result: correct\n\n{}\n", trace.stats());

    std::fs::create_dir_all(&folder)?;
    let file = |ending| folder.join("quickstart").with_extension(ending);
    trace.write_perfetto(file("pftrace"))?;
    trace.write_chrome(file("json"))?;
    capture.write(file("capture"))?;
    println!("open at https://ui.perfetto.dev: {}", file("pftrace").display());
    println!("for the command `profiler`: {}", file("capture").display());
    Ok(())
}

/// The back end to run on, and the folder to write to.
fn arguments() -> Result<(BackendChoice, PathBuf), Box<dyn std::error::Error>> {
    let (mut choice, mut folder) = (BackendChoice::Auto, PathBuf::from("target/profiles"));
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        match (option.as_str(), arguments.next()) {
            ("--backend", Some(value)) => choice = value.parse()?,
            ("--out", Some(value)) => folder = value.into(),
            _ => return Err("usage: quickstart [--backend auto|gpu|emulator] [--out DIR]".into()),
        }
    }
    Ok((choice, folder))
}

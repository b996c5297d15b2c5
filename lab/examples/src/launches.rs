//! The launches that are timed: those of the examples at full size. Each result is checked.

use example_kernels::persistent::Task;
use example_kernels::pipeline::Chunk;
use profiler_host::{Profiler, launch};

use crate::measure::{Builds, Result};

pub(crate) fn softmax(builds: &Builds) -> Result {
    use example_kernels::softmax::{BLOCK, BLOCKS_PER_SM, softmax};
    let backend = builds.backend();
    let problem = crate::softmax::Problem::new(false);
    let rows = problem.rows();
    let grid = BLOCKS_PER_SM * backend.device_info().sm_count;
    let input = backend.upload(&problem.input)?;
    let offsets = backend.upload(&problem.offsets)?;
    let mut output = backend.zeroed::<f32>(problem.input.len())?;
    let (from, at, to) = (input.as_ptr(), offsets.as_ptr(), output.as_mut_ptr());
    builds.measure(
        &Profiler::builder().measure_record_cost().build()?,
        None,
        || Ok(()),
        |launcher| {
            // SAFETY: there are rows + 1 offsets, which rise to the length of input and output; buffers
            // are aligned to 256 bytes; launches follow each other.
            unsafe { launch!(launcher, softmax<<<grid, BLOCK>>>(from, to, at, rows)) }
        },
    )?;
    problem.check(&output.read()?);
    Ok(())
}

pub(crate) fn gemm(builds: &Builds) -> Result {
    use example_kernels::gemm::{BLOCK, SHARED_BYTES, TILE_M, TILE_N, gemm};
    let backend = builds.backend();
    let problem = crate::gemm::Problem::new(false);
    let crate::gemm::Problem { m, n, k, .. } = problem;
    let (a, b) = (backend.upload(&problem.a)?, backend.upload(&problem.b)?);
    let mut c = backend.zeroed::<f32>(m as usize * n as usize)?;
    let (from_a, from_b, to) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
    let grid = (n / TILE_N, m / TILE_M);
    builds.measure(
        &Profiler::builder().build()?,
        Some([m, n, k]),
        || Ok(()),
        |launcher| {
            // SAFETY: the buffers hold matrices of these extents, aligned to 256 bytes; the extents are
            // whole tiles, and the launch is the one that the kernel asks for; launches follow each other.
            unsafe {
                launch!(launcher, gemm<<<grid, BLOCK, SHARED_BYTES>>>(from_a, from_b, to, n, k))
            }
        },
    )?;
    problem.check(&c.read()?);
    Ok(())
}

pub(crate) fn pipeline(builds: &Builds) -> Result {
    use example_kernels::pipeline::{BLOCK, pipeline};
    let backend = builds.backend();
    let blocks = backend.device_info().sm_count;
    let problem = crate::pipeline::Problem::new(false, blocks);
    let tiles = problem.tiles;
    let input = backend.upload(&problem.input)?;
    let mut sums = backend.zeroed::<f32>(problem.rows())?;
    let (from, to) = (input.as_ptr().cast::<Chunk>(), sums.as_mut_ptr());
    let [early, late] = crate::pipeline::TERMS;
    builds.measure(
        &Profiler::builder().build()?,
        None,
        || Ok(()),
        |launcher| {
            // SAFETY: the buffers hold this many tiles and rows, and are aligned to 256 bytes; launches
            // follow each other.
            unsafe { launch!(launcher, pipeline<<<blocks, BLOCK>>>(from, to, tiles, early, late)) }
        },
    )?;
    problem.check(&sums.read()?);
    Ok(())
}

pub(crate) fn persistent(builds: &Builds) -> Result {
    use example_kernels::persistent::{BLOCK, persistent};
    let backend = builds.backend();
    let problem = crate::persistent::Problem::new(false);
    let (input, words) = (backend.upload(&problem.input)?, backend.upload(&problem.task_words())?);
    let mut output = backend.zeroed::<f32>(problem.outputs())?;
    let mut queue = backend.zeroed::<u32>(1)?;
    let (tasks, count) = (words.as_ptr().cast::<Task>(), problem.tasks.len() as u32);
    let (queue_at, from, to) = (queue.as_mut_ptr(), input.as_ptr(), output.as_mut_ptr());
    let grid = backend.device_info().sm_count;
    let profiler = Profiler::builder()
        .records_per_warp(3 * count + 1)
        .for_grid(grid, BLOCK, 1)
        .measure_record_cost()
        .build()?;
    builds.measure(
        &profiler,
        None,
        || queue.write(&[0]),
        |launcher| {
            // SAFETY: the tasks lie within input and output; a task is four words, and buffers are aligned
            // to 256 bytes; the queue begins at 0; launches follow each other.
            unsafe {
                launch!(launcher, persistent<<<grid, BLOCK>>>(tasks, count, queue_at, from, to))
            }
        },
    )?;
    problem.check(&output.read()?);
    Ok(())
}

pub(crate) fn hopper_gemm(builds: &Builds) -> Result {
    use example_kernels::hopper_gemm::{BLOCK, SHARED_BYTES, hopper_gemm};
    let backend = builds.backend();
    let problem = crate::hopper_gemm::Problem::new(backend, false)?;
    let (maps, [m, n, k]) = (problem.maps(), problem.extents);
    let grid = backend.device_info().sm_count;
    // Each block multiplies up to 16 tiles, with 257 records each.
    let profiler = Profiler::builder()
        .warp_mask(crate::hopper_gemm::ROLES)
        .records_per_warp(5000)
        .for_grid(grid, BLOCK, 1)
        .build()?;
    builds.measure(
        &profiler,
        Some([m, n, k]),
        || Ok(()),
        |launcher| {
            // SAFETY: the maps are those of live matrices of these extents, with the boxes that the kernel
            // asks for, in device memory, which all back ends of a process share; the launch has the
            // kernel's shape; launches follow each other.
            unsafe { launch!(launcher, hopper_gemm<<<grid, BLOCK, SHARED_BYTES>>>(maps, m, n, k)) }
        },
    )?;
    problem.check(backend)
}

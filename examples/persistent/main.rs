//! A persistent kernel with a work queue: which SM did what, what fetching costs, and the tail.

use std::process::ExitCode;

use example_kernels::persistent::{AXPY, BLOCK, COPY, FACTOR, MATMUL, SUM, TILE, Task, persistent};
use profiler_examples::{Check, Failure, Report, Run, run};
use profiler_host::{Profiler, include_ptx, launch};

fn main() -> ExitCode {
    run("persistent", include_ptx!("persistent"), example)
}

fn example(run: &Run) -> Result<Report, Failure> {
    let tasks = tasks(run.pick(32, 2_048), run.pick(8..13, 12..19));
    let task_count = tasks.len() as u32;
    let inputs = tasks.iter().map(|task| task.input + task.inputs()).max().unwrap_or(0);
    let outputs = tasks.iter().map(|task| task.output + task.outputs()).max().unwrap_or(0);
    let mut random = fastrand::Rng::with_seed(4);
    let input_host: Vec<f32> = (0..inputs).map(|_| random.f32()).collect();
    let words: Vec<u32> =
        tasks.iter().flat_map(|task| [task.kind, task.count, task.input, task.output]).collect();

    let backend = run.backend();
    let (input, tasks_in) = (backend.upload(&input_host)?, backend.upload(&words)?);
    let mut output = backend.zeroed::<f32>(outputs as usize)?;
    let mut queue = backend.zeroed::<u32>(1)?;
    let (queue_at, output_out) = (queue.as_mut_ptr(), output.as_mut_ptr());

    // One block on each SM. At worst, one of them does everything: three records a task, since a
    // region with a value takes two, and one for the fetch that finds the queue empty.
    let grid = run.sm_count();
    let profiler = Profiler::builder()
        .records_per_warp(3 * task_count + 1)
        .for_grid(grid, BLOCK, 1)
        .measure_record_cost()
        .build()?;
    let measured = run.measure_prepared(
        &profiler,
        || queue.write(&[0]),
        |launcher| {
            // SAFETY: `tasks` lays out tasks within input and output; a task is four words, and
            // buffers are aligned to 256 bytes; the queue begins at 0; launches follow each other.
            unsafe {
                launch!(
                    launcher,
                    persistent<<<grid, BLOCK>>>(
                        tasks_in.as_ptr().cast::<Task>(),
                        task_count,
                        queue_at,
                        input.as_ptr(),
                        output_out,
                    )
                )
            }
        },
    )?;

    let results = output.read()?;
    let pairs = tasks.iter().flat_map(|task| {
        let expected = reference(task, &input_host);
        let results = &results[task.output as usize..][..task.outputs() as usize];
        results.iter().copied().map(f64::from).zip(expected).collect::<Vec<_>>()
    });
    Ok(Report { measured, checks: vec![Check::relative("numbers", pairs, 5e-5)] })
}

/// Tasks of all kinds, as many of each size: 2 to the power of `sizes`, or up to twice that many
/// numbers; products grow alike. The largest come last, which is the worst order: an SM that takes one of them at the end works alone.
fn tasks(count: u32, sizes: std::ops::Range<u32>) -> Vec<Task> {
    let mut random = fastrand::Rng::with_seed(3);
    let steps = sizes.end - sizes.start;
    let mut output = 0;
    let task = |number: u32| {
        let size = sizes.start + number * steps / count;
        let kind = number % 4;
        let count = match kind {
            MATMUL => TILE << (size - sizes.start),
            _ => (1 << size) + random.u32(..1 << size),
        };
        let mut task = Task { kind, count, input: 0, output };
        // Inputs may overlap: they begin anywhere in a stretch that fits the caches.
        task.input = random.u32(..1 << sizes.end);
        output += task.outputs();
        task
    };
    (0..count).map(task).collect()
}

/// What a task writes, in double precision.
fn reference(task: &Task, input: &[f32]) -> Vec<f64> {
    let count = task.count as usize;
    let input = &input[task.input as usize..][..task.inputs() as usize];
    let number = |index: usize| f64::from(input[index]);
    match task.kind {
        COPY => (0..count).map(number).collect(),
        AXPY => (0..count).map(|i| f64::from(FACTOR) * number(i) + number(count + i)).collect(),
        SUM => vec![(0..count).map(number).sum()],
        _ => {
            let tile = TILE as usize;
            let second = count * tile;
            let element = |row: usize, column: usize| -> f64 {
                (0..count)
                    .map(|i| number(i * tile + row) * number(second + i * tile + column))
                    .sum()
            };
            (0..tile * tile).map(|index| element(index / tile, index % tile)).collect()
        }
    }
}

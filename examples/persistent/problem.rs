//! Tasks of all kinds, and their results on the host.

use std::ops::Range;

use example_kernels::persistent::{AXPY, COPY, FACTOR, MATMUL, SUM, TILE, Task};

/// The most that a number may differ from the reference, as a part of it.
const ERROR_MAX: f64 = 5e-5;

/// A queue of tasks, and the numbers that they read.
pub(crate) struct Problem {
    pub(crate) tasks: Vec<Task>,
    pub(crate) input: Vec<f32>,
}

impl Problem {
    pub(crate) fn new(small: bool) -> Self {
        let tasks = if small { tasks(32, 8..13) } else { tasks(2_048, 12..19) };
        let inputs = tasks.iter().map(|task| task.input + task.inputs()).max().unwrap_or(0);
        let mut random = fastrand::Rng::with_seed(4);
        Self { tasks, input: (0..inputs).map(|_| random.f32()).collect() }
    }

    /// The tasks as the kernel reads them, four words each.
    pub(crate) fn task_words(&self) -> Vec<u32> {
        let words = |task: &Task| [task.kind, task.count, task.input, task.output];
        self.tasks.iter().flat_map(words).collect()
    }

    /// How many numbers all tasks write.
    pub(crate) fn outputs(&self) -> usize {
        self.tasks.iter().map(|task| task.outputs() as usize).sum()
    }

    /// Panics if a number is not what double precision gives.
    pub(crate) fn check(&self, output: &[f32]) {
        for (number, task) in self.tasks.iter().enumerate() {
            let results = &output[task.output as usize..][..task.outputs() as usize];
            for (at, (&result, expected)) in results.iter().zip(self.expected(task)).enumerate() {
                let error = (f64::from(result) - expected).abs();
                assert!(
                    error <= ERROR_MAX * expected.abs(),
                    "task {number}, number {at}: {result} instead of {expected}"
                );
            }
        }
    }

    /// The numbers that a task writes, in double precision.
    fn expected(&self, task: &Task) -> Vec<f64> {
        let (count, tile) = (task.count as usize, TILE as usize);
        let number = |index: usize| f64::from(self.input[task.input as usize + index]);
        match task.kind {
            COPY => (0..count).map(number).collect(),
            AXPY => (0..count).map(|i| f64::from(FACTOR) * number(i) + number(count + i)).collect(),
            SUM => vec![(0..count).map(number).sum()],
            _ => {
                let product =
                    |i, row, column| number(i * tile + row) * number((count + i) * tile + column);
                let element = |at| (0..count).map(|i| product(i, at / tile, at % tile)).sum();
                (0..tile * tile).map(element).collect()
            }
        }
    }
}

/// Tasks of all kinds, as many of each size: 2 to the power of `sizes`, or up to twice that many
/// numbers; products grow alike. The largest come last, which is the worst order: an SM that takes one
/// of them at the end works alone.
fn tasks(count: u32, sizes: Range<u32>) -> Vec<Task> {
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

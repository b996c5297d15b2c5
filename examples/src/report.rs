//! What an example prints, and the files it writes.
#![allow(clippy::print_stdout, reason = "this is the output of the examples")]

use profiler_host::{Backend, Trace, write_trace};
use serde_json::json;

use crate::{Annotations, Check, Failure, Measured, Run};

/// What an example hands back.
#[derive(Debug)]
pub struct Report {
    /// The trace and the times.
    pub measured: Measured,
    /// Comparisons of the kernel's results with those of the host; at least one.
    pub checks: Vec<Check>,
}

/// Says where the kernel runs, and why not on the GPU.
pub(crate) fn print_backend(name: &str, backend: &Backend) {
    println!("{name} runs on: {backend}");
    if let Some(reason) = backend.reason() {
        println!("why not on the GPU: {reason}");
    }
    if !backend.is_gpu() {
        println!("these are not GPU times: the emulator shows order and structure");
    }
}

impl Report {
    /// Prints everything, writes the files, and gives whether the results were right.
    pub(crate) fn print_and_write(&self, run: &Run) -> Result<bool, Failure> {
        let trace = &self.measured.trace;
        for check in &self.checks {
            println!("{check}");
        }
        let correct = !self.checks.is_empty() && self.checks.iter().all(Check::is_correct);
        // The table begins with the trace's notes and diagnostics.
        println!("\n{}", trace.stats());
        if let Some(lines) = self.times() {
            println!("{lines}\n");
        }
        if let Some(annotations) = &self.measured.annotations {
            println!("{annotations}\n");
        }
        let folder = &run.arguments.out;
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("the folder {} cannot be made: {error}", folder.display()))?;
        for ending in ["pftrace", "json"] {
            let path = folder.join(format!("{}.{ending}", run.name));
            write_trace(trace, &path)?;
            println!("wrote {} (open it at https://ui.perfetto.dev)", path.display());
        }
        let path = folder.join(format!("{}.capture", run.name));
        self.measured.capture.write(&path)?;
        println!(
            "wrote {} (for the command `profiler`: stats, timeline, report, export, diff)",
            path.display()
        );
        println!("summary: {}", self.summary(run, correct));
        Ok(correct)
    }

    /// The kernel's time by events and by the trace, and what profiling costs.
    fn times(&self) -> Option<String> {
        let timing = self.measured.timing?;
        let mut lines = String::new();
        if let Some(trace_ns) = kernel_ns(&self.measured.trace) {
            let events_ns = timing.traced.as_secs_f64() * 1e9;
            lines += &format!(
                "kernel time: {:.1} µs by CUDA events, {:.1} µs from first entry to last exit in \
                 the trace (ratio {:.4})\n",
                events_ns / 1e3,
                trace_ns / 1e3,
                trace_ns / events_ns,
            );
        }
        lines += &format!(
            "profiling: {:.1} µs without, {:.1} µs with it, {:+.2} % (medians)",
            timing.plain.as_secs_f64() * 1e6,
            timing.profiled.as_secs_f64() * 1e6,
            timing.overhead() * 1e2,
        );
        Some(lines)
    }

    /// One line for scripts. What was not measured is null.
    fn summary(&self, run: &Run, correct: bool) -> serde_json::Value {
        let (trace, timing) = (&self.measured.trace, self.measured.timing);
        let nanoseconds = |duration: std::time::Duration| duration.as_secs_f64() * 1e9;
        json!({
            "example": run.name,
            "backend": if run.backend.is_gpu() { "gpu" } else { "emulator" },
            "device": trace.device.name,
            "result": if correct { "correct" } else { "wrong" },
            "max_error": self.checks.iter().map(Check::max_error).fold(0.0, f64::max),
            "kernel_ns_events": timing.map(|timing| nanoseconds(timing.traced)),
            "kernel_ns_trace": timing.and_then(|_| kernel_ns(trace)),
            "kernel_ns_plain": timing.map(|timing| nanoseconds(timing.plain)),
            "kernel_ns_profiled": timing.map(|timing| nanoseconds(timing.profiled)),
            "overhead": timing.map(|timing| timing.overhead()),
            "annotations_overhead":
                self.measured.annotations.as_ref().map(Annotations::overhead),
            "recorded": trace.recorded(),
            "lost": trace.lost(),
        })
    }
}

/// From the first entry to the last exit of the last launch.
fn kernel_ns(trace: &Trace) -> Option<f64> {
    trace.launches.last().map(|launch| launch.end_ns - launch.start_ns)
}

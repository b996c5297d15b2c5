//! What the user is told beside the result: errors, diagnostics, progress. All of it on standard
//! error.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use profiler_trace::{Diagnostics, Progress as Steps, Severity, printable};

use crate::exit::Error;

/// What is over sooner shows no progress.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a bar moves where nothing else moves it.
const TICK: Duration = Duration::from_millis(100);

/// Bytes of a known number: rate, and time left.
const BYTES_OF: &str = "{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes}, \
                        {decimal_bytes_per_sec}, {eta} left";
/// Bytes of an unknown number.
const BYTES: &str = "{spinner} {msg}, {decimal_bytes}, {decimal_bytes_per_sec}, {elapsed}";
/// Steps of a number that is known as far as the work has said it; `{of}` is what they are.
const STEPS_OF: &str = "{msg} {wide_bar} {human_pos}/{human_len} {of}, {per_sec}, {eta} left";
/// Nothing to count.
const ELAPSED: &str = "{spinner} {msg}, {elapsed}";

/// How each severity is called, and looks where colour may be used.
pub(crate) fn severity(severity: Severity) -> (&'static str, Style) {
    let (name, color) = match severity {
        Severity::Info => ("note", AnsiColor::Cyan),
        Severity::Warning => ("warning", AnsiColor::Yellow),
        Severity::Error => ("error", AnsiColor::Red),
    };
    (name, color.on_default().bold())
}

/// Where the user is told things.
#[derive(Debug)]
pub(crate) struct Console {
    quiet: bool,
    is_terminal: bool,
}

impl Console {
    /// A quiet console shows errors only.
    pub(crate) fn new(quiet: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        Self { quiet, is_terminal: std::io::stderr().is_terminal() && !dumb }
    }

    /// Says why the program ends.
    pub(crate) fn error(&self, error: &Error) {
        let (name, style) = severity(Severity::Error);
        say(&format!("{style}{name}{style:#}: {}", clean(&error.to_string())));
        if let Some(cure) = error.cure() {
            let style = AnsiColor::Green.on_default().bold();
            say(&format!("  {style}help{style:#}: {}", clean(cure)));
        }
    }

    /// Says something that is good to know.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            say(&clean(text));
        }
    }

    /// Shows what was lost or odd in a trace.
    pub(crate) fn diagnostics(&self, diagnostics: &Diagnostics) {
        for diagnostic in &diagnostics.list {
            let (name, style) = severity(diagnostic.severity());
            if !self.quiet || diagnostic.severity() == Severity::Error {
                say(&format!("{style}{name}{style:#}: {diagnostic}"));
            }
        }
    }

    /// Progress of what is read, in bytes, of so many where that is known.
    pub(crate) fn reading(&self, doing: &str, total: Option<u64>) -> Progress {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        bar.set_style(style(if total.is_some() { BYTES_OF } else { BYTES }));
        bar.set_message(clean(doing));
        let waiting = self.shows_progress().then(|| Waiting::start(&bar, ProgressBar::tick));
        Progress { bar, waiting }
    }

    /// Does work that counts its steps, and shows its progress. `of` is what the steps are.
    pub(crate) fn work<T>(
        &self,
        doing: &str,
        of: &'static str,
        work: impl FnOnce(&Written) -> T,
    ) -> T {
        let (steps, written) = (Steps::default(), Written::default());
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let show = {
            let (steps, written, doing) = (steps.clone(), written.clone(), clean(doing));
            let mut is_counting = false;
            bar.set_style(style(ELAPSED));
            move |bar: &ProgressBar| {
                let (done, expected) = (steps.done(), steps.expected());
                if expected > 0 && !is_counting {
                    is_counting = true;
                    bar.set_style(style(&STEPS_OF.replace("{of}", of)));
                }
                bar.set_message(match written.bytes() {
                    0 => doing.clone(),
                    bytes => format!("{doing}, {}", crate::units::bytes(bytes)),
                });
                if expected > 0 {
                    bar.set_length(expected.max(done));
                }
                bar.set_position(done);
                bar.tick();
            }
        };
        let waiting = self.shows_progress().then(|| Waiting::start(&bar, show));
        let _progress = Progress { bar, waiting };
        steps.watch(|| work(&written))
    }

    fn shows_progress(&self) -> bool {
        self.is_terminal && !self.quiet
    }
}

/// A bar of this form.
fn style(template: &str) -> ProgressStyle {
    let default = ProgressStyle::default_bar();
    // A template that cannot be read leaves the default one, which shows less.
    let style = default.clone().template(template).unwrap_or(default);
    style.progress_chars("=> ").tick_chars("-\\|/ ")
}

/// How many bytes work has written.
#[derive(Clone, Default)]
pub(crate) struct Written(Arc<AtomicU64>);

impl Written {
    /// A writer whose bytes count.
    pub(crate) fn count<W: Write>(&self, writer: W) -> Counted<W> {
        Counted { writer, written: self.clone() }
    }

    /// How many there are so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts what is written.
pub(crate) struct Counted<W> {
    writer: W,
    written: Written,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.writer.write(bytes)?;
        self.written.0.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Text that may hold names from captures and of files, fit for a terminal line by line.
fn clean(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// Writes a line. Where standard error is closed, there is nobody to tell.
fn say(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// A bar that appears if what it is about takes its time, and is gone when this is dropped.
pub(crate) struct Progress {
    /// Counts what is done.
    pub(crate) bar: ProgressBar,
    waiting: Option<Waiting>,
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            waiting.stop();
        }
        self.bar.finish_and_clear();
    }
}

/// A thread that shows a bar once it is worth it.
struct Waiting {
    done: Sender<()>,
    thread: JoinHandle<()>,
}

impl Waiting {
    fn start(bar: &ProgressBar, mut show: impl FnMut(&ProgressBar) + Send + 'static) -> Self {
        let (done, is_done) = channel();
        let bar = bar.clone();
        let thread = std::thread::spawn(move || {
            let mut patience = PATIENCE;
            while is_done.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                show(&bar);
                patience = TICK;
            }
        });
        Self { done, thread }
    }

    fn stop(self) {
        // The thread may be gone already, which is as well.
        let _ = self.done.send(());
        let _ = self.thread.join();
    }
}

#[cfg(test)]
mod tests {
    use indicatif::ProgressStyle;

    #[test]
    fn every_template_can_be_read() {
        for template in [super::BYTES_OF, super::BYTES, super::STEPS_OF, super::ELAPSED] {
            let template = template.replace("{of}", "warps");
            assert!(ProgressStyle::with_template(&template).is_ok(), "{template}");
        }
    }
}

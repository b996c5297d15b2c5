//! Errors, diagnostics, notes and progress, all on standard error.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use profiler_trace::{Diagnostic, Diagnostics, Progress as Steps, Severity, printable};

use crate::exit::Error;
use crate::terminal;

/// A shorter command shows no progress.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time between two frames of a bar.
const TICK: Duration = Duration::from_millis(100);

/// Bytes of a known total, once some are read.
const BYTES: &str = "{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes}, {eta} left";
/// Steps of a pass, which the prefix names, once some are done.
const STEPS: &str = "{msg} {wide_bar} {human_pos}/{human_len} {prefix}, {eta} left";
/// Work whose time left is unknown.
const ELAPSED: &str = "{spinner} {msg}, {elapsed}";

/// The name and the colour of a severity.
fn severity(severity: Severity) -> (&'static str, Style) {
    let color = match severity {
        Severity::Info => AnsiColor::Cyan,
        Severity::Warning => AnsiColor::Yellow,
        Severity::Error => AnsiColor::Red,
    };
    (severity.name(), color.on_default().bold())
}

/// The start of a diagnostic's line: its severity and its name, as `docs/diagnostics.md` and `check` have
/// it, then `more`.
pub(crate) fn heading(diagnostic: &Diagnostic, more: &str) -> String {
    let (name, style) = severity(diagnostic.severity());
    format!("{style}{name}[{}{more}]{style:#}", diagnostic.kind.name())
}

/// Standard error, as the user's console.
#[derive(Debug)]
pub(crate) struct Console {
    quiet: bool,
    is_terminal: bool,
    /// The start of the command: many quick steps may make a slow command.
    began: Instant,
}

impl Console {
    /// A quiet console shows errors only.
    pub(crate) fn new(quiet: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        let is_terminal = io::stderr().is_terminal() && !dumb;
        Self { quiet, is_terminal, began: Instant::now() }
    }

    /// Says why the program ends.
    pub(crate) fn error(&self, error: &Error) {
        let (name, style) = severity(Severity::Error);
        say(&format!("{style}{name}{style:#}: {}", clean(&error.to_string())));
        if let Some(help) = error.help() {
            let style = AnsiColor::Green.on_default().bold();
            say(&format!("  {style}help{style:#}: {}", clean(help)));
        }
    }

    /// Prints a note.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            say(&clean(text));
        }
    }

    /// Shows the diagnostics of a trace.
    pub(crate) fn diagnostics(&self, diagnostics: &Diagnostics) {
        self.diagnostics_after("", diagnostics);
    }

    /// Likewise, with this in front of each: the name of one of several traces.
    pub(crate) fn diagnostics_after(&self, begin: &str, diagnostics: &Diagnostics) {
        for diagnostic in diagnostics.notable() {
            if self.shows(diagnostic) {
                say(&format!("{}: {begin}{diagnostic}", heading(diagnostic, "")));
            }
        }
    }

    /// Whether people see this diagnostic, on the console or in a result: a quiet console shows only errors.
    pub(crate) fn shows(&self, diagnostic: &Diagnostic) -> bool {
        !self.quiet || diagnostic.severity() == Severity::Error
    }

    /// Progress of reading, in bytes, of a total if that is known.
    pub(crate) fn reading(&self, doing: &str, total: Option<u64>) -> Progress {
        self.progress(doing, total, BYTES, |_| ())
    }

    /// Does work that counts its steps, and shows its progress.
    pub(crate) fn work<T>(&self, doing: &str, work: impl FnOnce() -> T) -> T {
        let steps = Steps::default();
        let _progress = self.steps(doing, &steps);
        steps.watch(work)
    }

    /// Does work that writes to standard output, and shows its progress as [`Console::work`] does. If the
    /// output is a terminal, the bar is gone before the first byte.
    pub(crate) fn print<T>(&self, work: impl FnOnce(Printed) -> T) -> T {
        let steps = Steps::default();
        let mut progress = Some(self.steps("writing", &steps));
        let until_written = if io::stdout().is_terminal() { progress.take() } else { None };
        steps.watch(|| work(Printed { stdout: io::stdout(), until_written }))
    }

    /// A bar that shows the steps of the current pass that are done.
    fn steps(&self, doing: &str, steps: &Steps) -> Progress {
        let steps = steps.clone();
        self.progress(doing, None, STEPS, move |bar| {
            bar.set_prefix(steps.pass());
            let (done, expected) = (steps.done(), steps.expected());
            if expected > 0 {
                bar.set_length(expected.max(done));
                bar.set_position(done);
            }
        })
    }

    /// A bar; `update` sets its position.
    fn progress(
        &self,
        doing: &str,
        total: Option<u64>,
        template: &'static str,
        update: impl Fn(&ProgressBar) + Send + 'static,
    ) -> Progress {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        bar.set_message(clean(doing));
        let show = move |bar: &ProgressBar| {
            update(bar);
            let total = bar.length().unwrap_or(0);
            let is_known = (1..total).contains(&bar.position());
            bar.set_style(style(if is_known { template } else { ELAPSED }));
        };
        let patience = PATIENCE.saturating_sub(self.began.elapsed());
        let is_shown = self.is_terminal && !self.quiet;
        let waiting = is_shown.then(|| show_after(patience, bar.clone(), show));
        Progress { bar, waiting }
    }
}

/// A bar of this form.
fn style(template: &str) -> ProgressStyle {
    let default = ProgressStyle::default_bar();
    // A template that cannot be read leaves the default one, which shows less.
    let style = default.clone().template(template).unwrap_or(default);
    style.progress_chars("=> ").tick_chars("-\\|/ ")
}

/// Standard output, before whose first byte a bar is gone.
pub(crate) struct Printed {
    stdout: io::Stdout,
    until_written: Option<Progress>,
}

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        drop(self.until_written.take());
        self.stdout.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdout.flush()
    }
}

/// Text with names of captures and files, made safe for a terminal line by line.
fn clean(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// Writes a line. If standard error is closed, it is lost.
fn say(text: &str) {
    let text = terminal::lines(text, terminal::width_of_stderr());
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// A bar that appears if its work takes long, and is gone when this is dropped.
pub(crate) struct Progress {
    /// The bar, which counts.
    pub(crate) bar: ProgressBar,
    /// The thread that shows it, and how it learns that the work is done.
    waiting: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.waiting.take() {
            // The thread may be gone already, which is as well.
            let _ = done.send(());
            let _ = thread.join();
        }
        self.bar.finish_and_clear();
    }
}

/// Shows a bar once it is worth it.
fn show_after(
    patience: Duration,
    bar: ProgressBar,
    show: impl Fn(&ProgressBar) + Send + 'static,
) -> (Sender<()>, JoinHandle<()>) {
    let (done, is_done) = channel();
    let thread = std::thread::spawn(move || {
        let waits = |time| is_done.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
        if !waits(patience) {
            return;
        }
        // Set before it is drawn, as each setting would draw it again.
        show(&bar);
        bar.set_draw_target(ProgressDrawTarget::stderr());
        bar.tick();
        while waits(TICK) {
            show(&bar);
            bar.tick();
        }
    });
    (done, thread)
}

#[cfg(test)]
mod tests {
    use indicatif::ProgressStyle;

    use super::{BYTES, ELAPSED, STEPS};

    #[test]
    fn every_template_can_be_read() {
        for template in [BYTES, STEPS, ELAPSED] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}

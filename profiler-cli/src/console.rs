//! What the user is told beside the result: errors, diagnostics, progress. All of it on standard
//! error.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use profiler_trace::{Diagnostics, Severity};

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
        say(&format!("{style}{name}{style:#}: {error}"));
        if let Some(cure) = error.cure() {
            let style = AnsiColor::Green.on_default().bold();
            say(&format!("  {style}help{style:#}: {cure}"));
        }
    }

    /// Says something that is good to know.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            say(text);
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

    /// Progress in bytes, of so many where that is known.
    pub(crate) fn bytes(&self, doing: &str, total: Option<u64>) -> Progress {
        self.progress(doing, total, if total.is_some() { BYTES_OF } else { BYTES })
    }

    /// Progress of something that has no measure but its time.
    pub(crate) fn elapsed(&self, doing: &str) -> Progress {
        self.progress(doing, None, ELAPSED)
    }

    fn progress(&self, doing: &str, total: Option<u64>, template: &str) -> Progress {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let style = if total.is_some() {
            ProgressStyle::default_bar()
        } else {
            ProgressStyle::default_spinner()
        };
        // A template that cannot be read leaves the default one, which shows less.
        let style = style.clone().template(template).unwrap_or(style);
        bar.set_style(style.progress_chars("=> ").tick_chars("-\\|/ "));
        bar.set_message(doing.to_owned());
        let waiting = (self.is_terminal && !self.quiet).then(|| Waiting::start(&bar));
        Progress { bar, waiting }
    }
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
    fn start(bar: &ProgressBar) -> Self {
        let (done, is_done) = channel();
        let bar = bar.clone();
        let thread = std::thread::spawn(move || {
            if is_done.recv_timeout(PATIENCE).is_err() {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar.enable_steady_tick(TICK);
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
        for template in [super::BYTES_OF, super::BYTES, super::ELAPSED] {
            assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
        }
    }
}

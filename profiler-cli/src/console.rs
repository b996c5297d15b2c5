//! Errors, diagnostics, notes and progress, all on standard error.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use profiler_trace::{Diagnostic, Diagnostics, Progress as Steps, Severity, printable};

use crate::exit::Error;
use crate::terminal;

/// A shorter command shows no progress.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time between two frames of a bar.
const TICK: Duration = Duration::from_millis(100);

/// Bytes of a known total, before the first one: neither rate nor time left is known.
const BYTES_BEGUN: &str = "{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes}";
/// Bytes of a known total: rate, and time left.
const BYTES_OF: &str = "{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes}, \
                        {decimal_bytes_per_sec}, {eta} left";
/// Bytes of an unknown total.
const BYTES: &str = "{spinner} {msg}, {decimal_bytes}, {decimal_bytes_per_sec}, {elapsed}";
/// Steps, before the first one is done; `{of}` names them.
const STEPS_BEGUN: &str = "{msg} {wide_bar} {human_pos}/{human_len} {of}";
/// Steps of a total, as far as the work has announced it.
const STEPS_OF: &str = "{msg} {wide_bar} {human_pos}/{human_len} {of}, {rate}, {eta} left";
/// All steps are done, and uncounted work goes on.
const STEPS_DONE: &str = "{spinner} {msg}, finishing, {elapsed}";
/// Nothing to count.
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

    /// Shows the diagnostics of one of several traces, with its name.
    pub(crate) fn diagnostics_of(&self, trace: &str, diagnostics: &Diagnostics) {
        self.diagnostics_after(&format!("{}: ", printable(trace)), diagnostics);
    }

    /// Whether people see this diagnostic, on the console or in a result: a quiet console shows only errors.
    pub(crate) fn shows(&self, diagnostic: &Diagnostic) -> bool {
        !self.quiet || diagnostic.severity() == Severity::Error
    }

    fn diagnostics_after(&self, begin: &str, diagnostics: &Diagnostics) {
        for diagnostic in diagnostics.notable() {
            if self.shows(diagnostic) {
                say(&format!("{}: {begin}{diagnostic}", heading(diagnostic, "")));
            }
        }
    }

    /// Progress of reading, in bytes, of a total if that is known.
    pub(crate) fn reading(&self, doing: &str, total: Option<u64>) -> Progress {
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
        let waiting = self.shows_progress().then(|| self.wait(&bar, bytes_shown(clean(doing))));
        Progress { bar, waiting }
    }

    /// Does work that counts its steps, and shows its progress. `of` names the steps.
    pub(crate) fn work<T>(
        &self,
        doing: &str,
        of: &'static str,
        work: impl FnOnce(&Written) -> T,
    ) -> T {
        let (steps, written) = (Steps::default(), Written::default());
        let _progress = self.steps(doing, of, &steps, &written);
        steps.watch(|| work(&written))
    }

    /// Does work that writes to standard output, and shows its progress as [`Console::work`] does. If the
    /// output is a terminal, the bar is gone before the first byte.
    pub(crate) fn print<T>(
        &self,
        of: &'static str,
        work: impl FnOnce(Counted<io::Stdout>) -> T,
    ) -> T {
        let (steps, written) = (Steps::default(), Written::default());
        let mut progress = Some(self.steps("writing", of, &steps, &written));
        let until_written = if io::stdout().is_terminal() { progress.take() } else { None };
        steps.watch(|| work(Counted { writer: io::stdout(), written, until_written }))
    }

    /// A bar that shows how many steps are done.
    fn steps(&self, doing: &str, of: &'static str, steps: &Steps, written: &Written) -> Progress {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let show = steps_shown(clean(doing), of, steps.clone(), written.clone());
        let waiting = self.shows_progress().then(|| self.wait(&bar, show));
        Progress { bar, waiting }
    }

    fn wait(&self, bar: &ProgressBar, show: impl FnMut(&ProgressBar) + Send + 'static) -> Waiting {
        Waiting::start(bar, patience(self.began.elapsed()), show)
    }

    fn shows_progress(&self) -> bool {
        self.is_terminal && !self.quiet
    }
}

/// The time until a step's bar appears, in a command that has taken so long.
fn patience(command: Duration) -> Duration {
    PATIENCE.saturating_sub(command)
}

/// Updates a bar that counts bytes.
fn bytes_shown(doing: String) -> impl FnMut(&ProgressBar) + Send + 'static {
    move |bar| {
        let is_limited = bar.length().is_some_and(|total| total > 0);
        bar.set_style(style(match (is_limited, bar.position()) {
            (true, 0) => BYTES_BEGUN,
            (true, _) => BYTES_OF,
            (false, 0) => ELAPSED,
            (false, _) => BYTES,
        }));
        bar.set_message(doing.clone());
    }
}

/// Updates a bar that counts steps and the bytes that they wrote.
fn steps_shown(
    doing: String,
    of: &'static str,
    steps: Steps,
    written: Written,
) -> impl FnMut(&ProgressBar) + Send + 'static {
    move |bar| {
        let (done, expected) = (steps.done(), steps.expected());
        if expected > 0 {
            bar.set_length(expected.max(done));
            bar.set_position(done);
        }
        bar.set_style(style(&match (expected, done) {
            (0, _) => ELAPSED.to_owned(),
            (_, 0) => STEPS_BEGUN.replace("{of}", of),
            _ if done >= expected => STEPS_DONE.to_owned(),
            _ => STEPS_OF.replace("{of}", of),
        }));
        bar.set_message(match written.bytes() {
            0 => doing.clone(),
            bytes => format!("{doing}, {}", crate::units::bytes(bytes)),
        });
    }
}

/// Draws a bar for the first time. Everything is set before, as each setting would draw it again.
fn appear(bar: &ProgressBar, on: ProgressDrawTarget, show: &mut impl FnMut(&ProgressBar)) {
    show(bar);
    bar.set_draw_target(on);
    bar.tick();
}

/// A bar of this form.
fn style(template: &str) -> ProgressStyle {
    let default = ProgressStyle::default_bar();
    // A template that cannot be read leaves the default one, which shows less.
    let style = default.clone().template(template).unwrap_or(default);
    style.with_key("rate", rate).progress_chars("=> ").tick_chars("-\\|/ ")
}

/// Steps a second, without digits that would flicker.
fn rate(state: &ProgressState, text: &mut dyn fmt::Write) {
    let steps = state.per_sec();
    // The text cannot fail.
    let _ = if steps < 100.0 {
        write!(text, "{steps:.1}/s")
    } else {
        write!(text, "{}/s", HumanCount(steps as u64))
    };
}

/// A count of written bytes.
#[derive(Clone, Default)]
pub(crate) struct Written(Arc<AtomicU64>);

impl Written {
    /// A writer whose bytes count.
    pub(crate) fn count<W: Write>(&self, writer: W) -> Counted<W> {
        Counted { writer, written: self.clone(), until_written: None }
    }

    /// The count so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts what is written.
pub(crate) struct Counted<W> {
    writer: W,
    written: Written,
    /// A bar that is gone before the first byte.
    until_written: Option<Progress>,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        drop(self.until_written.take());
        let count = self.writer.write(bytes)?;
        self.written.0.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
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
    fn start(
        bar: &ProgressBar,
        patience: Duration,
        mut show: impl FnMut(&ProgressBar) + Send + 'static,
    ) -> Self {
        let (done, is_done) = channel();
        let bar = bar.clone();
        let thread = std::thread::spawn(move || {
            let waits = |time| is_done.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            if !waits(patience) {
                return;
            }
            appear(&bar, ProgressDrawTarget::stderr(), &mut show);
            while waits(TICK) {
                show(&bar);
                bar.tick();
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
    use std::io::{self, Write};
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Mutex, PoisonError};
    use std::time::Duration;

    use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
    use profiler_trace::Progress as Steps;

    use super::{
        Counted, PATIENCE, Progress, Waiting, Written, appear, bytes_shown, patience, steps_shown,
    };

    /// A terminal that keeps what is written to it.
    #[derive(Clone, Debug, Default)]
    struct Terminal(Arc<Mutex<String>>);

    impl TermLike for Terminal {
        fn width(&self) -> u16 {
            80
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) += text;
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The first frame.
    fn first_frame(bar: &ProgressBar, mut show: impl FnMut(&ProgressBar)) -> String {
        let terminal = Terminal::default();
        let on = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        appear(bar, on, &mut show);
        bar.set_draw_target(ProgressDrawTarget::hidden());
        let drawn = terminal.0.lock().unwrap_or_else(PoisonError::into_inner);
        drawn.trim_end().to_owned()
    }

    fn hidden(total: Option<u64>) -> ProgressBar {
        ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden())
    }

    #[test]
    fn every_template_can_be_read() {
        let bytes = [super::BYTES_BEGUN, super::BYTES_OF, super::BYTES];
        let steps = [super::STEPS_BEGUN, super::STEPS_OF, super::STEPS_DONE, super::ELAPSED];
        for template in bytes.into_iter().chain(steps) {
            let template = template.replace("{of}", "warps");
            assert!(ProgressStyle::with_template(&template).is_ok(), "{template}");
        }
    }

    #[test]
    fn patience_is_that_of_the_command() {
        assert_eq!(patience(Duration::ZERO), PATIENCE);
        assert_eq!(patience(PATIENCE - Duration::from_millis(1)), Duration::from_millis(1));
        assert_eq!(patience(20 * PATIENCE), Duration::ZERO);
    }

    #[test]
    fn quick_work_ends_before_its_bar_appears() {
        let waiting = Waiting::start(&hidden(None), Duration::from_secs(3600), |_| ());
        waiting.stop();
    }

    #[test]
    fn steps_are_drawn_as_far_as_they_are_known() {
        let steps = Steps::default();
        let frame = || {
            let show = steps_shown("decoding".into(), "warps", steps.clone(), Written::default());
            first_frame(&hidden(None), show)
        };
        assert!(frame().contains(" decoding, ") && !frame().contains("warps"), "{}", frame());
        steps.watch(|| Steps::expect(20));
        let begun = frame();
        assert!(begun.starts_with("decoding ") && begun.ends_with(" 0/20 warps"), "{begun}");
        steps.watch(Steps::step);
        let counted = frame();
        assert!(counted.contains(" 1/20 warps, ") && counted.ends_with(" left"), "{counted}");
        // What is not counted may go on, so that nothing is known of what is left.
        steps.watch(|| Steps::each(0..20).for_each(drop));
        let done = frame();
        assert!(done.contains(" decoding, finishing, ") && !done.contains("left"), "{done}");
    }

    /// Says of each write whether a bar was gone by then.
    struct Output(ProgressBar, Vec<bool>);

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1.push(self.0.is_finished());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_bar_before_an_output_is_gone_when_that_begins() {
        let (bar, (shown, is_shown)) = (hidden(None), channel());
        let show = move |_: &ProgressBar| shown.send(()).unwrap_or_default();
        let waiting = Some(Waiting::start(&bar, Duration::ZERO, show));
        let progress = Progress { bar: bar.clone(), waiting };
        is_shown.recv().expect("the bar is shown");
        let (writer, written) = (Output(bar.clone(), Vec::new()), Written::default());
        let mut counted = Counted { writer, written, until_written: Some(progress) };
        assert!(!bar.is_finished());
        counted.write_all(b"one").and_then(|()| counted.write_all(b"two")).expect("it is kept");
        assert_eq!((counted.writer.1, counted.written.bytes()), (vec![true, true], 6));
    }

    /// A frame that is one column too long would wrap, and leave a rest behind.
    #[test]
    fn a_bar_beside_wide_characters_ends_where_the_terminal_does() {
        let bar = hidden(Some(2000));
        let frame = first_frame(&bar, bytes_shown("writing 時間軸.pftrace".into()));
        assert_eq!(textwrap::core::display_width(&frame), 80, "{frame}");
    }

    #[test]
    fn bytes_are_drawn_as_far_as_they_are_known() {
        let frame = |done: u64, total: Option<u64>| {
            let bar = hidden(total);
            bar.set_position(done);
            first_frame(&bar, bytes_shown("reading".into()))
        };
        assert!(!frame(0, None).contains("B"), "{}", frame(0, None));
        assert!(frame(500, None).contains(" reading, 500 B, "), "{}", frame(500, None));
        assert!(frame(0, Some(2000)).ends_with(" 0 B/2.00 kB"), "{}", frame(0, Some(2000)));
        assert!(frame(500, Some(2000)).contains(" 500 B/2.00 kB, "));
    }
}

//! Pages in a real browser without a window: Chromium, or what is built from it.
#![allow(dead_code, reason = "each user of the module uses a part of it")]

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use profiler_test_tools::{Missing, Tool};
use serde_json::Value;

/// The colours that the system asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Light,
    Dark,
}

#[derive(Clone, Debug)]
pub(crate) struct Browser {
    program: PathBuf,
}

/// The result of opening a page.
pub(crate) struct Seen {
    /// The probe's return value.
    pub(crate) answer: Value,
    /// The browser's messages about the page: errors, warnings, logged lines.
    pub(crate) console: Vec<String>,
}

impl Browser {
    pub(crate) fn find() -> Result<Self, Missing> {
        Tool::Chromium.find().map(|program| Self { program })
    }

    fn command(&self, profile: &Path, scheme: Scheme) -> Command {
        let mut command = Command::new(&self.program);
        command.args([
            "--headless",
            "--disable-gpu",
            // The pages are our own, and the sandbox does not run as root.
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-background-networking",
            "--enable-logging=stderr",
            "--window-size=1280,900",
            match scheme {
                Scheme::Light => "--blink-settings=preferredColorScheme=1",
                Scheme::Dark => "--blink-settings=preferredColorScheme=0",
            },
        ]);
        let mut folder = OsString::from("--user-data-dir=");
        folder.push(profile);
        command.arg(folder);
        command
    }

    /// Opens a page, and when it is ready runs the body of an async function in it.
    pub(crate) fn ask(
        &self,
        page: &str,
        scheme: Scheme,
        folder: &Path,
        probe: &str,
    ) -> Result<Seen, Box<dyn std::error::Error>> {
        let place = Place::new(folder)?;
        let script = format!(
            "<script>\n\
             const timer = setInterval(async () => {{\n\
               if (!document.documentElement.dataset.ready) return;\n\
               clearInterval(timer);\n\
               let answer;\n\
               try {{ answer = await (async () => {{ {probe} }})(); }}\n\
               catch (error) {{ answer = {{ failed: String(error.stack) }}; }}\n\
               const text = encodeURIComponent(JSON.stringify(answer));\n\
               document.body.replaceChildren(Object.assign(document.createElement('output'), {{ textContent: text }}));\n\
             }}, 10);\n</script>\n</body>"
        );
        let at = page.rfind("</body>").ok_or("the page has no end")?;
        std::fs::write(
            &place.page,
            [&page[..at], &script, &page[at + "</body>".len()..]].concat(),
        )?;
        let output = self
            .command(&place.profile, scheme)
            // Timers run without waiting: no test depends on how long anything takes.
            .args(["--virtual-time-budget=60000", "--dump-dom"])
            .arg(&place.page)
            .stdin(Stdio::null())
            .output()?;
        let console: Vec<String> = String::from_utf8_lossy(&output.stderr)
            .lines()
            .filter(|line| line.contains("CONSOLE"))
            .map(str::to_owned)
            .collect();
        let dom = String::from_utf8(output.stdout)?;
        let text = dom.split("<output>").nth(1).and_then(|rest| rest.split("</output>").next());
        let text = text.ok_or_else(|| format!("the page was never ready: {console:#?}"))?;
        let answer: Value = serde_json::from_slice(&decode(text))?;
        if let Some(failed) = answer.get("failed") {
            return Err(format!("the probe failed: {failed}").into());
        }
        Ok(Seen { answer, console })
    }

    /// Opens a page in real time; gives the milliseconds from the start of its loading to its first
    /// paint, and to when it was ready.
    pub(crate) fn time(&self, page: &Path) -> Result<(f64, f64), Box<dyn std::error::Error>> {
        let place = Place::new(&std::env::temp_dir())?;
        let script = "<script>const timer = setInterval(() => {\
            const ready = document.documentElement.dataset.ready;\
            const paint = performance.getEntriesByName('first-contentful-paint')[0];\
            if (!ready || !paint) return;\
            clearInterval(timer);\
            console.log(`TIMES ${paint.startTime} ${ready} END`);\
            }, 10);</script></body>";
        let text = std::fs::read_to_string(page)?;
        let at = text.rfind("</body>").ok_or("the page has no end")?;
        std::fs::write(&place.page, [&text[..at], script, &text[at + "</body>".len()..]].concat())?;
        let mut browser = self
            .command(&place.profile, Scheme::Light)
            .arg(&place.page)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = browser.stderr.take().ok_or("no stderr")?;
        let line = BufReader::new(stderr).lines().map_while(Result::ok).find_map(|line| {
            let times = line.split("TIMES ").nth(1)?.split(" END").next()?;
            let (paint, ready) = times.split_once(' ')?;
            Some((paint.parse().ok()?, ready.parse().ok()?))
        });
        browser.kill()?;
        browser.wait()?;
        // Its own processes end after it, and write to the folder until then.
        std::thread::sleep(Duration::from_millis(300));
        line.ok_or_else(|| "the browser ended before the page was ready".into())
    }
}

/// A folder for one browser and its page, as tests run in parallel.
struct Place {
    folder: PathBuf,
    profile: PathBuf,
    page: PathBuf,
}

impl Place {
    fn new(parent: &Path) -> io::Result<Self> {
        let thread = format!("{:?}", std::thread::current().id());
        let number: String = thread.chars().filter(char::is_ascii_digit).collect();
        let folder = parent.join(format!("browser-{}-{number}", std::process::id()));
        let place =
            Self { profile: folder.join("profile"), page: folder.join("page.html"), folder };
        std::fs::create_dir_all(&place.profile)?;
        Ok(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What stays lies in a folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Undoes `encodeURIComponent`.
fn decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, others @ ..] = rest {
        let hex = others.get(..2).filter(|_| *first == b'%');
        let hex = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match hex {
            Some(byte) => {
                bytes.push(byte);
                rest = &others[2..];
            }
            None => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    bytes
}

/// By the Web Content Accessibility Guidelines, of two colours.
pub(crate) fn contrast(ground: &Value, ink: &Value) -> f64 {
    let [ground, ink] = [ground, ink].map(luminance);
    (ground.max(ink) + 0.05) / (ground.min(ink) + 0.05)
}

/// By the same, of red, green and blue.
fn luminance(color: &Value) -> f64 {
    let part = |at: usize| match color[at].as_f64().unwrap_or(f64::NAN) / 255.0 {
        share if share <= 0.04045 => share / 12.92,
        share => ((share + 0.055) / 1.055).powf(2.4),
    };
    0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2)
}

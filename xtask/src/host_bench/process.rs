//! A program's run as a whole process: its time and its peak memory, by the operating system's own
//! account.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::Error;

/// What a run took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// From its start to its end.
    pub(crate) seconds: f64,
    /// Of all its threads, in user mode and in the kernel.
    pub(crate) processor_seconds: f64,
    /// The largest resident set.
    pub(crate) peak_bytes: u64,
    /// All that it wrote to anything.
    pub(crate) written_bytes: u64,
}

/// Runs a program once, and throws its output away.
pub(crate) fn measure(command: &[String]) -> Result<Cost, Error> {
    let mut process = program(command)?;
    let start = Instant::now();
    let child = process.stdout(Stdio::null()).spawn().map_err(|error| failed(command, error))?;
    ended(child.id()).map_err(|error| failed(command, error))?;
    let seconds = start.elapsed().as_secs_f64();
    // Known as long as nobody has waited for it.
    let account = std::fs::read_to_string(format!("/proc/{}/io", child.id())).unwrap_or_default();
    let written = account.lines().find_map(|line| line.strip_prefix("wchar: "));
    let (status, usage) = wait(child.id()).map_err(|error| failed(command, error))?;
    if status != 0 {
        return Err(failed(command, format!("wait status {status}")));
    }
    let time = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    Ok(Cost {
        seconds,
        processor_seconds: time(usage.ru_utime) + time(usage.ru_stime),
        // Linux counts KiB.
        peak_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) << 10,
        written_bytes: written.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0),
    })
}

/// Runs a program, which puts its output into a file, or has it counted.
pub(crate) fn written(command: &[String], file: Option<&Path>) -> Result<u64, Error> {
    let mut process = program(command)?;
    let Some(file) = file else {
        let mut child =
            process.stdout(Stdio::piped()).spawn().map_err(|error| failed(command, error))?;
        let mut output = child.stdout.take().ok_or_else(|| failed(command, "no output"))?;
        let (mut bytes, mut part) = (0, vec![0; 1 << 16]);
        loop {
            match output.read(&mut part)? {
                0 => break,
                read => bytes += read as u64,
            }
        }
        let status = child.wait()?;
        return if status.success() { Ok(bytes) } else { Err(failed(command, status)) };
    };
    let status = process.stdout(File::create(file)?).status()?;
    if !status.success() {
        return Err(failed(command, status));
    }
    Ok(std::fs::metadata(file)?.len())
}

fn program(command: &[String]) -> Result<Command, Error> {
    let (program, arguments) = command.split_first().ok_or("no program")?;
    let mut process = Command::new(program);
    process.args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    Ok(process)
}

fn failed(command: &[String], why: impl std::fmt::Display) -> Error {
    format!("`{}` failed: {why}", command.join(" ")).into()
}

/// Waits until a child ends, and leaves it to be waited for.
#[allow(unsafe_code, reason = "the standard library takes the child's account away as it waits")]
fn ended(child: u32) -> std::io::Result<()> {
    loop {
        // SAFETY: `siginfo_t` is a structure of integers and pointers, of which all bits zero is a
        // value.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let options = libc::WEXITED | libc::WNOWAIT;
        // SAFETY: the pointer is to a variable that lives through the call.
        if unsafe { libc::waitid(libc::P_PID, child, &raw mut info, options) } == 0 {
            return Ok(());
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Waits for a child; gives its wait status and what it used.
#[allow(unsafe_code, reason = "the standard library waits without asking for what was used")]
fn wait(child: u32) -> std::io::Result<(libc::c_int, libc::rusage)> {
    let child = libc::pid_t::try_from(child).map_err(std::io::Error::other)?;
    let mut status = 0;
    // SAFETY: `rusage` is a structure of integers, of which all bits zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to variables that live through the call. The child is one of
        // ours that nothing else waits for: `Child` does so only where it is asked to.
        if unsafe { libc::wait4(child, &raw mut status, 0, &raw mut usage) } == child {
            return Ok((status, usage));
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(text: &str) -> Vec<String> {
        ["sh", "-c", text].map(str::to_owned).into()
    }

    #[test]
    fn what_a_process_takes_is_seen() {
        let idle = measure(&shell("true")).expect("it runs");
        // 64 MiB in one variable of the shell.
        let text = "x=$(head -c 67108864 /dev/zero | tr '\\0' x); test ${#x} -eq 67108864";
        let large = measure(&shell(text)).expect("it runs");
        assert!(large.peak_bytes > idle.peak_bytes + (48 << 20), "{idle:?} {large:?}");
        assert!(large.processor_seconds > 0.0 && large.seconds > 0.0);
        let writes = measure(&shell("head -c 100000 /dev/zero | cat")).expect("it runs");
        assert!(writes.written_bytes >= 100_000 && idle.written_bytes < 100_000, "{writes:?}");
        let error = measure(&shell("exit 3")).expect_err("it fails").to_string();
        assert!(error.contains("exit 3"), "{error}");
    }

    #[test]
    fn output_is_counted_or_kept() {
        assert_eq!(written(&shell("printf abc"), None).expect("it runs"), 3);
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("out");
        assert_eq!(written(&shell("printf abcd"), Some(&file)).expect("it runs"), 4);
        assert_eq!(std::fs::read(file).expect("it is there"), b"abcd");
        assert!(written(&shell("exit 1"), None).is_err());
    }
}

//! Functions for all tests.
#![allow(dead_code, reason = "not every test uses all of it")]

use std::sync::Mutex;

use profiler_emulator::{Emulator, LaunchConfig, Threads, block_dim, block_index, thread_index};

/// A launch of `blocks` blocks of `threads` threads.
pub(crate) fn config(blocks: u32, threads: u32) -> LaunchConfig {
    LaunchConfig::new([blocks, 1, 1], [threads, 1, 1])
}

/// The linear index of the calling thread in its block.
pub(crate) fn thread() -> usize {
    let [x, y, z] = thread_index();
    let [width, height, _] = block_dim();
    (x + width * (y + height * z)) as usize
}

/// Runs `kernel` on a new device and returns what each thread returned: (block x, thread, value).
pub(crate) fn collect<T: Send>(
    config: &LaunchConfig,
    kernel: impl Fn() -> T + Sync,
) -> Vec<(u32, usize, T)> {
    let values = Mutex::new(Vec::new());
    Emulator::default()
        .launch(config, || {
            let value = kernel();
            values.lock().unwrap().push((block_index()[0], thread(), value));
        })
        .unwrap();
    let mut values = values.into_inner().unwrap();
    values.sort_by_key(|&(block, thread, _)| (block, thread));
    values
}

/// [`collect`] with coroutines, after checking that operating-system threads give the same.
pub(crate) fn collect_both<T: Send + PartialEq + std::fmt::Debug>(
    config: &LaunchConfig,
    kernel: impl Fn() -> T + Sync,
) -> Vec<(u32, usize, T)> {
    let coroutines = collect(config, &kernel);
    let os = collect(&LaunchConfig { threads: Threads::Os, ..config.clone() }, &kernel);
    assert_eq!(coroutines, os);
    coroutines
}

/// Set in a process that is to end.
const ENDS: &str = "PROFILER_EMULATOR_TEST_ENDS";

/// Runs a test, by its path, again in a process of its own. There it runs `ends`, which a signal ends, and gives
/// `None`; here, what the process wrote to standard error.
#[cfg(unix)]
pub(crate) fn ending_of(test: &str, signal: i32, ends: impl FnOnce()) -> Option<String> {
    if std::env::var_os(ENDS).is_some() {
        ends();
        return None;
    }
    let output = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args([test, "--exact", "--nocapture"])
        .env(ENDS, "1")
        .output()
        .expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let ended = std::os::unix::process::ExitStatusExt::signal(&output.status);
    assert_eq!(ended, Some(signal), "{output:?}");
    Some(stderr)
}

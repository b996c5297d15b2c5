//! A launch that ends before its threads do: 63 threads wait for a third warp, of which there is none.

use std::io::Write;

use profiler_emulator::{LaunchConfig, LaunchError, barrier, launch, thread_index};

fn main() -> std::io::Result<()> {
    let ended = launch(&LaunchConfig::new([2, 1, 1], [64, 1, 1]), || {
        if thread_index()[0] != 63 {
            barrier(1, Some(96));
        }
    });
    match ended {
        Err(LaunchError::Deadlock { waits, .. }) => {
            writeln!(std::io::stdout(), "{} waits", waits.len())
        }
        other => panic!("a launch of which threads wait for ever gave {other:?}"),
    }
}

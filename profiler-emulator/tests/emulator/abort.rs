//! With `panic = "abort"` threads that a launch leaves after are left as they are: to unwind them would
//! abort the process, and take away what the launch has to say.

use std::process::Command;

#[test]
fn a_launch_that_fails_says_why() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "run",
        "--quiet",
        "--example",
        "deadlock",
        "--config",
        "profile.dev.panic='abort'",
    ]);
    // A folder of its own: the other tests unwind.
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/panic-abort");
    let output = cargo
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .args(["--target-dir", folder])
        // Those of a sanitizer are for programs whose standard library has it too.
        .env_remove("RUSTFLAGS")
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "126 waits\n");
}

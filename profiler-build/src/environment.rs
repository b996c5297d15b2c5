//! The environment of nested commands.

use std::path::Path;
use std::process::Command;

/// Variables that say where and how to fetch crates: the nested build must do as the outer one.
const KEPT: [&str; 6] = [
    "CARGO_HOME",
    "CARGO_HTTP_",
    "CARGO_NET_",
    "CARGO_REGISTRIES_",
    "CARGO_REGISTRY_",
    "CARGO_TERM_",
];

/// Separates flags in `CARGO_ENCODED_RUSTFLAGS`.
const FLAG_SEPARATOR: &str = "\x1f";

/// The profile that PTX is compiled with, whatever the device crate's manifest says of `release`:
/// one module from all crates, and no debug information (it would grow the PTX tenfold).
pub(crate) const PROFILE: [(&str, &str); 7] = [
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "3"),
    ("CARGO_PROFILE_RELEASE_LTO", "fat"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1"),
    ("CARGO_PROFILE_RELEASE_PANIC", "abort"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
    ("CARGO_PROFILE_RELEASE_INCREMENTAL", "false"),
    ("CARGO_PROFILE_RELEASE_STRIP", "none"),
];

/// Gives a cargo that reads or compiles a device crate its environment. It is the same for both, as cargo
/// asks the compiler with these flags also where it only reads.
pub(crate) fn of_device_crates(command: &mut Command, rustc: &Path, flags: &[String]) {
    clean(command);
    command
        .env("RUSTC", rustc)
        // Unstable flags, in the device crate's own configuration too, for any compiler.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join(FLAG_SEPARATOR))
        .envs(PROFILE);
}

/// Removes what the outer cargo, rustup, clippy or rustdoc has set for the outer build: its flags,
/// wrappers, toolchain and job server (whose pipes the nested cargo does not inherit).
pub(crate) fn clean(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_of_the_outer_build) {
            command.env_remove(name);
        }
    }
}

/// Whether [`clean`] removes a variable, so that a nested command does not see what the user set it to.
pub(crate) fn is_of_the_outer_build(name: &str) -> bool {
    if KEPT.iter().any(|kept| name.starts_with(kept)) {
        return false;
    }
    ["CARGO", "RUSTC", "RUSTDOC", "RUSTFLAGS", "CLIPPY_", "DEP_"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
        || matches!(
            name,
            "MAKEFLAGS"
                | "MFLAGS"
                | "OUT_DIR"
                | "TARGET"
                | "HOST"
                | "NUM_JOBS"
                | "OPT_LEVEL"
                | "DEBUG"
                | "PROFILE"
                | "RUSTUP_TOOLCHAIN"
                | "RUST_RECURSION_COUNT"
        )
}

#[cfg(test)]
mod tests {
    use super::is_of_the_outer_build;

    #[test]
    fn flags_and_wrappers_go_registries_and_user_settings_stay() {
        for gone in [
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_PROFILE_RELEASE_OPT_LEVEL",
            "CARGO_TARGET_DIR",
            "CARGO",
            "RUSTC_WORKSPACE_WRAPPER",
            "RUSTC",
            "RUSTFLAGS",
            "RUSTUP_TOOLCHAIN",
            "CARGO_MAKEFLAGS",
        ] {
            assert!(is_of_the_outer_build(gone), "{gone}");
        }
        for kept in
            ["CARGO_HOME", "CARGO_NET_OFFLINE", "RUSTUP_HOME", "RUST_BACKTRACE", "PATH", "HOME"]
        {
            assert!(!is_of_the_outer_build(kept), "{kept}");
        }
    }
}

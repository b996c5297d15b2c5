//! The environment of nested commands.

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

//! Writes the inputs that a target begins with: `cargo run --example seeds TARGET FOLDER`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, folder] = &arguments[..] else {
        return Err(std::io::Error::other("usage: seeds TARGET FOLDER"));
    };
    for (of, name, bytes) in profiler_fuzz::seeds::all() {
        if of == target {
            std::fs::write(Path::new(folder).join(name), bytes)?;
        }
    }
    Ok(())
}

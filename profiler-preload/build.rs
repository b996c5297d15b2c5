//! Writes what forwards the driver's functions.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

const LIST: &str = "driver-functions.txt";
/// The file in which the functions are that this library has itself.
const HOOKS: &str = "src/hooks.rs";

fn main() {
    println!("cargo::rerun-if-changed={LIST}");
    println!("cargo::rerun-if-changed={HOOKS}");
    let list = fs::read_to_string(LIST).expect("the list is in the package");
    let hooks = fs::read_to_string(HOOKS).expect("the source is in the package");
    let (mut names, mut forwarded, mut indices) = (String::new(), String::new(), String::new());
    for (index, name) in list.split_whitespace().enumerate() {
        let _ = writeln!(names, "    c\"{name}\",");
        let _ = writeln!(indices, "    pub(crate) const {}: usize = {index};", name.to_uppercase());
        let is_hook = [
            format!("fn {name}("),
            format!(" {name},\n"),
            format!(" {name}, "),
            format!(" {name}:"),
        ];
        if !is_hook.iter().any(|text| hooks.contains(text)) {
            let _ = writeln!(forwarded, "    {name} = {index},");
        }
    }
    let count = list.split_whitespace().count();
    let text = format!(
        "pub(crate) const COUNT: usize = {count};\n\
         pub(crate) static NAMES: [&::core::ffi::CStr; COUNT] = [\n{names}];\n\
         /// Where the functions are in the table.\n\
         pub(crate) mod index {{\n    #![allow(dead_code, reason = \"it has all of them\")]\n{indices}}}\n\
         forward! {{\n{forwarded}}}\n"
    );
    let out = env::var_os("OUT_DIR").expect("Cargo sets it");
    fs::write(Path::new(&out).join("functions.rs"), text)
        .expect("Cargo's folder can be written to");
}

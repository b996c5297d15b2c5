//! Names of kernels as people wrote them.

use cpp_demangle::{DemangleOptions, Symbol};

/// The name that C++ source has for a kernel, with what it takes, which tells overloads apart; other names stay as they
/// are.
pub(crate) fn readable(name: &str) -> String {
    let options = DemangleOptions::new().no_return_type();
    let symbol = name.starts_with("_Z").then(|| Symbol::new(name).ok()).flatten();
    let Some(text) = symbol.and_then(|symbol| symbol.demangle_with_options(&options).ok()) else {
        return name.to_owned();
    };
    // numba's tags say how it compiled.
    let mut parts = text.split("[abi:");
    let mut readable = parts.next().unwrap_or_default().to_owned();
    readable.extend(parts.filter_map(|part| Some(part.split_once(']')?.1)));
    readable
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(readable("_Z8pipelinePKfPfi"), "pipeline(float const*, float*, int)");
        assert_eq!(readable("_Z3addIfLi4EEvPT_"), "add<float, 4>(float*)");
        assert_eq!(readable("_ZN2at6native5scaleEv"), "at::native::scale()");
        assert_eq!(
            readable("_ZN8__main__4sumsB2v1B4cw51E5ArrayIfLi2EE"),
            "__main__::sums(Array<float, 2>)"
        );
        for other in ["softmax", "_Z", "_Zebra", "triton_poi_fused_0"] {
            assert_eq!(readable(other), other);
        }
    }
}

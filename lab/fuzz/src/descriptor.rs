//! The launch descriptor: 128 bytes that say how all others lie.

use std::sync::OnceLock;

use profiler_trace::Capture;
use profiler_wire::descriptor::{BYTES, Lost, block_magic, offset};
use profiler_wire::{Descriptor, WIRE_VERSION};

use crate::{capture_content, check};

/// Reads a descriptor, and decodes a small capture by it.
///
/// # Panics
///
/// If something does not hold.
pub fn check(bytes: &[u8]) {
    static SAMPLE: OnceLock<Capture> = OnceLock::new();
    let sample = SAMPLE.get_or_init(capture_content::sample);
    let Some((descriptor, rest)) = bytes.split_first_chunk::<BYTES>() else { return };
    let read = Descriptor::from_bytes(descriptor);
    // Some bytes are no part of a field.
    let fields = Descriptor::from_bytes(&[0xff; BYTES]).to_bytes();
    let of_fields: [u8; BYTES] = std::array::from_fn(|at| descriptor[at] & fields[at]);
    let written = read.to_bytes();
    // The last bytes follow from a field.
    let kept = offset::BLOCK_MAGIC as usize;
    assert_eq!(written[..kept], of_fields[..kept]);
    assert_eq!(written[kept..], block_magic(read.block_stride).to_le_bytes());
    assert_eq!(Descriptor::from_bytes(&read.to_bytes()), read);

    let mut rest = rest.iter();
    let mut next = || rest.next().copied().unwrap_or(0);
    let (choice, flags) = (next(), next());
    let mut capture = sample.clone();
    let module = &mut capture.modules[usize::from(flags & 1)];
    module.descriptor = read;
    if flags & 2 != 0 {
        module.descriptor.version = WIRE_VERSION;
    }
    // A kernel records only where the descriptor has its own version.
    for header in module.headers.chunks_exact_mut(profiler_wire::header::BYTES) {
        header[16] = module.descriptor.version as u8;
    }
    if let Some(lost) = descriptor.first_chunk::<{ Lost::BYTES }>() {
        module.lost = Lost::from_bytes(lost);
    }
    // Counts and clocks that go with it: pairs of a place in every header and its byte.
    while let Some((at, value)) = Some((next(), next())).filter(|pair| *pair != (0, 0)) {
        for header in module.headers.chunks_exact_mut(profiler_wire::header::BYTES) {
            header[usize::from(at) % profiler_wire::header::BYTES] = value;
        }
    }
    check::capture(&capture, choice);

    let mut file = Vec::new();
    capture.write_to(&mut file).expect("a vector takes all");
    let again = Capture::read_from(file.as_slice()).expect("it was just written");
    assert_eq!(again.modules, capture.modules);
}

//! Finds the PTX in what holds programs for the GPU: PTX text, fatbins, and ELF files with fatbins in them.
//!
//! A fatbin is a header of 16 bytes (magic 0xBA55ED50, version 1, the header's bytes, the bytes after it) and then
//! images, each with a header that says what it is. The layout was read off fatbins that nvcc 13.0 made in all its
//! compression modes; `cuobjdump` shows the same images.
#![cfg(feature = "rewrite")]

use std::io::Read as _;

use object::{Object as _, ObjectSection as _};

/// PTX that was found, and for which GPUs it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The compute capability, 90 for 9.0; 0 if the file does not say it.
    pub arch: u32,
    /// The text.
    pub ptx: String,
}

/// Why there is no PTX in a file. `Debug` is the text of `Display`, so that `main` may return it.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// Machine code alone.
    #[error(
        "it holds machine code and no PTX: compile with `-gencode arch=compute_XX,code=compute_XX`, or let the \
         program compile its kernels when it runs"
    )]
    NoPtx,
    /// Nothing for a GPU.
    #[error(
        "it holds no program for a GPU: give PTX, a fatbin, or a program or library with fatbins in it"
    )]
    NoImage,
    /// The file ends too early, or numbers in it cannot be.
    #[error("the fatbin at byte {at} is damaged: {what}")]
    Damaged {
        /// Where in the file or its section.
        at: usize,
        /// What is wrong.
        what: &'static str,
    },
}

impl std::fmt::Debug for ImageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

const MAGIC: u32 = 0xba55_ed50;
const HEADER_BYTES: usize = 16;
const IMAGE_HEADER_BYTES: usize = 64;
/// An image is PTX; 2 is machine code.
const KIND_PTX: u16 = 1;
const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;
/// The machine of cubins, in the header of an ELF file.
const EM_CUDA: u16 = 190;
/// No text is taken that is larger than this, whatever a file says.
const PTX_BYTES_MAX: usize = 1 << 30;
/// Sections of programs that hold fatbins, one after the other.
const SECTIONS: [&str; 2] = [".nv_fatbin", "__nv_relfatbin"];

/// All PTX in a file, in the order in which it is there.
///
/// # Errors
///
/// Says why there is none, or what is damaged.
pub fn images(bytes: &[u8]) -> Result<Vec<Image>, ImageError> {
    if number::<4>(bytes, 0).map(u32::from_le_bytes) == Some(MAGIC) {
        return of_fatbins(bytes);
    }
    if bytes.starts_with(b"\x7fELF") {
        if number::<2>(bytes, 18).map(u16::from_le_bytes) == Some(EM_CUDA) {
            return Err(ImageError::NoPtx);
        }
        let file = object::File::parse(bytes)
            .map_err(|_| ImageError::Damaged { at: 0, what: "it is no whole ELF file" })?;
        let (mut found, mut is_any) = (Vec::new(), false);
        for section in file.sections() {
            if section.name().is_ok_and(|name| SECTIONS.contains(&name)) {
                let data = section.data();
                let data =
                    data.map_err(|_| ImageError::Damaged { at: 0, what: "a section is cut off" })?;
                is_any |= !data.is_empty();
                match of_fatbins(data) {
                    Ok(images) => found.extend(images),
                    Err(ImageError::NoPtx) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        return match (found.is_empty(), is_any) {
            (false, _) => Ok(found),
            (true, true) => Err(ImageError::NoPtx),
            (true, false) => Err(ImageError::NoImage),
        };
    }
    let text = std::str::from_utf8(bytes).ok().filter(|text| text.contains(".version"));
    let ptx = text.ok_or(ImageError::NoImage)?.trim_end_matches('\0').to_owned();
    Ok(vec![Image { arch: 0, ptx }])
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn of_fatbins(bytes: &[u8]) -> Result<Vec<Image>, ImageError> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at + HEADER_BYTES <= bytes.len() {
        // Fatbins are aligned to 8, with zeros between them.
        if number::<4>(bytes, at).map(u32::from_le_bytes) != Some(MAGIC) {
            at += 8;
            continue;
        }
        let damaged = |what| ImageError::Damaged { at, what };
        let header = number(bytes, at + 6).map_or(0, u16::from_le_bytes);
        let length = number(bytes, at + 8).map_or(0, u64::from_le_bytes);
        let start = at + usize::from(header);
        let end = usize::try_from(length).ok().and_then(|length| start.checked_add(length));
        let end = end.filter(|end| *end <= bytes.len() && usize::from(header) >= HEADER_BYTES);
        let images = &bytes[start..end.ok_or_else(|| damaged("it is cut off"))?];
        let mut rest = images;
        while rest.len() >= IMAGE_HEADER_BYTES {
            let (image, bytes) = one(rest).map_err(damaged)?;
            found.extend(image);
            rest = &rest[bytes..];
        }
        at = start + images.len();
    }
    if found.is_empty() { Err(ImageError::NoPtx) } else { Ok(found) }
}

/// The image that begins here, if it is PTX, and its bytes.
fn one(bytes: &[u8]) -> Result<(Option<Image>, usize), &'static str> {
    let half = |at| number(bytes, at).map_or(0, u16::from_le_bytes);
    let word = |at| number(bytes, at).map_or(0, u32::from_le_bytes);
    let long = |at| number(bytes, at).map_or(0, u64::from_le_bytes);
    let (header, size, compressed) = (word(4) as usize, long(8), word(16) as usize);
    let end = usize::try_from(size).ok().and_then(|size| header.checked_add(size));
    let end = end.filter(|end| *end <= bytes.len() && header >= IMAGE_HEADER_BYTES);
    let end = end.ok_or("an image is cut off")?;
    if half(0) != KIND_PTX {
        return Ok((None, end));
    }
    let (arch, flags, data) = (word(28), long(40), &bytes[header..end]);
    let is_compressed = flags & (FLAG_LZ4 | FLAG_ZSTD) != 0;
    let text = if is_compressed {
        let whole = usize::try_from(long(56)).ok().filter(|whole| *whole <= PTX_BYTES_MAX);
        let whole = whole.ok_or("an image is said to be larger than 1 GiB")?;
        let data = data.get(..compressed).ok_or("a compressed image is cut off")?;
        unpacked(data, whole, flags)?
    } else {
        data.to_vec()
    };
    let text = String::from_utf8(text).map_err(|_| "the PTX is not text")?;
    let ptx = text.trim_end_matches('\0').to_owned();
    Ok((Some(Image { arch, ptx }), end))
}

fn unpacked(data: &[u8], whole: usize, flags: u64) -> Result<Vec<u8>, &'static str> {
    const WRONG: &str = "a compressed image does not unpack";
    if flags & FLAG_LZ4 != 0 {
        // LZ4 packs at most 255 to one: what claims more is not worth its memory.
        if whole > data.len().saturating_mul(255) {
            return Err(WRONG);
        }
        return lz4_flex::block::decompress(data, whole).map_err(|_| WRONG);
    }
    let decoder = ruzstd::decoding::StreamingDecoder::new(data).map_err(|_| WRONG)?;
    let mut out = Vec::new();
    decoder.take(whole as u64).read_to_end(&mut out).map_err(|_| WRONG)?;
    if out.len() == whole { Ok(out) } else { Err(WRONG) }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    const LZ4: &[u8] = include_bytes!("../tests/data/wait-lz4.fatbin");
    const ZSTD: &[u8] = include_bytes!("../tests/data/wait-zstd.fatbin");

    #[test]
    fn ptx_is_found_in_fatbins_of_either_compression() {
        for bytes in [LZ4, ZSTD] {
            let found = images(bytes).expect("it is whole");
            let mut arches: Vec<u32> = found.iter().map(|image| image.arch).collect();
            arches.sort_unstable();
            assert_eq!(arches, [80, 90]);
            for image in &found {
                assert!(image.ptx.contains(&format!(".target sm_{}", image.arch)));
                assert!(image.ptx.trim_end().ends_with('}'));
                let kernels = crate::sites(&image.ptx, &crate::Options::default()).expect("PTX");
                assert_eq!(kernels[0].name, "wait");
                assert_eq!(kernels[0].sites[0].name(), "loop");
            }
        }
    }

    #[test]
    fn what_has_no_ptx_is_refused_by_its_cause() {
        let mut cubin = b"\x7fELF".to_vec();
        cubin.resize(64, 0);
        cubin[18] = EM_CUDA as u8;
        assert_eq!(images(&cubin), Err(ImageError::NoPtx));
        assert_eq!(images(b"text"), Err(ImageError::NoImage));
        assert_eq!(images(b""), Err(ImageError::NoImage));
        let this = std::fs::read(std::env::current_exe().expect("a program")).expect("it is read");
        assert_eq!(images(&this), Err(ImageError::NoImage));
        let text = b".version 8.0\n.target sm_90\n\0";
        assert_eq!(images(text).expect("PTX")[0].ptx, ".version 8.0\n.target sm_90\n");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn damaged_fatbins_are_no_panic(
            zstd: bool,
            length in 0_usize..4000,
            changes in proptest::collection::vec((0_usize..4000, any::<u8>()), 0..8),
        ) {
            let mut bytes = if zstd { ZSTD.to_vec() } else { LZ4.to_vec() };
            bytes.truncate(length);
            for (at, byte) in changes {
                if let Some(it) = bytes.get_mut(at) {
                    *it = byte;
                }
            }
            for image in images(&bytes).into_iter().flatten() {
                let _ = crate::instrument(&image.ptx, &crate::Options::default());
            }
        }
    }
}

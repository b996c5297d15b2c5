//! What happens to files.

use arbitrary::Arbitrary;

/// Something that happens to a file.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Edit {
    /// A bit is the other one.
    Flip {
        /// Which.
        bit: u32,
    },
    /// Bytes are all the same.
    Fill {
        /// From where on.
        at: u32,
        /// How many.
        length: u16,
        /// What they are.
        byte: u8,
    },
    /// Bytes are missing.
    Remove {
        /// From where on.
        at: u32,
        /// How many.
        length: u16,
    },
    /// Bytes are there a second time.
    Copy {
        /// From where on.
        from: u32,
        /// How many.
        length: u16,
        /// In front of which.
        to: u32,
    },
    /// The file ends.
    Cut {
        /// Where.
        at: u32,
    },
}

impl Edit {
    /// Alters the file.
    pub fn apply(self, file: &mut Vec<u8>) {
        if file.is_empty() {
            return;
        }
        let place = |number: u32, count: usize| number as usize % count;
        let range = |at: u32, length: u16| {
            let start = place(at, file.len());
            start..(start + usize::from(length)).min(file.len())
        };
        match self {
            Self::Flip { bit } => {
                let bit = place(bit, 8 * file.len());
                file[bit / 8] ^= 1 << (bit % 8);
            }
            Self::Fill { at, length, byte } => {
                let range = range(at, length);
                file[range].fill(byte);
            }
            Self::Remove { at, length } => drop(file.drain(range(at, length))),
            Self::Copy { from, length, to } => {
                let bytes = file[range(from, length)].to_vec();
                let to = place(to, file.len());
                file.splice(to..to, bytes);
            }
            Self::Cut { at } => file.truncate(place(at, file.len())),
        }
    }
}

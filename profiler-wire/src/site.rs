//! Site entries: the names, places and options of kernels, regions and marks.
//!
//! No kernel handles a string. Each site leaves one static in the PTX that holds a site entry; the
//! host finds these statics by a fragment of their name ([`crate::symbol::SITE_STATIC`]) and by
//! [`MAGIC`]. A record holds only the site's *id*, 20 bits. Until the build step numbers the sites
//! of a module, an id is [`hashed_id`] of the site's *key*, a 64-bit hash of all that the entry says.
//!
//! ```text
//!  0  MAGIC (4 bytes)
//!  4  wire version, u8
//!  5  kind, 4 bits (SiteKind), and above it 4 bits of the buffer of a kernel (Buffer; elsewhere 0)
//!  6  strategy code of the site, u16 (Strategy::code; 0xffff: the kernel's)
//!  8  key, u64
//! 16  id, u32 (hashed; the build step overwrites it)
//! 20  number of ids from there on, u32 (1, or for a name list one a name and one more)
//! 24  line, u32
//! 28  column, u32
//! 32  max_threads, u32 (kernels; 0: not given)
//! 36  min_blocks, u32 (likewise)
//! 40  max_registers, u32 (likewise)
//! 44  number of strings, u32
//! 48  strings, each a u16 length and that many bytes of UTF-8:
//!     name, file, module path, unit, entry symbol (kernels), then the names of a list
//! ```

use crate::WIRE_VERSION;
use crate::record::SITE_MAX;

/// The begin of a site entry.
pub const MAGIC: [u8; 4] = *b"PSIT";
/// Byte offset of the key.
pub const KEY_OFFSET: usize = 8;
/// Byte offset of the id, for the build step, which overwrites it.
pub const ID_OFFSET: usize = 16;
/// Bytes before the strings.
pub const FIXED_BYTES: usize = 48;
/// Strings that every entry has: name, file, module path, unit, entry symbol.
pub const FIXED_STRINGS: usize = 5;
/// Width of the kind, above which the buffer stands.
pub const KIND_BITS: u32 = 4;
/// The strategy code that stands for "as the kernel".
pub const STRATEGY_OF_KERNEL: u16 = 0xffff;

/// The kind of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SiteKind {
    /// A kernel.
    Kernel = 1,
    /// A region.
    Region = 2,
    /// A mark.
    Mark = 3,
    /// A mark from which an arrow starts.
    Signal = 4,
    /// A mark at which an arrow ends.
    Wait = 5,
    /// A list of region names; one is chosen at run time.
    Names = 6,
}

impl SiteKind {
    /// The kind with this number.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            1 => Self::Kernel,
            2 => Self::Region,
            3 => Self::Mark,
            4 => Self::Signal,
            5 => Self::Wait,
            6 => Self::Names,
            _ => return None,
        })
    }

    /// Whether a value after this site's record belongs to that record (an attachment).
    #[must_use]
    pub const fn is_region(self) -> bool {
        matches!(self, Self::Kernel | Self::Region | Self::Names)
    }
}

/// The buffer of a kernel's records, and their form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Buffer {
    /// Into global memory of the GPU; a region as one record, written when it ends.
    #[default]
    Global = 0,
    /// Into memory of the host that the GPU can write to; a region as a record of its begin and one
    /// of its end, each written when it happens, so that the host reads them while the kernel runs
    /// and after it failed.
    Host = 1,
}

impl Buffer {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Global, Self::Host];

    /// The buffer with this number.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            0 => Self::Global,
            1 => Self::Host,
            _ => return None,
        })
    }

    /// As `buffer = ..` calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Host => "host",
        }
    }

    /// The buffer that `buffer = ..` calls so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|buffer| buffer.name() == name)
    }
}

/// Which threads record at a site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Lane 0 of every warp.
    #[default]
    Warp,
    /// Lane 0 of warp 0 of the block.
    Block,
    /// Lane 0 of one warp of the block.
    WarpIndex(u8),
    /// Lane 0 of every fourth warp.
    WarpGroup,
    /// One active lane of the warp.
    Elected,
    /// Every thread.
    Thread,
    /// The threads for which an expression holds.
    When,
}

impl Strategy {
    /// The number that stands for it in a site entry and in a slot header.
    #[must_use]
    #[inline(always)]
    pub const fn code(self) -> u16 {
        match self {
            Self::Warp => 0,
            Self::Block => 1,
            Self::WarpGroup => 2,
            Self::Elected => 3,
            Self::Thread => 4,
            Self::When => 5,
            Self::WarpIndex(index) => 0x100 | index as u16,
        }
    }

    /// The strategy with this number.
    #[must_use]
    pub const fn from_code(code: u16) -> Option<Self> {
        Some(match code {
            0 => Self::Warp,
            1 => Self::Block,
            2 => Self::WarpGroup,
            3 => Self::Elected,
            4 => Self::Thread,
            5 => Self::When,
            0x100..=0x1ff => Self::WarpIndex(code as u8),
            _ => return None,
        })
    }

    /// Whether lanes other than lane 0 can record, so that the session must give them buffers.
    #[must_use]
    pub const fn needs_lanes(self) -> bool {
        matches!(self, Self::Elected | Self::Thread | Self::When)
    }
}

/// All that a site entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteEntry<'a> {
    /// The wire version of the code that wrote the entry.
    pub version: u32,
    /// The kind of the site.
    pub kind: SiteKind,
    /// The buffer of a kernel's records.
    pub buffer: Buffer,
    /// [`Strategy::code`], or [`STRATEGY_OF_KERNEL`].
    pub strategy: u16,
    /// Hash of the rest. Encoding works it out, whatever stands here.
    pub key: u64,
    /// The id that records hold (of a list: that of its first name).
    pub id: u32,
    /// The number of ids from there on that belong to the site.
    pub ids: u32,
    /// Line of the source file.
    pub line: u32,
    /// Column of the source file.
    pub column: u32,
    /// Launch bound `.maxntid` of a kernel; 0: not given.
    pub max_threads: u32,
    /// Launch bound `.minnctapersm` of a kernel; 0: not given.
    pub min_blocks: u32,
    /// Launch bound `.maxnreg` of a kernel; 0: not given.
    pub max_registers: u32,
    /// The name that the user gave.
    pub name: &'a str,
    /// Source file.
    pub file: &'a str,
    /// Module path.
    pub module: &'a str,
    /// Unit of the value; empty if none.
    pub unit: &'a str,
    /// Entry symbol of a kernel; empty if the compiler chooses it.
    pub symbol: &'a str,
    /// Names of a list.
    pub names: Names<'a>,
}

/// The names of a list: a slice of strings when encoding, the entry's bytes when parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names<'a> {
    /// Names to encode.
    Given(&'a [&'a str]),
    /// Names as they lie in an entry, checked by [`SiteEntry::parse`].
    Encoded {
        /// The number of names.
        count: u32,
        /// Each a length and that many bytes.
        bytes: &'a [u8],
    },
}

impl<'a> Names<'a> {
    /// The number of names.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Given(names) => names.len(),
            Self::Encoded { count, .. } => *count as usize,
        }
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names in order.
    pub fn iter(&self) -> impl Iterator<Item = &'a str> {
        let (given, mut rest): (&'a [&'a str], &'a [u8]) = match *self {
            Self::Given(names) => (names, &[]),
            Self::Encoded { bytes, .. } => (&[], bytes),
        };
        given.iter().copied().chain(core::iter::from_fn(move || {
            let (name, after) = split_string(rest)?;
            rest = after;
            Some(name)
        }))
    }
}

impl<'a> SiteEntry<'a> {
    /// An entry of this kind and name at a place in the source, with all else empty.
    #[must_use]
    pub const fn new(
        kind: SiteKind,
        name: &'a str,
        file: &'a str,
        module: &'a str,
        line: u32,
        column: u32,
    ) -> Self {
        Self {
            version: WIRE_VERSION,
            kind,
            buffer: Buffer::Global,
            strategy: STRATEGY_OF_KERNEL,
            key: 0,
            id: 0,
            ids: 1,
            line,
            column,
            max_threads: 0,
            min_blocks: 0,
            max_registers: 0,
            name,
            file,
            module,
            unit: "",
            symbol: "",
            names: Names::Given(&[]),
        }
    }

    /// Bytes that [`SiteEntry::encode`] needs.
    ///
    /// # Panics
    ///
    /// At compile time, if a string is longer than 65 535 bytes or the names were not given as a
    /// slice.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        let mut length = FIXED_BYTES;
        let fixed = [self.name, self.file, self.module, self.unit, self.symbol];
        let mut index = 0;
        while index < fixed.len() {
            length += 2 + checked_length(fixed[index]);
            index += 1;
        }
        let Names::Given(names) = self.names else { panic!("a parsed entry cannot be encoded") };
        index = 0;
        while index < names.len() {
            length += 2 + checked_length(names[index]);
            index += 1;
        }
        length
    }

    /// Encodes the entry, with its key and hashed id; `N` must be [`SiteEntry::encoded_len`].
    ///
    /// # Panics
    ///
    /// At compile time, if `N` is wrong.
    #[must_use]
    pub const fn encode<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.encode_into(&mut bytes);
        bytes
    }

    /// Encodes the entry as [`SiteEntry::encode`] does, into zeros of that length.
    ///
    /// # Panics
    ///
    /// If the length is wrong.
    pub const fn encode_into(&self, bytes: &mut [u8]) {
        assert!(
            bytes.len() == self.encoded_len(),
            "the length of a site entry is SiteEntry::encoded_len"
        );
        let Names::Given(names) = self.names else { panic!("a parsed entry cannot be encoded") };
        put(bytes, 0, &MAGIC);
        bytes[4] = WIRE_VERSION as u8;
        bytes[5] = self.kind as u8 | ((self.buffer as u8) << KIND_BITS);
        put(bytes, 6, &self.strategy.to_le_bytes());
        put(bytes, 20, &self.ids.to_le_bytes());
        put(bytes, 24, &self.line.to_le_bytes());
        put(bytes, 28, &self.column.to_le_bytes());
        put(bytes, 32, &self.max_threads.to_le_bytes());
        put(bytes, 36, &self.min_blocks.to_le_bytes());
        put(bytes, 40, &self.max_registers.to_le_bytes());
        put(bytes, 44, &((FIXED_STRINGS + names.len()) as u32).to_le_bytes());
        let mut at = FIXED_BYTES;
        let fixed = [self.name, self.file, self.module, self.unit, self.symbol];
        let mut index = 0;
        while index < fixed.len() {
            at = put_string(bytes, at, fixed[index]);
            index += 1;
        }
        index = 0;
        while index < names.len() {
            at = put_string(bytes, at, names[index]);
            index += 1;
        }
        // Key and id are still zero here, so that the key is a hash of all the rest.
        let key = fnv1a(bytes);
        put(bytes, KEY_OFFSET, &key.to_le_bytes());
        put(bytes, ID_OFFSET, &hashed_id(key, self.ids).to_le_bytes());
    }

    /// Parses an entry. `bytes` may be longer than the entry, as PTX statics are never shorter but
    /// omit trailing zeros that the reader must put back.
    ///
    /// # Errors
    ///
    /// Says what is wrong: see [`SiteError`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, SiteError> {
        if bytes.len() < FIXED_BYTES {
            return Err(SiteError::Truncated);
        }
        if bytes[..4] != MAGIC {
            return Err(SiteError::NotASite);
        }
        let version = u32::from(bytes[4]);
        if version != WIRE_VERSION {
            return Err(SiteError::Version { found: version });
        }
        let (kind, buffer) = (bytes[5] & ((1 << KIND_BITS) - 1), bytes[5] >> KIND_BITS);
        let kind = SiteKind::from_bits(kind).ok_or(SiteError::Kind(kind))?;
        let buffer = Buffer::from_bits(buffer)
            .filter(|buffer| *buffer == Buffer::Global || kind == SiteKind::Kernel)
            .ok_or(SiteError::Buffer { kind, buffer })?;
        let short = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let int = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let id = int(ID_OFFSET);
        let ids = int(20);
        if id == 0 || ids == 0 || id > SITE_MAX || ids - 1 > SITE_MAX - id {
            return Err(SiteError::IdOutOfRange { id, ids });
        }
        let strings = int(44);
        let Some(names) = strings.checked_sub(FIXED_STRINGS as u32) else {
            return Err(SiteError::Truncated);
        };
        let mut rest = &bytes[FIXED_BYTES..];
        let mut next = || {
            let (string, after) = split_string(rest).ok_or(SiteError::Truncated)?;
            rest = after;
            Ok(string)
        };
        let (name, file, module, unit, symbol) = (next()?, next()?, next()?, next()?, next()?);
        let list = rest;
        let mut after = rest;
        for _ in 0..names {
            after = split_string(after).ok_or(SiteError::Truncated)?.1;
        }
        Ok(Self {
            version,
            kind,
            buffer,
            strategy: short(6),
            key: u64::from(int(KEY_OFFSET)) | u64::from(int(KEY_OFFSET + 4)) << 32,
            id,
            ids,
            line: int(24),
            column: int(28),
            max_threads: int(32),
            min_blocks: int(36),
            max_registers: int(40),
            name,
            file,
            module,
            unit,
            symbol,
            names: Names::Encoded { count: names, bytes: &list[..list.len() - after.len()] },
        })
    }
}

/// Why bytes are not a site entry of this version. `Debug` is the text of `Display`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SiteError {
    /// They do not begin with [`MAGIC`].
    NotASite,
    /// They end too soon, or a string is not UTF-8.
    Truncated,
    /// Another wire version wrote them.
    Version {
        /// That version.
        found: u32,
    },
    /// No site kind has this number.
    Kind(u8),
    /// No buffer has this number, or a site that is no kernel names one.
    Buffer {
        /// The kind of the site.
        kind: SiteKind,
        /// The number.
        buffer: u8,
    },
    /// An id of zero, or one that does not fit a record.
    IdOutOfRange {
        /// The first id.
        id: u32,
        /// The number of ids.
        ids: u32,
    },
}

impl core::fmt::Display for SiteError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NotASite => f.write_str("the bytes do not begin like a site entry"),
            Self::Truncated => f.write_str("the site entry is truncated or damaged"),
            Self::Version { found } => write!(
                f,
                "the site entry has wire version {found}, this library reads version {WIRE_VERSION}; \
                 build the kernels with the same version of the profiler as the host program"
            ),
            Self::Kind(kind) => write!(
                f,
                "no site kind has the number {kind} in this version of the profiler; build the \
                 kernels with the same version as the host program"
            ),
            Self::Buffer { kind, buffer } => write!(
                f,
                "a site of kind {} names the buffer number {buffer}, which this version of the profiler \
                 does not know for it; build the kernels with the same version as the host program",
                *kind as u8
            ),
            Self::IdOutOfRange { id, ids } => {
                write!(
                    f,
                    "site ids {id} to {} do not fit 1 to {SITE_MAX}",
                    (u64::from(*id) + u64::from(*ids)).saturating_sub(1)
                )
            }
        }
    }
}

impl core::fmt::Debug for SiteError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for SiteError {}

/// The key inside an encoded entry, at compile time.
#[must_use]
pub const fn key_of(entry: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let mut index = 0;
    while index < 8 {
        bytes[index] = entry[KEY_OFFSET + index];
        index += 1;
    }
    u64::from_le_bytes(bytes)
}

/// The id that stands in for a site until the build step numbers it; `ids` consecutive ids fit.
#[must_use]
pub const fn hashed_id(key: u64, ids: u32) -> u32 {
    // More ids than a record holds are refused where sites are numbered; here they have one place.
    let first_ids = SITE_MAX.saturating_sub(ids.saturating_sub(1));
    let first_ids = if first_ids == 0 { 1 } else { first_ids };
    ((key ^ (key >> 32)) % first_ids as u64) as u32 + 1
}

/// The 64-bit FNV-1a hash.
#[must_use]
pub const fn fnv1a(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut index = 0;
    while index < bytes.len() {
        hash = (hash ^ bytes[index] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        index += 1;
    }
    hash
}

const fn checked_length(string: &str) -> usize {
    assert!(string.len() <= u16::MAX as usize, "a name, unit or path longer than 65535 bytes");
    string.len()
}

const fn put(bytes: &mut [u8], at: usize, source: &[u8]) {
    let mut index = 0;
    while index < source.len() {
        bytes[at + index] = source[index];
        index += 1;
    }
}

const fn put_string(bytes: &mut [u8], at: usize, string: &str) -> usize {
    put(bytes, at, &(string.len() as u16).to_le_bytes());
    put(bytes, at + 2, string.as_bytes());
    at + 2 + string.len()
}

fn split_string(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    let (string, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
    Some((core::str::from_utf8(string).ok()?, rest))
}

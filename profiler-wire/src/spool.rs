//! The file in which the library that `profiler record` preloads leaves what a program did, for the command to
//! read at its end. Program and command are of one version.
//!
//! The file begins with [`MAGIC`]. Entries follow, each as its length in 8 bytes and then its bytes. A program may
//! be killed at any moment, so that the last entry may be cut short: [`Entries`] leaves it out.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::descriptor;

/// The first bytes of the file.
pub const MAGIC: &[u8; 16] = b"profiler spool 1";

/// The variable of the environment that names the folder of a recording.
pub const FOLDER_VARIABLE: &str = "PROFILER_RECORD";

/// The variable that names the file of the real driver.
pub const DRIVER_VARIABLE: &str = "PROFILER_DRIVER";

/// The file of [`Settings`] in the folder of a recording.
pub const SETTINGS_FILE: &str = "settings";

/// The folder of the modules that record in the folder of a recording.
pub const MODULES: &str = "modules";

/// The file of a module with a hash in the folder of a recording.
#[must_use]
pub fn module_file(hash: u64) -> String {
    format!("{MODULES}/{hash:016x}.ptx")
}

/// What `profiler record` was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// A regular expression for the names of kernels to record.
    pub kernel: String,
    /// The part of a loop's time that records may take.
    pub budget: f64,
    /// The launches to record.
    pub launches: Launches,
    /// How many blocks of a launch to record at least, if it has so many; 0 for as many as have about a thousand
    /// warps.
    pub blocks: u64,
    /// The warps of a block to record, a bit each.
    pub warp_mask: u32,
    /// Whether the last records of a warp are kept, and not the first.
    pub keep_last: bool,
    /// Bytes of GPU memory for records.
    pub memory: u64,
    /// Regions that the user chose, each as `profiler record --region` takes it.
    pub regions: Vec<String>,
    /// Whether loops and waits are recorded besides.
    pub auto: bool,
}

/// The launches of each kernel to record, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launches {
    /// The first, second, fourth, eighth and so on.
    Doubling,
    /// From the first up to, but without, the second number.
    Range(u64, u64),
    /// Every so many.
    Every(u64),
    /// None: it is listed what could be recorded.
    None,
}

impl Launches {
    /// The first launch to record after the one of this number; 0 is before all.
    #[must_use]
    pub fn after(self, number: u64) -> Option<u64> {
        match self {
            Self::Doubling => number.checked_add(1)?.checked_next_power_of_two(),
            Self::Range(start, end) => {
                Some(number.checked_add(1)?.max(start)).filter(|next| *next < end)
            }
            Self::Every(step) => number.checked_add(1)?.checked_next_multiple_of(step.max(1)),
            Self::None => None,
        }
    }
}

impl Settings {
    /// A line for each.
    #[must_use]
    pub fn to_text(&self) -> String {
        let launches = match self.launches {
            Launches::Doubling => "doubling".to_owned(),
            Launches::Range(start, end) => format!("{start}..{end}"),
            Launches::Every(step) => format!("every {step}"),
            Launches::None => "none".to_owned(),
        };
        let regions = self.regions.iter().map(|region| format!("region {region}\n"));
        format!(
            "budget {}\nlaunches {launches}\nblocks {}\nwarp_mask {}\nkeep_last {}\nmemory {}\nauto {}\nkernel {}\n{}",
            self.budget,
            self.blocks,
            self.warp_mask,
            self.keep_last,
            self.memory,
            self.auto,
            self.kernel,
            regions.collect::<String>(),
        )
    }

    /// The inverse of [`to_text`](Self::to_text).
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let value =
            |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        let regions = text.lines().filter_map(|line| line.strip_prefix("region "));
        let launches = value("launches")?;
        let launches = if launches == "doubling" {
            Launches::Doubling
        } else if launches == "none" {
            Launches::None
        } else if let Some(step) = launches.strip_prefix("every ") {
            Launches::Every(step.parse().ok()?)
        } else {
            let (start, end) = launches.split_once("..")?;
            Launches::Range(start.parse().ok()?, end.parse().ok()?)
        };
        Some(Self {
            launches,
            kernel: value("kernel")?.to_owned(),
            budget: value("budget")?.parse().ok()?,
            blocks: value("blocks")?.parse().ok()?,
            warp_mask: value("warp_mask")?.parse().ok()?,
            keep_last: value("keep_last")?.parse().ok()?,
            memory: value("memory")?.parse().ok()?,
            regions: regions.map(str::to_owned).collect(),
            auto: value("auto")?.parse().ok()?,
        })
    }
}

/// The number of a kernel whose module is unknown.
pub const NO_MODULE: u32 = u32::MAX;

/// An entry. Numbers of devices, modules and kernels are those of the file, from 0 in the order in which they
/// come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A context of a GPU.
    Device {
        /// The GPU's name.
        name: String,
        /// Its compute capability.
        capability: (u32, u32),
        /// The number of its SMs.
        sm_count: u32,
        /// The driver's version, 13000 for CUDA 13.0.
        driver: u32,
    },
    /// A module whose kernels record.
    Module {
        /// The number of its device.
        device: u32,
        /// What its file in the folder of modules is called by.
        hash: u64,
    },
    /// A kernel that was launched.
    Kernel {
        /// Its name.
        name: String,
    },
    /// Where a kernel records, in a context.
    Attached {
        /// The kernel.
        kernel: u32,
        /// Its module, or [`NO_MODULE`].
        module: u32,
        /// Why it does not record; empty if it does.
        reason: String,
    },
    /// A launch of which the time was taken.
    Launch(Launch),
    /// What the kernels of a module recorded.
    Records(Records),
    /// How often a kernel was launched until now.
    Count {
        /// The kernel.
        kernel: u32,
        /// Its launches.
        launches: u64,
    },
}

/// See [`Entry::Launch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The kernel.
    pub kernel: u32,
    /// The device on which it ran.
    pub device: u32,
    /// The number of the launch, from 1.
    pub number: u64,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// What tells streams apart.
    pub stream: u64,
    /// `%globaltimer` before and after it.
    pub ns: [u64; 2],
    /// Whether it was to record.
    pub is_recorded: bool,
}

/// See [`Entry::Records`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records {
    /// The module.
    pub module: u32,
    /// The descriptor that its kernels saw.
    pub descriptor: [u8; descriptor::BYTES],
    /// A [`Lost`](descriptor::Lost): the losses since the entry before of this module.
    pub lost: [u8; descriptor::Lost::BYTES],
    /// Headers of slots in use.
    pub headers: Vec<u8>,
    /// So many bytes of each slot's records, in the order of `headers`.
    pub record_bytes: u32,
    /// The records.
    pub records: Vec<u8>,
}

impl Entry {
    /// Appends it to a file's bytes.
    pub fn encode_into(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([0; 8]);
        let mut put = Put(out);
        match self {
            Self::Device { name, capability: (major, minor), sm_count, driver } => {
                put.words(&[0, *major, *minor, *sm_count, *driver]);
                put.bytes(name.as_bytes());
            }
            Self::Module { device, hash } => {
                put.words(&[1, *device]);
                put.longs(&[*hash]);
            }
            Self::Kernel { name } => {
                put.words(&[2]);
                put.bytes(name.as_bytes());
            }
            Self::Attached { kernel, module, reason } => {
                put.words(&[6, *kernel, *module]);
                put.bytes(reason.as_bytes());
            }
            Self::Launch(it) => {
                put.words(&[3, it.kernel, it.device, it.is_recorded.into()]);
                put.words(&it.grid);
                put.words(&it.block);
                put.longs(&[it.number, it.stream, it.ns[0], it.ns[1]]);
            }
            Self::Records(it) => {
                put.words(&[4, it.module, it.record_bytes]);
                put.bytes(&it.descriptor);
                put.bytes(&it.lost);
                put.bytes(&it.headers);
                put.bytes(&it.records);
            }
            Self::Count { kernel, launches } => {
                put.words(&[5, *kernel]);
                put.longs(&[*launches]);
            }
        }
        let length = (out.len() - start - 8) as u64;
        out[start..start + 8].copy_from_slice(&length.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut take = Take(bytes);
        Some(match take.word()? {
            0 => {
                let [major, minor, sm_count, driver] = take.words()?;
                Self::Device { capability: (major, minor), sm_count, driver, name: take.text()? }
            }
            1 => Self::Module { device: take.word()?, hash: take.long()? },
            2 => Self::Kernel { name: take.text()? },
            6 => {
                Self::Attached { kernel: take.word()?, module: take.word()?, reason: take.text()? }
            }
            3 => Self::Launch(Launch {
                kernel: take.word()?,
                device: take.word()?,
                is_recorded: take.word()? != 0,
                grid: take.words()?,
                block: take.words()?,
                number: take.long()?,
                stream: take.long()?,
                ns: [take.long()?, take.long()?],
            }),
            4 => {
                let [module, record_bytes] = take.words()?;
                Self::Records(Records {
                    module,
                    record_bytes,
                    descriptor: take.bytes()?.try_into().ok()?,
                    lost: take.bytes()?.try_into().ok()?,
                    headers: take.bytes()?.to_owned(),
                    records: take.bytes()?.to_owned(),
                })
            }
            5 => Self::Count { kernel: take.word()?, launches: take.long()? },
            _ => return None,
        })
    }
}

/// The whole entries of a file after its [`MAGIC`].
#[derive(Clone, Debug)]
pub struct Entries<'b>(Take<'b>);

impl<'b> Entries<'b> {
    /// `None` for the bytes of another file.
    #[must_use]
    pub fn of(bytes: &'b [u8]) -> Option<Self> {
        bytes.strip_prefix(MAGIC).map(|rest| Self(Take(rest)))
    }
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        Entry::decode(self.0.bytes()?)
    }
}

struct Put<'o>(&'o mut Vec<u8>);

impl Put<'_> {
    fn words(&mut self, words: &[u32]) {
        self.0.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }

    fn longs(&mut self, longs: &[u64]) {
        self.0.extend(longs.iter().flat_map(|long| long.to_le_bytes()));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.longs(&[bytes.len() as u64]);
        self.0.extend(bytes);
    }
}

#[derive(Clone, Debug)]
struct Take<'b>(&'b [u8]);

impl<'b> Take<'b> {
    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*word))
    }

    fn words<const N: usize>(&mut self) -> Option<[u32; N]> {
        let mut words = [0; N];
        for word in &mut words {
            *word = self.word()?;
        }
        Some(words)
    }

    fn long(&mut self) -> Option<u64> {
        let (long, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*long))
    }

    fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = usize::try_from(self.long()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(self.bytes()?).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn settings_come_back() {
        for launches in
            [Launches::Doubling, Launches::Range(2, 9), Launches::Every(100), Launches::None]
        {
            let settings = Settings {
                kernel: "a b|c".into(),
                budget: 0.05,
                launches,
                blocks: u64::MAX,
                warp_mask: 3,
                keep_last: true,
                memory: 1 << 40,
                regions: vec!["function load=a".into(), "instruction bar*=b".into()],
                auto: false,
            };
            assert_eq!(Settings::from_text(&settings.to_text()), Some(settings));
        }
        let following = |launches: Launches| {
            let mut at = Some(0);
            core::iter::from_fn(move || {
                at = launches.after(at?);
                at
            })
        };
        assert!(following(Launches::Doubling).take(5).eq([1, 2, 4, 8, 16]));
        assert!(following(Launches::Range(3, 6)).eq([3, 4, 5]));
        assert!(following(Launches::Every(10)).take(3).eq([10, 20, 30]));
        assert_eq!(Settings::from_text(""), None);
    }

    #[test]
    fn entries_come_back_and_one_that_is_cut_short_does_not() {
        let launch = Launch {
            kernel: 1,
            device: 3,
            number: 2,
            grid: [3, 4, 5],
            block: [6, 7, 8],
            stream: 9,
            ns: [10, 11],
            is_recorded: true,
        };
        let records = Records {
            module: 1,
            descriptor: [7; descriptor::BYTES],
            lost: [8; descriptor::Lost::BYTES],
            headers: vec![1, 2],
            record_bytes: 3,
            records: vec![4, 5, 6],
        };
        let entries = [
            Entry::Device { name: "GPU".into(), capability: (9, 0), sm_count: 132, driver: 13_000 },
            Entry::Module { device: 1, hash: u64::MAX },
            Entry::Kernel { name: "k".into() },
            Entry::Attached { kernel: 0, module: NO_MODULE, reason: "it has no PTX".into() },
            Entry::Launch(launch),
            Entry::Records(records),
            Entry::Count { kernel: 1, launches: 1 << 40 },
        ];
        let mut bytes = MAGIC.to_vec();
        for entry in &entries {
            entry.encode_into(&mut bytes);
        }
        let read = |bytes| Entries::of(bytes).map(Iterator::collect::<Vec<_>>);
        assert_eq!(read(&bytes).as_deref(), Some(&entries[..]));
        for length in 0..bytes.len() {
            let read = read(&bytes[..length]);
            assert!(
                read.is_none_or(|read| entries.starts_with(&read) && read.len() < entries.len())
            );
        }
    }
}

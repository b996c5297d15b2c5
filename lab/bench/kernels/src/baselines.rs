//! What the other schemes are compared with.

use profiler_device::hardware::clock64;

use crate::template::{Buffer, Form, HighHalves, kernels};

/// Nothing at all. If it is `MARKED`, `profiler-ptx` puts in what records.
pub(crate) struct Unannotated<const MARKED: bool>;

impl<const MARKED: bool> Form for Unannotated<MARKED> {
    type Start = ();

    const IS_MARKED: bool = MARKED;

    #[inline(always)]
    fn new(_buffer: Buffer) -> Self {
        Self
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) {}

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, (): ()) {}
}

/// Two clock reads, folded into a register by one instruction.
pub(crate) struct Floor(HighHalves);

impl Form for Floor {
    type Start = u64;

    #[inline(always)]
    fn new(_buffer: Buffer) -> Self {
        Self(HighHalves::default())
    }

    #[inline(always)]
    fn begin<const NUMBER: u32>(&mut self) -> u64 {
        clock64()
    }

    #[inline(always)]
    fn end<const NUMBER: u32>(&mut self, start: u64) {
        self.0.fold(start, clock64());
    }

    #[inline(always)]
    fn leave(self) -> u32 {
        self.0.folded()
    }
}

kernels! {
    unannotated => |buffer| Unannotated::<false>::new(buffer);
    rewritten => |buffer| Unannotated::<true>::new(buffer);
    floor => |buffer| Floor::new(buffer);
}

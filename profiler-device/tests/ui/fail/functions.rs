//! Functions that `#[profiled]` cannot be used on.
use profiler_device::{Recorder, profile_region, profiled};

#[profiled]
async fn is_async(prof: Recorder<'_>) -> u32 {
    profile_region!("still resolves", { 42 })
}

#[profiled]
const fn is_const(prof: Recorder<'_>) -> u32 {
    profile_region!("still resolves");
    42
}

#[profiled]
struct NoFunction;

trait Stage {
    #[profiled]
    fn run(prof: Recorder);
}

#[profiled(name = "größer")]
extern "ptx-kernel" fn größe() {}

#[profiled]
#[unsafe(export_name = "größe")]
extern "ptx-kernel" fn size() {}

#[profiled]
#[unsafe(export_name = "size_of_generic")]
extern "ptx-kernel" fn größte<T: Copy>() {}

#[derive(Clone, Copy)]
#[repr(C)]
struct Tile(u32);

impl Tile {
    #[profiled]
    extern "ptx-kernel" fn of_its_type(tile: Self) {
        profile_region!("work", value = tile.0);
    }

    #[profiled]
    extern "ptx-kernel" fn in_its_body(tile: Tile) {
        profile_region!("work", value = Self::size(tile));
    }

    fn size(self) -> u32 {
        self.0
    }
}

#[profiled]
extern "ptx-kernel" fn under_cfg(#[cfg(debug_assertions)] checks: u32, tile: u32) {
    profile_region!("work", value = tile);
}

struct Moved(u32);

#[profiled(track = number)]
extern "ptx-kernel" fn not_copy(Moved(number): Moved) {
    profile_region!("work", value = number);
}

fn main() {}

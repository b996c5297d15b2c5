use profiler_device::{profile_region, profiled};

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

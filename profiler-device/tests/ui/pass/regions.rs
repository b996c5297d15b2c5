//! Odd but legal uses of regions.
#![deny(warnings)]
#![allow(dead_code, reason = "compiled, not run")]

use profiler_device::{profile_mark, profile_region, profiled};

#[profiled]
extern "ptx-kernel" fn values(x: u32, flag: bool) {
    let a = profile_region!("one expression", { x });
    let (b, mut c) = profile_region!("two", { (a + 1, a) });
    profile_region!("assigns", { c += b });
    profile_region!("assigns more", {
        c += 1;
        let d = c;
        c = d * 2;
    });
    let declared;
    profile_region!("initializes", { declared = c });
    let reference = profile_region!("borrows", { &declared });
    let moved = String::new();
    let moved = profile_region!("moves", { moved });
    drop(moved);
    let text: &str = profile_region!("temporary", { &String::from("a") });
    if profile_region!("condition", { a > b }) && *reference > 0 {
        profile_mark!("in a branch", text.len());
    }
    while profile_region!("loop condition", { c > 10 }) {
        c -= 1;
    }
    match profile_region!("scrutinee", { x }) {
        0 => profile_region!("arm", {}),
        1 => profile_region!("arm with unit", { () }),
        _ if flag => profile_region! { "braces", { c = 0; } },
        _ => {}
    }
    let closure = |y: u32| profile_region!("in a closure", { y + c });
    let _: u32 = closure(profile_region!("argument", { 1 })) + profile_region!("operand", { 2 });
    profile_region!("empty", {});
    profile_region!("trailing comma",);
    profile_region!("trailing comma", by = block, {},);
    let _ = profile_region!("nested", {
        profile_region!("twice", { profile_region!("thrice", { 3 }) })
    });
    c = profile_region!("array", { [1, 2, 3] })[c as usize % 3].min(4);
    let _ = c;
    profile_region!("last");
}

#[profiled]
extern "ptx-kernel" fn exits(count: u32) {
    'outer: for i in 0..count {
        profile_region!("statement in a loop");
        for j in 0..count {
            profile_region!("leaves", {
                if j == 1 {
                    continue;
                }
                if j == 2 {
                    continue 'outer;
                }
                if i == 3 {
                    break 'outer;
                }
            });
        }
        profile_region!("breaks", { break });
    }
    let _found = 'search: {
        profile_region!("labelled", {
            if count == 2 {
                break 'search 1;
            }
        });
        2
    };
    let _known = loop {
        profile_region!("value of break", { break 5 });
    };
    let Some(_bound) = profile_region!("let else", { count.checked_sub(1) }) else {
        profile_region!("else", { return });
    };
    if count == 4 {
        profile_region!("returns", {
            return;
        });
    }
    if count == 5 {
        profile_region!("never ends", {
            loop {
                core::hint::spin_loop();
            }
        });
    }
    profile_region!("returns at the end", { return });
}

fn question_mark(
    prof: profiler_device::Recorder,
    text: &str,
) -> Result<u32, std::num::ParseIntError> {
    let first: u32 = profile_region!("parse", recorder = prof, { text.parse()? });
    profile_region!("tail", recorder = prof, { text.parse().map(|second: u32| first + second) })
}

#[profiled]
extern "ptx-kernel" fn options(size: u32, data: &[f32]) {
    let mut a = 1.0_f32;
    let mut b = [2.0_f32; 4];
    let loaded = profile_region!("wait", wait, { data[0] });
    let (_x, _y) = profile_region!("wait for two", wait, { (data[1], data[2]) });
    profile_region!("pin", pin = a, { a += loaded });
    profile_region!("pins", pin = (a, b[0], b[1]), {
        for element in &mut b {
            *element += a;
        }
    });
    let through = &mut a;
    let sum = profile_region!("both", wait, pin = (*through), { *through + 1.0 });
    let pinned_exit = profile_region!("pinned", pin = b[0], {
        if sum > 3.0 {
            return;
        }
        sum
    });
    for _ in 0..2 {
        profile_region!("pinned and never whole", pin = b[0], { break });
    }
    profile_region!("unsigned", value = size * 2, unit = "bytes");
    profile_region!("signed", value = -1, { size });
    profile_region!("float", value = pinned_exit, unit = "percent");
    profile_region!("double", value = 0.5_f64, {});
    profile_region!("wide", value = u64::from(size), by = block, track = size, {});
    profile_region!("when", by = when(size > 3 && data.is_empty()), track = size + 1);
    profile_region!("by thread", by = thread);
    profile_region!("by warp group", by = warp_group);
    profile_region!("by one warp", by = warp(31));
    if size == 7 {
        profile_region!("pinned return", pin = b[0], { return });
    }
}

fn main() {}

//! What of a warp is held for a track that kernels chose by number.

use std::borrow::Cow;

use super::of_track;
use crate::model::Warp;
use crate::synthetic::{Content, sized};
use crate::{Decoder, Region};

#[test]
fn what_is_not_on_a_track_is_not_held_for_it() {
    let capture = sized(5_000, Content::Mixed).expect("the sites are whole");
    let warp = Decoder::new(&capture).trace().warps.swap_remove(0);
    let is_on = |region: &&Region| region.track == Some(2);
    let wanted: Vec<Region> = warp.regions.iter().filter(is_on).cloned().collect();
    assert!(!wanted.is_empty() && wanted.len() < warp.regions.len());
    let held = of_track(Cow::Owned(warp.clone()), 2);
    assert_eq!(held.regions, wanted);
    assert!(held.into_owned().regions.capacity() < 2 * wanted.len());
    // The place of a mark is how arrows find it.
    assert_eq!(of_track(Cow::Owned(warp.clone()), 2).marks, warp.marks);
    // What tells when a warp ended stays.
    for warp in [Warp { exit: None, ..warp.clone() }, Warp { track: Some(2), ..warp.clone() }] {
        assert_eq!(of_track(Cow::Owned(warp.clone()), 2).regions, warp.regions);
    }
    assert_eq!(of_track(Cow::Borrowed(&warp), 2).regions, warp.regions);
}

//! The kernel that measures on the device in use what a record costs: that of profiler-device's feature
//! `calibration`, as a module of its own, which profiler-host loads where a session measures that.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![forbid(unsafe_code)]

use profiler_device as _;
// For its panic handler.
use profiler_kernel as _;

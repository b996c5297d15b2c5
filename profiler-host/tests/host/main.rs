//! Sessions on the emulator, and where there is no driver.

mod beyond;
mod emulator;
mod lanes;
mod no_driver;
mod watched_emulator;

//! The tests that stand in the Hopper gemm's host program: an example's own are not run together
//! with a build of the program itself, which another test starts.

#[path = "../../hopper_gemm/tensor_map.rs"]
#[expect(dead_code, reason = "what calls the driver is used by the program")]
mod tensor_map;

use profiler_device::profile_names;

profile_names!(EMPTY = []);
profile_names!(NUMBERS = [1, "two", NAME]);
profile_names!(["a"]);
profile_names!(TASK = ["a"], by = block);

fn main() {}

//! The passing tests of profiler-device also compile in edition 2021.

/// Makes an example in edition 2021 of each file.
macro_rules! in_edition_2021 {
    ($($example:ident: $file:literal,)*) => {
        $(
            #[doc = "```edition2021"]
            #[doc = include_str!(concat!("../../profiler-device/tests/ui/pass/", $file))]
            #[doc = "```"]
            enum $example {}
        )*
    };
}

in_edition_2021! {
    Attributes: "attributes.rs",
    DeviceFunctions: "device_functions.rs",
    Hygiene: "hygiene.rs",
    ItemsNamedLikeLocals: "items_named_like_locals.rs",
    Kernels: "kernels.rs",
    MacroRules: "macro_rules.rs",
    MarksAndTokens: "marks_and_tokens.rs",
    Regions: "regions.rs",
    SafeCrate: "safe_crate.rs",
}

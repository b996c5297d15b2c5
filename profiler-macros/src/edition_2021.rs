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
    Forms: "forms.rs",
    SafeCrate: "safe_crate.rs",
    Shapes: "shapes.rs",
}

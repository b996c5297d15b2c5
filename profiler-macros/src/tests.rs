//! The expansions of the macros, compared with readable files, and rules for every expansion.
//! `UPDATE_EXPECT=1` rewrites the files.

use expect_test::expect_file;
use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};

use crate::runtime::HIDDEN_RECORDER;
use crate::{mark, names, profiled, region};

fn pretty(items: TokenStream) -> String {
    let text = items.to_string();
    match syn::parse2::<syn::File>(items) {
        Ok(file) => prettyplease::unparse(&file),
        Err(error) => panic!("not Rust: {error}\n{text}"),
    }
}

/// How expansions name what the runtime has for them alone.
const RUNTIME: &str = ":: profiler_device :: __private ::";

/// Text for the file of expansions: with `__private::` for the whole path and a shorter name of the recorder; and of
/// the two copies of a kernel, for nvptx64 and for the CPU, the second without its body, which is that of the first.
fn shown(name: &str, items: TokenStream) -> String {
    let text = items.to_string();
    let renamed = text.matches(":: renamed :: __private ::").count();
    let whole = text.matches(RUNTIME).count();
    assert_eq!(text.matches("__private ::").count(), whole + renamed, "{name}: {text}");
    let text =
        text.replace(RUNTIME, "__private ::").replace(HIDDEN_RECORDER, "no_recorder_in_scope");
    let mut file: syn::File = syn::parse_str(&text).expect("Rust");
    if let [syn::Item::Fn(on_gpu), syn::Item::Fn(on_cpu)] = file.items.as_mut_slice() {
        let body = |function: &syn::ItemFn| function.block.to_token_stream().to_string();
        assert_eq!(body(on_gpu), body(on_cpu), "{name}");
        on_cpu.block.stmts.clear();
    }
    format!("// {name}\n{}\n", prettyplease::unparse(&file))
}

/// The messages of the `compile_error!`s in an expansion, in order.
fn messages(items: TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    let mut after_compile_error = false;
    for token in items {
        match token {
            proc_macro2::TokenTree::Ident(word) if word == "compile_error" => {
                after_compile_error = true;
            }
            proc_macro2::TokenTree::Group(group) if after_compile_error => {
                after_compile_error = false;
                let message: syn::LitStr = syn::parse2(group.stream()).expect("one string");
                found.push(message.value());
            }
            proc_macro2::TokenTree::Group(group) => found.extend(messages(group.stream())),
            _ => {}
        }
    }
    found
}

#[test]
fn expansions() {
    let every_argument = profiled::expand(
        quote! {
            name = "all", by = when(tile > 1), track = tile, clock = globaltimer,
            buffer = global, enabled = TUNING, max_threads = THREADS * 2,
            min_blocks = 2, max_registers = 96, single_body, crate = ::renamed
        },
        quote! {
            #[unsafe(export_name = "symbol")]
            unsafe extern "ptx-kernel" fn everything<T>(tile: u32) {}
        },
    );
    let compiled_twice = profiled::expand(
        quote!(),
        quote! {
            pub extern "ptx-kernel" fn kernel<'a, T: Copy, const N: usize>(
                data: &'a [T; N], _: u32, mut left: u32,
            ) where T: Send {
                let _ = data;
            }
        },
    );
    let device_function = profiled::expand(
        quote!(name = "tile", by = warp(2), track = N as u32),
        quote! {
            pub(crate) fn tile<'a, T: Copy, const N: usize>(
                &self, prof: &mut Recorder<'a>, value: T,
            ) -> impl Fn() -> T + use<'a, T, N> {
                move || value
            }
        },
    );
    let list =
        names::expand(quote!(#[cfg(all())] pub(crate) TASK = ["load", "mma"], unit = "bytes"));
    // `#[cuda_std::kernel]` above `#[profiled]` has been expanded when `#[profiled]` is.
    let rust_cuda = profiled::expand(
        quote!(track = 1),
        quote! {
            #[no_mangle]
            #[nvvm_internal(kernel())]
            pub unsafe extern "C" fn expanded_before(output: *mut u32) { *output = 1; }
        },
    );
    let text = [
        shown("a kernel with every argument", every_argument),
        shown("a generic body compiled twice", compiled_twice),
        shown("a device function", device_function),
        shown("regions", regions()),
        shown("tokens and marks", tokens_and_marks()),
        shown("a list of names", list),
        shown("a kernel that Rust-CUDA has expanded before", rust_cuda),
    ];
    expect_file!["tests/expected.rs"].assert_eq(&text.concat());
}

/// Statements, in a function so that they are a file.
fn regions() -> TokenStream {
    let forms = [
        quote!(
            "options",
            by = warp_group,
            track = 3,
            value = size,
            unit = "bytes",
            recorder = prof
        ),
        quote!(TASK[index], by = thread),
        quote!("block", { a + b }),
        quote!("everything", wait, pin = (a, b.c), crate = crate::renamed, { work() }),
    ]
    .map(region::expand_region);
    let [options, list, block, everything] = forms;
    quote!(fn enclosing() { #options #list let x = #block; let y = #everything; })
}

/// Likewise.
fn tokens_and_marks() -> TokenStream {
    let start = region::expand_start(quote!("token", by = block));
    let end = region::expand_end(quote!(token));
    let end_with = region::expand_end(quote!(token, value = 3));
    let recorder = region::expand_recorder(quote!());
    let value = mark::expand_mark(quote!("value", a == b, unit = "rows"));
    let signal = mark::expand_signal(quote!("full", key, by = elected));
    let anchor = mark::expand_anchor(quote!(by = block));
    let now_and_then = mark::expand_anchor(quote!(every = 1 << 18, recorder = prof));
    let anchor_of_warp = mark::expand_anchor(quote!(by = warp(INDEX)));
    quote!(
        fn enclosing() {
            let token = #start; #end; #end_with; let prof = #recorder; #value; #signal;
            #anchor; #now_and_then; #anchor_of_warp;
        }
    )
}

/// `#[cuda_std::kernel]` below `#[profiled]` has yet to read what `#[profiled]` emits: one item, with the signature
/// untouched.
#[test]
fn rust_cuda_kernels() {
    for attribute in
        [quote!(#[kernel]), quote!(#[cuda_std::kernel]), quote!(#[kernel(block_dim = 1d)])]
    {
        for arguments in [quote!(), quote!(by = warp(PRODUCER), enabled = ON, max_threads = N)] {
            let item = profiled::expand(
                arguments,
                quote! {
                    #attribute
                    pub unsafe fn expanded_after(output: *mut u32) {
                        profile_region!("all", { *output = 1 });
                    }
                },
            );
            let read: syn_of_cuda_std::ItemFn =
                syn_of_cuda_std::parse2(item).expect("readable by cuda_std's parser");
            assert_eq!(read.attrs.len(), 1, "the attribute, and none that cuda_std cannot read");
            assert!(read.sig.abi.is_none() && read.sig.unsafety.is_some());
        }
    }
}

#[test]
fn a_kernel_exports_its_name_unless_it_cannot_or_already_does() {
    let export = |item: &str| {
        let items = pretty(profiled::expand(quote!(), item.parse().expect("tokens")));
        (items.contains("#[unsafe(no_mangle)]"), items.contains("symbol = \"k\""))
    };
    for (item, expected) in [
        ("fn k() {}", (true, true)),
        ("fn k<'a>() {}", (true, true)),
        ("fn r#k() {}", (true, true)),
        ("fn k<T>() {}", (false, false)),
        ("fn k<const N: usize>() {}", (false, false)),
    ] {
        for abi in ["ptx-kernel", "gpu-kernel"] {
            assert_eq!(export(&format!("extern \"{abi}\" {item}")), expected, "{abi} {item}");
        }
    }
    assert_eq!(export("#[no_mangle] extern \"ptx-kernel\" fn k() {}"), (false, true));
    assert_eq!(export("#[export_name = \"k\"] extern \"ptx-kernel\" fn other() {}"), (false, true));
}

/// The region macros inside must still find a recorder, so that a mistake leads to one message.
#[test]
fn an_annotation_with_mistakes_still_expands() {
    let mistakes: [(&str, &str, &[&str]); 3] = [
        ("", "const fn f(prof: Recorder) {}", &["#[profiled] cannot be used on a `const fn`"]),
        ("recorder = pfor", "fn f(prof: Recorder) {}", &["`f` has no parameter `pfor`"]),
        (
            "clock = cycles max_threads = 1",
            "extern \"ptx-kernel\" fn k() -> u32 { 3 }",
            &["expected `,`", "a kernel returns nothing"],
        ),
    ];
    for (arguments, item, expected) in mistakes {
        let [arguments, item] = [arguments, item].map(|text| text.parse().expect("tokens"));
        let expansion = profiled::expand(arguments, item);
        let found = messages(expansion.clone());
        assert_eq!(found.len(), expected.len(), "{found:?}");
        assert!(
            found.iter().zip(expected).all(|(found, start)| found.starts_with(start)),
            "{found:?}"
        );
        assert!(pretty(expansion).contains(HIDDEN_RECORDER));
    }
}

/// An item that is no function, or has no body, comes back unchanged.
#[test]
fn what_cannot_be_profiled_is_left_alone() {
    let items = [
        ("struct S { field: u32 }", "goes on a function"),
        ("mod m {}", "goes on a function"),
        ("fn declared(prof: Recorder);", "function with a body"),
    ];
    for (item, message) in items {
        let item: TokenStream = item.parse().expect("tokens");
        let expansion = profiled::expand(quote!(), item.clone());
        assert!(expansion.to_string().starts_with(&item.to_string()));
        let found = messages(expansion);
        assert!(matches!(found.as_slice(), [one] if one.contains(message)), "{found:?}");
    }
}

/// Every expander reads to the end of any tokens without a panic, and says something about them.
#[test]
fn nonsense_is_reported_everywhere() {
    const ANYWHERE: &[&str] = &[
        "=",
        ",",
        ",,",
        "\"a\" \"b\"",
        "\"a\", , by",
        "3",
        "{}",
        "by",
        "by =",
        "by = ,",
        "\"a\", by = when",
        "\"a\", by = when()",
        "\"a\", by = block(1)",
        "\"a\", by = ",
        "\"a\", by = warp()",
        "\"a\", crate = 3",
        "\"a\", recorder = ",
        "TASK = []",
        "TASK = [a, \"\"]",
        "TASK = [\"a\" \"b\"]",
        "pub",
        "\"\"",
    ];
    const REGIONS: &[&str] = &[
        "\"a\", pin",
        "\"a\", pin = ()",
        "\"a\", pin = 1",
        "\"a\", pin = (a, 1), {}",
        "\"a\", pin = a[i], {}",
        "\"a\", pin = a[i][0].b, {}",
        "\"a\", pin = *a.next(), {}",
        "\"a\", pin = (a, next().b), {}",
        "\"a\", track = 16777214",
        "\"a\", wait = 3",
        "\"a\", {} {}",
        "\"a\", {}, wait",
        "\"a\", unsafe {}",
        "\"a\", 'label: {}",
        "\"a\", wait wait, {}",
    ];
    type Expand = fn(TokenStream) -> TokenStream;
    let expanders: [(&str, Expand); 7] = [
        ("region", region::expand_region),
        ("start", region::expand_start),
        ("mark", mark::expand_mark),
        ("signal", mark::expand_signal),
        ("wait", mark::expand_wait),
        ("names", names::expand),
        ("profiled", |tokens| {
            profiled::expand(
                tokens,
                quote!(
                    extern "ptx-kernel" fn k() {}
                ),
            )
        }),
    ];
    let mut tried = 0;
    for (name, expand) in expanders {
        let regions: &[&str] = if name == "region" { REGIONS } else { &[] };
        for text in ANYWHERE.iter().chain(regions) {
            let Ok(tokens) = text.parse::<TokenStream>() else { continue };
            assert!(!messages(expand(tokens)).is_empty(), "{name}: {text}");
            tried += 1;
        }
    }
    assert!(tried > 150, "{tried}");
}

#[test]
fn places_that_stay_the_same_are_pinned_and_tracks_that_records_hold_are_taken() {
    for text in [
        "\"a\", pin = (a, b.c, b[0].1, (*d).e[2], *(*f)[1]), {}",
        "\"a\", pin = self.a, {}",
        "\"a\", track = 16777213",
        "\"a\", track = (block << 16) | tile",
    ] {
        let tokens = text.parse().expect("tokens");
        assert_eq!(messages(region::expand_region(tokens)), [""; 0], "{text}");
    }
}

/// `$name:literal` and `$body:block` come in invisible delimiters.
#[test]
fn fragments_of_macro_rules_read_like_what_was_written() {
    let fragment = |tokens| {
        let group = proc_macro2::Group::new(proc_macro2::Delimiter::None, tokens);
        proc_macro2::TokenTree::Group(group)
    };
    let (name, block) = (fragment(quote!("load")), fragment(quote!({ a + b })));
    let doubled = fragment(quote!(1 + n));
    assert_eq!(
        region::expand_region(quote!(#name, value = 2 * #doubled, #block)).to_string(),
        region::expand_region(quote!("load", value = 2 * #doubled, { a + b })).to_string(),
    );
    let item = |body| profiled::expand(quote!(), quote!(extern "ptx-kernel" fn k() #body));
    let body = fragment(quote!({ work() }));
    assert_eq!(item(quote!(#body)).to_string(), item(quote!({ work() })).to_string());
}

/// A number without a type gets the narrowest type that the region's record can hold.
#[test]
fn numbers_that_are_written_out_are_of_the_narrowest_type() {
    for (given, taken) in [
        ("4", "4u16"),
        ("0xffff", "65535u16"),
        ("65536", "65536"),
        ("-1", "- 1i16"),
        ("-32768", "- 32768"),
        ("4_u32", "4_u32"),
        ("-1i64", "- 1i64"),
        ("0.5", "0.5"),
        ("2 * 3", "2 * 3"),
        ("!0", "! 0"),
    ] {
        let tokens = format!("\"a\", value = {given}").parse().expect("tokens");
        let expanded = region::expand_region(tokens).to_string();
        let payload = format!("Payload ({taken})");
        assert!(expanded.contains(&payload), "{given}: {expanded}");
    }
}

//! Kernels: the recorder's state lives as long as the body.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, Expr, ExprLit, FnArg, GenericParam, Lit, Meta, Pat, PatIdent, Signature, parse_quote,
};

use super::{Function, SUBJECT, any_word, item, last_segment_is, mentions, returns};
use crate::args::{Argument, Arguments, Buffer, Clock, given};
use crate::report::Errors;
use crate::runtime::{Runtime, Site, at, emit};
use crate::strategy::By;

/// The compiler that a kernel is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `extern "ptx-kernel"` or `extern "gpu-kernel"`, for rustc's own nvptx64 target.
    PtxKernel,
    /// `#[kernel]`, which Rust-CUDA's `cuda_std` reads before or after `#[profiled]`.
    RustCuda,
}

impl Kind {
    /// The kind of kernel, or `None` for a device function.
    pub(super) fn of(function: &Function) -> Option<Self> {
        let attributes = &function.attributes;
        let marked = attributes.iter().any(|attribute| last_segment_is(attribute.path(), "kernel"));
        // `#[kernel]`, if it was expanded first, leaves an attribute for the GPU, and a function inside the
        // body everywhere.
        let expanded = exported(attributes)
            && (attributes.iter().any(|attribute| attribute.path().is_ident("nvvm_internal"))
                || mentions(function.body.statements.clone(), "assert_kernel_parameter_is_copy"));
        if marked || expanded {
            return Some(Self::RustCuda);
        }
        let name = function.signature.abi.as_ref().and_then(|abi| abi.name.as_ref());
        let is_kernel = |name: &str| matches!(name, "ptx-kernel" | "gpu-kernel");
        name.is_some_and(|name| is_kernel(&name.value())).then_some(Self::PtxKernel)
    }
}

pub(super) fn expand(
    function: &Function,
    kind: Kind,
    arguments: &Arguments,
    runtime: &Runtime,
    errors: &mut Errors,
) -> TokenStream {
    let Function { attributes, visibility, signature, body } = function;
    let private = runtime.private();
    check(function, arguments, errors);
    let entry = enter(function, kind, arguments, runtime, errors);
    let apart = match arguments.single_body {
        Some(_) => None,
        None => Apart::new(function, arguments, errors),
    };
    let state = if apart.is_some() { emit!(__profiler_state) } else { emit!(&__profiler_state) };
    let hidden = body.hidden_recorder(&emit!(#private::Recorder::new(#state)));
    let inner = &body.inner_attributes;
    let statements = &body.statements;
    // The braces around the statements are the macro's: what its last expression borrows is
    // dropped before the state, in every edition.
    let run = if returns(signature).is_none() {
        emit!(let _: () = { #hidden #statements };)
    } else {
        emit!(#hidden #statements)
    };
    let Entry { site, config, enter } = entry;
    let mut signature = signature.clone();
    let body = match apart {
        None => body.with(emit! {
            #inner
            let __profiler_state = {
                let __profiler_site = #site;
                let __profiler_config = #config;
                match #private::State::recorded_block(__profiler_config) {
                    ::core::option::Option::Some(__profiler_block) => #enter,
                    ::core::option::Option::None => #private::State::silent(__profiler_config),
                }
            };
            #run
        }),
        Some(apart) => {
            let inside = body.with(run);
            apart.name_arguments(&mut signature);
            let inside = apart.function(&inside, runtime);
            let call = apart.call();
            let parts = apart.parts(runtime);
            body.with(emit! {
                #inner
                #inside
                #parts
                let __profiler_site = #site;
                let __profiler_config = #config;
                match #private::State::recorded_block(__profiler_config) {
                    ::core::option::Option::Some(__profiler_block) => {
                        let __profiler_state = #enter;
                        #call
                    }
                    ::core::option::Option::None => {
                        let __profiler_state = #private::State::idle(__profiler_config);
                        #call
                    }
                }
            })
        }
    };
    let signature = &signature;
    if kind == Kind::RustCuda {
        return item(attributes, visibility, signature, &body);
    }
    let export =
        (!exported(attributes) && !is_generic(signature)).then(|| quote!(#[unsafe(no_mangle)]));
    let device = item(attributes, visibility, signature, &body);
    let twin_attributes: Vec<_> =
        attributes.iter().filter(|attribute| !is_export(attribute)).collect();
    let twin_signature = Signature { abi: None, ..signature.clone() };
    let twin = item(&twin_attributes, visibility, &twin_signature, &body);
    quote! {
        #[cfg(target_arch = "nvptx64")]
        #export
        #device

        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(dead_code, reason = "called where the kernel runs on the CPU")]
        #twin
    }
}

fn check(function: &Function, arguments: &Arguments, errors: &mut Errors) {
    if let Some(output) = returns(&function.signature) {
        errors.on(output, "a kernel returns nothing: write results through a pointer parameter");
    }
    if let (Some(blocks), None) = (&arguments.min_blocks, &arguments.max_threads) {
        errors.on(
            &blocks.key,
            "`min_blocks` needs `max_threads`: without the size of a block the compiler ignores it",
        );
    }
    if let Some(Clock::GlobalTimer) = given(arguments.clock.as_ref()) {
        refuse_anchors(function.body.statements.clone(), errors);
    }
}

/// Refuses anchors in a kernel that records `%globaltimer`, which is on the axis of all SMs by itself. An anchor
/// with a named recorder may be another kernel's.
fn refuse_anchors(tokens: TokenStream, errors: &mut Errors) {
    let mut called = None;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if ident == "profile_anchor" => called = Some(ident),
            TokenTree::Punct(punct) if punct.as_char() == '!' => {}
            TokenTree::Group(group) => {
                match called.take() {
                    Some(ident) if !mentions(group.stream(), "recorder") => errors.on(
                        ident,
                        "the records of this kernel hold `%globaltimer`, which is one axis for all SMs: \
                         leave `profile_anchor!` out, which would record nothing",
                    ),
                    _ => refuse_anchors(group.stream(), errors),
                }
            }
            _ => called = None,
        }
    }
}

/// A body that is compiled twice: with a state that records, and with one that the compiler knows to be idle.
/// The second copy runs without a session, and has no profiling in it: a clock read is `asm!`, which no compiler
/// removes, and ptxas 13.0 makes a predicated clock read unconditional.
struct Apart {
    signature: Signature,
    arguments: Vec<Ident>,
    /// Patterns that bind what an option of the kernel names, and the arguments that they match.
    named: Vec<(Pat, Ident)>,
}

impl Apart {
    /// `None`, and an error, if a function inside the kernel cannot take its parameters or its body.
    fn new(function: &Function, arguments: &Arguments, errors: &mut Errors) -> Option<Self> {
        let Function { signature, body, .. } = function;
        let mut refuse = |what: &dyn ToTokens, why: &str| {
            errors.on(
                what,
                format!(
                    "{SUBJECT} compiles a kernel's body twice, as a function inside the kernel, \
                     {why}; `#[profiled(single_body)]` compiles it once"
                ),
            );
        };
        let inputs = signature.inputs.to_token_stream();
        if let Some(word) = outer_self(inputs).or_else(|| outer_self(body.statements.clone())) {
            refuse(&word, "where `Self` has no meaning");
            return None;
        }
        let mut names = Vec::new();
        let mut named = Vec::new();
        for (number, input) in signature.inputs.iter().enumerate() {
            let FnArg::Typed(typed) = input else {
                refuse(input, "which has no receiver");
                return None;
            };
            if let Some(cfg) = typed.attrs.iter().find(|attribute| attribute.path().is_ident("cfg"))
            {
                refuse(cfg, "and cannot hand a parameter on that may not be there");
                return None;
            }
            match &*typed.pat {
                Pat::Ident(pattern) if is_plain(pattern) => names.push(pattern.ident.clone()),
                pattern => {
                    let place = Span::mixed_site().located_at(pattern.span());
                    let name = format_ident!("__profiler_argument_{number}", span = place);
                    if names_part_of(arguments, pattern) {
                        named.push((pattern.clone(), name.clone()));
                    }
                    names.push(name);
                }
            }
        }
        let signature = Signature { abi: None, ..signature.clone() };
        Some(Self { signature, arguments: names, named })
    }

    /// The statements that take apart parameters, if an option names a part of them.
    fn parts(&self, runtime: &Runtime) -> TokenStream {
        let private = runtime.private();
        let parts = self.named.iter().map(|(pattern, argument)| {
            // If its type is not `Copy`, the error belongs on the pattern.
            let copy_of = quote_spanned!(argument.span()=> #private::copy_of(&#argument));
            emit! {
                #[allow(
                    unused_mut,
                    unused_variables,
                    reason = "the kernel's options need not name all of it"
                )]
                let #pattern = #copy_of;
            }
        });
        parts.collect()
    }

    /// Renames the parameters for passing them on; `mut` belongs to the function inside.
    fn name_arguments(&self, signature: &mut Signature) {
        for (input, name) in signature.inputs.iter_mut().zip(&self.arguments) {
            let FnArg::Typed(typed) = input else { continue };
            match &mut *typed.pat {
                Pat::Ident(pattern) if is_plain(pattern) => pattern.mutability = None,
                other => *other = parse_quote!(#name),
            }
        }
    }

    /// The function inside the kernel.
    fn function(&self, body: &Group, runtime: &Runtime) -> TokenStream {
        let private = runtime.private();
        let Signature { generics, inputs, output, .. } = &self.signature;
        let bounds = &generics.where_clause;
        // The macro's word, not the user's: lints take an item for the user's by its first one.
        let safety = self.is_unsafe().then(|| emit!(unsafe));
        emit! {
            #[inline(always)]
            #[allow(clippy::too_many_arguments, reason = "the state is the macro's")]
            #safety fn __profiler_body #generics (
                __profiler_state: &#private::State, #inputs
            ) #output #bounds #body
        }
    }

    /// The call of the function inside.
    fn call(&self) -> TokenStream {
        let arguments = &self.arguments;
        // The function inside has generics of its own, of the same names.
        let mut generics = Vec::new();
        for parameter in &self.signature.generics.params {
            match parameter {
                GenericParam::Type(parameter) => generics.push(&parameter.ident),
                GenericParam::Const(parameter) => generics.push(&parameter.ident),
                GenericParam::Lifetime(_) => {}
            }
        }
        let generics = (!generics.is_empty()).then(|| emit!(::<#(#generics),*>));
        let call = emit!(__profiler_body #generics (&__profiler_state, #(#arguments),*));
        // SAFETY: the kernel's own contract is the function's.
        let call = if self.is_unsafe() { emit!(unsafe { #call }) } else { call };
        if returns(&self.signature).is_some() {
            return call;
        }
        emit! {
            #[allow(clippy::used_underscore_binding, reason = "all parameters are handed on")]
            #call;
        }
    }

    fn is_unsafe(&self) -> bool {
        matches!(self.signature.safety, syn::Safety::Unsafe(_))
    }
}

/// Whether the pattern is a name, `mut` or not.
fn is_plain(pattern: &PatIdent) -> bool {
    pattern.by_ref.is_none() && pattern.subpat.is_none()
}

/// The first `Self` that is not that of an item among the tokens.
fn outer_self(tokens: TokenStream) -> Option<Ident> {
    let mut in_item = false;
    for token in tokens {
        match token {
            TokenTree::Ident(word) if word == "Self" => {
                if !in_item {
                    return Some(word);
                }
            }
            TokenTree::Ident(word) => {
                in_item |=
                    ["impl", "trait", "struct", "enum", "union"].iter().any(|item| word == item);
            }
            TokenTree::Group(group) => {
                if !in_item && let Some(word) = outer_self(group.stream()) {
                    return Some(word);
                }
                in_item &= group.delimiter() != Delimiter::Brace;
            }
            TokenTree::Punct(punct) => in_item &= punct.as_char() != ';',
            TokenTree::Literal(_) => {}
        }
    }
    None
}

/// Whether an option that is evaluated outside the body names a word of the pattern. (Some words are no names
/// that it binds; taking it apart for them does no harm.)
fn names_part_of(arguments: &Arguments, pattern: &Pat) -> bool {
    let who = match given(arguments.by.as_ref()) {
        Some(By::When(expression) | By::WarpIndex(expression)) => Some(expression),
        _ => None,
    };
    let options = [who, given(arguments.track.as_ref())];
    let options: TokenStream =
        options.into_iter().flatten().map(ToTokens::to_token_stream).collect();
    any_word(pattern.to_token_stream(), &mut |word| mentions(options.clone(), &word.to_string()))
}

/// The beginning of a kernel.
struct Entry {
    site: TokenStream,
    config: TokenStream,
    /// The expression that gives the state of a recorded block; it uses the locals of the others.
    enter: TokenStream,
}

/// The code that enters the kernel and returns the recorder's state.
fn enter(
    function: &Function,
    kind: Kind,
    arguments: &Arguments,
    runtime: &Runtime,
    errors: &mut Errors,
) -> Entry {
    let signature = &function.signature;
    let private = runtime.private();
    let name = signature.ident.unraw().to_string();
    let by = given(arguments.by.as_ref()).unwrap_or(&By::Warp);
    let mut site = Site::new(
        "Kernel",
        match given(arguments.name.as_ref()) {
            Some(given) => given.value(),
            None => name.clone(),
        },
    )
    .with_strategy(Some(by));
    site.bounds = [&arguments.max_threads, &arguments.min_blocks, &arguments.max_registers]
        .map(|bound| given(bound.as_ref()));
    site.symbol = symbol(function, kind, name);
    if site.symbol.as_ref().is_some_and(|symbol| !symbol.is_ascii()) {
        errors.on(
            &function.signature.ident,
            "the symbol of a kernel in the PTX is ASCII: give it another name, or a symbol by \
             `#[unsafe(export_name = \"..\")]`; `#[profiled(name = \"..\")]` is what a trace calls it, \
             and may be any text",
        );
    }
    let buffer = given(arguments.buffer.as_ref()).copied().unwrap_or(Buffer::Global);
    site.buffer = buffer;
    let site = site.tokens(runtime);
    let site = match &arguments.buffer {
        Some(Argument { key, value: Buffer::Host }) => {
            let here = at(key);
            let available = quote_spanned!(here=> ::core::assert!(
                #private::BufferChoice::HAS_HOST,
                "`buffer = host` needs the feature `host-buffer` of profiler-device: in the device \
                 crate's Cargo.toml, add it to the features of that dependency"
            ));
            emit!({ const _: () = #available; #site })
        }
        _ => site,
    };
    let enabled = match given(arguments.enabled.as_ref()) {
        None => emit!(true),
        Some(constant) => emit!(const { #constant }),
    };
    let strategy = by.constant(runtime);
    let when = match by {
        By::When(condition) => condition.to_token_stream(),
        _ => emit!(false),
    };
    let clock = match given(arguments.clock.as_ref()) {
        None | Some(Clock::Cycles) => emit!(Cycles),
        Some(Clock::GlobalTimer) => emit!(GlobalTimer),
    };
    let buffer = buffer.constant();
    let track = runtime.track(given(arguments.track.as_ref()));
    let config = emit!(#private::Config {
        enabled: #enabled,
        strategy: #strategy,
        when: #when,
        clock: #private::wire::header::Clock::#clock,
        buffer: #private::BufferChoice::new(#private::wire::site::Buffer::#buffer),
        track: #track,
    });
    // SAFETY: this is the first thing in the body of a kernel. (Called by another kernel, as only a twin can
    // be, it runs on the emulator, where a collective that not all lanes reach is an error that is reported,
    // and threads that share a buffer run one at a time.)
    let enter = emit!(unsafe {
        #private::State::enter_block(__profiler_site, __profiler_config, __profiler_block)
    });
    // What the user wrote is evaluated outside the unsafe block.
    Entry { site, config, enter }
}

/// The entry symbol, if it is known: the compiler chooses it for a generic kernel.
fn symbol(function: &Function, kind: Kind, name: String) -> Option<String> {
    if kind == Kind::PtxKernel && is_generic(&function.signature) {
        return None;
    }
    let export_name = function.attributes.iter().find_map(|attribute| {
        let meta = match &attribute.meta {
            Meta::List(list) if list.path.is_ident("unsafe") => list.parse_args::<Meta>().ok()?,
            meta => meta.clone(),
        };
        match meta {
            Meta::NameValue(pair) if pair.path.is_ident("export_name") => match pair.value {
                Expr::Lit(ExprLit { lit: Lit::Str(symbol), .. }) => Some(symbol.value()),
                _ => None,
            },
            _ => None,
        }
    });
    Some(export_name.unwrap_or(name))
}

/// Whether an attribute gives the function a symbol of its own. (`cfg_attr` was resolved by rustc.)
fn exported(attributes: &[Attribute]) -> bool {
    attributes.iter().any(is_export)
}

/// `#[no_mangle]`, `#[export_name = ".."]`, and both inside `unsafe(..)`. A twin keeps none of them:
/// it has no place among the host program's symbols.
fn is_export(attribute: &Attribute) -> bool {
    let named = |path: &syn::Path| path.is_ident("no_mangle") || path.is_ident("export_name");
    match &attribute.meta {
        Meta::List(list) if list.path.is_ident("unsafe") => {
            list.parse_args::<Meta>().is_ok_and(|inner| named(inner.path()))
        }
        meta => named(meta.path()),
    }
}

/// Lifetimes leave no trace in the symbol; types and constants do.
fn is_generic(signature: &Signature) -> bool {
    signature.generics.params.iter().any(|param| !matches!(param, GenericParam::Lifetime(_)))
}

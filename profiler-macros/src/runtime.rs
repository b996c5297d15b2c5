//! Paths into the runtime crate, and the sites that it keeps.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr, LitStr, Path};

use crate::args::Buffer;
use crate::strategy::By;

/// Quotes with the hygiene of `macro_rules!`: locals of the macro and of the user do not see each other. The
/// hygiene does not cover items: a pattern `value` would be the user's `const value`. So locals begin with
/// `__profiler_`.
macro_rules! emit {
    ($($tokens:tt)*) => {
        quote::quote_spanned!(proc_macro2::Span::mixed_site()=> $($tokens)*)
    };
}
pub(crate) use emit;

/// The name of the recorder that `#[profiled]` puts in scope. If it is not in scope, rustc quotes it, so the
/// name is the message.
pub(crate) const HIDDEN_RECORDER: &str =
    "no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder";

/// The path of the runtime: `::profiler_device`, or that of `crate = path`.
pub(crate) struct Runtime(Option<TokenStream>);

impl Runtime {
    pub(crate) fn new(path: Option<&Path>) -> Self {
        Self(path.map(ToTokens::to_token_stream))
    }

    /// A copy of the recorder that an expression gives, by value or by reference.
    pub(crate) fn copied(&self, recorder: &Expr) -> TokenStream {
        let private = self.private();
        let here = at(recorder);
        let place = quote_spanned!(here=> &(#recorder));
        emit!(#private::Recorder::copied(#place))
    }

    /// Likewise of the one that `#[profiled]` put in scope. It is looked up where the macro was
    /// called, as if the user had written it there.
    pub(crate) fn hidden_recorder(&self) -> TokenStream {
        let private = self.private();
        let hidden = Ident::new(HIDDEN_RECORDER, Span::call_site());
        emit!(#private::Recorder::copied(&#hidden))
    }

    /// The runtime crate.
    fn root(&self) -> TokenStream {
        self.0.clone().unwrap_or_else(|| emit!(::profiler_device))
    }

    /// The module with the code that macros expand into.
    pub(crate) fn private(&self) -> TokenStream {
        self.private_at(Span::mixed_site())
    }

    /// Likewise; the compiler's messages about calls stand at `here`.
    pub(crate) fn private_at(&self, here: Span) -> TokenStream {
        match &self.0 {
            None => quote_spanned!(here=> ::profiler_device::__private),
            Some(root) => quote_spanned!(here=> #root::__private),
        }
    }

    /// A track field from `track = expr`; without one 0, the warp's own track.
    pub(crate) fn track(&self, number: Option<&Expr>) -> TokenStream {
        match number {
            None => emit!(0),
            Some(number) => {
                let private = self.private();
                emit!(#private::wire::record::track_field(#number))
            }
        }
    }
}

/// An entry of the site table.
pub(crate) struct Site<'a> {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) unit: Option<&'a LitStr>,
    pub(crate) strategy: Option<&'a By>,
    pub(crate) symbol: Option<String>,
    /// Of a kernel.
    pub(crate) buffer: Buffer,
    /// `max_threads`, `min_blocks`, `max_registers`.
    pub(crate) bounds: [Option<&'a Expr>; 3],
    pub(crate) names: &'a [LitStr],
}

impl<'a> Site<'a> {
    /// A site with everything else empty.
    pub(crate) fn new(kind: &'static str, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            unit: None,
            strategy: None,
            symbol: None,
            buffer: Buffer::Global,
            bounds: [None; 3],
            names: &[],
        }
    }

    pub(crate) fn with_unit(self, unit: Option<&'a LitStr>) -> Self {
        Self { unit, ..self }
    }

    pub(crate) fn with_strategy(self, strategy: Option<&'a By>) -> Self {
        Self { strategy, ..self }
    }

    /// The expression that leaves the entry in the PTX and returns its `SiteId`.
    pub(crate) fn tokens(&self, runtime: &Runtime) -> TokenStream {
        let Self { name, names, .. } = self;
        let root = runtime.root();
        let private = runtime.private();
        let kind = Ident::new(self.kind, Span::mixed_site());
        let unit = self.unit.map_or_else(|| emit!(""), ToTokens::to_token_stream);
        let symbol = self.symbol.as_deref().unwrap_or_default();
        let strategy = match self.strategy {
            None => emit!(#private::wire::site::STRATEGY_OF_KERNEL),
            Some(by) => {
                let strategy = by.constant(runtime);
                emit!(#strategy.code())
            }
        };
        let mut assertions: TokenStream =
            self.strategy.and_then(By::assertion).into_iter().collect();
        for constant in self.bounds.into_iter().flatten() {
            let at_least_one = |value| emit!(#value != 0);
            assertions.extend(assert_constant(
                constant,
                at_least_one,
                "a launch bound is at least 1",
            ));
        }
        let [max_threads, min_blocks, max_registers] = self.bounds.map(bound);
        let buffer = match self.buffer {
            Buffer::Global => None,
            Buffer::Host => {
                let buffer = self.buffer.constant();
                Some(emit!(, buffer = #buffer))
            }
        };
        let site = emit!(#root::__site!(
            kind = #kind,
            name = #name,
            unit = #unit,
            strategy = #strategy,
            symbol = #symbol,
            max_threads = #max_threads,
            min_blocks = #min_blocks,
            max_registers = #max_registers,
            names = [#(#names),*]
            #buffer
        ));
        if assertions.is_empty() { site } else { emit!({ #assertions #site }) }
    }
}

/// A launch bound in the site table; 0 means that none was given.
fn bound(value: Option<&Expr>) -> TokenStream {
    value.map_or_else(|| emit!(0), ToTokens::to_token_stream)
}

/// An item that does not compile unless `condition` holds for a constant of type `u32`, with the
/// message at the constant; nothing for a literal, which was checked when it was parsed.
pub(crate) fn assert_constant(
    constant: &Expr,
    condition: impl FnOnce(TokenStream) -> TokenStream,
    message: &str,
) -> Option<TokenStream> {
    if matches!(constant, Expr::Lit(_)) {
        return None;
    }
    let condition = condition(emit!(__profiler_value));
    let here = at(constant);
    let assertion = quote_spanned!(here=> ::core::assert!(#condition, #message));
    Some(emit! {
        const _: () = {
            let __profiler_value: ::core::primitive::u32 = #constant;
            #assertion
        };
    })
}

/// The place of the user's tokens, with the hygiene of [`emit!`], so that the compiler's messages stand there.
pub(crate) fn at(tokens: impl Spanned) -> Span {
    Span::mixed_site().located_at(tokens.span())
}

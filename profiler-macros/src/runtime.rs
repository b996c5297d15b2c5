//! Paths into the runtime crate, and the sites that it keeps.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Expr, LitStr, Path};

use crate::strategy::By;

/// Quotes with the hygiene of `macro_rules!`: locals are invisible to the user's code and the
/// user's locals to them, so that nothing can be captured in either direction.
macro_rules! emit {
    ($($tokens:tt)*) => {
        quote::quote_spanned!(proc_macro2::Span::mixed_site()=> $($tokens)*)
    };
}
pub(crate) use emit;

/// The name of the recorder that `#[profiled]` puts in scope. Where it is not in scope rustc quotes
/// it, so the name is the message.
pub(crate) const HIDDEN_RECORDER: &str =
    "no_recorder_in_scope__mark_this_fn_profiled_or_pass_recorder";

/// Where the runtime is: `::profiler_device`, or what `crate = path` says.
pub(crate) struct Runtime(TokenStream);

impl Runtime {
    pub(crate) fn new(path: Option<&Path>) -> Self {
        Self(path.map_or_else(|| emit!(::profiler_device), ToTokens::to_token_stream))
    }

    /// The module of what macros expand into.
    pub(crate) fn private(&self) -> TokenStream {
        let root = &self.0;
        emit!(#root::__private)
    }

    /// A track field from `track = expr`: 0, the warp's own track, where there is none.
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
    /// `max_threads`, `min_blocks`, `max_registers`.
    pub(crate) bounds: [Option<&'a Expr>; 3],
    pub(crate) names: &'a [LitStr],
}

impl<'a> Site<'a> {
    /// A site with all else empty.
    pub(crate) fn new(kind: &'static str, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            unit: None,
            strategy: None,
            symbol: None,
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

    /// The expression that leaves the entry behind and gives its `SiteId`.
    pub(crate) fn tokens(&self, runtime: &Runtime) -> TokenStream {
        let Self { name, names, .. } = self;
        let root = &runtime.0;
        let private = runtime.private();
        let kind = proc_macro2::Ident::new(self.kind, proc_macro2::Span::mixed_site());
        let unit = self.unit.map_or_else(|| emit!(""), ToTokens::to_token_stream);
        let symbol = self.symbol.as_deref().unwrap_or_default();
        let strategy = match self.strategy {
            None => emit!(#private::wire::site::STRATEGY_OF_KERNEL),
            Some(by) => {
                let strategy = by.constant(runtime);
                emit!(#strategy.code())
            }
        };
        let [max_threads, min_blocks, max_registers] = self.bounds.map(bound);
        emit!(#root::__site!(
            kind = #kind,
            name = #name,
            unit = #unit,
            strategy = #strategy,
            symbol = #symbol,
            max_threads = #max_threads,
            min_blocks = #min_blocks,
            max_registers = #max_registers,
            names = [#(#names),*]
        ))
    }
}

/// A launch bound of the site table, where 0 stands for "not given" and so cannot be asked for.
fn bound(value: Option<&Expr>) -> TokenStream {
    match value {
        None => emit!(0),
        Some(literal @ Expr::Lit(_)) => literal.to_token_stream(),
        Some(constant) => emit!({
            let bound: ::core::primitive::u32 = #constant;
            ::core::assert!(bound != 0, "a launch bound of a kernel is at least 1");
            bound
        }),
    }
}

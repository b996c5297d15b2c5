//! Collects every mistake of one annotation, so that one compile shows them all.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// The mistakes found so far, each at the tokens that are wrong.
#[derive(Default)]
pub(crate) struct Errors(Vec<syn::Error>);

impl Errors {
    /// A mistake at one place.
    pub(crate) fn at(&mut self, span: Span, message: impl std::fmt::Display) {
        self.0.push(syn::Error::new(span, message));
    }

    /// A mistake that covers all of `tokens`.
    pub(crate) fn on(&mut self, tokens: impl ToTokens, message: impl std::fmt::Display) {
        self.0.push(syn::Error::new_spanned(tokens, message));
    }

    /// A mistake that a parser found.
    pub(crate) fn absorb(&mut self, error: syn::Error) {
        self.0.push(error);
    }

    /// Whether there was a mistake.
    pub(crate) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    /// A `compile_error!` for each mistake; valid where an item or a statement is.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.0.iter().map(syn::Error::to_compile_error).collect()
    }
}

/// "`a`, `b` or `c`", for lists of what is allowed.
pub(crate) fn listed<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<_> = words.into_iter().map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

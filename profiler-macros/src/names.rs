//! `profile_names!`.

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Token, Visibility};

use crate::args::{Arguments, Grammar, end_argument, given, parse_all, skip_to_comma};
use crate::report::Errors;
use crate::runtime::{Runtime, Site, emit};

const GRAMMAR: Grammar = Grammar {
    subject: "profile_names!",
    keys: &["unit", "crate"],
    refused: &[
        ("by", "each region that uses the list has its own"),
        ("recorder", "each region that uses the list has its own"),
        ("track", "each region that uses the list has its own"),
    ],
};

/// A parsed list.
struct List {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    ident: Ident,
    names: Vec<LitStr>,
}

/// `profile_names!`.
pub(crate) fn expand(tokens: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let mut arguments = Arguments::default();
    let list = parse_all(tokens, &mut errors, |input, errors| {
        let list = parse_list(input, errors).map_err(|error| errors.absorb(error)).ok()?;
        end_argument(input, errors);
        arguments.parse(input, &GRAMMAR, errors);
        Some(list)
    });
    let Some(List { attributes, visibility, ident, names }) = list.flatten() else {
        return errors.into_tokens();
    };
    let runtime = Runtime::new(given(arguments.runtime.as_ref()));
    let private = runtime.private();
    let mut site =
        Site::new("Names", ident.unraw().to_string()).with_unit(given(arguments.unit.as_ref()));
    site.names = &names;
    let site = site.tokens(&runtime);
    let documented = attributes.iter().any(|attribute| attribute.path().is_ident("doc"));
    let document = (!documented).then(|| {
        let quoted: Vec<_> = names.iter().map(|name| format!("{:?}", name.value())).collect();
        let text = format!(" Names of regions: {}.", quoted.join(", "));
        emit!(#[doc = #text])
    });
    let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    let length = u32::try_from(names.len()).unwrap_or(u32::MAX);
    let mistakes = errors.into_tokens();
    emit! {
        #mistakes
        #document
        #(#attributes)*
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
        #[allow(
            non_camel_case_types,
            clippy::upper_case_acronyms,
            reason = "used like a constant: LIST[index]"
        )]
        #visibility struct #ident;

        #(#conditions)*
        #[allow(dead_code, reason = "not every list is asked for its length")]
        impl #ident {
            /// The number of names.
            pub const LEN: ::core::primitive::u32 = #length;

            #[doc(hidden)]
            #[inline(always)]
            #[must_use]
            pub fn __site(self, __profiler_index: ::core::primitive::u64) -> #private::SiteId {
                // Saturates: an index that does not fit 32 bits is out of range as well.
                let __profiler_index =
                    if __profiler_index > ::core::primitive::u32::MAX as ::core::primitive::u64 {
                        ::core::primitive::u32::MAX
                    } else {
                        __profiler_index as ::core::primitive::u32
                    };
                #private::SiteId::nth(#site, __profiler_index, Self::LEN)
            }
        }
    }
}

fn parse_list(input: ParseStream, errors: &mut Errors) -> syn::Result<List> {
    let attributes = input.call(Attribute::parse_outer)?;
    let visibility = input.parse()?;
    let ident = input.parse::<Ident>().map_err(|error| {
        let form = "expected the name of the list: profile_names!(TASK = [\"load\", \"mma\"])";
        syn::Error::new(error.span(), form)
    })?;
    input.parse::<Token![=]>()?;
    let content;
    let brackets = syn::bracketed!(content in input);
    let mut names = Vec::new();
    if content.is_empty() {
        errors.at(brackets.span.join(), "a list needs at least one name");
    }
    while !content.is_empty() {
        match content.parse::<Expr>() {
            Ok(Expr::Lit(ExprLit { lit: Lit::Str(name), .. })) => {
                if name.value().is_empty() {
                    errors.on(&name, "the name must not be empty");
                }
                names.push(name);
            }
            Ok(other) => errors.on(
                &other,
                "the names of a list are string literals: they are kept for the host when the \
                 kernel is compiled",
            ),
            Err(error) => {
                errors.absorb(error);
                skip_to_comma(&content);
            }
        }
        end_argument(&content, errors);
    }
    Ok(List { attributes, visibility, ident, names })
}

//! `#[profiled]`: the kinds of functions, and their arguments.

mod device;
mod kernel;

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, FnArg, Pat, ReturnType, Signature, Token, Type, Visibility, token};

use crate::args::{Arguments, Grammar, given, parse_all, unwrap_fragments};
use crate::report::Errors;
use crate::runtime::{HIDDEN_RECORDER, Runtime, emit};

const SUBJECT: &str = "#[profiled]";

const KERNEL: Grammar = Grammar {
    subject: SUBJECT,
    keys: &[
        "name",
        "by",
        "track",
        "clock",
        "buffer",
        "enabled",
        "max_threads",
        "min_blocks",
        "max_registers",
        "single_body",
        "crate",
    ],
    refused: &[
        ("recorder", "a kernel has a recorder of its own"),
        ("wait", "it is an option of `profile_region!`"),
        ("pin", "it is an option of `profile_region!`"),
        ("value", "it is an option of `profile_region!`"),
        ("unit", "it is an option of `profile_region!`"),
    ],
};

const OF_THE_KERNEL: &str = "it is an option of kernels, and a device function records the way \
                             the kernel does that calls it";
const LAUNCH_BOUND: &str = "a launch bound belongs on the kernel";

const DEVICE: Grammar = Grammar {
    subject: "#[profiled] on a device function",
    keys: &["name", "by", "track", "recorder", "crate"],
    refused: &[
        ("clock", OF_THE_KERNEL),
        ("buffer", OF_THE_KERNEL),
        ("enabled", OF_THE_KERNEL),
        ("max_threads", LAUNCH_BOUND),
        ("min_blocks", LAUNCH_BOUND),
        ("max_registers", LAUNCH_BOUND),
        ("single_body", OF_THE_KERNEL),
        ("wait", "it is an option of `profile_region!`"),
        ("pin", "it is an option of `profile_region!`"),
        ("value", "it is an option of `profile_region!`"),
        ("unit", "it is an option of `profile_region!`"),
    ],
};

/// A function with a parsed signature. Its body is not parsed: rustc reports mistakes there, at their places.
struct Function {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    signature: Signature,
    body: Body,
}

/// The body of a function.
struct Body {
    /// The braces and everything between them.
    group: Group,
    /// The attributes and documentation that a body may begin with.
    inner_attributes: TokenStream,
    statements: TokenStream,
}

impl Parse for Function {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        let signature: Signature = input.parse()?;
        if input.peek(Token![;]) {
            let message = "#[profiled] needs a function with a body: put it on the implementation";
            return Err(input.error(message));
        }
        if !input.peek(token::Brace) {
            return Err(input.error("expected the body of the function"));
        }
        let group: Group = input.parse()?;
        let (inner_attributes, statements) = split_inner_attributes(group.stream());
        Ok(Self {
            attributes,
            visibility,
            signature,
            body: Body { group, inner_attributes, statements },
        })
    }
}

fn split_inner_attributes(body: TokenStream) -> (TokenStream, TokenStream) {
    let mut tokens: Vec<TokenTree> = body.into_iter().collect();
    let is = |token: &TokenTree, character| matches!(token, TokenTree::Punct(punct) if punct.as_char() == character);
    let mut inner = 0;
    while let Some([hash, bang, TokenTree::Group(_)]) = tokens.get(inner..inner + 3)
        && is(hash, '#')
        && is(bang, '!')
    {
        inner += 3;
    }
    let statements = tokens.split_off(inner);
    (tokens.into_iter().collect(), statements.into_iter().collect())
}

impl Body {
    /// The same braces around other statements: they keep the user's edition and place.
    fn with(&self, statements: TokenStream) -> Group {
        let mut group = Group::new(self.group.delimiter(), statements);
        group.set_span(self.group.span());
        group
    }

    /// The statement that puts a recorder in scope, visible to what is written in this body.
    fn hidden_recorder(&self, recorder: &TokenStream) -> TokenStream {
        let hidden = self.hidden();
        emit! {
            #[allow(
                non_snake_case,
                unused_variables,
                reason = "the name is the message where the recorder is not in scope, \
                          and a body without regions does not use it"
            )]
            let #hidden = #recorder;
        }
    }

    fn hidden(&self) -> Ident {
        Ident::new(HIDDEN_RECORDER, Span::call_site().resolved_at(self.group.span_open()))
    }
}

/// `#[profiled]`.
pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let mut function = match syn::parse2::<Function>(unwrap_fragments(item.clone())) {
        Ok(function) => function,
        Err(error) => {
            let parsed = syn::parse2::<syn::Item>(item.clone());
            match parsed {
                Ok(other) if !matches!(other, syn::Item::Fn(_) | syn::Item::Verbatim(_)) => errors
                    .at(
                        Span::call_site(),
                        "#[profiled] goes on a function: a kernel, or a device function that is \
                     given a recorder",
                    ),
                _ => errors.absorb(error),
            }
            let mistakes = errors.into_tokens();
            return quote!(#item #mistakes);
        }
    };
    let kind = kernel::Kind::of(&function);
    let grammar = if kind.is_some() { &KERNEL } else { &DEVICE };
    let mut parsed = Arguments::default();
    parse_all(arguments, &mut errors, |input, errors| parsed.parse(input, grammar, errors));
    function.attributes.retain(|attribute| {
        let again = last_segment_is(attribute.path(), "profiled");
        if again {
            errors.on(attribute, "duplicate #[profiled]: one annotation takes all arguments");
        }
        !again
    });
    check_signature(&mut function.signature, &mut errors);
    let runtime = Runtime::new(given(parsed.runtime.as_ref()));
    let items = match kind {
        Some(kind) => kernel::expand(&function, kind, &parsed, &runtime, &mut errors),
        None => device::expand(&function, &parsed, &runtime, &mut errors),
    };
    let mistakes = errors.into_tokens();
    quote!(#mistakes #items)
}

/// Refuses signatures that neither a kernel nor a device function can have. Removes parts that would only
/// lead to more messages.
fn check_signature(signature: &mut Signature, errors: &mut Errors) {
    if let Some(constness) = signature.constness.take() {
        errors.on(
            constness,
            "#[profiled] cannot be used on a `const fn`: reading the GPU's clock is not const",
        );
    }
    if let Some(asyncness) = &signature.asyncness {
        errors.on(
            asyncness,
            "#[profiled] cannot be used on an `async fn`: a region would stay open while it waits",
        );
    }
}

/// A placeholder for a recorder that was not found, so that the macros in the body do not report it again.
fn missing_recorder(body: &Body, runtime: &Runtime) -> TokenStream {
    let private = runtime.private();
    let hidden = body.hidden();
    emit! {
        #[allow(non_snake_case, unused_variables, reason = "a mistake was reported")]
        let #hidden: #private::Recorder<'_> = ::core::unreachable!();
    }
}

fn last_segment_is(path: &syn::Path, word: &str) -> bool {
    path.segments.last().is_some_and(|segment| segment.ident == word)
}

/// The names and types of the parameters that are plain variables.
fn parameters(signature: &Signature) -> impl Iterator<Item = (&Ident, &Type)> {
    signature.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => match &*typed.pat {
            Pat::Ident(pattern) => Some((&pattern.ident, &*typed.ty)),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    })
}

/// Reports that `ident` is no parameter.
fn no_such_parameter(ident: &Ident, signature: &Signature, errors: &mut Errors) {
    let names: Vec<_> = parameters(signature).map(|(name, _)| name.to_string()).collect();
    let has = if names.is_empty() {
        "it has none that is a plain variable".to_owned()
    } else {
        format!("it has {}", crate::report::listed(names.iter().map(String::as_str)))
    };
    let function = &signature.ident;
    errors.on(ident, format!("`{function}` has no parameter `{ident}`; {has}"));
}

/// The type that the function returns, if any.
fn returns(signature: &Signature) -> Option<&Type> {
    match &signature.output {
        ReturnType::Default => None,
        ReturnType::Type(_, output) => match &**output {
            Type::Tuple(tuple) if tuple.elems.is_empty() => None,
            _ => Some(output),
        },
    }
}

/// Whether any token of `tokens`, at any depth, is this word.
fn mentions(tokens: TokenStream, word: &str) -> bool {
    any_word(tokens, &mut |ident| ident == word)
}

/// Whether `is` holds for any word among `tokens`, at any depth.
fn any_word(tokens: TokenStream, is: &mut impl FnMut(&Ident) -> bool) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => is(&ident),
        TokenTree::Group(group) => any_word(group.stream(), is),
        _ => false,
    })
}

/// An item from its parts.
fn item(
    attributes: &[impl ToTokens],
    visibility: &Visibility,
    signature: &Signature,
    body: &Group,
) -> TokenStream {
    quote!(#(#attributes)* #visibility #signature #body)
}

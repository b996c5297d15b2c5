//! `by = ..`: who records.

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Expr, ExprLit, Lit, token};

use crate::report::{Errors, listed};
use crate::runtime::{Runtime, Site, assert_constant, emit};

/// The values of `by =`, as messages list them.
const ALLOWED: [&str; 7] =
    ["block", "warp", "warp(n)", "warp_group", "elected", "thread", "when(condition)"];

/// Warps of the largest block that any GPU runs: 1024 threads (CUDA C++ Programming Guide,
/// technical specifications per compute capability).
const WARPS_PER_BLOCK: u32 = 32;

/// Who records.
pub(crate) enum By {
    Block,
    Warp,
    WarpIndex(Expr),
    WarpGroup,
    Elected,
    Thread,
    When(Expr),
}

impl By {
    /// Parses the value of `by =`. Mistakes in the meaning go to `errors` and give `None`.
    pub(crate) fn parse(input: ParseStream, errors: &mut Errors) -> syn::Result<Option<Self>> {
        let expected = listed(ALLOWED);
        let word = Ident::parse_any(input)
            .map_err(|error| syn::Error::new(error.span(), format!("expected {expected}")))?;
        let argument = if input.peek(token::Paren) {
            let content;
            let parens = syn::parenthesized!(content in input);
            Some((parens.span.join(), content.parse::<TokenStream>()?))
        } else {
            None
        };
        let expression = |what: &str| match &argument {
            Some((_, tokens)) if !tokens.is_empty() => syn::parse2::<Expr>(tokens.clone()),
            Some((span, _)) => Err(syn::Error::new(*span, what)),
            None => Err(syn::Error::new(word.span(), what)),
        };
        let strategy = match word.to_string().as_str() {
            "warp" if argument.is_some() => {
                let index = expression("`warp(n)` needs the index of a warp in its block")?;
                return Ok(index_in_block(&index, errors).then_some(Self::WarpIndex(index)));
            }
            "when" => {
                let condition = expression(
                    "`when` needs a condition: `when(condition)` records where it holds",
                )?;
                return Ok(Some(Self::When(condition)));
            }
            "block" => Self::Block,
            "warp" => Self::Warp,
            "warp_group" => Self::WarpGroup,
            "elected" => Self::Elected,
            "thread" => Self::Thread,
            other => {
                errors.on(&word, format!("unknown strategy `{other}`; expected {expected}"));
                return Ok(None);
            }
        };
        if let Some((span, _)) = argument {
            errors.at(span, format!("`{word}` takes no argument; expected {expected}"));
        }
        Ok(Some(strategy))
    }

    /// Whether lanes other than lane 0 can record.
    pub(crate) fn needs_lanes(&self) -> bool {
        matches!(self, Self::Elected | Self::Thread | Self::When(_))
    }

    /// The declaration of this strategy for records whose site does not know it. The host must know that lanes
    /// need buffers, so `site`, which no record refers to, says it.
    pub(crate) fn declared(&self, site: Site<'_>, runtime: &Runtime) -> Option<TokenStream> {
        if self.needs_lanes() {
            let site = site.with_strategy(Some(self)).tokens(runtime);
            return Some(emit!(let _ = #site;));
        }
        self.assertion()
    }

    /// The strategy as a constant of the runtime's type.
    pub(crate) fn constant(&self, runtime: &Runtime) -> TokenStream {
        let private = runtime.private();
        let strategy = emit!(#private::wire::Strategy);
        match self {
            Self::Block => emit!(#strategy::Block),
            Self::Warp => emit!(#strategy::Warp),
            Self::WarpGroup => emit!(#strategy::WarpGroup),
            Self::Elected => emit!(#strategy::Elected),
            Self::Thread => emit!(#strategy::Thread),
            Self::When(_) => emit!(#strategy::When),
            Self::WarpIndex(index) => {
                emit!(#strategy::WarpIndex((#index) as ::core::primitive::u8))
            }
        }
    }

    /// An item that does not compile if a constant is out of range; only the compiler knows its value.
    pub(crate) fn assertion(&self) -> Option<TokenStream> {
        match self {
            Self::WarpIndex(index) => assert_constant(
                index,
                |value| emit!(#value < #WARPS_PER_BLOCK),
                "a block has at most 32 warps: the index of a warp is 0 to 31",
            ),
            _ => None,
        }
    }

    /// The `LaneRecorder` of the executing thread, by the local variable `__profiler_recorder`.
    pub(crate) fn leader(by: Option<&Self>, runtime: &Runtime) -> TokenStream {
        let private = runtime.private();
        let recorder_type = emit!(#private::Recorder);
        match by {
            None => emit!(#recorder_type::leader(__profiler_recorder)),
            Some(Self::Block) => emit!(#recorder_type::leader_block(__profiler_recorder)),
            Some(Self::Warp) => emit!(#recorder_type::leader_warp(__profiler_recorder)),
            Some(Self::WarpIndex(index)) => {
                emit!(#recorder_type::leader_warp_index(__profiler_recorder, #index))
            }
            Some(Self::WarpGroup) => emit!(#recorder_type::leader_warp_group(__profiler_recorder)),
            Some(Self::Elected) => emit!(#recorder_type::leader_elected(__profiler_recorder)),
            Some(Self::Thread) => emit!(#recorder_type::leader_thread(__profiler_recorder)),
            Some(Self::When(condition)) => {
                emit!(#recorder_type::leader_when(__profiler_recorder, #condition))
            }
        }
    }
}

/// A literal is checked here; the rest by [`By::assertion`].
fn index_in_block(index: &Expr, errors: &mut Errors) -> bool {
    if let Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) = index
        && !literal.base10_parse::<u32>().is_ok_and(|index| index < WARPS_PER_BLOCK)
    {
        errors.on(literal, "a block has at most 32 warps: the index of a warp is 0 to 31");
        return false;
    }
    true
}

//! `profile_region!`, `region_start!`, `region_end!` and `recorder!`.

use proc_macro2::{Group, Literal, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Expr, ExprLit, ExprUnary, Lit, UnOp};

use crate::args::{
    Arguments, Grammar, Name, end_argument, given, is_option, parse_all, parse_name,
};
use crate::report::Errors;
use crate::runtime::{Runtime, Site, at, emit};
use crate::strategy::By;

const REGION: Grammar = Grammar {
    subject: "profile_region!",
    keys: &["by", "track", "wait", "pin", "value", "unit", "recorder", "crate"],
    refused: &[("name", "its name comes first, without `name =`")],
};

const START: Grammar = Grammar {
    subject: "region_start!",
    keys: &["by", "track", "recorder", "crate"],
    refused: &[
        ("name", "its name comes first, without `name =`"),
        ("value", "the value is given at the end, `region_end!(token, value = ..)`"),
        ("unit", "a region with a unit is a `profile_region!`"),
    ],
};

const END: Grammar = Grammar {
    subject: "region_end!",
    keys: &["value", "crate"],
    refused: &[
        ("by", "the token knows who records"),
        ("track", "the token knows its track"),
        ("recorder", "the token knows its recorder"),
    ],
};

const RECORDER: Grammar = Grammar {
    subject: "recorder!",
    keys: &["crate"],
    refused: &[("recorder", "it gives the one that is in scope")],
};

/// The recorder that an annotation uses: the one that was named, or the hidden one.
pub(crate) fn recorder(arguments: &Arguments, runtime: &Runtime) -> TokenStream {
    match given(arguments.recorder.as_ref()) {
        Some(recorder) => runtime.copied(recorder),
        None => runtime.hidden_recorder(),
    }
}

/// `profile_region!`.
pub(crate) fn expand_region(tokens: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let mut arguments = Arguments::default();
    let parsed = parse_all(tokens, &mut errors, |input, errors| {
        let name = parse_name(input, REGION.subject, true, errors);
        (name, arguments.parse_with_block(input, &REGION, errors))
    });
    let Some((name, block)) = parsed else { return errors.into_tokens() };
    check_region(&arguments, &name, block.as_ref(), &mut errors);
    let runtime = Runtime::new(given(arguments.runtime.as_ref()));
    let begin = begin_region(&arguments, &name, &runtime);
    let mistakes = errors.into_tokens();
    match block {
        None => emit! {
            #mistakes
            let __profiler_region = #begin;
        },
        Some(block) => {
            let body = region_block(&arguments, &begin, &block, &runtime);
            // Every brace here is the macro's, not the user's: lints on blocks stay silent, and
            // temporaries of the last expression are dropped inside the region.
            emit!({ #mistakes #body })
        }
    }
}

fn check_region(arguments: &Arguments, name: &Name, block: Option<&Group>, errors: &mut Errors) {
    if let (Some(unit), None) = (&arguments.unit, &arguments.value) {
        errors.on(&unit.key, "`unit` needs `value = ..`: it is the unit of that value");
    }
    if let (Some(unit), Name::Listed { .. }) = (&arguments.unit, name) {
        errors.on(
            &unit.key,
            "the regions of a list share one unit: give it to the list, \
             `profile_names!(LIST = [..], unit = \"bytes\")`",
        );
    }
    if let Some(block) = block {
        if let (Some(wait), true) = (&arguments.wait, has_no_value(block)) {
            errors.on(
                &wait.key,
                "`wait` waits for the block's value, and this block has none: leave out the last \
                 `;`, or end it with the value that completes last",
            );
        }
        return;
    }
    if let Some(wait) = &arguments.wait {
        errors.on(
            &wait.key,
            "`wait` needs the block form, `profile_region!(\"name\", wait, { .. })`: \
             the end stamp waits for the block's value, and a statement has none",
        );
    }
    if let Some(pin) = &arguments.pin {
        errors.on(
            &pin.key,
            "`pin` needs the block form, `profile_region!(\"name\", pin = .., { .. })`: \
             a statement would borrow the variables to the end of the enclosing block",
        );
    }
}

/// Whether a block cannot have a value: it is empty or ends in `;`.
fn has_no_value(block: &Group) -> bool {
    match block.stream().into_iter().last() {
        None => true,
        Some(token) => matches!(token, TokenTree::Punct(punct) if punct.as_char() == ';'),
    }
}

/// The expression that stamps the begin and returns the guard.
fn begin_region(arguments: &Arguments, name: &Name, runtime: &Runtime) -> TokenStream {
    let private = runtime.private();
    let payload = match given(arguments.value.as_ref()) {
        None => emit!(()),
        Some(value) => {
            let here = at(value);
            let private = runtime.private_at(here);
            let value = narrowed(value);
            quote_spanned!(here=> #private::Payload(#value))
        }
    };
    begin(
        arguments,
        name,
        runtime,
        |leader, track| emit!(#private::LaneRecorder::region(#leader, __profiler_site, #track, #payload)),
    )
}

/// A value as it was given; a literal without a type gets the narrow type that fits its region's record.
fn narrowed(value: &Expr) -> TokenStream {
    let number = |expression: &Expr| match expression {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) if number.suffix().is_empty() => {
            number.base10_parse::<u16>().ok()
        }
        _ => None,
    };
    let (sign, mut literal) = match value {
        Expr::Unary(ExprUnary { op: sign @ UnOp::Neg(_), expr, .. }) => {
            let Some(Ok(number)) = number(expr).map(i16::try_from) else {
                return value.to_token_stream();
            };
            (Some(sign), Literal::i16_suffixed(number))
        }
        value => {
            let Some(number) = number(value) else { return value.to_token_stream() };
            (None, Literal::u16_suffixed(number))
        }
    };
    literal.set_span(at(value));
    quote!(#sign #literal)
}

fn begin(
    arguments: &Arguments,
    name: &Name,
    runtime: &Runtime,
    call: impl FnOnce(TokenStream, TokenStream) -> TokenStream,
) -> TokenStream {
    let recorder = recorder(arguments, runtime);
    let by = given(arguments.by.as_ref());
    let site = match name {
        Name::Literal(text) => {
            let unit = given(arguments.unit.as_ref());
            Site::new("Region", text.value()).with_unit(unit).with_strategy(by).tokens(runtime)
        }
        Name::Listed { list, index } => {
            // A list's own entry does not know this strategy.
            let declared = by.and_then(|by| {
                by.declared(Site::new("Region", list.to_token_stream().to_string()), runtime)
            });
            let index = quote_spanned!(at(index)=> (#index) as ::core::primitive::u64);
            emit!({ #declared #list.__site(#index) })
        }
    };
    let leader = By::leader(by, runtime);
    let track = runtime.track(given(arguments.track.as_ref()));
    let call = call(leader, track);
    emit!({
        let __profiler_recorder = #recorder;
        let __profiler_site = #site;
        #call
    })
}

/// The statements of the block form.
fn region_block(
    arguments: &Arguments,
    begin: &TokenStream,
    block: &Group,
    runtime: &Runtime,
) -> TokenStream {
    let private = runtime.private();
    let statements = block.stream();
    let pins: Vec<Expr> = given(arguments.pin.as_ref()).cloned().unwrap_or_default();
    // A block without a value was reported already.
    let waits = arguments.wait.is_some() && !has_no_value(block);
    if pins.is_empty() && !waits {
        return emit!(let __profiler_region = #begin; #statements);
    }
    let pin: TokenStream = pins
        .iter()
        .map(|place| {
            let here = at(place);
            let place = quote_spanned!(here=> &mut #place);
            emit!(#private::pin(#place);)
        })
        .collect();
    let end = if waits {
        emit!(#private::Region::end_after(__profiler_region, &__profiler_value);)
    } else {
        emit!(#private::Region::end(__profiler_region);)
    };
    // Pinned three times: before the begin stamp, so that the variables' values on entry are computed
    // outside; after it, so that the block's work on them stays after it; and before the end stamp. If the
    // block never ends, rustc would warn about that code.
    emit! {
        #pin
        let __profiler_region = #begin;
        #pin
        let __profiler_value = { #statements };
        #[allow(unreachable_code, reason = "the block may never come to its end")]
        {
            #pin
            #end
        }
        __profiler_value
    }
}

/// `region_start!`.
pub(crate) fn expand_start(tokens: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let mut arguments = Arguments::default();
    let name = parse_all(tokens, &mut errors, |input, errors| {
        let name = parse_name(input, START.subject, true, errors);
        arguments.parse(input, &START, errors);
        name
    });
    let Some(name) = name else { return errors.into_tokens() };
    let runtime = Runtime::new(given(arguments.runtime.as_ref()));
    let private = runtime.private();
    let start = begin(
        &arguments,
        &name,
        &runtime,
        |leader, track| emit!(#private::LaneRecorder::start(#leader, __profiler_site, #track)),
    );
    with_mistakes(errors, start)
}

/// `region_end!`.
pub(crate) fn expand_end(tokens: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let mut arguments = Arguments::default();
    let token = parse_all(tokens, &mut errors, |input, errors| {
        if input.is_empty() || is_option(input) {
            errors.at(input.span(), "region_end! needs the token that `region_start!` gave");
            arguments.parse(input, &END, errors);
            return None;
        }
        let token = input.parse::<Expr>().map_err(|error| errors.absorb(error)).ok();
        end_argument(input, errors);
        arguments.parse(input, &END, errors);
        token
    });
    let Some(token) = token.flatten() else { return with_mistakes(errors, emit!(())) };
    let runtime = Runtime::new(given(arguments.runtime.as_ref()));
    let private = runtime.private();
    let end = match given(arguments.value.as_ref()) {
        None => emit!(#private::RegionToken::end(#token)),
        Some(value) => {
            let value = narrowed(value);
            emit!(#private::RegionToken::end_with(#token, #value))
        }
    };
    with_mistakes(errors, end)
}

/// `recorder!`.
pub(crate) fn expand_recorder(tokens: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let mut arguments = Arguments::default();
    parse_all(tokens, &mut errors, |input, errors| arguments.parse(input, &RECORDER, errors));
    let runtime = Runtime::new(given(arguments.runtime.as_ref()));
    with_mistakes(errors, runtime.hidden_recorder())
}

/// The expression, after its mistakes, if there are any.
pub(crate) fn with_mistakes(errors: Errors, expression: TokenStream) -> TokenStream {
    if errors.any() {
        let mistakes = errors.into_tokens();
        emit!({ #mistakes #expression })
    } else {
        expression
    }
}

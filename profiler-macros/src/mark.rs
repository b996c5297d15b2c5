//! `profile_mark!`, `profile_signal!` and `profile_wait!`.

use proc_macro2::TokenStream;
use syn::Expr;
use syn::parse::ParseStream;

use crate::args::{
    Arguments, Grammar, Key, Name, end_argument, given, is_option, parse_all, parse_name,
};
use crate::region::{recorder, with_mistakes};
use crate::report::Errors;
use crate::runtime::{Runtime, Site, emit};
use crate::strategy::By;

const KEYS: &[Key] = &["by", "unit", "recorder", "crate"];
const REFUSED: &[(Key, &str)] = &[
    ("name", "its name comes first, without `name =`"),
    ("value", "its value comes second, without `value =`"),
    ("track", "a mark stands on the track of the warp that makes it"),
    ("wait", "a mark has no end that could wait"),
    ("pin", "a mark has no inside that could be held in place"),
];

/// One of the macros that record an instant.
struct Instant {
    grammar: Grammar,
    kind: &'static str,
    /// The form of a call, if the value is required.
    needs_value: Option<&'static str>,
}

const MARK: Instant = Instant {
    grammar: Grammar { subject: "profile_mark!", keys: KEYS, refused: REFUSED },
    kind: "Mark",
    needs_value: None,
};
const SIGNAL: Instant = Instant {
    grammar: Grammar { subject: "profile_signal!", keys: KEYS, refused: REFUSED },
    kind: "Signal",
    needs_value: Some("profile_signal!(\"full\", key)"),
};
const WAIT: Instant = Instant {
    grammar: Grammar { subject: "profile_wait!", keys: KEYS, refused: REFUSED },
    kind: "Wait",
    needs_value: Some("profile_wait!(\"full\", key)"),
};

/// `profile_mark!`.
pub(crate) fn expand_mark(tokens: TokenStream) -> TokenStream {
    MARK.expand(tokens)
}

/// `profile_signal!`.
pub(crate) fn expand_signal(tokens: TokenStream) -> TokenStream {
    SIGNAL.expand(tokens)
}

/// `profile_wait!`.
pub(crate) fn expand_wait(tokens: TokenStream) -> TokenStream {
    WAIT.expand(tokens)
}

const ANCHOR: Grammar = Grammar {
    subject: "profile_anchor!",
    keys: &["every", "by", "recorder", "crate"],
    refused: &[
        ("name", "it records the time, and has no name"),
        ("value", "it records the time, and no value"),
        ("unit", "it records the time, and no value"),
        ("track", "it records the time, and is not shown"),
        ("wait", "it has no end that could wait"),
        ("pin", "it has no inside that could be held in place"),
    ],
};

/// `profile_anchor!`.
pub(crate) fn expand_anchor(tokens: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let mut arguments = Arguments::default();
    parse_all(tokens, &mut errors, |input, errors| arguments.parse(input, &ANCHOR, errors));
    let runtime = Runtime::new(given(arguments.runtime.as_ref()));
    let private = runtime.private();
    let recorder = recorder(&arguments, &runtime);
    let by = given(arguments.by.as_ref());
    // Records of anchors name no site.
    let declared = by.and_then(|by| by.declared(Site::new("Mark", "profile_anchor!"), &runtime));
    let leader = By::leader(by, &runtime);
    let call = match given(arguments.every.as_ref()) {
        None => emit!(#private::LaneRecorder::anchor(#leader)),
        Some(cycles) => emit!(#private::LaneRecorder::anchor_every(#leader, #cycles)),
    };
    with_mistakes(
        errors,
        emit!({
            #declared
            let __profiler_recorder = #recorder;
            #call
        }),
    )
}

impl Instant {
    fn expand(&self, tokens: TokenStream) -> TokenStream {
        let mut errors = Errors::default();
        let mut arguments = Arguments::default();
        let parsed = parse_all(tokens, &mut errors, |input, errors| {
            let name = parse_name(input, self.grammar.subject, false, errors);
            let value = parse_value(input, errors);
            arguments.parse(input, &self.grammar, errors);
            (name, value)
        });
        let Some((name, value)) = parsed else { return errors.into_tokens() };
        // A list is refused where the name is parsed.
        let Name::Literal(name) = name else { return errors.into_tokens() };
        match (&value, self.needs_value) {
            (None, Some(form)) if !errors.any() => errors.on(
                &name,
                format!("an arrow joins marks of one key, and the key is missing: {form}"),
            ),
            (None, None) => {
                if let Some(unit) = &arguments.unit {
                    errors.on(&unit.key, "`unit` needs a value: `profile_mark!(\"name\", value)`");
                }
            }
            _ => {}
        }
        let runtime = Runtime::new(given(arguments.runtime.as_ref()));
        let private = runtime.private();
        let by = given(arguments.by.as_ref());
        let site = Site::new(self.kind, name.value())
            .with_unit(given(arguments.unit.as_ref()))
            .with_strategy(by)
            .tokens(&runtime);
        let recorder = recorder(&arguments, &runtime);
        let leader = By::leader(by, &runtime);
        let call = match value {
            None => emit!(#private::LaneRecorder::mark(#leader, __profiler_site)),
            Some(value) => {
                emit!(#private::LaneRecorder::mark_value(#leader, __profiler_site, #value))
            }
        };
        with_mistakes(
            errors,
            emit!({
                let __profiler_recorder = #recorder;
                let __profiler_site = #site;
                #call
            }),
        )
    }
}

/// The value after the name, unless an argument with a key comes next.
fn parse_value(input: ParseStream, errors: &mut Errors) -> Option<Expr> {
    if input.is_empty() || is_option(input) {
        return None;
    }
    match input.parse::<Expr>() {
        Ok(value) => {
            end_argument(input, errors);
            Some(value)
        }
        Err(error) => {
            errors.absorb(error);
            crate::args::skip_to_comma(input);
            end_argument(input, errors);
            None
        }
    }
}

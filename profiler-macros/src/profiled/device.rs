//! Device functions: the whole body is a region.

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt;
use syn::{Expr, Type, parse_quote};

use super::{Function, item, missing_recorder, no_such_parameter, parameters};
use crate::args::{Arguments, given};
use crate::report::{Errors, listed};
use crate::runtime::{Runtime, Site, emit};
use crate::strategy::By;

pub(super) fn expand(
    function: &Function,
    arguments: &Arguments,
    runtime: &Runtime,
    errors: &mut Errors,
) -> TokenStream {
    let Function { attributes, visibility, signature, body } = function;
    let inner = &body.inner_attributes;
    let statements = &body.statements;
    let Some(recorder) = find_recorder(function, arguments, runtime, errors) else {
        let recorder = missing_recorder(body, runtime);
        let body = body.with(emit!(#inner #recorder #statements));
        let quiet = emit!(#[allow(unreachable_code, unused, reason = "a mistake was reported")]);
        let item = item(attributes, visibility, signature, &body);
        return emit!(#quiet #item);
    };
    let private = runtime.private();
    let name = given(arguments.name.as_ref())
        .map_or_else(|| signature.ident.unraw().to_string(), syn::LitStr::value);
    let by = given(arguments.by.as_ref());
    let site = Site::new("Region", name).with_strategy(by).tokens(runtime);
    let hidden = body.hidden();
    let leader = By::leader(by, runtime);
    let track = runtime.track(given(arguments.track.as_ref()));
    let recorder = body.hidden_recorder(&recorder);
    let body = body.with(emit! {
        #inner
        #recorder
        let __profiler_region = {
            let __profiler_recorder = #hidden;
            let __profiler_site = #site;
            #private::LaneRecorder::region(#leader, __profiler_site, #track, ())
        };
        #statements
    });
    let item = item(attributes, visibility, signature, &body);
    // In a call, the recorder's registers would go through memory; and each kernel calls from both copies of
    // its body, so that LLVM may not inline by itself.
    let has = |name| attributes.iter().any(|attribute| attribute.path().is_ident(name));
    // A function with features of its own cannot be inlined always.
    let inline = (!has("inline") && !has("target_feature")).then(|| {
        emit! {
            #[inline(always)]
            #[allow(clippy::inline_always, reason = "it is the macro's, which has a reason")]
        }
    });
    emit!(#inline #item)
}

/// The expression of the recorder: that of `recorder = ..`, or the parameter whose type is a recorder.
fn find_recorder(
    function: &Function,
    arguments: &Arguments,
    runtime: &Runtime,
    errors: &mut Errors,
) -> Option<TokenStream> {
    let signature = &function.signature;
    if let Some(recorder) = given(arguments.recorder.as_ref()) {
        if let Some(name) = plain_variable(recorder)
            && name != "self"
            && !parameters(signature).any(|(parameter, _)| parameter == name)
        {
            no_such_parameter(name, signature, errors);
            return None;
        }
        return Some(runtime.copied(recorder));
    }
    let found: Vec<&Ident> = parameters(signature)
        .filter(|(_, kind)| is_recorder(kind))
        .map(|(parameter, _)| parameter)
        .collect();
    match found.as_slice() {
        [] => {
            errors.on(
                &signature.ident,
                "#[profiled] on a device function needs a recorder: add a parameter such as \
                 `prof: Recorder<'_>`, or name one of another type by `recorder = prof` \
                 (a kernel is an `extern \"ptx-kernel\" fn`)",
            );
            None
        }
        [recorder] => Some(runtime.copied(&parse_quote!(#recorder))),
        [first, second, ..] => {
            let names = listed([first.to_string().as_str(), second.to_string().as_str()]);
            errors.on(
                second,
                format!("which recorder, {names}? Choose by `#[profiled(recorder = {first})]`"),
            );
            Some(runtime.copied(&parse_quote!(#first)))
        }
    }
}

/// The identifier, if the expression is nothing else.
fn plain_variable(expression: &Expr) -> Option<&Ident> {
    match expression {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    }
}

fn is_recorder(kind: &Type) -> bool {
    match kind {
        Type::Reference(reference) => is_recorder(&reference.elem),
        Type::Paren(inner) => is_recorder(&inner.elem),
        Type::Group(inner) => is_recorder(&inner.elem),
        Type::Path(path) => super::last_segment_is(&path.path, "Recorder"),
        _ => false,
    }
}

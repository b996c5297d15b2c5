//! The arguments that all macros share: `key = value`, flags, a name in front, a block at the end.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Expr, ExprLit, Lit, LitStr, Path, Token, token};

use crate::report::{Errors, listed};
use crate::runtime::emit;
use crate::strategy::By;

/// The name of an argument.
pub(crate) type Key = &'static str;

/// The arguments that a macro takes.
pub(crate) struct Grammar {
    /// The macro as messages call it.
    pub(crate) subject: &'static str,
    /// The arguments, in the order in which messages list them.
    pub(crate) keys: &'static [Key],
    /// Arguments that it does not take although a user might expect it to, and why.
    pub(crate) refused: &'static [(Key, &'static str)],
}

/// The buffer of a kernel's records.
#[derive(Clone, Copy)]
pub(crate) enum Buffer {
    Global,
    Host,
}

impl Buffer {
    /// Its name in `profiler_wire::site::Buffer`.
    pub(crate) fn constant(self) -> TokenStream {
        match self {
            Self::Global => emit!(Global),
            Self::Host => emit!(Host),
        }
    }
}

/// The clock of a kernel.
#[derive(Clone, Copy)]
pub(crate) enum Clock {
    Cycles,
    GlobalTimer,
}

/// An argument with the word that introduced it, for messages.
pub(crate) struct Argument<T> {
    pub(crate) key: Ident,
    pub(crate) value: T,
}

/// The arguments that were given and understood.
#[derive(Default)]
pub(crate) struct Arguments {
    pub(crate) name: Option<Argument<LitStr>>,
    pub(crate) by: Option<Argument<By>>,
    pub(crate) track: Option<Argument<Expr>>,
    pub(crate) clock: Option<Argument<Clock>>,
    pub(crate) buffer: Option<Argument<Buffer>>,
    pub(crate) recorder: Option<Argument<Expr>>,
    pub(crate) enabled: Option<Argument<Expr>>,
    pub(crate) max_threads: Option<Argument<Expr>>,
    pub(crate) min_blocks: Option<Argument<Expr>>,
    pub(crate) max_registers: Option<Argument<Expr>>,
    pub(crate) single_body: Option<Argument<()>>,
    pub(crate) wait: Option<Argument<()>>,
    pub(crate) pin: Option<Argument<Vec<Expr>>>,
    pub(crate) value: Option<Argument<Expr>>,
    pub(crate) unit: Option<Argument<LitStr>>,
    pub(crate) every: Option<Argument<Expr>>,
    pub(crate) runtime: Option<Argument<Path>>,
    /// Every key so far, even if its value was wrong.
    seen: Vec<Key>,
}

/// The value of an argument, if it was given.
pub(crate) fn given<T>(argument: Option<&Argument<T>>) -> Option<&T> {
    argument.map(|argument| &argument.value)
}

impl Arguments {
    /// Parses to the end of `input`, through every mistake.
    pub(crate) fn parse(&mut self, input: ParseStream, grammar: &Grammar, errors: &mut Errors) {
        while !input.is_empty() {
            if let Err(error) = self.parse_one(input, grammar, errors) {
                errors.absorb(error);
                skip_to_comma(input);
            }
            end_argument(input, errors);
        }
    }

    /// Like [`Arguments::parse`], with a block allowed as the last argument.
    pub(crate) fn parse_with_block(
        &mut self,
        input: ParseStream,
        grammar: &Grammar,
        errors: &mut Errors,
    ) -> Option<Group> {
        let mut block = None;
        while !input.is_empty() {
            if let Some(tokens) = parse_block(input, errors) {
                block.get_or_insert(tokens);
                let is_last = input.is_empty() || only_a_comma(input);
                if !is_last {
                    errors.at(input.span(), "the block comes last, after all other arguments");
                    if !input.peek(Token![,]) {
                        skip_to_comma(input);
                    }
                }
            } else if let Err(error) = self.parse_one(input, grammar, errors) {
                errors.absorb(error);
                skip_to_comma(input);
            }
            end_argument(input, errors);
        }
        block
    }

    fn parse_one(
        &mut self,
        input: ParseStream,
        grammar: &Grammar,
        errors: &mut Errors,
    ) -> syn::Result<()> {
        let subject = grammar.subject;
        let allowed = listed(grammar.keys.iter().copied());
        if !input.peek(syn::Ident::peek_any) {
            return Err(input.error(format!("expected an argument of {subject}: {allowed}")));
        }
        let word = Ident::parse_any(input)?;
        let text = word.to_string();
        let known = grammar.keys.iter().find(|key| **key == text);
        let Some(&key) = known else {
            let refusal = grammar.refused.iter().find(|(key, _)| *key == text);
            let message = match refusal {
                Some((_, reason)) => format!("{subject} takes no `{text}`: {reason}"),
                None => format!("unknown {subject} argument `{text}`; expected one of {allowed}"),
            };
            errors.on(&word, message);
            skip_to_comma(input);
            return Ok(());
        };
        if self.seen.contains(&key) {
            errors.on(&word, format!("duplicate `{text}` argument in {subject}"));
            skip_to_comma(input);
            return Ok(());
        }
        self.seen.push(key);
        if matches!(key, "wait" | "single_body") {
            if input.peek(Token![=]) {
                errors.on(&word, format!("`{word}` is a flag: write it alone"));
                skip_to_comma(input);
            }
            let flag = if key == "wait" { &mut self.wait } else { &mut self.single_body };
            *flag = Some(Argument { key: word, value: () });
            return Ok(());
        }
        if !input.peek(Token![=]) || input.peek(Token![==]) {
            errors.on(&word, format!("`{text}` needs a value: `{text} = ..`"));
            skip_to_comma(input);
            return Ok(());
        }
        input.parse::<Token![=]>()?;
        self.parse_value(key, word, input, errors)
    }

    fn parse_value(
        &mut self,
        key: Key,
        word: Ident,
        input: ParseStream,
        errors: &mut Errors,
    ) -> syn::Result<()> {
        if input.is_empty() || input.peek(Token![,]) {
            errors.on(&word, format!("`{word}` needs a value: `{word} = ..`"));
            return Ok(());
        }
        match key {
            "name" => {
                let name = parse_string(input, errors, "`name` is a string literal")?;
                self.name = argument(word, name);
            }
            "unit" => {
                let what = "`unit` is a string literal such as \"bytes\"";
                self.unit = argument(word, parse_string(input, errors, what)?);
            }
            "by" => self.by = argument(word, By::parse(input, errors)?),
            "clock" => self.clock = argument(word, parse_clock(input, errors)?),
            "buffer" => self.buffer = argument(word, parse_buffer(input, errors)?),
            "pin" => self.pin = argument(word, parse_pins(input, errors)?),
            "crate" => {
                let path = input.call(Path::parse_mod_style).map_err(|error| {
                    syn::Error::new(error.span(), "`crate` is the path of profiler_device")
                })?;
                self.runtime = argument(word, Some(path));
            }
            "max_threads" => {
                let bound = parse_bound(input, errors, "a block has at most 1024 threads", 1024)?;
                self.max_threads = argument(word, bound);
            }
            "min_blocks" => {
                let bound = parse_bound(input, errors, "the bound does not fit 32 bits", u32::MAX)?;
                self.min_blocks = argument(word, bound);
            }
            "max_registers" => {
                let bound = parse_bound(input, errors, "a thread has at most 255 registers", 255)?;
                self.max_registers = argument(word, bound);
            }
            "track" => self.track = argument(word, parse_track(input, errors)?),
            "recorder" => self.recorder = argument(word, Some(input.parse()?)),
            "enabled" => self.enabled = argument(word, Some(input.parse()?)),
            "value" => self.value = argument(word, Some(input.parse()?)),
            "every" => self.every = argument(word, parse_cycles(input, errors)?),
            // Flags, which were handled above.
            _ => {}
        }
        Ok(())
    }
}

fn argument<T>(key: Ident, value: Option<T>) -> Option<Argument<T>> {
    value.map(|value| Argument { key, value })
}

fn parse_string(
    input: ParseStream,
    errors: &mut Errors,
    what: &str,
) -> syn::Result<Option<LitStr>> {
    let value: Expr = input.parse()?;
    Ok(match &value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
            if text.value().is_empty() {
                errors.on(text, "the string must not be empty");
            }
            Some(text.clone())
        }
        _ => {
            errors.on(&value, what);
            None
        }
    })
}

fn parse_clock(input: ParseStream, errors: &mut Errors) -> syn::Result<Option<Clock>> {
    let word = Ident::parse_any(input).map_err(|error| {
        syn::Error::new(error.span(), "expected a clock: `cycles` or `globaltimer`")
    })?;
    Ok(match word.to_string().as_str() {
        "cycles" => Some(Clock::Cycles),
        "globaltimer" => Some(Clock::GlobalTimer),
        other => {
            let message = format!("unknown clock `{other}`; expected `cycles` or `globaltimer`");
            errors.on(&word, message);
            None
        }
    })
}

fn parse_buffer(input: ParseStream, errors: &mut Errors) -> syn::Result<Option<Buffer>> {
    let word = Ident::parse_any(input)
        .map_err(|error| syn::Error::new(error.span(), "expected a buffer: `global` or `host`"))?;
    Ok(match word.to_string().as_str() {
        "global" => Some(Buffer::Global),
        "host" => Some(Buffer::Host),
        "shared" => {
            errors.on(
                &word,
                "there is no `buffer = shared`: a ring in shared memory was measured to win nothing over \
                 global memory once it is copied out, and it would take shared memory from the kernel; \
                 expected `global`, the default, or `host`",
            );
            None
        }
        other => {
            errors.on(&word, format!("unknown buffer `{other}`; expected `global` or `host`"));
            None
        }
    })
}

fn whole_number(literal: &Lit) -> Option<u64> {
    match literal {
        Lit::Int(number) => number.base10_parse().ok(),
        _ => None,
    }
}

fn parse_bound(
    input: ParseStream,
    errors: &mut Errors,
    limit: &str,
    max: u32,
) -> syn::Result<Option<Expr>> {
    let value: Expr = input.parse()?;
    if let Expr::Lit(ExprLit { lit, .. }) = &value {
        match whole_number(lit) {
            None => errors.on(&value, "a launch bound is a constant of type u32"),
            Some(0) => errors.on(&value, "a launch bound is at least 1"),
            Some(number) if number > u64::from(max) => errors.on(&value, limit),
            Some(_) => return Ok(Some(value)),
        }
        return Ok(None);
    }
    Ok(Some(value))
}

/// The largest number of a track, `profiler_wire::record::TRACK_MAX`.
const TRACK_MAX: u64 = 16_777_213;

fn parse_track(input: ParseStream, errors: &mut Errors) -> syn::Result<Option<Expr>> {
    let value: Expr = input.parse()?;
    if let Expr::Lit(ExprLit { lit, .. }) = &value
        && whole_number(lit).is_some_and(|number| number > TRACK_MAX)
    {
        errors.on(&value, format!("`track` is at most {TRACK_MAX}: a record has 24 bits for it"));
        return Ok(None);
    }
    Ok(Some(value))
}

/// A number of cycles that fits the lower half of the clock.
fn parse_cycles(input: ParseStream, errors: &mut Errors) -> syn::Result<Option<Expr>> {
    let value: Expr = input.parse()?;
    let Expr::Lit(ExprLit { lit, .. }) = &value else { return Ok(Some(value)) };
    match whole_number(lit) {
        None => errors.on(&value, "`every` is a number of cycles: `every = 200_000`"),
        Some(0) => errors.on(&value, "`every` is at least one cycle; leave it out for each time"),
        Some(number) if number > u64::from(u32::MAX) => errors.on(
            &value,
            "`every` is at most 4294967295 cycles, about two seconds: the kernel compares 32 bits of its \
             clock",
        ),
        Some(_) => return Ok(Some(value)),
    }
    Ok(None)
}

fn parse_pins(input: ParseStream, errors: &mut Errors) -> syn::Result<Option<Vec<Expr>>> {
    let value: Expr = input.parse()?;
    let pins: Vec<Expr> = match value {
        Expr::Tuple(tuple) => {
            if tuple.elems.is_empty() {
                errors.on(&tuple, "`pin` needs at least one variable: `pin = (a, b)`");
            }
            tuple.elems.into_iter().collect()
        }
        Expr::Paren(parens) => vec![*parens.expr],
        single => vec![single],
    };
    let count = pins.len();
    let places: Vec<_> = pins.into_iter().filter(|pin| is_place(pin, errors)).collect();
    Ok((count == places.len() && count > 0).then_some(places))
}

fn is_place(expr: &Expr, errors: &mut Errors) -> bool {
    let bare = without_parentheses(expr);
    let Some(part) = worked_out(bare) else { return true };
    if std::ptr::eq(part, bare) {
        errors.on(expr, "`pin` takes mutable variables: a copy of a value cannot hold it in place");
    } else {
        errors.on(
            part,
            "`pin` looks its place up three times, and this may be another one each time: bind it to a \
             variable first, `let element = &mut sums[index];`, and pin `*element`",
        );
    }
    false
}

/// The part of an expression that is computed: it is no variable, no field, no element at a literal index,
/// and no reference to one of these.
fn worked_out(expr: &Expr) -> Option<&Expr> {
    match without_parentheses(expr) {
        Expr::Path(_) => None,
        Expr::Field(field) => worked_out(&field.base),
        Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Deref(_)) => worked_out(&unary.expr),
        Expr::Index(element) => match without_parentheses(&element.index) {
            Expr::Lit(_) => worked_out(&element.expr),
            index => Some(index),
        },
        other => Some(other),
    }
}

fn without_parentheses(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(parens) => without_parentheses(&parens.expr),
        Expr::Group(group) => without_parentheses(&group.expr),
        other => other,
    }
}

/// A name that stands first in a macro.
pub(crate) enum Name {
    Literal(LitStr),
    /// `LIST[index]`.
    Listed {
        list: Path,
        index: Box<Expr>,
    },
}

/// Parses the name of `subject` and the comma after it. A mistake gives a placeholder, so that the rest of the
/// macro can still be checked.
pub(crate) fn parse_name(
    input: ParseStream,
    subject: &str,
    lists_allowed: bool,
    errors: &mut Errors,
) -> Name {
    let stand_in = || Name::Literal(LitStr::new("?", Span::call_site()));
    let or_list = if lists_allowed { ", or `LIST[index]` of a `profile_names!` list" } else { "" };
    if input.is_empty() {
        errors.at(input.span(), format!("{subject} needs a name: {subject}(\"load\")"));
        return stand_in();
    }
    if is_option(input) || input.peek(token::Brace) {
        let named = input.fork().call(Ident::parse_any).is_ok_and(|word| word == "name");
        if named {
            // The argument itself is refused, and says where the name belongs.
            return stand_in();
        }
        errors.at(
            input.span(),
            format!("the name of {subject} comes first: a string literal{or_list}"),
        );
        return stand_in();
    }
    let name = match input.parse::<Expr>() {
        Ok(Expr::Lit(ExprLit { lit: Lit::Str(name), .. })) => {
            if name.value().is_empty() {
                errors.on(&name, "the name must not be empty");
            }
            Name::Literal(name)
        }
        Ok(Expr::Index(expr)) if lists_allowed && matches!(*expr.expr, Expr::Path(_)) => {
            let Expr::Path(list) = *expr.expr else { return stand_in() };
            Name::Listed { list: list.path, index: expr.index }
        }
        Ok(other) => {
            errors.on(
                &other,
                format!(
                    "the name must be a string literal{or_list}: the kernel records only a number, \
                     and the name is kept for the host when the kernel is compiled"
                ),
            );
            stand_in()
        }
        Err(error) => {
            errors.absorb(error);
            skip_to_comma(input);
            stand_in()
        }
    };
    end_argument(input, errors);
    name
}

/// Whether `word = ..` comes next.
pub(crate) fn is_option(input: ParseStream) -> bool {
    input.peek(syn::Ident::peek_any) && input.peek2(Token![=]) && !input.peek2(Token![==])
}

/// The comma after an argument, or the end.
pub(crate) fn end_argument(input: ParseStream, errors: &mut Errors) {
    if input.is_empty() || input.parse::<Token![,]>().is_ok() {
        return;
    }
    errors.at(input.span(), "expected `,`");
    skip_to_comma(input);
    // Nothing but the comma that the line above stopped at.
    let _: syn::Result<Token![,]> = input.parse();
}

/// A block, if one comes next. `unsafe` and labels belong inside it.
fn parse_block(input: ParseStream, errors: &mut Errors) -> Option<Group> {
    if input.peek(token::Brace) {
        return input.parse().ok();
    }
    if input.peek(Token![unsafe]) && input.peek2(token::Brace) {
        errors.at(input.span(), "expected a block: put `unsafe { .. }` inside it");
        input.parse::<Token![unsafe]>().ok()?;
        let inner: Group = input.parse().ok()?;
        // SAFETY: the user wrote it, with this block; it only goes into another.
        let block = emit!(unsafe #inner);
        return Some(Group::new(Delimiter::Brace, block));
    }
    None
}

fn only_a_comma(input: ParseStream) -> bool {
    let rest = input.fork();
    rest.parse::<Token![,]>().is_ok() && rest.is_empty()
}

pub(crate) fn skip_to_comma(input: ParseStream) {
    while !input.is_empty() && !input.peek(Token![,]) {
        // The stream is not empty, so there is a token.
        let _: syn::Result<TokenTree> = input.parse();
    }
}

/// Runs a tolerant parser over tokens: it reports mistakes itself, and reads on.
pub(crate) fn parse_all<T>(
    tokens: TokenStream,
    errors: &mut Errors,
    parser: impl FnOnce(ParseStream, &mut Errors) -> T,
) -> Option<T> {
    let result = syn::parse::Parser::parse2(
        |input: ParseStream| {
            let parsed = parser(input, errors);
            // Leftover tokens were reported; syn would add a message of its own.
            input.parse::<TokenStream>()?;
            Ok(parsed)
        },
        unwrap_fragments(tokens),
    );
    result.map_err(|error| errors.absorb(error)).ok()
}

/// Removes the invisible delimiters of `macro_rules!` fragments that are a single token or group, such as
/// `$name:literal` and `$body:block`. Longer fragments keep them: they hold `$a:expr` together. Code in braces
/// is left alone.
pub(crate) fn unwrap_fragments(tokens: TokenStream) -> TokenStream {
    let unwrap = |token| match token {
        TokenTree::Group(group) => {
            if group.delimiter() == Delimiter::Brace {
                return TokenTree::Group(group);
            }
            let inner = unwrap_fragments(group.stream());
            let mut single = inner.clone().into_iter();
            if let (Delimiter::None, Some(token), None) =
                (group.delimiter(), single.next(), single.next())
            {
                return token;
            }
            let mut unwrapped = Group::new(group.delimiter(), inner);
            unwrapped.set_span(group.span());
            TokenTree::Group(unwrapped)
        }
        other => other,
    };
    tokens.into_iter().map(unwrap).collect()
}

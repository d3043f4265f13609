//! `entries`: what the kernels of a Rust file are: modules, entries, their parameters and generics, and what of them is
//! refused. Nothing is compiled.

use crate::policy;
use crate::rpc::{self, Failure, COMPILE_FAILED, INTERNAL};
use proc_macro2::Span;
use serde_json::{json, Value};
use std::collections::HashMap;
use syn::spanned::Spanned;

/// Nested brackets are read by recursion.
const STACK_BYTES: usize = 256 << 20;
/// Deeper nesting than this no kernel has.
const MOST_NESTED: usize = 128;

fn place(span: Span) -> Value {
    let (start, end) = (span.start(), span.end());
    json!({"line": start.line, "column": start.column, "end_line": end.line, "end_column": end.column})
}

fn is_marked(attributes: &[syn::Attribute], name: &str) -> bool {
    attributes.iter().any(|attribute| {
        let last = attribute.path().segments.last();
        last.is_some_and(|segment| segment.ident == name)
    })
}

/// The deepest nesting of brackets, and where it is too deep.
fn too_deep(stream: proc_macro2::TokenStream) -> Option<Span> {
    let mut waiting = vec![stream.into_iter()];
    while let Some(tokens) = waiting.last_mut() {
        match tokens.next() {
            None => {
                waiting.pop();
            }
            Some(proc_macro2::TokenTree::Group(group)) => {
                if waiting.len() > MOST_NESTED {
                    return Some(group.span_open());
                }
                waiting.push(group.stream().into_iter());
            }
            Some(_) => {}
        }
    }
    None
}

type Aliases<'a> = HashMap<String, &'a syn::Type>;

/// An extent: a number, a name, or `name[index]`; null for what is none of them.
fn extent(expression: &syn::Expr) -> Value {
    match expression {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Int(number),
            ..
        }) => number
            .base10_parse::<i64>()
            .map_or(Value::Null, |n| json!(n)),
        syn::Expr::Unary(unary) if matches!(unary.op, syn::UnOp::Neg(_)) => {
            match extent(&unary.expr) {
                Value::Number(number) => number.as_i64().map_or(Value::Null, |n| json!(-n)),
                _ => Value::Null,
            }
        }
        syn::Expr::Path(path) => path
            .path
            .get_ident()
            .map_or(Value::Null, |name| json!(name.to_string())),
        syn::Expr::Index(index) => match (extent(&index.expr), extent(&index.index)) {
            (Value::String(name), Value::Number(at)) => json!({"array": name, "index": at}),
            _ => Value::Null,
        },
        syn::Expr::Paren(inner) => extent(&inner.expr),
        syn::Expr::Group(inner) => extent(&inner.expr),
        syn::Expr::Block(block) => match block.block.stmts.as_slice() {
            [syn::Stmt::Expr(only, None)] => extent(only),
            _ => Value::Null,
        },
        _ => Value::Null,
    }
}

/// `{ [a, b] }` as a list; `S` or `{ S }` as a name; null for anything else.
fn shape(argument: &syn::GenericArgument) -> Value {
    fn of_expression(expression: &syn::Expr) -> Value {
        match expression {
            syn::Expr::Array(array) => Value::Array(array.elems.iter().map(extent).collect()),
            syn::Expr::Block(block) => match block.block.stmts.as_slice() {
                [syn::Stmt::Expr(only, None)] => of_expression(only),
                _ => Value::Null,
            },
            syn::Expr::Path(path) => path
                .path
                .get_ident()
                .map_or(Value::Null, |name| json!(name.to_string())),
            _ => Value::Null,
        }
    }
    match argument {
        syn::GenericArgument::Const(expression) => of_expression(expression),
        syn::GenericArgument::Type(syn::Type::Path(path)) => path
            .path
            .get_ident()
            .map_or(Value::Null, |name| json!(name.to_string())),
        _ => Value::Null,
    }
}

fn name_of(kind: &syn::Type) -> Option<String> {
    match kind {
        syn::Type::Path(path) if path.qself.is_none() => {
            let last = path.path.segments.last()?;
            last.arguments.is_none().then(|| last.ident.to_string())
        }
        syn::Type::Paren(inner) => name_of(&inner.elem),
        syn::Type::Group(inner) => name_of(&inner.elem),
        _ => None,
    }
}

fn other() -> Value {
    json!({"kind": "other"})
}

/// `Tensor<E, S>` or `MappedPartitionMut<E, S, M>`; `None` for another type.
fn generic(kind: &syn::Type) -> Option<(String, Vec<&syn::GenericArgument>)> {
    let syn::Type::Path(path) = kind else {
        return None;
    };
    let last = path.path.segments.last()?;
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    Some((last.ident.to_string(), arguments.args.iter().collect()))
}

fn element(argument: &syn::GenericArgument) -> Value {
    match argument {
        syn::GenericArgument::Type(kind) => json!(name_of(kind)),
        _ => Value::Null,
    }
}

fn parameter_kind(kind: &syn::Type, aliases: &Aliases) -> Value {
    match kind {
        syn::Type::Reference(reference) => {
            let inner = resolved(&reference.elem, aliases);
            let name = if reference.mutability.is_some() {
                "tensor_mut"
            } else {
                "tensor"
            };
            match generic(inner) {
                Some((head, arguments)) if head == "Tensor" && arguments.len() == 2 => {
                    json!({"kind": name, "dtype": element(arguments[0]), "shape": shape(arguments[1])})
                }
                _ => other(),
            }
        }
        syn::Type::Ptr(pointer) => {
            json!({"kind": "pointer", "dtype": name_of(&pointer.elem), "mutable": pointer.mutability.is_some()})
        }
        syn::Type::Paren(inner) => parameter_kind(&inner.elem, aliases),
        _ => match generic(kind) {
            Some((head, arguments)) if head == "MappedPartitionMut" && arguments.len() == 3 => {
                json!({
                    "kind": "mapped", "dtype": element(arguments[0]), "shape": shape(arguments[1]), "map": shape(arguments[2])
                })
            }
            Some(_) => other(),
            None => {
                name_of(kind).map_or_else(other, |name| json!({"kind": "scalar", "dtype": name}))
            }
        },
    }
}

fn resolved<'a>(kind: &'a syn::Type, aliases: &Aliases<'a>) -> &'a syn::Type {
    let mut found = kind;
    for _ in 0..8 {
        match name_of(found).and_then(|name| aliases.get(&name).copied()) {
            Some(next) => found = next,
            None => break,
        }
    }
    found
}

fn parameter(input: &syn::FnArg, aliases: &Aliases) -> Value {
    let syn::FnArg::Typed(typed) = input else {
        return json!({"name": "self", "kind": "other", "place": place(input.span())});
    };
    let name = match &*typed.pat {
        syn::Pat::Ident(name) => name.ident.to_string(),
        _ => String::from("_"),
    };
    let mut found = parameter_kind(resolved(&typed.ty, aliases), aliases);
    found["name"] = json!(name);
    found["place"] = place(input.span());
    found
}

fn generic_parameter(parameter: &syn::GenericParam) -> Value {
    match parameter {
        syn::GenericParam::Type(kind) => json!({"name": kind.ident.to_string(), "kind": "type"}),
        syn::GenericParam::Const(constant) => {
            let name = constant.ident.to_string();
            match &constant.ty {
                syn::Type::Array(array) => {
                    json!({"name": name, "kind": "array", "rank": extent(&array.len), "type": name_of(&array.elem)})
                }
                other => json!({"name": name, "kind": "const", "type": name_of(other)}),
            }
        }
        syn::GenericParam::Lifetime(lifetime) => {
            json!({"name": lifetime.lifetime.to_string(), "kind": "lifetime"})
        }
    }
}

/// Counts `unsafe` blocks and functions.
#[derive(Default)]
struct Unsafe(usize);

impl<'ast> syn::visit::Visit<'ast> for Unsafe {
    fn visit_expr_unsafe(&mut self, found: &'ast syn::ExprUnsafe) {
        self.0 += 1;
        syn::visit::visit_expr_unsafe(self, found);
    }
}

fn entry(function: &syn::ItemFn, aliases: &Aliases) -> Value {
    json!({
        "name": function.sig.ident.to_string(),
        "place": place(function.sig.ident.span()),
        "span": place(function.span()),
        "unsafe": function.sig.unsafety.is_some(),
        "generics": function.sig.generics.params.iter().map(generic_parameter).collect::<Vec<_>>(),
        "parameters": function.sig.inputs.iter().map(|input| parameter(input, aliases)).collect::<Vec<_>>(),
    })
}

fn module(module: &syn::ItemMod) -> Value {
    let items = || module.content.iter().flat_map(|(_, items)| items);
    let aliases: Aliases = items()
        .filter_map(|item| match item {
            syn::Item::Type(alias) if alias.generics.params.is_empty() => {
                Some((alias.ident.to_string(), &*alias.ty))
            }
            _ => None,
        })
        .collect();
    let constants: serde_json::Map<String, Value> = items()
        .filter_map(|item| match item {
            syn::Item::Const(constant) => {
                Some((constant.ident.to_string(), extent(&constant.expr)))
            }
            _ => None,
        })
        .collect();
    let entries: Vec<Value> = items()
        .filter_map(|item| match item {
            syn::Item::Fn(function) if is_marked(&function.attrs, "entry") => {
                Some(entry(function, &aliases))
            }
            _ => None,
        })
        .collect();
    let mut blocks = Unsafe::default();
    syn::visit::Visit::visit_item_mod(&mut blocks, module);
    json!({
        "name": module.ident.to_string(),
        "span": place(module.span()),
        "entries": entries,
        "constants": constants,
        "unsafe_blocks": blocks.0,
        "refused": policy::refused(module).iter().map(policy::Refused::to_json).collect::<Vec<_>>(),
    })
}

fn failure(error: &syn::Error) -> Failure {
    let start = error.span().start();
    Failure::new(COMPILE_FAILED, error.to_string()).at(start.line, start.column)
}

fn read(text: &str) -> Result<Value, Failure> {
    let stream: proc_macro2::TokenStream = syn::parse_str(text).map_err(|error| failure(&error))?;
    if let Some(span) = too_deep(stream.clone()) {
        let start = span.start();
        return Err(Failure::new(
            COMPILE_FAILED,
            format!("brackets are nested more than {MOST_NESTED} deep"),
        )
        .at(start.line, start.column));
    }
    let file: syn::File = syn::parse2(stream).map_err(|error| failure(&error))?;
    let mut modules = Vec::new();
    let mut uses = Vec::new();
    for item in &file.items {
        match item {
            syn::Item::Mod(found)
                if is_marked(&found.attrs, "module") && found.content.is_some() =>
            {
                modules.push(module(found));
            }
            syn::Item::Use(found) if policy::is_of_cutile(found) => uses.push(place(found.span())),
            _ => {}
        }
    }
    Ok(json!({"modules": modules, "uses": uses}))
}

/// `{text}` to `{modules, uses}`. Lines count from 1, columns from 0 in characters.
pub fn entries(params: &Value) -> Result<Value, Failure> {
    let text = rpc::text(params, "text")?.to_string();
    let thread = std::thread::Builder::new()
        .name("entries".to_string())
        .stack_size(STACK_BYTES)
        .spawn(move || read(&text))
        .map_err(|error| Failure::new(INTERNAL, format!("no thread: {error}")))?;
    thread.join().unwrap_or_else(|_| {
        Err(Failure::new(
            COMPILE_FAILED,
            "the reader of Rust gave up on this text",
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_their_kinds() {
        let text = "use cutile::prelude::*;
fn main() {}
#[cutile::module]
mod k {
    use cutile::core::*;
    const W: i32 = 64;
    type Rows = Tensor<f16, { [-1, W] }>;
    #[cutile::entry]
    unsafe fn f<E: ElementType, const N: i32, const S: [i32; 2]>(
        z: &mut Tensor<E, { [1, N] }>, x: &Rows, mut c: MappedPartitionMut<f32, S, { [8, 1] }>, p: *mut f32, n: i32,
    ) {}
}
";
        let found = entries(&json!({"text": text})).unwrap();
        let module = &found["modules"][0];
        assert_eq!(module["constants"]["W"], 64);
        let entry = &module["entries"][0];
        let parameters = entry["parameters"].as_array().unwrap();
        let kinds: Vec<&str> = parameters
            .iter()
            .map(|p| p["kind"].as_str().unwrap())
            .collect();
        assert_eq!(
            kinds,
            ["tensor_mut", "tensor", "mapped", "pointer", "scalar"]
        );
        assert_eq!(parameters[0]["shape"], json!([1, "N"]));
        assert_eq!(parameters[1]["shape"], json!([-1, "W"]));
        assert_eq!(parameters[1]["dtype"], "f16");
        assert_eq!(parameters[2]["shape"], "S");
        assert_eq!(parameters[2]["map"], json!([8, 1]));
        assert_eq!(
            entry["generics"][2],
            json!({"name": "S", "kind": "array", "rank": 2, "type": "i32"})
        );
        assert_eq!(found["uses"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn deep_nesting_is_refused() {
        let text = format!(
            "mod k {{ const X: i32 = {}1{}; }}",
            "(".repeat(5000),
            ")".repeat(5000)
        );
        assert!(entries(&json!({"text": text}))
            .unwrap_err()
            .message
            .contains("nested"));
    }
}

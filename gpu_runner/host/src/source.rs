//! Kernel text to the JIT's module: what `#[cutile::module]` does at compile time, done at run time.

use crate::rpc::{Failure, COMPILE_FAILED};
use cutile::cutile_compiler::ast::{Module, SpanBase};
use std::collections::HashSet;
use std::sync::Mutex;

/// The file name that locations carry.
pub const FILE: &str = "kernel.rs";

/// Module names live as long as the process, each once: the JIT wants `&'static str`.
fn intern(name: &str) -> &'static str {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut guard = NAMES
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let names = guard.get_or_insert_with(HashSet::new);
    if let Some(known) = names.get(name) {
        return known;
    }
    let leaked: &'static str = Box::leak(name.to_string().into_boxed_str());
    names.insert(leaked);
    leaked
}

fn parse_error(error: &syn::Error) -> Failure {
    let start = error.span().start();
    Failure::new(COMPILE_FAILED, error.to_string()).at(start.line, start.column)
}

/// Finds the module `wanted` (or the only one) in `text` and drops its `#[cutile::module]` attribute.
/// Lines and columns of the text are kept.
pub fn parse(text: &str, wanted: Option<&str>) -> Result<syn::ItemMod, Failure> {
    let file = syn::parse_file(text).map_err(|error| parse_error(&error))?;
    let mut modules: Vec<syn::ItemMod> = file
        .items
        .into_iter()
        .filter_map(|item| match item {
            syn::Item::Mod(module) => Some(module),
            _ => None,
        })
        .filter(|module| wanted.is_none_or(|name| module.ident == name))
        .collect();
    if modules.len() != 1 {
        let what = wanted.unwrap_or("kernel");
        let count = modules.len();
        return Err(Failure::invalid(format!(
            "the text has {count} `{what}` modules, not one"
        )));
    }
    let mut module = modules.remove(0);
    module.attrs.retain(|attribute| {
        let last = attribute.path().segments.last();
        last.is_none_or(|segment| segment.ident != "module")
    });
    Ok(module)
}

/// The names of the parameters of `entry`, in order; empty when there is no such function.
pub fn parameter_names(module: &syn::ItemMod, entry: &str) -> Vec<String> {
    let items = module.content.iter().flat_map(|(_, items)| items);
    let function = items.filter_map(|item| match item {
        syn::Item::Fn(function) if function.sig.ident == entry => Some(function),
        _ => None,
    });
    let inputs = function.flat_map(|function| &function.sig.inputs);
    inputs
        .map(|input| match input {
            syn::FnArg::Typed(typed) => match &*typed.pat {
                syn::Pat::Ident(name) => name.ident.to_string(),
                _ => String::from("_"),
            },
            syn::FnArg::Receiver(_) => String::from("self"),
        })
        .collect()
}

/// The module in the JIT's own form.
pub fn to_ast(module: syn::ItemMod) -> Module {
    let name = intern(&module.ident.to_string());
    let mut ast = Module::with_span_base(name, module, SpanBase::new(FILE.to_string(), 1, 0));
    ast.set_absolute_path(format!("ferrotile::{name}"));
    ast
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "// A kernel.\n#[cutile::module]\nmod k {\n    fn f(x: i32, mut y: f32) {}\n}\n";

    #[test]
    fn the_attribute_is_dropped() {
        let module = parse(TEXT, None).unwrap();
        assert!(module.attrs.is_empty());
        assert_eq!(module.ident, "k");
        assert_eq!(parameter_names(&module, "f"), ["x", "y"]);
    }

    #[test]
    fn the_module_is_chosen_by_name() {
        let two = format!("{TEXT}mod other {{}}");
        assert!(parse(&two, None).is_err());
        assert_eq!(parse(&two, Some("other")).unwrap().ident, "other");
    }

    #[test]
    fn syntax_errors_have_a_place() {
        let failure = parse("mod k {\n  fn f(;) {}\n}", None).unwrap_err();
        assert_eq!(failure.place.unwrap().0, 2);
    }
}

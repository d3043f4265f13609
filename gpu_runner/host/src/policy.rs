//! What Rust that ferrotile did not write may hold. An allow-list: what is not named here no compiler gets to see.
//!
//! `rustc` expands macros, reads the files that some of them name, and evaluates constants; the JIT reads what a module
//! says of itself. So macros, attributes, items and roots of paths are those that kernels need.

use proc_macro2::Span;
use serde_json::{json, Value};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// Macros of `cutile`, which read nothing.
const MACROS: [&str; 5] = [
    "shape",
    "const_shape",
    "const_array",
    "cuda_tile_print",
    "cuda_tile_assert",
];
const ATTRIBUTES: [&str; 9] = [
    "doc", "allow", "expect", "warn", "deny", "inline", "must_use", "skip", "cold",
];
const DERIVES: [&str; 6] = ["Clone", "Copy", "Debug", "Default", "Eq", "PartialEq"];
/// What an entry may say of itself, and why it may not say the rest.
const OPTIONS: [&str; 3] = [
    "optimization_hints",
    "unchecked_accesses",
    "deny_in_kernel_checks",
];
const REFUSED_OPTIONS: [(&str, &str); 3] = [
    ("print_ir", "prints while it is compiled"),
    ("dump_mlir_dir", "writes files"),
    (
        "preconditions",
        "states facts that the compiler believes and a verification does not check",
    ),
];
/// Roots of paths that are not of the kernel's own module or of `cutile`.
const ROOTS: [&str; 12] = [
    "std",
    "alloc",
    "core",
    "crate",
    "super",
    "proc_macro",
    "test",
    "cutile_ir",
    "serde_json",
    "syn",
    "base64",
    "mimalloc",
];

/// Something that is refused: line from 1, column from 0.
pub struct Refused {
    line: usize,
    column: usize,
    words: String,
}

impl Refused {
    pub fn to_json(&self) -> Value {
        json!({"line": self.line, "column": self.column, "words": self.words})
    }
}

#[derive(Default)]
struct Reader {
    refused: Vec<Refused>,
    /// Within what `rustc` evaluates: a constant, the length of an array, a const argument.
    is_evaluated: bool,
}

impl Reader {
    fn refuse(&mut self, span: Span, words: impl Into<String>) {
        let start = span.start();
        self.refused.push(Refused {
            line: start.line,
            column: start.column,
            words: words.into(),
        });
    }

    fn evaluated(&mut self, visit: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.is_evaluated, true);
        visit(self);
        self.is_evaluated = before;
    }

    /// Lints that may be silenced: not the one that ends an evaluation without end.
    fn lints(&mut self, list: &syn::MetaList) {
        let parser = syn::punctuated::Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated;
        for lint in list.parse_args_with(parser).unwrap_or_default() {
            if last(lint.path()) == "long_running_const_eval" {
                self.refuse(lint.span(), "`allow(long_running_const_eval)`");
            }
        }
    }

    fn root(&mut self, name: &syn::Ident) {
        if ROOTS.iter().any(|root| name == root) {
            self.refuse(
                name.span(),
                format!("`{name}::` leaves the kernel's module: only `cutile` is at hand"),
            );
        }
    }

    fn use_root(&mut self, tree: &syn::UseTree) {
        match tree {
            syn::UseTree::Path(path) if path.ident == "cutile" || path.ident == "self" => {}
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.use_root(item)),
            syn::UseTree::Path(path) => {
                let name = &path.ident;
                self.refuse(
                    name.span(),
                    format!("`use {name}::...`: only `cutile` is at hand"),
                );
            }
            other => self.refuse(other.span(), "only what `cutile` has may be used"),
        }
    }

    fn entry_options(&mut self, list: &syn::MetaList) {
        let parser = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        let options = match list.parse_args_with(parser) {
            Ok(options) => options,
            Err(error) => {
                self.refuse(
                    error.span(),
                    format!("the options of an entry cannot be read: {error}"),
                );
                return;
            }
        };
        for option in &options {
            let named = match option {
                syn::Expr::Assign(assign) => &*assign.left,
                other => other,
            };
            let name = match named {
                syn::Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
                _ => None,
            };
            let name = name.unwrap_or_default();
            if OPTIONS.contains(&name.as_str()) {
                continue;
            }
            let why = REFUSED_OPTIONS.iter().find(|(known, _)| *known == name);
            let why = why.map_or("is not known", |(_, why)| why);
            self.refuse(option.span(), format!("entry option `{name}` {why}"));
        }
    }
}

fn last(path: &syn::Path) -> String {
    path.segments
        .last()
        .map(|segment| segment.ident.to_string())
        .unwrap_or_default()
}

fn dotted(path: &syn::Path) -> String {
    let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
    names.join("::")
}

/// What may stand in a constant: numbers and arithmetic. `rustc` would run loops and calls.
fn is_arithmetic(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Lit(_)
        | syn::Expr::Unary(_)
        | syn::Expr::Binary(_)
        | syn::Expr::Paren(_)
        | syn::Expr::Group(_)
        | syn::Expr::Path(_)
        | syn::Expr::Cast(_)
        | syn::Expr::Array(_)
        | syn::Expr::Repeat(_)
        | syn::Expr::Tuple(_)
        | syn::Expr::Index(_)
        | syn::Expr::Struct(_) => true,
        syn::Expr::Block(block) => {
            block.label.is_none()
                && matches!(block.block.stmts.as_slice(), [syn::Stmt::Expr(_, None)])
        }
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.evaluated(|reader| visit::visit_item_const(reader, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.evaluated(|reader| visit::visit_impl_item_const(reader, item));
    }

    fn visit_trait_item_const(&mut self, item: &'ast syn::TraitItemConst) {
        self.evaluated(|reader| visit::visit_trait_item_const(reader, item));
    }

    fn visit_generic_argument(&mut self, argument: &'ast syn::GenericArgument) {
        self.evaluated(|reader| visit::visit_generic_argument(reader, argument));
    }

    fn visit_type_array(&mut self, array: &'ast syn::TypeArray) {
        self.evaluated(|reader| visit::visit_type_array(reader, array));
    }

    fn visit_const_param(&mut self, parameter: &'ast syn::ConstParam) {
        self.evaluated(|reader| visit::visit_const_param(reader, parameter));
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        let (path, name) = (attribute.path(), last(attribute.path()));
        let own = matches!(
            dotted(path).as_str(),
            "cutile::module" | "module" | "cutile::entry" | "entry"
        );
        let known = ATTRIBUTES.contains(&name.as_str())
            && (path.segments.len() == 1 || dotted(path) == "rustfmt::skip");
        match (&attribute.meta, name.as_str()) {
            (syn::Meta::List(list), "entry") if own => self.entry_options(list),
            (syn::Meta::List(list), "module") if own && !list.tokens.is_empty() => {
                self.refuse(attribute.span(), "`module` takes no options here");
            }
            (syn::Meta::List(list), "allow" | "expect" | "warn") if known => self.lints(list),
            (syn::Meta::List(list), "derive") if path.segments.len() == 1 => {
                let parser =
                    syn::punctuated::Punctuated::<syn::Path, syn::Token![,]>::parse_terminated;
                let derives = list.parse_args_with(parser).unwrap_or_default();
                for derive in &derives {
                    if !DERIVES.contains(&dotted(derive).as_str()) {
                        self.refuse(derive.span(), format!("`derive({})`", dotted(derive)));
                    }
                }
            }
            // A value that is a macro call, as in `doc = include_str!(..)`, is expanded.
            (syn::Meta::NameValue(pair), _) if known => {
                if !matches!(pair.value, syn::Expr::Lit(_)) {
                    self.refuse(
                        pair.span(),
                        format!("the value of `{name}` is not a literal"),
                    );
                }
            }
            _ if own || known => {}
            _ => self.refuse(attribute.span(), format!("attribute `{}`", dotted(path))),
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let name = dotted(&call.path);
        if !MACROS.contains(&name.as_str()) {
            self.refuse(
                call.path.span(),
                format!("macro `{name}!`: kernels need those of `cutile` alone"),
            );
            return;
        }
        // Arguments are tokens: macros that stand in them are found by their `!`.
        let mut before: Option<proc_macro2::Ident> = None;
        let mut waiting = vec![call.tokens.clone().into_iter()];
        let mut called: Option<proc_macro2::Ident> = None;
        while let Some(stream) = waiting.last_mut() {
            let Some(token) = stream.next() else {
                waiting.pop();
                continue;
            };
            match token {
                proc_macro2::TokenTree::Ident(name) => {
                    self.root(&name);
                    before = Some(name);
                    called = None;
                }
                proc_macro2::TokenTree::Punct(punct) if punct.as_char() == '!' => {
                    called = before.take();
                }
                proc_macro2::TokenTree::Punct(punct) => {
                    if punct.as_char() == '#' {
                        self.refuse(punct.span(), "an attribute in a macro's arguments");
                    }
                    before = None;
                    called = None;
                }
                proc_macro2::TokenTree::Group(group) => {
                    if let Some(name) = called.take() {
                        if !MACROS.iter().any(|known| name == known) {
                            self.refuse(name.span(), format!("macro `{name}!`"));
                        }
                    }
                    before = None;
                    waiting.push(group.stream().into_iter());
                }
                proc_macro2::TokenTree::Literal(_) => {
                    before = None;
                    called = None;
                }
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let Some(colons) = &path.leading_colon {
            self.refuse(colons.span(), "a path that starts at another crate");
        }
        if path.segments.len() > 1 {
            self.root(&path.segments[0].ident);
        }
        visit::visit_path(self, path);
    }

    fn visit_item(&mut self, item: &'ast syn::Item) {
        let words = match item {
            syn::Item::Fn(_)
            | syn::Item::Const(_)
            | syn::Item::Struct(_)
            | syn::Item::Type(_)
            | syn::Item::Impl(_)
            | syn::Item::Trait(_) => {
                visit::visit_item(self, item);
                return;
            }
            syn::Item::Use(found) => {
                if let Some(colons) = &found.leading_colon {
                    self.refuse(colons.span(), "a path that starts at another crate");
                }
                self.use_root(&found.tree);
                visit::visit_item(self, item);
                return;
            }
            syn::Item::ExternCrate(_) => "`extern crate`",
            syn::Item::ForeignMod(_) => "an `extern` block",
            syn::Item::Macro(found) if found.mac.path.is_ident("macro_rules") => "`macro_rules!`",
            syn::Item::Macro(_) => "a macro call in place of an item",
            syn::Item::Mod(found) if found.content.is_none() => "`mod x;` reads another file",
            syn::Item::Mod(_) => "a module within the kernel's",
            syn::Item::Static(_) => {
                "`static`: memory that outlives a launch is no argument of the kernel"
            }
            syn::Item::Enum(_) => "an `enum`",
            syn::Item::Union(_) => "a `union`",
            syn::Item::TraitAlias(_) => "a trait alias",
            _ => "an item of another kind",
        };
        self.refuse(item.span(), words);
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        if let Some(abi) = &signature.abi {
            self.refuse(abi.span(), "a function of another ABI");
        }
        if let Some(asyncness) = &signature.asyncness {
            self.refuse(asyncness.span(), "an `async` function");
        }
        visit::visit_signature(self, signature);
    }

    fn visit_expr(&mut self, expression: &'ast syn::Expr) {
        if self.is_evaluated && !is_arithmetic(expression) {
            self.refuse(expression.span(), "more than arithmetic in a constant");
            return;
        }
        let words = match expression {
            syn::Expr::Async(_) | syn::Expr::Await(_) => "`async`",
            syn::Expr::Const(_) => "a `const` block",
            syn::Expr::RawAddr(_) => "a raw address",
            syn::Expr::Try(_) | syn::Expr::TryBlock(_) => "`?` or `try`",
            syn::Expr::Yield(_) => "`yield`",
            syn::Expr::Verbatim(_) => "an expression that cannot be read",
            syn::Expr::Infer(_) => "`_` in place of a value",
            _ => {
                visit::visit_expr(self, expression);
                return;
            }
        };
        self.refuse(expression.span(), words);
    }

    fn visit_type(&mut self, kind: &'ast syn::Type) {
        let words = match kind {
            syn::Type::Macro(_) => "a macro in place of a type",
            syn::Type::TraitObject(_) | syn::Type::ImplTrait(_) => "a trait in place of a type",
            syn::Type::BareFn(_) => "a function pointer",
            syn::Type::Verbatim(_) => "a type that cannot be read",
            _ => {
                visit::visit_type(self, kind);
                return;
            }
        };
        self.refuse(kind.span(), words);
    }
}

/// All that is refused of a kernel's module, in the order of the text.
pub fn refused(module: &syn::ItemMod) -> Vec<Refused> {
    let mut reader = Reader::default();
    module
        .attrs
        .iter()
        .for_each(|attribute| reader.visit_attribute(attribute));
    let items = module.content.iter().flat_map(|(_, items)| items);
    items.for_each(|item| reader.visit_item(item));
    reader
        .refused
        .sort_by_key(|found| (found.line, found.column));
    reader.refused
}

/// Whether a `use` beside the module may stay for the compilers: one of `cutile`.
pub fn is_of_cutile(found: &syn::ItemUse) -> bool {
    let mut reader = Reader::default();
    reader.visit_item_use(found);
    reader.use_root(&found.tree);
    found.leading_colon.is_none() && reader.refused.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(body: &str) -> Vec<String> {
        let module = syn::parse_str(&format!("mod k {{\n{body}\n}}")).unwrap();
        refused(&module)
            .into_iter()
            .map(|found| found.words)
            .collect()
    }

    #[test]
    fn what_kernels_need_is_allowed() {
        let body = "use cutile::core::*;
            const HALF: f32 = 1.0 / 2.0;
            const LIMITS: [i32; 2] = [-1, 1 << 4];
            const LOWEST: f32 = f32::NEG_INFINITY;
            /// Doubles.
            #[inline]
            fn twice<const N: i32>(t: Tile<f32, { [N] }>) -> Tile<f32, { [N] }> { t + t }
            #[cutile::entry(optimization_hints = (sm_90 = (occupancy = 2,),), unchecked_accesses)]
            unsafe fn k<const N: i32>(z: &mut Tensor<f32, { [N] }>) {
                for i in (0..4).step_by(2) { cuda_tile_assert!(i < 4, \"small\"); }
                z.store(twice(constant(1.0, shape![N])));
            }";
        assert!(words(body).is_empty(), "{:?}", words(body));
    }

    #[test]
    fn the_rest_is_refused() {
        for body in [
            "use std::fs;",
            "extern crate libc;",
            "mod other;",
            "macro_rules! m { () => {} }",
            "static X: i32 = 1;",
            "#[path = \"/etc/passwd\"] fn f() {}",
            "#[doc = include_str!(\"/etc/passwd\")] fn f() {}",
            "#[cfg(test)] fn f() {}",
            "const S: &str = include_str!(\"/etc/passwd\");",
            "fn f() { let x = env!(\"HOME\"); }",
            "fn f() { shape![include!(\"x\")]; }",
            "fn f() { std::process::exit(1); }",
            "fn f() { unsafe { core::arch::asm!(\"nop\") } }",
            "extern \"C\" { fn system(x: i32); }",
            "#[cutile::entry(dump_mlir_dir = \"/tmp\")] fn f() {}",
            "#[cutile::entry(preconditions = (dim(x, 0) == 4))] fn f() {}",
            "fn f() { ::std::process::exit(1); }",
            "const X: [u8; { include_bytes!(\"a\").len() }] = [0; 1];",
            "const X: i32 = { loop {} };",
            "const X: i32 = f();",
            "fn f(x: Tile<f32, { [{ loop {} }] }>) {}",
            "#[allow(long_running_const_eval)] fn f() {}",
        ] {
            assert!(!words(body).is_empty(), "{body}");
        }
    }
}

//! Launch checks as text for people and as terms for the host that must evaluate them.

use cutile::cuda_async::predicate::{Atom, LaunchCheck, Predicate, Term};
use serde_json::{json, Value};

fn parameter(names: &[String], index: usize) -> String {
    names
        .get(index)
        .cloned()
        .unwrap_or_else(|| format!("argument {index}"))
}

fn atom_text(atom: &Atom, names: &[String]) -> String {
    match atom {
        Atom::Dim { param, axis } => format!("{}.shape[{axis}]", parameter(names, *param)),
        Atom::ViewExtent { param, axis } => format!("{}.view[{axis}]", parameter(names, *param)),
        Atom::TileCount { param, axis, tile } => {
            format!("ceil({}.shape[{axis}] / {tile})", parameter(names, *param))
        }
        Atom::NumTileBlocks(axis) => format!("grid[{axis}]"),
        Atom::TileBlockId(axis) => format!("block[{axis}]"),
        Atom::Iv(id) => format!("iv{id}"),
    }
}

fn atom_json(atom: &Atom) -> Value {
    match atom {
        Atom::Dim { param, axis } => json!({"kind": "shape", "parameter": param, "axis": axis}),
        Atom::ViewExtent { param, axis } => {
            json!({"kind": "view", "parameter": param, "axis": axis})
        }
        Atom::TileCount { param, axis, tile } => {
            json!({"kind": "tiles", "parameter": param, "axis": axis, "tile": tile})
        }
        Atom::NumTileBlocks(axis) => json!({"kind": "grid", "axis": axis}),
        Atom::TileBlockId(axis) => json!({"kind": "block", "axis": axis}),
        Atom::Iv(id) => json!({"kind": "iv", "id": id}),
    }
}

fn term_text(term: &Term, names: &[String]) -> String {
    let mut out = String::new();
    let constant = term.constant_part();
    let mut parts: Vec<(i64, String)> = term
        .coeffs()
        .iter()
        .map(|(atom, coefficient)| (*coefficient, atom_text(atom, names)))
        .collect();
    if constant != 0 || parts.is_empty() {
        parts.push((constant, String::new()));
    }
    for (index, (coefficient, atom)) in parts.iter().enumerate() {
        let sign = match (index, *coefficient < 0) {
            (0, true) => "-",
            (0, false) => "",
            (_, true) => " - ",
            (_, false) => " + ",
        };
        out.push_str(sign);
        match (coefficient.unsigned_abs(), atom.is_empty()) {
            (size, true) => out.push_str(&size.to_string()),
            (1, false) => out.push_str(atom),
            (size, false) => out.push_str(&format!("{size}*{atom}")),
        }
    }
    out
}

fn term_json(term: &Term) -> Value {
    let atoms: Vec<Value> = term
        .coeffs()
        .iter()
        .map(|(atom, coefficient)| json!({"coefficient": coefficient, "atom": atom_json(atom)}))
        .collect();
    json!({"atoms": atoms, "constant": term.constant_part()})
}

/// `{predicate, relation, term, divisor?, cause}`: `term relation 0`, or `term % divisor == 0` for `divides`.
pub fn to_json(check: &LaunchCheck, names: &[String]) -> Value {
    let (relation, term, divisor) = match &check.predicate {
        Predicate::Zero(term) => ("==", term, None),
        Predicate::Nonzero(term) => ("!=", term, None),
        Predicate::Positive(term) => (">", term, None),
        Predicate::DivisibleBy { term, divisor } => ("divides", term, Some(*divisor)),
    };
    let text = term_text(term, names);
    let predicate = match divisor {
        Some(divisor) => format!("({text}) % {divisor} == 0"),
        None => format!("{text} {relation} 0"),
    };
    json!({
        "predicate": predicate,
        "relation": relation,
        "term": term_json(term),
        "divisor": divisor,
        "cause": check.cause,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predicates_read_like_arithmetic() {
        let names = vec!["x".to_string(), "z".to_string()];
        let left = Term::atom(Atom::Dim { param: 0, axis: 0 });
        let right = Term::affine(Atom::NumTileBlocks(0), 128, 3);
        let check = LaunchCheck {
            predicate: Predicate::lt(&right, &left).unwrap(),
            cause: "because".to_string(),
        };
        let json = to_json(&check, &names);
        assert_eq!(json["predicate"], "x.shape[0] - 128*grid[0] - 3 > 0");
        assert_eq!(json["term"]["constant"], -3);
    }
}

"""Polynomials over terms, as maps from monomials (tuples of terms, by number) to coefficients."""

from __future__ import annotations

from ferrotile_runner.tileir.terms import Term

Monomial = tuple[Term, ...]
Polynomial = dict[Monomial, int]


def decode(term: Term) -> Polynomial:
    """The polynomial of a `poly` term."""
    found: Polynomial = {}
    if isinstance(term.data, tuple):
        for places, coefficient in term.data:
            found[tuple(term.args[place] for place in places)] = coefficient
    return found


def without(product: Monomial, atom: Term) -> Monomial:
    """A product without one of its factors."""
    at = product.index(atom)
    return product[:at] + product[at + 1 :]


def monomial(*atoms: Term) -> Monomial:
    """A product of atoms in its one order."""
    return tuple(sorted(atoms, key=lambda atom: atom.number))


def total(p: Polynomial, q: Polynomial, sign: int) -> Polynomial:
    """p + sign * q, zeros kept."""
    result = dict(p)
    for m, c in q.items():
        result[m] = result.get(m, 0) + sign * c
    return result


def times(p: Polynomial, q: Polynomial) -> Polynomial:
    """p * q."""
    result: Polynomial = {}
    for m, c in p.items():
        for n, d in q.items():
            key = monomial(*m, *n)
            result[key] = result.get(key, 0) + c * d
    return result

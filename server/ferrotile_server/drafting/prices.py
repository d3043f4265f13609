"""What tokens cost, where the user says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from ferrotile_server.drafting.model import Usage


class Prices(Struct, frozen=True):
    """The user's own prices, in any currency, for a million tokens of prompts and of answers."""

    prompt: float
    answer: float

    def of(self, usage: Usage) -> float:
        return (usage.prompt * self.prompt + usage.answer * self.answer) / 1e6

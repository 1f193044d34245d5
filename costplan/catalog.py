"""The price folder: cards and providers, read, checked, and priced on a day."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from costplan.errors import InputError, nearest
from costplan.records.cards import Card, CardFile, UnstatedCard
from costplan.records.offers import Offer, OfferEntry, OwnTerms, ProviderFile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from costplan.records.providers import Provider

R = TypeVar("R", CardFile, ProviderFile)

COMPILED_NAME = "compiled.json"
"""Everything in the YAML, read and checked, with the hash of what it was made from."""
CARDS_NAME = "gpus.yaml"
PROVIDERS_NAME = "providers"

_MAKERS = re.compile(r"^(nvidia|amd|geforce|tesla|instinct|radeon|\s|[-_])+")


@dataclass(frozen=True)
class Catalog:
    """Cards, providers and offers of one price folder."""

    cards: dict[str, Card]
    unstated: dict[str, UnstatedCard]
    files: tuple[ProviderFile, ...]

    @cached_property
    def providers(self) -> dict[str, Provider]:
        """Providers by key."""
        return {file.provider.key: file.provider for file in self.files}

    @cached_property
    def entries(self) -> tuple[OfferEntry, ...]:
        """Every offer of every provider, by sku."""
        return tuple(sorted((e for f in self.files for e in f.offers), key=lambda e: e.sku))

    @cached_property
    def _card_names(self) -> dict[str, str]:
        names: dict[str, str] = {}
        cards: list[Card | UnstatedCard] = [*self.cards.values(), *self.unstated.values()]
        for card in cards:
            for name in (card.key, *card.aliases):
                names[_plain_name(name)] = card.key
        for real in self.cards.values():
            if real.driver_name is not None:
                names.setdefault(_plain_name(real.driver_name), real.key)
        return names

    def card_key(self, name: str) -> str:
        """Return the key of the card that markets or drivers call `name`.

        Raises:
            InputError: No card has that name.
        """
        plain = _plain_name(name)
        key = self._card_names.get(plain) or self._card_names.get(f"rtx{plain}")
        if key is None:
            hint = nearest(name, [*self.cards, *self.unstated])
            raise InputError(
                f"unknown card {name!r}", hint=hint or "the cards are listed in pricing/gpus.yaml"
            )
        return key

    def variants(self, key: str) -> tuple[Card, ...]:
        """Return the cards that `key` may be: one, or several where the name leaves it open."""
        if key in self.cards:
            return (self.cards[key],)
        return tuple(self.cards[variant] for variant in self.unstated[key].variants)

    def keys_of(self, name: str) -> set[str]:
        """Return the card keys that a filter on `name` lets through.

        A name that several cards share lets each of them through, and itself.

        Raises:
            InputError: No card has that name.
        """
        key = self.card_key(name)
        variants = {card.key for card in self.variants(key)}
        shared = {k for k, card in self.unstated.items() if set(card.variants) <= variants}
        return {key, *variants, *(shared if len(variants) > 1 else ())}

    def with_provider(self, provider: Provider) -> Catalog:
        """Return this catalog with one provider more, which has no offers."""
        return Catalog(self.cards, self.unstated, (*self.files, ProviderFile(provider=provider)))

    def provider_key(self, name: str) -> str:
        """Return the key of the provider called `name`.

        Raises:
            InputError: No provider has that name.
        """
        wanted = name.strip().lower()
        for provider in self.providers.values():
            names = (provider.key, provider.name, *provider.aliases)
            if wanted in (name.lower() for name in names):
                return provider.key
        raise InputError(
            f"unknown provider {name!r}",
            hint=nearest(name, self.providers) or f"known: {', '.join(sorted(self.providers))}",
        )

    def offers_on(self, day: date) -> list[Offer]:
        """Return every offer that has a price on `day`, at that price, sorted by sku."""
        found = (_priced(entry, day) for entry in self.entries)
        return [offer for offer in found if offer is not None]


def _plain_name(name: str) -> str:
    """Return `name` without maker, case, blanks and punctuation."""
    return re.sub(r"[^a-z0-9]", "", _MAKERS.sub("", name.casefold()))


_OWN = tuple(OwnTerms.model_fields)


def _priced(entry: OfferEntry, day: date) -> Offer | None:
    price = entry.price_on(day)
    if price is None:
        return None
    # The entry was checked when the folder was read; checking the same values again costs time.
    return Offer.model_construct(
        sku=entry.sku,
        provider=entry.sku.split("/", 1)[0],
        card=entry.card,
        count=entry.count,
        usd_per_hour=price.usd_per_hour,
        spot_usd_per_hour=price.spot_usd_per_hour,
        quoted_disk_gb=price.quoted_disk_gb,
        checked=min(price.checked or price.since, day),
        date_precision=price.date_precision,
        source=price.source,
        **{name: getattr(entry, name) for name in _OWN},
    )


def folder(given: Path | None = None) -> Path:
    """Return the price folder: given, `COSTPLAN_PRICING`, in the wheel, or beside a checkout.

    Raises:
        InputError: The given folder is none.
    """
    variable = os.environ.get("COSTPLAN_PRICING")
    named = given or (Path(variable) if variable else None)
    if named is not None:
        try:
            found = named.is_dir()
        except OSError as err:
            raise InputError(f"price folder {named}: {err.strerror or err}") from None
        if not found:
            raise InputError(f"price folder {named} is not a directory")
        return named
    inside = Path(__file__).parent / "pricing"
    return inside if inside.is_dir() else Path(__file__).parents[1] / "pricing"


def load(pricing: Path) -> Catalog:
    """Return the catalog of the folder `pricing`, compiled where that is fresh.

    Raises:
        InputError: A file is missing or broken; the message names file and line.
    """
    return _load_compiled(pricing) or load_yaml(pricing)


def _load_compiled(pricing: Path) -> Catalog | None:
    """Return the compiled catalog; None where it is missing, stale, or of another version."""
    try:
        data = json.loads((pricing / COMPILED_NAME).read_bytes())
        if data["made_from"] != fingerprint(pricing):
            return None
        return _assemble(
            CardFile.model_validate(data["cards"]),
            [ProviderFile.model_validate(file) for file in data["providers"]],
        )
    except (
        OSError,
        ValueError,
        TypeError,
        LookupError,
        RecursionError,
    ):  # pydantic's errors are ValueErrors
        return None


def load_yaml(pricing: Path) -> Catalog:
    """Return the catalog of the YAML in `pricing`, whatever has been compiled.

    Raises:
        InputError: A file is missing or broken; the message names file and line.
    """
    cards = _read(CardFile, pricing / CARDS_NAME)
    paths = sorted((pricing / PROVIDERS_NAME).glob("*.yaml"))
    if not paths:
        raise InputError(f"price folder {pricing} has no {PROVIDERS_NAME}/*.yaml")
    catalog = _assemble(cards, [read_provider(path) for path in paths])
    for path, file in zip(paths, catalog.files, strict=True):
        named = [entry.card for entry in file.offers] + [r.card for r in file.references if r.card]
        for card in named:
            try:
                key = catalog.card_key(card)
            except InputError as err:
                raise InputError(f"{path}: {err}", hint=err.hint) from None
            if key != card:
                raise InputError(f"{path}: {card!r} is not a card key", hint=f"write {key}")
    return catalog


def read_provider(path: Path) -> ProviderFile:
    """Return one provider file, whose name must be its key.

    Raises:
        InputError: The file is broken; the message names file and line.
    """
    file = _read(ProviderFile, path)
    if file.provider.key != path.stem:
        raise InputError(f"{path}: key {file.provider.key!r} is not the name of its file")
    return file


def _read(model: type[R], path: Path) -> R:
    # Only here: a fresh compiled catalog spares the price of importing yaml.
    from costplan import yamlfile

    text = yamlfile.read_text(path)
    return yamlfile.build(model, yamlfile.parse(text, where=str(path)), where=str(path), text=text)


def _assemble(cards: CardFile, files: Iterable[ProviderFile]) -> Catalog:
    return Catalog(
        cards={card.key: card for card in cards.cards},
        unstated={card.key: card for card in cards.unstated},
        files=tuple(files),
    )


def fingerprint(pricing: Path) -> str:
    """Return a hash of every YAML file in the price folder and of their names."""
    digest = hashlib.sha256()
    for path in [pricing / CARDS_NAME, *sorted((pricing / PROVIDERS_NAME).glob("*.yaml"))]:
        if path.is_file():
            digest.update(f"{path.name}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def compiled_text(pricing: Path) -> str:
    """Return what `compiled.json` must hold for the YAML in `pricing`."""
    catalog = load_yaml(pricing)
    cards = CardFile(cards=tuple(catalog.cards.values()), unstated=tuple(catalog.unstated.values()))
    body = {
        "made_from": fingerprint(pricing),
        "cards": cards.model_dump(mode="json", exclude_unset=True),
        "providers": [f.model_dump(mode="json", exclude_unset=True) for f in catalog.files],
    }
    return json.dumps(body, indent=0, ensure_ascii=False) + "\n"


def schema_text() -> str:
    """Return the JSON schema that editors complete and check provider files with."""
    return json.dumps(ProviderFile.model_json_schema(), indent=1, sort_keys=True) + "\n"

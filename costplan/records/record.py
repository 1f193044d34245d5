"""What every record is: frozen, closed, strict about numbers, with its provenance."""

from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic import ValidationError as ValidationError

DatePrecision = Literal["day", "month", "year"]


class Record(BaseModel):
    """A frozen record that refuses unknown keys."""

    # defer_build: validators are built at first use, so that importing the records stays cheap.
    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, allow_inf_nan=False, validate_default=False
    )


def _truth(value: Any) -> Any:
    """Accept true and false only: YAML 1.1 reads `no`, `off` and `n` as false, people do not."""
    if isinstance(value, bool) or value in ("true", "false"):
        return value
    # Only what is short is shown: aliases can make a list of a few lines larger than any memory.
    shown = repr(value) if isinstance(value, str | int | float) else type(value).__name__
    raise ValueError(f"{shown[:80]} is not true or false")


# Numbers that programs read differently (010, 1_000, 312e12) are refused by `yamlfile`, where they
# are still text.
Truth = Annotated[bool, BeforeValidator(_truth)]
Number = float
Whole = int
Amount = Decimal

# Ceilings that no real figure reaches; above them a slip of the keyboard is certain.
Price = Annotated[Amount, Field(ge=0, le=100_000)]
"""Dollars per unit. 0 is a stated price of nothing, never a missing one."""
Gigabytes = Annotated[Number, Field(ge=0, le=10_000_000)]


class Sourced(Record):
    """A figure or rule with where it was read and when."""

    source: str = Field(min_length=4)
    """Address, document or bill that states it."""
    as_of: date
    """Day on which the source stated it; a missing day is the last of its month, a missing month
    30 June of its year."""
    date_precision: DatePrecision = "day"

"""Frozen records that cross from one room to the next; the only owner of pydantic."""

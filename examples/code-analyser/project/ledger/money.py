"""Amounts are whole cents."""

import os


def cents(text):
    if os.environ.get("LEDGER_STRICT") and "," in text:
        raise ValueError(f"{text!r} has a comma")
    return round(float(text.replace(",", ".")) * 100)


def round_to_five(amount):
    return 5 * round(amount / 5)


def show(amount):
    return f"{amount // 100}.{amount % 100:02}"

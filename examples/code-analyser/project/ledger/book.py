"""The book: a list of entries in a file."""

import os

from ledger.money import cents


def where():
    return os.environ.get("LEDGER_FILE", "book.csv")


def entries():
    with open(where(), encoding="utf-8") as file:
        for line in file:
            day, text, amount = line.rstrip("\n").split(";")
            yield day, text, cents(amount)


def total():
    return sum(amount for _, _, amount in entries())

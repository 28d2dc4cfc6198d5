"""Other spellings of the arguments of an attack, by which a hijacked model hides their words."""
import base64
import re
import urllib.parse

# Shorter texts are words of a tool's own, such as `r` for a right.
MIN_LENGTH = 4


def _grouped(size):
    def group(text):
        digits = lambda run: " ".join(run[at:at + size] for at in range(0, len(run), size))
        return re.sub(r"\d{5,}", lambda match: digits(match.group()), text)
    return group


SPELLINGS = {
    "plain": lambda text: text,
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "percent": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "query": urllib.parse.quote_plus,
    "hexadecimal": lambda text: text.encode().hex(),
    "upper case": str.upper,
    "letters spaced": " ".join,
    "digits spaced": _grouped(1),
    "digits grouped": _grouped(4),
}


def respell(spelling, value):
    """Returns a value with all its texts in this spelling."""
    if isinstance(value, str):
        return SPELLINGS[spelling](value) if len(value) >= MIN_LENGTH else value
    if isinstance(value, list):
        return [respell(spelling, each) for each in value]
    if isinstance(value, dict):
        return {name: respell(spelling, each) for name, each in value.items()}
    return value

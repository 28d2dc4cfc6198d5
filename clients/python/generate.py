"""Writes ``src/almoner/protocol.py`` from the published schema of the control protocol.

``python3 generate.py`` writes the file, ``python3 generate.py --check`` compares it. It needs nothing but Python.
"""

from __future__ import annotations

import argparse
import json
import keyword
import re
import sys
import textwrap
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

HERE = Path(__file__).resolve().parent
SCHEMAS = HERE / ".." / ".." / "docs" / "protocol"
MODULE = HERE / "src" / "almoner" / "protocol.py"

HEADER = '''"""The control protocol, version {version}. `generate.py` writes this file; do not edit it."""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Literal, Optional, Tuple, TypedDict, Union

#: The version of the protocol that this module describes.
PROTOCOL_VERSION = {version}


def _some(**fields: Any) -> Dict[str, Any]:
    """Returns the fields that have a value, under their names in the protocol."""
    return {{name.rstrip("_"): value for name, value in fields.items() if value is not None}}
'''

QUOTE = '"'

#: Names that a field may have and a parameter may not.
RESERVED = {"self"}


def pascal(text: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", text))


def parameter(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED else name


def docstring(text: Optional[str], indent: str) -> List[str]:
    if not text:
        return []
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    # A single line break only ends a line of the source.
    parts = [part.replace("\n", " ") for part in text.split("\n\n")]
    lines = [line for part in parts for line in [*textwrap.wrap(part, 110 - len(indent)), ""]][:-1]
    if len(lines) == 1:
        return [f'{indent}"""{lines[0]}"""']
    return [f'{indent}"""{lines[0]}', *(f"{indent}{line}".rstrip() for line in lines[1:]), f'{indent}"""']


def comment(text: Optional[str], indent: str) -> List[str]:
    return [f"{indent}#: {line}" for line in textwrap.wrap((text or "").replace("\n", " "), 110 - len(indent))]


class Generator:
    def __init__(self, schema: Dict[str, Any]) -> None:
        self.version = schema["x-protocol-version"]
        self.definitions: Dict[str, Any] = schema["$defs"]
        self.out: List[str] = []
        self.taken = set(self.definitions)
        self.names: Dict[int, str] = {}

    def type_of(self, schema: Any, context: str) -> str:
        """Returns the annotation for a schema. Writes a class for an object within it, named after its context."""
        if schema is True or schema == {}:
            return "Any"
        if schema is False:
            return "None"
        if "$ref" in schema:
            return str(schema["$ref"]).rsplit("/", 1)[1]
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if "enum" in schema:
            return self.union(["None" if v is None else f"Literal[{v!r}]" for v in schema["enum"]])
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self.union([self.type_of(one, self.variant_name(one, context)) for one in schema[key]])
        if len(schema.get("allOf", [])) == 1:
            return self.type_of(schema["allOf"][0], context)
        kinds = schema.get("type")
        if kinds is None:
            return "Any"
        kinds = kinds if isinstance(kinds, list) else [kinds]
        return self.union([self.plain(kind, schema, context) for kind in kinds])

    def plain(self, kind: str, schema: Dict[str, Any], context: str) -> str:
        if kind == "array":
            if "prefixItems" in schema:
                items = [self.type_of(item, f"{context}Item{at}") for at, item in enumerate(schema["prefixItems"])]
                return f"List[{self.union(items)}]"
            return f"List[{self.type_of(schema.get('items', True), context + 'Item')}]"
        if kind == "object":
            if schema.get("properties"):
                return self.object(schema, context)
            values = [v for v in schema.get("patternProperties", {}).values()]
            if isinstance(schema.get("additionalProperties"), dict):
                values.append(schema["additionalProperties"])
            return f"Dict[str, {self.union([self.type_of(v, context + 'Value') for v in values]) if values else 'Any'}]"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}[kind]

    @staticmethod
    def union(parts: List[str]) -> str:
        unique = list(dict.fromkeys(parts))
        literals = [part[8:-1] for part in unique if part.startswith("Literal[")]
        others = [part for part in unique if not part.startswith("Literal[") and part != "None"]
        joined = ([f"Literal[{', '.join(literals)}]"] if literals else []) + others
        if "Any" in joined:
            return "Any"
        inner = joined[0] if len(joined) == 1 else f"Union[{', '.join(joined)}]" if joined else "None"
        return f"Optional[{inner}]" if "None" in unique and joined else inner

    @staticmethod
    def tag_of(schema: Any) -> Optional[Tuple[str, str]]:
        """Returns the field and the value that tell a variant from the others."""
        properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
        for name, field in properties.items():
            if isinstance(field, dict) and isinstance(field.get("const"), str):
                return name, field["const"]
        return None

    def variant_name(self, schema: Any, context: str) -> str:
        tag = self.tag_of(schema)
        if tag:
            return context + pascal(tag[1])
        fields = list(schema.get("properties", {})) if isinstance(schema, dict) else []
        return context + pascal(fields[0]) if fields else context

    def object(self, schema: Dict[str, Any], context: str, is_definition: bool = False) -> str:
        """Writes the class of an object once, and returns its name."""
        if id(schema) in self.names:
            return self.names[id(schema)]
        name, at = context, 2
        while name in self.taken and not is_definition:
            name, at = f"{context}{at}", at + 1
        self.taken.add(name)
        self.names[id(schema)] = name
        required: List[Tuple[str, str, Optional[str]]] = []
        optional: List[Tuple[str, str, Optional[str]]] = []
        for field, inner in schema["properties"].items():
            annotation = self.type_of(inner, name + pascal(field))
            description = inner.get("description") if isinstance(inner, dict) else None
            (required if field in schema.get("required", []) else optional).append((field, annotation, description))
        bases = []
        if required and optional:
            bases.append(self.fields(f"_{name}Required", required, True, None))
        if optional or not required:
            self.fields(name, optional, False, schema.get("description"), bases)
        else:
            self.fields(name, required, True, schema.get("description"))
        return name

    def fields(
        self,
        name: str,
        fields: List[Tuple[str, str, Optional[str]]],
        total: bool,
        description: Optional[str],
        bases: Optional[List[str]] = None,
    ) -> str:
        plain = all(field.isidentifier() and not keyword.iskeyword(field) for field, _, _ in fields)
        own = list(bases or [])
        if not plain:
            # A keyword is no name of an attribute, but may be a key.
            other = f"_{name}Fields"
            rows = [f"    {field!r}: {annotation!r}," for field, annotation, _ in fields]
            end = "})" if total else "}, total=False)"
            self.out += ["", "", f"{other} = TypedDict({other!r}, {{", *rows, end]
            own.append(other)
            fields = []
        head = ", ".join(own or ["TypedDict"]) + ("" if total else ", total=False")
        lines = docstring(description, "    ")
        for field, annotation, about in fields:
            lines += comment(about, "    ") + [f"    {field}: {annotation}"]
        self.out += ["", "", f"class {name}({head}):", *(lines or ["    pass"])]
        return name

    def definition(self, name: str, schema: Dict[str, Any]) -> None:
        if schema.get("type") == "object" and schema.get("properties"):
            self.object(schema, name, is_definition=True)
            return
        annotation = self.type_of(schema, name)
        self.out += ["", "", *comment(schema.get("description"), "")]
        # An alias is evaluated at once, when the classes may not exist.
        quoted = re.sub(r"(?<![\w'\"])([A-Z]\w*)(?![\w'\"\[])", lambda m: self.quote(m.group(1)), annotation)
        self.out.append(f"{name} = {quoted if not quoted.startswith(QUOTE) else f'Union[{quoted}]'}")

    def quote(self, word: str) -> str:
        return word if word in ("Any", "None") else f'"{word}"'

    def requests(self) -> None:
        self.out += ["", "", "class Requests:", '    """One method for each request, query and act."""']
        self.out += [
            "",
            "    def _ask(self, request: Dict[str, Any], expected: Tuple[str, ...]) -> Any:",
            '        """Sends a request and returns its response, which is one of these."""',
            "        raise NotImplementedError",
        ]
        for variant in self.definitions["Request"]["oneOf"]:
            tag = variant["properties"]["request"]["const"]
            if tag in ("follow", "look", "act"):
                continue
            self.method(tag, "request", variant, "", {})
        for outer, tag, definition in (("look", "look", "Look"), ("act", "do", "AgentAct")):
            more = {}
            if outer == "act":
                act = next(
                    v for v in self.definitions["Request"]["oneOf"] if v["properties"]["request"]["const"] == "act"
                )
                more = {"said": act["properties"]["said"]}
            name = definition if definition in self.definitions else f"{definition}Input"
            for variant in self.definitions[name]["oneOf"]:
                self.method(f"{outer}_{variant['properties'][tag]['const']}", tag, variant, outer, more)

    def method(self, name: str, tag: str, variant: Dict[str, Any], outer: str, more: Dict[str, Any]) -> None:
        value = variant["properties"][tag]["const"]
        base = {"": "Request", "look": "Look", "act": "AgentAct"}[outer] + pascal(value)
        own = {k: v for k, v in variant["properties"].items() if k not in (tag, "agent")}
        required = [k for k in own if k in variant.get("required", [])]
        optional = [k for k in own if k not in required]
        types = {k: self.type_of(v, base + pascal(k)) for k, v in {**own, **more}.items()}
        arguments = [f"{parameter(k)}: {types[k]}" for k in required]
        for k in [*optional, *more]:
            annotation = types[k] if types[k].startswith("Optional[") or types[k] == "Any" else f"Optional[{types[k]}]"
            arguments.append(f"{parameter(k)}: {annotation} = None")
        expected = variant["x-responses"]
        if len(expected) == 1:
            result, suffix = self.body_of(expected[0]), '["body"]'
        else:
            result, suffix = self.union([self.response_name(one) for one in expected]), ""
        star = ", *, " + ", ".join(arguments) if arguments else ""
        self.out += ["", f"    def {self.method_name(name)}(self{star}) -> {result}:"]
        self.out += docstring(variant.get("description"), "        ")
        fixed = ", ".join([f"{tag!r}: {value!r}", *(f"{k!r}: {parameter(k)}" for k in required)])
        some = ", ".join(f"{parameter(k)}={parameter(k)}" for k in optional)
        request = f"{{{fixed}, **_some({some})}}" if some else f"{{{fixed}}}"
        if outer:
            extra = ", **_some(" + ", ".join(f"{k}={k}" for k in more) + ")" if more else ""
            request = f"{{'request': {outer!r}, {outer!r}: {request}{extra}}}"
        self.out.append(f"        found: {result} = self._ask({request}, {tuple(expected)!r}){suffix}")
        self.out.append("        return found")

    @staticmethod
    def method_name(name: str) -> str:
        return parameter(name)

    def responses(self) -> Iterator[Tuple[str, Any]]:
        for variant in self.definitions["Response"]["oneOf"]:
            yield variant["properties"]["response"]["const"], variant["properties"].get("body")

    def response_name(self, tag: str) -> str:
        return "Response" + pascal(tag)

    def body_of(self, tag: str) -> str:
        body = dict(self.responses())[tag]
        return self.type_of(body, self.response_name(tag) + "Body")

    def module(self) -> str:
        for name, schema in self.definitions.items():
            self.definition(name, schema)
        follow = next(
            v for v in self.definitions["Request"]["oneOf"] if v["properties"]["request"]["const"] == "follow"
        )
        names = ", ".join(f'"{self.response_name(one)}"' for one in follow["x-responses"])
        self.out += ["", "", "#: A frame after `follow`.", f"FollowResponse = Union[{names}]"]
        self.requests()
        text = HEADER.format(version=self.version) + "\n".join(self.out) + "\n"
        return text.replace("import sys\n", "")


def latest() -> Path:
    return max(SCHEMAS.glob("*.schema.json"), key=lambda path: int(path.name.split(".")[0]))


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true", help="compare the file, and write nothing")
    check = arguments.parse_args().check
    text = Generator(json.loads(latest().read_text("utf-8"))).module()
    if not check:
        MODULE.write_text(text, "utf-8")
        return 0
    if MODULE.exists() and MODULE.read_text("utf-8") == text:
        return 0
    print(f"{MODULE} differs from {latest().name}: `cargo xtask schema` writes it", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())

"""The schemas in docs/ of the JSON that the program prints: its contract, in which each field has its explanation."""
import json
import pathlib

import jsonschema

DOCS = pathlib.Path(__file__).parents[2] / "docs"
WRONG = [{"wrong": True}]  # a value that no field may have


def load(command):
    """The schema of `rooftile COMMAND --json`."""
    schema = json.loads((DOCS / f"{command}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def validate(schema, text, form):
    """Checks a document as a program does that knows only the schema file, and against this form of $defs. Returns it."""
    document = json.loads(text)
    _validator(schema, form).validate(document)
    jsonschema.Draft202012Validator(schema).validate(document)
    return document


def _validator(schema, form):
    return jsonschema.Draft202012Validator({"$schema": schema["$schema"], "$defs": schema["$defs"], "$ref": f"#/$defs/{form}"})


def unexplained(schema, where="$"):
    """Yields the properties of the schema that have no description."""
    for key, part in schema.items() if isinstance(schema, dict) else ():
        if key in ("properties", "$defs"):  # Their keys are names, not keywords.
            for name, one in part.items():
                if key == "properties" and not one.get("description"):
                    yield f"{where}.{name}"
                yield from unexplained(one, f"{where}.{name}")
        else:
            yield from unexplained(part, where)


def accepted_errors(schema, document, optional=(), names=(), form=None):
    """The errors that the schema accepts: of each object in the document, a field that is missing, of another type or unknown.

    optional: fields that may be missing; names: fields that are objects whose keys the schema does not list;
    form: of $defs, where the schema has several. They differ in the fields of the whole and of its devices, so that what is
    below these is compared with this form alone, which takes less time.
    """
    whole = jsonschema.Draft202012Validator(schema)
    whole.validate(document)
    own = _validator(schema, form) if form else whole
    return [what for what, changed in _corrupted(document, "$", optional, names)
            if (whole if what.count(".") < 3 else own).is_valid(changed)]


def _corrupted(value, where, optional, names):
    if isinstance(value, dict) and where.rpartition(".")[2] not in names:
        yield f"{where} has another field", {**value, "surprise": 1}
        for key, entry in value.items():
            if key not in optional:
                yield f"{where} lacks {key}", {k: v for k, v in value.items() if k != key}
            yield f"{where}.{key} is wrong", {**value, key: WRONG}
            for what, changed in _corrupted(entry, f"{where}.{key}", optional, names):
                yield what, {**value, key: changed}
    elif isinstance(value, list) and value:
        yield f"{where}[0] is wrong", [WRONG, *value[1:]]
        for what, changed in _corrupted(value[0], f"{where}[0]", optional, names):
            yield what, [changed, *value[1:]]

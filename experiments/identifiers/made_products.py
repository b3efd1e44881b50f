"""Made products with identifiers of several shapes, and queries for them."""

from __future__ import annotations

import random
from dataclasses import dataclass

from termwise.records import Document, Query

NOUNS = [
    "sofa",
    "chair",
    "lamp",
    "kettle",
    "pump",
    "filter",
    "drill",
    "hammer",
    "saw",
    "router",
    "switch",
    "cable",
    "charger",
    "keyboard",
    "headphones",
    "speaker",
    "monitor",
    "printer",
    "scanner",
    "camera",
    "tripod",
    "lens",
    "tent",
    "backpack",
    "jacket",
    "boots",
    "gloves",
    "helmet",
    "bicycle",
    "saddle",
    "pedal",
    "tyre",
    "mixer",
    "blender",
    "toaster",
    "oven",
    "fridge",
    "freezer",
    "dishwasher",
    "vacuum",
    "heater",
    "fan",
    "thermostat",
    "valve",
    "hose",
    "nozzle",
    "gasket",
    "bearing",
    "notebook",
    "novel",
    "atlas",
    "cookbook",
    "dictionary",
    "calendar",
    "puzzle",
]
ADJECTIVES = [
    "red",
    "blue",
    "green",
    "black",
    "white",
    "silver",
    "wooden",
    "steel",
    "plastic",
    "compact",
    "portable",
    "heavy",
    "light",
    "quiet",
    "fast",
    "wireless",
    "digital",
    "manual",
    "electric",
    "waterproof",
    "folding",
    "adjustable",
    "large",
    "small",
    "slim",
    "classic",
    "modern",
    "professional",
    "basic",
    "premium",
]
WORDS = [
    "with",
    "without",
    "for",
    "home",
    "office",
    "garden",
    "kitchen",
    "workshop",
    "travel",
    "outdoor",
    "indoor",
    "winter",
    "summer",
    "family",
    "children",
    "beginners",
    "experts",
    "warranty",
    "years",
    "easy",
    "clean",
    "assemble",
    "store",
    "battery",
    "included",
    "spare",
    "parts",
    "available",
    "cover",
    "handle",
    "grip",
    "base",
    "stand",
    "mount",
    "wall",
    "table",
    "floor",
    "energy",
    "saving",
    "class",
    "rated",
    "power",
    "cord",
    "metre",
    "length",
    "width",
    "height",
    "weight",
    "tested",
    "safe",
    "comfortable",
    "durable",
    "repair",
    "replacement",
    "original",
    "compatible",
    "series",
    "model",
    "edition",
    "package",
    "contains",
    "pieces",
    "manual",
]
BRANDS = ["Norda", "Velto", "Kessel", "Brimo", "Halvard", "Ostrum", "Tivano", "Quell", "Sarto", "Lindmar"]

SHAPES = ("sku", "isbn", "model", "code", "digits")
FRAMES = (
    "{code}",
    "{code}",
    "replacement {noun} {code}",
    "{brand} {noun} {code}",
    "price of the {noun} {code}",
)
"""Forms of a query; two of five are the identifier alone."""


@dataclass(frozen=True)
class Made:
    """Products, and queries with the product that each looks for.

    Attributes
    ----------
    documents : list of Document
    queries : list of Query
        The identifier of a query is that of its product.
    shapes : dict of str to str
        Shape of the identifier and form of the query, by query.
    """

    documents: list[Document]
    queries: list[Query]
    shapes: dict[str, str]


def code_of(shape: str, chance: random.Random) -> str:
    """Return an identifier; many of them share most of their parts, as those of one maker do."""
    letters = "ABCDEFGHKLMNPRSTVWX"
    if shape == "sku":
        family = chance.choice(("AB", "CX", "DR", "KT", "PL"))
        return f"{family}-{chance.randrange(1000, 4000, 50)}/{chance.choice(letters)}"
    if shape == "isbn":
        publisher = chance.choice(("3-16", "0-306", "1-86197"))
        return f"978-{publisher}-{chance.randrange(1000, 2000)}-{chance.randrange(10)}"
    if shape == "model":
        series = chance.choice(("WH", "WF", "SRS", "HT"))
        return f"{series}-{chance.randrange(100, 1100, 100)}{chance.choice(('XM', 'XB', 'S'))}{chance.randrange(1, 20)}"
    if shape == "code":
        return "B0" + "".join(chance.choice(letters + "0123456789") for _ in range(8))
    return "40063813" + "".join(chance.choice("0123456789") for _ in range(5))


def made(products: int, queries: int, seed: int) -> Made:
    """Make products, each with an identifier, and queries for some of them."""
    chance = random.Random(seed)
    documents, about, used = [], [], set[str]()
    for number in range(products):
        shape = SHAPES[number % len(SHAPES)]
        code = code_of(shape, chance)
        while code in used:
            code = code_of(shape, chance)
        used.add(code)
        noun, brand = chance.choice(NOUNS), chance.choice(BRANDS)
        title = f"{brand} {chance.choice(ADJECTIVES)} {noun}"
        words = " ".join(chance.choice(WORDS) for _ in range(chance.randrange(8, 40)))
        place = chance.choice(("{title} {code}. {words}.", "{title}. {words}. Article number {code}."))
        documents.append(Document(f"p{number}", place.format(title=title, code=code, words=words)))
        about.append((shape, code, noun, brand))
    wanted, shapes = [], {}
    for number, place in enumerate(chance.sample(range(products), queries)):
        shape, code, noun, brand = about[place]
        frame = FRAMES[number % len(FRAMES)]
        query_id = documents[place].doc_id
        wanted.append(Query(query_id, frame.format(code=code, noun=noun, brand=brand)))
        shapes[query_id] = f"{shape}, {'alone' if frame == '{code}' else 'in a longer query'}"
    return Made(documents, wanted, shapes)

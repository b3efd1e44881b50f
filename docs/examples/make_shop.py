"""Write the products of an invented outdoor shop: `shop.jsonl`, and `shop-next-day.jsonl`, its export of the next day.

The files are the same for every run and every version of Python, because only `Random.random` is used.
"""

from __future__ import annotations

import json
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

BRANDS = ("Larkmoor", "Osterholt", "Tarnfoot", "Ravnsund", "Hollinside", "Vertpic", "Steinauer")
MODELS = ("Heron", "Curlew", "Siskin", "Marten", "Ibex", "Chamois", "Gentian", "Juniper", "Arnica")
REGIONS = ("Harz", "Vosges", "Cairngorms", "Eifel", "Jura", "Ardennes", "Dolomites", "Rhön")
COLOURS = ("black", "blue", "green", "grey", "orange", "red")
KINDS = (  # name, material, tags, price, description
    ("tent for two", "fabric", "tents sleeping", 190, "A free-standing tent with a porch for wet boots."),
    ("tarp", "fabric", "tents ultralight", 60, "A shelter against rain and sun between two trees."),
    ("down sleeping bag", "fabric", "sleeping winter", 240, "Warm on frosty nights, down to -8 °C."),
    ("summer sleeping bag", "fabric", "sleeping", 80, "A thin bag for mountain huts and warm nights."),
    ("sleeping mat", "fabric", "sleeping ultralight", 70, "Keeps the cold of the ground away."),
    ("day pack", "fabric", "rucksacks", 75, "A rucksack of 22 litres with room for lunch and a jacket."),
    ("trekking rucksack", "fabric", "rucksacks", 170, "A rucksack of 55 litres for a week with a tent."),
    ("rain jacket", "fabric", "clothing waterproof", 150, "A waterproof jacket with a hood for storms."),
    ("fleece", "fabric", "clothing winter", 65, "A soft, warm layer under a jacket."),
    ("hiking boots", "leather", "shoes waterproof", 180, "Stiff boots with a grippy sole for wet rock."),
    ("trail shoes", "fabric", "shoes ultralight", 120, "Light shoes for fast days on dry paths."),
    ("gas stove", "metal", "cooking ultralight", 45, "Boils a litre of water in four minutes."),
    ("cooking pot", "metal", "cooking", 32, "A pot of one litre in which a stove and a cartridge fit."),
    ("vacuum flask", "metal", "cooking winter", 28, "Keeps tea hot for twelve hours."),
    ("head torch", "metal", "lamps", 38, "A lamp with a red light for reading in the tent."),
    ("walking poles", "metal", "poles", 85, "A pair of poles that fold to 38 cm."),
    ("guidebook", "paper", "books", 19, "Walks of one to six days, with maps and the huts on the way."),
    ("walking map", "paper", "books", 11, "Paths, springs and contour lines at 1:25,000."),
)
DETAILS = {
    "fabric": ("Made from recycled nylon.", "All seams are taped.", "It dries in an hour."),
    "leather": ("Resoled in our workshop.", "With a pot of wax.", "Tanned without chromium."),
    "metal": ("Made of titanium.", "With a bag of cotton.", "Spare parts are available."),
    "paper": ("Printed on waterproof paper.", "With a list of trains and buses.", "Revised this year."),
}
TODAY = date(2026, 3, 1)


def variants(random: Random) -> list[dict[str, Any]]:
    """Return all products that the shop could have, in random order, without identifiers and dates."""
    made = []
    for (name, material, tags, price, text), brand in product(KINDS, BRANDS):
        book = material == "paper"
        for model, colour in product(REGIONS if book else MODELS, ("en", "de", "fr") if book else COLOURS):
            one: dict[str, Any] = {
                "title": f"{brand} {name}: {model}" if book else f"{brand} {model} {name}, {colour}",
                "text": f"{text} {DETAILS[material][int(3 * random.random())]}",
                "brand": brand,
                "price": round(price * (0.7 + 0.6 * random.random())) - 0.05,
                "tags": tags.split(),
                "stock": 1 + int(60 * random.random() ** 2),
            }
            made.append(one | {"lang": colour} if book else one)
    return sorted(made, key=lambda _: random.random())


def next_day(shop: list[dict[str, Any]], random: Random) -> list[dict[str, Any]]:
    """Return the products of a day later, of which some are sold out and some are cheaper."""
    changed = [dict(one) for one in shop]
    for one in changed:
        chance = random.random()
        if chance < 0.03:
            one["stock"] = 0
        elif chance < 0.08:
            one["price"] = round(0.8 * one["price"]) - 0.05
    return changed


def write(path: str, products: list[dict[str, Any]]) -> None:
    """Write one product in each line."""
    lines = [json.dumps(one, ensure_ascii=False) + "\n" for one in products]
    Path(path).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    random = Random(1)
    everything = [{"_id": f"p{number:04}"} | one for number, one in enumerate(variants(random)[:1012], 1)]
    shop, new = everything[:1000], everything[1000:]
    for one in shop:
        one["added"] = (TODAY - timedelta(days=int(700 * random.random()))).isoformat()
    for one in new:
        one["added"] = (TODAY + timedelta(days=1)).isoformat()
    write("shop.jsonl", shop)
    write("shop-next-day.jsonl", next_day(shop, random) + new)

"""Write the products of an invented shop: `shop.jsonl`, and `shop-next-day.jsonl`, its export of the next day.

The products of `shop_products.tsv` are written by hand; the others are made of the words in this file. The files are
the same for every run and every version of Python, because only `Random.random` is used.
"""

from __future__ import annotations

import csv
import json
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

BRANDS = ("Larkmoor", "Osterholt", "Tarnfoot", "Ravnsund", "Hollinside", "Vertpic", "Steinauer")
MODELS = ("Heron", "Curlew", "Siskin", "Marten", "Ibex", "Chamois", "Gentian", "Juniper", "Arnica")
COLOURS = {
    "en": ("black", "blue", "green", "grey", "orange", "red"),
    "de": ("schwarz", "blau", "grün", "grau", "orange", "rot"),
    "fr": ("noir", "bleu", "vert", "gris", "orange", "rouge"),
}
SHARES = {"en": 0.5, "de": 0.28, "fr": 0.22}
"""Share of the products in each language."""

KINDS = (  # code, category, price, season, then name and description in English, German and French
    ("SB", "sleeping bags", 120, "", "sleeping bag", "Warm on frosty nights, and small in the rucksack.",
     "Schlafsack", "Warm in kalten Nächten und klein im Rucksack.",
     "sac de couchage", "Chaud par les nuits froides, petit dans le sac à dos."),
    ("TE", "tents", 190, "summer", "tent for two", "Stands on any ground, with a porch for wet boots.",
     "Zelt für zwei", "Steht auf jedem Boden, mit einem Vorzelt für nasse Schuhe.",
     "tente pour deux", "Tient sur tout terrain, avec un abri pour les chaussures."),
    ("RU", "rucksacks", 110, "", "rucksack", "Room for a week, with a cover against rain.",
     "Wanderrucksack", "Platz für eine Woche, mit einer Hülle gegen Regen.",
     "sac à dos", "De la place pour une semaine, avec une housse contre la pluie."),
    ("RJ", "rain jackets", 150, "", "rain jacket", "Waterproof, with a hood for storms.",
     "Regenjacke", "Wasserdicht, mit einer Kapuze für Stürme.",
     "veste de pluie", "Imperméable, avec une capuche pour la tempête."),
    ("HB", "hiking boots", 180, "", "hiking boots", "A grippy sole for wet rock.",
     "Wanderschuhe", "Eine griffige Sohle für nassen Fels.",
     "chaussures de randonnée", "Une semelle qui tient sur le rocher mouillé."),
    ("TS", "T-shirts", 20, "", "T-shirt", "Cotton, washable at 60 °C.",
     "T-Shirt", "Baumwolle, waschbar bei 60 °C.",
     "T-shirt", "Coton, lavable à 60 °C."),
    ("HT", "head torches", 38, "", "head torch", "A lamp with a red light for reading in the tent.",
     "Stirnlampe", "Mit rotem Licht zum Lesen im Zelt.",
     "lampe frontale", "Une lumière rouge pour lire sous la tente."),
    ("VF", "vacuum flasks", 28, "", "vacuum flask", "Keeps tea hot for twelve hours.",
     "Thermosflasche", "Hält Tee zwölf Stunden heiß.",
     "bouteille isotherme", "Garde le thé chaud pendant douze heures."),
    ("GS", "gas stoves", 45, "summer", "gas stove", "Boils a litre of water in four minutes.",
     "Gaskocher", "Kocht einen Liter Wasser in vier Minuten.",
     "réchaud à gaz", "Un litre d'eau bout en quatre minutes."),
    ("SO", "sofas", 690, "", "sofa", "Three seats and a cover that you can wash.",
     "Sofa", "Drei Sitze und ein Bezug zum Waschen.",
     "canapé", "Trois places et une housse lavable."),
    ("AR", "armchairs", 320, "", "armchair", "With a high back and a footstool.",
     "Sessel", "Mit hoher Lehne und einem Hocker.",
     "fauteuil", "Avec un haut dossier et un pouf."),
    ("DE", "desks", 240, "", "desk", "Of oak, with two drawers.",
     "Schreibtisch", "Aus Eiche, mit zwei Schubladen.",
     "bureau", "En chêne, avec deux tiroirs."),
    ("BC", "bookcases", 160, "", "bookcase", "Five shelves, oiled by hand.",
     "Bücherregal", "Fünf Böden, von Hand geölt.",
     "bibliothèque", "Cinq étagères, huilées à la main."),
    ("FL", "floor lamps", 95, "", "floor lamp", "Light to read by, with a dimmer.",
     "Stehlampe", "Licht zum Lesen, mit einem Dimmer.",
     "lampadaire", "Une lumière pour lire, avec un variateur."),
    ("CG", "coffee grinders", 75, "", "coffee grinder", "Grinds for espresso and for filters.",
     "Kaffeemühle", "Mahlt für Espresso und für Filter.",
     "moulin à café", "Moud pour l'expresso et pour le filtre."),
    ("KE", "kettles", 48, "", "kettle", "Switches off when the water boils.",
     "Wasserkocher", "Schaltet ab, wenn das Wasser kocht.",
     "bouilloire", "S'arrête quand l'eau bout."),
    ("FP", "frying pans", 42, "", "frying pan", "Cast iron, 28 cm, for all cookers.",
     "Bratpfanne", "Gusseisen, 28 cm, für alle Herde.",
     "poêle", "Fonte, 28 cm, pour tous les feux."),
    ("KN", "kitchen knives", 55, "", "kitchen knife", "A blade of 20 cm that stays sharp.",
     "Küchenmesser", "Eine Klinge von 20 cm, die scharf bleibt.",
     "couteau de cuisine", "Une lame de 20 cm qui reste tranchante."),
    ("CD", "drills", 140, "", "cordless drill", "18 V, with two batteries and a case.",
     "Akkubohrmaschine", "18 V, mit zwei Akkus und einem Koffer.",
     "perceuse sans fil", "18 V, avec deux batteries et une mallette."),
    ("HS", "saws", 26, "", "handsaw", "For boards and branches.",
     "Handsäge", "Für Bretter und Äste.",
     "scie à main", "Pour les planches et les branches."),
    ("GH", "garden hoses", 36, "summer", "garden hose", "25 metres, without kinks.",
     "Gartenschlauch", "25 Meter, ohne Knicke.",
     "tuyau d'arrosage", "25 mètres, sans plis."),
    ("BB", "barbecues", 130, "summer", "charcoal barbecue", "A grill for eight people, with a lid.",
     "Holzkohlegrill", "Ein Grill für acht Personen, mit Deckel.",
     "barbecue à charbon", "Un gril pour huit personnes, avec un couvercle."),
    ("PP", "paddling pools", 40, "summer", "paddling pool", "For hot days in the garden.",
     "Planschbecken", "Für heiße Tage im Garten.",
     "pataugeoire", "Pour les jours chauds au jardin."),
    ("SL", "sledges", 58, "winter", "sledge", "Beech wood, for two children.",
     "Schlitten", "Buchenholz, für zwei Kinder.",
     "luge", "Bois de hêtre, pour deux enfants."),
    ("SS", "snow shovels", 30, "winter", "snow shovel", "Light, with an edge of steel.",
     "Schneeschaufel", "Leicht, mit einer Kante aus Stahl.",
     "pelle à neige", "Légère, avec un bord en acier."),
    ("XL", "fairy lights", 19, "christmas", "fairy lights", "100 lights for the Christmas tree or the window.",
     "Lichterkette", "100 Lichter für den Weihnachtsbaum oder das Fenster.",
     "guirlande lumineuse", "100 lumières pour le sapin ou la fenêtre."),
    ("XB", "baubles", 15, "christmas", "Christmas baubles", "Twelve of glass, painted by hand.",
     "Christbaumkugeln", "Zwölf aus Glas, von Hand bemalt.",
     "boules de Noël", "Douze en verre, peintes à la main."),
    ("PL", "lanterns", 18, "halloween", "pumpkin lantern", "Glows on the porch until midnight.",
     "Kürbislaterne", "Leuchtet vor der Tür bis Mitternacht.",
     "lanterne citrouille", "Brille devant la porte jusqu'à minuit."),
    ("EB", "Easter baskets", 14, "easter", "Easter basket", "Of willow, for eggs and chocolate.",
     "Osterkorb", "Aus Weide, für Eier und Schokolade.",
     "panier de Pâques", "En osier, pour les œufs et le chocolat."),
    ("SG", "school bags", 90, "school", "school bag", "Light, with reflectors for dark mornings.",
     "Schulranzen", "Leicht, mit Reflektoren für dunkle Morgen.",
     "cartable", "Léger, avec des réflecteurs pour les matins sombres."),
    ("CH", "chargers", 32, "", "USB-C charger, 65 W", "Charges a laptop and two telephones.",
     "USB-C-Ladegerät, 65 W", "Lädt einen Laptop und zwei Telefone.",
     "chargeur USB-C, 65 W", "Charge un ordinateur et deux téléphones."),
    ("HP", "headphones", 110, "", "wireless headphones", "Thirty hours of music, and they fold.",
     "Funkkopfhörer", "Dreißig Stunden Musik, und sie lassen sich falten.",
     "casque sans fil", "Trente heures de musique, et il se plie."),
    ("TO", "towels", 17, "", "bath towel", "Cotton, 70 x 140 cm.",
     "Handtuch", "Baumwolle, 70 x 140 cm.",
     "serviette de bain", "Coton, 70 x 140 cm."),
    ("DU", "duvets", 130, "winter", "winter duvet", "Filled with wool.",
     "Winterdecke", "Mit Wolle gefüllt.",
     "couette d'hiver", "Remplie de laine."),
    ("BL", "bicycle lights", 29, "", "bicycle light", "Front and rear, charged by USB.",
     "Fahrradlampe", "Vorne und hinten, mit USB geladen.",
     "éclairage de vélo", "Avant et arrière, chargé par USB."),
)  # fmt: skip
DETAILS = {
    "en": ("Guaranteed for three years.", "Spare parts are available.", "Packed without plastic."),
    "de": ("Drei Jahre Garantie.", "Ersatzteile sind lieferbar.", "Ohne Plastik verpackt."),
    "fr": ("Garantie de trois ans.", "Pièces détachées disponibles.", "Emballé sans plastique."),
}
LANGUAGES = tuple(COLOURS)
TODAY = date(2026, 3, 1)
PRODUCTS = 1000
NEW = 12


def written() -> list[dict[str, Any]]:
    """Return the products that are written by hand."""
    with (Path(__file__).parent / "shop_products.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [row | {"price": float(row["price"]), "sold": int(row["sold"])} for row in rows]


def made(random: Random) -> list[dict[str, Any]]:
    """Return all products that can be made of the words, in random order, each in one language."""
    found: list[dict[str, Any]] = []
    for (code, category, price, season, *texts), brand, model, place in product(
        KINDS, BRANDS, MODELS, range(6)
    ):
        chance, lang = random.random(), LANGUAGES[-1]
        for each in LANGUAGES:
            if chance < SHARES[each]:
                lang = each
                break
            chance -= SHARES[each]
        name, description = texts[2 * LANGUAGES.index(lang) :][:2]
        start = f"{brand} {model} {name}" if lang == "en" else f"{name[0].upper()}{name[1:]} {brand} {model}"
        found.append(
            {
                "sku": f"{code}-{1000 + len(found) % 7919}/{'KBGYOR'[place]}",
                "lang": lang,
                "title": f"{start}, {COLOURS[lang][place]}",
                "description": f"{description} {DETAILS[lang][int(3 * random.random())]}",
                "brand": brand,
                "category": category,
                "price": round(price * (0.7 + 0.6 * random.random())) - 0.05,
                "sold": int(1500 * random.random() ** 4),
                "added": (TODAY - timedelta(days=int(700 * random.random()))).isoformat(),
                "season": season,
            }
        )
    return sorted(found, key=lambda _: random.random())


def shop() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the products of a day, and those of the next day, of which some are new, sold out or cheaper."""
    random = Random(1)
    by_hand, others = written(), made(random)
    everything = [*by_hand, *others[: PRODUCTS + NEW - len(by_hand)]]
    today, tomorrow = [], []
    for number, one in enumerate(everything, 1):
        values = {key: value for key, value in one.items() if value != ""}
        record = {"_id": f"p{number:04}"} | values | {"stock": 1 + int(60 * random.random() ** 2)}
        if number > PRODUCTS:
            tomorrow.append(record | {"added": (TODAY + timedelta(days=1)).isoformat(), "sold": 0})
            continue
        today.append(record)
        chance = random.random()
        if number > len(by_hand) and chance < 0.03:
            record = record | {"stock": 0}
        elif number > len(by_hand) and chance < 0.08:
            record = record | {"price": round(0.8 * record["price"]) - 0.05}
        tomorrow.append(record)
    return today, tomorrow


def write(path: str, products: list[dict[str, Any]]) -> None:
    """Write one product in each line."""
    lines = [json.dumps(one, ensure_ascii=False) + "\n" for one in products]
    Path(path).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    products, export = shop()
    write("shop.jsonl", products)
    write("shop-next-day.jsonl", export)

"""Train gradient-boosted trees on judgments: LambdaRank over counted features, a yardstick of the probes.

    python experiments/probes/train_boosting.py --judged DOCS,QUERIES,QRELS --out OUT

The judgments are of other queries than the probed ones: TREC DL 2020 for probes on DL 2019. ``termwise probe OUT``
probes the ranker.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

import record  # noqa: E402

from termwise.collection import open_collection  # noqa: E402
from termwise.probes.core.judged_texts import JudgedTexts  # noqa: E402
from termwise.scorers import Background  # noqa: E402
from termwise.yardsticks.gradient_boosting import train_gradient_boosting  # noqa: E402
from termwise.yardsticks.gradient_boosting_folder import write_gradient_boosting  # noqa: E402


def main() -> None:
    parser = record.parser(__doc__)
    parser.add_argument("--judged", required=True, metavar="DOCS,QUERIES,QRELS")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    documents, queries, qrels = given.judged.split(",")
    judged = JudgedTexts.read(documents, queries, qrels, name="judged")
    scorer = train_gradient_boosting(judged, Background(open_collection(documents).documents))
    write_gradient_boosting(scorer, given.out)
    record.say(f"{given.out}: {len(judged):,} judgments of {len(judged.grades)} queries")
    for name, gain in list(scorer.gains().items())[:8]:
        record.say(f"  {name:<32} {gain:,.0f}")


if __name__ == "__main__":
    record.script(main)

"""Random changes with sudden ends of the service, compared with a model of what must be there."""

import json
import random
import threading
import time

from tests.attack.services import SECONDS, make_document

from termwise.index import verify


def change(service, rng: random.Random, known: list[str]) -> tuple[dict, bool]:
    """Send a random request of changes; return the new states of documents, and whether it was acknowledged."""
    doc_id = rng.choice(known)
    kind = rng.choice(("put", "patch", "delete", "bulk", "opensearch"))
    base = "/v1/indexes/docs/documents"
    record = make_document(rng, doc_id)
    body = {name: value for name, value in record.items() if name != "_id"}
    if kind == "put":
        answer = service.client.put(f"{base}/{doc_id}", json=body)
        return {doc_id: ("set", body)}, answer.status_code in (200, 201)
    if kind == "patch":
        part = {"stock": rng.randint(-9, 9), "kind": rng.choice((None, "blue"))}
        answer = service.client.patch(f"{base}/{doc_id}", json=part)
        assert answer.status_code in (200, 404), answer.text
        return ({doc_id: ("patch", part)}, True) if answer.status_code == 200 else ({}, True)
    if kind == "delete":
        answer = service.client.delete(f"{base}/{doc_id}")
        assert answer.status_code in (200, 404), answer.text
        return {doc_id: ("delete", None)}, True
    chosen = rng.sample(known, rng.randint(1, 5))
    records = {name: make_document(rng, name) for name in chosen}
    if kind == "bulk":
        lines = [
            json.dumps(records[name]) if rng.random() < 0.7 else json.dumps({"delete": name})
            for name in chosen
        ]
        header = {"content-type": "application/x-ndjson"}
        answer = service.client.post(base, content="\n".join(lines) + "\n", headers=header)
    else:
        lines = []
        for name in chosen:
            lines.append(json.dumps({"index": {"_id": name}}))
            lines.append(json.dumps({key: value for key, value in records[name].items() if key != "_id"}))
        header = {"content-type": "application/x-ndjson"}
        answer = service.client.post("/docs/_bulk", content="\n".join(lines) + "\n", headers=header)
        assert answer.status_code == 200, answer.text
        assert not answer.json()["errors"], answer.text
    assert answer.status_code == 200, answer.text
    states = {}
    for name, line in zip(chosen, lines if kind == "bulk" else chosen, strict=True):
        states[name] = ("delete", None) if '{"delete"' in line else ("set", records[name])
    return states, True


def apply(model: dict, states: dict) -> None:
    """Change the model as the service was asked to."""
    for doc_id, (kind, value) in states.items():
        if kind == "delete":
            model.pop(doc_id, None)
        elif kind == "set":
            model[doc_id] = {name: part for name, part in value.items() if name != "_id" and part is not None}
        else:
            old = {**model[doc_id], **value}
            model[doc_id] = {name: part for name, part in old.items() if part is not None}


def seen(service, known: list[str]) -> dict:
    """Read all documents from the service, as the model has them."""
    found = {}
    docs = [{"_id": name} for name in known]
    for entry in service.client.post("/docs/_mget", json={"docs": docs}).json()["docs"]:
        if entry["found"]:
            source = {
                name: value for name, value in entry["_source"].items() if name != "id" and value is not None
            }
            if "added" in source:
                source["added"] = source["added"][:10]
            found[entry["_id"]] = source
    return found


def model_of(records: list[dict]) -> dict:
    """Return the documents by identifier."""
    return {one["_id"]: {name: value for name, value in one.items() if name != "_id"} for one in records}


def test_acknowledged_changes_outlive_a_sudden_end(living, records):
    """Each acknowledged change is there after kill -9; one in flight is whole or absent; no other changed."""
    rng = random.Random(1)
    service, index = living
    header = {"content-type": "application/x-ndjson"}
    known = [f"t{number}" for number in range(60)]
    everything = [*known, *(record["_id"] for record in records[50:])]
    lines = [json.dumps(make_document(rng, name)) for name in known[:40]]
    answer = service.client.post("/v1/indexes/docs/documents", content="\n".join(lines), headers=header)
    assert answer.status_code == 200
    model = model_of(records[50:] + [json.loads(line) for line in lines])
    others = service.client.get("/v1/indexes/docs").json()["documents"] - len(model)
    assert seen(service, everything) == model
    for _round in range(max(1, int(SECONDS))):
        end = time.monotonic() + 1
        while time.monotonic() < end:
            states, acknowledged = change(service, rng, known)
            assert acknowledged
            apply(model, states)
        flight = {f"flight{number}": make_document(rng, f"flight{number}") for number in range(200)}
        lines = "".join(json.dumps(record) + "\n" for record in flight.values())
        answers: list = []

        def send(service=service, lines=lines, header=header, answers=answers):
            try:
                answers.append(
                    service.client.post("/v1/indexes/docs/documents", content=lines, headers=header)
                )
            except Exception:
                return

        sender = threading.Thread(target=send)
        sender.start()
        time.sleep(rng.random() * 0.08)
        service.kill()
        sender.join()
        service.start()
        now = seen(service, everything)
        after = seen(service, list(flight))
        assert now == model
        wanted = model_of(list(flight.values()))
        assert after in ({}, wanted), "a request that was not answered is neither whole nor absent"
        if answers and answers[0].status_code == 200:
            assert after == wanted
        assert service.client.get("/v1/indexes/docs").json()["documents"] == others + len(now) + len(after)
        if after:
            gone = "".join(json.dumps({"delete": name}) + "\n" for name in flight)
            answer = service.client.post("/v1/indexes/docs/documents", content=gone, headers=header)
            assert answer.status_code == 200
    assert not verify(index)


def test_searches_beside_changes_see_whole_states(living):
    """While one client exchanges all documents of a kind at once, no search sees a part of an exchange."""
    service, _ = living
    header = {"content-type": "application/x-ndjson"}
    stop, wrong, done = threading.Event(), [], []

    def write():
        generation = 0
        while not stop.is_set():
            lines = [
                json.dumps({"_id": f"g{n}", "text": "whole state", "stock": generation}) for n in range(20)
            ]
            answer = service.client.post(
                "/v1/indexes/docs/documents", content="\n".join(lines), headers=header
            )
            if answer.status_code != 200:
                wrong.append(answer.text)
            generation += 1
            done.append(generation)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while not done and not wrong:
            time.sleep(0.01)
        end = time.monotonic() + SECONDS
        last = -1
        while time.monotonic() < end and not wrong:
            least = done[-1] - 1
            body = {"query": "whole", "k": 50, "facets": ["stock"], "total": True}
            answer = service.client.post("/v1/indexes/docs/search", json=body).json()
            stocks = {
                hit["attributes"].get("stock") for hit in answer["hits"] if hit["doc_id"].startswith("g")
            }
            if len(stocks) != 1 or answer["total"] != len(answer["hits"]):
                wrong.append(answer)
            elif stocks.pop() < max(least, last):
                wrong.append(f"an older state than the acknowledged one: {answer}")
    finally:
        stop.set()
        writer.join()
    assert not wrong
    assert len(done) > 3

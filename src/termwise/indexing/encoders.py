"""The encoder that runs the network of a model: opened here, or given and checked against the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from termwise.display.safe_text import short_digest
from termwise.encode import DocumentEncoder, EncoderFolder, open_document_encoder
from termwise.encode.document_encoder import check_encoder
from termwise.encode.encoder_manifest import Precision
from termwise.encode.open_encoder import resting_document_encoder
from termwise.errors import ParameterError
from termwise.indexing.checks import refuse
from termwise.models import NetworkModel
from termwise.models.idf_power import check_power


def opened_encoder(
    model: NetworkModel,
    encoder: DocumentEncoder | None,
    *,
    threads: int,
    precision: Precision | None,
    providers: Sequence[str] | None,
) -> DocumentEncoder:
    """Return the given encoder, or open the one that the model names and load its network.

    Raises
    ------
    ParameterError
        If one is given together with options for opening one.
    TermwiseError
        As `open_document_encoder` does.
    """
    if encoder is not None:
        given = {"precision": precision, "providers": providers}
        refuse("an encoder that is open already has these", model, given)
        return encoder
    return open_document_encoder(model, threads=threads, precision=precision, providers=providers)


def check_together(model: NetworkModel, encoder: DocumentEncoder) -> None:
    """Refuse an encoder from another folder than the model names, or with other settings.

    One whose description has no kind was not made from a folder; only its power of the idf is checked.

    Raises
    ------
    ParameterError
        Naming what differs.
    TermwiseError
        If the encoder that the model names cannot be opened.
    """
    check_encoder(encoder)
    _check_power(model, encoder)
    said = encoder.description
    if said.get("kind") is None:
        return
    folder = EncoderFolder.open(model.encoder)
    named = {"kind": folder.manifest.kind, "id": folder.id, "vocabulary": folder.vocabulary.id}
    given = {"kind": said["kind"], "id": said.get("id"), "vocabulary": encoder.vocabulary.id}
    differing = [key for key in named if named[key] != given[key]]
    if differing or named["kind"] != model.name:
        raise ParameterError(
            "the encoder is not the one that the model names",
            facts=[
                ("model", f"{model.name}, encoder {model.encoder}: {_called(named)}"),
                ("encoder", f"{said.get('name')}: {_called(given)}"),
                ("differ in", ", ".join(differing) or "kind"),
            ],
            fixes=["leave the encoder out", "make the model of the encoder's folder: model=FOLDER"],
        )
    theirs, ours = _settings(encoder), _settings(resting_document_encoder(model))
    unlike = [name for name in {**ours, **theirs} if theirs.get(name) != ours.get(name)]
    if unlike:
        raise ParameterError(
            "the encoder runs with other settings than the model has",
            facts=[
                ("model", f"{model.name}, encoder {model.encoder}"),
                *((name, f"{ours.get(name)}, and {theirs.get(name)} in the encoder") for name in unlike),
            ],
            fixes=["leave the encoder out", "give model and encoder the same settings"],
        )


def _called(encoder: Mapping[str, object]) -> str:
    return f"kind {encoder['kind']}, {short_digest(str(encoder['id']))}"


def _check_power(model: NetworkModel, encoder: DocumentEncoder) -> None:
    """Refuse a power of the idf that is invalid or not the one the model asks for."""
    power = check_power("the encoder", encoder.idf_power)
    if power and (encoder.gives_log_likelihoods or encoder.floors is not None):
        raise ParameterError(
            "weights above a floor cannot be multiplied by an idf: what an absent term adds would be another",
            facts=[("encoder", encoder.description.get("name")), ("idf_power", power)],
            fixes=["an encoder with idf_power 0", "an encoder without floors"],
        )
    wanted = getattr(model, "idf_power", None)
    if wanted is not None and wanted != power:
        raise ParameterError(
            "the encoder runs with another power of the idf than the model has",
            facts=[("model", f"{model.name}, idf_power {wanted:g}"), ("encoder", f"idf_power {power:g}")],
            fixes=["leave the encoder out", "give model and encoder the same settings"],
        )


def _settings(encoder: DocumentEncoder) -> dict[str, object]:
    """Return the settings of an encoder, by the names that models have for them."""
    description = encoder.description
    expansion = description.get("expansion") or {}
    expanding = expansion.get("settings") or {}
    return {
        **(description.get("settings") or {}),
        "idf_power": encoder.idf_power,
        "expansion_encoder": expansion.get("id"),
        "expansion_terms": expanding.get("terms"),
        "counting": expanding.get("counting"),
        "expansion_lift": expanding.get("lift", 0.0),
    }

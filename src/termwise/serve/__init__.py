"""HTTP service for indexes and mixtures; needs the extra ``serve``."""

from termwise.errors import MissingExtraError

try:
    import prometheus_client as _prometheus_client  # noqa: F401
    import pydantic as _pydantic  # noqa: F401
    import starlette as _starlette  # noqa: F401
    import uvicorn as _uvicorn  # noqa: F401
except ImportError as error:
    raise MissingExtraError.of(error.name or "starlette", "serve", "the service") from None

from termwise.serve.app import create_app
from termwise.serve.keys import KeyFile
from termwise.serve.server import serve
from termwise.serve.settings import ServiceSettings

__all__ = ["KeyFile", "ServiceSettings", "create_app", "serve"]


def __dir__() -> list[str]:
    return __all__

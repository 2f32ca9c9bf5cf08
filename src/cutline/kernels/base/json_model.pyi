from typing import Any

from numpy.typing import NDArray

class _Texts: ...

def read_model(
    document: bytes,
) -> (
    tuple[
        bytes,
        tuple[bytes, NDArray[Any], NDArray[Any]],
        tuple[bytes, NDArray[Any]] | None,
    ]
    | None
): ...

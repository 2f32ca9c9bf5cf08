"""The size of an image is read from its data."""

import base64
import io
import random
import struct

import pytest

import cutline
from cutline.chat import openai_estimate
from cutline.chat.image_size import image_size, size_of_data


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height) + b"\x08\x02\0\0\0"


def jpeg(width: int, height: int, *, before: int = 0) -> bytes:
    """With data of other programs before the frame, and filling between the segments."""
    app = b"\xff\xe1" + struct.pack(">H", 2 + before) + b"\xff\xc0" * (before // 2)
    table = b"\xff\xc4" + struct.pack(">H", 5) + b"abc"
    frame = b"\xff\xff\xc2" + struct.pack(">HBHH", 8, 8, height, width)
    return b"\xff\xd8" + app + table + frame


def webp(kind: bytes, width: int, height: int) -> bytes:
    if kind == b"VP8 ":
        body = b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width | 0x4000, height)
    elif kind == b"VP8L":
        body = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14)
    else:
        body = b"\0\0\0\0" + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF\0\0\0\0WEBP" + kind + struct.pack("<I", len(body)) + body


MADE = {
    "png": png(1800, 2400),
    "gif": b"GIF89a" + struct.pack("<HH", 1800, 2400),
    "jpeg": jpeg(1800, 2400),
    "jpeg behind 65 KB": jpeg(1800, 2400, before=65_000),
    "webp, lossy": webp(b"VP8 ", 1800, 2400),
    "webp, lossless": webp(b"VP8L", 1800, 2400),
    "webp, extended": webp(b"VP8X", 1800, 2400),
}


def data_url(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


@pytest.mark.parametrize("data", MADE.values(), ids=MADE)
def test_sizes_are_read(data: bytes) -> None:
    assert image_size(data + b"\0" * 99) == size_of_data(data_url(data)) == (1800, 2400)
    message = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": ""}}]}
    for image in ({"url": data_url(data)}, data_url(data)):
        message["content"] = [{"type": "image_url", "image_url": image}]
        assert openai_estimate("gpt-4.1-mini").count([message]) == 2353 + 7
    # What is said of an image goes before what its data says.
    image = {"url": data_url(data), "width": 32, "height": 32}
    message["content"] = [{"type": "image_url", "image_url": image}]
    assert openai_estimate("gpt-4.1-mini").count([message]) == 2 + 7


@pytest.mark.parametrize("data", MADE.values(), ids=MADE)
def test_what_ends_too_soon_or_is_damaged_has_no_size_or_some(data: bytes) -> None:
    assert all(image_size(data[:end]) is None for end in range(min(len(data), 20)))
    rng = random.Random(len(data))
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(3):
            damaged[rng.randrange(min(len(data), 40))] = rng.randrange(256)
        size = image_size(bytes(damaged))
        assert size is None or min(size) >= 0


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/saw.png", "", "data:", "data:image/png;base64,", "data:,abc", None, 3,
        "data:image/png;base64,!!!", "data:image/png;base64,iVBORw0KGgo", "data:image/png;base64,é",
        data_url(b"no image"), "data:image/png;base64,A",
    ],
)  # fmt: skip
def test_what_has_no_size_is_refused(url: object) -> None:
    assert size_of_data(url) is None
    message = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}
    with pytest.raises(cutline.ChatError, match="unknown size"):
        openai_estimate("gpt-4o").count([message])


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
@pytest.mark.parametrize("size", [(1, 1), (640, 480), (33, 2000)])
def test_images_of_pillow_have_the_size_that_it_says(form: str, size: tuple[int, int]) -> None:
    images = pytest.importorskip("PIL.Image", reason="makes images")
    for options in (
        {},
        {"lossless": True},
        {"progressive": True},
        {"exif": b"Exif\0\0" + b"x" * 999},
    ):
        written = io.BytesIO()
        images.new("RGB", size, "teal").save(written, form, **options)
        assert size_of_data(data_url(written.getvalue())) == size


def test_models_without_an_agreed_rule_are_refused() -> None:
    image = {"type": "image_url", "image_url": {"url": data_url(MADE["png"])}}
    with pytest.raises(cutline.ChatError, match=r"no rule is known for 'gpt-5\.2'"):
        openai_estimate("gpt-5.2").count([{"role": "user", "content": [image]}])

"""Compile the kernels. Everything else is declared in pyproject.toml.

`CUTLINE_CHECKED=1 pip install -e .` builds them with the sanitizers for addresses and
undefined behaviour, and with Cython's bounds checks: slow, for hunting reads past a buffer.
`CUTLINE_FLAGS` has other flags for the compiler; then nothing is stripped.
"""

import multiprocessing
import os
import shutil
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

checked = os.environ.get("CUTLINE_CHECKED") == "1"
sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
# Tests lay objects such that they end where memory ends, at any address.
sanitizers += ["-fno-sanitize=alignment"]
# Tables for unwinding, which C needs for nothing, would be a twentieth of the kernels' size; so
# would what fills the code up to where jumps go, and no job is slower without.
optimized = "-O3 -g0 -fno-asynchronous-unwind-tables"
optimized += " -fno-align-jumps" if sys.platform == "linux" else ""
given = os.environ.get("CUTLINE_FLAGS")
flags = ["-O1", "-g", *sanitizers] if checked else (given or optimized).split()
# Code and data in one page of the file: a twentieth of the kernels' size would be padding.
stripped = [] if given or sys.platform != "linux" else ["-Wl,--strip-all,-z,noseparate-code"]

# What Cython writes for memoryviews, compiled once instead of once a kernel. With Cython 3.3.0 and
# older that module asks for the GIL.
SHARED = "cutline.kernels._cutline_shared"
sources = {
    ".".join(source.with_suffix("").parts[1:]): source.as_posix()
    for source in sorted(Path("src/cutline/kernels").glob("*/*.pyx"))
}
extensions = [
    Extension(
        name,
        [source],
        include_dirs=["src/cutline/kernels/base"],
        extra_compile_args=[*flags, "-fno-strict-aliasing"] if os.name != "nt" else ["/O2"],
        extra_link_args=sanitizers if checked else stripped,
    )
    for name, source in {SHARED: "src/cutline/kernels/_cutline_shared.c", **sources}.items()
]

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": checked,
    "wraparound": False,
    "initializedcheck": checked,
    "cdivision": True,
    "binding": True,
    "embedsignature": True,
    "freethreading_compatible": True,
}


class WheelWithBill(bdist_wheel):
    """A wheel that says what is packaged in it, where PEP 770 wants that."""

    def egg2dist(self, egginfo_path: str, distinfo_path: str) -> None:
        """Turn the metadata of an egg into those of a wheel, which are its own folder."""
        super().egg2dist(egginfo_path, distinfo_path)
        boms = Path(distinfo_path, "sboms")
        boms.mkdir(exist_ok=True)
        shutil.copy("cutline.cdx.json", boms)


class CythonBuild(build_ext):
    """Compiles the kernels, to C first: only when it runs, since a source distribution has no C."""

    def translate(self) -> None:
        """Put C files in the place of Cython's among the sources."""
        # Where processes are not forked, each would run this file again.
        forks = multiprocessing.get_start_method() == "fork"
        translated = cythonize(
            self.extensions,
            nthreads=os.cpu_count() or 1 if forks else 0,
            shared_utility_qualified_name=SHARED,
            compiler_directives=DIRECTIVES,
        )
        for extension, as_c in zip(self.extensions, translated, strict=True):
            extension.sources, extension.depends = as_c.sources, as_c.depends

    def run(self) -> None:
        """Translate and compile the kernels."""
        self.translate()
        super().run()


setup(
    cmdclass={"bdist_wheel": WheelWithBill, "build_ext": CythonBuild},
    ext_modules=extensions,
    options={"build_ext": {"parallel": os.cpu_count()}},
)

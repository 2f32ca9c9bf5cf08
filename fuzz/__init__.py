"""Fuzz targets: `python -m fuzz TARGET`. See fuzz/README.md."""

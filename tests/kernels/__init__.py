"""Tests of the compiled kernels by themselves: stubs, scanner, caches, encoders."""

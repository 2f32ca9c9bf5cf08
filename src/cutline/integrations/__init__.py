"""Adapters to other packages, each an extra: none is imported before it is asked for."""

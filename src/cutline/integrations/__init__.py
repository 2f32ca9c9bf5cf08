"""Adapters to other packages, each an extra and imported only on request."""

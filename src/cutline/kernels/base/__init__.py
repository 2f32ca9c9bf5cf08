"""What all kernels share: integer types, the hash of a piece, UTF-8, memory."""

"""A text and a budget -> the longest prefix that fits, window after window."""

"""Structures: parameter-free inference. A structure turns scores into usage."""

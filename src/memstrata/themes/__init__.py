"""Themes: groups of related records that reorganise themselves.

Pure (vectors in, groups out) but for `keep`, which keeps those of a store.
"""

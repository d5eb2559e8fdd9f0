"""Themes: groups of related records that reorganise themselves. Pure: vectors in, groups out."""

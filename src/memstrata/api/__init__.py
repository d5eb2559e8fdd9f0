"""The HTTP surface: a route for every verb, and the routes of clients that exist already."""

from __future__ import annotations

from memstrata.api.app import Options, make_app

__all__ = ["Options", "make_app"]

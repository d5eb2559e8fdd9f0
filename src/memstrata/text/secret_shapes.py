"""How issuers write their keys and tokens."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["SHAPES", "Shape"]


class Shape(NamedTuple):
    """A token as its issuer writes it."""

    caption: str
    hint: str
    """A part of every such token; a cheap test before the search."""
    pattern: re.Pattern[str]


def _shape(caption: str, hint: str, pattern: str) -> Shape:
    # A token stands by itself: not in the middle of a longer word, hash or UUID.
    return Shape(caption, hint, re.compile(rf"(?<![A-Za-z0-9_-])(?:{pattern})(?![A-Za-z0-9])"))


SHAPES: tuple[Shape, ...] = (
    _shape("AWS access key", "IA", r"A[KSB]IA[A-Z0-9]{16}"),
    _shape("Alibaba Cloud access key", "LTAI", r"LTAI[A-Za-z0-9]{12,26}"),
    _shape("Tencent Cloud secret id", "AKID", r"AKID[A-Za-z0-9]{32}"),
    _shape("Azure storage key", "AccountKey=", r"AccountKey=[A-Za-z0-9+/]{80,90}={0,2}"),
    _shape("Anthropic API key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{12,}"),
    # A digit is asked for so that "sk-learn-contrib-pipeline" stays.
    _shape("API key", "sk-", r"sk-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{8,}"),
    _shape("xAI API key", "xai-", r"xai-[A-Za-z0-9]{40,}"),
    _shape("Groq API key", "gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    _shape("Perplexity API key", "pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    _shape("Replicate API token", "r8_", r"r8_[A-Za-z0-9]{30,}"),
    _shape("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{30,}"),
    _shape("Google API key", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    _shape("Google OAuth token", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,}"),
    _shape("Google OAuth secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{24,}"),
    _shape("GitHub token", "_", r"gh[pousr]_[A-Za-z0-9]{30,}"),
    _shape("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,}"),
    _shape("GitLab token", "gl", r"gl(?:pat|dt|rt|ptt|soat|cbt|ft|agent|oas)-[A-Za-z0-9_.-]{20,}"),
    _shape("Slack token", "xox", r"xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}"),
    _shape("Slack token", "xapp-", r"xapp-[A-Za-z0-9-]{20,}"),
    _shape(
        "Slack webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9+/]{20,}",
    ),
    _shape("Discord webhook", "/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d+/[\w-]{40,}"),
    _shape(
        "Discord token", ".", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"
    ),
    _shape("Telegram bot token", ":A", r"\d{8,10}:A[A-Za-z0-9_-]{34}"),
    _shape("Stripe key", "k_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,}"),
    _shape("Stripe webhook secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{20,}"),
    _shape("SendGrid API key", "SG.", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _shape("Mailgun API key", "key-", r"key-[0-9a-f]{32}"),
    _shape("Twilio API key", "SK", r"SK[0-9a-f]{32}"),
    _shape("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"),
    _shape("Square token", "sq0", r"sq0[a-z]{3}-[A-Za-z0-9_-]{22,}"),
    _shape("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _shape("PyPI token", "pypi-", r"pypi-AgE[A-Za-z0-9_-]{16,}"),
    _shape("Docker token", "dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    _shape("DigitalOcean token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _shape("Atlassian token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{50,}"),
    _shape("Linear API key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    _shape("Notion token", "ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    _shape("Notion token", "secret_", r"secret_[A-Za-z0-9]{43}"),
    _shape("Figma token", "figd_", r"figd_[A-Za-z0-9_-]{30,}"),
    _shape("Postman API key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _shape("Supabase token", "sbp_", r"sbp_[a-f0-9]{40}"),
    _shape("Tailscale key", "tskey-", r"tskey-[a-z]+-[A-Za-z0-9-]{16,}"),
    _shape("HashiCorp Vault token", "hv", r"hv[sbr]\.[A-Za-z0-9_-]{20,}"),
    _shape("age secret key", "AGE-SECRET", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    _shape(
        "JSON Web Token", "eyJ", r"eyJ[A-Za-z0-9_-]{6,}\.eyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?"
    ),
)
"""Tokens that can be told by their shape alone; each has a digit, and eleven characters or more."""

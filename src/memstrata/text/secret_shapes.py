"""How issuers write their keys and tokens, and the addresses that open a door by themselves."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

__all__ = ["SHAPES", "Secret", "Shape", "hinted", "shaped", "within"]


class Secret(NamedTuple):
    """Characters `[start, end)` of a text that are secret, and what they are."""

    start: int
    end: int
    caption: str


class Shape(NamedTuple):
    """A token as its issuer writes it."""

    caption: str
    hint: str
    """A part of every such token; a cheap test before the search."""
    pattern: re.Pattern[str]


def _shape(caption: str, hint: str, pattern: str) -> Shape:
    # A token stands by itself: not in the middle of a longer word, hash or UUID.
    return Shape(caption, hint, re.compile(rf"(?<![A-Za-z0-9_-])(?:{pattern})(?![A-Za-z0-9])"))


_URL = r"[^\s\"'`<>|\\)\]}，。；、！？（）【】「」“”一-龥]"


def _address(hint: str, pattern: str) -> Shape:
    # All of an address but its scheme.
    return Shape("webhook", hint, re.compile(rf"(?<![A-Za-z0-9_.-])(?:{pattern})"))


_CLOUDS = (
    _shape("AWS access key", "IA", r"A[BKS]IA[A-Z0-9]{16}"),
    _shape("Alibaba Cloud access key", "LTAI", r"LTAI[A-Za-z0-9]{12,26}"),
    _shape("Tencent Cloud secret id", "AKID", r"AKID[A-Za-z0-9]{32}"),
    _shape("Baidu Cloud access key", "ALTAK", r"(?:bce-v3/)?ALTAK[A-Za-z0-9/-]{16,}"),
    _shape("Volcano Engine access key", "AKLT", r"AKLT[A-Za-z0-9_-]{20,}"),
    _shape("Azure client secret", "Q~", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    _shape("Google API key", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    _shape("Google OAuth token", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,}"),
    _shape("Google OAuth token", "1//", r"1//0[A-Za-z0-9_-]{30,}"),
    _shape("Google OAuth secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{24,}"),
    _shape("DigitalOcean token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _shape("Cloudflare key", "v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{140,}"),
    _shape("Heroku API key", "HRKU-", r"HRKU-[A-Za-z0-9_-]{30,}"),
    _shape("Fly.io token", "fo1_", r"fo1_[A-Za-z0-9_-]{40,}"),
    _shape("Fly.io token", "fm", r"fm[12][ar]?_[A-Za-z0-9+/=_-]{80,}"),
    _shape("Scalingo token", "tk-us-", r"tk-us-[A-Za-z0-9_-]{40,}"),
    _shape("Databricks token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    _shape("PlanetScale token", "pscale_", r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.=-]{30,}"),
    _shape("Supabase key", "sb", r"sb(?:p_[a-f0-9]{40}|_secret_[A-Za-z0-9_-]{20,})"),
    _shape("Pulumi token", "pul-", r"pul-[a-f0-9]{40}"),
    _shape("Terraform token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}"),
    _shape("Tailscale key", "tskey-", r"tskey-[a-z]+-[A-Za-z0-9-]{16,}"),
    _shape("HashiCorp Vault token", "hv", r"hv[sbr]\.[A-Za-z0-9_-]{20,}"),
    _shape("Doppler token", "dp.", r"dp\.(?:pt|st|sa|ct|scim|audit)\.[A-Za-z0-9_.-]{30,}"),
    _shape("OpenShift token", "sha256~", r"sha256~[A-Za-z0-9_-]{43}"),
    _shape("Yandex Cloud key", "AQVN", r"AQVN[A-Za-z0-9_-]{35,38}"),
)
_MODELS = (
    _shape("Anthropic API key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{12,}"),
    # A digit is asked for so that "sk-learn-contrib-pipeline" stays.
    _shape(
        "API key",
        "sk-",
        r"sk-(?:(?=[A-Za-z]*\d)[A-Za-z0-9]{8,}|(?=(?:[A-Za-z_-]*\d){3})[A-Za-z0-9_-]{20,})",
    ),
    _shape("xAI API key", "xai-", r"xai-[A-Za-z0-9]{40,}"),
    _shape("Groq API key", "gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    _shape("Perplexity API key", "pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    _shape("Replicate API token", "r8_", r"r8_[A-Za-z0-9]{30,}"),
    _shape("Hugging Face token", "hf_", r"hf_[A-Za-z0-9]{30,}"),
    _shape("Hugging Face token", "api_org_", r"api_org_[A-Za-z0-9]{30,}"),
    _shape("NVIDIA API key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{40,}"),
    _shape("Tavily API key", "tvly-", r"tvly-[A-Za-z0-9_-]{20,}"),
    _shape("Fireworks API key", "fw_", r"fw_[A-Za-z0-9]{20,}"),
    _shape("Firecrawl API key", "fc-", r"fc-[a-f0-9]{32}"),
    _shape("LangSmith API key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    _shape("Langfuse secret key", "sk-lf-", r"sk-lf-[a-f0-9-]{36}"),
    _shape("ElevenLabs API key", "sk_", r"sk_[a-f0-9]{48}"),
    _shape("Jina API key", "jina_", r"jina_[A-Za-z0-9_-]{40,}"),
    _shape("memstrata API key", "mst_", r"mst_[0-9a-f]{16}_[0-9a-f]{64}"),
    _shape("Pinecone API key", "pcsk_", r"pcsk_[A-Za-z0-9_]{40,}"),
    _shape("E2B API key", "e2b_", r"e2b_[a-f0-9]{40}"),
)
_CODE_HOSTS = (
    _shape("Buildkite token", "bkua_", r"bkua_[a-f0-9]{40}"),
    _shape("CircleCI token", "CCI", r"CCI(?:PAT|PRJ)_[A-Za-z0-9_]{30,}"),
    _shape("Netlify token", "nf", r"nf[pcou]_[A-Za-z0-9]{36,}"),
    _shape("Render key", "rnd_", r"rnd_[A-Za-z0-9]{28,}"),
    _shape("GitHub token", "_", r"gh[pousr]_[A-Za-z0-9]{30,}"),
    _shape("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,}"),
    _shape(
        "GitLab token",
        "gl",
        r"gl(?:pat|dt|rt|rtr|ptt|soat|cbt|ft|agent|oas|imt|ffct|wt)-[A-Za-z0-9_.-]{20,}",
    ),
    _shape("Bitbucket token", "ATBB", r"ATBB[A-Za-z0-9]{28,}"),
    _shape("Atlassian token", "AT", r"AT[AC]TT3[A-Za-z0-9_=-]{50,}"),
    _shape("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _shape("PyPI token", "pypi-", r"pypi-AgE[A-Za-z0-9_-]{16,}"),
    _shape("RubyGems API key", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    _shape("NuGet API key", "oy2", r"oy2[a-z0-9]{43}"),
    _shape("crates.io token", "cio", r"cio[A-Za-z0-9]{32}"),
    _shape("Clojars token", "CLOJARS_", r"CLOJARS_[A-Fa-f0-9]{60}"),
    _shape("Docker token", "dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    _shape("Artifactory key", "AKCp", r"AKCp[A-Za-z0-9]{60,80}"),
    _shape("Artifactory token", "cmVmd", r"cmVmd[A-Za-z0-9]{59}"),
    _shape("SonarQube token", "sq", r"sq[uap]_[A-Fa-f0-9]{40}"),
    _shape("Snyk token", "snyk_", r"snyk_[a-z]{3,4}\.[A-Za-z0-9_.-]{30,}"),
    _shape("Sourcegraph token", "sgp_", r"sgp_(?:[a-zA-Z0-9-]+_)?[a-f0-9]{40}"),
    _shape("Sentry token", "sntry", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    _shape(
        "Grafana token", "gl", r"gl(?:sa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|c_eyJ[A-Za-z0-9+/=]{30,})"
    ),
    _shape("New Relic key", "NR", r"NR(?:AK|AA|BR|II|RA|SP)-[A-Za-z0-9_-]{20,}"),
    _shape("New Relic key", "NRAL", r"[a-f0-9]{36}NRAL"),
    _shape("Dynatrace token", "dt0", r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _shape("LaunchDarkly key", "api-", r"api-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}"),
    _shape("Postman API key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _shape("Prefect token", "pn", r"pn[ub]_[A-Za-z0-9]{36}"),
    _shape("PostHog key", "phx_", r"phx_[A-Za-z0-9]{40,}"),
)
_PLATFORMS = (
    _shape("Zhipu API key", ".", r"[0-9a-f]{32}\.[A-Za-z0-9]{16}"),
    _shape("Firebase server key", ":APA91b", r"AAAA[A-Za-z0-9_-]{7}:APA91b[A-Za-z0-9_-]{100,}"),
    _shape("Dropbox token", "sl.", r"sl\.(?:u\.)?[A-Za-z0-9_-]{60,}"),
    _shape("Trello token", "ATTA", r"ATTA[a-f0-9]{64,72}"),
    _shape("Twitch token", "oauth:", r"oauth:[a-z0-9]{30}"),
    _shape("MailerSend token", "mlsn.", r"mlsn\.[a-f0-9]{64}"),
    _shape("Mandrill key", "md-", r"md-(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{22}"),
    _shape("Slack token", "xox", r"xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}"),
    _shape("Slack token", "xapp-", r"xapp-[A-Za-z0-9-]{20,}"),
    _shape(
        "Discord token", ".", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"
    ),
    Shape(
        "Telegram bot token",
        ":A",
        re.compile(r"(?:(?<![A-Za-z0-9_-])|(?<=/bot))\d{8,10}:A[A-Za-z0-9_-]{34}(?![A-Za-z0-9])"),
    ),
    _shape(
        "Telegram bot token", ":", r"\d{9,10}:(?=[A-Za-z_-]*\d)(?=[^\s]*[a-z])[A-Za-z0-9_-]{35}"
    ),
    _shape("Stripe key", "k_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,}"),
    _shape("webhook secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{20,}"),
    _shape("SendGrid API key", "SG.", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _shape("Mailgun API key", "key-", r"key-[0-9a-f]{32}"),
    _shape("Mailchimp API key", "-us", r"[0-9a-f]{32}-us\d{1,2}"),
    _shape("Brevo API key", "xkeysib-", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    _shape("Resend API key", "re_", r"re_[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,28}"),
    _shape("Twilio API key", "SK", r"SK[0-9a-f]{32}"),
    _shape("Shopify token", "shp", r"shp(?:at|ca|pa|ss|ua)_[A-Fa-f0-9]{32}"),
    _shape("Square token", "sq0", r"sq0[a-z]{3}-[A-Za-z0-9_-]{22,}"),
    _shape("Square token", "EAAA", r"EAAA[A-Za-z0-9_-]{56,}"),
    _shape("Facebook token", "EAA", r"EAA[A-Za-z0-9]{80,}"),
    _shape(
        "PayPal token", "access_token$", r"access_token\$(?:production|sandbox)\$[a-z0-9$]{40,}"
    ),
    _shape("Flutterwave key", "FLWSECK", r"FLWSECK(?:_TEST)?-[A-Za-z0-9-]{12,}"),
    _shape("EasyPost key", "EZ", r"EZ[AT]K[A-Za-z0-9]{50,}"),
    _shape("Shippo token", "shippo_", r"shippo_(?:live|test)_[A-Fa-f0-9]{40}"),
    _shape("Duffel token", "duffel_", r"duffel_(?:live|test)_[A-Za-z0-9_=-]{40,}"),
    _shape("Adobe client secret", "p8e-", r"p8e-[A-Za-z0-9]{32}"),
    _shape("Airtable token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _shape(
        "HubSpot token", "pat-", r"pat-[a-z]{2,3}\d-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}"
    ),
    _shape("Asana token", "/", r"[12]/\d{13,18}(?:/\d{13,18})?:[a-f0-9]{32}"),
    _shape("Linear API key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    _shape("Notion token", "ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    _shape("Notion token", "secret_", r"secret_[A-Za-z0-9]{43}"),
    _shape("Figma token", "fig", r"fig[dou]_[A-Za-z0-9_-]{30,}"),
    _shape("Typeform token", "tfp_", r"tfp_[A-Za-z0-9_.=-]{40,}"),
    _shape("Contentful token", "CFPAT-", r"CFPAT-[A-Za-z0-9_-]{40,}"),
    _shape("Mapbox token", "sk.", r"sk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}"),
    _shape("WorkOS key", "sk_", r"sk_(?:prod|staging)_[A-Za-z0-9]{20,}"),
    _shape("1Password secret key", "A3-", r"A3-[A-Z0-9]{6}-[A-Z0-9]{6}(?:-?[A-Z0-9]{5}){4}"),
    _shape("1Password token", "ops_", r"ops_eyJ[A-Za-z0-9+/=_-]{100,}"),
    _shape("ReadMe API key", "rdme_", r"rdme_[a-z0-9]{70}"),
    _shape("ServerChan key", "SCT", r"SCT\d{1,6}T[A-Za-z0-9]{20,}"),
    _shape("age secret key", "AGE-SECRET", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    _shape(
        "JSON Web Token",
        "eyJ",
        r"eyJ[A-Za-z0-9_-]{6,}\.(?:eyJ[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?|(?:[A-Za-z0-9_-]*\.){1,3}[A-Za-z0-9_-]{16,})",
    ),
)
_WEBHOOKS = (
    _address(
        "hooks.slack.com",
        r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,}",
    ),
    _address(
        "/webhooks/",
        r"(?:(?:ptb|canary)\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d+/[\w-]{40,}",
    ),
    _address(
        "office", rf"[\w-]{{0,63}}\.?(?:webhook\.office|outlook\.office)\.com/webhook{_URL}{{30,}}"
    ),
    _address(
        ".logic.azure.com", rf"[\w.-]{{1,100}}\.logic\.azure\.com{_URL}{{0,200}}sig={_URL}{{20,}}"
    ),
    _address(
        "/bot/",
        r"open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/(?:v\d/)?hook/[A-Za-z0-9-]{20,}",
    ),
    _address("/robot/send", rf"(?:oapi|api)\.dingtalk\.com/(?:v[\d.]+/)?robot/send\?{_URL}{{20,}}"),
    _address(
        "qyapi.weixin",
        rf"qyapi\.weixin\.qq\.com/cgi-bin/webhook/(?:send|upload_media)\?{_URL}{{20,}}",
    ),
    _address(
        "chat.googleapis", rf"chat\.googleapis\.com/v\d/spaces/{_URL}{{1,60}}key={_URL}{{20,}}"
    ),
    _address("hooks.zapier", rf"hooks\.zapier\.com/hooks/catch/{_URL}{{8,}}"),
    _address("maker.ifttt", rf"maker\.ifttt\.com/trigger/{_URL}{{1,60}}/with/key/[\w-]{{20,}}"),
    _address("hook.", r"hook\.(?:[a-z]{2}\d\.)?(?:make|integromat)\.com/[a-z0-9]{24,}"),
    _address(
        "/hooks/",
        r"[\w.-]{4,100}(?::\d{2,5})?/hooks/(?:[A-Za-z0-9]{17,24}/[A-Za-z0-9]{30,}|[a-z0-9]{26})"
        r"(?![A-Za-z0-9])",
    ),
    _address(
        "webhook",
        r"[\w.-]{4,100}(?::\d{2,5})?/(?:api/webhook/[\w-]{16,}"
        r"|webhook(?:-test)?/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
        r"|flow/api/trigger-webhook/[0-9a-f]{20,})",
    ),
    _address("sctapi.ftqq", r"sctapi\.ftqq\.com/SCT[A-Za-z0-9]{20,}(?:\.send)?"),
    _address("api.day.app", r"api\.day\.app/[A-Za-z0-9]{20,}"),
)
SHAPES: tuple[Shape, ...] = (*_CLOUDS, *_MODELS, *_CODE_HOSTS, *_PLATFORMS, *_WEBHOOKS)
"""Tokens that can be told by their shape alone; each has a digit, and eleven characters or more."""

# Where an issuer gives an id and a secret together, the secret follows its id.
_PAIR = re.compile(
    r"(?:A[KS]IA[A-Z0-9]{16}|LTAI[A-Za-z0-9]{12,26}|AKID[A-Za-z0-9]{32}|AKLT[A-Za-z0-9_-]{20,})"
    r"[\"'`]?(?:\s{0,3}[/,:|;、，：\n]\s{0,3}"
    r"|\s{1,3})[\"'`]?(?P<secret>[A-Za-z0-9+/]{28,64}={0,2})(?![A-Za-z0-9+/=_:-])"
)


# What documentation shows in place of a key.
_EXAMPLE = "EXAMPLE"
_AWS = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=_-])")
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+|[a-z0-9]+|[A-Z0-9]+|[A-Za-z]+")


def shaped(text: str, small: str, runs: str) -> Iterator[Secret]:
    """The keys and tokens that their shape gives away.

    `small` is the text in lower case, `runs` what in it is long, has a digit and no spaces.
    """
    for shape in SHAPES:
        if shape.hint in runs:
            for match in shape.pattern.finditer(text):
                if not match[0].endswith(_EXAMPLE):
                    yield Secret(match.start(), match.end(), shape.caption)
    if "aws" in small:
        for match in _AWS.finditer(text):
            if not _HEX.fullmatch(match[0]):
                yield Secret(match.start(), match.end(), "AWS secret key")
    if "IA" in text or "LTAI" in text or "AKID" in text or "AKLT" in text:
        for match in _PAIR.finditer(text):
            yield Secret(*match.span("secret"), "access key secret")


def within(places: Sequence[int], low: int, high: int) -> bool:
    """Whether one of the places, which are in order, lies in `[low, high)`."""
    at = bisect_left(places, low)
    return at < len(places) and places[at] < high


def hinted(small: str, words: Sequence[str], chinese: Sequence[str]) -> bool:
    """Whether one of the words is in a text in lower case; a cheap test before a search."""
    for word in words:
        if word in small:
            return True
    if not small.isascii():
        for word in chinese:
            if word in small:
                return True
    return False

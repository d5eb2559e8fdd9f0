"""Secrets of well-known shape, and what only looks like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from text.secret_examples import ALIKE, SAID

from memstrata.text.secrets import Secret, find, replace
from memstrata.text.standin import removed

HEX = "0123456789abcdef" * 4
LONG = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv" * 3
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MhgHcTz6sE2I2yPB\n" * 3
    + "-----END RSA PRIVATE KEY-----"
)

# The text, the secret in it, and what it is called.
SECRETS = [
    (f"here is the key:\n{PEM}\nkeep it", PEM, "private key"),
    (
        PEM.replace("RSA PRIVATE", "OPENSSH PRIVATE"),
        PEM.replace("RSA PRIVATE", "OPENSSH PRIVATE"),
        "private key",
    ),
    ("use AKIAQ7TEST0EXAMPLE99 for S3", "AKIAQ7TEST0EXAMPLE99", "AWS access key"),
    (f"sk-ant-api03-{LONG[:40]}", f"sk-ant-api03-{LONG[:40]}", "Anthropic API key"),
    ("set sk-TEST00000000000000000000 there", "sk-TEST00000000000000000000", "API key"),
    ("sk-TEST0000", "sk-TEST0000", "API key"),
    (f"sk-proj-{LONG[:48]}.", f"sk-proj-{LONG[:48]}", "API key"),
    (f"token ghp_{LONG[:36]}", f"ghp_{LONG[:36]}", "GitHub token"),
    (f"github_pat_11ABC_{LONG[:50]}", f"github_pat_11ABC_{LONG[:50]}", "GitHub token"),
    (f"glpat-{LONG[:20]}", f"glpat-{LONG[:20]}", "GitLab token"),
    ("xoxb-000000000000-TESTtestTEST", "xoxb-000000000000-TESTtestTEST", "Slack token"),
    (f"(AIza{LONG[:35]})", f"AIza{LONG[:35]}", "Google API key"),
    ("sk_test_0000TEST0000", "sk_test_0000TEST0000", "Stripe key"),
    (f"SG.{LONG[:22]}.{LONG[:43]}", f"SG.{LONG[:22]}.{LONG[:43]}", "SendGrid API key"),
    (f"hf_{LONG[:34]}", f"hf_{LONG[:34]}", "Hugging Face token"),
    (
        f"the desk's key is mst_{HEX[:16]}_{HEX}, do not share it",
        f"mst_{HEX[:16]}_{HEX}",
        "memstrata API key",
    ),
    (f"记忆服务的钥匙mst_{HEX[:16]}_{HEX}，收好", f"mst_{HEX[:16]}_{HEX}", "memstrata API key"),
    (f"X-API-Key: mst_{HEX[:16]}_{HEX}", f"mst_{HEX[:16]}_{HEX}", "memstrata API key"),
    (f"npm_{LONG[:36]}", f"npm_{LONG[:36]}", "npm token"),
    (f"123456789:{LONG[:35]}", f"123456789:{LONG[:35]}", "Telegram bot token"),
    (f"LTAI{LONG[:20]}", f"LTAI{LONG[:20]}", "Alibaba Cloud access key"),
    (f"eyJhbGciOi.eyJzdWIiOi.{LONG[:20]}", f"eyJhbGciOi.eyJzdWIiOi.{LONG[:20]}", "JSON Web Token"),
    (f"Authorization: Bearer {LONG[:30]}", LONG[:30], "token"),
    ("postgres://ana:h7unter@db.example/app", "h7unter", "password in a URL"),
    ("password: hunter2-test", "hunter2-test", "password"),
    ("Password: swordfish", "swordfish", "password"),
    ('{"password": "open sesame"}', "open sesame", "password"),
    ("DB_PASS=s3cr3t!", "s3cr3t!", "password"),
    ("pwd=abc123, user=ana", "abc123", "password"),
    ("mysql --password hunter2 -u ana", "hunter2", "password"),
    ("My wifi password is Tulip2020.", "Tulip2020", "password"),
    ("the password for the garage is 'rosebud'", "rosebud", "password"),
    ("api_key = 'abcd1234efgh5678'", "abcd1234efgh5678", "token"),
    ("client_secret: 9f8e7d6c5b4a", "9f8e7d6c5b4a", "token"),
    ("密码：hunter2", "hunter2", "password"),
    ("WiFi密码是abc12345你记一下", "abc12345", "password"),
    ("密码已经改成 Tiger2020 了", "Tiger2020", "password"),
    ("口令是芝麻开门", "芝麻开门", "password"),
    ("门禁口令：“三只小猪”", "三只小猪", "password"),
    ("my card is 4111 1111 1111 1111, exp 12/30", "4111 1111 1111 1111", "payment card number"),
    ("amex 3782-822463-10005", "3782-822463-10005", "payment card number"),
    ("pay with 5555555555554444", "5555555555554444", "payment card number"),
    ("卡号6222020000000000000。", "6222020000000000000", "payment card number"),
    ("身份证号11010519491231002X", "11010519491231002X", "identity number"),
]

ORDINARY = [
    "I love pancakes and long walks",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b fixes it",
    "sha256 " + HEX,
    "id 3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    "call +44 20 7946 0958 or 13800138000",
    "order number 4111111111111111",
    "订单号4111111111111111",
    "order 20240512-000123456",
    "1234 5678 9012 3456",
    "4111 1111 1111 1112",
    "110105194912310021",
    "0000000000000000",
    "3.14159265358979323846",
    "I need a password reset",
    "I forgot my password again",
    "The password is wrong",
    "my password is expired and the token is invalid",
    "password is required",
    "Password: required",
    "password: str = Field(...)",
    "password = config.password",
    "password = get_password()",
    "password=${DB_PASSWORD}",
    "password: ********",
    "password: <your password>",
    "Password: must have eight characters",
    "the password is well-known to everyone",
    "pwd: /home/ana/notes",
    "max_tokens=4096, token: 512",
    "The secret is to rest the dough",
    "secret: love",
    "the key: patience",
    "sk-learn-contrib-pipelines is a package",
    "https://example.org/a@b and mailto:ana@example.org",
    "https://ana@example.org/",
    "postgres://user:<password>@host/db",
    "密码是什么？",
    "忘记密码了",
    "密码错了，请重置密码",
    "密码是8位数字",
    "密码：见附件",
    "口令是对的",
    "task-1234567890abcdef",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
    "",
]


def mask(text: str) -> tuple[str, list[Secret]]:
    return replace(text, removed)[0], find(text)


@pytest.mark.parametrize(("text", "secret", "caption"), SECRETS + SAID)
def test_secrets_are_masked_and_all_else_stays(text: str, secret: str, caption: str) -> None:
    masked, found = mask(text)
    assert [(text[one.start : one.end], one.caption) for one in found] == [(secret, caption)]
    assert masked == text.replace(secret, f"[secret removed: {caption}]")
    assert mask(masked) == (masked, [])


@pytest.mark.parametrize("text", ORDINARY + ALIKE)
def test_ordinary_text_stays(text: str) -> None:
    assert mask(text) == (text, [])


def test_several_secrets_in_one_text() -> None:
    text = "密码：hunter2 and AKIAQ7TEST0EXAMPLE99\r\n\tpassword=AKIAQ7TEST0EXAMPLE98\n"
    masked, found = mask(text)
    assert len(found) == 3
    assert masked.endswith("]\n")
    assert "hunter2" not in masked
    assert "AKIA" not in masked
    assert "\r\n\tpassword=" in masked


def test_a_secret_is_one_wherever_it_stands_in_a_text() -> None:
    text = "Try 'Quince-40-Gate' there; its password: Quince-40-Gate, and Quince-40-Gates are none"
    masked, found = mask(text)
    assert len(found) == 2
    assert masked.count("[secret removed: password]") == 2
    assert masked.endswith("Quince-40-Gates are none")


def test_an_id_in_small_letters_is_no_account() -> None:
    """It passes the check of an Andorran IBAN; 1 in some thousand ids does."""
    assert find("ad9053365265147180dc4584") == []
    assert find("document ad9053365265147180dc4584 was changed") == []
    [secret] = find("my iban is ad9053365265147180dc4584")
    assert secret.caption == "IBAN"


def test_a_key_whose_end_is_missing() -> None:
    text = PEM.split("-----END")[0]
    masked, _ = mask(f"before {text}\nafter, as usual")
    assert masked == "before [secret removed: private key]\nafter, as usual"


def test_a_key_in_a_json_string() -> None:
    text = '{"key": "' + PEM.replace("\n", "\\n") + '"}'
    assert mask(text)[0] == '{"key": "[secret removed: private key]"}'


_PIECES = [
    *(
        "password",
        ": ",
        "=",
        "is ",
        "hunter2",
        "密码",
        "：",
        "sk-",
        "AKIA",
        "ghp_",
        "4111 1111 1111 1111",
    ),
    *(
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "://",
        "@",
        "a:b",
        "eyJ",
        ".",
        "\n",
        '"',
    ),
    *(
        "0123456789",
        "Bearer ",
        LONG[:36],
        "11010519491231002X",
        "口令是",
        "芝麻开门",
        "[secret removed: ",
    ),
]


@given(st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=5)), max_size=15).map("".join))
def test_places_are_in_order_and_the_rest_is_kept(text: str) -> None:
    masked, found = mask(text)
    assert found == find(text)
    rest, at = [], 0
    for one in found:
        assert at <= one.start < one.end <= len(text)
        rest.append(text[at : one.start] + f"[secret removed: {one.caption}]")
        at = one.end
    assert "".join(rest) + text[at:] == masked


_HOSTILE = (
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN ",
    "password ",
    "password is ",
    "password:",
    "sk-",
    "eyJ",
    "eyJaaaaaaaa.",
    "4 ",
    "1",
    "4111 ",
    "://",
    "://a:",
    "://a:b@",
    "密码",
    "密码是",
    "口令是",
    "Bearer ",
    "a",
    "a-",
    "A1",
    " ",
    "\n",
    "token=",
    "api key ",
    "xoxb-",
    "M.",
    '"',
    "password is for ",
    "pin ",
    "pin 1",
    "pin for ",
    "door code ",
    "密码 1",
    "cvv ",
    "account ",
    "bank account 1",
    "account number ",
    "账号",
    "银行账号1",
    "ssn ",
    "123-45-",
    "123-45-6789 ",
    "passport ",
    "passport A1",
    "护照1",
    "ni ",
    "AB123456",
    "AB 12 34 56 ",
    "DE89",
    "DE89 3704 ",
    "seed phrase ",
    "zebra ",
    "seed phrase zebra ",
    "mnemonic zebra ",
    "掩 ",
    "助记词掩 ",
    "otp ",
    "otpauth://",
    "otpauth://?secret=",
    "2fa ABCD ",
    "backup code ",
    "backup code 1a2b-3c4d ",
    "1a2b-",
    "backup code\n",
    "key ",
    "key 1a",
    "key=",
    "secret1a2b3c4d5e6f7g8h ",
    "key: 1a2b3c4d5e6f7g8h ",
    "key a1",
    "authorization: ",
    "authorization1 ",
    "basic ",
    "a@b.co ",
    "a@b.co / ",
    "a@b.co/x1y2z3 ",
    "a:b1@",
    "aa:bb1cc@1.1.1.1",
    "curl -u ",
    "curl 1 -u a:",
    "mysql -p",
    "mysql a ",
    "docker login -p ",
    "--token ",
    "echo ",
    "echo a | sudo ",
    "redis-cli -a ",
    "login(",
    "login('a',",
    "identified by '",
    "<password>",
    "login ",
    "login is a ",
    "login: a/",
    "wifi: a ",
    "creds a1 ",
    "账号密码",
    "账号a/",
    "密码a1",
    "密码改",
    "a是密码",
    "1是密码",
    "a1b2c3 is my password ",
    "a1b2c3d4 as the password",
    "pass ",
    "pass 1a",
    "key1 ",
    "[vault:",
    "[vault:vault_",
    "[secret removed:",
    "[secret removed: a",
    "AKIA1234567890ABCDEF",
    "AKIA1234567890ABCDEF / ",
    "aws ",
    "aws1 AAAA",
    "hooks.slack.com/services/",
    "qyapi.weixin.qq.com/cgi-bin/webhook/send?1",
    ".logic.azure.com1",
    "office",
    "a.office1",
    "x/hooks/1",
    "1webhook/",
    "1//0",
    "1/2",
    "0123456789abcdef",
    "sort code 20-00-00 ",
    "62",
    "622848 ",
    "110105",
    "110105 1949",
    "code for ",
    "code for the ",
    "combination 1-",
    "1-2-",
    "digits on ",
    "phrase a ",
    "passphrase is a ",
    "passphrase for ",
    "、密码",
    "“",
    "密：",
    "authy ABCD",
    "sess=1",
    "sessionid=1",
    "AccountKey=1",
    "auth=('a','",
    "wpa key ",
    "SK ",
    "AK 1",
    "ak=1",
    "凭证1",
    "token\n1",
    "app_",
    "\\n",
    "***",
    "***1",
    "1password",
    'password\\"',
    "password(",
    "ÀÈ",
    "İ1",
)


@pytest.mark.parametrize("piece", _HOSTILE)
def test_a_hostile_text_takes_time_in_proportion(piece: str) -> None:
    text = piece * (40_000 // len(piece))
    assert len(mask(text)[0]) > 0


VAULT = "[vault:vault_0123456789abcdef0123456789abcdef API key]"


@pytest.mark.parametrize("placed", [VAULT, "[secret removed: payment card number]"])
def test_what_stands_for_a_secret_is_none_and_hides_none_beside_it(placed: str) -> None:
    for text in (placed, f"my password is {placed}", f"api key: {placed}", f"密码：{placed}。"):
        assert mask(text) == (text, [])
    text = f"{placed} and the password is Tulip2020, {placed}"
    masked, found = mask(text)
    assert [text[one.start : one.end] for one in found] == ["Tulip2020"]
    assert masked == f"{placed} and the password is [secret removed: password], {placed}"


def test_a_recovery_phrase_ends_with_its_last_word() -> None:
    words = "zebra brick candy dolphin eagle forest garden hunter island jungle kitten ladder"
    text = f"my seed phrase is {words} keep it"
    masked, _ = mask(text)
    assert masked == "my seed phrase is [secret removed: recovery phrase] keep it"
    # Words in the order of the alphabet are a list to learn.
    learnt = " ".join(sorted(words.split()))
    assert mask(f"seed phrase: {learnt}")[1] == []


def test_several_codes_follow_one_word() -> None:
    text = "backup codes: 1a2b-3c4d, 5e6f-7g8h and 9i0j-1k2l"
    masked, found = mask(text)
    assert len(found) == 3
    assert masked.count("[secret removed: backup code]") == 3


def test_a_letter_that_grows_in_lower_case_moves_nothing() -> None:
    text = "İİİ my password is Tulip2020"
    assert mask(text)[0] == "İİİ my password is [secret removed: password]"

"""Secrets for tests, drawn by lot at run time, so that no scanner takes this repository's files for ones that leak."""

import base64
import random
import string
from dataclasses import dataclass

_LETTERS = string.ascii_letters + string.digits
_BASE64, _HEX, _CAPITALS = _LETTERS + "+/", "0123456789abcdef", string.ascii_uppercase + "234567"


@dataclass(frozen=True)
class Lot:
    """Draws secrets of every form, the same for the same seed."""

    seed: int = 7

    def draw(self, length: int, letters: str = _LETTERS) -> str:
        """Return so many letters."""
        dice = random.Random(f"{self.seed} {length} {letters}")
        return "".join(dice.choice(letters) for _ in range(length))

    def tokens(self) -> dict[str, str]:
        """Return a token of each vendor, by the vendor's name."""
        d = self.draw
        return {
            "aws id": "AKIA" + d(16, _CAPITALS),
            "aws secret": f'aws_secret_access_key = "{d(40, _BASE64)}"',
            "google": "AIza" + d(35),
            "google client": "GOCSPX-" + d(28),
            "azure storage": f"AccountName=x;AccountKey={d(86, _BASE64)}==;EndpointSuffix=y",
            "azure bus": f"SharedAccessKey={d(43, _BASE64)}=",
            "azure client": d(3) + "8Q~" + d(34),
            "digitalocean": "dop_v1_" + d(64, _HEX),
            "github": "ghp_" + d(36),
            "github app": "ghs_" + d(36),
            "github fine": f"github_pat_{d(22)}_{d(59)}",
            "gitlab": "glpat-" + d(20),
            "npm": "npm_" + d(36),
            "pypi": "pypi-AgEIcHlwaS5vcmc" + d(120),
            "anthropic": "sk-ant-api03-" + d(95),
            "openai": "sk-proj-" + d(120),
            "openai old": "sk-" + d(48),
            "hugging face": "hf_" + d(34),
            "slack": f"xoxb-{d(12, string.digits)}-{d(12, string.digits)}-{d(24)}",
            "slack hook": f"https://hooks.slack.com/services/T{d(9, _CAPITALS)}/B{d(9, _CAPITALS)}/{d(24)}",
            "stripe": "sk_live_" + d(24),
            "sendgrid": f"SG.{d(22)}.{d(43)}",
            "twilio": "SK" + d(32, _HEX),
            "telegram": f"{d(9, '123456789')}:AA{d(33)}",
            "shopify": "shpat_" + d(32, _HEX),
            "databricks": "dapi" + d(32, _HEX),
            "vault": "hvs." + d(95),
            "terraform": f"{d(14)}.atlasv1.{d(67)}",
            "age": "AGE-SECRET-KEY-1" + d(58, _CAPITALS),
            "wireguard": f"[Interface]\nPrivateKey = {d(43, _BASE64)}=",
        }

    def key(self, kind: str = "RSA ", newline: str = "\n", block: str = "") -> str:
        """Return a private key in lines of 64 letters."""
        lines = [self.draw(64, _BASE64), *(self.draw(64 - n, _BASE64) for n in range(1, 6))]
        name = f"{kind}PRIVATE KEY{block}"
        return newline.join([f"-----BEGIN {name}-----", *lines, f"-----END {name}-----", ""])

    def in_base64(self) -> str:
        """Return a private key as Kubernetes' secrets have it."""
        return base64.b64encode(self.key().encode()).decode()

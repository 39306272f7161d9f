"""Reads `tokenizer.json`, which may be a stranger's: of a model's folder, or from a server.

The library panics on some of what such a file can say, and not before it is used; a panic is no `Exception`, so that it
would end the program."""

from tokenizers import Tokenizer

_TRIAL = "def a_b(x):\n\treturn 'é' + \"1\" * 23\r\n    # 漢字 <s>"


def parse_tokenizer(text: str) -> Tokenizer:
    """Return the tokenizer of a file's text, without truncation and padding, after it was tried on a few characters.
    Raises `ValueError`: it is none."""
    try:
        tokenizer = Tokenizer.from_str(text)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode(_TRIAL)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # bare Exception, and panics
        raise ValueError(str(error)[:200]) from error
    return tokenizer

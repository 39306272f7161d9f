"""Tables come near the tokenizers that they stand for, in any language and script; their bound is below none."""

# ruff: noqa: RUF001

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from lamr_model.counters import DEFAULT, MODELS_OWN, TOKENIZERS, token_counter
from lamr_model.encoding import PromptEncoder
from lamr_model.spec import bundled_repository, client_files
from lamr_model.tokens.token_tables import ANY, SCRIPTS, TABLES
from lamr_postprocess import split_lines
from tokenizers import Tokenizer, models, pre_tokenizers

FIXTURES = Path(__file__).parents[2] / "postprocess" / "fixtures"
REAL = {
    "Cart.svelte": (379, 380, 422, 382, 380),
    "CartPanel.vue": (351, 349, 408, 349, 349),
    "CartRepository.kt": (647, 646, 722, 648, 646),
    "CartView.swift": (617, 616, 646, 617, 616),
    "Feeder.m": (735, 733, 858, 734, 733),
    "Ledger.java": (1958, 1910, 2195, 1922, 1910),
    "Orders.cs": (1720, 1699, 1830, 1716, 1699),
    "Orders.scala": (573, 569, 613, 571, 569),
    "cart.lua": (545, 543, 568, 548, 543),
    "cart_page.dart": (583, 573, 649, 574, 573),
    "cart_server.ex": (711, 709, 728, 716, 709),
    "catalogue.xml": (448, 447, 456, 456, 447),
    "cluster.tf": (436, 432, 472, 434, 432),
    "crawler.go": (1981, 1981, 2520, 1988, 1980),
    "dashboard.tsx": (1812, 1764, 1966, 1768, 1764),
    "deploy.sh": (614, 607, 624, 608, 607),
    "editor.jsonc": (402, 402, 411, 408, 402),
    "events.json": (370, 370, 357, 378, 370),
    "geometry.cpp": (1949, 1945, 2208, 1954, 1945),
    "hashtable.c": (2011, 2005, 2328, 2049, 2005),
    "interpreter.rs": (2162, 2143, 2513, 2149, 2143),
    "inventory.js": (2063, 2046, 2218, 2055, 2046),
    "library.rb": (1913, 1908, 1934, 1915, 1908),
    "page.html": (510, 508, 533, 513, 508),
    "project.toml": (339, 338, 383, 361, 338),
    "queue.zig": (564, 561, 626, 569, 561),
    "scheduler.ts": (2162, 2148, 2413, 2151, 2148),
    "services.yaml": (502, 502, 468, 520, 502),
    "shop.php": (1927, 1918, 2053, 1931, 1918),
    "styles.css": (386, 385, 434, 392, 385),
}
"""Tokens of each file by the real tokenizers, in the order of `TABLES`: tiktoken's ranks (o200k, cl100k, Qwen's), the
`tokenizer.json` that Anthropic published in 2023, and llama3-tokenizer-js 1.2.0."""


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_near_the_real_tokenizers(bundled: PromptEncoder, name: str) -> None:
    texts = [(FIXTURES / file).read_text(encoding="utf-8") for file in REAL]
    real = np.array([counts[TABLES.index(name)] for counts in REAL.values()])
    shares = token_counter(name, bundled).count_each(texts) / real
    assert np.abs(shares - 1).max() < (0.03 if name == DEFAULT else 0.06), dict(
        zip(REAL, shares, strict=True)
    )
    assert abs(np.mean(shares) - 1) < 0.015


def test_no_real_tokenizer_has_more_than_the_bound(bundled: PromptEncoder) -> None:
    texts = [(FIXTURES / file).read_text(encoding="utf-8") for file in REAL]
    assert (bundled.table(ANY).count_each(texts) >= np.max(list(REAL.values()), axis=1)).all()


def test_lines_add_up_to_the_text(bundled: PromptEncoder) -> None:
    text = "\r\n".join([*(f"name_{n} = call({n}, 'é漢\ud800')" for n in range(99)), "", "\t\x0c", "a\rb"])
    for name in TABLES:
        table = token_counter(name, bundled)
        assert table.count_tokens(text) == np.ceil(table.line_costs(split_lines(text)).sum().round(3))
        assert table.count_tokens(text) == table.count_each([text, "x"])[0]
    assert token_counter(None, bundled) is token_counter(DEFAULT, bundled)
    assert (*TABLES, ANY, MODELS_OWN) == TOKENIZERS


@pytest.mark.parametrize("part", [" ", "\x0c", "\u2028", "a", "A", "(", "é", "\r", "_", "9"])
def test_no_run_takes_the_time_of_its_square(bundled: PromptEncoder, part: str) -> None:
    began = time.process_time()
    assert token_counter(DEFAULT, bundled).count_tokens(part * 500_000) > 0
    assert time.process_time() - began < 30  # seconds of CPU; a square takes hours


def test_words_of_chance_and_columns_of_spaces_have_the_tokens_that_the_real_ones_give(
    bundled: PromptEncoder,
) -> None:
    letters = "".join(chr(97 + (n * n * 7 + n) % 26) for n in range(5_000))
    for text, least, most in ((letters, 1_700, 3_000), ((" " * 200 + "\n") * 100, 100, 320)):
        for name in TABLES:
            assert least < token_counter(name, bundled).count_tokens(text) < most, name
    assert bundled.table(ANY).count_tokens(letters) > 2_700


REPEATED = 10
MOST = {
    "Prüft, ob die Anzahl der Versuche die Grenze überschreitet, und löst dann einen Fehler aus": 290,
    "Kiểm tra xem số lần thử lại có vượt quá giới hạn hay không và ném ra ngoại lệ": 340,
    "Ελέγχει αν ο αριθμός των προσπαθειών ξεπερνά το όριο και τότε προκαλεί σφάλμα": 700,
    "Проверяет, превышает ли число повторов предел, и тогда вызывает исключение": 230,
    "Ստուգում է, արդյոք փորձերի թիվը գերազանցում է սահմանը, և սխալ է հաղորդում": 1230,
    "בודק אם מספר הניסיונות עולה על המגבלה ואז מעלה שגיאה": 550,
    "يتحقق مما إذا كان عدد المحاولات يتجاوز الحد ثم يطلق استثناء": 240,
    "जाँचता है कि पुनः प्रयासों की संख्या सीमा से अधिक है या नहीं और त्रुटि देता है": 730,
    "পুনরায় চেষ্টার সংখ্যা সীমা ছাড়িয়েছে কিনা তা পরীক্ষা করে এবং ত্রুটি দেয়": 960,
    "ਜਾਂਚ ਕਰਦਾ ਹੈ ਕਿ ਕੋਸ਼ਿਸ਼ਾਂ ਦੀ ਗਿਣਤੀ ਹੱਦ ਤੋਂ ਵੱਧ ਹੈ ਜਾਂ ਨਹੀਂ": 940,
    "மறுமுயற்சிகளின் எண்ணிக்கை வரம்பை மீறுகிறதா என்று சரிபார்த்து பிழையை எழுப்புகிறது": 1090,
    "మళ్ళీ ప్రయత్నాల సంఖ్య పరిమితిని మించిందో లేదో తనిఖీ చేసి లోపాన్ని ఇస్తుంది": 1320,
    "ಮರುಪ್ರಯತ್ನಗಳ ಸಂಖ್ಯೆ ಮಿತಿಯನ್ನು ಮೀರಿದೆಯೇ ಎಂದು ಪರಿಶೀಲಿಸುತ್ತದೆ": 1080,
    "വീണ്ടുമുള്ള ശ്രമങ്ങളുടെ എണ്ണം പരിധി കവിയുന്നുണ്ടോ എന്ന് പരിശോധിക്കുന്നു": 1180,
    "ตรวจสอบว่าจำนวนครั้งที่ลองใหม่เกินขีดจำกัดหรือไม่ แล้วแจ้งข้อผิดพลาด": 370,
    "ထပ်မံကြိုးစားမှု အရေအတွက် ကန့်သတ်ချက်ထက် ကျော်လွန်သလား စစ်ဆေးသည်": 1270,
    "ამოწმებს, აღემატება თუ არა ცდების რაოდენობა ზღვარს, და იძლევა შეცდომას": 1320,
    "የሙከራዎች ብዛት ከገደቡ ማለፉን ይፈትሻል እና ስህተት ያስነሳል": 1010,
    "ពិនិត្យថាចំនួនព្យាយាមឡើងវិញលើសដែនកំណត់ឬទេ រួចបង្ហាញកំហុស": 1000,
    "재시도 횟수가 상한을 초과하는지 확인하고 초과하면 예외를 던집니다": 270,
    "再試行の回数が上限を超えているかどうかを確認し、超えていればエラーを投げる": 330,
    "检查重试次数是否超过上限，如果超过则抛出异常": 190,
    "→ retries ≤ limit ✓ — “closed” … 🚀 │ └── ok": 210,
    "0x7f3a9c41 2026-05-01T10:22:30.123456789Z 3.14159265358979 4711 192.168.10.254": 810,
    r"========== ---------- {}[]()<>!?;:,.+-*/%&|^~@#$ \\ //// ::::": 300,
}
"""Words, and the most tokens that o200k, Llama 3.1, Gemma 3, Qwen 3 or DeepSeek V4 has for ten comments of them."""


@pytest.mark.parametrize("words", MOST)
def test_no_large_models_tokenizer_has_more(bundled: PromptEncoder, words: str) -> None:
    text = f"# {words}\n" * REPEATED
    count = bundled.table(ANY).count_tokens(text)
    assert MOST[words] <= count <= max(3 * MOST[words], len(text.encode()))


def test_counts_add_up_and_are_the_same_again(bundled: PromptEncoder) -> None:
    texts = [f"# {words}\n" for words in MOST] + ["", "\n", " ", "\t\tx\r\n", "a\rb", "\x00\x7f", "\ud800"]
    limits = bundled.table(ANY)
    counts = limits.count_each(texts)
    assert counts.tolist() == [limits.count_tokens(text) for text in texts]
    assert (counts >= 0).all()
    assert counts[-7] == 0
    whole = limits.count_tokens("".join(texts[: len(MOST)]))
    assert abs(whole - counts[: len(MOST)].sum()) <= len(MOST)  # each is rounded up
    with ThreadPoolExecutor(4) as pool:
        assert len({tuple(each) for each in pool.map(limits.count_each, [texts] * 8)}) == 1


def test_a_line_of_millions_of_characters_is_counted(bundled: PromptEncoder) -> None:
    for part in ("x", "a1_", "재", "=", " ", "({"):
        assert bundled.table(ANY).count_tokens(part * 300_000) > 0


def test_every_encoder_has_limits(encoder: PromptEncoder) -> None:
    text = "def f(a):\n    # 재시도 횟수가\n    return a_b + 12345\n" * 20
    assert encoder.table(ANY).count_tokens(text) > 20 * 25


def test_scripts_rise_and_cost_no_more_than_their_bytes() -> None:
    starts = np.array([start for start, _ in SCRIPTS])
    assert (np.diff(starts) > 0).all()
    for start, cost in SCRIPTS:
        assert 0 < cost <= len(chr(start).encode()) + 1


def test_no_table_counts_more(bundled: PromptEncoder) -> None:
    files = [path for path in FIXTURES.iterdir() if path.is_file()]
    texts = [path.read_text(encoding="utf-8") for path in files] + [f"# {words}\n" for words in MOST]
    most = np.max([bundled.table(name).count_each(texts) for name in TABLES], axis=0)
    counts = bundled.table(ANY).count_each(texts)
    assert (counts >= most).all()
    assert counts.sum() < 1.5 * most.sum()


def test_a_tokenizer_is_parsed_once_for_each_content(bundled: PromptEncoder, tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_bytes((client_files(bundled_repository()) / "tokenizer.json").read_bytes())
    first = token_counter(file, bundled)
    assert token_counter(file, bundled) is first
    words = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    file.write_text(words.to_str())
    assert token_counter(file, bundled).count_tokens("one, two") == 2

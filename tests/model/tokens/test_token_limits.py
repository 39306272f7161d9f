"""Budgets' counts aren't below those of large models' tokenizers, in any script, and add up by lines."""

# ruff: noqa: RUF001

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from lamr_model.encoding import PromptEncoder
from lamr_model.spec import bundled_repository
from lamr_model.tokens.token_tables import ANY, SCRIPTS, TABLES

FIXTURES = Path(__file__).parents[2] / "postprocess" / "fixtures"
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


@pytest.fixture(scope="module")
def bundled() -> PromptEncoder:
    return PromptEncoder.from_repository(bundled_repository())


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

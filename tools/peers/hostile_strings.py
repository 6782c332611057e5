"""Strings that are hard to tokenize, seeded: the same seed gives the same strings."""
import random

RANGES = [(0x21, 0x7E), (0xA1, 0x17F), (0x180, 0x24F), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x531, 0x58A), (0x591, 0x5F4),
          (0x600, 0x6FF), (0x900, 0x97F), (0xE01, 0xE5B), (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1E00, 0x1FFF), (0x2010, 0x2064),
          (0x2070, 0x209C), (0x20A0, 0x20F0), (0x2150, 0x218B), (0x2190, 0x23FF), (0x2460, 0x27BF), (0x2E80, 0x2FDF), (0x3000, 0x30FF),
          (0x3130, 0x318F), (0x3200, 0x33FF), (0x4E00, 0x9FFF), (0xA640, 0xA69F), (0xAC00, 0xD7A3), (0xE000, 0xE0FF), (0xF900, 0xFAFF),
          (0xFB00, 0xFB4F), (0xFDF0, 0xFDFC), (0xFE00, 0xFE2F), (0xFF01, 0xFFEE), (0x10000, 0x100FA), (0x10330, 0x1034A),
          (0x12000, 0x12050), (0x1D100, 0x1D1FF), (0x1D400, 0x1D7FF), (0x1F1E6, 0x1F1FF), (0x1F300, 0x1F6FF), (0x1F900, 0x1FAFF),
          (0x20000, 0x20100), (0x2F800, 0x2FA1D), (0xE0020, 0xE007F), (0xE0100, 0xE01EF), (0x10FF00, 0x10FFFD),
          # letters, digits and marks of Unicode 10 to 16
          (0x1C80, 0x1C8A), (0x0860, 0x086A), (0x08B5, 0x08FF), (0x10D40, 0x10D8F), (0x105C0, 0x105F3), (0x11DE0, 0x11DE9), (0x16D40, 0x16D79),
          (0x1E4D0, 0x1E4F9), (0x1E5D0, 0x1E5FF), (0xA7C0, 0xA7DC), (0x1DF9, 0x1DFA), (0x11F00, 0x11F59), (0x31350, 0x313AF)]
ODD = ["\x00", "\x01", "\x08", "\x0b", "\x0c", "\x1b", "\x1c", "\x1f", "\x7f", "\x85", "\xa0", "\xad", "\u061c", "\u1680", "\u180e", "\u2000", "\u2009",
       "\u200b", "\u200c", "\u200d", "\u200e", "\u2028", "\u2029", "\u202e", "\u202f", "\u205f", "\u2060", "\u2581", "\u3000", "\ufeff", "\ufffd",
       "\ufffe", "\uffff", "\U0001ffff", "\U0010ffff", "\ud7ff", "\ue000", "\u0130", "\u0131", "\u017f", "\u212a", "\u1e9e", "\u00df", "\ufb03", "\u0345"]
SPACES = [" ", "  ", "\n", "\r\n", "\t", "\r", "\u00a0", "\u3000", "\u0085", "\u2028", "   \n", " \n ", "\n\n\n"]
WORDS = ["the", "Hello", "world", "don't", "they'LL", "I'M", "we'Ve", "it's", "'s", "'T", "O'Neil's", "rock'n'roll", "\u2019s", "caf\u00e9", "cafe\u0301",
         "na\u00efve", "Stra\u00dfe", "HTTPServer", "camelCase", "snake_case_name", "x+=1;", "for(i=0;i<n;++i)", "1234567890", "3.14159", "1,000,000",
         "0x7fFF", "\u0661\u0662\u0663", "\u00bd\u2167\u2460", "\u4e2d\u6587\u5206\u8bcd", "\u65e5\u672c\u8a9e\u306e\u6587", "\ud55c\uad6d\uc5b4", "\u1112\u1161\u11ab",
         "\u0420\u0443\u0441\u0441\u043a\u0438\u0439", "\u05e9\u05dc\u05d5\u05dd", "\u0627\u0644\u0639\u0631\u0628\u064a\u0629", "\u0939\u093f\u0928\u094d\u0926\u0940",
         "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22", "Vi\u1ec7t", "https://a.b/c?d=e&f#g", "user@example.com", "</think>", "```python", "\\n\\u0041", "%s", "{{x}}", "$$"]
EMOJI = ["\U0001f600", "\u2764\ufe0f", "\U0001f469\u200d\U0001f52c", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea",
         "1\ufe0f\u20e3", "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "\U0001f9d1\U0001f3ff\u200d\U0001f91d\u200d\U0001f9d1\U0001f3fb"]
MARKS = "\u0300\u0301\u0308\u0323\u0327\u0328\u0334\u0345\u035c\u0489\u05b0\u064b\u0653\u093c\u0f71\u0f72\u1dfa\u20d0\u302a\u3099\ufe20"
BYTE_TOKENS = ["<0x0A>", "<0xE4>", "<0xFF>", "<0x+A>", "<0xzz>", "<0x0>", "<unk>", "<s>", "</s>"]


def hostile_strings(count, seed, specials=()):
    """`count` strings; `specials` are the added tokens of the tokenizer, put in whole and broken."""
    rng = random.Random(seed)
    specials = list(specials) or ["<s>"]

    def letters(n):
        low, high = rng.choice(RANGES)
        return "".join(chr(rng.randint(low, high)) for _ in range(n))

    def special():
        token = rng.choice(specials)
        kind = rng.random()
        if kind < 0.55:
            return token
        at = rng.randint(0, len(token))
        if kind < 0.7:
            return token[:at] + token[at + 1:]
        if kind < 0.8:
            return token[:at] + rng.choice(ODD + SPACES) + token[at:]
        if kind < 0.9:
            return token[:at] + token + token[at:]
        return token.upper() if kind < 0.95 else " " * rng.randint(1, 3) + token + rng.choice(SPACES)

    def run():
        return rng.choice([" ", "\n", "a", "1", "-", "=", "\t", ".", "\u4e2d", "\u0301", "\U0001f600", "\u2581", "Z"]) * rng.choice([2, 3, 7, 15, 16, 17, 33, 64, 129])

    kinds = [lambda: rng.choice(WORDS), lambda: rng.choice(WORDS), lambda: letters(rng.randint(1, 8)), lambda: letters(1), lambda: rng.choice(SPACES),
             lambda: rng.choice(SPACES), lambda: rng.choice(ODD), lambda: rng.choice(EMOJI), special, run,
             lambda: rng.choice("aeon\u0435\u0431\u05d0\u0928\u4e2d") + "".join(rng.choice(MARKS) for _ in range(rng.randint(1, 5))),
             lambda: str(rng.randint(0, 10 ** rng.randint(1, 12))), lambda: rng.choice(BYTE_TOKENS), lambda: chr(rng.choice([*range(0xD800), *range(0xE000, 0x3000)])
                                                                                                         if rng.random() < 0.5 else rng.randint(0x10000, 0x10FFFF))]
    fixed = ["", " ", "  ", "\n", "\x00", "\ufeffBOM", "a", "\u0301", "'", "''s", "\u2581", "\u2581\u2581a", " a", "a ", "'s's'S"] + specials[:20] + ODD + EMOJI
    fixed += ["".join(letters(40) for _ in range(30)), "x" * 5000, "ab" * 3000, " " * 3000, "\u0301" * 500, "1" * 2000, "".join(WORDS) * 8, specials[0] * 50]
    out = fixed[:count]
    while len(out) < count:
        parts = [rng.choice(kinds)() for _ in range(rng.choice([1, 2, 3, 5, 8, 13, 21]))]
        out.append(rng.choice(["", "", " "]).join(parts))
    return out

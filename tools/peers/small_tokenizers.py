"""Small tokenizers of every class that calkit reads, trained by the peer on a few texts."""
import json

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
DEEP = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
MARK = "\u2581"


def sequence(key, *items):
    return {"type": "Sequence", key: list(items)}


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def byte_level(regex=True, prefix=False):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}


def metaspace(scheme, cut=True):
    return {"type": "Metaspace", "replacement": MARK, "prepend_scheme": scheme, "split": cut}


def replace(pattern, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def plain(kind, **more):
    return dict({"type": kind}, **more)


SPM_DECODER = sequence("decoders", replace(MARK, " "), plain("ByteFallback"), plain("Fuse"), plain("Strip", content=" ", start=1, stop=0))
GEMMA_DECODER = sequence("decoders", replace(MARK, " "), plain("ByteFallback"), plain("Fuse"))
LLAMA2 = sequence("normalizers", plain("Prepend", prepend=MARK), replace(" ", MARK))
SPECIALS = ["<unk>", "<s>", "</s>", "<|im_start|>"]
FRAME = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
         "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
         "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}}
ROBERTA = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1], "trim_offsets": True, "add_prefix_space": False}
BERT = {"type": "BertProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1]}


def trained(model, texts):
    """The model section and the added tokens after training on the texts."""
    if model == "bytes":
        tokenizer = Tokenizer(models.BPE())
        trainer = trainers.BpeTrainer(vocab_size=700, special_tokens=SPECIALS, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    elif model == "characters":
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
        trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=SPECIALS, show_progress=False, limit_alphabet=300)
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    else:
        texts = ["".join(c for c in text if ord(c) < 0x180 or 0x4E00 <= ord(c) < 0x4F00) for text in texts]
        tokenizer = Tokenizer(models.Unigram())
        trainer = trainers.UnigramTrainer(vocab_size=600, special_tokens=SPECIALS, unk_token="<unk>", show_progress=False)
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(texts, trainer)
    whole = json.loads(tokenizer.to_str())
    return whole["model"], whole["added_tokens"]


def with_bytes(model, count=256):
    """The model with byte tokens <0x00> ... behind its entries."""
    tokens = ["<0x%02X>" % b for b in range(count)]
    model = dict(model, byte_fallback=True)
    if model["type"] == "Unigram":
        model["vocab"] = model["vocab"] + [[t, -20.0] for t in tokens]
    else:
        model["vocab"] = dict(model["vocab"], **{t: len(model["vocab"]) + i for i, t in enumerate(tokens)})
    return model


def added(model, tokens, *more):
    """The trained added tokens and further ones, with flags."""
    out, next_id = list(tokens), len(model["vocab"])
    for content, flags in more:
        token = {"id": next_id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
        token.update({flag: True for flag in flags.split()})
        out.append(token)
        next_id += 1
    return out


def small_tokenizers(texts):
    """(name, tokenizer.json as an object) pairs."""
    (raw, raw_added), (chars, chars_added), (uni, uni_added) = (trained(kind, texts) for kind in ("bytes", "characters", "unigram"))
    flagged = (("<l>", "lstrip"), ("<r>", "rstrip normalized"), ("<w>", "single_word normalized special"), ("Caf\u00e9 \u212b", "normalized"))

    def make(name, model, tokens, normalizer=None, pre_tokenizer=None, post_processor=None, decoder=None):
        return name, {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens, "normalizer": normalizer,
                      "pre_tokenizer": pre_tokenizer, "post_processor": post_processor, "decoder": decoder, "model": model}

    bytes_decoder = byte_level()
    yield make("gpt2", raw, added(raw, raw_added, *flagged), None, byte_level(), byte_level(), bytes_decoder)
    yield make("gpt2 with a prefix space", raw, raw_added, None, byte_level(prefix=True), ROBERTA, bytes_decoder)
    yield make("qwen", raw, added(raw, raw_added, *flagged), plain("NFC"), sequence("pretokenizers", split(QWEN), byte_level(False)), None, bytes_decoder)
    yield make("llama3", dict(raw, ignore_merges=True), raw_added, None, sequence("pretokenizers", split(QWEN.replace(r"\p{N}|", r"\p{N}{1,3}|")), byte_level(False)),
               sequence("processors", byte_level(), FRAME), bytes_decoder)
    yield make("deepseek", raw, raw_added, sequence("normalizers"), sequence("pretokenizers", split(r"\p{N}{1,3}"), split("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"), split(DEEP),
                                                                          byte_level(False)), byte_level(), bytes_decoder)
    yield make("falcon: steps behind the byte level", raw, raw_added, None, sequence("pretokenizers", plain("Punctuation", behavior="Contiguous"), byte_level(), plain("Digits", individual_digits=False),
                                                                                  split("[0-9][0-9][0-9]")), None, bytes_decoder)
    yield make("bytes without a pre-tokenizer", raw, raw_added, None, None, None, bytes_decoder)
    llama = with_bytes(dict(chars, fuse_unk=True))
    yield make("llama2", llama, added(llama, chars_added, ("<l>", "lstrip"), ("<r>", "rstrip")), LLAMA2, None, FRAME, SPM_DECODER)
    yield make("llama2 with normalised added tokens", llama, added(llama, chars_added, *flagged), LLAMA2, None, FRAME, SPM_DECODER)
    yield make("mistral: metaspace first", llama, added(llama, chars_added, ("<l>", "lstrip")), None, metaspace("first", False), FRAME, SPM_DECODER)
    yield make("metaspace always", llama, chars_added, plain("Strip", strip_left=True, strip_right=False), metaspace("always"), BERT, metaspace("always"))
    yield make("metaspace first behind others", llama, chars_added, None, sequence("pretokenizers", plain("Digits", individual_digits=True), plain("Punctuation"), metaspace("first")), None, metaspace("first"))
    yield make("metaspace first behind what removes", llama, chars_added, plain("Strip", strip_left=True, strip_right=True), sequence("pretokenizers", plain("WhitespaceSplit"), metaspace("first")), None,
               metaspace("never"))
    yield make("metaspace never", llama, chars_added, plain("NFKC"), metaspace("never"), None, metaspace("never"))
    yield make("gemma", with_bytes(chars), chars_added, replace(" ", MARK), split(" ", "MergedWithPrevious", False, "String"), FRAME, GEMMA_DECODER)
    yield make("half of the byte tokens", with_bytes(dict(chars, fuse_unk=True), 200), chars_added, replace(" ", MARK), None, FRAME, GEMMA_DECODER)
    yield make("half of the byte tokens, unknowns apart", with_bytes(chars, 200), chars_added, None, plain("Whitespace"), None, GEMMA_DECODER)
    yield make("unknowns apart", chars, chars_added, plain("Lowercase"), sequence("pretokenizers", plain("Whitespace"), plain("Punctuation", behavior="Removed")), None, None)
    yield make("unknowns fused", dict(chars, fuse_unk=True), chars_added, sequence("normalizers", plain("NFD"), plain("StripAccents"), plain("Lowercase")), plain("WhitespaceSplit"), None, None)
    yield make("unknowns vanish", dict(chars, unk_token=None), chars_added, plain("NFKD"), plain("CharDelimiterSplit", delimiter="e"), None, plain("Fuse"))
    yield make("no such unknown token", dict(chars, unk_token="<nothing>"), [], None, plain("Whitespace"), None, None)
    yield make("unigram", uni, added(uni, uni_added, ("<l>", "lstrip")), sequence("normalizers", plain("Nmt"), plain("NFKC"), replace(" {2,}", " ", "Regex")), metaspace("always"), ROBERTA, metaspace("always"))
    yield make("unigram with byte tokens", with_bytes(uni), uni_added, LLAMA2, None, FRAME, SPM_DECODER)
    yield make("unigram with half of the byte tokens", with_bytes(uni, 200), uni_added, plain("Lowercase"), metaspace("first"), FRAME, GEMMA_DECODER)
    yield make("unigram without an unknown token", dict(uni, unk_id=None), uni_added, None, metaspace("always"), None, metaspace("always"))
    yield make("unigram over bytes", uni, uni_added, None, byte_level(), None, bytes_decoder)
    ties = {"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": [["<unk>", 0.0]] + [[t, -float(len(t)) * 0.1] for t in
            ["a", "b", "ab", "ba", "aba", "bab", "aa", "aaa", "abab", "\u4e2d", "\u4e2d\u6587", "\u6587", "t", "th", "the", "he", "e", " ", " t"]]}
    yield make("unigram with equal paths", ties, [], None, None, None, plain("Fuse"))
    yield make("decoders that look at ends", llama, chars_added, replace(" ", MARK), None, None,
               sequence("decoders", plain("ByteFallback"), plain("Fuse"), replace(MARK + MARK, "=="), plain("Strip", content=MARK, start=2, stop=0), replace(MARK, " ")))
    yield make("a decoder with a pattern", llama, chars_added, None, metaspace("never"), None, sequence("decoders", replace("[" + MARK + "]+", " ", "Regex"), plain("ByteFallback"), plain("Fuse")))

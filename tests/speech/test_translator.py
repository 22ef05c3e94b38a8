"""Translation models: a Marian model trained on a made-up language, and tiny ones of other families."""

from __future__ import annotations

import json
import random
import shutil
import time
from pathlib import Path
from typing import Any

import ctranslate2
import pytest
import sentencepiece
import tiny_models
from made_translator import Speaker
from transformers import M2M100Tokenizer, MarianTokenizer, NllbTokenizer
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES as M2M_CODES
from transformers.models.nllb.tokenization_nllb import FAIRSEQ_LANGUAGE_CODES as NLLB_CODES

import sotto
from conftest import FLOATS
from sotto.backends import check
from sotto.backends._cases import CASES, Target
from sotto.backends.base import Request
from sotto.backends.ctranslate2.languages import Languages
from sotto.backends.ctranslate2.tokens import WORD, chunks, tokenizer_of
from sotto.backends.ctranslate2.translator import Translator

ODD = (
    "Größe: 5 €, naïve?",
    "  two  spaces ",
    "漢字とかな。",
    "\u200bzero",
    "a\tb",
    "[1] <2> X3X",
    "🐉!",
    "...",
    "x" * 90,
)
LINES = [source for source, _ in Speaker(11).lines(200)]


@pytest.fixture(scope="module", params=["nllb", "m2m"])
def family(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, Path]:
    """The name of a family, and a tiny model of it in Hugging Face's form and converted."""
    folder = tmp_path_factory.mktemp("tiny") / request.param
    made = getattr(tiny_models, request.param)(folder)
    return request.param, made, tiny_models.converted(made)


@pytest.fixture(scope="module")
def many_languages(translation_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Marian model with languages in its vocabulary, as those of Opus-MT for several targets have."""
    folder = tmp_path_factory.mktemp("many") / "model"
    shutil.copytree(translation_model, folder)
    file = folder / "shared_vocabulary.json"
    tokens = json.loads(file.read_text())
    tokens[-2:] = [">>deu<<", ">>por_BR<<"]  # in place of rare pieces
    file.write_text(json.dumps(tokens))
    return folder


def library_s(model: Path, lines: list[str], **options: Any) -> list[str]:
    """Translations by the library alone, line by line."""
    source, target = (
        sentencepiece.SentencePieceProcessor(model_file=str(model / name))
        for name in ("source.spm", "target.spm")
    )
    translator = ctranslate2.Translator(str(model), compute_type="float32", intra_threads=1)
    given = [[*source.encode(line, out_type=str), "</s>"] for line in lines]
    made = [translator.translate_batch([tokens], **options)[0].hypotheses[0] for tokens in given]
    return [target.decode([token for token in tokens if token != "<unk>"]) for tokens in made]


@pytest.mark.parametrize("beams", [1, 2, 5])
def test_lines_are_translated_as_the_library_itself_does(
    interpreter: sotto.Engine, translation_model: Path, beams: int
) -> None:
    began = time.perf_counter()
    made = interpreter.translate(LINES, beam_size=beams).texts
    took = time.perf_counter() - began
    theirs = library_s(translation_model, LINES, beam_size=beams)
    right = [target for _, target in Speaker(11).lines(200)]
    same = sum(one == other for one, other in zip(made, theirs, strict=True))
    exact = sum(one == other for one, other in zip(made, right, strict=True))
    print(
        f"\nspeech: beam {beams}: {same} of 200 translations equal to the library's, {exact} to the corpus, "
        f"{200 / took:.0f} lines a second"
    )
    assert same == 200
    assert exact >= 120


def test_tokens_of_marian_models_are_those_of_transformers(translation_model: Path, tmp_path: Path) -> None:
    vocabulary = json.loads((translation_model / "shared_vocabulary.json").read_text())
    file = tmp_path / "vocab.json"
    file.write_text(json.dumps({token: at for at, token in enumerate([*vocabulary, "<pad>"])}))
    with pytest.warns(UserWarning, match="sacremoses"):
        theirs = MarianTokenizer(
            *(str(translation_model / f"{side}.spm") for side in ("source", "target")), str(file)
        )
    ours = tokenizer_of(translation_model)
    for text in [*LINES, *ODD]:
        tokens = [
            token if token in vocabulary else "<unk>" for token in ours.framed(ours.encode(text), None, None)
        ]
        assert tokens == theirs.convert_ids_to_tokens(theirs(text)["input_ids"])
    for _, text in Speaker(12).lines(100):
        ids = theirs(text_target=text)["input_ids"]
        tokens = theirs.convert_ids_to_tokens(ids)
        assert ours.prefix(text, None) == tokens[:-1]
        assert ours.decode(tokens) == theirs.decode(ids, skip_special_tokens=True)


def test_tokens_of_multilingual_models_are_those_of_transformers(family: tuple[str, Path, Path]) -> None:
    name, hugging_face, folder = family
    theirs: Any = {"nllb": NllbTokenizer, "m2m": M2M100Tokenizer}[name].from_pretrained(str(hugging_face))
    ours, vocabulary = tokenizer_of(folder), json.loads((folder / "shared_vocabulary.json").read_text())
    german, english = {"nllb": ("deu_Latn", "eng_Latn"), "m2m": ("de", "en")}[name]
    token = {"nllb": "deu_Latn", "m2m": "__de__"}[name]
    theirs.src_lang, theirs.tgt_lang = english, german
    for text in [*LINES, *ODD]:
        made = ours.framed(ours.encode(text), "en", "de")
        ids = theirs(text)["input_ids"]
        assert [one if one in vocabulary else "<unk>" for one in made] == theirs.convert_ids_to_tokens(ids)
        assert ours.prefix("", german) == [token]
        wanted = theirs.convert_ids_to_tokens(theirs(text_target=text)["input_ids"])
        made = ours.prefix(text, "de")
        assert [one if one in vocabulary else "<unk>" for one in made] == wanted[:-1]
        known = [one for one in ours.encode(text) if one in vocabulary]
        assert (
            ours.decode([token, *known, "</s>"])
            == theirs.decode(theirs.convert_tokens_to_ids(known), skip_special_tokens=True).strip()
        )


def test_multilingual_models_translate_as_the_library_does(
    engine: sotto.Engine, family: tuple[str, Path, Path]
) -> None:
    name, _, folder = family
    engine.load_model("many", path=folder, backend="ctranslate2", options=FLOATS)
    (model,) = json.loads(engine.model_list())
    assert model["details"]["multilingual"]
    source, target = {"nllb": ("eng_Latn", "fra_Latn"), "m2m": ("__en__", "__fr__")}[name]
    tokenizer, translator = tokenizer_of(folder), ctranslate2.Translator(str(folder), compute_type="float32")
    for line in LINES[:40]:
        tokens = [source, *tokenizer.encode(line), "</s>"]
        limit = min(4 * len(tokens) + 64, 127)
        (result,) = translator.translate_batch([tokens], [[target]], max_decoding_length=limit)
        made = engine.translate(line, source="en", target="fr").text
        assert made == tokenizer.decode(result.hypotheses[0])
    for wrong, said in (
        ("xx", "invalid target_language 'xx'"),
        ("German", "invalid target_language 'German'"),
    ):
        with pytest.raises(sotto.ArgumentError, match=said) as error:
            engine.translate("Hello.", source="en", target=wrong)
        assert len(str(error.value)) < 250
    with pytest.raises(sotto.ArgumentError, match="missing source_language"):
        engine.translate("Hello.", target="de")


def test_special_tokens_that_a_text_spells_out_are_text(family: tuple[str, Path, Path]) -> None:
    tokenizer = tokenizer_of(family[2])
    assert not {"</s>", "deu_Latn", "__de__"} & set(tokenizer.encode("a </s> b deu_Latn c __de__"))


def test_models_of_several_targets_take_the_language_in_front(many_languages: Path) -> None:
    tokenizer = tokenizer_of(many_languages)
    for asked in ("de", "deu", ">>deu<<", "de-AT"):
        assert tokenizer.framed(["a"], None, asked) == [">>deu<<", "a", "</s>"]
    assert tokenizer.framed(["a"], "en", "pt-BR")[0] == ">>por_BR<<"
    with pytest.raises(
        sotto.ArgumentError, match="invalid target_language 'fr': expected one of 2 languages"
    ):
        tokenizer.check("en", "fr")


def test_codes_of_iso_639_become_the_model_s_own() -> None:
    nllb, m2m = Languages(NLLB_CODES), Languages(f"__{code}__" for code in M2M_CODES["m2m100"])
    wanted = {
        "ar": "arb_Arab", "de": "deu_Latn", "en": "eng_Latn", "es": "spa_Latn", "et": "est_Latn",
        "fa": "pes_Arab", "fr": "fra_Latn", "id": "ind_Latn", "it": "ita_Latn", "ja": "jpn_Jpan",
        "ko": "kor_Hang", "lv": "lvs_Latn", "ms": "zsm_Latn", "nb": "nob_Latn", "nl": "nld_Latn",
        "nn": "nno_Latn", "pl": "pol_Latn", "pt": "por_Latn", "pt-BR": "por_Latn", "ru": "rus_Cyrl",
        "sr": "srp_Cyrl", "sw": "swh_Latn", "tr": "tur_Latn", "uk": "ukr_Cyrl", "vi": "vie_Latn",
        "zh": "zho_Hans", "zh-CN": "zho_Hans", "zh-TW": "zho_Hant", "zh-Hant": "zho_Hant",
    }  # fmt: skip
    assert {code: nllb.token("target_language", code) for code in wanted} == wanted
    assert {code: m2m.token("target_language", code) for code in M2M_CODES["m2m100"]} == {
        code: f"__{code}__" for code in M2M_CODES["m2m100"]
    }
    assert all(nllb.token("target_language", code) == code for code in NLLB_CODES)
    assert m2m.token("source_language", "deu_Latn") == "__de__"
    assert m2m.token("source_language", "pt-BR") == "__pt__"
    with pytest.raises(sotto.ArgumentError, match="invalid target_language 'uz-Cyrl'"):
        nllb.token("target_language", "uz-Cyrl")
    with pytest.raises(sotto.ArgumentError, match=r"invalid target_language 'deu_Latin': .*deu_Latn"):
        nllb.token("target_language", "deu_Latin")


def test_line_breaks_and_outer_spaces_are_kept(interpreter: sotto.Engine) -> None:
    one, two = interpreter.translate([LINES[0], LINES[1]]).texts
    text = f"\n  {LINES[0]}\r\n\r\n\t{LINES[1]} \n"
    assert interpreter.translate(text).text == f"\n  {one}\r\n\r\n\t{two} \n"
    assert interpreter.translate(["", LINES[0], " \n "]).texts == ("", one, " \n ")


def test_an_empty_text_makes_no_step(translation_model: Path) -> None:
    model = Translator(translation_model, FLOATS)
    for text in ("", " \n\t"):
        request = Request("translate", json.dumps({"input": text}))
        assert model.units(request) == 1
        steps = model.translate(request)
        with pytest.raises(StopIteration) as end:
            next(steps)
        assert end.value.value == {"text": text, "texts": [text], "truncated": []}
    model.close()


def test_a_long_line_is_split_at_ends_of_sentences(interpreter: sotto.Engine) -> None:
    text = " ".join(LINES)
    began = time.perf_counter()
    made = interpreter.translate(text).text
    print(f"\nspeech: a line of {len(text):,} characters in {time.perf_counter() - began:.1f} s")
    assert "\n" not in made and made.count(" ") > len(LINES)
    with pytest.raises(sotto.ArgumentError, match=r"expected at most \d+ tokens without a space"):
        interpreter.translate("e" * 1_000_000)


def test_chunks_hold_all_tokens_and_end_with_sentences_where_they_can() -> None:
    dice = random.Random(3)
    tokens: list[str] = []
    while len(tokens) < 300_000:  # about 1 MB
        tokens += [f"{WORD}word"] + ["s"] * dice.randrange(3) + ["."] * (dice.random() < 0.1)
    began = time.perf_counter()
    made = chunks(tokens, 125)
    assert time.perf_counter() - began < 5
    assert [token for chunk in made for token in chunk] == tokens
    assert all(len(chunk) <= 125 and chunk[0] == f"{WORD}word" for chunk in made)
    assert sum(chunk[-1] == "." for chunk in made) > 0.95 * len(made)
    assert chunks(["。"] * 300, 125) == [["。"] * 125, ["。"] * 125, ["。"] * 50]


def test_temperature_samples_and_a_prefix_begins_the_translation(interpreter: sotto.Engine) -> None:
    line = LINES[0]
    assert interpreter.translate(line, temperature=0).text == interpreter.translate(line).text
    assert len({interpreter.translate(line, temperature=5.0).text for _ in range(8)}) > 1
    assert interpreter.translate(line, target_prefix="Saluta").text.startswith("Saluta")


@pytest.mark.parametrize("language", ["zz", "english", "e n"])
def test_models_of_one_pair_refuse_what_is_no_language(interpreter: sotto.Engine, language: str) -> None:
    with pytest.raises(sotto.ArgumentError, match=f"invalid target_language '{language}'"):
        interpreter.translate("Hello.", target=language)


def test_memory_is_measured_and_comes_back(engine: sotto.Engine, translation_model: Path) -> None:
    engine.load_model("words", path=translation_model, backend="ctranslate2", options=FLOATS)
    used, size = engine.memory()["used"], (translation_model / "model.bin").stat().st_size
    print(f"\nspeech: {used / 2**20:.1f} MB for a translation model of {size / 2**20:.1f} MB")
    assert used > size / 8
    engine.unload_model("words")
    assert engine.memory()["used"] == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"batch_siz": 8}, "did you mean 'batch_size'"),
        ({"batch_size": 0}, "invalid batch_size '0'"),
        ({"batch_size": 257}, "invalid batch_size '257'"),
        ({"vad": True}, "unknown option 'vad'"),
    ],
)
def test_load_options_are_checked(
    engine: sotto.Engine, translation_model: Path, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(sotto.SottoError, match=said):
        engine.load_model("words", path=translation_model, backend="ctranslate2", options=options)


def test_damaged_folders_are_refused(engine: sotto.Engine, translation_model: Path, tmp_path: Path) -> None:
    def refused(name: str, data: bytes | None) -> str:
        folder = tmp_path / "model"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(translation_model, folder)
        (folder / name).unlink()
        if data is not None:
            (folder / name).write_bytes(data)
        with pytest.raises(sotto.ModelLoadError) as error:
            engine.load_model("words", path=folder, backend="ctranslate2")
        return str(error.value)

    weights = (translation_model / "model.bin").read_bytes()
    assert "has no tokenizer of a translation model" in refused("source.spm", None)
    assert "target.spm' is no SentencePiece model" in refused("target.spm", b"no model")
    assert "has no shared_vocabulary.json" in refused("shared_vocabulary.json", None)
    assert "shared_vocabulary.json' is damaged" in refused("shared_vocabulary.json", b'["a"')
    assert "damaged" in refused("model.bin", weights[:60])
    assert "damaged" in refused("model.bin", weights[: len(weights) // 2])
    assert "it is damaged" in refused("model.bin", weights[:-100])


def test_the_backend_passes_the_suite_with_a_translation_model(translation_model: Path) -> None:
    target = Target("sotto.backends.ctranslate2:CTranslate2", str(translation_model), None, FLOATS)
    assert {name: check.outcome(target, name, 90) for name in CASES} == dict.fromkeys(CASES, "")

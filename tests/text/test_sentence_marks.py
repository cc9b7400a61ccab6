import pytest

from streamflow.text.language_data import language
from streamflow.text.sentence_marks import Marks
from streamflow.text.sentence_nesting import SIGNS, Nesting
from streamflow.text.sentence_reader import REACH, NeedMore, Reader


def cut_at(text, code="en", final=True):
    """What lies behind the cut at the mark that is written as ‡ before it."""
    reader = Reader()
    place = text.index("‡")
    reader.text, reader.final = text.replace("‡", ""), final
    reader.bound = place + REACH
    nesting = Nesting(reader)
    for at in range(place):
        if reader.text[at] in SIGNS:
            nesting.sign(at, language(code))
    cut, _ = Marks(reader, nesting).decide(place, language(code))
    return reader.text[cut:] if cut else None


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Done‡. Next", "Next"),
        ("Done‡.  \n Next", "Next"),
        ('"Done‡." Next', "Next"),
        ("**Done‡.** Next", "Next"),
        ("<b>Done‡.</b> Next", "Next"),
        ("Done‡.[1][2] Next", "Next"),
        ("Done‡.【4†a】 Next", "Next"),
        ("Done‡.¹² Next", "Next"),
        ("Done‡! 🎉 Next", "Next"),
        ("Done‡!🎉 Next", "Next"),
        ("Done‡! :) Next", "Next"),
        ("Done‡. (see below) Next", "Next"),
        ("(Done‡.) Next", "Next"),
        ("a consultation‡.11 12 Next", "Next"),
        ("the compounds‡. . . . Next", ". . . Next"),
        ("a period ‡. . . . Next", "Next"),
        ("right away‡!Next one", "Next one"),
        ("Done‡.\n- next", "- next"),
        ("Done‡.\n\nnext", "next"),
    ],
)
def test_what_closes_behind_a_mark_belongs_to_it(text, rest):
    assert cut_at(text) == rest


@pytest.mark.parametrize(
    "text",
    [
        "Jr‡.'s book", "He said (done‡.) and left", '"Done‡." he said', "v2‡.0", "www‡.Example.com",
        "the thing is ‡. . . I", "Ph.D‡.-level", "[‡?] Next", "a‡.b", "Y‡!J", '"Go‡. Now" he', "(Ind‡.) said",
    ],
)  # fmt: skip
def test_other_marks_go_on(text):
    assert cut_at(text) is None


@pytest.mark.parametrize(
    ("code", "text", "rest"),
    [
        ("ja", "行く‡。次", "次"),
        ("ja", "「行く‡。」と言う", None),
        ("ja", "「行く‡。」次", "次"),
        ("ja", "３‡．２", None),
        ("zh", "“好‡。”他说", None),
        ("zh", "“好‡。”我说：“走”", "我说：“走”"),
        ("zh", "《吧‡！爸》好", None),
        ("zh", "好‡。**次**", "**次**"),
        ("am", "ነው‡።እሺ", "እሺ"),
        ("hi", "है‡। वह", "वह"),
        ("fr", "« Viens‡. » Puis", "Puis"),
        ("de", "„Gut‡.“ Er", "Er"),
        ("ko", '"가자‡."라고 말했다', None),
    ],
)
def test_scripts_without_spaces_or_capitals(code, text, rest):
    assert cut_at(text, code) == rest


@pytest.mark.parametrize("text", ["Done‡.", "Done‡. ", 'Done‡."', "Done‡.[1", "Done‡.</b", "Inc‡. Th", '"Go‡. Now'])
def test_what_is_not_decided_is_waited_for(text):
    with pytest.raises(NeedMore):
        cut_at(text, final=False)

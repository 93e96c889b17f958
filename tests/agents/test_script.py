"""The line language of the lawful agent: what is read, what is refused, where a reply goes on."""

import pytest

from .script import DEFAULT, Script, ScriptError, Statement, Word


def test_a_script_stands_anywhere_in_a_text() -> None:
    """Peers: the text around a script is kept; without one the default is done."""
    script = Script.found_in('Goal: count\n[[ work; complete "done" ]]\n- a criterion')
    assert [one.verb for one in script.statements] == ["work", "complete"]
    assert script.text == "Goal: count\n\n- a criterion"
    assert Script.found_in(" just text ") == Script(DEFAULT, "just text")


def test_arguments_are_words_texts_and_json() -> None:
    """Peers: brackets, semicolons and escapes inside texts and JSON end nothing."""
    script = Script.found_in(
        '[[artifact a "x; ]] \\n \\"q\\"" {"list": [[1]], "n": null} [[2]] last\nwait go]]'
    )
    artifact, wait = script.statements
    assert artifact == Statement(
        "artifact", (Word("a"), 'x; ]] \n "q"', {"list": [[1]], "n": None}, [[2]], Word("last"))
    )
    assert artifact.words == ["a", "last"]
    assert wait == Statement("wait", (Word("go"),))


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("[[ work", "has no ]]"),
        ("[[ dance ]]", "is no verb"),
        ('[[ "work" ]]', "is no verb"),
        ('[[ work "open ]]', "Unterminated"),
        ("[[ work {1} ]]", "Expecting"),
    ],
)
def test_a_bad_script_is_refused(text: str, complaint: str) -> None:
    """Peers: a script that cannot be read is an error that says where."""
    with pytest.raises(ScriptError, match=complaint):
        Script.found_in(text)


def test_a_reply_goes_on_after_its_question() -> None:
    """Peers: the number of earlier messages says which question is answered."""
    script = Script.found_in('[[ ask "1"; auth "a" for 1; work; auth "b"; complete ]]')
    verbs = [[one.verb for one in script.after(messages)] for messages in range(4)]
    assert verbs[1] == ["auth", "work", "auth", "complete"]
    assert verbs[2] == ["complete"]
    assert verbs[3] == []
    assert len(verbs[0]) == 5


def test_names_are_filled_into_texts_and_json_only() -> None:
    """Peers: `{reply}` is replaced in texts, at any depth, and unknown names stay."""
    statement = Statement("work", (Word("{reply}"), "{reply} {other}", {"a": ["{reply}", 1]}))
    filled = statement.filled({"reply": "yes"})
    assert filled.args == (Word("{reply}"), "yes {other}", {"a": ["yes", 1]})


def test_what_a_cancel_does() -> None:
    """Peers: the last on-cancel of the script counts, and accepting is the default."""
    assert Script.found_in("[[ hang ]]").on_cancel().args == ("accept",)
    script = Script.found_in('[[ on-cancel refuse; on-cancel complete "x"; hang ]]')
    assert script.on_cancel().args == ("complete", "x")

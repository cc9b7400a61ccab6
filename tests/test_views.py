"""Live views of calls are data: equal, encodable, and they show their own moment."""

import streamflow as sf
from streamflow.events import Stamped
from streamflow.views import ArgumentsHistory, ArgumentsView, Field, PartialArguments

EVENTS = [
    PartialArguments(0, "c", "f", (), value={}),
    PartialArguments(0, "c", "f", ("names",), value=[]),
    PartialArguments(0, "c", "f", ("names", 0), "Al"),
    PartialArguments(0, "c", "f", ("names", 0), "ice"),
    PartialArguments(0, "c", "f", ("names", 1), value=None),
    PartialArguments(0, "c", "f", ("n",), value=3),
]


def test_a_view_adds_up_events():
    view = ArgumentsView()
    assert view.value is None
    for event in EVENTS:
        view.add(event)
    assert view.value == {"names": ["Alice", None], "n": 3}


def test_what_a_view_gave_is_the_callers_own():
    view = ArgumentsView()
    for event in EVENTS:
        view.add(event)
    view.value["names"].append("Bob")
    assert view.value["names"] == ["Alice", None]
    assert EVENTS[0].value == {}


def test_a_history_knows_every_moment_in_any_order():
    history = ArgumentsHistory()
    for event in EVENTS:
        history.add(event.path, event.text, event.value)
    moments = [{}, {"names": []}, {"names": ["Al"]}, {"names": ["Alice"]}, {"names": ["Alice", None]}]
    assert [history.at(count) for count in (1, 2, 3, 4, 5)] == moments
    assert [history.at(count) for count in (5, 1, 3)] == [moments[4], moments[0], moments[2]]


def test_views_have_a_json_form():
    assert sf.to_json(EVENTS[2]) == (
        b'{"type":"PartialArguments","index":0,"tool_id":"c","tool_name":"f","path":["names",0],"text":"Al","value":null}'
    )
    assert sf.to_json(Field("c", "f", "content", "x")).startswith(b'{"type":"Field","tool_id":"c"')


def test_views_can_be_read_back_alone_and_stamped():
    for event in (*EVENTS, Field("c", "f", "content", "x", {"path": ["a"]}, True, 3)):
        assert sf.from_json(sf.to_json(event)) == event
        assert sf.from_json(sf.to_json(Stamped(0, 0.5, event))) == Stamped(0, 0.5, event)
    assert sf.from_json(sf.to_json(EVENTS[2])).arguments is None


def test_deep_arguments_are_shown_too():
    view = ArgumentsView()
    path = []
    for _ in range(400):
        view.set(path, [])
        path.append(0)
    assert str(view.value).count("[") == 400

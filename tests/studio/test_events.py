"""Events: numbered, kept for pages that come back, never more than a ring of them."""

import asyncio
import json

import pytest

from halfseen.studio.events import Events


def collected(events, after, number):
    """The first texts of a stream."""

    async def take():
        found = []
        stream = events.stream(after)
        async for text in stream:
            found.append(text)
            if len(found) == number:
                break
        await stream.aclose()
        return found

    return asyncio.run(asyncio.wait_for(take(), 20))


def test_a_page_that_comes_back_gets_what_it_missed():
    events = Events()
    for i in range(5):
        events.publish("note", {"text": f"note {i}"})
    assert [json.loads(event.data)["text"] for event in events.after(3)] == ["note 3", "note 4"]
    assert events.after(5) == []


def test_a_page_that_missed_too_much_is_told_to_begin_anew():
    events = Events(kept=3)
    for i in range(10):
        events.publish("note", {"text": str(i)})
    assert [event.name for event in events.after(6)] == ["reset"]
    assert [event.number for event in events.after(7)] == [8, 9, 10]


def test_numbers_of_another_server_are_no_numbers_of_this_one():
    events = Events()
    events.publish("note", {})
    assert [event.name for event in events.after(17)] == ["reset"]


def test_memory_is_bounded():
    events = Events(kept=50)
    for i in range(10_000):
        events.publish("progress", {"i": i})
    assert len(events.after(events.newest - 50)) == 50
    assert [event.name for event in events.after(0)] == ["reset"]


def test_a_stream_begins_after_a_number_and_goes_on():
    events = Events()
    events.publish("note", {"text": "old"})
    events.publish("note", {"text": "new"})
    first, second = collected(events, 1, 2)
    assert first.startswith("retry:")
    assert second == 'id: 2\nevent: note\ndata: {"text": "new"}\n\n'


def test_an_event_of_another_thread_wakes_the_stream():
    events = Events()

    async def take():
        stream = events.stream(0)
        await anext(stream)
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, events.publish, "done", {"job": 1})
        text = await asyncio.wait_for(anext(stream), 10)
        await stream.aclose()
        return text

    assert "event: done" in asyncio.run(take())


def test_a_stream_ends_with_the_server():
    events = Events()

    async def take():
        stream = events.stream(0)
        await anext(stream)
        asyncio.get_running_loop().call_later(0.05, events.close)
        return [text async for text in stream]

    assert asyncio.run(asyncio.wait_for(take(), 20)) == []


def test_numbers_that_json_does_not_have_are_a_mistake_of_ours():
    with pytest.raises(ValueError, match="JSON"):
        Events().publish("progress", {"value": float("nan")})

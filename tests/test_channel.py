"""Bounded channels: what waits, what is dropped, what is counted."""

import asyncio

import pytest

from runtime.channel import Channel, ChannelClosed


def test_a_full_channel_waits_and_loses_nothing() -> None:
    async def scenario() -> list[int]:
        channel: Channel[int] = Channel("test", 2)

        async def produce() -> None:
            for number in range(100):
                await channel.put(number)
                assert len(channel) <= 2
            await channel.close()

        async def consume() -> list[int]:
            return [number async for number in channel]

        _, got = await asyncio.wait_for(asyncio.gather(produce(), consume()), 10)
        return got

    assert asyncio.run(scenario()) == list(range(100))


def test_a_full_channel_drops_the_oldest_droppable_and_counts_it() -> None:
    async def scenario() -> None:
        channel: Channel[int] = Channel("test", 3, lambda number: number % 2 == 1)
        for number in (1, 2, 3, 4, 5):
            await asyncio.wait_for(channel.put(number), 5)
        await channel.close()
        assert [number async for number in channel] == [2, 4, 5]
        assert channel.dropped == 2

    asyncio.run(scenario())


def test_it_waits_when_nothing_may_be_dropped() -> None:
    async def scenario() -> None:
        channel: Channel[int] = Channel("test", 1, lambda number: False)
        await channel.put(1)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(channel.put(2), 0.05)
        assert channel.dropped == 0

    asyncio.run(scenario())


def test_after_close_the_rest_comes_out_and_nothing_goes_in() -> None:
    async def scenario() -> None:
        channel: Channel[int] = Channel("test", 2)
        await channel.put(1)
        await channel.close()
        with pytest.raises(ChannelClosed):
            await channel.put(2)
        assert await channel.get() == 1
        with pytest.raises(ChannelClosed):
            await channel.get()

    asyncio.run(scenario())


def test_size_must_be_positive() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Channel("test", 0)

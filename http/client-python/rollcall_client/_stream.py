"""Lets one generator that blocks serve `for` and `async for`."""

from __future__ import annotations

import asyncio
from threading import Event, Thread
from typing import AsyncIterator, Callable, Generic, Iterator, Optional, TypeVar

Item = TypeVar("Item")


class Stream(Generic[Item]):
    """What comes one after the other, for `for` or for `async for`; it ends after `close`.

    In an event loop each item is awaited in a thread of its own, which keeps no process alive. An item is
    lost neither when the `await` is cancelled nor when the loop over the stream is left and begun again.
    """

    def __init__(self, read: Callable[[Event], Iterator[Item]]):
        self._stopped = Event()
        self._items = read(self._stopped)
        self._pending: Optional[asyncio.Future[Optional[Item]]] = None

    def close(self) -> None:
        """Ends it: at once between two items, else when the request on its way is answered."""
        self._stopped.set()

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        return next(self._items)

    def __aiter__(self) -> AsyncIterator[Item]:
        return self

    async def __anext__(self) -> Item:
        if self._pending is None:
            self._pending = self._begin(asyncio.get_running_loop())
        pending = self._pending
        try:
            item = await asyncio.shield(pending)
        finally:
            if pending.done():
                self._pending = None
        if item is None:
            raise StopAsyncIteration
        return item

    def _begin(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[Optional[Item]]:
        """Awaits the next item in a thread; the future gets `None` when there is none."""
        future: asyncio.Future[Optional[Item]] = loop.create_future()

        def finish(item: Optional[Item], error: Optional[BaseException]) -> None:
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(item)

        def work() -> None:
            item, error = None, None
            try:
                item = next(self._items, None)
            except BaseException as failure:
                error = failure
            try:
                loop.call_soon_threadsafe(finish, item, error)
            except RuntimeError:
                pass  # the loop has ended meanwhile

        Thread(target=work, name="rollcall-stream", daemon=True).start()
        return future

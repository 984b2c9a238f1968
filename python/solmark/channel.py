"""The wire between the judge and its Python children: frames of one JSON object, with descriptors beside them.

Frame: u32 magic "SLM1", u32 payload length (both little-endian), then a JSON object in UTF-8; at most 64
descriptors travel as SCM_RIGHTS on the frame's first byte. The C++ side is src/protocol/channel.h.
"""

from __future__ import annotations

import array
import json
import os
import socket
import struct
from typing import Any

MAGIC = 0x314D4C53
MAX_FRAME = 64 << 20
MAX_DESCRIPTORS = 64
_HEADER = struct.Struct("<II")
_CONTROL_SIZE = socket.CMSG_SPACE(MAX_DESCRIPTORS * array.array("i").itemsize)


class ChannelClosed(Exception):
    """The peer is gone."""


class ProtocolError(Exception):
    """The peer sent something that is not a frame, or we were asked to send one that is too large."""


class Message:
    """One received frame. The descriptors are owned by it: take() one, or close() them all."""

    def __init__(self, body: dict[str, Any], descriptors: list[int]) -> None:
        self.body = body
        self.descriptors = descriptors

    @property
    def type(self) -> str:
        return self.body["type"]

    def close(self) -> None:
        for fd in self.descriptors:
            os.close(fd)
        self.descriptors = []


class Channel:
    """A connected Unix stream socket that carries frames."""

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=fd)
        self._socket.setblocking(True)
        os.set_inheritable(fd, False)

    def send(self, body: dict[str, Any], descriptors: list[int] | None = None) -> None:
        descriptors = descriptors or []
        if len(descriptors) > MAX_DESCRIPTORS:
            raise ProtocolError("too many descriptors in a frame")
        payload = json.dumps(body, separators=(",", ":"), ensure_ascii=True).encode()
        if len(payload) > MAX_FRAME:
            raise ProtocolError(f"frame of {len(payload)} bytes is longer than the limit of {MAX_FRAME}")
        header = _HEADER.pack(MAGIC, len(payload))
        control = []
        if descriptors:
            control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        try:
            sent = self._socket.sendmsg([header], control)
            self._socket.sendall(header[sent:] + payload)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise ChannelClosed from error

    def receive(self) -> Message:
        """The next frame; raises ChannelClosed at the end of the stream."""
        descriptors: list[int] = []
        try:
            magic, length = _HEADER.unpack(self._read(_HEADER.size, descriptors))
            if magic != MAGIC:
                raise ProtocolError("peer sent bytes that are not a frame")
            if length > MAX_FRAME:
                raise ProtocolError(f"peer announced a frame of {length} bytes")
            try:
                body = json.loads(self._read(length, descriptors))
            except ValueError as error:
                raise ProtocolError(f"peer sent a frame that is not JSON: {error}") from error
            if not isinstance(body, dict) or not isinstance(body.get("type"), str):
                raise ProtocolError("peer sent a frame without a type")
            return Message(body, descriptors)
        except BaseException:
            for fd in descriptors:
                os.close(fd)
            raise

    def _read(self, size: int, descriptors: list[int]) -> bytes:
        chunks: list[bytes] = []
        left = size
        while left > 0:
            try:
                data, control, flags, _ = self._socket.recvmsg(
                    min(left, 1 << 20), _CONTROL_SIZE, socket.MSG_CMSG_CLOEXEC
                )
            except ConnectionResetError as error:
                raise ChannelClosed from error
            for level, kind, content in control:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    fds = array.array("i")
                    fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
                    descriptors.extend(fds)
            if flags & socket.MSG_CTRUNC or len(descriptors) > MAX_DESCRIPTORS:
                raise ProtocolError("peer sent too many descriptors")
            if not data:
                raise ChannelClosed
            chunks.append(data)
            left -= len(data)
        return b"".join(chunks)

    def close(self) -> None:
        self._socket.close()

"""The frame protocol's rules, from both ends of a socket."""

from __future__ import annotations

import math
import os
import socket
import struct
import threading

import pytest
from solmark.channel import MAX_FRAME, Channel, ChannelClosed, ProtocolError


def pair() -> tuple[Channel, socket.socket]:
    ours, theirs = socket.socketpair()
    return Channel(ours.detach()), theirs


def test_round_trip_with_descriptors() -> None:
    left, right = socket.socketpair()
    a, b = Channel(left.detach()), Channel(right.detach())
    fds = [os.memfd_create(f"m{i}") for i in range(3)]
    os.write(fds[1], b"here")
    # Longer than the socket's buffer: it takes both ends at once.
    sender = threading.Thread(target=a.send, args=({"type": "set", "text": "µ" * 100000}, fds))
    sender.start()
    message = b.receive()
    sender.join()
    assert message.body["text"] == "µ" * 100000 and len(message.descriptors) == 3
    assert os.pread(message.descriptors[1], 4, 0) == b"here"
    assert not os.get_inheritable(message.descriptors[1])
    message.close()
    assert message.descriptors == []


@pytest.mark.parametrize(
    "raw",
    [
        struct.pack("<II", 0x12345678, 2) + b"{}",
        struct.pack("<II", 0x314D4C53, MAX_FRAME + 1),
        struct.pack("<II", 0x314D4C53, 1) + b"{",
        struct.pack("<II", 0x314D4C53, 2) + b"[]",
        struct.pack("<II", 0x314D4C53, 2) + b"{}",
        struct.pack("<II", 0x314D4C53, 10) + b'{"type":1}',
    ],
)
def test_broken_frames(raw: bytes) -> None:
    channel, peer = pair()
    peer.sendall(raw)
    with pytest.raises(ProtocolError):
        channel.receive()


def test_end_of_stream() -> None:
    channel, peer = pair()
    peer.sendall(struct.pack("<II", 0x314D4C53, 100) + b"half")
    peer.close()
    with pytest.raises(ChannelClosed):
        channel.receive()


def test_non_finite_numbers_arrive() -> None:
    channel, peer = pair()
    channel.send({"type": "ok", "values": [float("nan"), float("inf"), float("-inf")]})
    values = Channel(peer.detach()).receive().body["values"]
    assert math.isnan(values[0]) and values[1:] == [float("inf"), float("-inf")]

"""What PyTorch and Triton say where there is no GPU; Triton's words alone do not tell a user so."""

_WORDS = ("0 active drivers", "Found no NVIDIA driver", "No CUDA GPUs are available", "not compiled with CUDA")


def mend(error: BaseException) -> str:
    """What to add to the words of an error; mostly nothing."""
    if any(words in str(error) for words in _WORDS):
        return "; there is no GPU here: evaluate with --device cuda on a machine that has one"
    return ""

"""Exceptions for the status codes of the library, with the library's messages."""


class Error(RuntimeError):
    """A call that the library refused or could not finish; str() is the library's message.

    status: the rooftile_status of rooftile.h, 0 where the library could not be loaded or its program failed.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class InvalidArgument(Error, ValueError):
    """An argument is wrong; no result was changed."""


class OutOfMemory(Error, MemoryError):
    """The host or the device has no memory for the call."""


INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY = 1, 2, 3


def error_of(status: int, message: str) -> Error:
    """The exception for a status other than 0."""
    kind = {INVALID_ARGUMENT: InvalidArgument, OUT_OF_MEMORY: OutOfMemory}.get(status, Error)
    return kind(message, status)

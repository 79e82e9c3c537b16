"""Between a client and its PostgreSQL server: it can break a connection between a COMMIT and its answer."""

import socket
import threading
from contextlib import suppress

COMMIT = b"COMMIT"


class CuttingProxy:
    """**Contract:** `cut_next_commit` holds for one commit: the server gets it, the client never hears of it."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._is_armed = False
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_next_commit(self) -> None:
        self._is_armed = True

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.create_connection(("127.0.0.1", self._server_port))
                ends = _Ends(client, server)
                threading.Thread(target=self._pass_on, args=[ends, client, server], daemon=True).start()
                threading.Thread(target=self._pass_back, args=[ends], daemon=True).start()

    def _pass_on(self, ends: "_Ends", client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                if self._is_armed and COMMIT in data:
                    self._is_armed = False
                    ends.is_cut = True
                server.sendall(data)
        ends.close()

    def _pass_back(self, ends: "_Ends") -> None:
        with suppress(OSError):
            while data := ends.server.recv(65536):
                if ends.is_cut:
                    # The server has answered, so what it committed is there.
                    self.cuts += 1
                    break
                ends.client.sendall(data)
        ends.close()


class _Ends:
    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client, self.server = client, server
        self.is_cut = False

    def close(self) -> None:
        for end in (self.client, self.server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

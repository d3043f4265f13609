"""Requests to the GPU worker about one bundle. Needs a driver, NumPy and `cuda-bindings`."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

from ferrotile_runner.workers.bundle_format import BundleError, Manifest, read_manifest
from ferrotile_runner.workers.gpu_device import Device, GpuFault
from ferrotile_runner.workers.gpu_launches import Launch

FAULT, BAD_REQUEST = -32001, -32602


class Worker:
    """Answers requests about one bundle, which need not be there before the first launch. The device is opened by the
    first request."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._bundle: tuple[Manifest, zipfile.ZipFile] | None = None
        self._device: Device | None = None
        self._launch: Launch | None = None
        self._place = (-1, -1)

    def answer(self, request: Mapping[str, object]) -> tuple[dict[str, object], bool]:
        """The reply, and whether this process is still fit for another."""
        reply: dict[str, object] = {"jsonrpc": "2.0", "id": request.get("id")}

        def failed(code: int, kind: str, words: str) -> tuple[dict[str, object], bool]:
            return {**reply, "error": {"code": code, "message": words, "data": {"kind": kind}}}, False

        try:
            params = request.get("params")
            assert isinstance(params, dict)
            return {**reply, "result": self._result(str(request.get("method")), params)}, True
        except GpuFault as fault:
            return failed(FAULT, fault.kind, str(fault))
        except RuntimeError as error:  # of cuda-bindings, which finds no driver to load
            return failed(FAULT, "no driver", f"no NVIDIA driver: {error}")
        except MemoryError:
            return failed(FAULT, "out of memory", "too little memory beside the GPU")
        except (AssertionError, KeyError, IndexError, ValueError, BundleError) as error:
            return failed(BAD_REQUEST, "request", f"{type(error).__name__}: {error}")

    def _result(self, method: str, params: Mapping[str, object]) -> dict[str, object]:
        if self._device is None:
            self._device = Device()
        match method:
            case "device":
                name, architecture = self._device.name, self._device.architecture
                return {"name": name, "architecture": architecture, "driver": self._device.driver_version}
            case "run":
                kernel, launch = params["kernel"], params["launch"]
                assert isinstance(kernel, int) and isinstance(launch, int)
                return {"touched": list(self._at(self._device, kernel, launch).run(str(params["side"])))}
            case "compare" if self._launch is not None:
                return self._launch.compare(None if params["keep"] is None else Path(str(params["keep"])))
            case "time" if self._launch is not None:
                return self._launch.time()
            case _:
                raise ValueError(f"no method {method} now")

    def _at(self, device: Device, kernel: int, launch: int) -> Launch:
        """The launch that is in the making, or a new one in its place."""
        if self._launch is None or self._place != (kernel, launch):
            if self._launch is not None:
                self._launch.close()
            if self._bundle is None:
                self._bundle = read_manifest(self._path), zipfile.ZipFile(self._path)
            manifest, archive = self._bundle
            self._launch = Launch(device, manifest.kernels[kernel].launches[launch], archive)
            self._place = kernel, launch
        return self._launch

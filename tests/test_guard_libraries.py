"""Libraries that write checkpoints by name, in native code, over yesterday's."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import guarded
import pytest

TORCH = """
import warnings
warnings.simplefilter("ignore")
import io, pathlib, shutil
import torch
guard.protect(torch)
last, best = "run/weights/last.pt", pathlib.Path("run/weights/best.pt")

def value(path, **more):
    return torch.load(path, weights_only=True, **more)["w"].item()

def state(number):
    return {"w": torch.tensor(number)}

torch.save(state(1), last)
assert value(last) == value(pathlib.Path(last)) == value("run/weights/soft.pt") == 1
torch.save(state(2), best)
assert value(best) == value("run/weights/hard.pt") == 2
assert value(last, mmap=True) == 1
with open(last, "wb") as file:
    torch.save(state(3), file)
assert value(last) == 3
torch.save(state(4), last, _use_new_zipfile_serialization=False)
assert value(last) == 4
buffer = io.BytesIO()
torch.save(state(5), buffer)
best.write_bytes(buffer.getvalue())
assert value(best) == 5
torch.save(state(6), last + ".tmp")
os.replace(last + ".tmp", last)
assert value(last) == 6
torch.save(state(7), "new.pt")
shutil.move("new.pt", best)
assert value(best) == 7
torch.save({**torch.load(best), "stripped": True}, best)
assert torch.load(best)["stripped"]
os.remove(last)
torch.save(state(8), last)
assert value(last) == 8
torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), last)
torch.save(torch.ones(4), "run2.pt")
mapped = torch.from_file("run/args.yaml", shared=True, size=4, dtype=torch.uint8)
mapped.zero_()
assert open("run/args.yaml", "rb").read(4) == bytes(4)
torch.UntypedStorage.from_file("run/results.csv", shared=True, nbytes=4).fill_(65)
assert open("run/results.csv", "rb").read(4) == b"AAAA"
print("done")
"""
WORKERS = """
import torch
guard.protect(torch)
from torch.utils.data import DataLoader, Dataset

class Files(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, n):
        with open("run/results.csv", "a") as file:
            file.write(f"{n}\\n")
        return torch.load("run/weights/last.pt")["w"]

torch.save({"w": torch.tensor(1)}, "run/weights/last.pt")
batches = list(DataLoader(Files(), batch_size=2, num_workers=2))
assert torch.cat(batches).tolist() == [1, 1, 1, 1]
assert sorted(open("run/results.csv").read().split()[2:]) == ["0", "1", "2", "3"]
print("done")
"""
SAFETENSORS = """
import numpy
import safetensors
guard.protect(safetensors)
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
path = "run/weights/last.pt"
save_file({"w": numpy.ones(1)}, path)
assert load_file(path)["w"].tolist() == [1]
with safe_open(path, framework="np") as file:
    assert list(file.keys()) == ["w"]
os.remove(path)
save_file({"w": numpy.zeros(1)}, path)
assert load_file(path)["w"].tolist() == [0]
save_file({"w": numpy.zeros(1)}, "new.safetensors")
print("done")
"""
H5PY = """
import h5py
guard.protect(h5py)
path = "run/weights/last.pt"
with h5py.File(path, "w") as file:
    file["w"] = 1
with h5py.File(path, "a") as file:
    file["v"] = 2
with h5py.File(path) as file:
    assert sorted(file) == ["v", "w"]
print("done")
"""
NUMPY = """
import numpy
path = "run/weights/last.pt"
numpy.save(open(path, "wb"), numpy.ones(2))
assert numpy.load(path).tolist() == [1, 1]
mapped = numpy.memmap(path, mode="r+")
mapped[:4] = 0
mapped.flush()
assert open(path, "rb").read(4) == bytes(4)
numpy.arange(3, dtype="u1").tofile(path)
assert numpy.fromfile(path, dtype="u1").tolist() == [0, 1, 2]
numpy.savetxt("run/results.csv", numpy.ones(1))
assert numpy.loadtxt("run/results.csv") == 1
print("done")
"""


@pytest.mark.parametrize(
    ("library", "program"),
    [
        pytest.param("torch", TORCH, marks=[pytest.mark.torch, pytest.mark.slow]),
        pytest.param("torch", WORKERS, marks=[pytest.mark.torch, pytest.mark.slow]),
        ("safetensors", SAFETENSORS),
        ("h5py", H5PY),
        ("numpy", NUMPY),
    ],
    ids=["torch", "workers of a data loader", "safetensors", "h5py", "numpy"],
)
def test_a_library_sees_what_it_saved_and_yesterday_stays(
    tmp_path: Path, library: str, program: str
) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"needs {library}")
    at = guarded.yesterday(tmp_path)
    before = guarded.state(at.work)
    ran = guarded.run(at, program, site=True)
    assert (ran.code, ran.said) == (0, "done\n"), ran.errors
    after = guarded.state(at.work)
    assert {name: after.get(name) for name in before} == before

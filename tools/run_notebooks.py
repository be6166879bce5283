"""Run the notebooks and store their outputs, the same to the byte whenever nothing changed.

python tools/run_notebooks.py            every notebook in notebooks/
python tools/run_notebooks.py 02         those whose names start with 02
"""

import base64
import io
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
# What differs from run to run, and so must not reach a stored output: the address of an object in memory.
UNSTABLE = re.compile(r"\b0x[0-9a-f]{6,}\b")


def run(path: Path) -> None:
    """Execute the notebook at `path` from its first cell to its last, and write it back."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=300,
        coalesce_streams=True,
        resources={"metadata": {"path": path.parent}},
        extra_arguments=["--log-level=ERROR"],
    )
    client.record_timing = False
    with tempfile.TemporaryDirectory() as empty:  # not the progress of whoever runs this, which would be stored
        client.execute(env=os.environ | {"ATTENTION_LIVE_PROGRESS": empty})
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "code":
            cell.outputs = stable_outputs(cell.outputs, where=f"{path.name}, cell {number}")
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    path.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def stable_outputs(outputs: list, where: str) -> list:
    """Without widget views and with smaller pictures. What a reader should not see, or is not stable, is refused."""
    stable = []
    for output in outputs:
        if output.get("name") == "stderr":
            raise SystemExit(f"{where} writes to stderr, which a reader would see: {output.text[:500]}")
        data = output.get("data", {})
        data.pop(WIDGET_VIEW, None)
        if picture := data.get("image/png"):
            data["image/png"] = smaller(picture)
        for text in (output.get("text", ""), data.get("text/plain", ""), data.get("text/html", "")):
            if found := UNSTABLE.search(text):
                raise SystemExit(f"{where} prints {found[0]}, an address that changes from run to run")
        if output.output_type == "stream" or data:
            stable.append(output)
    return stable


def smaller(picture: str) -> str:
    """A PNG in base64, with a palette of 256 colours: a figure keeps its looks and loses two thirds of its size."""
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    file = io.BytesIO()
    image.quantize(256, dither=Image.Dither.NONE).save(file, format="PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode() + "\n"


def main(prefix: str = "") -> None:
    """Run every notebook whose name starts with `prefix`."""
    paths = sorted(NOTEBOOKS.glob(f"{prefix}*.ipynb"))
    if not paths:
        raise SystemExit(f"no notebook in {NOTEBOOKS} starts with {prefix!r}")
    os.environ["TQDM_DISABLE"] = "1"
    for path in paths:
        start = time.monotonic()
        run(path)
        print(f"{path.name}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

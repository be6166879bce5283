"""Pack the built site into one archive that works from any folder, under any web server.

    python tools/make_zip.py book/_build/html book/_build/attention-live.zip

The same site gives the same bytes: the files come in order, and all have the same date.
"""

import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

DATE = (2026, 1, 1, 0, 0, 0)


def wanted(path: Path) -> bool:
    """Whether a file of the site (a path within it) is published: no hidden files, and of the sources the notebooks."""
    return not path.name.startswith(".") and (path.parts[0] != "_sources" or path.suffix == ".ipynb")


def main(site: str, archive: str) -> None:
    """Write the files of the folder `site` to `archive`, in one folder that is named like it."""
    paths = sorted(path for path in Path(site).rglob("*") if path.is_file() and wanted(path.relative_to(site)))
    if not paths:
        raise SystemExit(f"no site in {site}")
    with ZipFile(archive, "w") as packed:
        for path in paths:
            entry = ZipInfo(f"{Path(archive).stem}/{path.relative_to(site).as_posix()}", DATE)
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, path.read_bytes(), ZIP_DEFLATED)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What all explorers share: their front-end's modules joined for the notebook, and a stored form for the website."""

import html
import json
import re
from pathlib import Path

import anywidget

FOLDER = Path(__file__).parent

IMPORT = re.compile(r'^import \{ (?P<names>\w+(?:, \w+)*) \} from "(?P<path>\./[\w/.-]+\.mjs)";$')
EXPORT = re.compile(r"^export (?P<rest>(?:async )?(?:function|const|class) (?P<name>\w+)\b.*)$")


def join_modules(path):
    """Return the JavaScript module at `path` and all that it imports as one text.

    anywidget takes one text, while the website serves the modules as they are. Each imported module becomes a
    function's scope that hands out what the module exports, so that no two modules can clash:

        const dom = (() => { …; return { html, svg }; })();      // what ./lib/dom.mjs says
        const { html, svg } = dom;                               // import { html, svg } from "./lib/dom.mjs";

    Args:
        path: the module's file. It and what it imports may use only imports of the form above, on one line each,
            and the imported ones only `export function`, `export const` and `export class`.

    Returns:
        The text of one module that imports nothing and exports what the module at `path` exports.

    Raises:
        ValueError: for any other import or export, and for a name that the imported module does not export.
    """
    scopes = {}  # file of an imported module -> (its scope's name, the names it exports, its text)
    text = _without_imports(path, scopes)
    return "\n".join([*(scope for _, _, scope in scopes.values()), text])


def _without_imports(path, scopes):
    """The text of the module with its imports taken from `scopes`, to which new ones are added."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("import"):
            imported = IMPORT.match(line)
            if imported is None:
                raise ValueError(f'{path.name}: an import must read import {{ a, b }} from "./x.mjs"; got {line!r}')
            scope, exports = _scope(path.parent / imported["path"], scopes)
            for name in imported["names"].split(", "):
                if name not in exports:
                    raise ValueError(f"{path.name} imports {name}, which {imported['path']} does not export")
            line = f"const {{ {imported['names']} }} = {scope};"
        lines.append(line)
    return "\n".join(lines)


def _scope(path, scopes):
    """The name of an imported module's scope, and the names it exports. Each module is taken in only once."""
    path = path.resolve()
    if path not in scopes:
        lines, exports = [], []
        for line in _without_imports(path, scopes).splitlines():
            if line.startswith("export"):
                exported = EXPORT.match(line)
                if exported is None:
                    raise ValueError(f"{path.name}: only functions, consts and classes may be exported, got {line!r}")
                exports.append(exported["name"])
                line = exported["rest"]
            lines.append(line)
        name = f"module{len(scopes)}"
        body = "\n".join(lines)
        scopes[path] = name, exports, f"const {name} = (() => {{\n{body}\nreturn {{ {', '.join(exports)} }};\n}})();"
    return scopes[path][:2]


class Explorer(anywidget.AnyWidget):
    """An interactive figure whose front-end does all its arithmetic itself.

    A subclass names its front-end in `module`, the file `module.mjs` in this folder, and its figure in `title`. Its
    synced traits are the figure's state: a trait set from Python redraws the figure, and what a reader changes by
    hand is read from the trait.

    Beside the live view, a displayed explorer carries a stable `text/html` and `text/plain`. The website takes the
    HTML, in which `mount-explorers.mjs` finds the front-end's name and state. A notebook takes the live view alone.
    (ipywidgets 7, as in Colab, displays a widget by a method of its own, and leaves the two out.)
    """

    module: str
    title: str

    def __init_subclass__(cls, **kwargs):
        if "module" in vars(cls):  # anywidget subclasses every explorer once more when it is created
            cls._esm = join_modules(FOLDER / f"{cls.module}.mjs")
        super().__init_subclass__(**kwargs)

    def state(self):
        """Return the figure's state: the subclass's own synced traits by name, in alphabetical order.

        Numbers are rounded to 4 significant digits.
        """
        names = set(self.trait_names(sync=True)) - set(Explorer.class_trait_names(sync=True))
        return {name: _rounded(getattr(self, name)) for name in sorted(names) if not name.startswith("_")}

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.state().items())})"

    def _repr_mimebundle_(self, **kwargs):
        data, metadata = super()._repr_mimebundle_(**kwargs)
        state = html.escape(json.dumps(self.state(), ensure_ascii=False))
        data["text/plain"] = repr(self)
        data["text/html"] = (
            f'<div class="explorer" data-explorer="{self.module}" data-state="{state}">'
            f"<p>{self.title} is an interactive figure: it needs JavaScript on the website, "
            "and in a notebook that its cell is run.</p></div>"
        )
        return data, metadata


def _rounded(value):
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value

"""The table under a chart."""

from dataclasses import dataclass
from html import escape


@dataclass(frozen=True, slots=True)
class TableRow:
    title: str
    cells: tuple[str, ...]

    def as_html(self) -> str:
        """Its HTML element. A page has hundreds of cells, for which templates are slow."""
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in self.cells)
        return f'<tr><th scope="row">{escape(self.title)}</th>{cells}</tr>'

"use strict";
// Tables are sorted by a click, or Enter, on a column's head. Without this the page shows the same.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const heads = Array.from(table.tHead.rows[0].cells);
  if (body.rows.length < 2) continue;
  const value = (row, column) => {
    const text = row.cells[column].textContent.trim();
    const number = parseFloat(text.replace(/,/g, ""));
    return heads[column].classList.contains("number") && !Number.isNaN(number) ? number : text;
  };
  heads.forEach((head, column) => {
    if (!head.textContent) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const order = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
      const rows = Array.from(body.rows);
      rows.sort((a, b) => (up ? 1 : -1) * order(value(a, column), value(b, column)));
      body.append(...rows);
    });
  });
}

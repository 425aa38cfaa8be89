"use strict";
(() => {
  const make = (tag, text, to, before) => {
    const found = document.createElement(tag);
    if (text) found.textContent = text;
    to.insertBefore(found, before || null);
    return found;
  };
  const value = (cell) => {
    const words = cell ? cell.textContent.trim().replace(/−/g, "-") : "";
    const number = parseFloat(words.replace(/^(<|>|row |line |step )/, "").replace(/,/g, ""));
    return { words, number };
  };
  const compare = (a, b) =>
    isNaN(a.number) || isNaN(b.number) ? a.words.localeCompare(b.words, undefined, { numeric: true }) : a.number - b.number;
  const sortable = (table) => {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((head, at) => {
      if (!head.textContent.trim() || body.rows.length < 3) return;
      head.tabIndex = 0;
      head.classList.add("sorts");
      head.title = (head.title ? head.title + ". " : "") + "Sort by this column";
      const sort = () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...body.rows].map((row) => ({ row, key: value(row.cells[at]) }));
        rows.sort((a, b) => (up ? 1 : -1) * compare(a.key, b.key));
        body.append(...rows.map((one) => one.row));
      };
      head.addEventListener("click", sort);
      head.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        sort();
      });
    });
  };
  const filterable = (tools, table) => {
    const input = make("input", "", tools, tools.firstChild);
    input.type = "search";
    input.placeholder = "Filter rows";
    input.setAttribute("aria-label", "Filter rows");
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
  };
  const copies = (tools, text) => {
    const button = make("button", "Copy", tools);
    button.type = "button";
    button.addEventListener("click", () => {
      const done = (words) => {
        button.textContent = words;
        setTimeout(() => (button.textContent = "Copy"), 1500);
      };
      if (navigator.clipboard && window.isSecureContext) {
        navigator.clipboard.writeText(text()).then(() => done("Copied"), () => done("Not allowed"));
        return;
      }
      const area = make("textarea", "", document.body);
      area.value = text();
      area.select();
      done(document.execCommand("copy") ? "Copied" : "Not allowed");
      area.remove();
    });
  };
  const lines = (table) =>
    [...table.rows].map((row) => [...row.cells].filter((cell) => !cell.classList.contains("plays")).map((cell) => cell.textContent.trim()).join("\t")).join("\n");
  for (const box of document.querySelectorAll(".table")) {
    const table = box.querySelector("table");
    const tools = box.querySelector(".tools");
    sortable(table);
    if (box.classList.contains("long")) filterable(tools, table);
    copies(tools, () => lines(table));
  }
  for (const box of document.querySelectorAll(".copied")) {
    const source = box.querySelector("code, p");
    const words = source.textContent;
    const tools = make("div", "", box);
    tools.className = "tools";
    copies(tools, () => words);
  }
})();

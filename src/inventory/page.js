for (const section of document.querySelectorAll(".filtered")) {
  const text = section.querySelector("input"), state = section.querySelector("select"), shown = section.querySelector(".shown");
  const rows = [...section.querySelectorAll("tbody tr")];
  const apply = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let families = 0, nodes = 0;
    for (const row of rows) {
      const content = row.textContent.toLowerCase();
      row.hidden = (state.value && row.dataset.state !== state.value) || !words.every(word => content.includes(word));
      if (!row.hidden) { ++families; nodes += Number(row.dataset.nodes); }
    }
    shown.textContent = families + " of " + rows.length + " families, " + nodes + " nodes";
  };
  text.addEventListener("input", apply);
  state.addEventListener("change", apply);
  apply();
}

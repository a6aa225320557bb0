// A finger cannot point without touching: what a mark's title says is shown under its plot, too.
for (const figure of document.querySelectorAll("figure")) {
  const show = event => {
    const mark = event.target.closest(".mark");
    const title = mark && mark.querySelector("title");
    const output = figure.querySelector("output");
    if (output && title) output.textContent = title.textContent;
  };
  figure.addEventListener("click", show);
  figure.addEventListener("pointerover", show);
}

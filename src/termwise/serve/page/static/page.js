"use strict";
(() => {
  const form = document.getElementById("searching");
  if (!form) return;

  const filters = document.querySelector(".filters");
  if (filters) {
    const narrow = matchMedia("(max-width: 860px)");
    const fold = () => { filters.open = !narrow.matches; };
    narrow.addEventListener("change", fold);
    fold();
  }

  for (const input of document.querySelectorAll("[data-submit]"))
    input.addEventListener("change", () => form.requestSubmit());

  form.addEventListener("formdata", (event) => {
    for (const [name, value] of [...event.formData])
      if (value === "" && name !== "q") event.formData.delete(name);
  });

  const box = document.getElementById("q");
  const list = document.getElementById("completions");
  let waiting = 0;
  let asked = new AbortController();
  box.addEventListener("input", (event) => {
    clearTimeout(waiting);
    asked.abort();
    if (event.inputType === "insertReplacementText" || !box.value.trim()) return;
    waiting = setTimeout(async () => {
      asked = new AbortController();
      try {
        const url = `${form.dataset.suggest}?text=${encodeURIComponent(box.value)}`;
        const answer = await fetch(url, { signal: asked.signal });
        if (!answer.ok) return;
        const { completions } = await answer.json();
        list.replaceChildren(...completions.map((text) => new Option(text, text)));
      } catch (error) {
        if (error.name !== "AbortError") list.replaceChildren();
      }
    }, 60);
  });
})();

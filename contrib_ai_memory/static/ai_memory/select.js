/* Lists with check boxes: selects all rows at once, and counts those that are selected. */
(function () {
  "use strict";

  const form = document.getElementById("selection");
  const boxes = Array.from(form.querySelectorAll("input[name=id]"));
  const all = document.getElementById("select-all");
  const count = document.getElementById("selected");
  const button = form.querySelector(".selection button");

  function show() {
    const ticked = boxes.filter((box) => box.checked).length;
    count.textContent = ticked + " of " + boxes.length + " selected";
    button.disabled = ticked === 0;
    if (all) {
      all.checked = ticked === boxes.length;
      all.indeterminate = ticked > 0 && ticked < boxes.length;
    }
  }

  if (all) {
    all.hidden = false;
    all.addEventListener("change", function () {
      for (const box of boxes) box.checked = all.checked;
      show();
    });
  }
  form.addEventListener("change", show);
  addEventListener("pageshow", show); // a browser that goes back may restore the boxes
  show();
})();

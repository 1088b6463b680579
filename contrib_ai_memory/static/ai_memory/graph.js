/* Draws the link graph. Stored text is inserted as text, never as HTML. */
(function () {
  "use strict";

  const box = document.getElementById("graph");
  const data = JSON.parse(document.getElementById("graph-data").textContent);
  const details = document.getElementById("graph-chosen");
  const COLOURS = {
    entry: "#4a86c5", experience: "#c98a1b", fact: "#2f9e6b",
    taught: "#8d6bc9", summary: "#7d8894", insight: "#c94f6d",
  };
  const MANY = 600; // nodes beyond which details are left out, for speed

  if (typeof ForceGraph !== "function") {
    box.querySelector(".waiting").textContent =
      "The graph could not be loaded. The table below lists the same links.";
    return;
  }

  function colourOf(name) {
    return getComputedStyle(box).getPropertyValue(name).trim();
  }
  let ink = colourOf("--ink"), line = colourOf("--soft"), accent = colourOf("--focus");
  const many = data.nodes.length > MANY;
  const neighbours = new Map(data.nodes.map((node) => [node.id, new Set()]));
  for (const link of data.links) {
    neighbours.get(link.source).add(link.target);
    neighbours.get(link.target).add(link.source);
  }
  let selected = null;
  let found = null; // the nodes that are searched for, if any are

  function near(node) {
    if (node === selected) return true;
    if (found) return found.includes(node);
    return !selected || neighbours.get(selected.id).has(node.id);
  }

  function element(tag, text, name) {
    const made = document.createElement(tag);
    made.textContent = text;
    if (name) made.className = name;
    return made;
  }

  function select(node) {
    selected = node;
    const text = element("p", node.text, "text");
    text.dir = "auto";
    const facts = element("p", "");
    const link = element("a", "Open " + node.name);
    link.href = node.url;
    const count = neighbours.get(node.id).size;
    facts.append(
      element("span", node.record, "badge"), " ",
      ...(node.secret ? [element("span", "secret", "badge secret"), " "] : []),
      element("span", "importance " + node.importance + ", " + count + (count === 1 ? " link  " : " links  "), "hint"),
      link
    );
    details.replaceChildren(text, facts);
    redraw();
  }

  function redraw() {
    graph.linkColor(graph.linkColor()); // at rest it redraws only when a property is set
  }

  function radius(node, scale) {
    return (3 + 5 * node.importance) / Math.min(1, scale); // does not shrink when zoomed out
  }

  box.replaceChildren();
  const graph = new ForceGraph(box)
    .backgroundColor("rgba(0,0,0,0)")
    .width(box.clientWidth)
    .height(box.clientHeight)
    .nodeLabel(null) // its own label would render text as HTML
    .linkLabel(null)
    .nodeCanvasObject(function (node, context, scale) {
      context.globalAlpha = near(node) ? 1 : 0.2;
      context.beginPath();
      context.arc(node.x, node.y, radius(node, scale), 0, 2 * Math.PI);
      context.fillStyle = COLOURS[node.record] || COLOURS.summary;
      context.fill();
      if (node.secret || node === selected) {
        context.lineWidth = (node === selected ? 3 : 1.5) / scale;
        context.strokeStyle = node === selected ? accent : ink;
        context.stroke();
      }
      if (node === selected || (scale > 2.5 && near(node))) {
        context.font = 11 / scale + "px sans-serif";
        context.fillStyle = ink;
        context.fillText(node.text.slice(0, 40), node.x + radius(node, scale) + 3 / scale, node.y + 4 / scale);
      }
      context.globalAlpha = 1;
    })
    .nodePointerAreaPaint(function (node, colour, context, scale) {
      context.fillStyle = colour;
      context.beginPath();
      context.arc(node.x, node.y, radius(node, scale) + 3 / scale, 0, 2 * Math.PI);
      context.fill();
    })
    .linkColor(function (link) {
      return selected && (link.source === selected || link.target === selected) ? accent : line;
    })
    .linkWidth(function (link) {
      return selected && (link.source === selected || link.target === selected) ? 2 : many ? 0.3 : 0.4 + link.score;
    })
    .cooldownTime(many ? 8000 : 5000)
    .warmupTicks(many ? 20 : 60)
    .onNodeClick(select)
    .onNodeDragEnd(function (node) {
      node.fx = node.x; // stays where it was dropped
      node.fy = node.y;
    })
    .onBackgroundClick(function () {
      selected = null;
      redraw();
    })
    .graphData({
      nodes: data.nodes.map((node) => ({ ...node })),
      links: data.links.map((link) => ({ ...link })),
    });
  graph.d3Force("charge").strength(many ? -25 : -60).distanceMax(400);

  graph.d3Force("center-each", function (alpha) {
    for (const node of graph.graphData().nodes) { // keeps unconnected nodes in view
      node.vx -= node.x * 0.06 * alpha;
      node.vy -= node.y * 0.06 * alpha;
    }
  });

  let fitted = false;
  function fit() {
    graph.zoomToFit(300, 20);
  }
  graph.onEngineStop(function () {
    if (!fitted) fit();
    fitted = true;
    box.dataset.state = "still";
  });
  setTimeout(function () {
    if (!fitted) fit();
  }, 1200);

  const button = document.getElementById("graph-fit");
  button.hidden = false;
  button.addEventListener("click", fit);

  const search = document.getElementById("graph-find");
  const count = document.getElementById("graph-found");
  const summary = count.textContent;
  let place = -1; // of the match that Enter went to last

  function find() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    place = -1;
    found = words.length === 0 ? null : graph.graphData().nodes.filter(function (node) {
      const text = (node.name + " " + node.text).toLowerCase();
      return words.every((word) => text.includes(word));
    });
    if (!found) count.textContent = summary;
    else if (found.length === 0) count.textContent = "No memory in the graph has these words.";
    else count.textContent = found.length + (found.length === 1 ? " memory" : " memories") + " found. Enter goes to the next.";
    if (found && found.length > 0) graph.zoomToFit(300, 80, (node) => found.includes(node));
    redraw();
  }
  search.addEventListener("input", find);
  search.addEventListener("keydown", function (event) {
    if (event.key !== "Enter" || !found || found.length === 0) return;
    event.preventDefault();
    place = (place + 1) % found.length;
    select(found[place]);
    graph.centerAt(found[place].x, found[place].y, 300);
    count.textContent = place + 1 + " of " + found.length + ".";
  });
  document.getElementById("graph-search").hidden = false;

  const key = document.getElementById("graph-key");
  for (const record of new Set(data.nodes.map((node) => node.record))) {
    const dot = element("span", "", "dot");
    dot.style.background = COLOURS[record] || COLOURS.summary;
    const label = element("span", "", "key");
    label.append(dot, record);
    key.append(label);
  }
  key.append(element("span", "outlined: secret; larger: more important", "key"));

  addEventListener("resize", function () {
    graph.width(box.clientWidth).height(box.clientHeight);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () {
    ink = colourOf("--ink");
    line = colourOf("--soft");
    accent = colourOf("--focus");
  });
  box.dataset.state = "drawn";
  box.graph = graph; // for tests/browser
})();

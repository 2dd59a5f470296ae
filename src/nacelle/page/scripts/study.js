// Linked charts of a study's variants (nacelle.studies.page), drawn on canvas; nothing is requested.
// A column has at most one range. Ranges select variants, wherever they were brushed; all charts, the table and
// the robots in space show the selection. Names are shown as plain text.
(() => {
  "use strict";

  const source = document.querySelector(".study-data");
  if (!source) return;

  const INK = "#24292f", QUIET = "#5b6470", LINE = "#d9dde2", PALE = "#ccd2d9", UNKNOWN = "#8a929b";
  const SELECTED = "#0072b2", FRONT = "#d55e00", BRUSH = "rgb(0 114 178 / 0.1)";
  const FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
  const MAX_TABLE_ROWS = 200, MAX_CELLS = 40000, BINS = 32, SHADES = 64;

  // ------------------------------------------------------------------ data

  const data = JSON.parse(source.textContent);
  const buffer = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
  const rows = new Uint32Array(buffer(data.rows)), count = rows.length;
  const status = new Uint8Array(buffer(data.status));
  const [isFront, isFeasible] = [data.front, data.feasible].map((text) => new Uint8Array(buffer(text)));
  const columns = data.columns.map((column) => {
    const name = column.name.trim() || "(no name)", arrow = { minimise: " ↓", maximise: " ↑" }[column.goal] ?? "";
    const label = name + (column.unit ? ` (${column.unit})` : "") + arrow;
    return { ...column, name, arrow, label, values: new Float32Array(buffer(column.values)) };
  });
  // Evenly through the table, so that a picture that is not finished yet shows a fair part.
  const stride = Math.ceil(count / 500);
  const order = Uint32Array.from({ length: count }, (_, i) => i).sort((i, k) => (i % stride) - (k % stride) || i - k);

  // Lowest and highest value of each column among some variants: what all axes span.
  function span(variants) {
    for (const column of columns) {
      let low = Infinity, high = -Infinity;
      for (const i of variants) {
        if (column.values[i] < low) low = column.values[i];
        if (column.values[i] > high) high = column.values[i];
      }
      if (low > high) [low, high] = [0, 1];
      const margin = low === high ? 0.05 * Math.abs(low) || 1 : 0;
      [column.low, column.high] = [low - margin, high + margin];
    }
  }

  // ------------------------------------------------------------------ what is selected

  const ranges = new Map(); // column -> [low, high]
  const hiddenStatus = new Set(), masks = new Set(); // statuses that are left out, and what a variant has to be
  const selected = new Uint8Array(count);
  const parts = []; // what is drawn again when the selection changes
  let selection = []; // in the order in which variants are drawn, those of the front last
  let zoomed = false, hovered = -1, pending = 0;

  function select() {
    for (let i = 0; i < count; i++) selected[i] = !hiddenStatus.has(status[i]);
    for (const mask of masks) for (let i = 0; i < count; i++) selected[i] &= mask[i];
    for (const [c, [low, high]] of ranges) {
      const { values } = columns[c];
      for (let i = 0; i < count; i++) if (!(values[i] >= low && values[i] <= high)) selected[i] = 0;
    }
    const chosen = order.filter((i) => selected[i]);
    selection = [...chosen.filter((i) => !isFront[i]), ...chosen.filter((i) => isFront[i])];
  }

  function update() {
    pending ||= requestAnimationFrame(() => {
      pending = 0;
      select();
      for (const part of parts) part.draw();
    });
  }

  // Ends are 32-bit numbers, like the values: a typed 0.1 includes a variant with 0.1.
  function setRange(c, a, b) {
    ranges.set(c, [Math.fround(Math.min(a, b)), Math.fround(Math.max(a, b))]);
    update();
  }

  function zoom(on) {
    zoomed = on && selection.length > 0;
    span(zoomed ? selection : order);
    for (const part of parts) part.resize?.();
  }

  function hover(i) {
    if (i === hovered) return;
    hovered = i;
    for (const part of parts) part.drawTop?.();
  }

  // ------------------------------------------------------------------ numbers, elements, axes

  function format(value, digits = 5) {
    if (Number.isNaN(value)) return "–";
    const size = Math.abs(value), short = Number(value.toPrecision(digits));
    return size >= 1e5 || (size > 0 && size < 1e-4) ? short.toExponential().replace("e+", "e") : String(short);
  }

  // Round numbers from low to high, two or more; small and large ones have one exponent in common.
  function ticks({ low, high }, room) {
    const most = Math.max(room, 3), power = 10 ** Math.floor(Math.log10((high - low) / most));
    const ends = (step) => [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
    const fits = (step) => ends(step)[1] - ends(step)[0] < Math.floor(most);
    const step = [1, 2, 2.5, 5, 10, 20].map((factor) => factor * power).find(fits), [first, last] = ends(step);
    const digits = Math.floor(Math.log10(Math.max(Math.abs(low), Math.abs(high))));
    const unit = digits < -3 || digits >= 5 ? `e${3 * Math.floor(digits / 3)}` : "";
    return Array.from({ length: last - first + 1 }, (_, k) => {
      const value = (first + k) * step;
      return { value, text: value ? format(value / Number(`1${unit}`), 9) + unit : "0" };
    });
  }

  function make(tag, properties = {}, parent = null) {
    const node = Object.assign(document.createElement(tag), properties);
    parent?.append(node);
    return node;
  }

  function button(parent, textContent, act) {
    make("button", { type: "button", textContent }, parent).addEventListener("click", act);
  }

  // A text without its middle, so that it fits into a width.
  function shorten(layer, text, width) {
    const letters = [...text];
    for (let n = Math.min(letters.length, 120), short = text; ; n--) {
      if (n <= 0 || layer.measureText(short).width <= width) return short;
      short = `${letters.slice(0, n - (n >> 1)).join("")}…${letters.slice(letters.length - (n >> 1)).join("")}`;
    }
  }

  class Axis {
    constructor(c, from, to, room = 0) {
      const { low, high } = columns[c], more = room * (high - low);
      Object.assign(this, { c, from, to, low: low - more, high: high + more });
    }

    has(value) { return value >= this.low && value <= this.high; }

    pixel(value) { return this.from + ((value - this.low) / (this.high - this.low)) * (this.to - this.from); }

    nearest(value) { return this.pixel(Math.min(Math.max(value, this.low), this.high)); }

    value(pixel) {
      const part = (pixel - this.from) / (this.to - this.from);
      return part <= 0 ? this.low : part >= 1 ? this.high : this.low + part * (this.high - this.low);
    }

    // Pixels of the column's range; of the whole axis without one.
    range() { return (ranges.get(this.c) ?? [this.low, this.high]).map((end) => this.nearest(end)); }
  }

  // From dark to light at an even rate, legible in black and white.
  const shades = Array.from({ length: SHADES }, (_, k) => {
    const part = k / (SHADES - 1);
    return `oklch(${30 + 55 * part}% ${0.11 + 0.05 * part} ${300 - 195 * part})`;
  });
  const shade = (axis, value) =>
    Number.isNaN(value) ? UNKNOWN : shades[Math.floor(Math.min(axis.nearest(value), 0.999) * SHADES)];

  // ------------------------------------------------------------------ a chart

  // Three layers: what stays (all variants, and most axes), the selection, and what follows the pointer.
  class Chart {
    constructor(parent, height, label) {
      this.height = height;
      this.frame = make("div", { className: "study-chart" }, parent);
      this.frame.style.height = `${height}px`;
      this.layers = [0, 1, 2].map(() => make("canvas", {}, this.frame).getContext("2d"));
      [this.back, this.data, this.top] = this.layers;
      this.top.canvas.setAttribute("role", "img");
      this.top.canvas.setAttribute("aria-label", label);
      this.jobs = new Map();
      this.listen(this.top.canvas);
      parts.push(this);
      new ResizeObserver(() => this.resize()).observe(this.frame);
    }

    resize() {
      this.width = this.frame.clientWidth;
      if (!this.width) return;
      const scale = Math.min(devicePixelRatio || 1, 2);
      for (const layer of this.layers) {
        layer.canvas.width = Math.round(this.width * scale);
        layer.canvas.height = Math.round(this.height * scale);
        layer.setTransform(scale, 0, 0, scale, 0, 0);
        Object.assign(layer, { font: FONT, direction: "ltr", lineJoin: "round" });
      }
      this.arrange();
      this.drawBack();
      this.draw();
    }

    draw() {
      if (!this.width) return;
      this.drawData();
      this.drawTop();
    }

    clear(layer) {
      layer.clearRect(0, 0, this.width, this.height);
      this.jobs.delete(layer);
    }

    // Draws items some milliseconds a frame, until the layer is cleared.
    paint(layer, items, drawItem) {
      let k = 0;
      const step = () => {
        if (this.jobs.get(layer) !== step) return;
        const end = performance.now() + 5;
        while (k < items.length && performance.now() < end) {
          for (const stop = Math.min(k + 64, items.length); k < stop; k++) drawItem(items[k]);
        }
        if (k < items.length) requestAnimationFrame(step);
      };
      this.jobs.set(layer, step);
      step();
    }

    text(layer, text, x, y, textAlign = "left", fillStyle = QUIET) {
      Object.assign(layer, { textAlign, fillStyle, strokeStyle: "#fff", lineWidth: 3 });
      if (layer === this.top) layer.strokeText(text, x, y);
      layer.fillText(text, x, y);
    }

    line(layer, x1, y1, x2, y2, strokeStyle) {
      Object.assign(layer, { strokeStyle, lineWidth: 1 });
      layer.beginPath();
      layer.moveTo(x1, y1);
      layer.lineTo(x2, y2);
      layer.stroke();
    }

    // Numbers below a horizontal axis, none cut off at the sides.
    numbersBelow(axis, y, marks) {
      for (const { value, text } of marks) {
        const x = axis.pixel(value), half = 0.5 * this.back.measureText(text).width + 1;
        this.line(this.back, x, y, x, y + 4, UNKNOWN);
        this.text(this.back, text, Math.min(Math.max(x, half), this.width - half), y + 15, "center");
      }
    }

    brushBox(x1, y1, x2, y2) {
      Object.assign(this.top, { fillStyle: BRUSH, strokeStyle: SELECTED, lineWidth: 1 });
      this.top.fillRect(x1, y1, x2 - x1, y2 - y1);
      this.top.strokeRect(x1, y1, x2 - x1, y2 - y1);
    }

    // A drag brushes from point to point; a click clears the ranges of what it hits.
    listen(canvas) {
      let start = null, dragged = false;
      canvas.addEventListener("pointerdown", (event) => {
        if (event.button) return;
        [start, dragged] = [{ x: event.offsetX, y: event.offsetY }, false];
        canvas.setPointerCapture(event.pointerId);
        this.pick?.(null);
      });
      canvas.addEventListener("pointermove", ({ offsetX: x, offsetY: y }) => {
        if (!start) return void this.pick?.({ x, y });
        dragged ||= Math.hypot(x - start.x, y - start.y) > 3;
        if (dragged) this.brush(start, { x, y });
      });
      canvas.addEventListener("pointerup", () => {
        if (start && !dragged) {
          for (const c of this.columnsAt(start)) ranges.delete(c);
          update();
        }
        start = null;
      });
      canvas.addEventListener("pointercancel", () => { start = null; });
      canvas.addEventListener("pointerleave", () => this.pick?.(null));
    }
  }

  // ------------------------------------------------------------------ parallel coordinates

  class Parallel extends Chart {
    arrange() {
      const n = columns.length, side = 48, top = 42, bottom = this.height - 36;
      this.rail = this.height - 22; // of variants without a value
      this.step = (this.width - 2 * side) / Math.max(n - 1, 1);
      this.x = columns.map((_, c) => (n > 1 ? side + c * this.step : this.width / 2));
      this.axes = columns.map((_, c) => new Axis(c, bottom, top));
      this.y = this.axes.map((axis, c) =>
        columns[c].values.map((value) => (Number.isNaN(value) ? this.rail : axis.nearest(value))));
    }

    trace(layer, i) {
      layer.beginPath();
      if (this.x.length === 1) layer.moveTo(this.x[0] - 20, this.y[0][i]);
      for (let c = 0; c < this.x.length; c++) layer.lineTo(this.x[c], this.y[c][i]);
      layer.stroke();
    }

    drawBack() {
      this.clear(this.back);
      const globalAlpha = Math.min(0.7, 30 / Math.sqrt(count));
      Object.assign(this.back, { strokeStyle: PALE, lineWidth: 1, globalAlpha });
      this.paint(this.back, order, (i) => this.trace(this.back, i));
    }

    drawData() {
      this.clear(this.data);
      const alpha = Math.max(0.05, Math.min(0.8, 6 / Math.sqrt(selection.length)));
      this.paint(this.data, selection, (i) => {
        this.data.strokeStyle = isFront[i] ? FRONT : SELECTED;
        this.data.lineWidth = isFront[i] ? 1.4 : 1;
        this.data.globalAlpha = isFront[i] ? 0.75 : alpha;
        this.trace(this.data, i);
      });
    }

    drawTop() {
      if (!this.width) return;
      const layer = this.top;
      this.clear(layer);
      Object.assign(layer, { strokeStyle: INK, lineWidth: 2.5 });
      if (hovered >= 0) this.trace(layer, hovered);
      this.axes.forEach((axis, c) => {
        const x = this.x[c], { name, unit, arrow } = columns[c];
        this.line(layer, x, axis.from, x, axis.to, INK);
        this.text(layer, shorten(layer, name, Math.min(this.step, 180) - 8), x, 15, "center", INK);
        this.text(layer, shorten(layer, unit + arrow, this.step - 8), x, 29, "center");
        if (this.y[c].includes(this.rail)) this.text(layer, "no value", x, this.rail + 16, "center");
        for (const { value, text } of ticks(axis, 6)) {
          this.line(layer, x, axis.pixel(value), x + 4, axis.pixel(value), INK);
          this.text(layer, text, x + 7, axis.pixel(value) + 4, "left", INK);
        }
        if (ranges.has(c)) this.brushBox(x - 8, axis.range()[0], x + 8, axis.range()[1]);
      });
    }

    columnsAt(at) {
      return columns.map((_, c) => c).filter((c) => Math.abs(this.x[c] - at.x) <= Math.min(24, this.step / 2));
    }

    brush(start, at) {
      for (const c of this.columnsAt(start)) setRange(c, this.axes[c].value(start.y), this.axes[c].value(at.y));
    }
  }

  // ------------------------------------------------------------------ scatter and map

  // Cells of a full grid of two variables, where each pair of their values has a variant.
  function gridOf(pair) {
    if (pair.some((c) => columns[c].kind !== "variable") || pair[0] === pair[1]) return null;
    const levels = pair.map((c) => [...new Set(columns[c].values)].sort((a, b) => a - b));
    const [nx, ny] = levels.map((values) => values.length);
    if (nx < 2 || ny < 2 || nx * ny > Math.min(count, MAX_CELLS)) return null;
    const indices = levels.map((values) => new Map(values.map((value, k) => [value, k])));
    const [ofX, ofY] = pair.map((c, k) => Array.from(columns[c].values, (value) => indices[k].get(value)));
    const cell = ofX.map((a, i) => a * ny + ofY[i]);
    if (new Set(cell).size < nx * ny) return null;
    const edges = levels.map((values) => {
      const middles = values.slice(1).map((value, k) => 0.5 * (values[k] + value));
      return [2 * values[0] - middles[0], ...middles, 2 * values.at(-1) - middles.at(-1)];
    });
    return { cell, nx, ny, edges };
  }

  // Two columns, and a third as colour in a map.
  class Scatter extends Chart {
    constructor(parent, label, choice) {
      const controls = make("div", { className: "study-controls" }, parent);
      super(parent, 380, label);
      this.choice = choice;
      ["across", "up", "colour"].slice(0, choice.length).forEach((text, k) => {
        const list = make("select", {}, make("label", { textContent: text }, controls));
        columns.forEach((column, c) => list.append(new Option(column.label, c, c === choice[k], c === choice[k])));
        list.addEventListener("change", () => {
          choice[k] = Number(list.value);
          this.resize();
        });
      });
      this.note = make("p", { className: "quiet study-note" }, parent);
      this.tip = make("div", { className: "study-tip", hidden: true }, this.frame);
    }

    arrange() {
      const [cx, cy, colour] = this.choice, top = 24, bottom = this.height - 44, hasColours = colour !== undefined;
      const right = this.width - (hasColours ? 84 : 12);
      this.axes = [new Axis(cx, 0, right, 0.03), new Axis(cy, bottom, top, 0.03)];
      this.scale = hasColours ? new Axis(colour, 0, 1) : null;
      this.colours = hasColours ? columns[colour].values : null;
      this.grid = hasColours ? gridOf([cx, cy]) : null;
      this.axes.forEach((axis, k) => {
        if (this.grid && !zoomed) [axis.low, axis.high] = [this.grid.edges[k][0], this.grid.edges[k].at(-1)];
      });
      // Room for the numbers that are drawn, which may lie beyond the column's own span.
      const widths = ticks(this.axes[1], 6).map(({ text }) => this.back.measureText(text).width);
      const left = this.axes[0].from = Math.ceil(Math.max(20, ...widths)) + 12;
      Object.assign(this, { top0: top, bottom, left, right });
      [this.x, this.y] = this.axes.map((axis) =>
        columns[axis.c].values.map((value) => (axis.has(value) ? axis.pixel(value) : NaN)));
      this.radius = count < 2000 ? 3 : count < 8000 ? 2.2 : 1.6;
    }

    point(layer, i, colour, radius) {
      if (!this.isDrawn(i)) return;
      layer.fillStyle = colour;
      if (count > 5000) return layer.fillRect(this.x[i] - radius, this.y[i] - radius, 2 * radius, 2 * radius);
      layer.beginPath();
      layer.arc(this.x[i], this.y[i], radius, 0, 2 * Math.PI);
      layer.fill();
    }

    isDrawn(i) { return !Number.isNaN(this.x[i] + this.y[i]); }

    // Cells of the grid as far as they are inside; those without a colour stay as they are.
    fillCells(layer, colours) {
      const { nx, ny, edges } = this.grid;
      const [x, y] = this.axes.map((axis, k) => edges[k].map((edge) => Math.round(axis.nearest(edge))));
      for (let k = 0; k < nx * ny; k++) {
        const a = Math.floor(k / ny), b = k % ny;
        layer.fillStyle = colours[k];
        if (colours[k]) layer.fillRect(x[a], y[b + 1], x[a + 1] - x[a], y[b] - y[b + 1]);
      }
    }

    drawBack() {
      const layer = this.back, { left, right, bottom, top0 } = this, width = right - left;
      this.clear(layer);
      const [across, up] = this.axes, marks = ticks(across, width / 80);
      for (const { value, text } of ticks(up, 6)) {
        this.line(layer, left, up.pixel(value), right, up.pixel(value), LINE);
        this.text(layer, text, left - 6, up.pixel(value) + 4, "right");
      }
      for (const { value } of marks) this.line(layer, across.pixel(value), top0, across.pixel(value), bottom, LINE);
      this.numbersBelow(across, bottom, marks);
      const [x, y, colour] = this.choice.map((c) => columns[c].label);
      this.text(layer, shorten(layer, x, width), (left + right) / 2, bottom + 33, "center", INK);
      this.text(layer, shorten(layer, y, (colour ? 0.5 : 1) * width), left, 14, "left", INK);
      if (colour) this.text(layer, shorten(layer, colour, 0.45 * width), this.width - 4, 14, "right", INK);
      if (this.scale) this.drawScale(layer, right + 14);
      if (this.grid) this.fillCells(layer, Array(this.grid.nx * this.grid.ny).fill(LINE));
      else this.paint(layer, order, (i) => this.point(layer, i, PALE, this.radius));
    }

    drawScale(layer, x) {
      const high = this.bottom - this.top0;
      shades.forEach((colour, k) => {
        layer.fillStyle = colour;
        layer.fillRect(x, this.bottom - (high * (k + 1)) / SHADES, 12, high / SHADES + 0.5);
      });
      for (const { value, text } of ticks(this.scale, 6)) {
        this.text(layer, text, x + 16, this.bottom - high * this.scale.pixel(value) + 4);
      }
    }

    drawData() {
      const { colours, scale } = this, missing = selection.filter((i) => !this.isDrawn(i)).length;
      this.clear(this.data);
      if (this.grid) this.fillCells(this.data, this.meanColours());
      else {
        this.paint(this.data, selection, (i) => {
          if (colours) this.point(this.data, i, shade(scale, colours[i]), this.radius);
          else this.point(this.data, i, isFront[i] ? FRONT : SELECTED, this.radius + isFront[i]);
        });
      }
      this.note.textContent = [
        missing ? `${missing} selected variants have no value here or lie outside.` : "",
        this.grid && count > this.grid.nx * this.grid.ny ? "A cell is the mean of its selected variants." : "",
        colours && selection.some((i) => Number.isNaN(colours[i])) ? "Grey: without a value." : "",
      ].join(" ");
    }

    meanColours() {
      const { cell, nx, ny } = this.grid, means = Array(nx * ny), known = new Uint32Array(nx * ny);
      for (const i of selection) {
        const value = this.colours[i], k = cell[i];
        if (known[k] === 0) means[k] = NaN;
        if (!Number.isNaN(value)) means[k] = known[k]++ ? means[k] + (value - means[k]) / known[k] : value;
      }
      return means.map((mean) => shade(this.scale, mean));
    }

    drawTop() {
      if (!this.width) return;
      const layer = this.top, { left, right, bottom, top0 } = this, [across, up] = this.axes;
      this.clear(layer);
      this.line(layer, left, bottom, right, bottom, UNKNOWN);
      this.line(layer, left, bottom, left, top0, UNKNOWN);
      if (ranges.has(across.c) || ranges.has(up.c)) {
        const [x1, x2] = across.range(), [y1, y2] = up.range();
        this.brushBox(x1, y1, x2, y2);
      }
      const rings = [...data.designs.map(({ at }, k) => [at, String(k + 1)]), [hovered, ""]];
      for (const [i, text] of rings.filter(([i]) => this.isDrawn(i))) {
        const x = this.x[i], y = this.y[i], side = x > right - 20 ? -8 : 8;
        Object.assign(layer, { strokeStyle: INK, lineWidth: text ? 1.3 : 2.2 });
        layer.beginPath();
        layer.arc(x, y, this.radius + 3.5, 0, 2 * Math.PI);
        layer.stroke();
        this.text(layer, text, x + side, y - 6, side < 0 ? "right" : "left", INK);
      }
    }

    columnsAt() { return this.choice.slice(0, 2); }

    brush(start, at) {
      const [across, up] = this.axes;
      setRange(across.c, across.value(start.x), across.value(at.x));
      if (across.c !== up.c) setRange(up.c, up.value(start.y), up.value(at.y));
    }

    // Describes the nearest variant.
    pick(at) {
      let nearest = -1, best = 10;
      for (let i = 0; at && i < count; i++) {
        const distance = Math.hypot(this.x[i] - at.x, this.y[i] - at.y);
        if (distance < best) [nearest, best] = [i, distance];
      }
      this.tip.hidden = nearest < 0;
      hover(nearest);
      if (nearest < 0) return;
      const lines = columns.slice(0, 14).map(({ label, values }) => `${label.slice(0, 40)}: ${format(values[nearest])}`);
      this.tip.textContent = [`variant ${rows[nearest]}, ${data.statuses[status[nearest]]}`, ...lines].join("\n");
      const left = at.x < this.width / 2 ? at.x + 14 : at.x - this.tip.offsetWidth - 14;
      this.tip.style.left = `${Math.max(left, 0)}px`;
      this.tip.style.top = `${Math.max(Math.min(at.y, this.height - this.tip.offsetHeight), 0)}px`;
    }
  }

  // ------------------------------------------------------------------ histograms

  class Histogram extends Chart {
    constructor(parent, c) {
      const { label } = columns[c], box = make("div", {}, parent);
      make("h3", { textContent: label }, box);
      super(box, 112, `Histogram of ${label}`);
      this.c = c;
      const ends = make("div", { className: "study-ends" }, box);
      this.fields = ["from", "to"].map((text, k) => {
        const field = make("input", { type: "number", step: "any" }, make("label", { textContent: `${text} ` }, ends));
        field.setAttribute("aria-label", `${label} ${text}`);
        field.addEventListener("change", () => {
          const limits = [...(ranges.get(c) ?? [-Infinity, Infinity])];
          limits[k] = field.value ? Number(field.value) : [-Infinity, Infinity][k];
          setRange(c, ...limits);
          if (!limits.some(Number.isFinite)) ranges.delete(c);
        });
        return field;
      });
    }

    arrange() {
      this.axis = new Axis(this.c, 6, this.width - 6);
      const { low, high } = this.axis, bin = (value) => Math.min(Math.floor((BINS * (value - low)) / (high - low)), BINS - 1);
      this.bin = Int8Array.from(columns[this.c].values, (value) => (this.axis.has(value) ? bin(value) : -1));
      this.base = this.height - 22;
    }

    counts(variants) {
      const counts = new Uint32Array(BINS);
      for (const i of variants) if (this.bin[i] >= 0) counts[this.bin[i]]++;
      return counts;
    }

    drawColumns(layer, counts, colour) {
      const width = (this.width - 12) / BINS;
      layer.fillStyle = colour;
      counts.forEach((n, k) => {
        const high = n && Math.max(1.5, ((this.base - 6) * n) / this.highest);
        layer.fillRect(6 + k * width, this.base - high, Math.max(width - 1, 1), high);
      });
    }

    drawBack() {
      const counts = this.counts(order);
      this.highest = Math.max(1, ...counts);
      this.clear(this.back);
      this.drawColumns(this.back, counts, PALE);
      this.line(this.back, 6, this.base, this.width - 6, this.base, UNKNOWN);
      this.numbersBelow(this.axis, this.base, ticks(this.axis, this.width / 70));
    }

    drawData() {
      this.clear(this.data);
      this.drawColumns(this.data, this.counts(selection), SELECTED);
      const ends = ranges.get(this.c) ?? [NaN, NaN];
      this.fields.forEach((field, k) => {
        if (field !== document.activeElement) field.value = Number.isFinite(ends[k]) ? Number(ends[k].toPrecision(5)) : "";
      });
    }

    drawTop() {
      if (!this.width) return;
      this.clear(this.top);
      if (ranges.has(this.c)) this.brushBox(this.axis.range()[0], 1, this.axis.range()[1], this.base);
    }

    columnsAt() { return [this.c]; }

    brush(start, at) { setRange(this.c, this.axis.value(start.x), this.axis.value(at.x)); }
  }

  // ------------------------------------------------------------------ table, robots, line of controls

  class Table {
    constructor(parent) {
      Object.assign(this, { column: -1, sign: 1 }); // sorted by this column, or by number
      button(make("div", { className: "study-controls" }, parent), "Download the selection as CSV", () => this.save());
      this.caption = make("p", { className: "quiet" }, parent);
      const whole = make("table", {}, make("div", { className: "wide" }, parent));
      const head = make("tr", {}, make("thead", {}, whole));
      this.heads = new Map([-1, ...columns.keys()].map((c) => {
        const cell = make("th", { scope: "col", className: "number" }, head);
        button(cell, columns[c]?.label ?? "variant", () => {
          [this.sign, this.column] = [this.column === c ? -this.sign : 1, c];
          this.fill();
        });
        return [c, cell];
      }));
      make("th", { scope: "col", textContent: "status" }, head);
      this.body = make("tbody", {}, whole);
      parts.push(this);
    }

    // Not while a brush moves: rows of a table take longer than all charts.
    draw() {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.fill(), 120);
    }

    // The selection in the order of the table, as texts.
    lines(most, digits) {
      const { values } = columns[this.column] ?? { values: rows }, sign = this.sign;
      const sorted = [...selection].sort((i, k) =>
        Number.isNaN(values[i]) - Number.isNaN(values[k]) || sign * (values[i] - values[k]) || i - k);
      return sorted.slice(0, most).map((i) =>
        ({ i, texts: [String(rows[i]), ...columns.map((column) => format(column.values[i], digits)), data.statuses[status[i]]] }));
    }

    fill() {
      const lines = this.lines(MAX_TABLE_ROWS, 5), legend = isFront.includes(1) ? "; orange: on the front" : "";
      this.caption.textContent = `${lines.length} of ${selection.length} selected variants${legend}.`;
      for (const [c, cell] of this.heads) {
        cell.setAttribute("aria-sort", c !== this.column ? "none" : this.sign > 0 ? "ascending" : "descending");
      }
      this.body.replaceChildren(...lines.map(({ i, texts }) => {
        const line = make("tr", { className: isFront[i] ? "front" : "" });
        texts.forEach((textContent, k) => make("td", { textContent, className: k <= columns.length ? "number" : "unit" }, line));
        line.addEventListener("pointerenter", () => hover(i));
        line.addEventListener("pointerleave", () => hover(-1));
        return line;
      }));
    }

    // Seven digits, as the page holds them.
    save() {
      const quote = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text.replace("–", "nan"));
      const head = ["variant", ...columns.map(({ name, unit }) => (unit ? `${name} [${unit}]` : name)), "status"];
      const lines = [head, ...this.lines(count, 7).map(({ texts }) => texts)].map((texts) => texts.map(quote).join(","));
      const href = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
      make("a", { href, download: "variants.csv" }).click();
      setTimeout(() => URL.revokeObjectURL(href), 10000);
    }
  }

  // Robots that are not selected fade.
  function drawRobots() {
    const scene = document.querySelector("figure.scene3d")?.scene;
    for (const { at, item } of data.designs) {
      if (!scene || item < 0) continue;
      const transparent = !selected[at], opacity = transparent ? 0.12 : 1;
      for (const { material } of scene.robots[item].solids) {
        if (material.transparent !== transparent) Object.assign(material, { transparent, opacity, needsUpdate: true });
      }
      scene.names?.[item].classList.toggle("faded", transparent);
    }
    scene?.draw();
  }

  function addControls(bar) {
    const chosen = make("output", {}, bar), boxes = [];
    const check = (text, on, act) => {
      const label = make("label", {}, bar), box = make("input", { type: "checkbox", checked: on }, label);
      label.append(` ${text}`);
      const set = (state) => { act(box.checked = state); };
      box.addEventListener("change", () => { set(box.checked); update(); });
      boxes.push(() => set(on));
    };
    button(bar, "Clear", () => {
      ranges.clear();
      for (const reset of boxes) reset();
      if (zoomed) zoom(false);
      update();
    });
    button(bar, "Zoom to the selection", () => zoom(true));
    data.statuses.forEach((name, k) => {
      const members = status.filter((own) => own === k).length;
      if (members) check(`${name} (${members})`, true, (on) => { hiddenStatus[on ? "delete" : "add"](k); });
    });
    for (const [name, mask] of [["front", isFront], ["feasible", isFeasible]]) {
      const members = mask.filter(Boolean).length;
      if (members && members < count) check(`${name} only (${members})`, false, (on) => masks[on ? "add" : "delete"](mask));
    }
    parts.push({ draw() { chosen.textContent = `${selection.length} of ${count} selected`; } });
    bar.hidden = false;
  }

  const at = (name) => document.querySelector(`.study-${name}`);
  span(order);
  addControls(at("bar"));
  new Scatter(at("scatter"), "Scatter of two columns", data.axes);
  new Scatter(at("map"), "Map of a column over two others", data.map);
  new Parallel(at("parallel"), 380, "Parallel coordinates of all columns").frame.style.minWidth = `${84 * columns.length}px`;
  columns.forEach((_, c) => new Histogram(at("histograms"), c));
  new Table(at("table"));
  parts.push({ draw: drawRobots });
  update();
})();

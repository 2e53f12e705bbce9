// Small charts as SVG. Their numbers stand beside them as text, so a screen reader loses nothing.

const SVG = 'http://www.w3.org/2000/svg';

function s(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/** The points of a line: values by time, the newest at the right edge. Null is a gap. */
function path(history, field, width, height, seconds, top) {
  if (!history.length) return '';
  const now = history[history.length - 1].at;
  let line = '';
  let pen = 'M';
  for (const one of history) {
    const age = (now - one.at) / 1000;
    const value = one[field];
    if (age > seconds) continue;
    if (value === null || value === undefined) { pen = 'M'; continue; }
    const x = width - (age / seconds) * width;
    const y = height - 1 - (Math.min(value, top) / top) * (height - 3);
    line += `${pen}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = 'L';
  }
  return line;
}

/** A line of the last two minutes for a cell of a table. */
export class Spark {
  constructor(field, tone) {
    this.field = field;
    this.line = s('path', { class: `line ${tone}`, d: '' });
    this.element = s('svg', { class: 'spark', viewBox: '0 0 72 18', 'aria-hidden': 'true', focusable: 'false', preserveAspectRatio: 'none' }, this.line);
  }

  show(history) {
    const recent = history.slice(-120);
    const top = Math.max(1, ...recent.map((one) => one[this.field] ?? 0));
    this.line.setAttribute('d', path(recent, this.field, 72, 18, 120, top));
  }
}

/** A round number that is not below a value: 1, 2, 5, 10, 20 and so on. */
function ceiling(value) {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((round) => round >= value);
}

/** A chart of the last minutes with one or two lines. */
export class Chart {
  /**
   * @param {string} title
   * @param {Array<{field: string, name: string, tone: string}>} lines
   * @param {function(number): string} format
   */
  constructor(title, lines, format, minutes) {
    Object.assign(this, { lines, format, seconds: minutes * 60 });
    const [width, height] = [300, 72];
    this.paths = lines.map((line) => s('path', { class: `line ${line.tone}`, d: '' }));
    const grid = [0.5, 1].map((part) => s('path', { class: 'grid', d: `M0 ${(height - 1 - part * (height - 3)).toFixed(1)}H${width}` }));
    const base = s('path', { class: 'axis', d: `M0 ${height - 0.5}H${width}` });
    const svg = s('svg', { class: 'chart', viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true', focusable: 'false', preserveAspectRatio: 'none' }, ...grid, base, ...this.paths);
    const make = (tag, name, text) => {
      const element = document.createElement(tag);
      element.className = name;
      element.textContent = text;
      return element;
    };
    this.top = make('span', 'scale', '');
    this.values = lines.map(() => make('b', '', '–'));
    const legend = lines.map((line, at) => {
      const item = make('span', `legend ${line.tone}`, `${line.name} `);
      item.append(this.values[at]);
      return item;
    });
    const head = make('figcaption', '', title);
    const body = make('div', 'plot', '');
    body.append(this.top, svg);
    const foot = make('div', 'foot', '');
    foot.append(make('span', 'scale', `${minutes} min ago`), make('span', 'scale', 'now'));
    const row = make('div', 'legends', '');
    row.append(...legend);
    this.element = make('figure', 'chartbox', '');
    this.element.append(head, row, body, foot);
  }

  show(history) {
    const values = history.flatMap((one) => this.lines.map((line) => one[line.field] ?? 0));
    const top = ceiling(Math.max(0, ...values));
    this.top.textContent = this.format(top);
    this.lines.forEach((line, at) => {
      this.paths[at].setAttribute('d', path(history, line.field, 300, 72, this.seconds, top));
      const last = history[history.length - 1];
      this.values[at].textContent = this.format(last ? last[line.field] : null);
    });
  }
}

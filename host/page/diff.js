// Differences of two JSON documents, field by field, as one list of lines.

import { h } from './dom.js';

/** Most lines; a document may have a hundred thousand. */
const MOST = 600;

/** Longest value of a line, in characters. */
const LONGEST = 600;

function inline(value) {
  const text = JSON.stringify(value);
  return text === undefined ? '' : text;
}

const isMap = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Writes a value as lines of one sign. */
function write(lines, sign, depth, name, value) {
  if (lines.length > MOST) return;
  const label = name === null ? '' : `${name}: `;
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  if (!entries.length) {
    lines.push({ sign, depth, text: label + inline(value) });
    return;
  }
  lines.push({ sign, depth, text: label + open });
  for (const [key, inner] of entries) write(lines, sign, depth + 1, Array.isArray(value) ? null : key, inner);
  lines.push({ sign, depth, text: close });
}

/** Whether two values say the same, whatever the order of their fields. */
function same(a, b) {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, at) => same(item, b[at]));
  if (isMap(a) && isMap(b)) {
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
  }
  return false;
}

function compare(lines, depth, name, before, after) {
  if (lines.length > MOST) return;
  if (same(before, after)) return write(lines, ' ', depth, name, after);
  const label = name === null ? '' : `${name}: `;
  if (isMap(before) && isMap(after)) {
    lines.push({ sign: ' ', depth, text: `${label}{` });
    for (const key of [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()) {
      if (!Object.hasOwn(after, key)) write(lines, '-', depth + 1, key, before[key]);
      else if (!Object.hasOwn(before, key)) write(lines, '+', depth + 1, key, after[key]);
      else compare(lines, depth + 1, key, before[key], after[key]);
    }
    lines.push({ sign: ' ', depth, text: '}' });
  } else if (Array.isArray(before) && Array.isArray(after)) {
    lines.push({ sign: ' ', depth, text: `${label}[` });
    for (let at = 0; at < Math.max(before.length, after.length); at += 1) {
      if (at >= after.length) write(lines, '-', depth + 1, null, before[at]);
      else if (at >= before.length) write(lines, '+', depth + 1, null, after[at]);
      else compare(lines, depth + 1, null, before[at], after[at]);
    }
    lines.push({ sign: ' ', depth, text: ']' });
  } else {
    write(lines, '-', depth, name, before);
    write(lines, '+', depth, name, after);
  }
  return undefined;
}

function element(lines, label) {
  const words = { '-': 'removed', '+': 'added' };
  const shown = lines.slice(0, MOST).map(({ sign, depth, text }) => {
    const cut = text.length > LONGEST ? `${text.slice(0, LONGEST)}… (${text.length - LONGEST} more characters)` : text;
    const name = { '-': 'removed', '+': 'added', ' ': 'same' }[sign];
    return h(`span.row.${name}`, null, h('span.sign', { 'aria-hidden': 'true' }, sign), words[sign] ? h('span.unseen', null, `${words[sign]}: `) : null,
      '\u00a0\u00a0'.repeat(Math.min(depth, 24)), cut, '\n');
  });
  if (lines.length > MOST) shown.push(h('span.row', null, `… more lines: download the case to see them all\n`));
  return h('pre.diff', { tabindex: 0, role: 'region', 'aria-label': label }, shown);
}

/** The difference from one document to another. */
export function diff(before, after, label) {
  const lines = [];
  // A state that does not exist has no lines.
  if (before === null && after !== null) write(lines, '+', 0, null, after);
  else if (after === null && before !== null) write(lines, '-', 0, null, before);
  else compare(lines, 0, null, before, after);
  return element(lines, label);
}

/** One document as lines. */
export function document_(value, label) {
  const lines = [];
  write(lines, ' ', 0, null, value);
  return element(lines, label);
}

/** A list of flat objects as a table, a column for each of their fields. */
export function table(list, label) {
  const columns = [...new Set(list.flatMap((one) => Object.keys(one)))].slice(0, 8);
  const cell = (value) => (value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value));
  const title = (name) => name.charAt(0).toUpperCase() + name.slice(1);
  return h('div.scroll', { tabindex: 0, role: 'region', 'aria-label': label }, h('table', null,
    h('thead', null, h('tr', null, columns.map((name) => h('th', { scope: 'col' }, title(name))))),
    h('tbody', null, list.slice(0, 100).map((one) => h('tr', null, columns.map((name) => h('td', null, cell(one[name]))))))));
}

export { same };

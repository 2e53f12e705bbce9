// Keys: `/` to the search, `j` `k` and arrows along a list, Enter opens, Escape goes back, `?` shows this.

import { h } from './dom.js';

const KEYS = [
  ['/', 'Go to the search field'],
  ['j  ↓', 'Next row'],
  ['k  ↑', 'Row before'],
  ['Home  End', 'First and last row'],
  ['Enter', 'Open the row'],
  ['n  p', 'Next page, page before'],
  ['Esc', 'Back: out of the field, then up one page'],
  ['?', 'These keys'],
];

/** The links of the first list of the page: one in each row. */
const links = () => [...document.querySelectorAll('#main [data-row] a.open')];

function move(event, step) {
  const rows = links();
  if (!rows.length) return;
  const at = rows.indexOf(document.activeElement?.closest?.('[data-row]')?.querySelector('a.open'));
  const next = step === 'first' ? 0 : step === 'last' ? rows.length - 1 : at < 0 ? 0 : Math.min(Math.max(at + step, 0), rows.length - 1);
  rows[next].focus();
  rows[next].closest('[data-row]').scrollIntoView({ block: 'nearest' });
  event.preventDefault();
}

/** Shows the keys. */
export function help() {
  const close = h('button', { type: 'button', autofocus: true, onclick: () => dialog.close() }, 'Close');
  const dialog = h('dialog', { 'aria-labelledby': 'keys', onclose: () => dialog.remove() },
    h('h2', { id: 'keys' }, 'Keys'),
    h('table.keys', null, h('tbody', null, KEYS.map(([key, what]) => h('tr', null, h('th', { scope: 'row' }, key.split('  ').map((one) => h('kbd', null, one))), h('td', null, what))))),
    h('div.buttons', null, close));
  document.getElementById('dialogs').append(dialog);
  dialog.showModal();
}

/** @param {function(): void} up goes to the page above */
export function start(up) {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
    const field = event.target.closest?.('input, select, textarea');
    if (event.key === 'Escape') {
      if (field) field.blur();
      else up();
      return;
    }
    if (field) {
      if (event.key === 'ArrowDown' && field.type === 'search') move(event, 'first');
      return;
    }
    const steps = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1, Home: 'first', End: 'last' };
    const inList = event.target.closest?.('[data-row]') || event.target === document.body || event.target.id === 'main';
    if (event.key in steps && (inList || event.key === 'j' || event.key === 'k')) move(event, steps[event.key]);
    else if (event.key === '/') {
      const search = document.querySelector('#main input[type=search]');
      if (search) {
        search.focus();
        search.select();
        event.preventDefault();
      }
    } else if (event.key === 'n' || event.key === 'p') document.querySelector(`#main [data-page=${event.key === 'n' ? 'next' : 'before'}]`)?.click();
    else if (event.key === '?') help();
  });
}

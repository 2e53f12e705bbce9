// Elements and text. Text of plugins and servers becomes text nodes only, and its hidden characters become visible.

/**
 * Makes an element.
 *
 * @param {string} name such as `td` or `p.note` with classes
 * @param {object|null} attributes attributes, `onclick` and other handlers; null, undefined and false are left out
 * @param {...(Node|string|number|null|Array)} children text is shown as `visible` shows it
 */
export function h(name, attributes, ...children) {
  const [tag, ...classes] = name.split('.');
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(' ');
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : visible(String(child)));
  }
}

/** Replaces the content of an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  add(element, children);
}

const label = (one) => one.getAttribute('aria-label') ?? one.textContent;

/** Elements by what names them after a change, too: their label without its number, and which of several with that label they are. */
function named(elements) {
  const found = new Map();
  for (const one of elements) {
    const name = label(one).replace(/[\d\u202f]+/g, '').replace(/s$/, '');
    let at = 0;
    while (found.has(`${at} ${name}`)) at += 1;
    found.set(`${at} ${name}`, one);
  }
  return found;
}

/** Replaces the content of an element. What is open stays open, what is scrolled stays there, and so does the focus. */
export function redraw(element, ...children) {
  const parts = () => ({ summaries: named(element.querySelectorAll('summary')), regions: named(element.querySelectorAll('[tabindex]')) });
  const before = parts();
  const open = [...before.summaries.keys()].filter((name) => before.summaries.get(name).parentElement.open);
  const scrolled = [...before.regions].map(([name, one]) => [name, one.scrollLeft, one.scrollTop]);
  const focused = element.contains(document.activeElement) ? document.activeElement : null;
  const summary = [...before.summaries.keys()].find((name) => before.summaries.get(name) === focused);
  fill(element, ...children);
  const after = parts();
  for (const name of open) after.summaries.get(name)?.parentElement.setAttribute('open', '');
  for (const [name, left, top] of scrolled) after.regions.get(name)?.scrollTo({ left, top, behavior: 'instant' });
  const again = summary ? after.summaries.get(summary) : focused && [...element.querySelectorAll(focused.localName)].find((one) => label(one) === label(focused));
  again?.focus({ preventScroll: true });
}

// Controls, marks that change the direction or the width of text, and characters that nobody sees.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]|\p{Cs}/gu;

// More combining marks than any language puts on a letter.
const STACKED = /(\p{M}{3})\p{M}+/gu;

/** Longest text that is shown at once, in characters. */
export const LONGEST = 2000;

/** A text whose hidden characters are escapes such as `\u{202e}`. A long one is cut. */
export function visible(text, longest = LONGEST) {
  const cut = text.length > longest ? `${text.slice(0, longest)} … (${text.length - longest} more characters)` : text;
  return cut.replace(HIDDEN, (c) => `\\u{${c.codePointAt(0).toString(16)}}`).replace(STACKED, '$1…');
}

/** A time that stays readable: `14:03:09` today, else with the date. */
export function when(text) {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) return h('span', null, text ?? '');
  const clock = time.toLocaleTimeString([], { hour12: false });
  const today = time.toDateString() === new Date().toDateString();
  return h('time', { datetime: time.toISOString(), title: time.toISOString() }, today ? clock : `${time.toLocaleDateString()} ${clock}`);
}

/** A duration in seconds: `45 s`, `12 min`, `3 h`, `5 d`. */
export function duration(seconds) {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

/** A number with few digits: `0`, `0.4`, `12`, `1 200`. */
export function number(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  if (value !== 0 && Math.abs(value) < 10) return String(Math.round(value * 10) / 10);
  return Math.round(value).toLocaleString('en').replaceAll(',', '\u202f');
}

/** A number of things: `1 object`, `2 objects`. */
export const count = (value, noun) => `${number(value)} ${noun}${value === 1 ? '' : 's'}`;

/** Milliseconds: `1.4 ms`, `2.1 s`. */
export function milliseconds(value) {
  if (value === null || value === undefined) return '–';
  return value >= 1000 ? `${number(value / 1000)} s` : `${number(value)} ms`;
}

/** Bytes: `1.2 MiB`. */
export function bytes(value) {
  if (!value) return '–';
  return value < 1 << 20 ? `${number(value / 1024)} KiB` : `${number(value / (1 << 20))} MiB`;
}

/** Says something to a screen reader, politely and once. */
export function say(text) {
  document.getElementById('say').textContent = visible(text, 300);
}

const TONES = {
  active: 'good', syncing: 'busy', compiling: 'busy', 'rolling-out': 'busy', draining: 'busy', paused: 'held', 'awaiting-grant': 'held',
  'awaiting-confirmation': 'held', quarantined: 'bad', failed: 'bad', retired: 'quiet',
};

/** A state of a plugin, as a word with a mark whose shape and colour repeat it. */
export function badge(state, tone = TONES[state] ?? 'quiet') {
  const marks = { good: '●', busy: '◐', held: '‖', bad: '▲', quiet: '○' };
  return h(`span.badge.${tone}`, null, h('span', { 'aria-hidden': 'true' }, marks[tone]), ` ${state ?? 'unknown'}`);
}

export const isBad = (state) => TONES[state] === 'bad';

/** A short form of a digest. */
export const short = (digest) => (digest ?? '').replace('sha256:', '').slice(0, 12);

/** Asks before something that changes the cluster. Resolves to whether the person agrees. */
export function confirmed(title, text, verb) {
  return new Promise((resolve) => {
    const answer = (value) => () => { dialog.close(); resolve(value); };
    const cancel = h('button', { type: 'button', onclick: answer(false), autofocus: true }, 'Cancel');
    const dialog = h('dialog', { 'aria-labelledby': 'question', onclose: () => { dialog.remove(); resolve(false); } },
      h('h2', { id: 'question' }, title), h('p', null, text),
      h('div.buttons', null, cancel, h('button.danger', { type: 'button', onclick: answer(true) }, verb)));
    document.getElementById('dialogs').append(dialog);
    dialog.showModal();
  });
}

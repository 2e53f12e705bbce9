// Math.random for a component. QuickJS seeds its own when the component is built, so that every instance would draw the same numbers.

let state = new Uint32Array([1, 2, 3, 4]);
let beginning = null;

/** Begins a new series, with the next number: most calls draw none. */
export function seed(text) {
  beginning = text;
}

/** FNV-1a spread over four words. */
function begin(text) {
  state = new Uint32Array(4).map((_, word) => {
    let hash = 0x811c9dc5 ^ word;
    for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
    return hash || 1;
  });
  // The first numbers of close seeds are close.
  for (let skipped = 0; skipped < 16; skipped += 1) next();
}

/** A number from 0 (included) to 1, good for jitter, not for secrets. */
export function random() {
  if (beginning !== null) {
    // The clock tells the host that this reconcile depends on more than it has read: the next resync does not skip its object.
    Date.now();
    begin(beginning);
    beginning = null;
  }
  return (next() * 0x200000 + (next() >>> 11)) / 0x20000000000000;
}

/** xoshiro128++ (Blackman and Vigna). */
function next() {
  const rotate = (word, by) => ((word << by) | (word >>> (32 - by))) >>> 0;
  const result = (rotate((state[0] + state[3]) >>> 0, 7) + state[0]) >>> 0;
  const shifted = state[1] << 9;
  state[2] ^= state[0];
  state[3] ^= state[1];
  state[1] ^= state[2];
  state[0] ^= state[3];
  state[2] ^= shifted;
  state[3] = rotate(state[3], 11);
  return result;
}

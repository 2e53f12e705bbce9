// Readable traces: the message, then frames that name the sources as they were written, not the bundle.

/** What the bundle is called in frames of QuickJS. */
export const BUNDLE = "componentize-qjs:user.js";
/** How many frames of a trace are kept: those nearest to the fault. */
const FRAMES = 10;
/** How many causes of an error are followed. */
const CAUSES = 3;
/** Frames of what lies between the host and the plugin. */
const OURS = /oarlock-guest\/src\/(adapter|guest|promise)\.js/;

let map = null;

/**
 * Names the bundle in traces, and where its lines come from: `{ sources, runs }`, a run being a number of lines of the bundle that are as
 * many lines of one source, `[first line of the bundle, how many, source, first line of the source]`, in order, counted from 1.
 */
export function installLineMap(file, lines) {
  map = { file, ...lines };
}

/** An error as text: its name and message, its first frames, and its causes. */
export function trace(error, causes = CAUSES) {
  if (!(error instanceof Error)) return `thrown: ${describe(error)}`;
  const head = String(error);
  const stack = typeof error.stack === "string" ? error.stack : "";
  // V8 begins with the message, QuickJS does not.
  const frames = (stack.startsWith(head) ? stack.slice(head.length) : stack)
    .split("\n")
    .filter((frame) => /^\s*at /.test(frame))
    .map((frame) => sourceFrame(frame))
    .filter((frame) => frame !== null && !OURS.test(frame))
    .slice(0, FRAMES)
    .map((frame) => `    ${frame}`);
  const text = [head, ...frames].join("\n");
  return error.cause === undefined || causes === 0 ? text : `${text}\ncaused by ${trace(error.cause, causes - 1)}`;
}

function describe(value) {
  try {
    return typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  } catch {
    return String(value);
  }
}

/** A frame as its source has it; null for what nobody wrote: helpers that `await` is built of, and the engine's own functions. */
export function sourceFrame(frame) {
  if (!map) return frame.trim();
  const place = /\(?([^\s()]+):(\d+):\d+\)?$/.exec(frame);
  if (!place) return null;
  if (place[1] !== map.file) return frame.trim();
  const line = Number(place[2]);
  const run = map.runs.findLast(([first]) => first <= line);
  if (!run || line >= run[0] + run[1]) return null;
  const found = `${map.sources[run[2]]}:${run[3] + line - run[0]}`;
  return frame.slice(0, place.index).trimStart() + (place[0].startsWith("(") ? `(${found})` : found);
}

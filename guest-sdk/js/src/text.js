// Values as the text of a line.

import { trace } from "./trace.js";

/** As it is for text, as a trace for errors, as JSON for the rest. */
export function text(value) {
  if (typeof value === "string") return value;
  if (value instanceof Error) return trace(value);
  if (typeof value === "function") return `[Function ${value.name || "(anonymous)"}]`;
  if (typeof value === "bigint") return `${value}n`;
  if (value instanceof Map) return `Map ${text([...value])}`;
  if (value instanceof Set) return `Set ${text([...value])}`;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // A circle, or a BigInt inside.
    return String(value);
  }
}

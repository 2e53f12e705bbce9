// `console`, as a component has it: its lines end in the host's log.

import * as log from "./log.js";
import { text } from "./text.js";
import { trace } from "./trace.js";

/** The line that `console.log(...values)` writes: `%s %d %i %f %j %o %O %%` in the first, the rest behind it. */
export function format(values) {
  const rest = [...values];
  if (typeof rest[0] !== "string") return rest.map(text).join(" ");
  const first = rest.shift().replace(/%[sdifjoOc%]/g, (verb) => {
    if (verb === "%%") return "%";
    if (rest.length === 0) return verb;
    const value = rest.shift();
    if (verb === "%s") return text(value);
    if (verb === "%d" || verb === "%f") return String(Number(value));
    if (verb === "%i") return String(Math.trunc(Number(value)));
    if (verb === "%c") return "";
    return text(value);
  });
  return [first, ...rest.map(text)].join(" ");
}

/** The methods of `console` that write, each with the level of its lines. */
export const CONSOLE_LEVELS = { debug: "debug", trace: "debug", log: "info", info: "info", dir: "info", warn: "warn", error: "error" };

/** A console whose lines end in the host's log. */
export function makeConsole() {
  const made = {};
  for (const [name, level] of Object.entries(CONSOLE_LEVELS)) made[name] = (...values) => log[level](format(values));
  made.trace = (...values) => log.debug(`${format(values)}\n${trace(new Error("trace"))}`);
  made.dir = (value) => log.info(text(value));
  made.assert = (holds, ...values) => {
    if (!holds) log.error(`Assertion failed${values.length ? `: ${format(values)}` : ""}`);
  };
  return made;
}

// Lines in the host's log, with the plugin's name and the reconcile's key. `console` ends here too.

import { hostLog } from "./imports.js";
import { text } from "./text.js";

function line(level, message, fields = {}) {
  // Looked at before the log is: a line that cannot be written should fail wherever it is written.
  const pairs = Object.entries(fields).map(([name, value]) => [name, typeof value === "string" ? value : text(value)]);
  hostLog()?.log(level, String(message), pairs);
}

/** A line for those who debug the plugin. */
export function debug(message, fields) {
  line("debug", message, fields);
}

/** A line for those who run it. */
export function info(message, fields) {
  line("info", message, fields);
}

/** Something is odd, and the plugin goes on. */
export function warn(message, fields) {
  line("warn", message, fields);
}

/** Something went wrong. An error a call throws is logged already. */
export function error(message, fields) {
  line("error", message, fields);
}

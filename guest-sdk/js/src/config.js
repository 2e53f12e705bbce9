// The plugin's configuration: values of its grant, and of secrets it was granted, as text.

import { TerminalError } from "./errors.js";
import { host } from "./imports.js";

/** A value, or undefined: not set, or set to nothing. */
export function get(key) {
  return host("config.get").config.get(key) || undefined;
}

/** A value that must be set; without it a TerminalError that names the key. */
export function require(key) {
  const value = get(key);
  if (value === undefined) throw new TerminalError(`the plugin's configuration does not set ${key}`);
  return value;
}

/** Every key that is set, in order. */
export function keys() {
  return host("config.keys").config.keys();
}

// The functions the host lends. They are put in from outside: by the component's entry, or by a test's runner.

let lent = null;

/** Puts the host's functions in: `() => ({ cluster, merge, http, cache, config, log })`, or null outside a call. */
export function install(lookup) {
  lent = lookup;
}

/** The host's functions, or a clear word when there is no host to lend them. */
export function host(what) {
  const imports = lent?.();
  if (!imports) {
    throw new Error(
      `${what} was used outside a call. Top-level code of a plugin runs while it is built, where no host is: ` +
        "use it inside desired, actual or patch (in a test: run them with a Runner)",
    );
  }
  return imports;
}

/** The host's log, or null while the plugin is being built: a line at the top level has nobody to read it. */
export function hostLog() {
  return lent?.()?.log ?? null;
}

// Why a call could not answer, which says who tries again.

/** An error the host understands. Everything else that is thrown is a fault of the plugin. */
export class OarlockError extends Error {
  get name() {
    return this.constructor.name;
  }
}

/** The world outside is at fault for now: the host tries again, after `delayMs` or with the key's own backoff. */
export class TransientError extends OarlockError {
  constructor(message, { delayMs, cause, failure } = {}) {
    super(String(message), cause === undefined ? undefined : { cause });
    this.delayMs = delayMs;
    this.failure = failure;
  }
}

/** The object is at fault: only a change of it, the next resync or a swap tries again. */
export class TerminalError extends OarlockError {
  constructor(message, { cause, failure } = {}) {
    super(String(message), cause === undefined ? undefined : { cause });
    this.failure = failure;
  }
}

/** Admission only: refuse the request, and tell its user why. */
export class DeniedError extends OarlockError {
  constructor(message, { code = 403, reason = "Forbidden", cause } = {}) {
    super(String(message), cause === undefined ? undefined : { cause });
    this.code = code;
    this.reason = reason;
  }
}

/** Conversion only: the object cannot be converted, and the request of its user fails with this message. */
export class ConversionError extends OarlockError {
  constructor(message, { cause } = {}) {
    super(String(message), cause === undefined ? undefined : { cause });
  }
}

/** The contract's variant of an error. */
export function toRaw(error) {
  if (error instanceof TransientError) {
    const delayMs = error.delayMs === undefined ? null : milliseconds(error.delayMs, "delayMs");
    return { tag: "transient", val: { delayMs, message: error.message } };
  }
  if (error instanceof DeniedError) {
    return { tag: "denied", val: { code: error.code, reason: error.reason, message: error.message } };
  }
  return { tag: "terminal", val: error.message };
}

/** The error that says what the contract's variant says. */
export function fromRaw({ tag, val }) {
  switch (tag) {
    case "transient":
      return new TransientError(val.message, { delayMs: val.delayMs ?? undefined });
    case "denied":
      return new DeniedError(val.message, { code: val.code, reason: val.reason });
    default:
      return new TerminalError(val);
  }
}

/** Calls an import; what it answers as an error is thrown as one of the classes above. */
export function call(lent, ...args) {
  try {
    return lent(...args);
  } catch (error) {
    // The bindings put the error of the contract into `payload`.
    if (error?.payload?.tag) throw fromRaw(error.payload);
    throw error;
  }
}

/** Whole milliseconds, rounded up so that a short delay does not become none. */
export function milliseconds(value, what) {
  if (typeof value !== "number" || !(value >= 0)) throw new TypeError(`${what} is not a number of milliseconds: ${value}`);
  return Math.min(Math.ceil(value), Number.MAX_SAFE_INTEGER);
}

// HTTP in the shape of `fetch`: one request, one answer, whole bodies, only to granted origins. Redirects are not followed.

import { TerminalError, TransientError, milliseconds } from "./errors.js";
import { host } from "./imports.js";
import { decode, encode } from "./utf8.js";

/** Names without regard to case, in the order they came. */
export class Headers {
  #values = new Map();

  constructor(init = {}) {
    const pairs = typeof init?.[Symbol.iterator] === "function" ? init : Object.entries(init ?? {});
    for (const [name, value] of pairs) this.append(name, value);
  }

  append(name, value) {
    const key = String(name).toLowerCase();
    this.#values.set(key, this.#values.has(key) ? `${this.#values.get(key)}, ${value}` : String(value));
  }

  set(name, value) {
    this.#values.set(String(name).toLowerCase(), String(value));
  }

  get(name) {
    return this.#values.get(String(name).toLowerCase()) ?? null;
  }

  has(name) {
    return this.#values.has(String(name).toLowerCase());
  }

  delete(name) {
    this.#values.delete(String(name).toLowerCase());
  }

  forEach(callback, self) {
    for (const [name, value] of this.#values) callback.call(self, value, name, this);
  }

  keys() {
    return this.#values.keys();
  }

  values() {
    return this.#values.values();
  }

  entries() {
    return this.#values.entries();
  }

  [Symbol.iterator]() {
    return this.entries();
  }
}

/** An answer, whatever its status. */
export class Response {
  #body;

  constructor(body, { status = 200, headers, url = "" } = {}) {
    this.#body = body ?? new Uint8Array(0);
    this.status = status;
    this.headers = headers instanceof Headers ? headers : new Headers(headers);
    this.url = url;
  }

  /** 200 to 299. */
  get ok() {
    return this.status >= 200 && this.status < 300;
  }

  async bytes() {
    return this.#body.slice();
  }

  async arrayBuffer() {
    return this.#body.slice().buffer;
  }

  async text() {
    return decode(this.#body);
  }

  /** The body as JSON. Half an answer or a proxy's page is not what the server meant to say: a TransientError. */
  async json() {
    try {
      return JSON.parse(decode(this.#body));
    } catch (cause) {
      throw new TransientError(`the answer (status ${this.status}) is not JSON: ${cause.message}`, { cause });
    }
  }

  /**
   * Itself when it is ok. Else a TransientError for 408, 425, 429 (with its Retry-After) and 5xx, a TerminalError for the rest, with the
   * status and the beginning of the body.
   */
  ensureOk() {
    if (this.ok) return this;
    const message = `status ${this.status}: ${decode(this.#body.slice(0, 800)).slice(0, 200)}`;
    if (![408, 425, 429].includes(this.status) && this.status < 500) throw new TerminalError(message);
    // The form with a date counts as absent: clocks of two machines cannot be compared.
    const seconds = /^\s*(\d+)\s*$/.exec(this.headers.get("retry-after") ?? "");
    throw new TransientError(message, { delayMs: seconds ? Number(seconds[1]) * 1000 : undefined });
  }
}

/**
 * Sends a request. `init` has `method`, `headers`, `body` (text or bytes) as usual, and beside them `json` (a value that becomes the body,
 * with its content-type) and `timeoutMs` for the whole exchange. No answer at all is a TransientError or, where trying again cannot help,
 * a TerminalError; its `failure` says which: timed-out, unreachable, too-large, denied, invalid.
 */
export async function fetch(input, init = {}) {
  const url = String(input);
  const { method = "GET", timeoutMs } = init;
  const headers = new Headers(init.headers);
  const body = bodyOf(init, headers);
  // To the host 0 means what is left of the deadline.
  const limit = timeoutMs === undefined ? 0 : Math.min(Math.max(milliseconds(timeoutMs, "timeoutMs"), 1), 0xffff_ffff);
  const outgoing = {
    method: String(method).toUpperCase(),
    url,
    headers: [...headers].map(([name, value]) => ({ name, value })),
    body,
    timeoutMs: limit,
  };
  let answer;
  try {
    answer = host("fetch").http.send(outgoing);
  } catch (error) {
    if (error?.payload?.tag) throw failed(error.payload, `${outgoing.method} ${url}`);
    throw error;
  }
  const pairs = answer.headers.map(({ name, value }) => [name, value]);
  return new Response(Uint8Array.from(answer.body), { status: answer.status, headers: pairs, url });
}

function bodyOf({ body, json }, headers) {
  if (json !== undefined) {
    if (body !== undefined) throw new TypeError("fetch: body and json are both given");
    const text = JSON.stringify(json);
    if (text === undefined) throw new TypeError("fetch: json is no JSON");
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return encode(text);
  }
  if (body == null) return new Uint8Array(0);
  if (typeof body === "string") {
    if (!headers.has("content-type")) headers.set("content-type", "text/plain;charset=UTF-8");
    return encode(body);
  }
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  throw new TypeError("fetch: the body is neither text nor bytes; a value goes into json");
}

function failed({ tag, val }, what) {
  switch (tag) {
    case "denied":
      return new TerminalError(`${what}: request denied: ${val}`, { failure: tag });
    case "invalid":
      return new TerminalError(`${what}: the request makes no sense: ${val}`, { failure: tag });
    case "too-large":
      return new TransientError(`${what}: the answer is larger than ${val} bytes`, { failure: tag });
    case "timed-out":
      return new TransientError(`${what}: no answer in time`, { failure: tag });
    default:
      return new TransientError(`${what}: unreachable: ${val}`, { failure: tag });
  }
}

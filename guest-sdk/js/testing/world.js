// What surrounds a reconciler in a test: a cluster, a cache with a clock, HTTP, a configuration. It refuses what the host would refuse.

import { isMap, sameJson } from "../src/json.js";
import { apiVersionOf, kindOf } from "../src/refs.js";
import { decode, encode } from "../src/utf8.js";
import { copy, jsonPatch, mergePatch } from "./json.js";
import * as strategic from "./strategic.js";

/** An error as the bindings throw it. */
export function refusal(tag, val) {
  return Object.assign(new Error(`${tag}: ${typeof val === "string" ? val : val?.message}`), { payload: { tag, val } });
}

export const terminal = (message) => refusal("terminal", message);

const idOf = (kind, { namespace, name }) => JSON.stringify([apiVersionOf(kind), kind.kind, namespace || "", name]);

/** The kind and key a document carries. */
export function identity(object) {
  const metadata = object?.metadata;
  if (typeof object?.apiVersion !== "string" || typeof object?.kind !== "string" || typeof metadata?.name !== "string") {
    throw new TypeError(`an object needs apiVersion, kind and metadata.name: ${JSON.stringify(object)}`);
  }
  return { kind: kindOf(object), key: { namespace: metadata.namespace ?? "", name: metadata.name } };
}

export class World {
  objects = new Map();
  cache = new Map();
  config = new Map();
  /** By id: the document as this plugin applied it last. */
  applied = new Map();
  /** Answers requests: a list of exchanges in order, or a function. */
  http = [];
  requests = [];
  log = [];
  now = 0;
  dryRun = false;
  written = 0;
  /** What a test has set up wrongly, for the test and not for the plugin. */
  problem = null;

  constructor(manifest) {
    this.manifest = manifest;
  }

  get(kind, key) {
    return this.objects.get(idOf(kind, key));
  }

  /** Stores an object with a uid and a new resource version. */
  store(object) {
    const { kind, key } = identity(object);
    this.written += 1;
    const stored = copy(object);
    stored.metadata.uid ??= `uid-${this.written}`;
    stored.metadata.resourceVersion = String(this.written);
    this.objects.set(idOf(kind, key), stored);
    return stored;
  }

  remove(kind, key) {
    this.applied.delete(idOf(kind, key));
    return this.objects.delete(idOf(kind, key));
  }

  /** Server-side apply without conflicts: fields of others are taken over. */
  apply(document) {
    const { kind, key } = identity(document);
    const id = idOf(kind, key);
    const merged = strategic.applyDocument(this.objects.get(id), this.applied.get(id), document, strategic.isBuiltIn(kind));
    this.applied.set(id, copy(document));
    this.store(merged);
  }

  /** What the plugin owns of an object, as it was applied while nothing of it changed. */
  appliedPart(kind, key) {
    const id = idOf(kind, key);
    const [live, document] = [this.objects.get(id), this.applied.get(id)];
    if (!live || !document) return null;
    const { apiVersion, kind: named, metadata, ...rest } = strategic.ownedPart(live, document, strategic.isBuiltIn(kind));
    const { name, namespace, ...fields } = metadata;
    if (Object.keys(rest).length === 0 && Object.keys(fields).length === 0) return null;
    return { apiVersion, kind: named, metadata, ...rest };
  }

  /** Carries one change of the contract out, as the API server would. */
  carryOut({ tag, val }, underReview) {
    switch (tag) {
      case "apply": {
        const document = JSON.parse(val.object);
        const { kind, key } = identity(document);
        this.check(kind, key, val.precondition);
        this.apply(document);
        return underReview;
      }
      case "create": {
        const object = JSON.parse(val);
        object.metadata.name ??= `${object.metadata.generateName}${this.written + 1}`;
        const { kind, key } = identity(object);
        if (this.get(kind, key)) throw terminal(`${kind.kind} ${key.name} already exists`);
        this.store(object);
        return underReview;
      }
      case "patch": {
        const body = JSON.parse(val.patch);
        if (!val.target) {
          if (!underReview) throw terminal("there is no object under review");
          return patched(underReview, val.patchType, body);
        }
        const { kind, key } = val.target;
        this.check(kind, key, val.precondition);
        const object = this.get(kind, key);
        if (!object) throw terminal(`${kind.kind} ${key.name} does not exist`);
        this.store(patched(object, val.patchType, body));
        return underReview;
      }
      default:
        this.check(val.target.kind, val.target.key, val.precondition);
        this.remove(val.target.kind, val.target.key);
        return underReview;
    }
  }

  check(kind, key, { uid, resourceVersion }) {
    const metadata = this.get(kind, key)?.metadata;
    const holds = (wanted, found) => wanted == null || wanted === found;
    if (holds(uid, metadata?.uid) && holds(resourceVersion, metadata?.resourceVersion)) return;
    const message = `precondition failed: ${kind.kind} ${key.name} is another one by now`;
    throw refusal("transient", { delayMs: null, message });
  }

  /** Kinds outside the manifest are refused, as the host refuses those outside the grant. */
  declared(kind) {
    if ([...this.manifest.primaries, ...this.manifest.watches].some((other) => sameKind(other, kind))) return;
    throw terminal(`${kind.kind} is neither a primary nor a watch of the manifest`);
  }

  /** A declared index. */
  index(kind, name) {
    const found = (this.manifest.indexes ?? []).find((index) => sameKind(index, kind) && index.name === name);
    if (!found) throw terminal(`the manifest declares no index "${name}" of ${kind.kind}`);
    return found;
  }

  /** The functions of the host over this world. */
  imports() {
    const text = (object) => (object == null ? null : JSON.stringify(object));
    const merged = (combine) => (kind, ...documents) => {
      if (!strategic.isBuiltIn(kind)) throw terminal(`strategic merge does not know the kind ${kind.kind}`);
      return JSON.stringify(combine(...documents.map((document) => JSON.parse(document))));
    };
    return {
      cluster: {
        getObject: (kind, key) => {
          this.declared(kind);
          return text(this.get(kind, key));
        },
        getLive: (kind, key) => text(this.get(kind, key)),
        getApplied: (kind, key) => {
          this.declared(kind);
          return text(this.appliedPart(kind, key));
        },
        listObjects: (kind, options) => {
          this.declared(kind);
          return this.list(kind, options).map(text);
        },
        listIndexed: (kind, name, value, options) => {
          this.declared(kind);
          const index = this.index(kind, name);
          return this.list(kind, options, (object) => indexed(index, object).includes(value)).map(text);
        },
      },
      merge: {
        createTwoWay: merged((original, modified) => strategic.createTwoWay(original, modified)),
        createThreeWay: merged(strategic.createThreeWay),
        applyPatch: merged(strategic.applyPatch),
      },
      http: { send: (request) => this.send(request) },
      cache: {
        get: (key) => {
          const entry = this.cache.get(key);
          return entry && (entry.expires === 0 || this.now < entry.expires) ? entry.value : null;
        },
        set: (key, value, ttlMs) => {
          if (value.length === 0) this.cache.delete(key);
          else this.cache.set(key, { value, expires: ttlMs === 0 ? 0 : this.now + ttlMs });
        },
      },
      config: {
        get: (key) => this.config.get(key) ?? null,
        keys: () => [...this.config.keys()].sort(),
      },
      log: { log: (level, message, fields) => this.log.push({ level, message, fields: Object.fromEntries(fields) }) },
    };
  }

  list(kind, { namespace, labelSelector, ownerUid, limit }, has = () => true) {
    const wanted = (object) =>
      has(object) &&
      (!namespace || (object.metadata.namespace ?? "") === namespace) &&
      (!ownerUid || (object.metadata.ownerReferences ?? []).some(({ uid }) => uid === ownerUid)) &&
      selected(object.metadata.labels ?? {}, labelSelector);
    const place = ({ metadata }) => [metadata.namespace ?? "", metadata.name];
    const found = [...this.objects.values()]
      .filter((object) => object.apiVersion === apiVersionOf(kind) && object.kind === kind.kind && wanted(object))
      .sort((a, b) => compare(place(a), place(b)));
    return limit > 0 ? found.slice(0, limit) : found;
  }

  send(request) {
    const { method, url } = request;
    this.allow(method, url);
    const headers = Object.fromEntries(request.headers.map(({ name, value }) => [name, value]));
    const body = decode(request.body);
    const sent = { method, url, headers, body };
    this.requests.push(sent);
    let exchange;
    if (typeof this.http === "function") {
      exchange = this.http({ ...sent, json: () => JSON.parse(body) }) ?? {};
    } else {
      exchange = this.http.shift();
      if (!exchange) throw this.fail(`a request that the test did not expect: ${method} ${url}`);
      this.compare(exchange.request ?? {}, sent);
    }
    const failure = exchange.failure;
    if (failure) throw refusal(failure, failure === "too-large" ? 8_388_608 : failure === "timed-out" ? undefined : "as the test says");
    const { status = 200, headers: answered = {}, json, body: text } = exchange.response ?? exchange;
    const named = { ...(json !== undefined ? { "content-type": "application/json" } : {}), ...answered };
    return {
      status,
      headers: Object.entries(named).map(([name, value]) => ({ name: name.toLowerCase(), value: String(value) })),
      body: encode(json !== undefined ? JSON.stringify(json) : (text ?? "")),
    };
  }

  compare({ method, url, headers = {}, json, body }, sent) {
    const differs = (what, wanted, got) => {
      throw this.fail(`the request's ${what} is ${JSON.stringify(got)}, expected was ${JSON.stringify(wanted)}`);
    };
    if (method !== undefined && method !== sent.method) differs("method", method, sent.method);
    if (url !== undefined && url !== sent.url) differs("URL", url, sent.url);
    for (const [name, value] of Object.entries(headers)) {
      if (sent.headers[name.toLowerCase()] !== value) differs(`header ${name}`, value, sent.headers[name.toLowerCase()]);
    }
    if (json !== undefined && !sameJson(parsed(sent.body), copy(json))) differs("body", json, sent.body);
    if (body !== undefined && body !== sent.body) differs("body", body, sent.body);
  }

  /** Ends the reconcile for the plugin, and the test as well. */
  fail(message) {
    this.problem = new Error(message);
    return this.problem;
  }

  allow(method, url) {
    const origin = originOf(url);
    if (!origin) throw refusal("invalid", `not an absolute http or https URL: ${url}`);
    const { origins = [], originsFromConfig = [], safeRequests = [] } = this.manifest.http ?? {};
    const granted = [...origins, ...originsFromConfig.map((key) => this.config.get(key) ?? "")].map(originOf);
    if (!granted.includes(origin)) throw refusal("denied", `the manifest does not ask for ${origin}`);
    const path = new URL(url).pathname;
    const safe = safeRequests.some(
      (known) => known.method === method && (known.path.startsWith("*") ? path.endsWith(known.path.slice(1)) : path === known.path),
    );
    if (this.dryRun && !safe && method !== "GET" && method !== "HEAD") throw refusal("denied", `dry run: ${method} ${path}`);
  }
}

const sameKind = (one, kind) => (one.group ?? "") === kind.group && one.version === kind.version && one.kind === kind.kind;

function originOf(url) {
  if (!URL.canParse(url)) return null;
  const { protocol, origin } = new URL(url);
  return protocol === "http:" || protocol === "https:" ? origin : null;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function compare(a, b) {
  const at = a.findIndex((part, index) => part !== b[index]);
  return at < 0 ? 0 : a[at] < b[at] ? -1 : 1;
}

/** The values of an object in an index. */
function indexed({ name, jsonPath, label }, object) {
  const scalars = (value) => (["string", "boolean"].includes(typeof value) || Number.isInteger(value) ? [String(value)] : []);
  if (label) return Object.entries(object.metadata.labels ?? {}).filter(([key]) => key === label).map(([, value]) => value);
  let found = [object];
  for (const step of steps(name, jsonPath)) found = found.flatMap((value) => step(value).filter((one) => one !== undefined));
  return found.flat().flatMap(scalars);
}

/** Field names, `['name']`, `[0]` and `[*]`, each as a function from a value to those it leads to. */
function steps(name, path) {
  const step = /\.?(?:\[(?<item>-?\d+)\]|(?<all>\[\*\]|\*)|\[(?:'(?<quoted>[^']*)'|"(?<double>[^"]*)")\]|(?<field>(?:\\.|[^.[\]()=!<>\\?@ '"*])+))/y;
  const text = path.trim().replace(/^\{(.*)\}$/, "$1").replace(/^\$/, "");
  const found = [];
  while (step.lastIndex < text.length) {
    const groups = step.exec(text)?.groups;
    if (!groups) throw terminal(`the index "${name}" has a jsonPath that is no index: ${path}`);
    const { item, all, quoted, double, field } = groups;
    const key = quoted ?? double ?? field?.replace(/\\(.)/g, "$1");
    if (item) found.push((value) => (Array.isArray(value) ? [value.at(Number(item))] : []));
    else if (all) found.push((value) => (typeof value === "object" && value ? Object.values(value) : []));
    else found.push((value) => (isMap(value) && Object.hasOwn(value, key) ? [value[key]] : []));
  }
  return found;
}

/** `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`, joined by commas. */
function selected(labels, selector) {
  // A comma inside parentheses separates values, not terms.
  const terms = selector.match(/(?:[^,(]|\([^)]*\))+/g) ?? [];
  return terms.map((term) => term.trim()).filter(Boolean).every((term) => {
    const set = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(term);
    if (set) {
      const values = set[3].split(",").map((value) => value.trim());
      return values.includes(labels[set[1]]) === (set[2] === "in");
    }
    const equation = /^([^!=\s]+)\s*(!=|==|=)\s*(\S*)$/.exec(term);
    if (equation) return (labels[equation[1]] === equation[3]) === (equation[2] !== "!=");
    return term.startsWith("!") ? !(term.slice(1).trim() in labels) : term in labels;
  });
}

function patched(object, type, body) {
  switch (type) {
    case "json-patch":
      try {
        return jsonPatch(object, body);
      } catch (error) {
        throw terminal(`JSON patch: ${error.message}`);
      }
    case "strategic-merge-patch":
      if (!strategic.isBuiltIn(kindOf(object))) throw terminal(`strategic merge does not know the kind ${object.kind}`);
      return strategic.applyPatch(object, body);
    default:
      return mergePatch(object, isMap(body) ? body : {});
  }
}

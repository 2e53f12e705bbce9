// Promises whose jobs run when we say so.
//
// A call of a component is synchronous, and nothing runs QuickJS's own queue of jobs in it: what comes behind an `await` would never run.
// So the build rewrites async functions into generators that use the global Promise, and in a component that is this one: `settle` runs
// its jobs until none is left. As all the host lends is synchronous, a promise that is not settled by then never will be.

const jobs = [];
const unhandled = new Set();

/** Runs a function after what runs now, as `queueMicrotask` does. */
export function enqueue(job) {
  if (typeof job !== "function") throw new TypeError("queueMicrotask: not a function");
  jobs.push(job);
}

/** Calls a function and runs all jobs, then returns what the function returned or its promise came to, or throws it. */
export function settle(call) {
  let answer;
  try {
    answer = call();
  } catch (error) {
    answer = QueuedPromise.reject(error);
  }
  const promise = typeof answer?.then === "function" ? QueuedPromise.resolve(answer) : null;
  try {
    for (let job = jobs.shift(); job; job = jobs.shift()) job();
  } catch (error) {
    // One job's end must not be the next call's beginning.
    jobs.length = 0;
    throw error;
  }
  return promise ? promise.result() : answer;
}

/** The reasons of promises that were rejected and that nobody looked at since the last time. */
export function takeUnhandled() {
  const reasons = [...unhandled].map((promise) => promise.reason());
  unhandled.clear();
  return reasons;
}

export class QueuedPromise {
  #state = "pending";
  #value = undefined;
  #reactions = [];
  #handled = false;

  constructor(executor) {
    if (typeof executor !== "function") throw new TypeError("Promise: the executor is not a function");
    const { resolve, reject } = this.#functions();
    try {
      executor(resolve, reject);
    } catch (error) {
      reject(error);
    }
  }

  get [Symbol.toStringTag]() {
    return "Promise";
  }

  then(onFulfilled, onRejected) {
    return new this.constructor((resolve, reject) => {
      this.#react(
        () => run(onFulfilled, resolve),
        () => run(onRejected, reject),
      );
      const run = (handler, otherwise) => {
        if (typeof handler !== "function") return otherwise(this.#value);
        try {
          resolve(handler(this.#value));
        } catch (error) {
          reject(error);
        }
      };
    });
  }

  catch(onRejected) {
    return this.then(undefined, onRejected);
  }

  finally(onFinally) {
    if (typeof onFinally !== "function") return this.then(onFinally, onFinally);
    return this.then(
      (value) => QueuedPromise.resolve(onFinally()).then(() => value),
      (reason) =>
        QueuedPromise.resolve(onFinally()).then(() => {
          throw reason;
        }),
    );
  }

  /** The value, or throws the reason. */
  result() {
    this.#handled = true;
    unhandled.delete(this);
    if (this.#state === "fulfilled") return this.#value;
    if (this.#state === "rejected") throw this.#value;
    throw new Error(
      "the reconciler waits for a promise that nothing will settle: all there is to wait for in a plugin is fetch; there are no timers",
    );
  }

  /** What it was rejected with. */
  reason() {
    return this.#value;
  }

  #functions() {
    let done = false;
    const once = (settleIt) => (value) => {
      if (done) return;
      done = true;
      settleIt(value);
    };
    return { resolve: once((value) => this.#resolve(value)), reject: once((reason) => this.#settle("rejected", reason)) };
  }

  #resolve(value) {
    if (value === this) return this.#settle("rejected", new TypeError("a promise cannot be resolved with itself"));
    if (value === null || (typeof value !== "object" && typeof value !== "function")) return this.#settle("fulfilled", value);
    let then;
    try {
      then = value.then;
    } catch (error) {
      return this.#settle("rejected", error);
    }
    if (typeof then !== "function") return this.#settle("fulfilled", value);
    const { resolve, reject } = this.#functions();
    enqueue(() => {
      try {
        then.call(value, resolve, reject);
      } catch (error) {
        reject(error);
      }
    });
  }

  #settle(state, value) {
    this.#state = state;
    this.#value = value;
    if (state === "rejected" && !this.#handled) unhandled.add(this);
    for (const reaction of this.#reactions) enqueue(reaction[state]);
    this.#reactions = [];
  }

  #react(fulfilled, rejected) {
    this.#handled = true;
    unhandled.delete(this);
    const reaction = { fulfilled, rejected };
    if (this.#state === "pending") this.#reactions.push(reaction);
    else enqueue(reaction[this.#state]);
  }

  static resolve(value) {
    return value instanceof QueuedPromise ? value : new QueuedPromise((resolve) => resolve(value));
  }

  static reject(reason) {
    return new QueuedPromise((_, reject) => reject(reason));
  }

  static withResolvers() {
    const made = {};
    made.promise = new QueuedPromise((resolve, reject) => Object.assign(made, { resolve, reject }));
    return made;
  }

  static try(callback, ...args) {
    return new QueuedPromise((resolve) => resolve(callback(...args)));
  }

  static all(promises) {
    return collect(promises, (promise, keep, _, reject) => promise.then(keep, reject));
  }

  static allSettled(promises) {
    return collect(promises, (promise, keep) =>
      promise.then(
        (value) => keep({ status: "fulfilled", value }),
        (reason) => keep({ status: "rejected", reason }),
      ),
    );
  }

  static any(promises) {
    return collect(
      promises,
      (promise, keep, resolve) => promise.then(resolve, keep),
      (errors, _, reject) => reject(new AggregateError(errors, "all promises were rejected")),
    );
  }

  static race(promises) {
    return new QueuedPromise((resolve, reject) => {
      for (const promise of promises) QueuedPromise.resolve(promise).then(resolve, reject);
    });
  }
}

/** Waits for each promise's `keep`, then ends with all that was kept, in order. */
function collect(promises, wait, end = (kept, resolve) => resolve(kept)) {
  return new QueuedPromise((resolve, reject) => {
    const kept = [];
    let left = 1;
    const finish = () => {
      left -= 1;
      if (left === 0) end(kept, resolve, reject);
    };
    let index = 0;
    for (const promise of promises) {
      const at = index;
      index += 1;
      left += 1;
      const keep = (value) => {
        kept[at] = value;
        finish();
      };
      wait(QueuedPromise.resolve(promise), keep, resolve, reject);
    }
    finish();
  });
}

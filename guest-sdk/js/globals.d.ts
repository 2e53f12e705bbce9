// What a plugin finds as globals beside those of the language. There is no process, no Buffer, no URL, and there are no timers.

/** Lines in the host's log. */
declare const console: Record<"debug" | "trace" | "log" | "info" | "dir" | "warn" | "error", (...values: unknown[]) => void> & {
  assert(holds: unknown, ...values: unknown[]): void;
};

/** As `fetch` of the package. */
declare const fetch: typeof import("oarlock-guest").fetch;

declare function queueMicrotask(job: () => void): void;

declare function atob(text: string): string;
declare function btoa(text: string): string;

declare class TextEncoder {
  readonly encoding: "utf-8";
  encode(text?: string): Uint8Array;
}

declare class TextDecoder {
  constructor(label?: string);
  readonly encoding: "utf-8";
  decode(bytes?: ArrayBuffer | ArrayBufferView): string;
}

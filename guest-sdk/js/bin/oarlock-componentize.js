#!/usr/bin/env node
// Makes a component of a reconciler: one bundle (esbuild), then QuickJS around it (componentize-qjs). Both come from the project's own
// node_modules, so this package has no dependencies.

import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath, pathToFileURL } from "node:url";
import { BUNDLE, installLineMap, sourceFrame } from "../src/trace.js";
import { lineRuns } from "./source-map.js";

const USAGE = "usage: oarlock-componentize ENTRY --wit FILE -o FILE.wasm [--raw]";
/** How the code of a plugin that converts ends in the world of one that does not. */
const CONVERTS = "oarlock: this plugin converts";
const sdk = resolve(dirname(fileURLToPath(import.meta.url)), "..");

try {
  await main();
} catch (error) {
  // What esbuild found wrong it has said already.
  if (!error.errors) console.error(`oarlock-componentize: ${error.message}`);
  else if (error.errors.some(({ text }) => text.includes('"node:'))) console.error("A plugin runs in QuickJS: modules of Node are not there.");
  process.exitCode = 1;
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      wit: { type: "string" },
      output: { type: "string", short: "o" },
      // The entry exports `reconcile` itself, instead of a reconciler as its default.
      raw: { type: "boolean", default: false },
    },
  });
  const [entry] = positionals;
  if (positionals.length !== 1 || !values.wit || !values.output) throw new Error(USAGE);
  const { build } = await tool("esbuild");
  const { componentize } = await tool("componentize-qjs");
  const { source, lines } = await bundle(build, entry, values.raw);
  const component = await componentOf(componentize, resolve(values.wit), source).catch((error) => {
    throw new Error(evaluated(error.message, lines));
  });
  // Whole or not at all: a host may watch the folder.
  mkdirSync(dirname(resolve(values.output)), { recursive: true });
  writeFileSync(`${values.output}.part`, component);
  renameSync(`${values.output}.part`, values.output);
}

/** The component in the world of its plugin. Whether a plugin converts is known once its code has run. */
async function componentOf(componentize, witPath, source) {
  // Exports of the contract are synchronous, and so is the runtime around them. The smaller engine takes a fifth longer for each call.
  const made = async (world, jsSource) => (await componentize({ witPath, world, jsSource, sync: true, optSize: false })).component;
  try {
    return await made("plugin", `${source}if (globalThis.__oarlockConverts) throw new Error(${JSON.stringify(CONVERTS)});\n`);
  } catch (error) {
    if (!error.message.includes(CONVERTS)) throw error;
    return made("converting-plugin", source);
  }
}

/** A tool of the project in the working directory. */
async function tool(name) {
  let path;
  try {
    path = createRequire(resolve("package.json")).resolve(name);
  } catch {
    throw new Error(`${name} is not installed in ${process.cwd()}: run \`npm install\` there`);
  }
  return import(pathToFileURL(path));
}

async function bundle(build, entry, raw) {
  const plugin = JSON.stringify(resolve(entry));
  const guest = `import { serve, serveConversion } from ${JSON.stringify(resolve(sdk, "src/guest.js"))};`;
  const served = ["export const reconcile = serve(plugin);", "export const conversion = serveConversion(plugin);"];
  const exported = raw ? `export { reconcile } from ${plugin};` : [`import plugin from ${plugin};`, ...served].join("\n");
  const { outputFiles } = await build({
    stdin: {
      // The guest comes first: it puts the globals in that the plugin's own modules find.
      contents: `${guest}\n${exported}`,
      resolveDir: process.cwd(),
      sourcefile: "entry.js",
    },
    outdir: "build",
    bundle: true,
    write: false,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    target: "es2023",
    // Async functions become generators over the guest's own Promise (src/promise.js). The rest QuickJS has.
    supported: { "async-await": false, "async-generator": false, "for-await": false, "top-level-await": false, using: false },
    // Many packages ask for it, and there is no process.
    define: { "process.env.NODE_ENV": '"production"' },
    external: ["oarlock:reconciler/*"],
    sourcemap: "external",
    sourcesContent: false,
    logLevel: "error",
    // The name resolves to this very copy of the SDK, wherever node_modules lies.
    alias: { "oarlock-guest": resolve(sdk, "src/index.js"), "oarlock-guest/guest": resolve(sdk, "src/guest.js") },
  });
  const code = outputFiles.find((file) => file.path.endsWith(".js")).text;
  const { sources, mappings } = JSON.parse(outputFiles.find((file) => file.path.endsWith(".map")).text);
  const named = sources.map((source) => readable(resolve("build", source)));
  const lines = { sources: named, runs: lineRuns(mappings) };
  // At the end, so that no line moves.
  return { source: `${code}\nglobalThis.__oarlockLines = ${JSON.stringify(lines)};\n`, lines };
}

/** What the plugin's own code at the top level threw while it was evaluated, with frames of its sources. */
function evaluated(message, lines) {
  const found = /Failed to evaluate user JavaScript module: (?:Failed to [^:]*: )?([^]*)/.exec(message);
  if (!found) return message;
  const [text, ...frames] = found[1].trimEnd().split("\n");
  installLineMap(BUNDLE, lines);
  return [`the plugin's top-level code failed: ${text}`, ...frames.flatMap((frame) => sourceFrame(frame) ?? [])].join("\n    ");
}

/** How a source is called in traces: by its path in the project, or in the SDK. */
function readable(path) {
  const inSdk = relative(sdk, path);
  return inSdk.startsWith("..") ? relative(process.cwd(), path) : `oarlock-guest/${inSdk}`;
}

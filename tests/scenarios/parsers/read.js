// Prints what tap-parser reads in a report on standard input: the name of each test, whether it passed, and its message, as JSON.
import { readFileSync } from 'node:fs';
import { Parser } from 'tap-parser';

const tests = [];
const parser = new Parser();
parser.on('assert', ({ name, ok, skip, todo, diag }) => tests.push({ name, passed: ok, excused: Boolean(skip || todo), message: diag?.message ?? null }));
parser.on('extra', (line) => {
  throw new Error(`no line of TAP: ${line}`);
});
parser.end(readFileSync(0, 'utf8'));
console.log(JSON.stringify(tests));

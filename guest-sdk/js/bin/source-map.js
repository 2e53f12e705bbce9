// From a source map (version 3) to what a component keeps of it: where each line of the bundle comes from. Columns are left out: they
// are most of a map, and reading them in a guest takes longer than a reconcile.

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Runs of lines that lie together in the bundle and in one source: `[line, how many, source, line of the source]`, counted from 1. */
export function lineRuns(mappings) {
  const runs = [];
  let [source, line] = [0, 0];
  mappings.split(";").forEach((generated, at) => {
    let first = null;
    for (const group of generated.split(",")) {
      const numbers = vlq(group);
      if (numbers.length < 4) continue;
      source += numbers[1];
      line += numbers[2];
      first ??= [source, line];
    }
    if (!first) return;
    const last = runs.at(-1);
    const continues = last && last[0] + last[1] === at + 1 && last[2] === first[0] && last[3] + last[1] === first[1] + 1;
    if (continues) last[1] += 1;
    else runs.push([at + 1, 1, first[0], first[1] + 1]);
  });
  return runs;
}

/** Base-64 VLQ: five bits a digit, the sixth says that more follow, the lowest of all is the sign. */
function vlq(group) {
  const numbers = [];
  let [value, shift] = [0, 0];
  for (const digit of group) {
    const bits = DIGITS.indexOf(digit);
    value |= (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}

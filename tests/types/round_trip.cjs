// Objects through the types of TypeScript: the compiled programs read and write them, and ajv knows them by a schema of the types.
const assert = require("node:assert/strict");
const { readFileSync } = require("node:fs");
const { Ajv } = require("ajv");
const { createGenerator } = require("ts-json-schema-generator");

for (const entry of readFileSync("../names.txt", "utf8").trimEnd().split("\n")) {
  const [name, , kind] = entry.split(" ");
  const { through, objects, broken } = require(`./${name}_objects.js`);
  const lines = readFileSync(`../objects/${name}.jsonl`, "utf8").trimEnd().split("\n");
  // Without additionalProperties, a field that the types do not declare is refused too.
  const generator = createGenerator({ path: `${name}.ts`, type: kind, jsDoc: "none", skipTypeCheck: true });
  const valid = new Ajv({ allowUnionTypes: true }).compile(generator.createSchema(kind));

  assert.equal(objects.length, lines.length);
  lines.forEach((line, number) => {
    const object = JSON.parse(line);
    assert.deepEqual(JSON.parse(through(line)), object, `${name}: object ${number} is written otherwise`);
    assert.deepEqual(objects[number], object, `${name}: object ${number} is another literal`);
    assert.ok(valid(object), `${name}: object ${number}: ${JSON.stringify(valid.errors)}`);
  });
  assert.equal(broken.length, lines.length);
  broken.forEach((object, number) => {
    assert.ok(!valid(object), `${name}: broken object ${number} is accepted: ${JSON.stringify(object)}`);
  });
  console.log(name, lines.length);
}

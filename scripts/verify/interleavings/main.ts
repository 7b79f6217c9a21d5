/**
 * `npm run verify`: explores every interleaving within the bounds of modes.ts (docs/verification.md). Exits with 1 if a
 * state is not as promised; its story is printed.
 *
 * `--quick`: small bounds. `--mode NAME`: only modes whose name has this text. `--choices LIST`: tells one story again.
 */

import { parseArgs } from "node:util";
import { FAULTS } from "./faults.ts";
import { replaceSources } from "./replace.ts";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    mode: { type: "string", default: "" },
    choices: { type: "string" },
    fault: { type: "string" },
  },
});
const planted = values.fault === undefined ? undefined : FAULTS.find(({ name }) => name === values.fault);
replaceSources(planted);
const { QUICK, FULL } = await import("./modes.ts");
const { explore } = await import("./search.ts");
const { World } = await import("./world.ts");

if (planted) {
  const mode = [...QUICK, ...FULL].find(({ name }) => name === planted.mode)!;
  const { wrong, states } = await explore(mode);
  console.log(JSON.stringify({ depth: wrong?.choices.length, states, what: wrong?.what, story: wrong?.story }));
  process.exit(0);
}

const modes = (values.quick ? QUICK : FULL).filter(({ name }) => name.includes(values.mode));
if (values.choices) {
  const world = new World(modes[0]!);
  await world.run(JSON.parse(values.choices));
  if (!world.broken) await world.end();
  for (const line of world.story) console.log(line);
  console.log(world.broken ?? "as promised");
  process.exit(world.broken ? 1 : 0);
}

let [states, executions, isBroken] = [0, 0, false];
for (const mode of modes) {
  const beganAt = performance.now();
  const found = await explore(mode, {
    mergeTest: values.quick ? 20 : 200,
    onProgress: (s, e, d) => s % 20_000 === 0 && console.log(`${mode.name}: ${s} states, ${e} executions, depth ${d}`),
  });
  states += found.states;
  executions += found.executions;
  const seconds = ((performance.now() - beganAt) / 1000).toFixed(1);
  console.log(
    `${mode.name}: ${found.states} states, ${found.executions} executions, depth ${found.depth}, ${seconds} s`,
  );
  if (!found.wrong) continue;
  isBroken = true;
  console.log(`\nNot as promised: ${found.wrong.what}\n`);
  for (const line of found.wrong.story) console.log(line);
  console.log(`\nAgain: npm run verify -- --mode '${mode.name}' --choices '${JSON.stringify(found.wrong.choices)}'\n`);
}
console.log(`${states} distinct states, ${executions} executions`);
process.exit(isBroken ? 1 : 0);
